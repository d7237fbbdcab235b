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

"""The parameter table: pi = [pi_v (27); further vehicle parameters; pi_m (12 n); further joint
parameters], the further ones in the order of `term_sets` (setting `robot.terms`).

Paper, "Lumped Parameterization" and "Link-Level Parameters". Names, units, slices, bounds, the
matrices M_v(pi) and J_j(pi), files and messages derive from this table; no other code knows an
index. docs/mathematics.md, "Parameter vector".
"""
from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import ParameterError
from .arguments import read_only
from .pseudo_inertia import BASIS
from .term_sets import TERM_SETS, Parameter, TermSet
from .term_sets.vehicle_sets import INERTIA_PAIRS

# name, unit, reference scale (of a BlueROV2-sized vehicle; scales variables, not an estimate)
VEHICLE_INERTIA = (
    ("m_X_du", "kg", 20.), ("m_Y_dv", "kg", 20.), ("m_Z_dw", "kg", 20.),
    ("mzg_X_dq", "kg m", 1.), ("mzg_Y_dp", "kg m", 1.),
    ("mzg_K_dv", "kg m", 1.), ("mzg_M_du", "kg m", 1.),
    ("Ix_K_dp", "kg m^2", .5), ("Iy_M_dq", "kg m^2", .5), ("Iz_N_dr", "kg m^2", .5))
VEHICLE_LINEAR_DAMPING = (
    ("X_u", "N s/m", 20.), ("Y_v", "N s/m", 20.), ("Z_w", "N s/m", 20.),
    ("K_p", "N m s/rad", 1.), ("M_q", "N m s/rad", 1.), ("N_r", "N m s/rad", 1.))
VEHICLE_QUADRATIC_DAMPING = (
    ("X_uu", "N s^2/m^2", 40.), ("Y_vv", "N s^2/m^2", 40.), ("Z_ww", "N s^2/m^2", 40.),
    ("K_pp", "N m s^2/rad^2", 2.), ("M_qq", "N m s^2/rad^2", 2.), ("N_rr", "N m s^2/rad^2", 2.))
VEHICLE_DAMPING = VEHICLE_LINEAR_DAMPING + VEHICLE_QUADRATIC_DAMPING
VEHICLE_RESTORING = (("W", "N", 100.), ("B", "N", 100.),
                     ("xgW_xbB", "N m", 1.), ("ygW_ybB", "N m", 1.), ("zgW_zbB", "N m", 2.))
VEHICLE_PARAMETERS = VEHICLE_INERTIA + VEHICLE_DAMPING + VEHICLE_RESTORING

# Place of each inertia parameter in M_v (row, column).
INERTIA_PLACES = ((0, 0), (1, 1), (2, 2), (0, 4), (1, 3), (3, 1), (4, 0), (3, 3), (4, 4), (5, 5))

# [N] of a BlueROV2, bare or with arm and payload, whose mass is unknown.
USUAL_WEIGHT_LIMITS = 90.0, 180.0

LINK_PARAMETERS = ("m", "mlx", "mly", "mlz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz", "fv", "fs")
RIGID = slice(0, 10)
FRICTION = slice(10, 12)


@dataclass(frozen=True)
class ParameterTable:
    """Layout of pi for a robot with or without a vehicle and any number of joints.

    reference_mass m [kg] and reference_length l [m], one per joint, make the pseudo-inertias of
    different links and their entries comparable: S J S with S = diag(1/l, 1/l, 1/l, 1) / sqrt(m).
    terms: names of the sets beyond the paper's parameters (`term_sets`), in any order.
    weight_limits: least and largest weight W [N] of the vehicle in air.
    """

    vehicle: bool
    joints: tuple[str, ...]
    prismatic: tuple[bool, ...]
    reference_mass: tuple[float, ...]
    reference_length: tuple[float, ...]
    terms: tuple[str, ...] = ()
    weight_limits: tuple[float, float] = USUAL_WEIGHT_LIMITS

    @cached_property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.names)

    @cached_property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @cached_property
    def channels(self) -> int:
        """Number of rows of a sample."""
        return self.n + (6 if self.vehicle else 0)

    @cached_property
    def paper_slice(self) -> slice:
        """Place of the paper's pi_v (27), without further terms (empty without a vehicle)."""
        return slice(0, len(VEHICLE_PARAMETERS) if self.vehicle else 0)

    @cached_property
    def vehicle_slice(self) -> slice:
        """Place of all parameters of the vehicle (empty without one)."""
        return slice(0, self.paper_slice.stop + len(self._further("vehicle")))

    @cached_property
    def arm_slice(self) -> slice:
        """Place of pi_m and of all further parameters of the joints."""
        return slice(self.vehicle_slice.stop, self.size)

    @cached_property
    def links_slice(self) -> slice:
        """Place of pi_m, twelve parameters per link."""
        start = self.vehicle_slice.stop
        return slice(start, start + 12 * self.n)

    @cached_property
    def term_slices(self) -> dict[str, slice]:
        """Place of each set of further parameters, by name."""
        found = {}
        for part, start in (("vehicle", self.paper_slice.stop), ("joints", self.links_slice.stop)):
            for one in self._sets(part):
                found[one.name] = slice(start, start + len(one.parameters(self)))
                start = found[one.name].stop
        return found

    @cached_property
    def term_sets(self) -> dict[str, TermSet]:
        """The robot's sets of further parameters by name, in their order."""
        return {name: TERM_SETS[name] for name in self.term_slices}

    @cached_property
    def lacking(self) -> tuple[str, ...]:
        """Names of the sets with an effect that this robot surely has and pi does not: none
        without a vehicle, since an arm on a fixed base may stand in air."""
        return tuple(one.name for one in TERM_SETS.values() if one.expected and self.vehicle
                     and one.name not in self.terms and (one.part == "vehicle" or self.joints))

    def _sets(self, part: str) -> list[TermSet]:
        """This robot's sets of the vehicle or of the joints, in their order."""
        there = self.vehicle if part == "vehicle" else bool(self.joints)
        return [one for one in TERM_SETS.values()
                if there and one.part == part and one.name in self.terms]

    def _further(self, part: str) -> list[Parameter]:
        return [parameter for one in self._sets(part) for parameter in one.parameters(self)]

    @property
    def _paper(self) -> tuple[tuple[str, str, float], ...]:
        return VEHICLE_PARAMETERS if self.vehicle else ()

    def link_slice(self, j: int) -> slice:
        """Place of the twelve parameters of link j (0 is next to the base)."""
        start = self.vehicle_slice.stop + 12 * j
        return slice(start, start + 12)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names in order."""
        names = [name for name, _, _ in self._paper]
        names += [parameter.name for parameter in self._further("vehicle")]
        names += [f"{joint}.{name}" for joint in self.joints for name in LINK_PARAMETERS]
        names += [parameter.name for parameter in self._further("joints")]
        return tuple(names)

    @cached_property
    def index(self) -> dict[str, int]:
        """Place of each name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Units in order."""
        units = [unit for _, unit, _ in self._paper]
        units += [parameter.unit for parameter in self._further("vehicle")]
        for prismatic in self.prismatic:
            friction = ("N s/m", "N") if prismatic else ("N m s/rad", "N m")
            units += ["kg"] + ["kg m"] * 3 + ["kg m^2"] * 6 + list(friction)
        units += [parameter.unit for parameter in self._further("joints")]
        return tuple(units)

    @cached_property
    def scale(self) -> np.ndarray:
        """(size,) typical magnitude of each parameter, for scaling and for priors of zero."""
        scale = [value for _, _, value in self._paper]
        scale += [parameter.scale for parameter in self._further("vehicle")]
        for m, l in zip(self.reference_mass, self.reference_length):
            scale += [m] + [m * l] * 3 + [m * l * l] * 6 + [1.0, 0.2]
        scale += [parameter.scale for parameter in self._further("joints")]
        return read_only(np.array(scale))

    @cached_property
    def term_bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(places (k,), low (k,), high (k,)) of all further parameters."""
        parts = [(self.paper_slice.stop, self._further("vehicle")),
                 (self.links_slice.stop, self._further("joints"))]
        places = [start + k for start, found in parts for k in range(len(found))]
        low, high = ([getattr(one, side) for _, found in parts for one in found]
                     for side in ("low", "high"))
        return np.array(places, int), np.array(low, float), np.array(high, float)

    def of_kind(self, kind: str) -> np.ndarray:
        """Places of the further parameters of a kind (`TermSet.kind`)."""
        return np.concatenate([np.zeros(0, int), *(
            np.arange(place.start, place.stop) for name, place in self.term_slices.items()
            if TERM_SETS[name].kind == kind)])

    def of_joint(self, joint: str) -> tuple[str, ...]:
        """Names of all parameters of a joint and its link, further ones included."""
        return tuple(name for name in self.names if name.rpartition(".")[0] == joint)

    # --- sets of parameters -----------------------------------------------------------------------

    @cached_property
    def nonpositive(self) -> np.ndarray:
        """Places of the damping coefficients, which are never positive."""
        return self.places(
            name for name, _, _ in VEHICLE_DAMPING) if self.vehicle else np.zeros(0, int)

    @cached_property
    def nonnegative(self) -> np.ndarray:
        """Places of the paper's friction coefficients, which are never negative."""
        return self.places(f"{joint}.{name}" for joint in self.joints
                           for name in LINK_PARAMETERS[FRICTION])

    @cached_property
    def equal_pairs(self) -> np.ndarray:
        """(k, 2) pairs of places that are equal because M_v is symmetric."""
        if not self.vehicle:
            return np.zeros((0, 2), int)
        return np.array(
            [self.places(("mzg_X_dq", "mzg_M_du")),
             self.places(("mzg_Y_dp", "mzg_K_dv"))])

    @cached_property
    def blocks(self) -> dict[str, np.ndarray]:
        """Places of related parameters, by name: four blocks of the vehicle, and link and friction
        of each joint (the paper's parameters only)."""
        groups = {"vehicle inertia": VEHICLE_INERTIA,
                  "vehicle linear damping": VEHICLE_LINEAR_DAMPING,
                  "vehicle quadratic damping": VEHICLE_QUADRATIC_DAMPING,
                  "vehicle restoring": VEHICLE_RESTORING} if self.vehicle else {}
        found = {name: self.places(entry[0] for entry in entries)
                 for name, entries in groups.items()}
        for joint in self.joints:
            found[f"{joint} link"] = self.places(f"{joint}.{name}"
                                                 for name in LINK_PARAMETERS[RIGID])
            found[f"{joint} friction"] = self.places(f"{joint}.{name}"
                                                     for name in LINK_PARAMETERS[FRICTION])
        return found

    @cached_property
    def parts(self) -> dict[str, np.ndarray]:
        """`blocks`, with the vehicle's linear and quadratic damping as one."""
        return self.merged({"vehicle linear damping": "vehicle damping",
                            "vehicle quadratic damping": "vehicle damping"})

    def merged(self, wholes: Mapping[str, str]) -> dict[str, np.ndarray]:
        """Places of the blocks, some merged: wholes maps a block's name to its merged name."""
        found: dict[str, np.ndarray] = {}
        for name, places in self.blocks.items():
            whole = wholes.get(name, name)
            found[whole] = np.concatenate([found.get(whole, np.zeros(0, int)), places])
        return found

    def places(self, names) -> np.ndarray:
        """Places of the given names, in their order; raises ParameterError for an unknown name."""
        names = list(names)
        unknown = [name for name in names if name not in self.index]
        if unknown:
            raise ParameterError(
                f"parameter '{unknown[0]}' does not exist on this robot; expected one of its "
                f"{self.size} names {', '.join(self.names[:4])}, ... {self.names[-1]}.")
        return np.array([self.index[name] for name in names], int)

    def match(self, patterns) -> np.ndarray:
        """(size,) bool, true where a name matches one of the patterns (shell wildcards); raises
        ParameterError for a pattern that matches no name."""
        chosen = np.zeros(self.size, bool)
        for pattern in patterns:
            fits = np.array([fnmatch.fnmatchcase(name, pattern) for name in self.names], bool)
            if not fits.any():
                raise ParameterError(
                    f"pattern '{pattern}' fits no parameter; expected names such as 'W', 'X_*' or "
                    f"'{self.joints[-1] if self.joints else 'axis_b'}.*'.")
            chosen |= fits
        return chosen

    # --- matrices ---------------------------------------------------------------------------------

    def vehicle_inertia(self, pi: np.ndarray, further: bool = True) -> np.ndarray:
        """M_v (6, 6) [kg, kg m, kg m^2], rigid body plus added mass; further: with the term set
        'off_axis_inertia', if the robot has it."""
        M = np.zeros((6, 6))
        for place, value in zip(INERTIA_PLACES, pi[:len(INERTIA_PLACES)]):
            M[place] = value
        for name, i, j, _ in INERTIA_PAIRS:
            if further and name in self.index:
                M[i, j] = M[j, i] = pi[self.index[name]]
        return M

    @cached_property
    def scaled_pseudo_inertia_basis(self) -> np.ndarray:
        """(n, 10, 4, 4): `BASIS` scaled by each link's reference mass and length, S BASIS S."""
        scaled = np.zeros((self.n, 10, 4, 4))
        for j, (m, l) in enumerate(zip(self.reference_mass, self.reference_length)):
            S = np.diag([1 / l, 1 / l, 1 / l, 1]) / np.sqrt(m)
            scaled[j] = S @ BASIS @ S
        return read_only(scaled)

    def pseudo_inertia(self, pi: np.ndarray, j: int) -> np.ndarray:
        """J_j (4, 4) of link j, in kg m^2, kg m and kg (Traversaro 2016, Wensing 2018)."""
        return np.tensordot(pi[self.link_slice(j)][RIGID], BASIS, 1)

    def scaled_pseudo_inertias(self, pi: np.ndarray) -> np.ndarray:
        """(n, 4, 4) dimensionless pseudo-inertias S J S."""
        links = pi[self.links_slice].reshape(self.n, 12)[:, RIGID]
        return np.einsum("jk,jkab->jab", links, self.scaled_pseudo_inertia_basis)

    # --- checks -----------------------------------------------------------------------------------

    def vector(self, values, what: str = "parameters") -> np.ndarray:
        """`values` as a float vector (size,); raises ParameterError for another length or a number
        that is not finite."""
        vector = np.asarray(values, float)
        if vector.shape != (self.size,):
            own = f"{self.vehicle_slice.stop} of the vehicle, " if self.vehicle else ""
            further = "".join(f", {len(one.parameters(self))} of '{one.name}'"
                              for one in self._sets("joints"))
            raise ParameterError(
                f"{what}: got {vector.size} values, expected {self.size} ({own}12 for each of "
                f"{self.n} links{further}).")
        if not np.isfinite(vector).all():
            raise ParameterError(
                f"{what}: '{self.names[int(np.argmin(np.isfinite(vector)))]}' is not finite.")
        return vector
