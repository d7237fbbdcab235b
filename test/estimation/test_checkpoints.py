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

"""A sensor that was right becomes faulty: what was learnt since is undone."""
from dataclasses import replace

import numpy as np
import pytest
from analytic import AnalyticMotion

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation import onset
from uvms_adaptive_dynamics.estimation.accepted_change import PartChange
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.robot import RobotModel

# The window's rows count as not learnt yet.
CONFIG = Config().with_values({"robot.joints": [], "filter.lowpass": 0.02,
                               "estimation.horizon": 1})
CHECKS, WRONG, FOUND = (20, 40), 45, 60      # ticks: sensors found right, wrong wrenches, found


@pytest.fixture(scope="module")
def samples():
    """A vehicle whose wrench becomes three times too large at a tick; the fault is found later."""
    robot, motion = RobotModel.from_config(CONFIG), AnalyticMotion(0, config=CONFIG)
    pi = 1.1 * Estimator(CONFIG, robot=robot, learn=False).pi
    found = [motion.sample(CONFIG.filter.period * k, robot, pi) for k in range(80)]
    until = [max((found[k].t for k in CHECKS if k <= tick), default=-np.inf)
             for tick in range(FOUND)] + [found[CHECKS[0]].t] * (80 - FOUND)
    return [replace(sample, right_until=until[k], found_wrong=k >= FOUND,
                    wrench=3.0 * sample.wrench if k >= WRONG else sample.wrench,
                    valid=sample.valid & (k < FOUND)) for k, sample in enumerate(found)]


def test_what_was_learnt_of_wrong_readings_is_undone(samples):
    """The estimate returns to that of the last but one check, and stays so."""
    estimator, known = Estimator(CONFIG), {}
    for k, sample in enumerate(samples):
        estimator.step(sample)
        known[k] = estimator.pi, estimator.information.rows_learned
        if k == FOUND:
            assert estimator.information.rows_learned == known[CHECKS[0] - 1][1]
    assert np.abs(known[FOUND - 1][0] - known[WRONG - 1][0]).max() > 0.1
    # (except for the row that was in the window then)
    np.testing.assert_allclose(estimator.pi, known[CHECKS[0] - 1][0], rtol=0.1, atol=0.1)
    assert estimator.undone.startswith("what was learnt since 0 s is undone")
    assert estimator.information.rows_learned == known[CHECKS[0] - 1][1]


def test_a_change_that_a_faulty_sensor_imitated_stands_no_more(samples):
    """It was accepted after the last good check, though it may have begun before."""
    estimator = Estimator(CONFIG)
    for sample in samples[:FOUND]:
        estimator.step(sample)
    begun = PartChange("vehicle damping", FOUND - CHECKS[0] + 5,
                       estimator.information.noise_record(),
                       estimator.table.blocks["vehicle linear damping"], "")
    estimator.follow(begun, samples[FOUND - 1].t)
    assert estimator.changed_since < samples[CHECKS[0]].t
    assert "vehicle damping" in estimator.standing_change
    estimator.step(samples[FOUND])
    assert np.isinf(estimator.changed_since) and not estimator.standing_change
    assert "vehicle damping" in estimator.last_change
    estimator.restart()
    assert not estimator.last_change


def test_without_a_check_before_it_nothing_is_undone(samples):
    """Nothing tells since when the sensor is wrong; without learning there is nothing to undo."""
    for learn, changes in ((True, {"right_until": -np.inf}), (False, {})):
        estimator = Estimator(CONFIG, learn=learn)
        for sample in samples:
            estimator.add(replace(sample, **changes))
        assert not estimator.undone


def test_before_the_first_check_all_is_learnt_again(samples, monkeypatch):
    """A fault that tells its own beginning is undone without a check before it, while all samples
    can be learnt again: the estimate is that of the rows before it."""
    monkeypatch.setattr(onset, "ONSET_BLOCK", 1)      # (so short a run)
    before, estimator = Estimator(CONFIG), Estimator(CONFIG)
    for sample in samples[:WRONG]:
        before.step(replace(sample, right_until=-np.inf))
    pairs = tuple((one, replace(one, valid=one.valid & (k < WRONG)))
                  for k, one in enumerate(samples[:FOUND]))
    for k, sample in enumerate(samples):
        estimator.step(replace(sample, right_until=-np.inf if k < FOUND else samples[WRONG - 1].t,
                               again=pairs if k == FOUND else ()))
    # (solved at other rows)
    np.testing.assert_allclose(estimator.pi, before.pi, rtol=0.1, atol=0.1)
    # (those that were still on their way through low-pass and window count too)
    assert before.information.rows_learned <= estimator.information.rows_learned <= 6 * WRONG


@pytest.mark.parametrize("missing", [(), range(38, 45)])
def test_samples_that_have_been_put_right_are_learnt_again(samples, missing, monkeypatch):
    """The estimate is then that of readings which were never wrong, even if it was not known at
    first what puts them right, and if some are missing: no row mixes both sides of such a gap."""
    monkeypatch.setattr(onset, "ONSET_BLOCK", 2)      # (so short a run)
    monkeypatch.setattr(onset, "ONSET_STRIDE", 1)
    right = [replace(sample, wrench=sample.wrench / 3.0 if k >= WRONG else sample.wrench,
                     valid=np.ones_like(sample.valid), found_wrong=False)
             for k, sample in enumerate(samples)]
    never, estimator = Estimator(CONFIG), Estimator(CONFIG)
    ticks = [k for k in range(80) if k not in missing]
    for k in ticks:
        masked = {j: replace(samples[j], valid=np.zeros_like(samples[j].valid)) for j in ticks}
        put_right = {FOUND: masked, 75: dict(enumerate(right))}.get(k)
        again = () if put_right is None else tuple(
            (samples[j], put_right[j]) for j in ticks if j < k)
        never.step(right[k])
        estimator.step(replace(samples[k] if k < 75 else right[k], again=again))
        if k == 74:
            assert np.abs(estimator.pi - never.pi).max() > 0.1
    assert "is learnt again" in estimator.undone
    assert estimator.snapshot().progress.jump_reason == estimator.undone
    assert sum("right until then is faulty" in note for note in estimator.notes) == 1
    # (the instant that was in the window at the checkpoint is counted twice)
    assert estimator.information.rows_learned - 6 == never.information.rows_learned
    np.testing.assert_allclose(estimator.pi, never.pi, rtol=0.02, atol=0.02)


def test_what_a_sensor_spoilt_that_was_always_wrong_is_learnt_again_from_the_start(samples):
    """The samples put right stand for both kinds, and a checkpoint in between does not count."""
    right = [replace(sample, wrench=sample.wrench / 3.0 if k >= WRONG else sample.wrench,
                     valid=np.ones_like(sample.valid), found_wrong=False)
             for k, sample in enumerate(samples)]
    never, estimator = Estimator(CONFIG), Estimator(CONFIG)
    for k, sample in enumerate(right):
        never.step(sample)
        again = tuple((one, one) for one in right[:k]) if k == FOUND else ()
        factor = 3.0 if k < FOUND else 1.0
        estimator.step(replace(sample, wrench=factor * sample.wrench, again=again))
        if k == FOUND - 1:
            assert np.abs(estimator.pi - never.pi).max() > 1.0
    assert estimator.undone.startswith("after 0 s a sensor became faulty")
    # (solved at other rows)
    np.testing.assert_allclose(estimator.pi, never.pi, rtol=0.1, atol=0.1)


def test_samples_that_begin_after_the_checkpoint_are_not_learnt_again(samples):
    """What was learnt before them would be lost."""
    estimator = Estimator(CONFIG)
    for k in range(80):
        again = tuple(zip(samples[30:k], samples[30:k])) if k == 75 else ()
        estimator.step(replace(samples[k], again=again))
    assert "learnt again" not in estimator.undone


@pytest.mark.parametrize("checked", [True, False])
def test_checks_and_faults_count_after_the_clock_was_set_back(samples, checked):
    """A check that finds the sensors right gives a checkpoint, to which the estimate returns; of a
    fault that is found before such a check, what was learnt since the last one is undone."""
    estimator, known = Estimator(CONFIG), {}
    for k, sample in enumerate(samples):
        if k <= CHECKS[0]:
            shifted = replace(sample, t=sample.t + 1000.0, right_until=sample.right_until + 1000.0)
        else:
            until = samples[CHECKS[1]].t if checked and k >= CHECKS[1] else -np.inf
            shifted = replace(sample, right_until=until)
        estimator.step(shifted)
        known[k] = estimator.information.rows_learned
    assert known[FOUND] == known[CHECKS[checked] - 1]
    if checked:
        assert estimator.undone.startswith("what was learnt since 1 s is undone")
