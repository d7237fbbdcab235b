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

"""Check of the thrusters' directions and order against the motion that they cause."""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .finding import Finding
from .fits import solve
from .thrust_fit import (
    ThrustFit,
    deviation_of,
    explained,
    is_driven,
    thrust_of_acceleration,
)
from .thruster_windows import MIN_IMPULSE_STDDEV, Windows, thrust_windows
from .velocity_log import turned_dvl, turned_imu
from .weak_thruster import MOST_ALIKE, weak_thruster
from .wirings import Wiring, certain_gain, wirings

MAX_THRUSTERS = 10    # for which all combinations of directions are tried
LEAST_DELAY, MOST_DELAY, DELAY_STEP = -0.4, 0.8, 0.1   # [s] delays that can mimic another wiring


def thruster_findings(windows: Windows | None, thrust: np.ndarray, dvl: np.ndarray,
                      allocation: np.ndarray, lightest: float = 0.0) -> list[Finding] | None:
    """Findings on reversed, swapped or weak thrusters; None if there is too little motion to tell,
    if something else moves the vehicle, or if the configured wiring is refuted, but no other one
    explains the motion.

    Signs in the findings are relative to the configured ones. `windows` of both logs; `thrust`
    (k, 1 + N): time and integrated thrust [N s]; `dvl` as in `frames`; allocation (6, N);
    lightest: least mass [kg] that the vehicle may have.
    """
    fit = thrust_of_acceleration(windows, dvl, allocation)
    if fit is None or not is_driven(allocation, fit, lightest):
        return None
    if allocation.shape[1] > MAX_THRUSTERS:
        return []
    likely = _likely(allocation, fit)
    if likely and not _explains(likely[0], fit):
        return None
    # (a likelier wiring that does not explain the motion refutes those that are less likely)
    if not likely or likely[0].deviation.squared >= explained(fit):
        weak = weak_thruster(fit.windows, dvl, allocation)
        return weak if weak or not likely else None
    # A delay can look like another wiring, so the wiring must be needed at the best delay too.
    delayed = (thrust_windows(np.column_stack([thrust[:, 0] + delay, thrust[:, 1:]]), dvl)
               for delay in np.arange(LEAST_DELAY, MOST_DELAY + DELAY_STEP / 2, DELAY_STEP))
    late = thrust_of_acceleration(min(delayed, key=_unexplained), dvl, allocation)
    if late is None or not _likely(allocation, late):
        return []
    # Among so many orders with reversals, some come near to what a dead thruster does.
    turned = {"thrusters.allocation", "thrusters.signs"} <= likely[0].finding.values.keys()
    others = weak_thruster(fit.windows, dvl, allocation) if turned else []
    return [_with_rivals(likely, allocation, others)]


def _likely(allocation: np.ndarray, fit: ThrustFit) -> list[Wiring]:
    """All wirings, most likely first, if that one fits with certainty better than the configured
    one; else none."""
    # Between equal fits, prefer the smaller family.
    found = sorted(wirings(allocation, fit),
                   key=lambda wiring: wiring.deviation.total + wiring.certain)
    best, as_set = found[0], deviation_of(allocation, fit)
    return found if as_set.total - best.deviation.total > best.certain else []


def _explains(wiring: Wiring, fit: ThrustFit) -> bool:
    """Whether it is certainly less likely that something else causes the motion, a tether or a
    hand: what thrust has nothing to do with fits best by a wiring with which all thrust cancels."""
    nothing = deviation_of(wiring.allocation, fit, moves=False)
    return nothing.total - wiring.deviation.total > wiring.certain


def _unexplained(windows: Windows | None) -> float:
    """Mean log of the share of each used thruster's variance that the motion leaves unexplained."""
    if windows is None:
        return math.inf
    used = windows.impulse[:, windows.impulse.std(axis=0) > MIN_IMPULSE_STDDEV]
    x = windows.slow / np.maximum(np.sqrt(np.mean(windows.slow ** 2, axis=0)), 1e-9)
    left = np.mean((used - x @ solve(x, used)) ** 2, axis=0) / used.var(axis=0)
    return float(np.log(np.maximum(left, 1e-12)).mean()) if left.size else math.inf


def _with_rivals(likely: Sequence[Wiring], allocation: np.ndarray,
                 others: Sequence[Finding]) -> Finding:
    """The finding of the most likely wiring, together with alternatives if the motion cannot tell
    them apart: in pure surge, two reversed thrusters look like two swapped ones. A wiring that
    makes the same changes as the first, and more, does not contradict it. others: findings of
    another kind that explain the motion as well."""
    best = likely[0]
    changed = (best.allocation != allocation).any(axis=0)
    rivals = [*others, *(
        wiring.finding for wiring in likely[1:]
        if not np.allclose(wiring.allocation[:, changed], best.allocation[:, changed])
        and wiring.deviation.total + wiring.certain
        < best.deviation.total + best.certain + certain_gain(1))]
    if not rivals:
        return best.finding
    seen = [finding.sentence.partition(";")[0] for finding in [best.finding, *rivals]]
    named, more = seen[:MOST_ALIKE], len(seen) > MOST_ALIKE
    return best.finding._replace(values={}, mend=None, sentence=(
        f"{', or '.join(named)}{', or others are miswired' if more else ''}; "
        "move on more axes to find out which"))


def turned_sensor(thrust: np.ndarray, dvl: np.ndarray, place: np.ndarray, allocation: np.ndarray,
                  turn: np.ndarray) -> str:
    """'dvl' or 'imu', whichever is rotated according to the thrust.

    place (3,): as `dvl_place`; `turn` (3, 3) rotates the DVL's axes into the IMU's. Without thrust
    that fits a turned IMU better, with the odds of a wiring, it is the DVL: its bracket is mounted
    at will, and only a controller that knows of a turned IMU could fly.
    """
    fits = [thrust_of_acceleration(thrust_windows(thrust, log), log, allocation)
            for log in (turned_dvl(dvl, place, turn), turned_imu(dvl, place, turn.T))]
    if fits[0] is None or fits[1] is None:
        return "dvl"
    as_dvl, as_imu = (deviation_of(allocation, fit).squared for fit in fits if fit is not None)
    return "imu" if as_imu < min(as_dvl - certain_gain(1), explained(fits[1])) else "dvl"
