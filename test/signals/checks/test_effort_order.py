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

"""Efforts that come in another order from some time on."""
import numpy as np
import pytest
from campaign_cases import also
from test_effort_sign import NAMES, ONSET, log_of

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.checks.frames import FrameChecks
from uvms_adaptive_dynamics.signals.checks.joint_effort_check import (
    OF_EFFORTS,
    check_efforts,
    speed_of,
)

SCALE = np.array([0.5, 2.0, 0.5, -1.0])


def checked(seed, change):
    """The checks after 72 s of a log; change (t, values of the message, efforts) gives the values
    that are published, which the settings multiply by SCALE."""
    config = Config().with_values({"joint_states.effort_scale": SCALE.tolist()})
    frames = FrameChecks(config, RobotModel.from_config(config))
    log, rng = log_of(seed, 72.0), np.random.default_rng(seed)
    t, mu, speed = log[:, 0], log[:, 1:5], log[:, 5:9]
    # (load of each joint by its own posture and the next one's, and an error that lasts)
    error = rng.normal(size=(len(t) // 25 + 1, 4)).repeat(25, axis=0)[:len(t)]
    effort = ([0.1, 2.0, 1.0, 0.3] * np.sin(mu + 0.5 * np.roll(mu, -1, axis=1))
              + [0.2, 0.3, 0.2, 0.1] * np.tanh(speed / 0.02) + 0.03 * error)
    log[:, 9:] = SCALE * change(t, effort / SCALE)
    for row in log:
        frames.add("joints", row[0], row[1:])
    return frames


def since(change, begin=ONSET):
    """change(values) from `begin` [s] on."""
    return lambda t, values: np.where((t > begin)[:, None], change(values), values)


def garbage(t, values):
    """Values that no sensor can measure, for .6 s."""
    return np.where(((t > 10.0) & (t < 10.6))[:, None], 1e200, values)


@pytest.mark.parametrize("seed", [0, *map(also, range(1, 4))])
@pytest.mark.parametrize("order", [[1, 2, 3, 0], [1, 0, 2, 3], [3, 2, 1, 0]])
def test_an_order_that_changes_is_put_right_since_then(order, seed):
    """The value in place j is that of joint order[j]; each has the factor of its own joint. Garbage
    does not count."""
    changed = since(lambda values: values[:, order])
    frames = checked(seed, lambda t, values: garbage(t, changed(t, values)))
    ((finding, _),) = frames.findings
    assert finding.setting == OF_EFFORTS and "[" + ", ".join(NAMES[k] for k in order) + "]" in (
        finding.sentence)
    assert ONSET - 2.5 < finding.since < ONSET + 0.5
    (mend,) = frames.mends
    values = np.array([1.0, 2.0, 3.0, 4.0])
    given = np.concatenate([np.zeros(8), SCALE * values[order]])
    np.testing.assert_allclose(mend.mended(given), [*np.zeros(8), *(SCALE * values)])
    assert finding.since < mend.out_until < ONSET + 2.5
    assert frames.arm_is_wrong and not frames.vehicle_is_wrong


@pytest.mark.parametrize("seed", [0, *map(also, range(1, 4))])
@pytest.mark.parametrize("change", [
    lambda t, values: values,
    garbage,
    since(lambda values: values * [1.0, 0.5, 1.0, 1.0]),
    since(lambda values: values * [1.0, -1.0, 1.0, 1.0]),
    since(lambda values: values + [0.0, 0.5, -1.0, 0.3]),
    since(lambda values: values * 2.0)])
def test_what_changes_the_efforts_in_their_places_is_no_other_order(change, seed):
    """A factor, a sign, a load."""
    frames = checked(seed, change)
    assert not [one for one, _ in frames.findings if "in the order" in one.sentence]


@pytest.mark.parametrize("exchanged", [False, True])
def test_a_sign_is_wrong_only_if_the_efforts_friction_is_in_no_other_place(exchanged):
    """The outer joint moves, and the inner one, at rest, holds against its friction. Exchanged,
    their efforts look as if the outer one's had another sign, until the inner one moves."""
    t = np.arange(0.0, 60.0, 0.05)
    mu = np.column_stack([np.full_like(t, 0.3), np.sin(0.7 * t)])
    speed, noise = speed_of(t, mu), np.random.default_rng(0).normal(0.0, 0.02, mu.shape)
    friction = 0.3 * np.sign(speed[:, 1]) + 0.2 * speed[:, 1]
    effort = np.column_stack([-friction, friction]) + noise
    effort = effort[:, ::-1] if exchanged else np.column_stack([noise[:, 0], -friction])
    known = np.isfinite(speed).all(axis=1)
    found, _ = check_efforts(["inner", "outer"], *(part[known] for part in (t, mu, speed, effort)))
    assert [finding.joint for finding in found] == ([] if exchanged else ["outer"])
