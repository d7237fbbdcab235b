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

"""Settings of the estimator that change while it runs: each takes effect at the next sample."""
import time
from dataclasses import replace

import numpy as np
import pytest
from analytic import AnalyticMotion
from campaign_cases import first

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.changes import NoChangeDetection
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.robot import RobotModel


@pytest.fixture
def running():
    """(estimator, the next sample) after two seconds."""
    robot = RobotModel.from_config(Config())
    estimator = Estimator(Config(), robot=robot)
    motion, pi = AnalyticMotion(0, joints=4), estimator.prior.values
    samples = (motion.sample(0.02 * k, robot, pi) for k in range(10**6))
    for _ in range(100):
        estimator.step(next(samples))
    return estimator, lambda: next(samples)


def change(estimator, **values):
    estimator.change_settings(estimator.config.with_values(
        {name.replace("__", "."): value for name, value in values.items()}))


@pytest.mark.parametrize("limit, value", first(4, [
    ("speed", 0.1), ("angular_acceleration", 0.1), ("joint_speed", 0.1), ("force", 1.0),
    ("rate", 0.1), ("acceleration", 0.1), ("joint_acceleration", 0.1), ("torque", 1.0)]))
def test_limits(running, limit, value):
    """A sample that was plausible is masked; what has been learnt stays."""
    estimator, following = running
    learnt = estimator.pi
    for _ in range(50):
        estimator.add(following())
    assert estimator.rejected.implausible == 0
    change(estimator, **{f"limits__{limit}": value})
    assert np.array_equal(estimator.pi, learnt) and estimator.snapshot().window_filled == 100
    for _ in range(50):
        estimator.add(following())
    assert estimator.rejected.implausible > 0


def test_gates(running):
    """Without gates an absurd sample counts if it is finite."""
    estimator, following = running
    estimator.add(replace(following(), nu=np.full(6, 1e3)))
    assert estimator.rejected.implausible == estimator.table.channels
    change(estimator, filter__gates=False)
    estimator.add(replace(following(), nu=np.full(6, 1e3)))
    assert estimator.rejected.implausible == estimator.table.channels


def test_minimum_share(running):
    """The share of the low-pass weight that must be valid: with every third row masked, .6 is too
    little for .9."""
    estimator, following = running

    def counted():
        found = []
        for k in range(60):
            sample = following()
            found.append(estimator.add(replace(sample, valid=sample.valid & (k % 3 > 0))))
        return sum(p.valid.sum() for p in found[30:])
    assert counted() > 100
    change(estimator, filter__minimum_share=0.9)
    assert counted() == 0


def test_gap(running):
    """A gap shorter than the new setting does not close the window."""
    estimator, following = running
    change(estimator, filter__gap=5.0)
    last = following()
    estimator.add(replace(last, t=last.t + 3.0))
    assert estimator.snapshot().window_filled > 0
    change(estimator, filter__gap=1.0)
    estimator.add(replace(last, t=last.t + 6.0))
    assert estimator.snapshot().window_filled == 0


def deadlines_of(estimator):
    """The deadlines that its solver will be given, a list that grows."""
    given, solve = [], estimator.solver.solve
    estimator.solver.solve = lambda problem, deadline: (given.append(deadline),
                                                         solve(problem, deadline))[1]
    return given


def test_deadline(running):
    """The solver gets the new deadline, and later none again."""
    estimator, following = running
    given = deadlines_of(estimator)
    estimator.step(following())
    change(estimator, estimation__deadline=5.0)
    estimator.step(following())
    change(estimator, estimation__deadline=0.0)
    estimator.step(following())
    assert given == [None, 5.0, None]


def test_in_real_time_a_whole_tick_has_half_a_period(running):
    """The solver gets what `add` has left of it, and at least half of it."""
    offline, following = running
    estimator = Estimator(offline.config, robot=offline.robot, real_time=True)
    given = deadlines_of(estimator)
    while not given:
        estimator.step(following())
    half_period = 0.5 * estimator.config.filter.period
    estimator.solve(time.perf_counter() - 0.2 * half_period)
    estimator.solve(time.perf_counter() - 10.0)
    assert 0.5 * half_period <= given[0] < half_period
    assert given[2] == 0.5 * half_period <= given[1] < 0.8 * half_period


def test_follow_changes(running):
    """The detector is removed and created again; other changes of settings do not affect it."""
    estimator, _ = running
    changes = estimator._robot_changes
    before = changes.detector
    change(estimator, limits__speed=5.0)
    assert changes.detector is before
    change(estimator, estimation__follow_changes=False)
    assert isinstance(changes.detector, NoChangeDetection)
    change(estimator, estimation__follow_changes=True)
    assert type(changes.detector) is type(before) and changes.detector is not before


def test_changes_are_looked_for_only_while_watched(running):
    """Also by a detector that something else renews, such as parameters that are freed."""
    estimator, following = running
    changes = estimator._robot_changes
    before = changes.detector
    estimator.watch_changes(True)
    assert changes.detector is before
    estimator.watch_changes(False)
    estimator.set_free(["axis_b.*"])
    estimator.step(following())
    assert isinstance(changes.detector, NoChangeDetection)
    estimator.watch_changes(True)
    assert type(changes.detector) is type(before) and changes.detector is not before
