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

"""Source of the attitude: the IMU's orientation, or an estimate from gyro, force and DVL."""
from __future__ import annotations

import math
from collections.abc import Sequence

from ...config import Config
from ...model.rotations import cross
from ..gates.frozen import OVERDUE_INTERVALS, SLOWEST_ATTITUDE
from ..gates.orientation import OrientationGate
from ..gates.repeats import NewValues
from .attitude import OwnAttitude

ATTITUDE_UNKNOWN, NO_HEADING = "attitude unknown", "no heading for the current"
SLOW_SEARCH = 30.0  # [s] search time from which to warn: ten times that of a normal search
LOST_TIME = 1.5     # [s] of nothing but rejected velocities, after which the attitude is doubted
LEVEL_DOWN = (0.0, 0.0, 1.0)


class AttitudeSource:
    """Completes readings [down (3), rates (3), force (3), heading]; times [s] increase.

    `own`: whether the attitude is estimated here; None before the first reading.
    """

    def __init__(self, config: Config):
        self._has_force = config.imu.measures_force
        self._setting = config.imu.orientation if self._has_force else "message"
        self._gravity = config.robot.gravity
        self._has_current = any(config.robot.current_ned[:2])
        self._gate = OrientationGate()
        self._attitude = OwnAttitude(config.robot.gravity, config.dvl.stddev)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._gate.reset()
        self._attitude.reset()
        self._new = NewValues(SLOWEST_ATTITUDE)
        self._repeated = False      # an orientation has come again, instead of none
        self.own: bool | None = None
        self._accepted = -math.inf                  # [s] of the last accepted velocity
        self._searched = self._elapsed = 0.0        # [s] without a known attitude, total
        self._t: float | None = None
        self._oriented: tuple[float, Sequence[float]] = -math.inf, ()    # time and used reading

    def restart(self) -> None:
        """Forget an attitude estimated here, as after a gap in the IMU."""
        self._attitude.restart()

    def judge(self, t: float, reading: Sequence[float],
              longest: float) -> Sequence[float] | None:
        """The reading as the gates judge it. An unused orientation or a missing force is replaced
        by a constant, an orientation that others have by the last one, turned by the gyro; None if
        that is more than `longest` [s] old. Likewise one that repeats the last one before the next
        new one is due: the driver merges it with rates that are newer."""
        if not self._has_force:
            return [*reading[:6], 0.0, 0.0, 0.0, reading[9]]
        published = reading
        if self._setting == "auto":
            if not self._gate.usable(t, reading):
                if t - self._oriented[0] > longest:
                    return None
                reading = _followed(*self._oriented, t, reading)
            self.own = bool(self._gate.missing)
        else:
            self.own = self._setting == "own"
        if not self.own and self._repeats(t, published):
            reading = _followed(*self._oriented, t, reading)
        self._oriented = t, reading
        return [*LEVEL_DOWN, *reading[3:9], 0.0] if self.own else reading

    def _repeats(self, t: float, reading: Sequence[float]) -> bool:
        """Whether the reading's orientation was measured before it."""
        if math.isnan(reading[0]) or not self._new.repeats(t, [*reading[:3], reading[9]]):
            return False
        self._repeated = True
        return not self._new.is_due(t, OVERDUE_INTERVALS)

    def complete(self, t: float, row: Sequence[float]) -> Sequence[float]:
        """A gated reading completed with its attitude. An unmeasured force is replaced by that of a
        vehicle without acceleration, so that nothing is integrated."""
        if not self._has_force:
            return [*row[:6], *(-self._gravity * n for n in row[:3]), row[9]]
        if not self.own:
            return row
        if self._t is not None and t - self._accepted < LOST_TIME:
            self._elapsed += t - self._t
            self._searched += 0.0 if self.known else t - self._t
        self._t = t
        return self._attitude.add(t, row[3:6], row[6:9])

    @property
    def known(self) -> bool:
        """Whether the attitude is accurate enough to judge other sensors by."""
        return not self.own or math.isfinite(self._attitude.good_since)

    def find(self, t: float, velocity: Sequence[float]) -> bool:
        """Add a velocity (3,) [m/s] at the IMU in body axes while the attitude is unknown; returns
        whether it is known by now."""
        self._attitude.add_velocity(t, velocity)
        self._accepted = t
        return self.known

    def keep(self, t: float, velocity: Sequence[float]) -> None:
        """Add a velocity, as for `find`, that the gate has accepted."""
        if self.own:
            self._attitude.add_velocity(t, velocity)
            self._accepted = t

    def doubt(self, t: float) -> None:
        """Note a rejected velocity: after a while the attitude itself may be wrong."""
        if self.own and t - self._accepted > LOST_TIME:
            self._attitude.restart()

    def level(self, t: float) -> bool:
        """Whether the tilt is known at t."""
        return not self.own or t >= self._attitude.tilt_since

    def mask_reason(self, t: float) -> str:
        """Why the vehicle's rows are masked at t, '' if they are not."""
        if not self.own:
            return ""
        if self._has_current:
            return NO_HEADING
        return ATTITUDE_UNKNOWN if t < self._attitude.good_since else ""

    def sentences(self, rate: float | None) -> list[str]:
        """Warnings for the operator about the attitude; rate [Hz] of the messages."""
        if not self.own:
            return [] if not self._repeated else self._new.sentences("imu", rate, "orientation",
                                       "the gyro carries it to the others "
                                       "(imu.orientation: 'own' does without)")
        found = []
        if self._has_current:
            found.append("robot.current_ned: a current needs a heading, which the IMU does not "
                         "give; set it to zero, or use an IMU with a magnetometer")
        if self._searched > max(SLOW_SEARCH, 0.5 * self._elapsed):
            found.append("imu.frame: rates, force and DVL velocity contradict each other, so the "
                         "attitude cannot be estimated; check imu.frame, dvl.frame, imu.rpy and "
                         "dvl.rpy")
        elif self._setting == "auto":
            found.append(f"imu.orientation: {self._gate.missing}; the attitude is estimated from "
                         "its rates and force and the DVL. Set imu.orientation to 'own' if that is "
                         "intended, else make the driver publish an orientation")
        return found


def _followed(before: float, last: Sequence[float], t: float,
              reading: Sequence[float]) -> Sequence[float]:
    """The reading at t [s] with the orientation of the last one, at `before` [s], turned by the
    mean rate of both."""
    step, down = t - before, last[:3]
    turn = [0.5 * step * (a + b) for a, b in zip(last[3:6], reading[3:6])]
    down = [n + d for n, d in zip(down, cross(down, turn))]
    length = math.sqrt(sum(n * n for n in down))
    level = max(down[1] ** 2 + down[2] ** 2, 1e-9)      # zero if the vehicle stands on its nose
    heading = last[9] + (turn[1] * down[1] + turn[2] * down[2]) / level
    return [*(n / length for n in down), *reading[3:9], heading]
