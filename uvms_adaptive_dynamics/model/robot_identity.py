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

"""The robot as a folder name, so that estimates of different robots are kept apart."""
from __future__ import annotations

import hashlib
import json
import re

import numpy as np

from .robot import RobotModel

LONGEST_ROBOT_NAME = 40  # characters of a URDF's robot name used in a folder's name


def robot_identity(robot: RobotModel) -> str:
    """The robot's parts and eight hexadecimal digits, e.g. 'vehicle-alpha5-3f2a9c1d'. The digits
    are a hash of joints, channels, parameters, and the arm's geometry and mount."""
    words = ["vehicle"] if robot.vehicle else []
    shape = [list(robot.joints), list(robot.channels), list(robot.table.names)]
    if robot.arm is not None:
        name = re.sub(r"\W+", "_", robot.arm.model.name, flags=re.ASCII)
        words.append(name[:LONGEST_ROBOT_NAME] or "arm")
        # the effect of geometry and mount, without gravity, which is a setting of its own; rounded
        # so that Pinocchio's version does not matter
        mu, base = np.linspace(0.1, 0.4, len(robot.joints)), np.full(6, 0.1)
        moving = robot.arm.regressors(mu, mu, mu, np.eye(3), base, base)
        resting = robot.arm.regressors(mu, 0 * mu, 0 * mu, np.eye(3), 0 * base, 0 * base)
        shape += [(np.round(a - b, 4) + 0.0).tolist() for a, b in zip(moving, resting)]
    digits = hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:8]
    return "-".join([*words, digits])
