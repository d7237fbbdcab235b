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

"""Settings of the thrusters: command topic, allocation, thrust curve and lag."""
from __future__ import annotations

import math
from dataclasses import dataclass

from .settings import Section, setting

# Rows X Y Z [-] K M N [m], columns thrusters 1-8, body FRD, for the usual motor directions.
BLUEROV2_HEAVY_ALLOCATION = (
    .707, .707, -.707, -.707, 0., 0., 0., 0.,
    -.707, .707, -.707, .707, 0., 0., 0., 0.,
    0., 0., 0., 0., -1., 1., 1., -1.,
    .06, -.06, .06, -.06, -.218, -.218, .218, .218,
    .06, .06, -.06, -.06, .12, -.12, .12, -.12,
    -.1888, .1888, .1888, -.1888, 0., 0., 0., 0.)


MOST_LEVER = 10.0    # [m] from the body's origin: beyond it, moments are in another unit
ZONE_CUT, ZONE_SHIFT = "cut", "shift"     # what a command beyond the dead zone does


# Type of a pilot's sticks, or of thruster commands where the autopilot passes them through.
OVERRIDE_RC_IN = "mavros_msgs/msg/OverrideRCIn"


@dataclass(frozen=True)
class Thrusters(Section):
    """Thrusters: from the command to the wrench on the vehicle."""

    NAME = "thrusters"
    source: str = setting(
        "thrusters",
        "Source of the wrench: thruster commands, a wrench topic, or 'zero' (drifting vehicle).",
        choices=("thrusters", "wrench", "zero"))
    topic: str = setting("thruster_commands", "Topic of the thruster commands.")
    type: str = setting(
        "std_msgs/msg/Float64MultiArray", "Message type.",
        choices=("std_msgs/msg/Float64MultiArray", "mavros_msgs/msg/RCOut",
                 OVERRIDE_RC_IN))
    channels: tuple[float, ...] = setting(
        (), "Index of each thruster's command in the message, counted from 1, such as "
            "9 10 11 12 13 14 15 16 for an RCOut; empty: the first ones.", "", 1, 64, kind="floats")
    wrench_topic: str = setting("wrench", "Topic of the body wrench (geometry_msgs/WrenchStamped).")
    wrench_frame: str = setting("flu", "Axes of the wrench on wrench_topic.",
                                choices=("flu", "frd"))
    unit: str = setting(
        "pwm", "Unit of a command: 'pwm' [us], 'normalized' (-1..1) or 'newton'.",
        choices=("pwm", "normalized", "newton"))
    signs: tuple[float, ...] = setting(
        (1.0,) * 8, "+1 or -1 per thruster, like MOT_n_DIRECTION: -1 mirrors the command about "
                    "neutral, for a motor that turns in reverse. For a thruster that is mounted in "
                    "reverse, change the sign of its column in `allocation`.", "", -1.0, 1.0)
    allocation: tuple[float, ...] = setting(
        BLUEROV2_HEAVY_ALLOCATION,
        "6 x N matrix, row by row (X Y Z K M N; FRD): wrench on the body per newton of each "
        "thruster.")
    curve: str = setting(
        "t200",
        "Thrust curve: 't200', or the path of a CSV with PWM and thrust at one or more voltages.")
    efficiency: tuple[float, ...] = setting(
        (), "Factor on the curve's thrust for each thruster; empty: 1.", "", 0.0, 3.0)
    dead_zone: float = setting(
        0.0, "Commands without thrust about neutral that the curve does not contain, as a share of "
             "the full command (400 us, 1, or the curve's largest thrust). The check of the "
             "thrusters measures it.", "", 0.0, 0.5)
    dead_zone_kind: str = setting(
        ZONE_CUT, "Beyond the dead zone a command acts in full ('cut'), or by what exceeds it "
             "('shift').", choices=(ZONE_CUT, ZONE_SHIFT))
    voltage: float = setting(
        16.0, "Battery voltage if there is no battery topic.", "V", 6.0, 30.0)
    time_constant: float = setting(
        0.11, "First-order lag of the rotors, about 0.1 s for a T200 with its ESC. The delay check "
              "measures the error of lag and dead time.", "s", 0.0, 2.0)
    delay: float = setting(0.0, "Dead time from a command's stamp to the motor.", "s", -1.0, 2.0)
    timeout: float = setting(
        0.5, "After this time without a command the wrench is unknown and vehicle rows are masked.",
        "s", 0.01)
    saturation: float = setting(
        0.98, "Fraction of the curve's range above which a thruster counts as saturated and the "
              "row is masked. Commands in newtons have no range but that of a curve of your own.",
        "", 0.5, 1.1)

    def validate(self) -> None:
        if not self.allocation or len(self.allocation) % 6:
            self.refuse("allocation", f"{len(self.allocation)} numbers",
                        "6 numbers for each thruster, row by row")
        if self.source == "thrusters" and not any(self.allocation):
            self.refuse("allocation", "all zeros", "the wrench of at least one thruster")
        n = len(self.allocation) // 6
        for k in range(n):
            column = self.allocation[k::n]
            push, turn = (math.hypot(*part) for part in (column[:3], column[3:]))
            if turn > MOST_LEVER * push > 0.0:
                self.refuse("allocation", f"a lever of {turn / push:.3g} m for thruster {k + 1}",
                            f"at most {MOST_LEVER:g} m: rows 4 to 6 are moments [N m] of one N of "
                            "thrust, about the body's origin")
        if len(self.signs) != n or any(abs(s) != 1.0 for s in self.signs):
            self.refuse("signs", self.signs,
                        f"{n} numbers, each +1 or -1 (one per thruster of the allocation)")
        if self.channels and (len(set(self.channels)) != n or len(self.channels) != n
                              or any(channel % 1 for channel in self.channels)):
            self.refuse("channels", self.channels,
                        f"nothing or {n} different whole numbers (one per thruster)")
        if self.efficiency and len(self.efficiency) != n:
            self.refuse("efficiency", self.efficiency, f"nothing or {n} numbers (one per thruster)")
