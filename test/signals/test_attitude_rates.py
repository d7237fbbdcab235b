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

"""A gyro with a dead axis: its rate from the attitude."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import START, AnalyticMotion
from campaign_cases import also
from signal_runs import run


def dead(axis, begin, end=np.inf):
    """Zeroes one of the gyro's rates from `begin` [s] until `end`."""
    def change(role, message, t):
        if role == "imu" and begin <= t - START < end:
            rates = Message(**{**vars(message.angular_velocity), "xyz"[axis]: 0.0})
            message = Message(**{**vars(message), "angular_velocity": rates})
        return role, message, t
    return change


@pytest.mark.parametrize("begin, axis", [
    (0.0, 0), also(0.0, 1), also(0.0, 2), also(6.0, 0), also(6.0, 1), (6.0, 2)])
def test_the_rate_about_a_dead_axis_comes_from_the_attitude(begin, axis, clean):
    """Only rows of about two seconds are lost, none of the others is wrong, and the axis is named.
    """
    config, robot, _, messages = clean
    motion = AnalyticMotion(0, config=config)
    front, samples = run(config, robot, messages, dead(axis, begin))
    late = [s for s in samples if begin + 3.0 < s.t - START < 11.5]
    errors = np.array([s.nu - motion.sample(s.t - START, robot).nu for s in late])
    moved = np.std([s.nu[3 + axis] for s in late])
    assert np.mean([s.valid[:6].all() for s in late]) > 0.95
    assert np.sqrt(np.mean(errors[:, 3 + axis] ** 2)) < 2e-3 and moved > 0.05
    name = ("roll", "pitch", "yaw")[axis]
    assert any(f"gyro's {name} rate has been frozen" in text for text in front.warnings), (
        front.warnings)


def test_what_was_learnt_with_a_dead_axis_is_to_be_learnt_again_without(clean):
    """One sample says since when, and brings the others of that time without their rows."""
    config, robot, _, messages = clean
    _, samples = run(config, robot, messages, dead(1, 6.0))
    once = [s for s in samples if s.again]
    assert len(once) == 1 and once[0].found_wrong
    assert START + 4.5 < once[0].right_until < START + 6.3 < once[0].t
    assert all(after.valid.any() == (before.t < once[0].right_until and before.valid.any())
               for before, after in once[0].again)


def test_a_gyro_that_works_again_is_used_as_it_is(clean):
    """Nothing is said of it any more."""
    config, robot, _, messages = clean
    front, samples = run(config, robot, messages, dead(0, 4.0, 7.0))
    assert not [text for text in front.warnings if "rate has been frozen" in text]
    assert np.mean([s.valid[:6].all() for s in samples if s.t > START + 9.0]) > 0.95
