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

"""Hypotheses about single thrusters and the order of their commands (docs/mathematics.md, "Changes
of the robot")."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..model.wiring import directions, driven, one_step_from
from .accepted_change import CURVE_ERROR, Change, ThrusterChange, WiringChange
from .change_evidence import Rival, Spans, Unchanged, bayes_factor
from .hypothesis import ALIKE_NATS, Hypothesis, Onset, names_of
from .recent_rows import RecentRows
from .scale_hypotheses import ThrustScale

# Prior deviation of a thruster's thrust: a rope, a broken blade, a faulty speed controller.
THRUSTER_STDDEV = 0.5
# Of the thrust of each thruster of a healthy robot about its curve, right to two deviations.
CURVE_STDDEV = CURVE_ERROR / 2


@dataclass(frozen=True)
class ThrusterScale(Hypothesis):
    """A factor on the thrust of each of `thrusters` (k,), by index. stddev (k,)."""

    thrusters: np.ndarray

    preference = 0          # as any factor

    @property
    def is_conjunction(self) -> bool:
        """See `Hypothesis.is_conjunction`."""
        return self.thrusters.size > 1

    def columns(self, rows: RecentRows) -> np.ndarray:
        """See `Hypothesis.columns`."""
        columns = np.zeros((*rows.residual.shape, self.thrusters.size))
        if rows.by_thruster is not None:
            # the true thrust equals the effort needed; the "measured" one is computed from commands
            columns[:, :6] = -rows.by_thruster[:, :6, self.thrusters]
        return columns

    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """See `Hypothesis.accepted`: only thrusters whose share is certain are corrected."""
        certain = self._certain(onset.rows)
        share = certain.evidence(onset.rows)[1]
        names = names_of([certain if one is self else one for one in alike])
        return ThrusterChange(names, onset.ticks, onset.noise, certain.thrusters, share, onset.odds)

    def holds(self, other: Hypothesis) -> bool:
        """See `Hypothesis.holds`."""
        if isinstance(other, ThrusterScale):
            return (other.thrusters.size < self.thrusters.size
                    and bool(np.isin(other.thrusters, self.thrusters).all()))
        return isinstance(other, ThrustScale) and self.thrusters.size > 1

    def _certain(self, rows: RecentRows) -> ThrusterScale:
        """This hypothesis without thrusters that explain nothing: one after the other is left out
        while the rest explain the rows about equally well."""
        rival = self._of_idle(rows).beside(Unchanged.of(self.columns(rows), rows))
        assert isinstance(rival, Unchanged)

        def odds(kept: list[int]) -> float:
            return bayes_factor(rival.A[np.ix_(kept, kept)], rival.b[kept], self.stddev[kept])[0]

        kept = list(range(self.thrusters.size))
        while len(kept) > 1:
            fewer = max(([k for k in kept if k != out] for out in kept), key=odds)
            if odds(fewer) < odds(kept) - ALIKE_NATS:
                break
            kept = fewer
        return thruster_scale(self.thrusters[kept])


def thruster_scale(thrusters: np.ndarray) -> ThrusterScale:
    """The hypothesis on these thrusters (k,), by index."""
    numbers = " and ".join(", ".join(str(k + 1) for k in thrusters).rsplit(", ", 1))
    name = f"thruster{'s' if thrusters.size > 1 else ''} {numbers}"
    return ThrusterScale(name, np.full(thrusters.size, THRUSTER_STDDEV), thrusters)


@dataclass(frozen=True)
class ThrustCurves(ThrusterScale):
    """That nothing has failed, but no thrust is quite as predicted: each thruster's by a factor,
    and, since its dead zone is another one, by a part that is constant while it acts in one
    direction. The estimate has absorbed that part as it was before the rows.

    stddev (2 N,): of the factors, then of these parts [N]; allocation (6, N); before (N,):
    `_acting` before the rows."""

    allocation: np.ndarray
    before: np.ndarray

    @classmethod
    def of(cls, allocation: np.ndarray, low_thrust: float, earlier: np.ndarray) -> ThrustCurves:
        """The hypothesis on all thrusters. low_thrust [N]: deviation of a thrust near a dead zone;
        earlier (T, C, N): contributions to the efforts before the rows, zero in rows that did not
        count."""
        count = allocation.shape[1]
        deviations = np.repeat([CURVE_STDDEV, low_thrust], count)
        found = cls("thrust curves", deviations, np.arange(count), allocation, np.zeros(count))
        counted = earlier[earlier.any(axis=(1, 2))]
        return replace(found, before=found._acting(counted).mean(axis=0)) if len(counted) else found

    def of_dead_zones(self) -> ThrustCurves:
        """The same with factors of one."""
        factors = np.arange(self.stddev.size) < self.thrusters.size
        return replace(self, stddev=np.where(factors, 0.0, self.stddev))

    def _acting(self, by_thruster: np.ndarray) -> np.ndarray:
        """(T, N) `directions` by the thrusters' contributions (T, C, N)."""
        return directions(self.allocation, by_thruster, self.stddev[self.thrusters.size:])

    def columns(self, rows: RecentRows) -> np.ndarray:
        """See `Hypothesis.columns`."""
        missing = np.zeros((*rows.residual.shape, self.thrusters.size))
        if rows.by_thruster is not None:
            change = self._acting(rows.by_thruster) - self.before
            missing[:, :6] = -change[:, None] * self.allocation
        return np.concatenate([super().columns(rows), missing], axis=2)


@dataclass(frozen=True)
class CommandOrder(Hypothesis):
    """The commands drive other thrusters, or some backwards. The change (N,) is the thruster that
    each drives instead, as in `driven`. allocation (6, N).

    It has no size to fit: of the wirings, each exchange of two and each reversal on the way to it
    is as likely as any other. One thruster that is reversed is left to `ThrusterScale`."""

    allocation: np.ndarray

    preference = 2          # a pull, which may look alike, is more common

    def columns(self, rows: RecentRows) -> np.ndarray:
        """See `Hypothesis.columns`: (T, C, N) the thrust behind each command."""
        found = np.zeros((*rows.residual.shape, self.stddev.size))
        if rows.thrust is not None:
            found[:, :6] = rows.thrust[:, None]
        return found

    def evidence(self, rows: RecentRows,
                 rival: type[Rival] = Unchanged) -> tuple[float, np.ndarray]:
        """See `Hypothesis.evidence`: that of the likeliest wiring."""
        return self._of_likeliest(self.columns(rows), rows, rival)

    def evidence_since(self, spans: Spans) -> list[tuple[float, np.ndarray]]:
        """See `Hypothesis.evidence_since`."""
        thrust = self.columns(spans.longest)
        return [self._of_likeliest(thrust[-len(rows.residual):], rows, Unchanged)
                for rows in spans.each]

    def _of_likeliest(self, thrust: np.ndarray, rows: RecentRows,
                      rival: type[Rival]) -> tuple[float, np.ndarray]:
        """`evidence` of rows with the columns thrust (T, C, N)."""
        drives, steps = self._likeliest(thrust, rows)
        if np.count_nonzero(drives != self._as_set) < 2:
            return -math.inf, self._as_set.astype(float)
        change = drives.astype(float)
        gain = rival.of(self.effect(change, rows)[..., None], rows).gain(np.ones(1))
        return (gain + self.objection(change, rows)
                - steps * math.log(len(self._steps(drives)))), change

    def effect(self, change: np.ndarray, rows: RecentRows) -> np.ndarray:
        """See `Hypothesis.effect`."""
        found = np.zeros_like(rows.residual)
        if rows.thrust is not None:
            found[:, :6] = -rows.thrust @ self._moved(change[None].astype(int))[0].T
        return found

    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """See `Hypothesis.accepted`."""
        drives = self.evidence(onset.rows)[1].astype(int)
        return WiringChange(names_of(alike), onset.ticks, onset.noise, tuple(drives.tolist()),
                            onset.odds)

    def holds(self, other: Hypothesis) -> bool:
        """See `Hypothesis.holds`: a single thruster is a simpler cause."""
        return isinstance(other, ThrusterScale) and not other.is_conjunction

    @property
    def _as_set(self) -> np.ndarray:
        return np.arange(1, self.stddev.size + 1)

    def _moved(self, drives: np.ndarray) -> np.ndarray:
        """(m, 6, N) by how much the columns of the allocation differ for drives (m, N)."""
        return driven(self.allocation, drives).swapaxes(0, 1) - self.allocation

    def _steps(self, drives: np.ndarray) -> np.ndarray:
        """(m, N) the wirings one exchange or reversal away from drives (N,)."""
        return one_step_from(drives, np.arange(self.stddev.size))

    def _likeliest(self, thrust: np.ndarray, rows: RecentRows) -> tuple[np.ndarray, int]:
        """(the wiring (N,) that no further step makes likelier, the number of steps to it)."""
        u, weight = thrust[:, 0], rows.weight[:, :6]
        A = (weight.T[:, None] * u.T) @ u       # (6, N, N)
        b = (weight * rows.residual[:, :6]).T @ u
        drives, best, steps = self._as_set, 0.0, 0
        while True:
            others = self._steps(drives)
            moved = self._moved(others).swapaxes(0, 1)      # (6, m, N)
            gains = -np.sum(moved * (b[:, None] + 0.5 * moved @ A), axis=(0, 2))
            k = int(np.argmax(gains))
            if gains[k] <= best + math.log(len(others)):
                return drives, steps
            drives, best, steps = others[k], float(gains[k]), steps + 1
