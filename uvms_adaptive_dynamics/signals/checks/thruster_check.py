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

"""Check of the thrusters' directions and order against the motion that they cause.

Thrust over one second is regressed on the change of velocity and on slow effects. The coefficients
of acceleration, mapped by the allocation, must form a mass matrix: positive diagonal, small
off-diagonal entries. A reversed thruster, or thrusters in another order, distort it everywhere.

Only directions of acceleration that exceed the velocity noise independently are used: if a vehicle
only surges and pitches in step, only their combination is observable. Standard errors come from a
jackknife over stretches of time; wirings are compared by likelihood.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ...model.jackknife import covariance
from ...model.normal import NORMAL_MEDIAN, chi_squared
from ...model.sample import WEAK_THRUSTER
from .finding import CHANGE_WINDOW, Finding
from .fits import STRETCHES, integral, solve

MAX_THRUSTERS = 10    # for which all combinations of directions are tried
MIN_THRUST_WINDOWS = 150
THRUST_GAP = 0.5      # [s] gap after which the thrust is unknown
MIN_VELOCITY_STDDEV = 0.02   # [m/s, rad/s] of an axis or direction that is judged
# Standard deviations of measurement noise that a judged direction of acceleration must reach: then
# a quarter of its power is noise, and its thrust is underestimated by as much.
CLEAR_OF_NOISE = 2.0
MIN_IMPULSE_STDDEV = 0.05    # [N s] of a thruster that is judged
# Standard deviation of the normalized mass matrix's entries from one or zero, by arm, centre of
# gravity and unequal thrusters. The default robot's largest coupling is 0.1.
COUPLING = 0.2
# Largest mean squared deviation of an order with reversals: couplings of half of COUPLING. Among so
# many orders one within COUPLING often exists, as for a dead thruster.
CLOSE_FIT = 0.25
LEAST_DELAY, MOST_DELAY, DELAY_STEP = -0.4, 0.8, 0.1   # [s] delays that can mimic another wiring
REWEIGHTED = 10       # iterations of reweighting by the residuals
CAP = 25.0            # on a squared deviation: a single entry proves nothing
# Mean log likelihood ratio per independent window from which a weak thruster is named: the product
# of the residual variances of all axes falls fifty-fold. A dead thruster of the simulated robot
# reaches 6; tether and waves mimic a weak thruster with up to 2.7.
WEAK_GAIN = 4.0
# Largest share of its thrust that a weak thruster can lose in the fit: physically 1, but a dead
# thruster of the simulated robot reaches 1.3.
MOST_LOST = 2.0
PULL_STEP = 10.0      # [s] in which an external pull may change
MOST_ALIKE = 2        # explanations of similar likelihood that are named together
MIRRORED = np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0])   # FRD wrench to FLU
WIRING_ODDS = 1000.0  # required odds of another wiring against the configured one


class _Windows(NamedTuple):
    """One-second windows.

    slow (k, m): change of velocity and slow effects; impulse (k, N) [N s]; lag: rows of the DVL's
    log per window, which is also how many windows overlap; inside: for each row, whether the window
    that begins there is used."""

    slow: np.ndarray
    impulse: np.ndarray
    lag: int
    inside: np.ndarray


class _Fit(NamedTuple):
    """Regression of thrust on motion.

    directions (6, r): excited accelerations, orthonormal if rotations are scaled by the thrusters'
    lever arms; levers (6,) [m]: these lever arms, one for translations; gain (N, r): thrust per
    acceleration along each direction; without (K, N, r): the same with one stretch of time left out
    each (jackknife); excited (N,) bool: thrusters that were used; windows: the fitted data."""

    directions: np.ndarray
    levers: np.ndarray
    gain: np.ndarray
    without: np.ndarray
    excited: np.ndarray
    windows: _Windows


def thruster_findings(thrust: np.ndarray, dvl: np.ndarray,
                      allocation: np.ndarray) -> list[Finding] | None:
    """Findings on reversed, swapped or weak thrusters; None if there is too little motion to tell.

    Signs in the findings are relative to the configured ones. `thrust` (k, 1 + N): time and
    integrated thrust [N s]; `dvl` as in `frames`; allocation (6, N).
    """
    fit = _thrust_of_acceleration(thrust, dvl, allocation)
    if fit is None:
        return None
    if allocation.shape[1] > MAX_THRUSTERS:
        return []
    likely = _likely(allocation, fit)
    if not likely:
        return _weak_thruster(fit.windows, dvl, allocation)
    # A delay can look like another wiring, so the wiring must be needed at the best delay too.
    delayed = thrust.copy()
    delays = np.arange(LEAST_DELAY, MOST_DELAY + DELAY_STEP / 2, DELAY_STEP)
    delayed[:, 0] += min(delays, key=lambda d: _unexplained(thrust, dvl, d))
    late = _thrust_of_acceleration(delayed, dvl, allocation)
    return [_with_rivals(likely, allocation)] if late and _likely(allocation, late) else []


def _likely(allocation: np.ndarray, fit: _Fit) -> list[_Wiring]:
    """Wirings that fit with certainty better than the configured one, most likely first."""
    as_set = _deviation(allocation, fit)
    explained = _explained(fit)
    # Between equal fits, prefer the smaller family.
    return sorted((wiring for wiring in _wirings(allocation, fit)
                   if as_set.total - wiring.deviation.total > wiring.certain
                   and wiring.deviation.squared < explained),
                  key=lambda wiring: wiring.deviation.total + wiring.certain)


def _explained(fit: _Fit) -> float:
    """Largest squared deviation of a wiring that fits."""
    return chi_squared(0.999, fit.directions.size)


def _unexplained(thrust: np.ndarray, dvl: np.ndarray, delay: float) -> float:
    """Mean log of the share of each used thruster's variance that the motion leaves unexplained if
    thrust acts `delay` [s] later."""
    windows = _windows(np.column_stack([thrust[:, 0] + delay, thrust[:, 1:]]), dvl)
    if windows is None:
        return math.inf
    used = windows.impulse[:, windows.impulse.std(axis=0) > MIN_IMPULSE_STDDEV]
    x = windows.slow / np.maximum(np.sqrt(np.mean(windows.slow ** 2, axis=0)), 1e-9)
    left = np.mean((used - x @ solve(x, used)) ** 2, axis=0) / used.var(axis=0)
    return float(np.log(np.maximum(left, 1e-12)).mean()) if left.size else math.inf


def _with_rivals(likely: Sequence[_Wiring], allocation: np.ndarray) -> Finding:
    """The finding of the most likely wiring, together with alternatives if the motion cannot tell
    them apart: in pure surge, two reversed thrusters look like two swapped ones. A wiring that
    makes the same changes as the first, and more, does not contradict it."""
    best = likely[0]
    changed = (best.allocation != allocation).any(axis=0)
    rivals = [wiring.finding for wiring in likely[1:]
              if not np.allclose(wiring.allocation[:, changed], best.allocation[:, changed])
              and wiring.deviation.total + wiring.certain
              < best.deviation.total + best.certain + _certain(1)]
    if not rivals:
        return best.finding
    seen = [finding.sentence.partition(";")[0] for finding in [best.finding, *rivals]]
    named, more = seen[:MOST_ALIKE], len(seen) > MOST_ALIKE
    return best.finding._replace(values={}, sentence=(
        f"{', or '.join(named)}{', or others are miswired' if more else ''}; "
        "move on more axes to find out which"))


def _weak_thruster(windows: _Windows, dvl: np.ndarray, allocation: np.ndarray) -> list[Finding]:
    """The finding on a thruster without which the motion explains the wrench far better: it gives
    little of what is commanded, and its residual lies along its column of the allocation."""
    slow, impulse, lag, inside = windows
    t, speed = dvl[:, 0], dvl[:, 1:7]
    if (speed.std(axis=0) < MIN_VELOCITY_STDDEV).any():
        return []                   # on an axis at rest, thrust works against a tether
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
            return [Finding(WEAK_THRUSTER, (
                f"thruster {names} gives little or none of its commanded thrust, unlike the "
                "others; check its propeller, its speed controller and its cable, and look for a "
                "rope in it"))]
    return []


def _shared_axes(allocation: np.ndarray) -> np.ndarray:
    """(6, N) axes on which the other thrusters together push at least as hard as this one. On an
    axis driven by it alone, removing it removes the residual whether it works or not."""
    square = allocation ** 2
    return (square > 0) & (square.sum(axis=1, keepdims=True) >= 2 * square)


def _gain_without(part: np.ndarray, wrench: np.ndarray, before: np.ndarray) -> float:
    """Sum over axes of the log ratio of the residual variances `before` (a,) to those of wrench
    (k, a) less the best multiple of part (k, a). Zero without an axis, or if no loss of thrust
    gives that multiple."""
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
    """The same gain for wrench (k, 6) at t (k,) [s] less a constant wrench over the best stretch of
    time, as from a snagged tether, the floor or a hand. basis (k, m): orthonormal basis of what has
    been fitted before."""
    cuts = np.arange(t[0], t[-1] + PULL_STEP, PULL_STEP)
    begin, end = np.triu_indices(len(cuts), 1)
    pulls = ((t[:, None] >= cuts[begin]) & (t[:, None] < cuts[end])).astype(float)
    pulls -= basis @ (basis.T @ pulls)
    explained = (pulls.T @ wrench) ** 2 / np.maximum(np.sum(pulls ** 2, axis=0), 1.0)[:, None]
    after = np.maximum(before - explained / len(wrench), 1e-12)
    return float(np.log(before / after).sum(axis=1).max())


class _Deviation(NamedTuple):
    """squared: sum of squared deviations from a mass matrix; total: -2 log likelihood up to a
    constant."""

    squared: float
    total: float


class _Wiring(NamedTuple):
    """An alternative wiring: allocation (6, N), its deviation, the gain over the configured wiring
    from which it is certain, and the finding to report then."""

    allocation: np.ndarray
    deviation: _Deviation
    certain: float
    finding: Finding


def _wirings(allocation: np.ndarray, fit: _Fit) -> Iterator[_Wiring]:
    """All directions and pairwise swaps of the excited thrusters, the best order of all of them, as
    set and with any directions, and mirrored sensor frames."""
    places = np.flatnonzero(fit.excited).tolist()
    swaps = list(itertools.combinations(places, 2))
    # Any of these might come out best by chance.
    certain = _certain(2 ** len(places) - 1 + len(swaps))
    directions = np.ones((2 ** len(places), allocation.shape[1]))
    directions[:, places] = list(itertools.product((1.0, -1.0), repeat=len(places)))
    directions = directions[1:]         # the first is as set
    for signs, deviation in zip(directions, _deviations(allocation * directions[:, None], fit)):
        reversed_ones = np.flatnonzero(signs < 0)
        yield _Wiring(allocation * signs, deviation, certain, Finding(
            "thrusters.signs", _reversed_sentence(reversed_ones),
            {"thrusters.signs": tuple(signs.tolist())}))
    as_set = range(1, allocation.shape[1] + 1)
    orders = [_swapped(as_set, a, b) for a, b in swaps]
    for (a, b), drives, deviation in zip(swaps, orders, _of_orders(allocation, fit, orders)):
        yield _Wiring(_driven(allocation, drives), deviation, certain, _reordered(
            allocation, drives, f"thrusters {a + 1} and {b + 1} seem to be swapped"))
    candidates = math.factorial(len(places))
    ordered = _ordered(allocation, fit, _best_order(allocation, fit, places), candidates)
    yield ordered
    drives = _best_order(allocation, fit, places, reversing=True)
    turned = _ordered(allocation, fit, drives, candidates * 2 ** len(places))
    if min(drives) < 0 and turned.deviation.squared < CLOSE_FIT * fit.directions.size:
        yield turned
    mirrored = MIRRORED[:, None] * allocation
    deviation = _deviation(mirrored, fit)
    # A mirrored frame can look like another order of the thrusters.
    alike = abs(ordered.deviation.total - deviation.total) < ordered.certain
    yield _Wiring(mirrored, deviation, _certain(1), Finding(
        "imu.frame and dvl.frame", (
            "the vehicle responds to thrust as if attitude and velocity were in forward, left, up "
            "axes although forward, right, down is set, or vice versa; check both frames"
            + (f"; if they are right, {ordered.finding.sentence}" if alike else "")),
        ordered.finding.values if alike else {}))


def _reversed_sentence(places: np.ndarray) -> str:
    """What to report where the thrusters at these places push backwards."""
    names = ", ".join(str(k + 1) for k in places)
    if len(places) == 1:
        return f"thruster {names} pushes backwards; change its sign in thrusters.signs"
    return f"thrusters {names} push backwards; change their signs in thrusters.signs"


def _certain(wirings: int) -> float:
    """Twice the log odds required of one among `wirings` candidates."""
    return 2 * math.log(WIRING_ODDS * max(wirings, 1))


def _ordered(allocation: np.ndarray, fit: _Fit, drives: Sequence[int], candidates: int) -> _Wiring:
    """The wiring by which the commands drive these thrusters, the best of so many candidates."""
    backwards = ", ".join(str(-thruster) for thruster in sorted(drives)[::-1] if thruster < 0)
    seen = (f"commands 1 to {len(drives)} seem to drive thrusters "
            + ", ".join(str(abs(thruster)) for thruster in drives)
            + (f", of which {backwards} push backwards" if backwards else ""))
    wired = _driven(allocation, drives)
    return _Wiring(wired, _deviation(wired, fit), _certain(candidates),
                   _reordered(allocation, drives, seen))


def _reordered(allocation: np.ndarray, drives: Sequence[int], seen: str) -> Finding:
    """The finding on commands that drive these thrusters, with the settings to paste; every number
    has a decimal point, as ROS requires."""
    columns = allocation[:, np.abs(drives) - 1].ravel()
    values = {"thrusters.allocation": tuple(float(f"{value:.6g}") for value in columns)}
    if min(drives) < 0:
        values["thrusters.signs"] = tuple(np.sign(drives).astype(float).tolist())
    advice = " and ".join(f"{name} to {list(value)}" for name, value in values.items())
    return Finding("thrusters.allocation", f"{seen}; set {advice}", values)


def _driven(allocation: np.ndarray, drives: Sequence[int]) -> np.ndarray:
    """The allocation (6, N) of commands that drive these thrusters (N,), counted from 1; negative
    for a thruster that pushes backwards."""
    return allocation[:, np.abs(drives) - 1] * np.sign(drives)


def _best_order(allocation: np.ndarray, fit: _Fit, places: Sequence[int],
                reversing: bool = False) -> list[int]:
    """The thruster (N,) behind each command as in `_driven`, for the order that fits best; with
    `reversing`, any of them may push backwards.

    A controller that allocates a wrench by the pseudo-inverse drives each thruster in proportion to
    its row. The search starts from the assignment of the gains' rows to these rows, and from the
    configured order, and swaps pairs and reverses thrusters as long as the fit improves.
    """
    mass = _masses(allocation[None], fit)[0][:, None] * fit.directions
    gains, rows = fit.gain[places], (np.linalg.pinv(allocation) @ mass)[places]
    alike = _unit(gains) @ _unit(rows).T
    along, to = linear_sum_assignment(-np.abs(alike) if reversing else -alike)
    as_set = np.arange(1, allocation.shape[1] + 1)
    start = as_set.copy()
    start[places] = as_set[places][to]
    if reversing:
        start[places] *= np.where(alike[along, to] < 0, -1, 1)
    return min(_exchanged(allocation, fit, places, order.tolist(), reversing)
               for order in (start, as_set))[1]


def _unit(columns: np.ndarray) -> np.ndarray:
    return columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-9)


def _exchanged(allocation: np.ndarray, fit: _Fit, places: Sequence[int], drives: list[int],
               reversing: bool) -> tuple[float, list[int]]:
    """(deviation, drives) after swapping pairs, and with `reversing` turning thrusters about, until
    nothing reduces the deviation."""
    best = _deviation(_driven(allocation, drives), fit).total, drives
    while True:
        others = [_swapped(best[1], a, b) for a, b in itertools.combinations(places, 2)]
        if reversing:
            others += [_reversed(best[1], a) for a in places]
        totals = [deviation.total for deviation in _of_orders(allocation, fit, others)]
        found = min(zip(totals, others), default=best)
        if found[0] >= best[0]:
            return best
        best = found


def _reversed(drives: Sequence[int], place: int) -> list[int]:
    return [-thruster if k == place else thruster for k, thruster in enumerate(drives)]


def _swapped(order: Sequence[int], a: int, b: int) -> list[int]:
    found = list(order)
    found[a], found[b] = found[b], found[a]
    return found


def turned_sensor(thrust: np.ndarray, dvl: np.ndarray, allocation: np.ndarray,
                  turn: np.ndarray) -> str:
    """'dvl' or 'imu', whichever is rotated according to the thrust.

    `turn` (3, 3) rotates the DVL's axes into the IMU's. Without thrust that fits a turned IMU, as
    with thrusters in another order, it is the DVL: its bracket is mounted at will, and only a
    controller that knows of a turned IMU could fly.
    """
    by_dvl, by_imu = dvl.copy(), dvl.copy()
    by_dvl[:, 1:4] = dvl[:, 1:4] @ turn.T
    by_imu[:, 4:7], by_imu[:, 19:22] = dvl[:, 4:7] @ turn, dvl[:, 19:22] @ turn
    fits = [_thrust_of_acceleration(thrust, log, allocation) for log in (by_dvl, by_imu)]
    as_dvl, as_imu = (math.inf if fit is None else
                      _deviation(allocation, fit).squared / _explained(fit) for fit in fits)
    return "imu" if as_imu < min(as_dvl, 1.0) else "dvl"


def _inside(thrust: np.ndarray, dvl: np.ndarray, lag: int) -> np.ndarray:
    """Whether each window of `lag` rows of the DVL's log is covered by thrust, without a gap."""
    t, known = dvl[:, 0], thrust[:, 0]
    inside = ((t[:-lag] >= known[0]) & (t[lag:] <= known[-1])
              & (t[lag:] - t[:-lag] < 1.5 * CHANGE_WINDOW))
    for k in np.flatnonzero(np.diff(known) > THRUST_GAP):
        inside &= (t[lag:] < known[k]) | (t[:-lag] > known[k + 1])
    return inside


def _windows(thrust: np.ndarray, dvl: np.ndarray) -> _Windows | None:
    """The windows with known thrust; None if there is too little motion to tell."""
    t, nu, n3 = dvl[:, 0], dvl[:, 1:7], dvl[:, 19:22]
    lag = max(1, round(CHANGE_WINDOW / np.median(np.diff(t))))
    inside = _inside(thrust, dvl, lag)
    if inside.sum() < MIN_THRUST_WINDOWS or np.all(nu.std(axis=0) < MIN_VELOCITY_STDDEV):
        return None
    # Slow external pulls (tether, floor, hand) must not be blamed on a thruster.
    knots = np.arange(t[0], t[-1] + PULL_STEP, PULL_STEP)
    pulls = np.maximum(1.0 - np.abs(t[:, None] - knots) / PULL_STEP, 0.0)
    slow = np.hstack([nu, n3, np.cross(nu[:, 3:], nu[:, :3]), pulls])
    path = integral(t, slow)
    change = np.hstack([nu[lag:] - nu[:-lag], path[lag:] - path[:-lag]])[inside]
    total = np.column_stack([np.interp(t, thrust[:, 0], column) for column in thrust.T[1:]])
    return _Windows(change, (total[lag:] - total[:-lag])[inside], lag, inside)


def _thrust_of_acceleration(thrust: np.ndarray, dvl: np.ndarray,
                            allocation: np.ndarray) -> _Fit | None:
    """Regression of thrust on motion over one-second windows; None if there is too little motion to
    tell."""
    windows = _windows(thrust, dvl)
    if windows is None:
        return None
    slow, impulse, _, _ = windows
    excited = impulse.std(axis=0) > MIN_IMPULSE_STDDEV
    turning = np.sqrt(np.sum(allocation[3:] ** 2, axis=1) / np.sum(allocation[:3] ** 2))
    levers = np.concatenate([np.ones(3), np.maximum(turning, 1e-3)])
    change, others = slow[:, :6], slow[:, 6:]
    others = others / np.maximum(np.sqrt(np.mean(others ** 2, axis=0)), 1e-9)
    directions, along = _excited_directions(change, others, _noise(dvl[:, 1:7]), levers)
    if not excited.any() or not directions.size:
        return None
    x, r = np.hstack([change @ along.T, others]), directions.shape[1]

    def gain(rows: np.ndarray) -> np.ndarray:
        return solve(x[rows], impulse[rows])[:r].T

    rows = np.arange(len(x))
    without = [gain(np.setdiff1d(rows, part)) for part in np.array_split(rows, STRETCHES)]
    return _Fit(directions, levers, gain(rows), np.array(without), excited, windows)


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


def _of_orders(allocation: np.ndarray, fit: _Fit,
               orders: Sequence[Sequence[int]]) -> list[_Deviation]:
    """`_deviations` for each of these orders of the thrusters, as in `_driven`."""
    return _deviations(np.array([_driven(allocation, order) for order in orders]),
                       fit) if orders else []


def _deviation(allocation: np.ndarray, fit: _Fit) -> _Deviation:
    return _deviations(allocation[None], fit)[0]


def _deviations(allocations: np.ndarray, fit: _Fit) -> list[_Deviation]:
    """Deviation of allocation times gain (6, r) from a mass matrix times the directions, for each
    of allocations (k, 6, N).

    Relative to the axes' masses, the mass matrix is the identity up to COUPLING. The part of an
    axis' mass that no direction determines is free; the jackknife over stretches of time gives the
    remaining covariance.
    """
    directions, known = fit.directions, _known(fit)
    mass = _masses(allocations, fit)
    away = allocations @ fit.gain - mass[:, :, None] * directions
    coupled = COUPLING ** 2 * np.einsum("kj,ki,ia,ib->kjab", mass, mass, directions, directions)
    open_mass = np.einsum("kj,ja,jb->kjab", (1.0 - known) * mass ** 2, directions, directions)
    error = covariance(np.moveaxis(allocations[:, None] @ fit.without, 1, 0))
    root = np.linalg.cholesky(coupled + open_mass + error)
    squared = np.minimum(np.linalg.solve(root, away[..., None])[..., 0] ** 2, CAP).sum(axis=(1, 2))
    size = 2.0 * np.log(np.diagonal(root, axis1=2, axis2=3)).sum(axis=(1, 2))
    return [_Deviation(*pair) for pair in zip(squared.tolist(), (squared + size).tolist())]


def _known(fit: _Fit) -> np.ndarray:
    """(6,) share of each axis' acceleration that lies in the directions."""
    return np.clip(np.sum((fit.levers[:, None] * fit.directions) ** 2, axis=1), 0.0, 1.0)


def _masses(allocations: np.ndarray, fit: _Fit) -> np.ndarray:
    """(k, 6) mass of each axis as the sum of all thrusters' contributions; for an axis that has not
    moved independently, that of the other axes scaled by the thrusters' lever arms."""
    gain = fit.gain @ (fit.levers[:, None] ** 2 * fit.directions).T
    most = np.sum(np.abs(allocations) * np.abs(gain.T), axis=2) / fit.levers ** 2
    known = _known(fit)
    others = most @ known / known.sum()
    return np.maximum(known * most + (1.0 - known) * others[:, None], 1e-9) * fit.levers ** 2
