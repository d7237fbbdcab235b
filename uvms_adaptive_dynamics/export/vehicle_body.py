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

"""The vehicle as simulators describe it: a rigid body, added mass, damping, weight and buoyancy.

An estimate holds only sums: M_v = M_RB + M_A, and the difference and moments of W and B. This
module chooses a split that preserves every sum (docs/exports.md, "Splits").
"""
from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..model.parameters import (
    INERTIA_PLACES,
    VEHICLE_INERTIA,
    VEHICLE_LINEAR_DAMPING,
    VEHICLE_QUADRATIC_DAMPING,
)
from ..model.pseudo_inertia import offset_inertia
from ..model.rotations import FRD_FROM_FLU, skew
from .identified import ExportError, Identified

# Signs that convert a twist or wrench between FRD and FLU, for all formats.
FLIP = np.concatenate([np.diag(FRD_FROM_FLU)] * 2)
# Relative difference of entries above which M_v counts as not symmetric, rather than rounded.
SYMMETRY = 1e-6
# Largest share of the rigid body's inertia that an offset centre of gravity may cause.
OFFSET_SHARE = 0.5
# Largest moment of inertia of the rigid body over the sum of the others; a flat plate has one.
FLATNESS = 0.9
INERTIA = tuple(name for name, _, _ in VEHICLE_INERTIA)
# Names on the diagonal of M_v: three masses, three inertias.
DIAGONAL_NAMES = tuple(name for name, (i, j) in zip(INERTIA, INERTIA_PLACES) if i == j)
LINEAR_NAMES = tuple(name for name, _, _ in VEHICLE_LINEAR_DAMPING)
QUADRATIC_NAMES = tuple(name for name, _, _ in VEHICLE_QUADRATIC_DAMPING)
MOMENTS = ("xgW_xbB", "ygW_ybB", "zgW_zbB")


@dataclass(frozen=True)
class VehicleBody:
    """A vehicle in FRD axes (or FLU, after `flipped`) about the body origin.

    mass [kg]; weight, buoyancy [N]; gravity_centre, buoyancy_centre (3,) [m]; inertia (3,) [kg m^2]
    of the rigid body about its centre of gravity; added_mass (6, 6), positive for a body in water;
    linear, quadratic (6,) damping, zero or negative as in the parameter table.
    """

    mass: float
    weight: float
    buoyancy: float
    gravity_centre: np.ndarray
    buoyancy_centre: np.ndarray
    inertia: np.ndarray
    added_mass: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray

    def flipped(self) -> VehicleBody:
        """The same vehicle with FRD and FLU axes exchanged."""
        return replace(self, gravity_centre=FLIP[:3] * self.gravity_centre,
                       buoyancy_centre=FLIP[:3] * self.buoyancy_centre,
                       added_mass=FLIP[:, None] * self.added_mass * FLIP)

    @property
    def origin_inertia(self) -> np.ndarray:
        """(3, 3) inertia of the rigid body about the origin."""
        return np.diag(self.inertia) + offset_inertia(self.mass, self.gravity_centre)

    @property
    def rigid_mass(self) -> np.ndarray:
        """M_RB (6, 6) about the origin (Fossen 2011, eq. 3.44)."""
        coupling = -self.mass * skew(self.gravity_centre)
        return np.block([[self.mass * np.eye(3), coupling], [coupling.T, self.origin_inertia]])

    def parameters(self) -> dict[str, float]:
        """The vehicle's 27 parameters by name; the body must be in FRD axes."""
        M = self.rigid_mass + self.added_mass
        moments = self.gravity_centre * self.weight - self.buoyancy_centre * self.buoyancy
        named = dict(zip(INERTIA, (M[place] for place in INERTIA_PLACES)))
        named |= dict(zip(LINEAR_NAMES, self.linear)) | dict(zip(QUADRATIC_NAMES, self.quadratic))
        named |= {"W": self.weight, "B": self.buoyancy} | dict(zip(MOMENTS, moments))
        return {name: float(value) for name, value in named.items()}


def vehicle_body(identified: Identified, what: str, gravity: float | None = None) -> VehicleBody:
    """Split the estimate, in FRD; gravity [m/s^2] if the format has its own.

    Rigid body: the mass of `rigid_mass_of`, its centre on the z axis where M04 and M13 agree best,
    and the same share of inertia as of mass. The rest of M_v is added mass. The centre of buoyancy
    gives the estimated moments. Raises ExportError for a mass above an estimated m - X_du (added
    mass would be negative) or if no buoyancy is left.
    """
    M = total_inertia(identified, what)
    mass, source = rigid_mass_of(identified)
    if mass <= 0:
        raise ExportError(f"{what}: the vehicle's mass is {mass:.4g} kg ({source}); expected more "
                          "than zero. State it by --mass, or set robot.dry_mass.")
    along = np.diag(M)[:3]
    if mass > along.min():
        name = DIAGONAL_NAMES[int(np.argmin(along))]
        raise ExportError(
            f"{what}: the vehicle's mass ({mass:.4g} kg) exceeds {name} ({along.min():.4g} kg), "
            "which would make added mass negative; expected less. State the vehicle's mass by "
            "--mass, or learn from more motion along that axis.")
    gravity = identified.config.robot.gravity if gravity is None else gravity
    body = rigid_part(identified, what, mass, mass / along.mean() * np.diag(M)[3:], gravity)
    others = body.inertia.sum() - body.inertia
    body = replace(body, inertia=np.minimum(body.inertia, FLATNESS * others))
    return replace(body, added_mass=M - body.rigid_mass)


def rigid_part(identified: Identified, what: str, mass: float, inertia: np.ndarray,
               gravity: float) -> VehicleBody:
    """A body without added mass, of given mass [kg] and inertia (3,) about the origin, with W - B,
    moments and damping as estimated; raises ExportError if its buoyancy would not be positive."""
    M = total_inertia(identified, what)
    furthest = math.sqrt(OFFSET_SHARE * min(inertia[:2]) / mass)
    z = float(np.clip((M[0, 4] - M[1, 3]) / (2 * mass), -furthest, furthest))
    centre = np.array([0.0, 0.0, z])
    weight, net = mass * gravity, float(np.diff(identified.pick(("B", "W")))[0])
    buoyancy = weight - net
    if buoyancy <= 0:
        raise ExportError(f"{what}: a vehicle of {mass:.4g} kg with W - B = {net:.4g} N has no "
                          "buoyancy left; expected W - B below its weight. State the vehicle's "
                          "mass by --mass.")
    return VehicleBody(
        mass, weight, buoyancy, centre, (centre * weight - identified.pick(MOMENTS)) / buoyancy,
        inertia - np.diag(offset_inertia(mass, centre)), np.zeros((6, 6)),
        identified.pick(LINEAR_NAMES), identified.pick(QUADRATIC_NAMES))


def rigid_mass_of(identified: Identified,
                  values: np.ndarray | None = None) -> tuple[float, str]:
    """(mass of the vehicle without the arm's links [kg], its source in words), for the estimate or
    for other parameter values (p,)."""
    robot, table = identified.config.robot, identified.robot.table
    values = identified.values if values is None else values
    if identified.mass is not None:
        return identified.mass, "stated by --mass"
    if robot.dry_mass > 0:
        apart = table.joints if identified.robot.coupled else ()
        links = float(values[table.places(f"{joint}.m" for joint in apart)].sum())
        if robot.dry_mass <= links:
            raise ExportError(f"robot.dry_mass is {robot.dry_mass:g} kg, less than the arm's links "
                              f"together ({links:.4g} kg); correct it, or give --mass.")
        return robot.dry_mass - links, "robot.dry_mass" + (" less the arm's links" if apart else "")
    return float(values[table.index["W"]]) / robot.gravity, (
        "W / gravity, from the prior: data only determine W - B")


def body_notes(identified: Identified) -> tuple[str, ...]:
    """Sentences on the assumptions of `vehicle_body`."""
    mass, source = rigid_mass_of(identified)
    whole = bool(identified.robot.joints) and not identified.robot.coupled
    return (
        *(["The vehicle's parameters include the arm (estimation.coupling is 'none')."]
          if whole else []),
        f"The vehicle's mass is assumed to be {mass:.4g} kg ({source}). An estimate "
        "determines only the sum of rigid body and added mass, and W - B: any other mass gives the "
        "same motion in water.",
        "Centre of gravity and rigid inertia are chosen such that M_v stays as estimated; the "
        "centre of buoyancy then gives the estimated restoring moments.")


def total_inertia(identified: Identified, what: str) -> np.ndarray:
    """M_v (6, 6) without further terms; raises ExportError without a vehicle or for an unphysical
    estimate: an asymmetric matrix, a mass or inertia that is not positive, or damping of the wrong
    sign."""
    identified.need_vehicle(what)
    again = "expected an estimate within the physical set. Save the parameters again."
    M = identified.robot.table.vehicle_inertia(identified.values, further=False)
    if np.abs(M - M.T).max() > SYMMETRY * np.abs(M).max():
        raise ExportError(f"{what}: mzg_X_dq and mzg_M_du, or mzg_Y_dp and mzg_K_dv, differ, but "
                          f"an inertia matrix is symmetric; {again}")
    for name, value in zip(DIAGONAL_NAMES, np.diag(M)):
        if value <= 0:
            raise ExportError(f"{what}: {name} is {value:.4g}, which is not positive; {again}")
    for name, value in zip((*LINEAR_NAMES, *QUADRATIC_NAMES),
                           identified.pick((*LINEAR_NAMES, *QUADRATIC_NAMES))):
        if value > 0:
            raise ExportError(f"{what}: {name} is {value:.4g}, which would drive the vehicle "
                              f"instead of damping it; {again}")
    return (M + M.T) / 2
