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

"""Hypotheses of what has changed, and the evidence for each (docs/mathematics.md,
"Changes of the robot").

A hypothesis says how the efforts differ from what the present model predicts: by an error of some
parameters (a link, the vehicle's damping, ...) or by a common factor on some channels (thrust, one
joint's effort). What it would have to be is not known, so it is a random variable about zero with
the deviation that such a change may have, and the evidence is the marginal likelihood of the recent
residuals over their likelihood without a change (Bayes factor; Willsky and Jones, "A generalized
likelihood ratio approach to the detection and estimation of jumps", 1976). A hypothesis with many
parameters pays for them (Occam factor), and model error counts as noise, as long as it lasts.
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtrs

from ..model.parameters import ParameterTable
from ..model.vehicle import load_columns

# A change may be as large as half of what the prior did not know; a scale wrong by 15 %.
SHARE_OF_PRIOR = 0.5
SCALE_STDDEV = 0.15
THRUSTER_STDDEV = 0.5       # of its thrust: a rope, a broken blade, a speed controller that is off
NEWTON_STEPS = 4        # a scale of 1.3 is within a thousandth after three
EXTERNAL_FORCE = "external force"
# What changes by itself; of the vehicle a load changes inertia and weight at once.
WHOLES = {
    "vehicle inertia": "vehicle inertia and restoring",
    "vehicle restoring": "vehicle inertia and restoring",
    "vehicle linear damping": "vehicle damping", "vehicle quadratic damping": "vehicle damping"
}


@dataclass(frozen=True)
class Hypothesis:
    """What may have changed: parameters at `places` (k,), or, where there are none, one factor on
    the efforts of `channels`, or (of_velocity) one by which the vehicle's linear velocity is to be
    corrected, or (of_load) a force from outside as of `load_columns`, or (of_thruster) one on what
    the thruster of this place gives. stddev (k,), (1,) or (12,): what such a change may be."""

    name: str
    places: np.ndarray
    channels: np.ndarray
    stddev: np.ndarray
    of_velocity: bool = False
    of_load: bool = False
    of_thruster: int | None = None

    @property
    def is_scale(self) -> bool:
        """Whether it is a factor on what is measured."""
        return not (self.places.size or self.of_load)

    def columns(self, rows: RecentRows) -> np.ndarray:
        """(T, C, k) what one unit of the change adds to the efforts."""
        if self.places.size:
            return rows.Y[:, :, self.places]
        columns = np.zeros(rows.residual.shape + self.stddev.shape)
        if self.of_load:
            if rows.R_nb is not None:
                # the thrusters hold against it
                columns[:, self.channels] = -load_columns(rows.R_nb)
        elif self.of_thruster is not None:
            if rows.by_thruster is not None:
                # what it gives is needed; what is measured is what it is told
                columns[:, self.channels, 0] = -rows.by_thruster[:, self.channels, self.of_thruster]
        elif not self.of_velocity:
            columns[:, self.channels, 0] = rows.predicted[:, self.channels]
        elif rows.by_velocity is not None:
            columns[:, self.channels, 0] = rows.by_velocity[:, self.channels, 0]
        return columns


def hypotheses(table: ParameterTable, free: np.ndarray, prior_stddev: np.ndarray,
               weight_density: float, thrusters: int) -> tuple[Hypothesis, ...]:
    """Links, frictions, the vehicle's restoring, that with its inertia, its damping; a force on the
    vehicle from outside; factors on the thrust, on each thruster's, on the DVL's velocity, on all
    joints' efforts and on each. free (p,): what is estimated; prior_stddev (p,); weight_density
    [N/m^3] of water; thrusters: how many."""
    nowhere, every = np.zeros(0, int), np.arange(table.channels)
    parts = table.merged(WHOLES)
    if table.vehicle:
        # Trim, ballast, a float, a line that pulls: what is known of its inertia is not to be lost.
        parts["vehicle restoring"] = table.blocks["vehicle restoring"]
    found = [Hypothesis(name, places, every, SHARE_OF_PRIOR * prior_stddev[places])
             for name, places in parts.items() if free[places].any()]
    factor = np.array([SCALE_STDDEV])
    if table.vehicle:
        # A pull as large as the weight may change, anywhere on a body of that weight in water.
        weight = prior_stddev[table.blocks["vehicle restoring"][0]]
        reach = np.r_[np.ones(3), np.full(9, (weight / weight_density) ** (1 / 3))]
        found.append(Hypothesis(EXTERNAL_FORCE, nowhere, every[:6],
                                SHARE_OF_PRIOR * weight * reach, of_load=True))
        found.append(Hypothesis("thrust scale", nowhere, every[:6], factor))
        found += [Hypothesis(f"thruster {k + 1}", nowhere, every[:6], np.array([THRUSTER_STDDEV]),
                             of_thruster=k) for k in range(thrusters)]
        found.append(Hypothesis("DVL scale", nowhere, every[:6], factor, of_velocity=True))
    first_joint = table.channels - table.n
    if table.n > 1:
        found.append(Hypothesis("effort scale", nowhere, every[first_joint:], factor))
    found += [Hypothesis(f"{joint} effort scale", nowhere, every[first_joint + j:][:1], factor)
              for j, joint in enumerate(table.joints)]
    return tuple(found)


@dataclass(frozen=True)
class RecentRows:
    """Rows of the last seconds, oldest first, zero where they do not count.

    Y (T, C, p); predicted, residual (T, C) as they were before each row was used; weight (T, C):
    reciprocal variance that a row has as one of many like it, model error included; by_velocity
    (T, C, 2): what the predictions change by with the scale of the linear velocity; R_nb (T, 3, 3):
    attitudes; load (T, 12): the force from outside that each was predicted with; by_thruster
    (T, C, N): what each thruster adds to the efforts."""

    Y: np.ndarray
    predicted: np.ndarray
    residual: np.ndarray
    weight: np.ndarray
    by_velocity: np.ndarray | None = None
    R_nb: np.ndarray | None = None
    load: np.ndarray | None = None
    by_thruster: np.ndarray | None = None


class LoadSums(NamedTuple):
    """What rows say of all force from outside: A (12, 12), b (12,) of the normal equations, weight
    (6,) of a row by itself, stddev (12,) of what such a force may be."""

    A: np.ndarray
    b: np.ndarray
    weight: np.ndarray
    stddev: np.ndarray

    def solution(self) -> tuple[float, np.ndarray]:
        """(ln Bayes factor of such a force against none, its mean (12,))."""
        return bayes_factor(self.A, self.b, self.stddev)


def evidence(hypothesis: Hypothesis, rows: RecentRows,
             columns: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """(ln Bayes factor against no change, the change's posterior mean (k,)); columns (T, C, k): the
    hypothesis's of these rows, where they are known."""
    return bayes_factor(*normal_equations(hypothesis, rows, columns), hypothesis.stddev)


def normal_equations(hypothesis: Hypothesis, rows: RecentRows,
                     columns: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A (k, k) and b (k,) of a hypothesis; columns as for `evidence`."""
    columns = hypothesis.columns(rows) if columns is None else columns
    columns = columns.reshape(rows.residual.size, -1)
    weighted = rows.weight.reshape(-1, 1) * columns
    return columns.T @ weighted, rows.residual.ravel() @ weighted


def load_sums(hypothesis: Hypothesis, rows: RecentRows, variance: np.ndarray) -> LoadSums:
    """What rows say of all force from outside, that with which they were predicted included;
    variance (C,) of one row as one of many like it."""
    columns = hypothesis.columns(rows)
    if rows.load is not None:
        rows = replace(rows, residual=rows.residual + np.einsum("tck,tk->tc", columns, rows.load))
    return LoadSums(*normal_equations(hypothesis, rows, columns),
                    1 / variance[hypothesis.channels], hypothesis.stddev)


def bayes_factor(A: np.ndarray, b: np.ndarray, stddev: np.ndarray) -> tuple[float, np.ndarray]:
    """(ln Bayes factor, posterior mean (k,)) of what has the normal equations A (k, k) and b (k,)
    and a prior about zero with these deviations (k,), against zero."""
    D = stddev
    M = D[:, None] * A * D
    M.flat[::D.size + 1] += 1.0
    L = np.linalg.cholesky(M)
    u, _ = dtrtrs(L, D * b, lower=1)
    mean = D * dtrtrs(L, u, lower=1, trans=1)[0]
    return float(0.5 * u @ u - np.log(L.diagonal()).sum()), mean


def velocity_correction(hypothesis: Hypothesis, rows: RecentRows, start: float) -> float:
    """The factor on the linear velocity, less one, that explains the residuals best, from a start
    that has taken the efforts for linear in it: drag is not (Gauss and Newton)."""
    if rows.by_velocity is None:
        return start
    slope, curvature = np.moveaxis(rows.by_velocity, 2, 0)
    precision, change = float(hypothesis.stddev[0]) ** -2, start
    for _ in range(NEWTON_STEPS):
        along = slope + 2 * change * curvature
        left = rows.residual - change * slope - change ** 2 * curvature
        change += float((np.sum(rows.weight * along * left) - precision * change)
                        / (np.sum(rows.weight * along ** 2) + precision))
    return change


def gain(hypothesis: Hypothesis, change: np.ndarray, rows: RecentRows) -> float:
    """ln likelihood ratio of rows with a given change (k,) against none."""
    return log_likelihood_ratio(rows, rows.residual - hypothesis.columns(rows) @ change)


def log_likelihood_ratio(rows: RecentRows, residual: np.ndarray) -> float:
    """ln likelihood ratio of rows that leave `residual` (T, C) against what they leave now."""
    return 0.5 * float(np.sum(rows.weight * (rows.residual ** 2 - residual ** 2)))
