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

"""The wanted motion of a planner or controller at any time, from messages.

Messages are read by their field names: trajectory_msgs/MultiDOFJointTrajectory (its first body is
the vehicle) or geometry_msgs/AccelStamped for the vehicle, trajectory_msgs/JointTrajectory for the
arm. Points are interpolated linearly in time; a single point holds from its time on.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..config import Config, Feedforward
from ..errors import MessageError
from ..model.rotations import FRD_FROM_FLU, NED_FROM_ENU
from ..model.state import State

# First words of frames that are fixed to the world: those of REP 105, and "world".
WORLD_FRAMES = ("map", "odom", "earth", "world")
# A hundred thousand times what a robot reaches; interpolation cannot overflow below it.
LARGEST_WANTED_VALUE = 1e6
# Received motions kept that have not begun: one second of a planner that sends 100 a second.
MOST_AHEAD = 100


class WantedMotion(NamedTuple):
    """nu_dot (6,) [m/s^2, rad/s^2] derivative of the body velocity, FRD; mu_ddot (n,); velocities
    nu (6,) and mu_dot (n,), None if not given. given: True if any motion is in force."""

    nu_dot: np.ndarray
    mu_ddot: np.ndarray
    nu: np.ndarray | None
    mu_dot: np.ndarray | None
    given: bool


class _Points(NamedTuple):
    """Times (k,) [s], velocities (k, d) or None, accelerations (k, d)."""

    times: np.ndarray
    velocities: np.ndarray | None
    accelerations: np.ndarray


class _Timeline:
    """The motion in force, and received motions that begin later."""

    def __init__(self) -> None:
        self._points: deque[_Points] = deque(maxlen=MOST_AHEAD)

    def add(self, points: _Points, receive: float) -> None:
        """Add a motion received at `receive` [s]; it replaces those that do not begin before it."""
        line = self._points
        while line and line[-1].times[0] >= points.times[0]:
            line.pop()
        line.append(points)
        while len(line) > 1 and line[1].times[0] <= receive:
            line.popleft()

    def at(self, t: float) -> _Points | None:
        """The last motion that has begun by t [s], or None."""
        return next((each for each in reversed(self._points) if each.times[0] <= t), None)

    def begins(self, t: float) -> list[float]:
        """Beginnings [s] of the motions that have not begun by t [s]."""
        return [each.times[0] for each in self._points if each.times[0] > t]


class WantedMotions:
    """Keeps the latest wanted motion of vehicle and arm; times [s] are on the receiver's clock.
    A motion stays in force until the next one begins.

    doubt: a sentence if the frame_id of the vehicle's latest motion contradicts feedforward.axes,
    which prevail; '' if not.
    """

    def __init__(self, joints: Sequence[str], settings: Feedforward):
        self.doubt = ""
        self._joints, self._settings = tuple(joints), settings
        self._vehicle, self._arm = _Timeline(), _Timeline()
        world = settings.axes.startswith("world")
        flip = {"body_flu": FRD_FROM_FLU, "world_enu": NED_FROM_ENU}.get(settings.axes, np.eye(3))
        self._world, self._flip = world, np.kron(np.eye(2), flip)     # of linear and angular

    def change_settings(self, config: Config) -> None:
        """Adopt another `feedforward.motion_timeout`."""
        self._settings = config.feedforward

    def forget(self) -> None:
        """Drop all motions, e.g. because the clock jumped."""
        self._vehicle, self._arm, self.doubt = _Timeline(), _Timeline(), ""

    # --- messages; each raises MessageError if unusable -------------------------------------------

    def add_vehicle_trajectory(self, message: Any, receive: float) -> None:
        """Take a trajectory_msgs/MultiDOFJointTrajectory in the axes of feedforward.axes."""
        points = _points(message, receive, "vehicle_trajectory", lambda point, what: [
            six for twist in list(getattr(point, what))[:1] for six in _six(twist)], 6)
        self._vehicle.add(self._not_over(receive, "vehicle_trajectory", points), receive)
        self._compare_frame(message)

    def add_vehicle_acceleration(self, message: Any, receive: float) -> None:
        """Take a geometry_msgs/AccelStamped in the same axes; it holds from now on."""
        try:
            acceleration = np.array(_six(message.accel), float)
        except (AttributeError, TypeError, ValueError) as error:
            raise MessageError(f"vehicle_acceleration: {error}") from None
        self._vehicle.add(_Points(np.array([receive]), None, _finite(
            acceleration[None], "vehicle_acceleration")), receive)
        self._compare_frame(message)

    def add_arm_trajectory(self, message: Any, receive: float) -> None:
        """Take a trajectory_msgs/JointTrajectory with all joints of the robot, in any order."""
        names = list(message.joint_names)
        missing = [joint for joint in self._joints if joint not in names]
        if missing:
            raise MessageError(f"arm_trajectory: joint '{missing[0]}' is missing; the message has "
                               f"{', '.join(names) or 'no names'}")
        places = [names.index(joint) for joint in self._joints]

        def values(point: Any, what: str) -> list[float]:
            given = list(getattr(point, what))
            if given and len(given) != len(names):
                raise MessageError(f"arm_trajectory: a point has {len(given)} {what}, expected "
                                   f"{len(names)}, one for each joint")
            return [given[k] for k in places] if given else []

        points = _points(message, receive, "arm_trajectory", values, len(self._joints))
        self._arm.add(self._not_over(receive, "arm_trajectory", points), receive)

    def _not_over(self, receive: float, what: str, points: _Points) -> _Points:
        """The points; raises MessageError if they would never act."""
        late = receive - points.times[-1] - self._hold(points)
        if late > 0:
            raise MessageError(f"{what}: the motion ended {late:.3g} s before it came; expected a "
                               "header.stamp of now (or zero) on this node's clock")
        return points

    def _compare_frame(self, message: Any) -> None:
        frame = str(getattr(getattr(message, "header", None), "frame_id", ""))
        name, axes = frame.rsplit("/", 1)[-1], self._settings.axes
        given = name.split("_")[0] in WORLD_FRAMES
        self.doubt = "" if not name or given == self._world else (
            f"the wanted motion has frame_id '{frame}', but is taken in feedforward.axes '{axes}'; "
            "correct one of them")

    # --- the motion -------------------------------------------------------------------------------

    def at(self, t: float, state: State) -> WantedMotion:
        """The motion at time t [s] on the receiver's clock; zeros if none is in force. `state`
        rotates world axes into the body."""
        vehicle = self._in_force(self._vehicle, t)
        arm = self._in_force(self._arm, t)
        nu_dot, nu = np.zeros(6), None
        if vehicle is not None:
            acceleration, velocity = vehicle
            nu_dot = self._flip @ acceleration
            nu = None if velocity is None else self._flip @ velocity
            if self._world:
                turn = np.kron(np.eye(2), state.R_nb.T)
                nu_dot, nu = turn @ nu_dot, None if nu is None else turn @ nu
                # d(R^T v)/dt = R^T dv/dt - w x (R^T v)
                carried = state.nu if nu is None else nu
                nu_dot[:3] -= np.cross(carried[3:], carried[:3])
        mu_ddot, mu_dot = (np.zeros(len(self._joints)), None) if arm is None else arm
        return WantedMotion(nu_dot, mu_ddot, nu, mu_dot,
                            vehicle is not None or arm is not None)

    def begins_in(self, t: float) -> float:
        """[s] from t until the first motion that was received begins; 0 if there is none."""
        ahead = [*self._vehicle.begins(t), *self._arm.begins(t)]
        return float(min(ahead, default=t)) - t

    def _hold(self, points: _Points) -> float:
        return self._settings.motion_timeout if len(points.times) == 1 else 0.0

    def _in_force(self, line: _Timeline,
                  t: float) -> tuple[np.ndarray, np.ndarray | None] | None:
        """(accelerations, velocities) at t; None before the first motion and after the last."""
        points = line.at(t)
        if points is None or t > points.times[-1] + self._hold(points):
            return None
        return (_interpolated(t, points.times, points.accelerations),
                None if points.velocities is None
                else _interpolated(t, points.times, points.velocities))


def _points(message: Any, receive: float, what: str, values: Any, size: int) -> _Points:
    """The points of a trajectory message; values(point, "velocities" or "accelerations")."""
    try:
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        begin = stamp if stamp else receive
        points = list(message.points)
        times = np.array([begin + p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec
                          for p in points], float)
        velocities, accelerations = (
            [values(point, field) for point in points] for field in ("velocities", "accelerations"))
    except (AttributeError, TypeError, ValueError) as error:
        raise MessageError(f"{what}: message lacks a field of its type ({error})") from None
    if not points or (np.diff(times) <= 0).any():
        raise MessageError(f"{what}: got {len(points)} points; expected one or more with "
                           "increasing time_from_start")
    has_velocities = all(len(v) == size for v in velocities)
    if has_velocities and len(points) > 1 and not any(map(len, accelerations)):
        v = _finite(np.array(velocities, float), what)
        return _Points(times, v, np.gradient(v, times, axis=0))
    if not all(len(a) == size for a in accelerations):
        raise MessageError(f"{what}: a point has no accelerations of {size} numbers; expected them "
                           "at every point, or velocities at two or more points")
    return _Points(times, _finite(np.array(velocities, float), what) if has_velocities else None,
                   _finite(np.array(accelerations, float), what))


def _interpolated(t: float, times: np.ndarray, values: np.ndarray) -> np.ndarray:
    if t <= times[0] or len(times) == 1:
        return values[0]
    if t >= times[-1]:
        return values[-1]
    k = int(np.searchsorted(times, t))
    share = (t - times[k - 1]) / (times[k] - times[k - 1])
    return values[k - 1] + share * (values[k] - values[k - 1])


def _six(twist: Any) -> list[float]:
    linear, angular = twist.linear, twist.angular
    return [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]


def _finite(values: np.ndarray, what: str) -> np.ndarray:
    if not (np.abs(values) <= LARGEST_WANTED_VALUE).all():  # NaN too
        raise MessageError(f"{what}: a number is not finite, or beyond {LARGEST_WANTED_VALUE:g}; "
                           "expected finite velocities and accelerations [SI]")
    return values
