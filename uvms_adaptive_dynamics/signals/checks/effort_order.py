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

"""Efforts of joints that come in another order from some time on.

Load and friction of each joint, linear in posture and speed, are the same before and after; only
the effort that shows them comes in another place. So no coefficient is fitted to the rows since
then alone."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from .effort_sign import ROWS_PER_WINDOW, independent, windows
from .fits import overlap_of, solve
from .joint_order import certain_order

# Factors on an effort that are tried as another cause, and how many of the cuts.
FACTORS = np.concatenate([-np.geomspace(0.1, 10.0, 41), np.geomspace(0.1, 10.0, 41)])
EVERY_CUT = 5


class OrderChange(NamedTuple):
    """cut [s]: time since which the effort in place j is that of joint order[j]."""

    cut: float
    order: list[int]


class _Sums:
    """Sums of squares left of a joint's features x (k, p) by efforts Y (k, n) that change their
    place at a cut, from sums up to each row."""

    def __init__(self, t: np.ndarray, x: np.ndarray, Y: np.ndarray):
        self.t, self.x, self.Y = t, x, Y
        self._inverse = np.linalg.pinv(x.T @ x)
        self._xy = np.cumsum(np.einsum("kp,kn->kpn", x, Y), axis=0)
        self._yy = np.cumsum(Y ** 2, axis=0)

    def left(self, j: int, cut: float) -> np.ndarray:
        """(n,) left if each effort, from the cut on, takes the place of effort j."""
        k = int(np.searchsorted(self.t, cut, side="right")) - 1
        xy = self._xy[k][:, [j]] + self._xy[-1] - self._xy[k]
        yy = self._yy[k, j] + self._yy[-1] - self._yy[k]
        explained = np.einsum("pn,pq,qn->n", xy, self._inverse, xy)
        return np.maximum(yy - explained, 1e-12 * yy + 1e-300)

    def otherwise(self, j: int, cuts: Sequence[float], friction: int, count: float) -> float:
        """The least -2 log likelihood of effort j, up to a constant, if it has not changed its
        place: it is what it was, or has a factor or another load since one of the cuts, one as
        likely as another; the first `friction` features stay. Each coefficient is expected to fit
        noise. count: independent errors."""
        y, chosen = self.Y[:, j], 2.0 * math.log(len(cuts))
        found = [count * math.log(self.left(j, cuts[0])[j])]
        for cut in cuts:
            after = (self.t > cut)[:, None]
            load = self.x[:, friction:]
            x = np.hstack([self.x[:, :friction], load * ~after, load * after])
            left = max(float(np.sum((y - x @ solve(x, y)) ** 2)), 1e-12 * float(y @ y) + 1e-300)
            found.append(count * math.log(left) + 2.0 * load.shape[1] + chosen)
            found.append(self._scaled(j, cut, count) + 2.0 + chosen)
        return min(found)

    def _scaled(self, j: int, cut: float, count: float) -> float:
        """-2 log likelihood with a factor on effort j since the cut."""
        k = int(np.searchsorted(self.t, cut, side="right")) - 1
        xy = self._xy[k][:, j], self._xy[-1][:, j] - self._xy[k][:, j]
        yy = self._yy[k, j], self._yy[-1, j] - self._yy[k, j]
        a, b, c = (float(yy_ - one @ self._inverse @ other) for one, other, yy_ in (
            (xy[0], xy[0], yy[0]), (xy[0], xy[1], 0.0), (xy[1], xy[1], yy[1])))
        left = np.maximum(a + 2.0 * b / FACTORS + c / FACTORS ** 2, 1e-12 * self._yy[-1, j])
        late = count * (1.0 - (k + 1) / len(self.t))
        return float(np.min(count * np.log(left) + 2.0 * late * np.log(np.abs(FACTORS))))


def order_changed_at(t: np.ndarray, friction: Sequence[np.ndarray], load: np.ndarray,
                     effort: np.ndarray, scale: np.ndarray, window: float,
                     cuts: Sequence[float]) -> OrderChange | None:
    """The likeliest of the times `cuts` [s] since which efforts (k, n) at times t (k,) [s] come in
    another order, with odds of a thousand against the same order throughout, whatever factor or
    other load each of them has since some time. friction: of each joint (k, 2), load (k, q): what
    its effort depends on; scale (n,): factors by which the values of the message have been
    multiplied, each in its place; window [s]: rows this near share their error."""
    n, thin = effort.shape[1], max(1, round(overlap_of(t, window) / ROWS_PER_WINDOW))
    t, load, effort = t[::thin], load[::thin], effort[::thin]
    # (an effort of another place has been multiplied by that place's factor)
    sums = [_Sums(t, np.hstack([one[::thin], load]), effort * (scale[j] / scale))
            for j, one in enumerate(friction)]
    # (the rows before have to determine the load)
    p = 2 + load.shape[1]
    cuts = [cut for cut in cuts if windows(t[t <= cut], window) > 2 * p
            and windows(t[t > cut], window) > p]
    if not cuts or n < 2:
        return None
    found = []
    for cut in cuts:
        cost = np.log(np.array([one.left(j, cut) for j, one in enumerate(sums)]))
        joints, places = linear_sum_assignment(cost)
        found.append((cost[joints, places].sum(), cut, places))
    _, cut, places = min(found, key=lambda one: one[0])
    changed = np.flatnonzero(places != np.arange(n)).tolist()
    come = [np.where(t > cut, sums[j].Y[:, places[j]], sums[j].Y[:, j]) for j in changed]
    # (one number for all: what one joint loses must not count less than what another gains)
    count = windows(t, window) * float(np.mean([
        independent(t, y - sums[j].x @ solve(sums[j].x, y), window)
        for j, y in zip(changed, come)] or 0.0))
    tried = [cut, *cuts[::EVERY_CUT]]
    gain = sum(sums[j].otherwise(j, tried, 2, count)
               - count * math.log(sums[j].left(j, cut)[places[j]]) for j in changed)
    if not gain > certain_order(n) + 2.0 * math.log(len(cuts)):
        return None
    return OrderChange(cut, np.argsort(places).tolist())
