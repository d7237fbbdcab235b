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

"""What is known of the thrust's scale, which all parameters of the vehicle share
(docs/statement.md, "What the coupling tells").

Any thrust that is a constant factor off fits a vehicle without an arm: masses, damping and
restoring moments come out smaller by it. But the thrust also carries the arm, whose weight and
inertia the joints' efforts show: all efforts are then that factor larger than what it implies.
"""
from __future__ import annotations

import math
from typing import NamedTuple

from .added_direction import MIN_PIECES, Coefficient, RobustFit
from .arm_evidence import LEAST_FACTOR, scale_of_all
from .evidence import ReportedFinding

UNSHOWN = ("the data do not show the scale of the thrust, which all parameters of the vehicle "
           "share (robot.dry_mass bounds it from one side)")


class ThrustRatio(NamedTuple):
    """The true thrust relative to the one that the settings give, if the joints' efforts are right;
    `added`: its logarithm with its standard error; efforts_stddev: relative error that all these
    efforts may share."""

    factor: float
    added: Coefficient
    efforts_stddev: float = 0.0

    @property
    def error(self) -> float:
        """Half width of the logarithm's 95 % interval, with the efforts' error."""
        stddev = math.hypot(self.added.stddev, self.efforts_stddev)
        return self.added._replace(stddev=stddev).half_width(0.975)

    def sentence(self) -> str:
        """What is known of the scale."""
        ratio = math.exp(self.error)
        return (f"the arm shows that the true thrust is {self.factor:.2f} times what the settings "
                f"give (95 %: {self.factor / ratio:.2f} to {self.factor * ratio:.2f}), if the "
                f"joints' efforts are right to {self.efforts_stddev:.0%}; by the same factor all "
                "parameters of the vehicle are uncertain")

    def finding(self, by_command: bool = True) -> ReportedFinding | None:
        """The finding on a scale that is not one with 99.9 % confidence if the efforts are right,
        so that either they or the thrust are wrong; None otherwise. by_command: the thrust follows
        from commands, not from a wrench topic."""
        if not self.added.exceeds(0.0):
            return None
        if not by_command:
            return ReportedFinding("thrusters.wrench_topic", (
                f"thrusters.wrench_topic: {self.sentence()}; correct the wrench that is published, "
                "or check joint_states.effort_scale"))
        return ReportedFinding("thrusters.efficiency", (
            f"thrusters.efficiency: {self.sentence()}; multiply thrusters.efficiency by "
            f"{self.factor:.2f}, or check thrusters.voltage, thrusters.curve and "
            "joint_states.effort_scale"))


def thrust_scale(fit: RobustFit, joints: int, efforts_stddev: float) -> ThrustRatio | None:
    """The scale from a fit whose last `joints` channels are efforts of joints; None if the fit does
    not bound it to plausible factors, from below and above: an arm whose weight seems a fifth of
    what its efforts say is explained as well by axes that do not feel it. efforts_stddev: see
    `ThrustRatio`."""
    found = scale_of_all(fit, joints)
    if found is None or found.added.clusters < MIN_PIECES:
        return None
    ratio = ThrustRatio(found.factor, found.added, efforts_stddev)
    return ratio if abs(found.added.value) + ratio.error < -math.log(LEAST_FACTOR) else None
