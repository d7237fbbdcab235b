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

"""Term sets of the joints: rotor inertia, constant offset, friction by direction and near rest
(docs/mathematics.md, "Further terms")."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .declaration import Inequality, Layout, Parameter, Sizes, TermInput, TermSet

COULOMB, VISCOUS = 0.2, 1.0     # typical of a joint [N m or N; N m s/rad or N s/m]
DIRECTIONS = ("fwd", "bwd")     # towards a larger and a smaller position


def _efforts(layout: Layout) -> list[tuple[str, str, str]]:
    """(joint, unit of its effort, unit of its viscous friction) for each joint."""
    return [(joint, *(("N", "N s/m") if prismatic else ("N m", "N m s/rad")))
            for joint, prismatic in zip(layout.joints, layout.prismatic)]


def _diagonal(Y: np.ndarray, instant: TermInput, start: int, values: np.ndarray | float) -> None:
    """Write one column per joint from `start` on, with an effort on the joint's own row only."""
    n = len(instant.sample.mu_dot)
    rows = np.arange(instant.joint_rows.start, instant.joint_rows.stop)
    Y[rows, start + np.arange(n)] = values


def _inertia(layout: Layout, mass: np.ndarray, length: np.ndarray) -> np.ndarray:
    """(n,) inertia felt by each joint, of links of this mass (n,) [kg] and length (n,) [m]: kg m^2,
    or kg on a prismatic joint."""
    return mass * np.where(layout.prismatic, 1.0, length ** 2)


class Rotor(TermSet):
    """Reflected inertia of each rotor, which acts on its own joint and does not load the
    vehicle."""

    name, part, kind = "rotor", "joints", "inertia"
    meaning = "reflected rotor inertia of each joint"

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        return [Parameter(f"{joint}.Ir", "kg" if prismatic else "kg m^2", size, 0.0)
                for joint, prismatic, size in zip(layout.joints, layout.prismatic, _inertia(
                    layout, np.array(layout.reference_mass), np.array(layout.reference_length)))]

    def fill(self, Y: np.ndarray, instant: TermInput) -> None:
        _diagonal(Y, instant, 0, instant.sample.mu_ddot)

    def stddev(self, layout: Layout, sizes: Sizes) -> np.ndarray:
        return _inertia(layout, sizes.mass, sizes.length)


class JointOffsets(TermSet):
    """A constant effort of each joint: motor current at rest, a spring, a cable."""

    name, part, kind = "joint_offsets", "joints", "load"
    meaning = "constant offset of each joint's effort"

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        return [Parameter(f"{joint}.offset", unit, COULOMB) for joint, unit, _ in _efforts(layout)]

    def fill(self, Y: np.ndarray, instant: TermInput) -> None:
        _diagonal(Y, instant, 0, 1.0)

    def stddev(self, layout: Layout, sizes: Sizes) -> np.ndarray:
        return np.where(sizes.coulomb > 0, sizes.coulomb, super().stddev(layout, sizes))


class FrictionByDirection(TermSet):
    """Friction beyond fv and fs that acts in one direction only: fv_fwd and fs_fwd while the joint
    moves forward, fv_bwd and fs_bwd while it moves backward, none negative.

    Friction common to both directions can be in fv and fs or in these four; the prior decides, and
    the bounds suffice to keep friction dissipative. If a joint's constant offset is estimated, it
    takes the place of the difference of the Coulomb parts, which are then left out.
    """

    name, part, kind = "friction_by_direction", "joints", "friction"
    meaning = "viscous and Coulomb friction of each joint per direction"

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        found = [Parameter(f"{joint}.fv_{way}", unit, VISCOUS, 0.0)
                 for way in DIRECTIONS for joint, _, unit in _efforts(layout)]
        if self._has_coulomb(layout):
            found += [Parameter(f"{joint}.fs_{way}", unit, COULOMB, 0.0)
                      for way in DIRECTIONS for joint, unit, _ in _efforts(layout)]
        return found

    def fill(self, Y: np.ndarray, instant: TermInput) -> None:
        efforts = [instant.sample.mu_dot]
        efforts += [instant.sign] if self._has_coulomb(instant.table) else []
        for k, effort in enumerate(efforts):
            for side, share in enumerate((np.maximum(effort, 0.0), np.minimum(effort, 0.0))):
                _diagonal(Y, instant, (2 * k + side) * len(effort), share)

    def stddev(self, layout: Layout, sizes: Sizes) -> np.ndarray:
        known = [sizes.viscous] * 2 + [sizes.coulomb] * 2 * self._has_coulomb(layout)
        return np.maximum(np.concatenate(known), super().stddev(layout, sizes))

    @staticmethod
    def _has_coulomb(layout: Layout) -> bool:
        return "joint_offsets" not in layout.terms


class DeadBand(TermSet):
    """Coulomb friction near rest is fs + f_rest: f_rest exp(-(mu_dot / v)^2) sgn(mu_dot).

    The Gaussian form of Stribeck friction (Armstrong-Helouvry, Dupont, Canudas de Wit, Automatica
    30(7), 1994); negative where the measured effort has a dead band about zero.
    """

    name, part, kind = "dead_band", "joints", "friction"
    meaning = "more (stiction) or less (dead band of the effort) friction of each joint near rest"

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        return [Parameter(f"{joint}.f_rest", unit, COULOMB) for joint, unit, _ in _efforts(layout)]

    def fill(self, Y: np.ndarray, instant: TermInput) -> None:
        near = np.exp(-(instant.sample.mu_dot / instant.band_speed) ** 2)
        _diagonal(Y, instant, 0, near * instant.sign)

    def stddev(self, layout: Layout, sizes: Sizes) -> np.ndarray:
        return np.maximum(sizes.coulomb, super().stddev(layout, sizes))

    def inequalities(self, layout: Layout) -> Sequence[Inequality]:
        """fs + f_rest >= 0: friction dissipates energy near rest, too."""
        return [Inequality((f"{joint}.fs", f"{joint}.f_rest"), np.full((2, 1, 1), 1 / COULOMB),
                           f"friction of {joint} near rest") for joint in layout.joints]
