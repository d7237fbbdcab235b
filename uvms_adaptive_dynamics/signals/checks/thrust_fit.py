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

"""Regression of the thrusters' impulse on the motion that it causes.

The coefficients of acceleration, mapped by the allocation, must form a mass matrix: positive
diagonal, small off-diagonal entries. Only directions of acceleration that exceed the velocity noise
independently are used: if a vehicle only surges and pitches in step, only their combination is
observable. Standard errors come from a jackknife over stretches of time.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...model.jackknife import covariance
from ...model.normal import NORMAL_MEDIAN, chi_squared
from ...model.vehicle_size import LEAST_DRIVEN
from .fits import STRETCHES, solve
from .thruster_windows import MIN_IMPULSE_STDDEV, MIN_VELOCITY_STDDEV, Windows

# Standard deviations of measurement noise that a judged direction of acceleration must reach: then
# a quarter of its power is noise, and its thrust is underestimated by as much.
CLEAR_OF_NOISE = 2.0
# Standard deviations of the normalized mass matrix's entries from one or zero, by arm, centre of
# gravity and unequal thrusters, of which a robot's is not known. The default robot's largest
# coupling is 0.1.
COUPLINGS = 0.05, 0.1, 0.2
CAP = 25.0            # on a squared deviation: a single entry proves nothing


class ThrustFit(NamedTuple):
    """Regression of thrust on motion.

    directions (6, r): excited accelerations, orthonormal if rotations are scaled by the radius of
    gyration; levers (6,) [m]: this radius, one for translations; gain (N, r): thrust per
    acceleration along each direction; without (K, N, r): the same with one stretch of time left out
    each (jackknife); excited (N,) bool: thrusters that were used; windows: the fitted data."""

    directions: np.ndarray
    levers: np.ndarray
    gain: np.ndarray
    without: np.ndarray
    excited: np.ndarray
    windows: Windows


def thrust_of_acceleration(windows: Windows | None, dvl: np.ndarray,
                            allocation: np.ndarray) -> ThrustFit | None:
    """Regression of thrust on motion over the windows of thrust and of the DVL's log `dvl`; None
    without windows, or if there is too little motion to tell."""
    if windows is None:
        return None
    slow, impulse, _, _ = windows
    excited = impulse.std(axis=0) > MIN_IMPULSE_STDDEV
    levers = np.repeat([1.0, _gyration(allocation)], 3)
    change = slow[:, :6]
    # Under way a hull resists sideslip and turning in proportion to its speed. A boat turned so
    # slowly at full thrust that it seemed to turn against its thrusters.
    others = np.hstack([slow[:, 6:], windows.damping_under_way(dvl[:, 0], dvl[:, 1:7])])
    others = others / np.maximum(np.sqrt(np.mean(others ** 2, axis=0)), 1e-9)
    directions, along = _excited_directions(change, others, _noise(dvl[:, 1:7]), levers)
    if not excited.any() or not directions.size:
        return None
    x, r = np.hstack([change @ along.T, others]), directions.shape[1]

    def gain(rows: np.ndarray) -> np.ndarray:
        return solve(x[rows], impulse[rows])[:r].T

    rows = np.arange(len(x))
    without = [gain(np.setdiff1d(rows, part)) for part in np.array_split(rows, STRETCHES)]
    return ThrustFit(directions, levers, gain(rows), np.array(without), excited, windows)


def _gyration(allocation: np.ndarray) -> float:
    """[m] radius of gyration of a body as large as the thrusters are apart, the same for all axes.
    A thruster's lever about one axis says nothing about the inertia: six of a BlueROV2 hardly pitch
    it, which is no reason to take it for easy to pitch."""
    squares = np.sum(allocation ** 2, axis=1)
    return float(max(np.sqrt(squares[3:].mean() / squares[:3].sum()), 1e-3))


def _noise(nu: np.ndarray) -> np.ndarray:
    """(6,) standard deviation of a change of velocity nu (k, 6) due to noise, from third
    differences, which hardly contain motion. At least the level below which no direction is
    judged."""
    third = np.median(np.abs(np.diff(nu, 3, axis=0)), axis=0) / NORMAL_MEDIAN
    return np.maximum(np.sqrt(2.0 / 20.0) * third, MIN_VELOCITY_STDDEV / CLEAR_OF_NOISE)


def _excited_directions(change: np.ndarray, others: np.ndarray, noise: np.ndarray,
                        levers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(directions (6, r) of change (k, 6) that exceed its noise (6,) after regression on others
    (k, m), matrix (r, 6) that maps a change to its components along them)."""
    own = (change - others @ solve(others, change)) / noise
    power, axes = np.linalg.eigh(own.T @ own / len(own))
    axes = axes[:, power > CLEAR_OF_NOISE ** 2]
    directions = np.linalg.qr((levers * noise)[:, None] * axes)[0] / levers[:, None]
    seen = axes.T / noise
    return directions, np.linalg.solve(seen @ directions, seen)


class Deviation(NamedTuple):
    """squared: sum of squared deviations from a mass matrix of the largest of COUPLINGS; total: -2
    log likelihood up to a constant, if each of them is as likely."""

    squared: float
    total: float


def deviation_of(allocation: np.ndarray, fit: ThrustFit, moves: bool = True) -> Deviation:
    """`allocation_deviations` of one allocation (6, N)."""
    return allocation_deviations(allocation[None], fit, moves)[0]


def allocation_deviations(allocations: np.ndarray, fit: ThrustFit,
                          moves: bool = True) -> list[Deviation]:
    """Deviation of allocation times gain (6, r) from a mass matrix times the directions, for each
    of allocations (k, 6, N); from zero without `moves`, if something else causes the motion, of
    which a single entry is proof enough.

    Relative to the axes' masses, the mass matrix is the identity up to COUPLINGS. The part of an
    axis' mass that no direction determines is free; the jackknife over stretches of time gives the
    remaining covariance.
    """
    directions, known = fit.directions, _known(fit)
    mass = masses(allocations, fit)
    away = allocations @ fit.gain - moves * mass[:, :, None] * directions
    coupled = np.einsum("kj,ki,ia,ib->kjab", mass, mass, directions, directions)
    open_mass = moves * np.einsum("kj,ja,jb->kjab", (1.0 - known) * mass ** 2, directions,
                                  directions)
    error = covariance(np.moveaxis(allocations[:, None] @ fit.without, 1, 0))
    roots = np.linalg.cholesky(np.square(COUPLINGS)[:, None, None, None, None] * coupled
                               + open_mass + error)
    squares = np.linalg.solve(roots, away[None, ..., None])[..., 0] ** 2
    squared = np.minimum(squares, CAP if moves else np.inf).sum(axis=(-2, -1))
    size = 2.0 * np.log(np.diagonal(roots, axis1=-2, axis2=-1)).sum(axis=(-2, -1))
    total = -2.0 * np.logaddexp.reduce(-0.5 * (squared + size))
    return [Deviation(*pair) for pair in zip(squared[-1].tolist(), total.tolist())]


def _known(fit: ThrustFit) -> np.ndarray:
    """(6,) share of each axis' acceleration that lies in the directions."""
    return np.clip(np.sum((fit.levers[:, None] * fit.directions) ** 2, axis=1), 0.0, 1.0)


def masses(allocations: np.ndarray, fit: ThrustFit) -> np.ndarray:
    """(k, 6) mass of each axis as the sum of all thrusters' contributions; for an axis that has not
    moved independently, that of the other axes scaled by the thrusters' lever arms."""
    gain = fit.gain @ (fit.levers[:, None] ** 2 * fit.directions).T
    most = np.sum(np.abs(allocations) * np.abs(gain.T), axis=2) / fit.levers ** 2
    known = _known(fit)
    others = most @ known / known.sum()
    return np.maximum(known * most + (1.0 - known) * others[:, None], 1e-9) * fit.levers ** 2


def is_driven(allocation: np.ndarray, fit: ThrustFit, lightest: float) -> bool:
    """Whether the thrust accelerates at least half of a vehicle of the mass `lightest` [kg] along
    each axis that moves independently. What it does not, waves or a tether move, and a controller's
    thrust that answers them makes any wiring look right."""
    moved = _known(fit)[:3] > LEAST_DRIVEN
    return bool((masses(allocation[None], fit)[0, :3][moved] > LEAST_DRIVEN * lightest).all())


def explained(fit: ThrustFit) -> float:
    """Largest squared deviation of a wiring that fits."""
    return chi_squared(0.999, fit.directions.size)
