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

"""Hypotheses about what has changed, one class of each kind (docs/mathematics.md, "Changes of the
robot").

A hypothesis states how the efforts differ from the present model's prediction: by an error of some
parameters (a link, the vehicle's damping, ...), by an external force, or by a factor on some
efforts, on a velocity or on a thruster. It computes its own evidence, and the `Change` to apply if
it is accepted.
"""
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar, NamedTuple

import numpy as np

from ..model.parameters import ParameterTable
from ..model.vehicle import load_columns
from ..model.wiring import driven, thrusts
from .accepted_change import (
    EXTERNAL_FORCE,
    Change,
    EffortChange,
    LoadChange,
    PartChange,
    RobotChange,
    ThrustChange,
    ThrusterChange,
    VelocityChange,
    WiringChange,
)
from .change_evidence import (
    LoadSums,
    Rival,
    Spans,
    Unchanged,
    bayes_factor,
    log_likelihood_ratio,
)
from .information import PastNoise
from .recent_rows import RecentRows

# Prior deviations of a change. Of a part's parameters, in deviations of the prior:
SHARE_OF_PRIOR = 0.5
# of all parameters at once: two robots of one type, or of two types;
SHARES_OF_ROBOT = (0.05, 0.5)
# of a factor: a battery or the speed of sound, or a unit, a gear ratio, a faulty sensor.
SIZES_OF_FACTOR = (0.15, 0.6)
THRUSTER_STDDEV = 0.5       # of its thrust: a rope, a broken blade, a faulty speed controller
# Of the thrust of each thruster of a healthy robot about its curve, which is right to a third.
CURVE_STDDEV = 0.165
ALIKE_NATS = 4.6            # ln 100: hypotheses this close explain the data equally well
NEWTON_STEPS = 4            # after three, a scale of 1.3 is within a thousandth
# Blocks that change together: a load on the vehicle changes inertia and weight at once.
WHOLES = {
    "vehicle inertia": "vehicle inertia and restoring",
    "vehicle restoring": "vehicle inertia and restoring",
    "vehicle linear damping": "vehicle damping", "vehicle quadratic damping": "vehicle damping"
}


class Onset(NamedTuple):
    """Onset of a change: how many ticks ago; noise before it; rows since then, and the variance
    (C,) of one row that accounts for the correlation between rows; odds: the evidence, in words."""

    ticks: int
    noise: PastNoise
    rows: RecentRows
    variance: np.ndarray
    odds: str


@dataclass(frozen=True)
class Hypothesis(ABC):
    """What may have changed. stddev (k,): prior deviation of such a change, times one of `sizes`,
    each as likely.

    preference: among hypotheses that explain the data equally well, the lowest is accepted, and of
    several with it the one with the fewest unknowns; from_start: whether it holds for all rows
    since the start, and is judged by as many as are kept."""

    name: str
    stddev: np.ndarray

    preference: ClassVar[int]
    from_start: ClassVar[bool] = False
    sizes: ClassVar[tuple[float, ...]] = (1.0,)

    @property
    def is_conjunction(self) -> bool:
        """Whether it says that several parts failed at once."""
        return False

    @abstractmethod
    def columns(self, rows: RecentRows) -> np.ndarray:
        """(T, C, k) effect of one unit of the change on the efforts."""

    @abstractmethod
    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """The change to apply. alike: all hypotheses that explain the data about equally well; this
        is the simplest of those with the lowest preference."""

    def holds(self, other: Hypothesis) -> bool:
        """Whether this hypothesis contains the other one."""
        return False

    def evidence(self, rows: RecentRows,
                 rival: type[Rival] = Unchanged) -> tuple[float, np.ndarray]:
        """(ln Bayes factor against the rival, the change's posterior mean (k,) with the likelier
        size)."""
        return self._odds(rival.of(self.columns(rows), rows))

    def evidence_since(self, spans: Spans) -> list[tuple[float, np.ndarray]]:
        """`evidence` of each span, against no change."""
        return [self._odds(rival) for rival in spans.unchanged(self.columns(spans.longest))]

    def _odds(self, rival: Rival) -> tuple[float, np.ndarray]:
        """`evidence` against a rival that knows the rows."""
        if len(self.sizes) == 1:
            return rival.odds(self.sizes[0] * self.stddev)
        found = [rival.odds(size * self.stddev) for size in self.sizes]
        odds = [one for one, _ in found]
        mixed = float(reduce(np.logaddexp, odds)) - math.log(len(odds))
        return mixed, found[odds.index(max(odds))][1]

    def gain(self, change: np.ndarray, rows: RecentRows) -> float:
        """ln likelihood ratio of the rows with a given change (k,) against no change."""
        return log_likelihood_ratio(rows, rows.residual - self.columns(rows) @ change)


@dataclass(frozen=True)
class PartHypothesis(Hypothesis):
    """The parameters at `places` (k,) have changed."""

    places: np.ndarray

    preference = 2

    def columns(self, rows: RecentRows) -> np.ndarray:
        """See `Hypothesis.columns`."""
        return rows.Y[:, :, self.places]

    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """See `Hypothesis.accepted`: all of these parts are re-estimated."""
        places = [one.places for one in alike if isinstance(one, PartHypothesis)]
        return PartChange(_names(alike), onset.ticks, onset.noise,
                          np.unique(np.concatenate(places)), onset.odds)

    def holds(self, other: Hypothesis) -> bool:
        """See `Hypothesis.holds`."""
        return (isinstance(other, PartHypothesis) and other.places.size < self.places.size
                and bool(np.isin(other.places, self.places).all()))


@dataclass(frozen=True)
class RobotHypothesis(PartHypothesis):
    """The estimate at the start was another robot's: all parameters differ."""

    preference = 3          # all that was known is given up for it
    from_start = True
    sizes = SHARES_OF_ROBOT

    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """See `Hypothesis.accepted`."""
        return RobotChange(self.name, onset.ticks, onset.noise, self.places, onset.odds)

    def holds(self, other: Hypothesis) -> bool:
        """See `Hypothesis.holds`: any other cause is simpler."""
        return not isinstance(other, RobotHypothesis)


@dataclass(frozen=True)
class LoadHypothesis(Hypothesis):
    """An external force on the vehicle, in the order of `load_columns`. stddev (12,)."""

    preference = 1          # before a change of parameters, since nothing is forgotten for it

    def columns(self, rows: RecentRows) -> np.ndarray:
        """See `Hypothesis.columns`."""
        return _of_load(rows)

    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """See `Hypothesis.accepted`: the total external force, including the one that the rows were
        predicted with."""
        rows, columns = onset.rows, self.columns(onset.rows)
        # An axis whose noise is not known yet is no evidence of a force, but bounds its size.
        weight, unsure = rows.weight.copy(), (rows.weight == 0) & (rows.residual != 0)
        weight[unsure] = np.broadcast_to(1 / (len(weight) * onset.variance), weight.shape)[unsure]
        rows = replace(rows, residual=without_load(rows), weight=weight)
        sums = LoadSums(*Unchanged.of(columns, rows), 1 / onset.variance[:6], self.stddev)
        lasts, load = sums.solution()
        return LoadChange(_names(alike), onset.ticks, onset.noise, sums if lasts > 0 else None,
                          load[:3], onset.odds)


def _of_load(rows: RecentRows) -> np.ndarray:
    """(T, C, 12) effect of an external force on the efforts."""
    columns = np.zeros((*rows.residual.shape, 12))
    if rows.R_nb is not None:
        columns[:, :6] = -load_columns(rows.R_nb)       # the thrusters act against it
    return columns


def without_load(rows: RecentRows) -> np.ndarray:
    """(T, C) the residuals without the external force that the rows were predicted with."""
    if rows.load is None or not rows.load.any():
        return rows.residual
    return rows.residual + np.einsum("tck,tk->tc", _of_load(rows), rows.load)


class ScaleHypothesis(Hypothesis):
    """A factor on a measurement. stddev (1,) of one: `sizes` are those of the factor."""

    preference = 0  # a simpler cause than a dozen parameters, and nothing is forgotten for it
    sizes = SIZES_OF_FACTOR

    def columns(self, rows: RecentRows) -> np.ndarray:
        """See `Hypothesis.columns`."""
        columns = np.zeros((*rows.residual.shape, 1))
        self._fill(columns[:, :, 0], rows)
        return columns

    @abstractmethod
    def _fill(self, column: np.ndarray, rows: RecentRows) -> None:
        """Write the derivative of the efforts by the factor into column (T, C), zero on entry."""


@dataclass(frozen=True)
class EffortScale(ScaleHypothesis):
    """A factor on the efforts of `channels`."""

    channels: np.ndarray
    change: ClassVar[type[EffortChange]] = EffortChange

    def _fill(self, column: np.ndarray, rows: RecentRows) -> None:
        column[:, self.channels] = rows.predicted[:, self.channels]

    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """See `Hypothesis.accepted`."""
        change = float(self.evidence(onset.rows)[1][0])
        return self.change(_names(alike), onset.ticks, onset.noise, self.channels, 1 + change,
                           onset.odds)


@dataclass(frozen=True)
class ThrustScale(EffortScale):
    """A factor on the thrust of all thrusters.

    It must hold in both regressions, of needed efforts on thrust and of thrust on needed efforts:
    no factor explains efforts of a vehicle that moves while its thrusters rest."""

    change: ClassVar[type[EffortChange]] = ThrustChange

    def evidence(self, rows: RecentRows,
                 rival: type[Rival] = Unchanged) -> tuple[float, np.ndarray]:
        """See `Hypothesis.evidence`: that of the less likely of the two regressions."""
        forward, change = super().evidence(rows, rival)
        if rows.measured is None:
            return forward, change
        backward, _ = self._odds(rival.of(self._backward(rows.measured), rows))
        return min(forward, backward), change

    def evidence_since(self, spans: Spans) -> list[tuple[float, np.ndarray]]:
        """See `Hypothesis.evidence_since`."""
        forward, measured = super().evidence_since(spans), spans.longest.measured
        if measured is None:
            return forward
        backward = map(self._odds, spans.unchanged(self._backward(measured)))
        return [(min(one, other), change)
                for (one, change), (other, _) in zip(forward, backward)]

    def _backward(self, measured: np.ndarray) -> np.ndarray:
        """(T, C, 1) columns of the regression on needed efforts."""
        column = np.zeros(measured.shape)
        column[:, self.channels] = -measured[:, self.channels]
        return column[..., None]


@dataclass(frozen=True)
class VelocityScale(ScaleHypothesis):
    """A factor that corrects the vehicle's linear velocity."""

    def _fill(self, column: np.ndarray, rows: RecentRows) -> None:
        if rows.by_velocity is not None:
            column[:, :6] = rows.by_velocity[:, :6, 0]

    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """See `Hypothesis.accepted`."""
        correction = 1 + self._correction(onset.rows)
        return VelocityChange(_names(alike), onset.ticks, onset.noise, 1 / correction, onset.odds)

    def _correction(self, rows: RecentRows) -> float:
        """The best correction factor minus one, by Gauss-Newton from the linear solution: drag is
        not linear in the velocity."""
        change = float(self.evidence(rows)[1][0])
        if rows.by_velocity is None:
            return change
        slope, curvature = np.moveaxis(rows.by_velocity, 2, 0)
        precision = max(self.sizes) ** -2
        for _ in range(NEWTON_STEPS):
            along = slope + 2 * change * curvature
            left = rows.residual - change * slope - change ** 2 * curvature
            change += float((np.sum(rows.weight * along * left) - precision * change)
                            / (np.sum(rows.weight * along ** 2) + precision))
        return change


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
        names = _names([certain if one is self else one for one in alike])
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
        A, b = Unchanged.of(self.columns(rows), rows)

        def odds(kept: list[int]) -> float:
            return bayes_factor(A[np.ix_(kept, kept)], b[kept], self.stddev[kept])[0]

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


def thrust_curves(count: int) -> ThrusterScale:
    """That nothing has failed, but no thrust of `count` thrusters is quite as predicted."""
    return ThrusterScale("thrust curves", np.full(count, CURVE_STDDEV), np.arange(count))


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
        if rows.by_thruster is not None:
            found[:, :6] = thrusts(self.allocation, rows.by_thruster)[:, None]
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
        effect = thrust[:, 0] @ self._moved(drives[None])[0].T
        column = np.zeros((*rows.residual.shape, 1))
        column[:, :6, 0] = -effect
        gain = rival.of(column, rows).gain(np.ones(1))
        return gain - steps * math.log(len(self._steps(drives))), drives.astype(float)

    def gain(self, change: np.ndarray, rows: RecentRows) -> float:
        """See `Hypothesis.gain`."""
        moved = self._moved(change[None].astype(int))[0]
        residual = rows.residual.copy()
        residual[:, :6] += self.columns(rows)[:, 0] @ moved.T
        return log_likelihood_ratio(rows, residual)

    def accepted(self, onset: Onset, alike: Sequence[Hypothesis]) -> Change:
        """See `Hypothesis.accepted`."""
        drives = self.evidence(onset.rows)[1].astype(int)
        return WiringChange(_names(alike), onset.ticks, onset.noise, tuple(drives.tolist()),
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
        N = self.stddev.size
        first, second = np.triu_indices(N, 1)
        found = np.tile(drives, (first.size + N, 1))
        each = np.arange(first.size)
        found[each, first], found[each, second] = drives[second], drives[first]
        found[first.size + np.arange(N), np.arange(N)] *= -1
        return found

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


def _names(alike: Sequence[Hypothesis]) -> str:
    return " or ".join(one.name for one in alike)


def hypotheses(table: ParameterTable, free: np.ndarray, prior_stddev: np.ndarray,
               weight_density: float, allocation: np.ndarray) -> tuple[Hypothesis, ...]:
    """All hypotheses: each link, each joint's friction, the vehicle's restoring (alone and with its
    inertia) and damping; an external force; factors on the thrust as a whole, on each thruster
    alone, on several thrusters, another order of the commands, factors on the DVL's velocity, on
    all joint efforts and on each.

    free (p,): estimated parameters; prior_stddev (p,); weight_density [N/m^3] of water; allocation
    (6, N): of the thrusters."""
    every, thrusters = np.arange(table.channels), allocation.shape[1]
    parts = table.merged(WHOLES)
    if table.vehicle:
        # Trim, ballast, a float, a pulling line: keep what is known about the inertia.
        parts["vehicle restoring"] = table.blocks["vehicle restoring"]
    found: list[Hypothesis] = [
        PartHypothesis(name, SHARE_OF_PRIOR * prior_stddev[places], places)
        for name, places in parts.items() if free[places].any()]
    factor = np.ones(1)
    if table.vehicle:
        # A force as large as a plausible change of weight, anywhere on a neutrally buoyant body of
        # that weight.
        weight = prior_stddev[table.blocks["vehicle restoring"][0]]
        reach = np.r_[np.ones(3), np.full(9, (weight / weight_density) ** (1 / 3))]
        found.append(LoadHypothesis(EXTERNAL_FORCE, SHARE_OF_PRIOR * weight * reach))
        found.append(ThrustScale("thrust scale", factor, every[:6]))
        found += [thruster_scale(np.array([k])) for k in range(thrusters)]
        if thrusters > 1:
            found.append(replace(thruster_scale(np.arange(thrusters)), name="several thrusters"))
            found.append(CommandOrder("order of the commands", np.ones(thrusters), allocation))
        found.append(VelocityScale("DVL scale", factor))
    first_joint = table.channels - table.n
    if table.n > 1:
        found.append(EffortScale("effort scale", factor, every[first_joint:]))
    found += [EffortScale(f"{joint} effort scale", factor, every[first_joint + j:][:1])
              for j, joint in enumerate(table.joints)]
    return tuple(found)


def another_robot(free: np.ndarray, prior_stddev: np.ndarray) -> RobotHypothesis:
    """The hypothesis that the estimate at the start was another robot's. free (p,): estimated
    parameters; prior_stddev (p,)."""
    places = np.flatnonzero(free)
    return RobotHypothesis("another robot", prior_stddev[places], places)
