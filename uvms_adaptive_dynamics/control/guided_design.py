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

"""Design a stage's motion from the present estimate."""
from __future__ import annotations

from dataclasses import replace
from glob import escape

import numpy as np

from ..config import Config
from ..errors import ParameterError
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from .excitation.design import design, largest_uses, moving
from .excitation.limits import MotionLimits
from .excitation.trajectory import Trajectory
from .guide import Request


def designed(config: Config, robot: RobotModel, limits: MotionLimits, known: ParameterSet,
             free: np.ndarray, request: Request, seconds: float = np.inf) -> Trajectory:
    """The motion for a request; `made` records the largest share of each limit that it uses
    according to the estimate. limits: those at the robot's depth. Raises ParameterError."""
    if known.noise_stddev is None:
        raise ParameterError("the channels' noise is not known yet; expected the noise of a "
                             "running estimator.")
    duration, posture = config.excitation.duration, None
    if robot.joints and config.identification.joint_output == "none":
        posture = np.array(request.posture)
    limits = limits.smaller(request.size, config).doubtful(request.doubt, config, duration)
    trajectory = design(robot, known, known.noise_stddev, free,
                        _commanded(config, robot, request), limits, duration, request.number,
                        seconds, config=config, kind=request.stage.kind, posture=posture)
    uses = largest_uses(trajectory, robot, limits, known.values[None])
    return replace(trajectory, made={**trajectory.made, "stage": request.stage.name,
                                     "size": request.size, "doubt": round(request.doubt, 3),
                                     "uses": {name: round(share, 3)
                                              for name, share in uses.items()}})


def _commanded(config: Config, robot: RobotModel, request: Request) -> tuple[str, ...]:
    """The patterns of the stage's channels, or the names of those among them that are commanded;
    raises ParameterError if none is."""
    settings, stage = config.identification, request.stage
    asked = moving(robot, stage.move)[0 if robot.vehicle else 6:]
    is_commanded = np.ones_like(asked)
    is_commanded[robot.vehicle_rows] = settings.thruster_output != "none"
    is_commanded[robot.arm_rows] = settings.joint_output != "none"
    if not (asked & is_commanded).any():
        raise ParameterError(
            f"'{stage.title}' moves only {', '.join(stage.move)}, which is not commanded; expected "
            "another schedule, or another identification.thruster_output or .joint_output.")
    if is_commanded[asked].all():
        return stage.move
    return tuple(escape(name) for name in np.array(robot.channels)[asked & is_commanded])
