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

"""Detection of frozen sensors: bit-identical readings while other sensors show motion.

Repeats are normal: a driver may publish every value three times, and readings of a robot at rest
may not change for long. A sensor is frozen if its readings stay identical longer than any normal
repeat, and longer than its new values usually take, while another sensor shows motion at least
twice.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from .repeats import NewValues

# [s] of identical readings, by role. Commands are exempt: a joystick held still is not frozen. The
# DVL's is between seven and eight periods at 10 Hz, so that jitter does not decide which it is.
FROZEN_AFTER = {"imu": 0.3, "dvl": 0.75, "joint_states": 0.5, "depth": 1.0}
# Longest interval between new values that counts as one, in FROZEN_AFTER (a longer one is a rest or
# a fault), and number of usual intervals after which the next new value is overdue.
SLOWEST_SENSOR, OVERDUE_INTERVALS = 2.0, 1.5
# [m] Depth change by DVL and attitude from which a repeated depth is frozen: a coarse sensor
# repeats its reading on a level path.
MIN_DEPTH_CHANGE = 0.15
# Changes that prove motion: rates [rad/s] and force [m/s^2]; DVL [m/s]; depth [m]; joints [rad].
IMU_MOTION = (0.05,) * 3 + (0.3,) * 3
LEAST_MOTION = {"dvl": 0.05, "depth": 0.1, "joint_states": 0.03}
MAX_DVL_STEP = 1.0   # [s] between readings over which vertical velocity is integrated
# Parts of an IMU's reading that may freeze alone, with the part that proves it: rates for the
# attitude and, since they turn gravity, for the force; a turning attitude for the rates.
IMU_PARTS = {"attitude": ((0, 1, 2, 9), "rates"), "rates": ((3, 4, 5), "attitude"),
             "force": ((6, 7, 8), "rates")}
# [s] of identical values of a part: longer than the update period of a filter inside the IMU.
PART_FROZEN_AFTER = 0.5
# [s] Longest interval between new attitudes that the gyro bridges: a large bias, .005 rad/s, makes
# half a degree of it.
SLOWEST_ATTITUDE = 2.0
PART_MOTION = {"attitude": 0.03, "rates": 0.05}    # [rad], [rad/s] changes that prove motion


def new_values(role: str) -> NewValues:
    """What tells the measurements of a role from messages that repeat the last one."""
    return NewValues(SLOWEST_SENSOR * FROZEN_AFTER[role])


class FrozenSensorGate:
    """Compares the readings of all roles; times are relative to the front end's origin."""

    def __init__(self, rest_velocity: float):
        self._rest_velocity = rest_velocity
        self.reset()

    def reset(self) -> None:
        """Forget all readings."""
        self._new = {role: new_values(role) for role in FROZEN_AFTER}
        self._proven = dict.fromkeys(FROZEN_AFTER, -math.inf)     # [s] since when, if proven
        self._last: dict[str, Sequence[float]] = {}               # of the IMU's parts
        self._since: dict[str, float] = {}                        # likewise
        self._attitudes = NewValues(SLOWEST_ATTITUDE)
        self._anchor: dict[str, Sequence[float]] = {}             # reading when motion was noted
        self._motion_times: dict[str, tuple[float, float]] = {}   # last but one, last
        self._part_motion: dict[str, tuple[float, float]] = {}    # likewise, for the IMU's parts
        self._down: Sequence[float] | None = None
        self._dvl_time = -math.inf
        self._descent = self._descent_at_last_depth = 0.0         # [m]

    def gate(self, role: str, t: float, values: Sequence[float]) -> float | None:
        """Add a reading; returns the time since which its sensor is frozen, None if it is not.

        Joints and depth may legitimately be constant: joints are frozen only if their velocities
        are not zero, depth only if the vehicle has sunk or risen.
        """
        if role not in FROZEN_AFTER:
            return None
        if role == "imu":
            self._down = None if math.isnan(values[0]) else values[:3]
        elif role == "dvl" and self._down is not None:
            if t - self._dvl_time < MAX_DVL_STEP:
                self._descent += (t - self._dvl_time) * sum(
                    v * n for v, n in zip(values, self._down))
            self._dvl_time = t
        new = self._new[role]
        if not new.repeats(t, values):
            if role == "depth":
                self._descent_at_last_depth = self._descent
            self._note_motion(role, t, values)
            return self._part_frozen_since(t, values) if role == "imu" else None
        if t - new.since < max(FROZEN_AFTER[role], OVERDUE_INTERVALS * (new.period or 0.0)):
            return None
        # (also once the vehicle is back at a depth that it has left)
        if new.since == self._proven[role] or self._moves(role, new.since, values):
            self._proven[role] = new.since
            return new.since
        return None

    def _part_frozen_since(self, t: float, values: Sequence[float]) -> float | None:
        """The time since which a part of the IMU is frozen, None if none is.

        A part that has never changed is one that the driver does not fill in.
        """
        frozen = None
        attitude = [values[k] for k in IMU_PARTS["attitude"][0]]
        if not math.isnan(attitude[0]):
            self._attitudes.repeats(t, attitude)
        for part, (columns, other) in IMU_PARTS.items():
            shown, last = [values[k] for k in columns], self._last.get(part)
            if last is None or math.isnan(shown[0]):
                self._last[part], self._since[part] = shown, -math.inf
            elif shown != last:
                self._last[part], self._since[part] = shown, t
                if part in PART_MOTION:
                    self._note_part(part, t, shown)
            elif part == "attitude" and not self._attitudes.is_due(t, OVERDUE_INTERVALS):
                pass    # the gyro carries an attitude that comes slowly; nothing the other parts
            elif t - self._since[part] > PART_FROZEN_AFTER and self._since[part] > -math.inf:
                before, _ = self._part_motion.get(other, (-math.inf, -math.inf))
                frozen = self._since[part] if before > self._since[part] else frozen
        return frozen

    def _note_part(self, part: str, t: float, shown: Sequence[float]) -> None:
        """Note the time if a part has changed enough since its motion was last noted."""
        anchor, limit = self._anchor.get(part), PART_MOTION[part]
        if anchor is None or any(abs(a - b) > limit for a, b in zip(shown, anchor)):
            self._anchor[part] = shown
            self._part_motion[part] = (
                self._part_motion.get(part, (-math.inf, -math.inf))[1], t)

    def _moves(self, role: str, since: float, values: Sequence[float]) -> bool:
        """Whether the robot has moved since `since` in a way that this sensor should have shown."""
        if role == "joint_states":
            speeds = values[len(values) // 3:2 * len(values) // 3]
            return any(abs(speed) > self._rest_velocity for speed in speeds)
        if role == "depth":
            return abs(self._descent - self._descent_at_last_depth) > MIN_DEPTH_CHANGE
        return any(last_but_one > since
                   for other, (last_but_one, _) in self._motion_times.items() if other != role)

    def _note_motion(self, role: str, t: float, values: Sequence[float]) -> None:
        """Note the time if the reading has changed enough since motion was last noted."""
        limits: Sequence[float] = IMU_MOTION
        if role == "imu":
            shown = values[3:9]
        else:
            shown = values[:len(values) // 3] if role == "joint_states" else values
            limits = (LEAST_MOTION[role],) * len(shown)
        anchor = self._anchor.get(role)
        if anchor is not None:
            for now, before, limit in zip(shown, anchor, limits):
                if abs(now - before) > limit:
                    break
            else:
                return
        self._anchor[role] = shown
        self._motion_times[role] = (self._motion_times.get(role, (-math.inf, -math.inf))[1], t)
