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

"""All hypotheses about what may have changed (docs/mathematics.md, "Changes of the robot"): here an
error of some parameters (a link, the vehicle's damping, ...) and an external force; factors on
measurements and faults of thrusters in their own files.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..model.parameters import ParameterTable
from ..model.vehicle import load_columns
from .accepted_change import (
    EXTERNAL_FORCE,
    IN_CONTACT,
    Change,
    LoadChange,
    PartChange,
    RobotChange,
)
from .change_evidence import LoadSums, Unchanged
from .contact import ContactHypothesis
from .hypothesis import Hypothesis, Onset, names_of
from .recent_rows import RecentRows
from .scale_hypotheses import EffortScale, ThrustScale, VelocityScale
from .thruster_hypotheses import CommandOrder, thruster_scale

# Prior deviations of a change. Of a part's parameters, in deviations of the prior:
SHARE_OF_PRIOR = 0.5
# of all parameters at once: two robots of one type, or of two types.
SHARES_OF_ROBOT = (0.05, 0.5)
# Blocks that change together: a load on the vehicle changes inertia and weight at once.
WHOLES = {
    "vehicle inertia": "vehicle inertia and restoring",
    "vehicle restoring": "vehicle inertia and restoring",
    "vehicle linear damping": "vehicle damping", "vehicle quadratic damping": "vehicle damping"
}


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
        return PartChange(names_of(alike), onset.ticks, onset.noise,
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
        # (the rows that follow are added with the noise alone)
        rows = replace(rows, residual=without_load(rows), weight=weight, unmodelled=None)
        sums = LoadSums(*Unchanged.of(columns, rows), 1 / onset.variance[:6], self.stddev)
        lasts, load = sums.solution()
        return LoadChange(names_of(alike), onset.ticks, onset.noise, onset.odds,
                          sums if lasts > 0 else None, load[:3])


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


def hypotheses(table: ParameterTable, free: np.ndarray, prior_stddev: np.ndarray,
               weight_density: float, allocation: np.ndarray,
               varying: float = 0.0) -> tuple[Hypothesis, ...]:
    """All hypotheses: each link, each joint's friction, the vehicle's restoring (alone and with its
    inertia) and damping; an external force; contact; factors on the thrust as a whole, on each
    thruster alone, on several thrusters, another order of the commands, factors on the DVL's
    velocity, on all joint efforts and on each.

    free (p,): estimated parameters; prior_stddev (p,); weight_density [N/m^3] of water; allocation
    (6, N): of the thrusters; varying [nats]: see `ContactHypothesis.least`."""
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
        moving = np.r_[table.blocks["vehicle inertia"], parts["vehicle damping"]]
        found.append(ContactHypothesis(IN_CONTACT, prior_stddev[moving], moving, varying))
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
