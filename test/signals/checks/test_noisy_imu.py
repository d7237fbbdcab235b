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

"""An IMU whose noise exceeds the DVL's by the time that it is compared with it."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from campaign_cases import also
from frame_cases import recording

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd


@pytest.fixture(scope="module")
def messages():
    return recording(1, 45.0)


def shaken(messages, begin):
    """The front end after the messages, with an IMU that is shaken from begin [s] on."""
    config, rng = Config(), np.random.default_rng(0)
    front, first = SignalFrontEnd(config, RobotModel.from_config(config)), messages[0][2]
    for role, message, t in messages:
        if role == "imu" and t - first > begin:
            message = Message(**vars(message))
            for field, stddev in (("angular_velocity", 0.1), ("linear_acceleration", 1.0)):
                vector = getattr(message, field)
                x, y, z = np.array([vector.x, vector.y, vector.z]) + rng.normal(0.0, stddev, 3)
                setattr(message, field, Message(x=x, y=y, z=z))
        front.add_message(role, message, t)
        front.samples()
    front.flush()
    return front


@pytest.mark.parametrize("begin", [also(0.0), 20.0])
def test_an_imu_that_is_shaken_tells_nothing_about_the_dvl(messages, begin):
    """No sentence is about another sensor; from the start, the checks that need the integral say
    that they wait."""
    front = shaken(messages, begin)
    assert all(sentence.startswith("imu ") for sentence in front.warnings), front.warnings
    assert begin or {"DVL", "thrusters"} <= set(front.frames.waiting_for)
