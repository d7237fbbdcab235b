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

"""Physical quantities for people: masses, centres, inertias about them, weight in water, with
standard deviations and flags (docs/exports.md, "Physical quantities").

Standard deviations combine the estimate's covariance with timing and calibration errors, to first
order (delta method).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import require
from ..model.parameters import LINK_PARAMETERS, RIGID
from ..model.prior import prior_stddev
from ..model.pseudo_inertia import TENSOR_PLACES, central_inertia
from ..uncertainty.parameter_flags import MEASURED_SHARE, WEAK_SHARE
from .identified import Identified
from .vehicle_body import DIAGONAL_NAMES, MOMENTS, rigid_mass_of

# Step of central differences, in a parameter's scale: rounding and truncation errors are both far
# below 1e-6.
PARAMETER_STEP = 1e-6
# Flags from the worst to the best.
FLAG_ORDER = ("prior", "weak", "measured", "frozen")


class Quantity(NamedTuple):
    """value [unit] +- stddev (None without a covariance); known_from: measured, weak, prior,
    frozen, 'stated' if it depends on no parameter, or '' if unknown; meaning: a phrase."""

    name: str
    unit: str
    value: float
    stddev: float | None
    known_from: str
    meaning: str


class _Formula(NamedTuple):
    """A quantity as a function of the parameters; linear: a sum of parameters, which may be known
    far better than each of them."""

    name: str
    unit: str
    meaning: str
    of: Callable[[np.ndarray], float]
    linear: bool = False


def physical_quantities(identified: Identified) -> tuple[Quantity, ...]:
    """All quantities of vehicle and links, computed from the estimate."""
    require("identified", identified, Identified)
    formulas = _formulas(identified)
    values = identified.values
    J = _jacobian(formulas, values, np.array(identified.robot.table.scale))
    stddev = identified.parameters.stddev_of(J)
    words = _flags(identified, formulas, J, stddev)
    return tuple(
        Quantity(formula.name, formula.unit, float(formula.of(values)),
                 None if stddev is None else float(stddev[k]), words[k], formula.meaning)
        for k, formula in enumerate(formulas))


def _formulas(identified: Identified) -> tuple[_Formula, ...]:
    return (*_sums(identified), *_parts(identified), *_links(identified))


def _sums(identified: Identified) -> list[_Formula]:
    """Quantities of the vehicle that are observable in water, without knowing its mass."""
    if not identified.robot.vehicle:
        return []
    index, g = identified.robot.table.index, identified.config.robot.gravity

    def at(name: str) -> Callable[[np.ndarray], float]:
        return lambda pi: pi[index[name]]

    def net(pi: np.ndarray) -> float:
        return pi[index["W"]] - pi[index["B"]]

    return [
        _Formula("vehicle.net_weight", "N", "weight less buoyancy, W - B", net, True),
        _Formula("vehicle.net_mass", "kg", "ballast that makes it neutral: -(W - B) / gravity",
                 lambda pi: -net(pi) / g, True),
        *(_Formula(f"vehicle.mass_with_added_{axis}", "kg",
                   f"effective mass along {axis}: {name}", at(name))
          for axis, name in zip("xyz", DIAGONAL_NAMES[:3])),
        *(_Formula(f"vehicle.inertia_with_added_{axis}", "kg m^2",
                   f"effective inertia about {axis}: {name}", at(name))
          for axis, name in zip("xyz", DIAGONAL_NAMES[3:]))]


def _parts(identified: Identified) -> list[_Formula]:
    """Quantities of the vehicle that require its mass."""
    if not identified.robot.vehicle:
        return []
    robot, index = identified.config.robot, identified.robot.table.index
    g, source = robot.gravity, rigid_mass_of(identified)[1]

    def mass(pi: np.ndarray) -> float:
        return rigid_mass_of(identified, pi)[0]

    def buoyancy(pi: np.ndarray) -> float:
        return mass(pi) * g - (pi[index["W"]] - pi[index["B"]])

    def added_mass(name: str) -> Callable[[np.ndarray], float]:
        return lambda pi: pi[index[name]] - mass(pi)

    def lever(name: str) -> Callable[[np.ndarray], float]:
        return lambda pi: pi[index[name]] / (mass(pi) * g)

    return [
        _Formula("vehicle.mass", "kg", f"without the arm's links; {source}", mass, True),
        *(_Formula(f"vehicle.added_mass_{axis}", "kg", f"{name} less vehicle.mass",
                   added_mass(name), True) for axis, name in zip("xyz", DIAGONAL_NAMES[:3])),
        _Formula("vehicle.buoyancy", "N", "vehicle.mass times gravity, less W - B", buoyancy, True),
        _Formula("vehicle.volume", "m^3", "displaced by that buoyancy",
                 lambda pi: buoyancy(pi) / (robot.water_density * g), True),
        *(_Formula(f"vehicle.gravity_from_buoyancy_{axis}", "m", "centre of gravity less centre of "
                   f"buoyancy (FRD): {name} / weight, exact for W = B", lever(name))
          for axis, name in zip("xyz", MOMENTS))]


def _links(identified: Identified) -> list[_Formula]:
    table = identified.robot.table
    found: list[_Formula] = []
    effective = "" if identified.config.robot.link_volumes else ", effective (fits weight in water)"

    def mass(place: slice) -> Callable[[np.ndarray], float]:
        return lambda pi: pi[place][0]

    def centre(place: slice, k: int) -> Callable[[np.ndarray], float]:
        return lambda pi: central_inertia(pi[place][RIGID])[1][k]

    def inertia(place: slice, of: tuple[int, int]) -> Callable[[np.ndarray], float]:
        return lambda pi: central_inertia(pi[place][RIGID])[2][of]

    for j, joint in enumerate(table.joints):
        place = table.link_slice(j)
        found.append(_Formula(f"{joint}.mass", "kg", f"of the link{effective}", mass(place)))
        found += [_Formula(f"{joint}.centre_{axis}", "m", "centre of mass in the link's frame",
                           centre(place, k)) for k, axis in enumerate("xyz")]
        found += [_Formula(f"{joint}.{entry}_about_centre", "kg m^2",
                           "about the centre, in the link's axes", inertia(place, of))
                  for entry, of in zip(LINK_PARAMETERS[RIGID][4:], TENSOR_PLACES)]
    if table.n > 1:
        masses = table.places(f"{joint}.{LINK_PARAMETERS[0]}" for joint in table.joints)
        found.append(_Formula("arm.mass", "kg", "of all moving links together",
                              lambda pi: float(pi[masses].sum()), True))
    return found


def _jacobian(formulas: Sequence[_Formula], values: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(k, p) derivatives of the quantities by the parameters."""
    J = np.zeros((len(formulas), values.size))
    for i, step in enumerate(PARAMETER_STEP * scale):
        up, down = values.copy(), values.copy()
        up[i] += step
        down[i] -= step
        J[:, i] = [(f.of(up) - f.of(down)) / (2 * step) for f in formulas]
    return J


def _flags(identified: Identified, formulas: Sequence[_Formula], J: np.ndarray,
           stddev: np.ndarray | None) -> list[str]:
    """A flag per quantity. A sum is judged by the remaining share of its prior standard deviation,
    as parameters are; any other quantity gets the worst flag of the parameters that dominate its
    deviation."""
    words = np.array(identified.parameters.known_from)
    own = identified.parameters.stddev
    if not words.size or stddev is None or own is None:
        return [""] * len(J)
    before = prior_stddev(identified.values, identified.robot,
                          identified.config.estimation.prior_stddev)
    before = np.where(words == "frozen", 0.0, before)
    found = []
    for formula, row, left in zip(formulas, J, stddev):
        involved = np.flatnonzero(row)
        deciding = [i for i in involved if abs(row[i]) * own[i] > MEASURED_SHARE * left]
        at_start = float(np.linalg.norm(row * before))
        if not involved.size:
            found.append("stated")
        elif formula.linear and involved.size > 1 and at_start > 0:
            share = left / at_start
            found.append("measured" if share < MEASURED_SHARE else "weak" if share < WEAK_SHARE
                         else "prior")
        else:
            found.append(min(words[deciding or involved].tolist(), key=FLAG_ORDER.index))
    return found
