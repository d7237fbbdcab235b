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

"""Check for a thruster that gives little of what is commanded."""
from __future__ import annotations

import re

import numpy as np

from ...model.sample import WEAK_THRUSTER
from ...model.vehicle import load_columns
from .finding import Finding, Mend
from .fits import orthonormal, solve, unexplained
from .thruster_windows import MIN_VELOCITY_STDDEV, PULL_STEP, Windows
from .wirings import certain_gain, of_signs

REWEIGHTED = 10       # iterations of reweighting by the residuals
# Mean log likelihood ratio per independent window from which a weak thruster is named: the product
# of the residual variances of all axes falls fifty-fold. A dead thruster of the simulated robot
# reaches 6; tether and waves mimic a weak thruster with up to 2.7.
WEAK_GAIN = 4.0
# Largest share of its thrust that a weak thruster can lose in the fit: physically 1, but a dead
# thruster of the simulated robot reaches 1.3.
MOST_LOST = 2.0
MOST_ALIKE = 2        # explanations of similar likelihood that are named together

LITTLE = "little or none"


def weak_thruster(windows: Windows, dvl: np.ndarray, allocation: np.ndarray) -> list[Finding]:
    """The finding on a thruster without which the motion explains the wrench far better: it gives
    little of what is commanded, and its residual lies along its column of the allocation."""
    slow, impulse, lag, inside = windows
    t, speed = dvl[:, 0], dvl[:, 1:7]
    if (speed.std(axis=0) < MIN_VELOCITY_STDDEV).any():
        return []                   # on an axis at rest, thrust works against a tether
    x = np.hstack([slow, windows.drag(t, speed)])
    basis = orthonormal(x)
    left = unexplained(basis, impulse)
    wrench = left @ allocation.T
    before = np.maximum(np.mean(wrench ** 2, axis=0), 1e-12)
    shared = _shared_axes(allocation)
    gains = np.array([_gain_without(left[:, [k]] * allocation[axes, k], wrench[:, axes],
                                    before[axes]) for k, axes in enumerate(shared.T)])
    order = np.argsort(-gains)
    independent = windows.independent(basis.shape[1])
    if gains.max() <= WEAK_GAIN or not independent:
        return []
    certain = certain_gain(len(gains)) / independent
    least = max(WEAK_GAIN, _gain_without_pull(t[lag:][inside], basis, wrench, before),
                _gain_without_force(windows, dvl, basis, wrench, before))
    for count in range(1, MOST_ALIKE + 1):
        named, others = order[:count], order[count:]
        if gains[named].min() > least and gains[named].min() - gains[others].max() > certain:
            names = " or ".join(str(k + 1) for k in sorted(named))
            return [Finding(WEAK_THRUSTER, (
                f"thruster {names} gives {LITTLE} of its commanded thrust, unlike the others; "
                "check its propeller, its speed controller and its cable, and look for a rope in "
                "it"), mend=of_thrust(int(order[0]), 0.0, len(gains)))]
    return []


def with_share(weak: Finding, thruster: int, share: float, count: int) -> Finding:
    """What is said of one among `count` thrusters, by index, that gives this share of its thrust
    since it was found weak; below -1/2, it pushes backwards."""
    signs = np.where(np.arange(count) == thruster, -1.0, 1.0)
    if share < -0.5 and weak.sentence.startswith(f"thruster {thruster + 1} gives"):
        return of_signs(signs)
    tenths = round(10.0 * share)
    said = f"about {10 * tenths} %" if 0 < tenths < 10 else LITTLE
    return weak._replace(sentence=re.sub(rf"{LITTLE}|about \d+ %", said, weak.sentence, count=1),
                         mend=of_thrust(thruster, max(share, 0.0), count))


def of_thrust(thruster: int, share: float, count: int) -> Mend:
    """What puts the thrust right of one among `count` thrusters, by index, that gives only this
    share of its thrust."""
    shares = np.ones(count)
    shares[thruster] = share
    return Mend("thrusters", 0, np.diag(shares), of_thrust=True)


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


def _stretches(t: np.ndarray) -> np.ndarray:
    """(k, s) whether each time t (k,) [s] lies within each stretch in which a pull may last."""
    cuts = np.arange(t[0], t[-1] + PULL_STEP, PULL_STEP)
    begin, end = np.triu_indices(len(cuts), 1)
    return (t[:, None] >= cuts[begin]) & (t[:, None] < cuts[end])


def _gain_without_pull(t: np.ndarray, basis: np.ndarray, wrench: np.ndarray,
                       before: np.ndarray) -> float:
    """The same gain for wrench (k, 6) at t (k,) [s] less a constant wrench over the best stretch of
    time, as from a hand or a rope that turns with the vehicle. basis (k, m): orthonormal basis of
    what has been fitted before."""
    pulls = _stretches(t).astype(float)
    pulls = unexplained(basis, pulls)
    explained = (pulls.T @ wrench) ** 2 / np.maximum(np.sum(pulls ** 2, axis=0), 1.0)[:, None]
    after = np.maximum(before - explained / len(wrench), 1e-12)
    return float(np.log(before / after).sum(axis=1).max())


def _gain_without_force(windows: Windows, dvl: np.ndarray, basis: np.ndarray, wrench: np.ndarray,
                        before: np.ndarray) -> float:
    """The same gain for a force that is constant in the world over the best stretch of time, as
    from a tether, the floor or a current: it turns in the body as the vehicle does, which the
    commands of a single thruster may follow."""
    t, by_force = dvl[:, 0], load_columns(dvl[:, 10:19].reshape(-1, 3, 3))
    gain = 0.0
    for within in _stretches(t).T:
        X = windows.change_of(t, by_force * within[:, None, None])
        X -= np.einsum("km,mij->kij", basis, np.einsum("km,kij->mij", basis, X))
        after = before
        for _ in range(REWEIGHTED):
            scale = np.sqrt(after)
            phi = solve((X / scale[:, None]).reshape(-1, X.shape[2]), (wrench / scale).ravel())
            after = np.maximum(np.mean((wrench - X @ phi) ** 2, axis=0), 1e-12)
        gain = max(gain, float(np.sum(np.log(before / after))))
    return gain
