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

"""A recording of the independent simulator holds what its truth says, and the package reads it."""
import json

import numpy as np
import pytest
from dive import EVENTS
from make_bag import record

from uvms_adaptive_dynamics import load_config
from uvms_adaptive_dynamics.evaluation.bags import read_messages
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.topics import inputs


@pytest.fixture(scope="module")
def dive(tmp_path_factory):
    out = tmp_path_factory.mktemp("independent") / "dive"
    record(out, 2, "station", "none", 3.0, 0.3)
    return out


def test_every_input_has_its_messages(dive):
    config = load_config(dive / "robot.yaml")
    of = json.loads((dive / "truth.json").read_text())["sensing"]
    found = {}
    for role, message, _ in read_messages(dive / "bag", inputs(config)):
        found.setdefault(role, []).append(message)
    for role, period in (("imu", of["imu_period"]), ("joint_states", of["joint_period"]),
                         ("dvl", of["dvl_period"]), ("depth", 0.1), ("thrusters", 0.02)):
        assert len(found[role]) == pytest.approx(3.0 / period, rel=0.2, abs=3), role
    upward = np.mean([m.linear_acceleration.z for m in found["imu"]])
    assert upward == pytest.approx(9.81, abs=0.2)


def test_the_settings_describe_the_robot(dive):
    """The package's model of these settings has its joints and its thrusters."""
    truth = json.loads((dive / "truth.json").read_text())
    config = load_config(dive / "robot.yaml")
    robot = RobotModel.from_config(config)
    assert len(robot.channels) == 6 + truth["joints"]
    assert len(config.thrusters.signs) == truth["thrusters"]


@pytest.mark.parametrize("event", EVENTS)
def test_each_event_is_told_in_the_truth(tmp_path, event):
    truth = record(tmp_path / "dive", 3, "joystick", event, 1.0, 1.0)
    assert bool(truth["event"]) == (event != "none")
