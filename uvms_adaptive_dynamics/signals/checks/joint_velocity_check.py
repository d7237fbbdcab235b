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

"""Checks of joints' velocities against their positions."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from ...model.normal import Z999
from ..gates.joint_consistency import JUMP_SPEED
from ..gates.velocity_fit import Relation
from .finding import Finding, Harm, Mend, outside
from .fits import integral, relation, rows_in
from .joint_order import certain_order, order_sentence, reordered

MIN_JOINT_MOVE = 0.02        # [rad] RMS change over JOINT_WINDOW of a judged joint
JOINT_WINDOW = 0.5           # [s]
MOST_SMOOTH = 0.5            # share of windows without a jump from which only those are judged
# What happens to a velocity that is a clean multiple or a late copy of its position's derivative.
UNUSED = ". Until then the positions alone are used"
VELOCITY_GAIN = 0.6, 1.6     # range of a correct velocity's gain


def check_velocities(names: Sequence[str], t: np.ndarray, mu: np.ndarray, speed: np.ndarray,
                      relations: Sequence[Relation | None]) -> tuple[list[Finding], bool]:
    """(findings on velocities that are not their position's derivative, whether every joint moved).

    A velocity with a clean relation to its position costs no row: the front end leaves it out."""
    path = integral(t, speed)
    lag = rows_in(t, JOINT_WINDOW)
    by_position, by_velocity = mu[lag:] - mu[:-lag], path[lag:] - path[:-lag]
    # A jump of position (a driver that starts with zeros) is no motion, and velocities say nothing
    # of what happened in a gap.
    jumps = (np.abs(np.diff(mu, axis=0)) > JUMP_SPEED * np.diff(t)[:, None]).any(axis=1)
    passed = np.concatenate([[0], np.cumsum(jumps)])
    smooth = (passed[lag:] == passed[:-lag]) & (t[lag:] - t[:-lag] < 1.5 * JOINT_WINDOW)
    if smooth.mean() > MOST_SMOOTH:
        by_position, by_velocity = by_position[smooth], by_velocity[smooth]
    moved = np.sqrt(np.mean(by_position ** 2, axis=0)) >= MIN_JOINT_MOVE
    stuck = moved & (np.ptp(speed, axis=0) == 0.0)
    findings = []
    if stuck.any():
        unmeasured = ", ".join(names[j] for j in np.flatnonzero(stuck).tolist())
        findings.append(Finding("joint velocity", (
            f"the velocity of {unmeasured} stays the same while the position moves, so it is not "
            f"measured; make the driver leave velocities out{UNUSED}"), harm=Harm.SLIGHT))
    judged = np.flatnonzero(moved & ~stuck)
    gain, error, follows = _single_fits(by_velocity, by_position[:, judged], judged, lag)
    # (a velocity with a clean relation to its own position, even a late one, is no other joint's)
    follows = np.where([relations[j] is None for j in judged.tolist()], follows, judged)
    if judged.size == len(names) and np.sum(follows != judged) > 2:
        order = np.argsort(follows)
        return [Finding("joint velocity", order_sentence("velocities", names, order),
                        mend=reordered(len(names), order))], True
    for j, k, own, its_error in zip(judged.tolist(), follows.tolist(), gain, error):
        one = relations[j]
        if one is not None:
            if not one.is_scaled:
                continue    # (a lag looks like a factor)
            own, its_error = 1.0 / one.factor, one.error / one.factor ** 2
        if k != j or outside(own, own, its_error, VELOCITY_GAIN):
            is_clean = one is not None
            findings.append(Finding(
                "joint velocity", _velocity_sentence(names, j, k, own, its_error)
                + (UNUSED if is_clean else ""), harm=Harm.SLIGHT if is_clean else Harm.CONTRADICTS,
                mend=Mend("joint_states", len(names) + j, np.array([[np.nan]]))))
    return findings + _late_velocities(names, relations), bool(moved.all())


def _late_velocities(names: Sequence[str],
                     relations: Sequence[Relation | None]) -> list[Finding]:
    """The finding on velocities of the right scale that lag the positions."""
    late = {name: one for name, one in zip(names, relations)
            if one is not None and one.is_late and not one.is_scaled}
    if not late:
        return []
    weight = np.array([one.lag_error ** -2.0 for one in late.values()])
    lags = np.array([one.lag for one in late.values()])
    mean = float(weight @ lags / weight.sum())
    # (their spread, if the lags differ by more than their errors)
    error = max(float(weight.sum() ** -0.5), float(lags.std()))
    return [Finding("joint velocity", (
        f"the velocity of {', '.join(late)} comes {mean:.2f} +- {error:.2g} s later than the "
        "position; make the driver publish both for the same instant, with the same filter or "
        f"none, or leave velocities out{UNUSED}"), harm=Harm.SLIGHT)]


def _single_fits(velocity: np.ndarray, position: np.ndarray, places: np.ndarray, overlap: float
                 ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(gain (m,) of each position's change (k, m) on its own integrated velocity, standard error
    (m,) of it, places (m,) of the velocities that the positions follow).

    velocity (k, n) holds the positions' own velocities at `places` (m,); overlap: how many rows
    overlap. Only odds of a thousand assign a position to another velocity. Each fit uses a single
    velocity: if joints move alike, a fit to all of them cannot separate their velocities.
    """
    n, m = velocity.shape[1], position.shape[1]
    gain, error, cost = np.empty((3, n, m))
    for k in range(n):
        one, its_error = relation(velocity[:, [k]], position, overlap)
        left = np.mean((position - velocity[:, [k]] @ one) ** 2, axis=0)
        gain[k], error[k] = one[0], its_error[0]
        # twice the negative log likelihood
        cost[k] = len(position) / overlap * np.log(np.maximum(left, 1e-300))
    own = places, np.arange(m)
    found, of = linear_sum_assignment(cost)
    certain = cost[own].sum() - cost[found, of].sum() > certain_order(n)
    return gain[own], error[own], found[np.argsort(of)] if certain else places


def _velocity_sentence(names: Sequence[str], j: int, k: int, gain: float, error: float) -> str:
    """What is wrong with joint j, whose position follows the velocity of joint k and has this gain
    on its own velocity, with its standard error."""
    if k != j:
        return (f"the position of {names[j]} follows the velocity of {names[k]}; the driver "
                "publishes names and velocities in different orders, correct it there")
    if gain < -0.5:
        return (f"the velocity of {names[j]} has the wrong sign ({1 / gain:.3g} +- "
                f"{error / gain ** 2:.1g} times its position's derivative); change it in the "
                "driver")
    if gain < Z999 * error:      # (a unit is a positive factor)
        return (f"the velocity of {names[j]} does not follow its position, or not all of the time "
                f"(gain {gain:.2g} +- {error:.1g}); it may have the wrong sign or unit since "
                "recently, check its driver")
    factor, its_error = (1 / gain, error / gain ** 2) if abs(gain) > 1e-6 else (np.inf, np.inf)
    return (f"the velocity of {names[j]} is {factor:.3g} +- {its_error:.1g} times its position's "
            "derivative; its unit is probably degrees or encoder counts per second: publish rad/s")
