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

"""Other wirings of the thrusters, and how far each is from a mass matrix.

Reversed thrusters, or thrusters in another order, distort the matrix everywhere; wirings are
compared by likelihood.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ...model.rotations import from_rpy
from ...model.wiring import driven, one_step_from
from .finding import Finding, Harm, Mend
from .thrust_fit import Deviation, ThrustFit, allocation_deviations, deviation_of, masses

MIRRORED = np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0])   # FRD wrench to FLU
# Where a turned bracket of IMU and DVL points, in quarter turns clockwise.
POINTING = {"astern": 2, "to starboard": 1, "to port": -1}
OF_PAIR, OR_ELSE = "imu.rpy and dvl.rpy", "; if they point ahead, "
WIRING_ODDS = 1000.0  # required odds of another wiring against the configured one


class Wiring(NamedTuple):
    """An alternative wiring: allocation (6, N), its deviation, the gain over the configured wiring
    from which it is certain, and the finding to report then."""

    allocation: np.ndarray
    deviation: Deviation
    certain: float
    finding: Finding


def wirings(allocation: np.ndarray, fit: ThrustFit) -> Iterator[Wiring]:
    """All directions and pairwise swaps of the excited thrusters; the best order of all of them, as
    set and with any directions, and those nearly as likely; and mirrored sensor frames."""
    places = np.flatnonzero(fit.excited).tolist()
    swaps = list(itertools.combinations(places, 2))
    # Any of these might come out best by chance.
    certain = certain_gain(2 ** len(places) - 1 + len(swaps))
    directions = np.ones((2 ** len(places), allocation.shape[1]))
    directions[:, places] = list(itertools.product((1.0, -1.0), repeat=len(places)))
    directions = directions[1:]         # the first is as set
    judged = allocation_deviations(allocation * directions[:, None], fit)
    for signs, deviation in zip(directions, judged):
        yield Wiring(allocation * signs, deviation, certain, of_signs(signs))
    as_set = np.arange(1, allocation.shape[1] + 1)
    orders = one_step_from(as_set, places, reversing=False)
    for (a, b), drives, deviation in zip(swaps, orders, _of_orders(allocation, fit, orders)):
        yield Wiring(driven(allocation, drives), deviation, certain, _reordered(
            allocation, drives, f"thrusters {a + 1} and {b + 1} seem to be swapped"))
    candidates = math.factorial(len(places))
    ordered = [_ordered(allocation, fit, drives, candidates)
               for drives in _best_orders(allocation, fit, places)]
    yield from ordered
    for drives in _best_orders(allocation, fit, places, reversing=True):
        if min(drives) < 0:
            yield _ordered(allocation, fit, drives, candidates * 2 ** len(places))
    mirrored = MIRRORED[:, None] * allocation
    deviation = deviation_of(mirrored, fit)
    # A mirrored frame can look like another order of the thrusters.
    alike = abs(ordered[0].deviation.total - deviation.total) < ordered[0].certain
    yield Wiring(mirrored, deviation, certain_gain(1), Finding(
        "imu.frame and dvl.frame", (
            "the vehicle responds to thrust as if attitude and velocity were in forward, left, up "
            "axes although forward, right, down is set, or vice versa; check both frames, and "
            "whether thrusters.allocation is in forward, right, down axes"
            + (f"; if they are right, {ordered[0].finding.sentence}" if alike else "")),
        ordered[0].finding.values if alike else {}))
    yield from _turned_pairs(allocation, fit, ordered[0])


def _turned_pairs(allocation: np.ndarray, fit: ThrustFit, ordered: Wiring) -> Iterator[Wiring]:
    """IMU and DVL turned alike about the vertical, as on one bracket: both agree, and the vehicle
    goes where they do not point. Where no thrust acts along one of the level axes, as on a boat,
    it cannot be told from a wind on the beam."""
    if np.linalg.matrix_rank(allocation[:2]) < 2:
        return
    for ahead, quarters in POINTING.items():
        turn = from_rpy(0.0, 0.0, 0.5 * np.pi * quarters).round()
        turned = np.kron(np.eye(2), turn.T) @ allocation
        deviation = deviation_of(turned, fit)
        alike = abs(ordered.deviation.total - deviation.total) < ordered.certain
        yield Wiring(turned, deviation, certain_gain(len(POINTING)), Finding(
            OF_PAIR, f"the vehicle responds to thrust as if IMU and DVL were both turned and "
                     f"pointed {ahead}" + (
                         f"{OR_ELSE}{ordered.finding.sentence.partition(';')[0]}"
                         if alike else ""), {"imu.rpy": turn, "dvl.rpy": turn}, Harm.FOLLOWED))


def of_signs(signs: np.ndarray) -> Finding:
    """The finding that the thrusters push backwards whose sign (N,) is negative."""
    return Finding("thrusters.signs", _reversed_sentence(np.flatnonzero(signs < 0)),
                   {"thrusters.signs": tuple(signs.tolist())},
                   mend=Mend("thrusters", 0, np.diag(signs)))


def _reversed_sentence(places: np.ndarray) -> str:
    """What to report where the thrusters at these places push backwards."""
    names = ", ".join(str(k + 1) for k in places)
    if len(places) == 1:
        return f"thruster {names} pushes backwards; change its sign in thrusters.signs"
    return f"thrusters {names} push backwards; change their signs in thrusters.signs"


def certain_gain(wirings: int) -> float:
    """Twice the log odds required of one among `wirings` candidates."""
    return 2 * math.log(WIRING_ODDS * max(wirings, 1))


def _ordered(allocation: np.ndarray, fit: ThrustFit, drives: np.ndarray,
             candidates: int) -> Wiring:
    """The wiring by which the commands drive these thrusters, the best of so many candidates."""
    backwards = ", ".join(str(-thruster) for thruster in sorted(drives)[::-1] if thruster < 0)
    seen = (f"commands 1 to {len(drives)} seem to drive thrusters "
            + ", ".join(str(abs(thruster)) for thruster in drives)
            + (f", of which {backwards} push backwards" if backwards else ""))
    wired = driven(allocation, drives)
    return Wiring(wired, deviation_of(wired, fit), certain_gain(candidates),
                   _reordered(allocation, drives, seen))


def _reordered(allocation: np.ndarray, drives: np.ndarray, seen: str) -> Finding:
    """The finding on commands that drive these thrusters, with the settings to paste; every number
    has a decimal point, as ROS requires."""
    columns = allocation[:, np.abs(drives) - 1].ravel()
    values = {"thrusters.allocation": tuple(float(f"{value:.6g}") for value in columns)}
    if min(drives) < 0:
        values["thrusters.signs"] = tuple(np.sign(drives).astype(float).tolist())
    advice = " and ".join(f"{name} to {list(value)}" for name, value in values.items())
    mend = np.zeros((len(drives), len(drives)))
    mend[np.abs(drives) - 1, np.arange(len(drives))] = np.sign(drives)
    return Finding("thrusters.allocation", f"{seen}; set {advice}", values,
                   mend=Mend("thrusters", 0, mend))


def _best_orders(allocation: np.ndarray, fit: ThrustFit, places: Sequence[int],
                 reversing: bool = False) -> list[np.ndarray]:
    """The thruster (N,) behind each command as in `driven`, for the order that fits best; with
    `reversing`, any of them may push backwards. After it, those that differ from it by one exchange
    or reversal and that the motion does not refute.

    A controller that allocates a wrench by the pseudo-inverse drives each thruster in proportion to
    its row. The search starts from the assignment of the gains' rows to these rows, and from the
    configured order, and swaps pairs and reverses thrusters as long as the fit improves.
    """
    mass = masses(allocation[None], fit)[0][:, None] * fit.directions
    gains, rows = fit.gain[places], (np.linalg.pinv(allocation) @ mass)[places]
    alike = _unit(gains) @ _unit(rows).T
    along, to = linear_sum_assignment(-np.abs(alike) if reversing else -alike)
    as_set = np.arange(1, allocation.shape[1] + 1)
    start = as_set.copy()
    start[places] = as_set[places][to]
    if reversing:
        start[places] *= np.where(alike[along, to] < 0, -1, 1)
    return min((_exchanged(allocation, fit, places, order, reversing)
                for order in (start, as_set)), key=itemgetter(0))[1]


def _unit(columns: np.ndarray) -> np.ndarray:
    return columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-9)


def _exchanged(allocation: np.ndarray, fit: ThrustFit, places: Sequence[int], drives: np.ndarray,
               reversing: bool) -> tuple[float, list[np.ndarray]]:
    """(deviation, drives) after swapping pairs, and with `reversing` turning thrusters about, until
    nothing reduces the deviation. After these drives, the next ones that are nearly as likely."""
    best = deviation_of(driven(allocation, drives), fit).total
    while True:
        others = one_step_from(drives, places, reversing)
        totals = [deviation.total for deviation in _of_orders(allocation, fit, others)]
        found = min(totals, default=best)
        if found >= best:
            return best, [drives, *(other for total, other in zip(totals, others)
                                    if total < best + certain_gain(1))]
        best, drives = found, others[totals.index(found)]


def _of_orders(allocation: np.ndarray, fit: ThrustFit, orders: np.ndarray) -> list[Deviation]:
    """`allocation_deviations` for each of these orders (m, N) of the thrusters, as in `driven`."""
    return allocation_deviations(driven(allocation, orders).swapaxes(0, 1),
                                  fit) if len(orders) else []
