# Copyright 2026 uvms_adaptive_dynamics developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Ages of rows and solves in data time, and jumps of the values with their reasons."""
from dataclasses import replace

import numpy as np
import pytest
from analytic import AnalyticMotion

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import SolverError
from uvms_adaptive_dynamics.estimation.accepted_change import EffortChange
from uvms_adaptive_dynamics.estimation.estimator import RECOVER_AFTER, Estimator
from uvms_adaptive_dynamics.estimation.progress import Progress
from uvms_adaptive_dynamics.model.robot import RobotModel

PERIOD = 0.02


def test_ages_follow_the_data_and_not_the_clock():
    """Rows age with data time; a clock that jumps back does not reduce their age."""
    progress = Progress(2)
    assert np.isinf(progress.record().row_age).all()
    progress.note_rows(np.array([True, True]), PERIOD)
    progress.note_solve()
    for step in (1.0, 2.0, -100.0):
        progress.advance(step)
    progress.note_rows(np.array([False, True]), PERIOD)
    record = progress.record()
    np.testing.assert_allclose(record.row_age, [3.0, 0.0])
    assert record.solve_age == pytest.approx(PERIOD)
    progress.advance(5.0)
    assert record.row_age[0] == 3.0     # a copy


def test_the_start_is_no_jump_and_every_later_one_counts():
    """Each with its reason; a restart resets the ages and keeps the count."""
    progress = Progress(1)
    progress.restart("the prior")
    assert progress.record()[3:5] == (0, "start from the prior")
    progress.note_rows(np.array([True]), PERIOD)
    progress.advance(60.0)
    assert progress.record().age == 60.0
    progress.note_failure()
    progress.note_jump("a payload")
    assert progress.record()[2:5] == (1, 1, "a payload")
    progress.restart("a saved estimate")
    assert progress.record()[1:] == (np.inf, 0, 2, "restart from a saved estimate", 0.0)
    assert np.isinf(progress.record().row_age).all()


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_config(Config())


@pytest.fixture
def running(robot):
    """(estimator after two seconds, further samples)."""
    estimator = Estimator(Config(), robot=robot)
    motion, pi = AnalyticMotion(0, joints=4), estimator.prior.values
    samples = (motion.sample(PERIOD * k, robot, pi) for k in range(10**6))
    for _ in range(100):
        estimator.step(next(samples))
    return estimator, samples


def test_masked_and_resting_rows_are_not_learnt(running):
    """The vehicle's ages grow while its rows are masked, and all ages while learning is off."""
    estimator, samples = running
    assert (estimator.snapshot().progress.row_age == 0).all()
    masked = np.arange(10) >= 6
    for _ in range(50):
        estimator.step(replace(next(samples), valid=masked))
    age = estimator.snapshot().progress.row_age
    # The low-pass looks half a kernel ahead.
    assert ((age[:6] > 0.75) & (age[:6] < 1.01)).all() and (age[6:] == 0).all()
    estimator.set_learning(False)
    for _ in range(50):
        estimator.step(next(samples))
    np.testing.assert_allclose(estimator.snapshot().progress.row_age, age + 1.0, atol=1e-6)
    still = next(samples)
    estimator.set_learning(True)
    for k in range(450):
        estimator.step(replace(still, t=still.t + PERIOD * k))
    assert (estimator.snapshot().progress.row_age > 2.0).all()
    assert estimator.snapshot().progress.solve_age == 0


def test_a_recovery_is_a_jump_that_is_judged_anew(running):
    """Failures are counted across the recovery until a solve succeeds."""
    estimator, samples = running
    estimator.findings.trust.judged = True
    solve = estimator.solver.solve
    estimator.solver.solve = lambda *problem: (_ for _ in ()).throw(SolverError("no"))
    for _ in range(RECOVER_AFTER + 2):
        estimator.step(next(samples))
    state = estimator.snapshot()
    assert state.progress.failed_in_a_row == RECOVER_AFTER + 2 and not state.judged
    assert state.progress.jumps == 1 and "recovery" in state.progress.jump_reason
    estimator.solver.solve = solve
    estimator.step(next(samples))
    assert estimator.snapshot().progress.failed_in_a_row == 0


def test_a_change_of_the_robot_is_a_jump_that_is_judged_anew(running):
    """Its sentence is the reason; a withdrawal works the same way."""
    estimator, samples = running
    estimator.findings.trust.judged = True
    change = EffortChange("thrust", 10, estimator.information.noise_record(), np.arange(6), 0.9,
                          "10^20 : 1")
    estimator.follow(change, 2.0)
    state = estimator.snapshot()
    assert not state.judged and state.progress.jumps == 1
    assert state.progress.jump_reason == state.last_change != ""
