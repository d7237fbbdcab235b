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

"""The simulated robot of a guided run, and settings that match its messages."""
from __future__ import annotations

import numpy as np

from ...config import Config
from ...errors import ConfigError
from ...simulation.bag import DEFAULT_START
from ...simulation.configured import true_robot_of
from ...simulation.robot import SimulatedRobot
from ...simulation.rough import Roughness
from ...simulation.true_robot import TrueRobot
from ..closed_loop.command import zeroed

# settings that define the robot
ROBOT = ("robot.vehicle", "robot.urdf", "robot.joints", "robot.mount_xyz", "robot.mount_rpy",
         "robot.gravity", "robot.water_density", "thrusters.allocation", "thrusters.time_constant",
         "dvl.xyz", "excitation.joint_low", "excitation.joint_high", "excitation.depth_range")
# settings that define how a robot's drivers publish, which is not simulated here
MESSAGES = (
    *(f"{sensor}.{name}" for sensor in ("imu", "dvl", "depth", "joint_states")
      for name in ("topic", "type", "delay")),
    "imu.frame", "imu.world", "imu.orientation", "imu.xyz", "imu.rpy", "dvl.frame", "dvl.rpy",
    "depth.unit", "depth.xyz", "joint_states.names", "joint_states.unit",
    "joint_states.effort_scale", "joint_states.effort_scale_negative",
    "joint_states.effort_offset", "joint_states.position_offset", "thrusters.source",
    "thrusters.topic", "thrusters.type", "thrusters.channels", "thrusters.unit",
    "thrusters.delay", "thrusters.efficiency")


def simulated(config: Config) -> tuple[TrueRobot, Config]:
    """(the robot that the settings describe, these settings with topics, units, axes and delays of
    the messages as the simulated robot publishes them). Arm, mount, thrusters, water and the DVL's
    position come from the settings; by default it is the robot of all studies, which differs from
    its settings as a real one does. Raises ConfigError for an arm on a fixed base."""
    if not config.robot.vehicle:
        raise ConfigError("robot.vehicle is false; expected a vehicle, with or without an arm: the "
                          "motions tried here are flown. `simulate` moves an arm on a fixed base.")
    default = Config()
    thrusters = len(config.thrusters.allocation) // 6
    config = zeroed(config.with_values({
        **{name: _value(default, name) for name in MESSAGES},
        "thrusters.signs": np.ones(thrusters).tolist()}))
    own = any(_value(config, name) != _value(default, name) for name in ROBOT)
    return true_robot_of(config) if own else TrueRobot(), config


def holding_still(seed: int, duration: float, true_robot: TrueRobot,
                  rough: Roughness = Roughness()) -> SimulatedRobot:
    """The simulated robot of a guided run of `duration` [s]: until the first command its own
    controllers hold it still, as an autopilot and the arm's driver do."""
    return SimulatedRobot(seed, duration, true_robot, start_ns=round(DEFAULT_START * 1e9),
                          truth_period=None, rough=rough,
                          motion_share=np.zeros(6 + len(true_robot.joints)).tolist())


def _value(config: Config, name: str) -> object:
    section, key = name.split(".")
    return getattr(getattr(config, section), key)
