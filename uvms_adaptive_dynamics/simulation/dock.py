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

"""A dock, a net or the bottom that holds the vehicle where it is."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from .mishaps import Held

# What holds gives way by a centimetre at the thrusters' limits, and does not let it swing.
STIFFNESS, DAMPING = 3000.0, 400.0              # [N/m], [N s/m]
TURN_STIFFNESS, TURN_DAMPING = 150.0, 15.0      # [N m/rad], [N m s/rad]


class Dock:
    """A spring and a damper to the pose at the beginning of each time in which it holds."""

    def __init__(self, held: Sequence[Held]):
        self._held = held
        self._poses: dict[Held, pin.SE3] = {}

    def force(self, t: float, pose: pin.SE3, nu: np.ndarray) -> pin.Force:
        """Force and moment on the body, FRD, at t [s]; pose: of the body, to NED; nu (6,): its
        velocity."""
        total = pin.Force.Zero()
        for held in self._held:
            if held.begin <= t < held.end:
                at = self._poses.setdefault(held, pose.copy())
                off = pose.rotation.T @ (at.translation - pose.translation)
                turned = pin.log3(pose.rotation.T @ at.rotation)
                total += pin.Force(STIFFNESS * off - DAMPING * nu[:3],
                                   TURN_STIFFNESS * turned - TURN_DAMPING * nu[3:])
        return total
