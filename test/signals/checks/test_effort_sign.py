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

"""Efforts without their sign, or with another one, are told from a changed load, and since when."""
import numpy as np
import pytest
from campaign_cases import first

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.checks.effort_sign import sign_changed_at
from uvms_adaptive_dynamics.signals.checks.finding import UNDECIDED
from uvms_adaptive_dynamics.signals.checks.frames import FrameChecks
from uvms_adaptive_dynamics.signals.checks.joint_check import check_joints

NAMES = list(Config().robot.joints)
SECONDS, ONSET = 60.0, 40.0


def log_of(seed, seconds=SECONDS, change=lambda t, effort: effort):
    """Four joints with friction, the first about the vertical, the others against gravity; change
    (t, efforts) gives the published efforts."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, seconds, 0.02)
    pace, phase = rng.uniform(0.3, 0.7, 4), rng.uniform(0.0, 6.28, 4)
    turn = np.outer(t, pace) + phase
    mu, speed = 1.9 + 0.9 * np.sin(turn), 0.9 * pace * np.cos(turn)
    load = np.column_stack([0.0 * t, *(np.sin(mu[:, 1] + mu[:, k] - 3.8) for k in (1, 2, 3))])
    # an error that lasts, as of the vehicle's motion under the arm
    error = rng.normal(size=(len(t) // 25 + 1, 4)).repeat(25, axis=0)[:len(t)]
    effort = 0.3 * load + 0.1 * np.tanh(speed / 0.02) + 0.1 * speed + 0.02 * error
    return np.column_stack([t, mu, speed, change(t, effort + 0.01 * rng.normal(size=mu.shape))])


def unsigned(t, effort):
    """Published without sign from ONSET on."""
    return np.where((t > ONSET)[:, None], np.abs(effort), effort)


def found(log, scale=(), standing=UNDECIDED):
    """Findings on efforts without sign."""
    wide = np.full(4, 10.0)
    result = check_joints(log, NAMES, -wide, wide, wide, scale, standing=standing)
    return [one for one in result.findings if "without its sign" in one.sentence]


@pytest.mark.parametrize("seed", range(4))
def test_from_when_on_the_sign_is_missing(seed):
    """Named with all joints, and with the time of the last negative effort."""
    (finding,) = found(log_of(seed, change=unsigned))
    assert ", ".join(NAMES) in finding.sentence and finding.joint == ""
    assert ONSET - 5.0 < finding.since <= ONSET
    (finding,) = found(log_of(seed, change=lambda t, effort: np.abs(effort)))
    assert finding.since is None
    (finding,) = found(log_of(seed, change=lambda t, effort: -unsigned(t, effort)), [-0.5] * 4)
    assert ONSET - 5.0 < finding.since <= ONSET


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("change", [
    lambda t, effort: effort,
    lambda t, effort: effort + 1.0,                                     # of one sign always
    lambda t, effort: effort + np.where(t > ONSET, 1.0, 0.0)[:, None],  # a load from then on
    lambda t, effort: effort * np.where(t > ONSET, 3.0, 1.0)[:, None],
    lambda t, effort: np.where((t > ONSET)[:, None], 0.0, effort),
    lambda t, effort: np.where((t > ONSET)[:, None], 0.3, effort)])
def test_other_changes_are_none_of_the_sign(seed, change):
    """Efforts that are never negative any more, of a load that explains them with their sign."""
    assert found(log_of(seed, change=change)) == []


def test_the_sign_is_missing_until_a_negative_effort_comes():
    """An arm that rests or moves too little tells nothing."""
    log = log_of(0, 130.0, unsigned)
    t = log[:, 0]
    log[t > 70.0, 1:] = log[t > 70.0][0, 1:]
    log[t > 70.0, 5:9] = 0.0
    steps = (log[(t > end - 60.0) & (t < end)] for end in (60.0, 100.0, 130.0))
    wide, standing = np.full(4, 10.0), UNDECIDED
    for rows in steps:
        standing = check_joints(rows, NAMES, -wide, wide, wide, standing=standing)
        assert found(rows, standing=standing)
    rows[-1, -1] = -0.1
    assert found(rows, standing=standing) == []


def test_rows_since_the_last_negative_effort_are_not_learnt_from():
    """The arm's, from the check after the onset on; the vehicle's go on."""
    config = Config()
    frames = FrameChecks(config, RobotModel.from_config(config))
    for row in log_of(1, 72.0, unsigned):
        frames.add("joints", row[0], row[1:])
    assert frames.arm_is_wrong and not frames.vehicle_is_wrong
    assert ONSET - 5.0 < frames.right_until <= ONSET


def turned(begin):
    """The second effort with the other sign from `begin` [s] on."""
    return lambda t, effort: np.where((t > begin)[:, None] & (np.arange(4) == 1), -effort, effort)


def checked(seed, change):
    """The checks after 72 s of a log, whose efforts are in half N m."""
    config = Config().with_values({"joint_states.effort_scale": [0.5, -0.5, 0.5, 0.5]})
    frames = FrameChecks(config, RobotModel.from_config(config))
    log, noise = log_of(seed, 72.0), np.random.default_rng(seed).normal(size=(3600, 4))
    t, mu, speed = log[:, 0], log[:, 1:5], log[:, 5:9]
    log[:, 9:] = change(t, 0.3 * np.sin(mu) + 0.1 * np.sign(speed) + 0.4 * speed + 0.03 * noise)
    for row in log:
        frames.add("joints", row[0], row[1:])
    return frames


@pytest.mark.parametrize("seed", first(2, range(4)))
def test_a_sign_that_changes_is_put_right_since_then(seed):
    """A driver that restarts with other settings: the setting is named as before, and the readings
    since the onset are multiplied by -1; the vehicle's rows go on meanwhile."""
    frames = checked(seed, turned(ONSET))
    ((finding, _),) = frames.findings
    assert finding.joint == NAMES[1] and ONSET - 2.5 < finding.since < ONSET + 0.5
    assert finding.values == {"joint_states.effort_scale": (0.5, 0.5, 0.5, 0.5)}
    (mend,) = frames.mends
    assert mend.role == "joint_states" and finding.since < mend.out_until < ONSET + 2.5
    np.testing.assert_allclose(mend.mended(np.arange(12.0)), [*range(9), -9.0, 10.0, 11.0])
    assert frames.arm_is_wrong and not frames.vehicle_is_wrong
    assert ONSET - 2.5 < frames.right_until < ONSET + 0.5


@pytest.mark.parametrize("seed", first(1, range(4)))
@pytest.mark.parametrize("begin", [-1.0, 1.0])
def test_a_sign_that_was_wrong_from_the_start_is_left_to_the_operator(seed, begin):
    """Its rows are consistent: a change of them would be the fault."""
    frames = checked(seed, turned(begin))
    assert {finding.joint for finding, _ in frames.findings} <= {NAMES[1]}
    assert frames.mends == () and not frames.arm_is_wrong


@pytest.mark.parametrize("after, said", [
    (lambda load, friction: -load - friction, True),
    (lambda load, friction: load + friction, False),
    (lambda load, friction: -load + friction, False),      # a payload heavier than a float was
    (lambda load, friction: 3.0 * load + friction, False),
    (lambda load, friction: 0.0 * load, False)])
def test_a_load_that_changes_turns_no_friction_about(after, said):
    """Nor does a sign change where there are too few rows from before or since."""
    log = log_of(1)
    t, load, speed = log[:, 0], np.column_stack([np.ones(3000), np.sin(log[:, 2])]), log[:, 6]
    friction = np.column_stack([speed, np.sign(speed)])
    before = load @ [0.1, 0.5], friction @ [0.5, 0.2]
    y = np.where(t > ONSET, after(*before), sum(before))
    y = y + 0.05 * np.random.default_rng(0).normal(size=3000)
    cuts = np.arange(0.0, 60.0, 1.0).tolist()
    found = sign_changed_at(t, friction, load, y, 0.5, cuts)
    assert found is None or abs(found - ONSET) <= 1.0
    assert (found is not None) == said
    for part in (t > ONSET - 0.5, t < ONSET + 0.5):
        assert sign_changed_at(t[part], friction[part], load[part], y[part], 0.5, cuts) is None
