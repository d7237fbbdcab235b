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

"""Runs of the front end on noise-free messages, which several tests share."""

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.samples import samples_of


def make(**values):
    config = Config().with_values(
        {"thrusters.source": "wrench", **{k.replace("__", "."): v for k, v in values.items()}}
    )
    robot = RobotModel.from_config(config)
    return config, robot, prior_from_config(config, robot).values


def run(config, robot, messages, change=lambda role, message, t: (role, message, t)):
    front = SignalFrontEnd(config, robot)
    changed = (change(*item) for item in messages)
    return front, samples_of(front, (item for item in changed if item is not None))


def reasons(front, channel):
    return set(front.masked[channel])
