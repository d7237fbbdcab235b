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

"""What a set of further parameters declares, beyond the paper's 27 + 12 n (docs/terms.md)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ..sample import Sample


class Parameter(NamedTuple):
    """Name, unit, typical magnitude (for scaling), and the bounds that physics sets."""

    name: str
    unit: str
    scale: float
    low: float = -np.inf
    high: float = np.inf


class Inequality(NamedTuple):
    """sum_k pi[names[k]] basis[k] must be positive definite; basis (m, d, d), d at most 4, scaled
    so that the matrix has no unit."""

    names: tuple[str, ...]
    basis: np.ndarray
    label: str


class Layout(Protocol):
    """What a set may ask of the parameter table."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Names, base to tip."""

    @property
    def prismatic(self) -> tuple[bool, ...]:
        """Which of them are."""

    @property
    def reference_mass(self) -> tuple[float, ...]:
        """[kg] of each link."""

    @property
    def reference_length(self) -> tuple[float, ...]:
        """[m] of each link."""

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of all sets that the robot has."""


class Sizes(NamedTuple):
    """What a link and a joint may have at most, (n,) each, zero where unknown: mass [kg], length
    [m], viscous [N m s/rad] and Coulomb friction [N m]."""

    mass: np.ndarray
    length: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray


class Instant(NamedTuple):
    """What columns are made of: the sample; the velocity nu (6,) of the arm's base; sign (n,) of
    Coulomb friction; rows of the joints; the table (`parameters.ParameterTable`); drag(instant) of
    the links, or None; by_current (6, 2): change of the vehicle's efforts with the current, about
    what is believed now, or None."""

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

    part: 'vehicle' or 'joints', whose parameters they stand behind; kind: what the efforts are in
    `model/terms.py`: 'damping', 'friction', 'inertia', 'load', or 'measurement' (an error of the
    measured wrench, no effort of the robot); wanders: whether they change by themselves, in
    `robot.current_time`. Efforts are zero at pi = 0, which is the prior.
    """

    name: ClassVar[str]
    part: ClassVar[str]
    kind: ClassVar[str]
    meaning: ClassVar[str]
    wanders: ClassVar[bool] = False

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        """The parameters, in order."""
        raise NotImplementedError

    def fill(self, Y: np.ndarray, instant: Instant) -> None:
        """Write the columns Y (C, k), which are zero before."""
        raise NotImplementedError

    def stddev(self, layout: Layout, sizes: Sizes) -> np.ndarray:
        """(k,) what each parameter may be: the deviation of a prior that knows nothing of it."""
        return np.array([parameter.scale for parameter in self.parameters(layout)])

    def inequalities(self, layout: Layout) -> Sequence[Inequality]:
        """Constraints beyond the bounds."""
        return ()
