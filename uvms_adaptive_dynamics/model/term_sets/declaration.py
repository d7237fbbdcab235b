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

"""Interface of a set of parameters beyond the paper's 27 + 12 n (docs/terms.md)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ..sample import Sample


class Parameter(NamedTuple):
    """Name, unit, typical magnitude (for scaling) and physical bounds."""

    name: str
    unit: str
    scale: float
    low: float = -np.inf
    high: float = np.inf


class Inequality(NamedTuple):
    """sum_k pi[names[k]] basis[k] must be positive definite; basis (m, d, d), d at most 4, scaled
    so that the matrix is dimensionless."""

    names: tuple[str, ...]
    basis: np.ndarray
    label: str


class Layout(Protocol):
    """The part of the parameter table that a set may use."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, base to tip."""

    @property
    def prismatic(self) -> tuple[bool, ...]:
        """Whether each joint is prismatic."""

    @property
    def reference_mass(self) -> tuple[float, ...]:
        """Reference mass of each link [kg]."""

    @property
    def reference_length(self) -> tuple[float, ...]:
        """Reference length of each link [m]."""

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of all the robot's sets."""


class Sizes(NamedTuple):
    """Largest plausible values of each link and joint, (n,) each, zero if unknown: mass [kg],
    length [m], viscous [N m s/rad] and Coulomb friction [N m]."""

    mass: np.ndarray
    length: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray


class TermInput(NamedTuple):
    """Input of a set's columns.

    nu (6,): velocity of the arm's base; sign (n,) of Coulomb friction; joint_rows: rows of the
    joints; table: `parameters.ParameterTable`; drag(sample, nu): `LinkGeometry.drag`, or None;
    band_speed: robot.dead_band_speed; by_current (6, 2): derivative of the vehicle's efforts by the
    current, at the current estimate, or None."""

    sample: Sample
    nu: np.ndarray
    sign: np.ndarray
    joint_rows: slice
    table: Any
    drag: Any
    band_speed: float
    by_current: np.ndarray | None = None


class TermSet:
    """A named set of parameters with its columns of Y, its constraints and its prior deviation.

    part: 'vehicle' or 'joints', whose parameters the set follows in pi; kind: the term of
    `model/terms.py` that its efforts belong to: 'damping', 'friction', 'inertia', 'load', or
    'measurement' (an error of the measured wrench, no effort of the robot); meaning: the effect,
    for the operator; wanders: whether the parameters drift by themselves, with time constant
    `robot.current_time`; expected: whether every vehicle or arm in water has the effect to some
    extent, so that a check for anything else must allow for it. The prior is pi = 0, where the
    efforts are zero.
    """

    name: ClassVar[str]
    part: ClassVar[str]
    kind: ClassVar[str]
    meaning: ClassVar[str]
    wanders: ClassVar[bool] = False
    expected: ClassVar[bool] = False

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        """The parameters, in order."""
        raise NotImplementedError

    def fill(self, Y: np.ndarray, instant: TermInput) -> None:
        """Write the set's columns Y (C, k), which are zero on entry."""
        raise NotImplementedError

    def stddev(self, layout: Layout, sizes: Sizes) -> np.ndarray:
        """(k,) standard deviation of an uninformed prior."""
        return np.array([parameter.scale for parameter in self.parameters(layout)])

    def inequalities(self, layout: Layout) -> Sequence[Inequality]:
        """Constraints beyond the bounds."""
        return ()
