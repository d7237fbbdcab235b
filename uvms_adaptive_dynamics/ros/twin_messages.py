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

"""Messages of a forecast: poses, trajectories, standard deviations; axes: docs/twin.md,
"Topics"."""
from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import (
    Point,
    Pose,
    PoseStamped,
    PoseWithCovariance,
    PoseWithCovarianceStamped,
    Quaternion,
    Transform,
    Twist,
    Vector3,
)
from nav_msgs.msg import Path
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from ..config import Config
from ..model.dynamics import State
from ..model.forward_simulation import Forward
from ..model.robot import RobotModel
from ..model.rotations import NED_FROM_ENU, to_frd, to_quaternion
from .messages import doubles, header, in_output_axes

VEHICLE_POSE_NAMES = ("x", "y", "z", "roll", "pitch", "yaw")


class ForecastMessages:
    """Builds the messages of forecasts that start at `t` [s since the epoch]."""

    def __init__(self, config: Config, robot: RobotModel):
        self._robot, self._config, output = robot, config, config.output
        flu = output.frame == "flu"
        # From NED and FRD to the published world and body axes.
        self._world = NED_FROM_ENU if flu else np.eye(3)
        self._axes = to_frd(output.frame)
        self._body = output.base_frame if flu else output.base_frame + "_frd"

    def path(self, t: float, run: Forward) -> Path:
        """Poses of the body; the frame's origin is its position at t."""
        frame = self._config.twin.frame
        return Path(header=header(t, frame), poses=[
            PoseStamped(header=header(t + after, frame), pose=self._pose(state, place))
            for after, state, place in zip(run.t.tolist(), run.states, run.position)])

    def vehicle(self, t: float, run: Forward) -> MultiDOFJointTrajectory:
        """Poses of the body, and velocities in body axes."""
        return MultiDOFJointTrajectory(
            header=header(t, self._config.twin.frame), joint_names=[self._body],
            points=[self._vehicle_point(*each) for each in zip(run.t.tolist(), run.states,
                                                               run.position)])

    def arm(self, t: float, run: Forward) -> JointTrajectory:
        """Joint positions and velocities."""
        return JointTrajectory(
            header=header(t), joint_names=list(self._robot.joints),
            points=[_point(after, state.mu, state.mu_dot)
                    for after, state in zip(run.t.tolist(), run.states)])

    def stddev(self, t: float, run: Forward) -> JointTrajectory:
        """Standard deviations of positions and velocities by name: x y z in the frame of the poses,
        roll pitch yaw about body axes, then the joints."""
        n, vehicle = self._robot.table.n, self._robot.vehicle
        d, points = run.stddev, []
        for after, row in zip(run.t.tolist(), d):
            first = 12 if vehicle else 0
            places, speeds = row[first:first + n], row[first + n:]
            if vehicle:
                x = np.abs(self._world).T @ row[:3]
                places = np.concatenate([x, row[3:6], places])
                speeds = np.concatenate([row[6:12], speeds])
            points.append(_point(after, places, speeds))
        return JointTrajectory(header=header(t, self._config.twin.frame),
                               joint_names=[*(VEHICLE_POSE_NAMES if vehicle else ()),
                                            *self._robot.joints],
                               points=points)

    def end(self, t: float, run: Forward) -> PoseWithCovarianceStamped:
        """The last pose with its covariance, about the fixed axes of the frame."""
        state, found = run.states[-1], run.covariance
        assert found is not None     # forecasts of the twin have one
        # The attitude error is about body axes; the position error is in NED.
        turn = np.zeros((6, 6))
        turn[:3, :3] = self._world.T
        turn[3:, 3:] = self._world.T @ state.R_nb
        covariance = turn @ found[-1][:6, :6] @ turn.T
        return PoseWithCovarianceStamped(
            header=header(t + float(run.t[-1]), self._config.twin.frame),
            pose=PoseWithCovariance(pose=self._pose(state, run.position[-1]),
                                    covariance=doubles(covariance.ravel())))

    # --- parts ------------------------------------------------------------------------------------

    def _rotation(self, state: State) -> Quaternion:
        x, y, z, w = to_quaternion(self._world.T @ state.R_nb @ self._axes)
        return Quaternion(x=x, y=y, z=z, w=w)

    def _pose(self, state: State, place: np.ndarray) -> Pose:
        x, y, z = (self._world.T @ place).tolist()
        return Pose(position=Point(x=x, y=y, z=z), orientation=self._rotation(state))

    def _vehicle_point(self, after: float, state: State,
                       place: np.ndarray) -> MultiDOFJointTrajectoryPoint:
        x, y, z = (self._world.T @ place).tolist()
        u, v, w, p, q, r = in_output_axes(state.nu, self._config.output).tolist()
        return MultiDOFJointTrajectoryPoint(
            transforms=[Transform(translation=Vector3(x=x, y=y, z=z),
                                  rotation=self._rotation(state))],
            velocities=[Twist(linear=Vector3(x=u, y=v, z=w), angular=Vector3(x=p, y=q, z=r))],
            time_from_start=_duration(after))


def _point(after: float, positions: np.ndarray, velocities: np.ndarray) -> JointTrajectoryPoint:
    return JointTrajectoryPoint(positions=doubles(positions), velocities=doubles(velocities),
                                time_from_start=_duration(after))


def _duration(seconds: float) -> Duration:
    whole, part = divmod(round(seconds * 1e9), 1_000_000_000)
    return Duration(sec=int(whole), nanosec=int(part))
