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

"""Links as cylinders in the water: effect of their drag on joints and vehicle, per drag coefficient
(docs/mathematics.md, "Further terms")."""
from __future__ import annotations

import numpy as np

from ..config import Robot
from .manipulator import LinkMotion, ManipulatorModel
from .sample import Sample
from .term_sets.link_drag import strip_drag

LEAST_LENGTH = 0.01     # [m] assumed for a link without extent; its diameter follows from its mass


class LinkGeometry:
    """A cylinder along each link, from its joint to the next.

    Diameters are `robot.link_diameters`. Without that setting they follow from the link's volume:
    `robot.link_volumes`, or else the volume of water of the link's mass."""

    def __init__(self, arm: ManipulatorModel, robot: Robot):
        self._arm = arm
        length = np.maximum(np.linalg.norm(arm.link_axes, axis=1), LEAST_LENGTH)
        volume = np.array(robot.link_volumes) if robot.link_volumes else (
            arm.inertials()[:, 0] / robot.water_density)
        self.diameters = np.array(robot.link_diameters) if robot.link_diameters else np.sqrt(
            4 * volume / (np.pi * length))
        self._half_rho_d = 0.5 * robot.water_density * self.diameters
        self._supported = np.triu(np.ones((arm.n, arm.n)))      # joint i carries link j >= i

    def drag(self, sample: Sample, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(joint efforts (n, n), vehicle wrench (6, n)) needed against each link's drag at
        coefficient one; nu (6,): velocity of the body through the water."""
        return self._needed(self._arm.link_motion(sample.mu, sample.mu_dot, sample.R_nb, nu))

    def drag_at(self, mu: np.ndarray, mu_dot: np.ndarray, R_nb: np.ndarray,
                nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same at T instants: mu, mu_dot (T, n), R_nb (T, 3, 3), nu (T, 6) give (T, n, n) and
        (T, 6, n), in a fraction of the time of T calls."""
        motions = [self._arm.link_motion(*each) for each in zip(mu, mu_dot, R_nb, nu)]
        return self._needed(LinkMotion(*map(np.array, zip(*motions))))

    def _needed(self, motion: LinkMotion) -> tuple[np.ndarray, np.ndarray]:
        """Efforts and wrench against the drag in a motion, or in many along a leading axis."""
        pull = strip_drag(motion.R, motion.p, motion.v, motion.w, self._arm.link_axes,
                          self._half_rho_d)
        needed = -np.swapaxes(motion.J, -1, -2) @ np.swapaxes(pull, -1, -2)
        return needed[..., 6:, :] * self._supported, needed[..., :6, :]
