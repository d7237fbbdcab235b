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

"""An IMU without orientation: learning with the front end's own attitude."""
import copy
from types import SimpleNamespace as Message

import numpy as np
import pytest
from campaign_cases import first
from clean_recording import SECONDS, clean_recording, front_and_samples, held_out
from frame_cases import recording

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.model.robot import RobotModel

KINDS = {
    "covariance": {"orientation_covariance": [-1.0] + 8 * [0.0]},
    "zeros": {"orientation": Message(x=0.0, y=0.0, z=0.0, w=0.0)},
    "never set": {"orientation": Message(x=0.0, y=0.0, z=0.0, w=1.0)},
    "constant": {"orientation": Message(x=0.5, y=0.5, z=0.5, w=0.5)},
}


@pytest.fixture(scope="module")
def setup():
    config = Config()
    return config, RobotModel.from_config(config), recording(1, SECONDS)


def without(messages, kind="covariance"):
    return [(role, Message(**{**vars(m), **KINDS[kind]}) if role == "imu" else m, t)
            for role, m, t in messages]


def vehicle_rows(samples):
    return sum(s.valid[:6].all() for s in samples)


@pytest.mark.campaign
def test_learning_without_the_orientation_is_as_good(setup):
    """Held-out R^2 within .005 on every channel, with 3 s fewer vehicle rows."""
    config, robot, messages = setup
    _, clean, other, usual = clean_recording()
    front, own = front_and_samples(config, robot, without(messages))
    assert vehicle_rows(own) > vehicle_rows(clean) - 150
    loss = usual - held_out(config, robot, own, other)
    assert loss.max() < 0.005, loss
    assert [w.split(":")[0] for w in front.warnings] == ["imu.orientation"]


@pytest.mark.parametrize("kind", first(1, ["zeros", "constant", "never set"]))
def test_every_way_of_having_none_is_found(setup, kind):
    """And reported, with the setting that ends the warning."""
    config, robot, messages = setup
    begin = messages[:3000]
    front, samples = front_and_samples(config, robot, without(begin, kind))
    assert front.warnings[0].startswith("imu.orientation: its ")
    assert vehicle_rows(samples) > 0
    own = config.with_values({"imu.orientation": "own"})
    front, samples = front_and_samples(own, robot, without(begin, kind))
    assert front.warnings == [] and vehicle_rows(samples) > 0


def test_the_messages_orientation_is_used_where_the_setting_says_so(setup):
    """Whatever its covariance; one of zeros is refused."""
    config, robot, messages = setup
    config = config.with_values({"imu.orientation": "message"})
    front, samples = front_and_samples(config, robot, without(messages[:1000]))
    assert vehicle_rows(samples) > 0 and front.warnings == []
    front, samples = front_and_samples(config, robot, without(messages[:1000], "zeros"))
    assert not samples and "orientation has length 0" in front.inputs["imu"].last_error


def test_a_burst_of_wrong_rates_is_not_learnt_from(setup):
    """0.6 s of 2 rad/s at 15 s: the vehicle's rows stop there, return within 4 s, and are correct
    again."""
    config, robot, messages = setup
    begin, none = messages[0][2], without(messages[:6_000])

    def burst(role, m, t):
        if role == "imu" and 15.0 < t - begin < 15.6:
            m = copy.deepcopy(m)
            m.angular_velocity.x += 2.0
        return role, m, t

    _, clean, _, _ = clean_recording()
    _, samples = front_and_samples(config, robot, [burst(*item) for item in none])
    truth = {s.t: s for s in clean}
    error = [np.abs(s.R_nb[2] - truth[s.t].R_nb[2]).max() for s in samples
             if s.valid[:6].all() and s.t - begin > 15.0 and s.t in truth]
    assert max(error) < 0.02
    lost = [s.t - begin for s in samples if not s.valid[:6].all() and 15.0 < s.t - begin < 25.0]
    assert lost and max(lost) < 19.6


def test_a_current_needs_a_heading(setup):
    """An attitude estimated here has none: refused as a setting, else masked and reported."""
    config, robot, messages = setup
    current = config.with_values({"robot.current_ned": (0.1, 0.0, 0.0)})
    front, samples = front_and_samples(current, robot, without(messages[:3000]))
    assert vehicle_rows(samples) == 0 and front.warnings[0].startswith("robot.current_ned")
    with pytest.raises(ConfigError, match="robot.current_ned.*heading"):
        current.with_values({"imu.orientation": "own"})


def test_axes_that_contradict_each_other_are_said(setup):
    """With an IMU mounted differently from the settings, no attitude fits rates, force and DVL."""
    config, robot, messages = setup
    wrong = config.with_values({"imu.rpy": (0.0, 1.57, 0.0)})
    front, samples = front_and_samples(wrong, robot, without(messages[:6_000]))
    assert any(w.startswith("imu.") for w in front.warnings)
    assert vehicle_rows(samples) < 0.3 * len(samples)


def test_an_orientation_in_every_fifth_message_is_enough(setup):
    """Between them the gyro turns the last one: of a slow IMU no row is lost. The tilt is as right
    as a fifth of the readings allows (each is off by .003 rad)."""
    config, robot, messages = setup
    imu = [k for k, (role, _, _) in enumerate(messages) if role == "imu"]
    slow = set(imu[1::2])
    lacking = {k for n, k in enumerate(imu[::2]) if n % 5}
    some = [without([item])[0] if k in lacking else item
            for k, item in enumerate(messages[:8000]) if k not in slow]
    front, samples = front_and_samples(config, robot, some)
    truth = {s.t: s for s in clean_recording()[1]}
    pairs = [(s, truth[s.t]) for s in samples if s.t in truth]
    assert sum(s.valid[:6].all() for s, _ in pairs) > 0.98 * sum(
        s.valid[:6].all() for _, s in pairs)
    error = [np.abs(s.R_nb[2] - right.R_nb[2]).max() for s, right in pairs if s.valid[:6].all()]
    assert np.sqrt(np.mean(np.square(error))) < 0.005 and max(error) < 0.02
    assert not front.warnings
