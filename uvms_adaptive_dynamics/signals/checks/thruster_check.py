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

"""Directions and order of the thrusters against the motion that they cause.

Thrust over a second is fitted to the change of velocity and to what else moves slowly. The part
that goes with acceleration, mapped by the allocation, must be a mass matrix: positive on the
diagonal, small beside it. A reversed thruster, or thrusters in another order, show all over it;
standard errors say whether that is evidence.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ...model.normal import chi_squared
from .finding import CHANGE_WINDOW, Finding
from .fits import integral, relation

MAX_THRUSTERS = 10    # of which all directions are tried
MIN_THRUST_WINDOWS = 150
THRUST_GAP = 0.5      # [s] without a row, in which nobody knows the thrust
MIN_VELOCITY_STDDEV = 0.02   # [m/s, rad/s] of an axis that is judged
MIN_IMPULSE_STDDEV = 0.05    # [N s] of a thruster that is judged
# Of a normalized mass matrix, deviation of each entry from one or zero: arm, centre of gravity and
# the thrusters' different strengths. The default robot's largest coupling is 0.1.
COUPLING = 0.2
REWEIGHTED = 10       # times that a fit's weights follow its residuals
CAP = 25.0            # of a squared deviation: one entry alone proves nothing
# Mean log likelihood ratio of an independent window that a weak thruster takes to be named: the
# product of the residual variances of all axes falls fifty-fold. Of the simulated robot one that is
# dead reaches 6; what a tether and waves do looks like one thruster by up to 2.7.
WEAK_GAIN = 4.0
# Share of its thrust that a weak thruster loses: at most all of it, and a dead one of the simulated
# robot reaches 1.3 in the fit.
MOST_LOST = 2.0
PULL_STEP = 10.0      # [s] in which what pulls at the vehicle from outside may change
MOST_ALIKE = 2        # thrusters that explain a loss of thrust alike and are named together
MIRRORED = np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0])   # a wrench FRD as one FLU
WIRING_ODDS = 1000.0  # odds against the wiring as it is set, beside any other one


class _Windows(NamedTuple):
    """Windows of a second: slow (k, m), change of velocity and what else moves slowly; impulse
    (k, N) [N s]; lag: rows of the DVL's log in one, so many overlap; inside: whether the window
    that begins at each of its rows is one of them."""

    slow: np.ndarray
    impulse: np.ndarray
    lag: int
    inside: np.ndarray


class _Fit(NamedTuple):
    """gain (N, 6): thrust per acceleration of each axis; variance (N, 6) of its entries; excited
    (N,) bool: thrusters that were used; windows: what was fitted."""

    gain: np.ndarray
    variance: np.ndarray
    excited: np.ndarray
    windows: _Windows


def thruster_findings(thrust: np.ndarray, dvl: np.ndarray,
                      allocation: np.ndarray) -> list[Finding] | None:
    """Reversed or swapped thrusters; None while there is too little motion to tell. Their signs
    are beside those that are set.

    `thrust` (k, 1 + N): time and integrated thrust [N s], `dvl` as in `frames`, allocation (6, N).
    """
    fit = _thrust_of_acceleration(thrust, dvl)
    N = allocation.shape[1]
    if fit is None:
        return None
    if N > MAX_THRUSTERS:
        return []
    as_set = _deviation(allocation, fit)
    explained = chi_squared(0.999, allocation.shape[0] ** 2)
    likely = [wiring for wiring in _wirings(allocation, fit)
              if as_set - wiring.deviation > wiring.certain and wiring.deviation < explained]
    if not likely:
        return _weak_thruster(fit.windows, dvl, allocation)
    # Of two that fit alike, the one of a smaller family is the likelier.
    return [min(likely, key=lambda w: w.deviation + w.certain).finding]


def _weak_thruster(windows: _Windows, dvl: np.ndarray, allocation: np.ndarray) -> list[Finding]:
    """The thruster without which the wrench is explained by the motion far better: one that gives
    little of what is commanded. Its residual lies along its column of the allocation."""
    slow, impulse, lag, inside = windows
    t, speed = dvl[:, 0], dvl[:, 1:7]
    if (speed.std(axis=0) < MIN_VELOCITY_STDDEV).any():
        return []                   # on an axis at rest it is a tether that thrust works against
    drag = integral(t, np.abs(speed) * speed)
    x = np.hstack([slow, (drag[lag:] - drag[:-lag])[inside]])
    basis = np.linalg.qr(x / np.maximum(np.sqrt(np.mean(x ** 2, axis=0)), 1e-9))[0]
    unexplained = impulse - basis @ (basis.T @ impulse)
    wrench = unexplained @ allocation.T
    before = np.maximum(np.mean(wrench ** 2, axis=0), 1e-12)
    shared = _shared_axes(allocation)
    gains = np.array([_gain_without(unexplained[:, [k]] * allocation[axes, k], wrench[:, axes],
                                    before[axes]) for k, axes in enumerate(shared.T)])
    order = np.argsort(-gains)
    certain = _certain(len(gains)) * lag / len(x)
    least = max(WEAK_GAIN, _gain_without_pull(t[lag:][inside], basis, wrench, before))
    for count in range(1, MOST_ALIKE + 1):
        named, others = order[:count], order[count:]
        if gains[named].min() > least and gains[named].min() - gains[others].max() > certain:
            names = " or ".join(str(k + 1) for k in sorted(named))
            return [Finding("thrusters.efficiency", (
                f"thruster {names} gives little or none of the thrust that is commanded, while the "
                "others do; check it for a broken propeller, a rope, its speed controller and its "
                "cable"))]
    return []


def _shared_axes(allocation: np.ndarray) -> np.ndarray:
    """(6, N) axes on which the others together push at least as hard as a thruster does: on one
    that is its own all that is not explained vanishes with it, whether it works or not."""
    square = allocation ** 2
    return (square > 0) & (square.sum(axis=1, keepdims=True) >= 2 * square)


def _gain_without(part: np.ndarray, wrench: np.ndarray, before: np.ndarray) -> float:
    """Log of the product of the axes' residual variances `before` (a,), over that of wrench (k, a)
    less the best multiple of part (k, a); zero for a multiple that no loss of thrust has, and
    without an axis."""
    if not before.size:
        return 0.0
    after, share = before, 0.0
    for _ in range(REWEIGHTED):
        weight = 1.0 / after
        size = float(np.sum(weight * part ** 2))
        share = float(np.sum(weight * part * wrench)) / max(size, 1e-12)
        after = np.maximum(np.mean((wrench - share * part) ** 2, axis=0), 1e-12)
    return float(np.sum(np.log(before / after))) if 0.0 < share < MOST_LOST else 0.0


def _gain_without_pull(t: np.ndarray, basis: np.ndarray, wrench: np.ndarray,
                       before: np.ndarray) -> float:
    """The same for wrench (k, 6) at t (k,) [s] less a constant wrench over the best stretch of
    time, of a snagged tether, the floor or a hand. basis (k, m): what was fitted before,
    orthonormal."""
    cuts = np.arange(t[0], t[-1] + PULL_STEP, PULL_STEP)
    begin, end = np.triu_indices(len(cuts), 1)
    pulls = ((t[:, None] >= cuts[begin]) & (t[:, None] < cuts[end])).astype(float)
    pulls -= basis @ (basis.T @ pulls)
    explained = (pulls.T @ wrench) ** 2 / np.maximum(np.sum(pulls ** 2, axis=0), 1.0)[:, None]
    after = np.maximum(before - explained / len(wrench), 1e-12)
    return float(np.log(before / after).sum(axis=1).max())


class _Wiring(NamedTuple):
    """What the wiring may be instead: its deviation, the gain in it from which this is certain, and
    what to say then."""

    deviation: float
    certain: float
    finding: Finding


def _wirings(allocation: np.ndarray, fit: _Fit) -> Iterator[_Wiring]:
    """All directions and all swaps of two of the excited thrusters, and the best order of all."""
    places = np.flatnonzero(fit.excited).tolist()
    swaps = list(itertools.combinations(places, 2))
    # Each of the simple ones might have come out best by chance.
    certain = _certain(2 ** len(places) - 1 + len(swaps))
    directions = np.ones((2 ** len(places), allocation.shape[1]))
    directions[:, places] = list(itertools.product((1.0, -1.0), repeat=len(places)))
    directions = directions[1:]         # the first is as set
    for signs, deviation in zip(directions, _deviations(allocation * directions[:, None], fit)):
        reversed_ones = ", ".join(str(k + 1) for k in np.flatnonzero(signs < 0))
        yield _Wiring(deviation, certain, Finding(
            "thrusters.signs", f"thruster {reversed_ones} pushes against its setting; change its "
                               "sign in thrusters.signs",
            {"thrusters.signs": tuple(signs.tolist())}))
    orders = [_swapped(range(allocation.shape[1]), a, b) for a, b in swaps]
    for (a, b), order, deviation in zip(swaps, orders, _of_orders(allocation, fit, orders)):
        yield _Wiring(deviation, certain, Finding(
            "thrusters.allocation", f"thrusters {a + 1} and {b + 1} seem to be swapped; "
                                    f"{_to_paste(allocation, order)}",
            {"thrusters.allocation": _numbers(allocation, order)}))
    order = _best_order(allocation, fit, places)
    drives = ", ".join(str(k + 1) for k in order)
    ordered = _Wiring(
        _deviation(allocation[:, order], fit), _certain(math.factorial(len(places))),
        Finding("thrusters.allocation", (
            f"commands 1 to {len(order)} seem to drive thrusters {drives}; "
            f"{_to_paste(allocation, order)}"),
            {"thrusters.allocation": _numbers(allocation, order)}))
    yield ordered
    deviation = _deviation(MIRRORED[:, None] * allocation, fit)
    # Thrusters in another order may be a reflection of the frame.
    alike = abs(ordered.deviation - deviation) < ordered.certain
    yield _Wiring(deviation, _certain(1), Finding(
        "imu.frame and dvl.frame", (
            "thrust moves the vehicle as one whose attitude and velocity are of axes forward, "
            "left, up where forward, right, down are set, or the other way round; check both frames"
            + (f"; if they are right, {ordered.finding.sentence}" if alike else "")),
        ordered.finding.values if alike else {}))


def _certain(wirings: int) -> float:
    """Twice the log of the odds that one of so many needs."""
    return 2 * math.log(WIRING_ODDS * max(wirings, 1))


def _best_order(allocation: np.ndarray, fit: _Fit, places: Sequence[int]) -> list[int]:
    """The thruster (N,) behind each command that fits best.

    A controller that spreads a wrench over the thrusters by the pseudo-inverse moves each in
    proportion to its row of it. Assigning the gains' rows to these is the start; from there, and
    from the order as set, pairs are exchanged as long as that fits better.
    """
    gains, rows = fit.gain[places], np.linalg.pinv(allocation)[places]
    known = np.isfinite(fit.variance[places]).all(axis=0)
    distance = np.sum((_unit(gains)[:, None] - _unit(rows)[None]) ** 2 * known, axis=2)
    start = np.arange(allocation.shape[1])
    start[places] = np.asarray(places)[linear_sum_assignment(distance)[1]]
    return min(_exchanged(allocation, fit, places, order)
               for order in (start.tolist(), list(range(len(start)))))[1]


def _unit(columns: np.ndarray) -> np.ndarray:
    return columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-9)


def _exchanged(allocation: np.ndarray, fit: _Fit, places: Sequence[int],
               order: list[int]) -> tuple[float, list[int]]:
    """(deviation, order) once no exchange of two makes it smaller."""
    best = _deviation(allocation[:, order], fit), order
    while True:
        others = [_swapped(best[1], a, b) for a, b in itertools.combinations(places, 2)]
        found = min(zip(_of_orders(allocation, fit, others), others), default=best)
        if found[0] >= best[0]:
            return best
        best = found


def _swapped(order: Sequence[int], a: int, b: int) -> list[int]:
    found = list(order)
    found[a], found[b] = found[b], found[a]
    return found


def _to_paste(allocation: np.ndarray, order: Sequence[int]) -> str:
    """What to set, so that each column stands in the place of its command; every number with its
    decimal point, as ROS wants them."""
    values = ", ".join(map(str, _numbers(allocation, order)))
    return f"set thrusters.allocation to [{values}]"


def _numbers(allocation: np.ndarray, order: Sequence[int]) -> tuple[float, ...]:
    """The setting with each column in the place of its command."""
    return tuple(float(f"{value:.6g}") for value in allocation[:, order].ravel())


def turned_sensor(thrust: np.ndarray, dvl: np.ndarray, allocation: np.ndarray,
                  turn: np.ndarray) -> str:
    """'dvl' or 'imu': which of the two is rotated, as thrust tells.

    `turn` (3, 3) takes the DVL's axes to the IMU's.
    """
    by_dvl, by_imu = dvl.copy(), dvl.copy()
    by_dvl[:, 1:4] = dvl[:, 1:4] @ turn.T
    by_imu[:, 4:7], by_imu[:, 19:22] = dvl[:, 4:7] @ turn, dvl[:, 19:22] @ turn
    fits = [_thrust_of_acceleration(thrust, log) for log in (by_dvl, by_imu)]
    deviations = [math.inf if fit is None else _deviation(allocation, fit) for fit in fits]
    return "imu" if deviations[1] < deviations[0] else "dvl"


def _inside(thrust: np.ndarray, dvl: np.ndarray, lag: int) -> np.ndarray:
    """Which windows of `lag` rows of the DVL's log have thrust and no gap."""
    t, known = dvl[:, 0], thrust[:, 0]
    inside = ((t[:-lag] >= known[0]) & (t[lag:] <= known[-1])
              & (t[lag:] - t[:-lag] < 1.5 * CHANGE_WINDOW))
    for k in np.flatnonzero(np.diff(known) > THRUST_GAP):
        inside &= (t[lag:] < known[k]) | (t[:-lag] > known[k + 1])
    return inside


def _windows(thrust: np.ndarray, dvl: np.ndarray) -> _Windows | None:
    """None with too little motion to tell."""
    t, nu, n3 = dvl[:, 0], dvl[:, 1:7], dvl[:, 19:22]
    lag = max(1, round(CHANGE_WINDOW / np.median(np.diff(t))))
    inside = _inside(thrust, dvl, lag)
    if inside.sum() < MIN_THRUST_WINDOWS or np.all(nu.std(axis=0) < MIN_VELOCITY_STDDEV):
        return None
    # A tether, the floor or a hand pulls for a while: it is no thruster's fault.
    knots = np.arange(t[0], t[-1] + PULL_STEP, PULL_STEP)
    pulls = np.maximum(1.0 - np.abs(t[:, None] - knots) / PULL_STEP, 0.0)
    slow = np.hstack([nu, n3, np.cross(nu[:, 3:], nu[:, :3]), pulls])
    path = integral(t, slow)
    change = np.hstack([nu[lag:] - nu[:-lag], path[lag:] - path[:-lag]])[inside]
    total = np.column_stack([np.interp(t, thrust[:, 0], column) for column in thrust.T[1:]])
    return _Windows(change, (total[lag:] - total[:-lag])[inside], lag, inside)


def _thrust_of_acceleration(thrust: np.ndarray, dvl: np.ndarray) -> _Fit | None:
    """The fit of thrust to motion over windows of a second; None with too little motion to tell."""
    windows = _windows(thrust, dvl)
    if windows is None:
        return None
    x, impulse, lag, _ = windows
    nu = dvl[:, 1:7]
    excited = impulse.std(axis=0) > MIN_IMPULSE_STDDEV
    if not excited.any():
        return None
    size = np.maximum(np.sqrt(np.mean(x ** 2, axis=0)), 1e-9)
    gain, error = relation(x / size, impulse, lag)
    gain, variance = (gain[:6] / size[:6, None]).T, ((error[:6] / size[:6, None]) ** 2).T
    # What has not moved is not known, however small the residual.
    variance[:, nu.std(axis=0) < MIN_VELOCITY_STDDEV] = np.inf
    return _Fit(gain, variance, excited, windows)


def _of_orders(allocation: np.ndarray, fit: _Fit, orders: Sequence[Sequence[int]]) -> list[float]:
    """`_deviations` with the thrusters in each of these orders."""
    return _deviations(np.array([allocation[:, order] for order in orders]), fit) if orders else []


def _deviation(allocation: np.ndarray, fit: _Fit) -> float:
    return _deviations(allocation[None], fit)[0]


def _deviations(allocations: np.ndarray, fit: _Fit) -> list[float]:
    """-2 log likelihood (but for a constant) that an allocation times gain (6, 6) is a mass matrix,
    of each of allocations (k, 6, N).

    Normalized by what all thrusters together can contribute it is near one on the diagonal and near
    zero beside it. Entries count by their standard errors: what was not excited counts for nothing.
    """
    mass = allocations @ fit.gain
    most = np.maximum(np.sum(np.abs(allocations) * np.abs(fit.gain.T), axis=2), 1e-9)
    size = np.sqrt(most[:, :, None] * most[:, None])
    variance = allocations ** 2 @ np.where(np.isinf(fit.variance), 1e12, fit.variance)
    away = (mass / size - np.eye(6)) ** 2 / (COUPLING ** 2 + variance / size ** 2)
    return np.minimum(away, CAP).sum(axis=(1, 2)).tolist()
