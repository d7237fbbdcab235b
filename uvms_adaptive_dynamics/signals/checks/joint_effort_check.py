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

"""Checks of joints' efforts against speed and posture: unit, order, sign and lag."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ...model.normal import Z999
from ...model.robot import MOST_EFFORT
from ..gates.joint_consistency import JUMP_SPEED
from .effort_order import order_changed_at
from .effort_sign import magnitudes_since, sign_changed_at
from .finding import SIGN, CheckResult, Finding, Harm, Mend
from .fits import lag_of, overlap_of, regression
from .joint_order import ORDER, certain_order, order_sentence, reordered

MOVING_SPEED = 0.05          # [rad/s]
MIN_MOVING_READINGS = 100    # below which a joint's effort is not judged
MANY_MOVING_READINGS = 300   # from which the judgement is final
EFFORT_WINDOW = 0.5          # [s] correlation time of the effort fit's error
# [s] Smallest lag of efforts worth a finding: drivers' velocities are as late, and inertia makes
# efforts lead.
MIN_EFFORT_LAG = 0.03
# [s] span of the difference quotient of positions: position noise is negligible then, and the
# published velocity is not needed
SPEED_SPAN = 0.2
MAGNITUDES = "as magnitudes"
UNCLEAR = ("the efforts no longer go with the joints' motion as before, and it is not clear yet "
           "whether one of them has another unit or sign, the arm another load, or all another "
           "order; check the driver and joint_states.effort_scale")
OF_EFFORTS, SCALES = "joint effort", "joint_states.effort_scale"


def speed_of(t: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """(k, n) speeds at t (k,) from the positions (k, n) on either side; NaN at the ends and across
    gaps and jumps. Published velocities are not used: drivers filter, round or zero them, and with
    noisy ones lagged features explain an effort as well."""
    before, after = (np.column_stack([np.interp(t + shift, t, column) for column in mu.T])
                     for shift in (-0.5 * SPEED_SPAN, 0.5 * SPEED_SPAN))
    speed = (after - before) / SPEED_SPAN
    step = np.diff(t, prepend=t[0])
    broken = (step > SPEED_SPAN) | (
        np.abs(np.diff(mu, axis=0, prepend=mu[:1])) > JUMP_SPEED * step[:, None]).any(axis=1)
    near = np.zeros(len(t), bool)
    for k in np.flatnonzero(broken):
        near |= (t > t[k - 1] - SPEED_SPAN) & (t < t[k] + SPEED_SPAN)
    inside = (t - t[0] >= 0.5 * SPEED_SPAN) & (t[-1] - t >= 0.5 * SPEED_SPAN)
    speed[near | ~inside] = np.nan
    return speed


def with_scales(findings: list[Finding], names: Sequence[str],
                 effort_scale: Sequence[float]) -> list[Finding]:
    """The findings, each with the scales that correct all wrong signs at once."""
    wrong = _of_wrong_sign(findings)
    if not wrong:
        return findings
    scales = tuple((-scale if name in wrong else scale)
                   for name, scale in zip(names, effort_scale or (1.0,) * len(names)))
    return [finding._replace(values={"joint_states.effort_scale": scales}) for finding in findings]


def _of_wrong_sign(findings: list[Finding]) -> set[str]:
    """The joints whose efforts have the wrong sign."""
    return {finding.joint for finding in findings
            if finding.is_of_sign and finding.setting == SCALES}


def unit_factors(effort: np.ndarray, limits: np.ndarray, used: Sequence[int]) -> np.ndarray:
    """(n,) factors for efforts (k, n) of the used joints that mostly exceed what any actuator with
    their limit gives: a power of ten, as units are, the largest that brings all of them within
    their limits. One for the others."""
    size = _typical(effort)
    wrong = [j for j in used if size[j] > MOST_EFFORT * limits[j]]
    factors = np.ones(len(limits))
    if wrong:
        most = min(limits[j] / size[j] for j in wrong)
        factors[wrong] = 10.0 ** math.floor(math.log10(most))
    return factors


def _typical(effort: np.ndarray) -> np.ndarray:
    """(n,) median magnitudes of efforts (k, n), zero for those that are hardly ever known."""
    return np.array([np.median(known) if (known := values[np.isfinite(values)]).size
                     > MIN_MOVING_READINGS else 0.0 for values in np.abs(effort).T])


def with_unit(findings: list[Finding], names: Sequence[str], effort: np.ndarray,
              limits: np.ndarray, scale: Sequence[float], factors: np.ndarray) -> list[Finding]:
    """The findings on efforts (k, n) times `factors`, as in `unit_factors`, with the one on their
    unit, which says the wrong signs as well."""
    reversed_ = _of_wrong_sign(findings)
    scales = tuple(float(f"{(-old if name in reversed_ else old) * factor:.3g}")
                   for name, old, factor in zip(names, scale or (1.0,) * len(names), factors))
    wrong = np.flatnonzero(factors != 1.0).tolist()
    typical, most = (", ".join(f"{values[j]:.3g}" for j in wrong)
                     for values in (_typical(effort), limits))
    signs = "".join(f"; that of {name} has the wrong sign" for name in sorted(reversed_))
    return [Finding("joint_states.effort_scale", (
        f"the effort of {', '.join(names[j] for j in wrong)} is typically {typical}, taken for "
        f"N m, but the limit is {most} N m; the unit is probably mN m or mA: set "
        f"joint_states.effort_scale to about [{', '.join(f'{one:.3g}' for one in scales)}] (for a "
        "current: torque constant times gear ratio; until that is known, "
        f"joint_states.effort_masked leaves these efforts out){signs}"),
        harm=Harm.FOLLOWED, joint=names[wrong[0]] if len(wrong) == 1 else "",
        guess={"joint_states.effort_scale": scales}),
        *(finding for finding in findings if finding.joint not in reversed_)]


def check_efforts(names: Sequence[str], t: np.ndarray, mu: np.ndarray, speed: np.ndarray,
                   effort: np.ndarray, signs: np.ndarray | float = 1.0,
                   load: np.ndarray | None = None) -> tuple[list[Finding], bool]:
    """(findings on order, sign and lag of the efforts (k, n) of these joints, whether every one
    moved enough); mu: positions of all joints; signs (n,): of the factors by which the published
    efforts have been multiplied; load (k, n): gravity's load by the URDF's masses, if known.

    Friction opposes motion: besides gravity's load at each posture, the coefficient of effort on
    the joint's own speed must be positive.
    """
    overlap = overlap_of(t, EFFORT_WINDOW)
    posture = np.hstack([np.ones((len(t), 1)), np.cos(mu), np.sin(mu)])
    owners = _owners(speed, effort, posture, overlap)
    unsigned = _without_sign(names, t, speed, effort * signs, posture, owners)
    if unsigned:
        return unsigned, True
    order, gain = owners.order()
    if gain > certain_order(len(names)):
        # (no mend: with rows from before the fault, friction and load can resemble another order)
        return [Finding(OF_EFFORTS, order_sentence("efforts", names, order))], True
    findings, complete = [], True
    for j, name in enumerate(names):
        moving = np.abs(speed[:, j]) > MOVING_SPEED
        complete = complete and bool(moving.sum() >= MANY_MOVING_READINGS)
        if moving.sum() < MIN_MOVING_READINGS:
            continue
        x = np.column_stack([speed[moving, j], posture[moving]]
                            + ([] if load is None else [load[moving, j]]))
        b, covariance, _ = regression(x, effort[moving, j], overlap)
        if (b[0] + Z999 * np.sqrt(covariance[0, 0]) < 0
                and owners.gain_elsewhere(j) < -certain_order(len(names))):
            findings.append(Finding(SCALES, (
                f"the effort of {name} changes with its speed by {b[0]:.2g} +- "
                f"{np.sqrt(covariance[0, 0]):.1g} N m s/rad, which friction forbids: {SIGN}, or "
                "the joint's position and velocity do; change the sign of its "
                "joint_states.effort_scale, or reverse position and velocity in the driver"),
                harm=Harm.FOLLOWED, joint=name))
    return findings or _late_efforts(t, speed, effort, posture, load, overlap), complete


def with_changed_wires(result: CheckResult, names: Sequence[str], log: np.ndarray,
                       limits: np.ndarray, step: float, masked: Sequence[str],
                       scale: Sequence[float], was_right: bool = True) -> CheckResult:
    """The joints' result, with the efforts that come in another order or with another sign since
    some time of the log, to a `step` [s], and what puts them right. log (k, 1 + 3 n), limits (n,)
    of the efforts, masked, scale (n,): as in `check_joints`. was_right: the log has rows from
    before, by which no other order than one that is found with its onset has begun."""
    if any(finding.since is not None or finding.setting not in (OF_EFFORTS, SCALES)
           for finding in result.findings):
        return result
    n, t, mu, effort = len(names), log[:, 0], log[:, 1:1 + len(names)], log[:, 1 + 2 * len(names):]
    effort = np.where(np.abs(effort) <= MOST_EFFORT * limits, effort, np.nan)
    cuts = np.arange(t[0], t[-1], step).tolist()
    speed = speed_of(t, mu)
    posture = np.hstack([np.ones((len(t), 1)), np.cos(mu), np.sin(mu)])
    rows = (np.abs(speed) > MOVING_SPEED) & np.isfinite(speed) & np.isfinite(effort)
    if not masked and rows.sum(axis=0).min() >= MANY_MOVING_READINGS:
        order = _changed_order(names, t, posture, speed, effort, step, cuts, scale)
        if order is not None:
            return result._replace(findings=[order])
        if was_right:
            result = result._replace(findings=[
                finding._replace(sentence=UNCLEAR) if ORDER in finding.sentence else finding
                for finding in result.findings])
    found = []
    for j, name in enumerate(names):
        rows = ((np.abs(speed[:, j]) > MOVING_SPEED) & np.isfinite(effort[:, j])
                & np.isfinite(speed).all(axis=1))
        if name in masked or rows.sum() < MANY_MOVING_READINGS:
            continue
        friction = np.column_stack([speed[:, j], np.sign(speed[:, j])])
        cut = sign_changed_at(t[rows], friction[rows], posture[rows], effort[rows, j],
                              EFFORT_WINDOW, cuts)
        if cut is not None:
            mend = Mend("joint_states", 2 * n + j, np.array([[-1.0]]), out_until=cut + step)
            found.append(Finding(SCALES, (
                f"the effort of {name} is the opposite of what load and friction made it before: "
                f"{SIGN}, or the joint's position and velocity do; change the sign of its "
                "joint_states.effort_scale, or reverse position and velocity in the driver"),
                joint=name, mend=mend, since=cut - step))
    if not found:
        return result
    named = {"", *(finding.joint for finding in found)}     # (one sign may look like another order)
    others = [finding for finding in result.findings if finding.joint not in named]
    return result._replace(findings=with_scales([*others, *found], names, scale))


def _changed_order(names: Sequence[str], t: np.ndarray, posture: np.ndarray, speed: np.ndarray,
                   effort: np.ndarray, step: float, cuts: Sequence[float],
                   scale: Sequence[float]) -> Finding | None:
    """The finding on efforts (k, n) that come in another order since some time of the log."""
    rows = (np.isfinite(speed).all(axis=1) & np.isfinite(effort).all(axis=1)
            & (np.abs(speed) > MOVING_SPEED).any(axis=1))
    scales = np.array(scale or np.ones(len(names)))
    friction = [np.column_stack([one, np.sign(one) * (np.abs(one) > MOVING_SPEED)])
                for one in speed[rows].T]
    found = order_changed_at(t[rows], friction, posture[rows], effort[rows], scales,
                             EFFORT_WINDOW, cuts)
    if found is None:
        return None
    mend = reordered(2 * len(names), found.order)
    mend = mend._replace(matrix=scales[:, None] * mend.matrix / scales,
                         out_until=found.cut + step)
    return Finding(OF_EFFORTS, order_sentence("efforts", names, found.order), mend=mend,
                   since=found.cut - step)


def _without_sign(names: Sequence[str], t: np.ndarray, speed: np.ndarray, effort: np.ndarray,
                  posture: np.ndarray, owners: _Owners) -> list[Finding]:
    """The finding on efforts that are published without their sign: of all joints, or of some.
    Another order must not explain them as well."""
    moving = np.abs(speed) > MOVING_SPEED
    features = [np.column_stack([one, np.sign(one), posture]) for one in speed.T]

    def since(joints: list[int], rival: float) -> float | None:
        return magnitudes_since(t, [features[j] for j in joints], moving[:, joints],
                                effort[:, joints], EFFORT_WINDOW, max(rival, 0.0))
    everyone = list(range(len(names)))
    if (begin := since(everyone, owners.order()[1])) is not None:
        return [_unsigned_finding(", ".join(names), begin)]
    found = [(name, begin) for j, name in enumerate(names)
             if (begin := since([j], owners.gain_elsewhere(j))) is not None]
    return [_unsigned_finding(name, begin, name) for name, begin in found]


def still_unsigned(standing: CheckResult, names: Sequence[str], effort: np.ndarray) -> bool:
    """Whether efforts are found without their sign, and those (k, n) of a log, times the signs of
    their scales, do not show that it is back: none is negative."""
    found = [finding.joint for finding in standing.findings if finding.setting == OF_EFFORTS
             and MAGNITUDES in finding.sentence]
    judged = [j for j, name in enumerate(names) if "" in found or name in found]
    return bool(found) and not (effort[:, judged] < 0.0).any()


def _unsigned_finding(which: str, begin: float, joint: str = "") -> Finding:
    """The finding on these joints; begin [s]: of the last negative effort."""
    return Finding(OF_EFFORTS, (
        f"the efforts of {which} fit load and friction only {MAGNITUDES}, so each is published "
        "without its sign (a current's magnitude?); publish it with its sign"),
        joint=joint, since=begin if begin > -math.inf else None)


def _late_efforts(t: np.ndarray, speed: np.ndarray, effort: np.ndarray, posture: np.ndarray,
                  load: np.ndarray | None, overlap: float) -> list[Finding]:
    """The finding on efforts that lag the joints' motion, judged by friction, posture and load."""
    moving = np.abs(speed) > MOVING_SPEED
    used = np.flatnonzero(moving.sum(axis=0) >= MANY_MOVING_READINGS)
    if not used.size:
        return []
    n = speed.shape[1]
    loads = np.zeros_like(speed) if load is None else load
    features = np.hstack([speed, np.sign(speed) * moving, loads, posture])
    lag, error = lag_of(t, features, effort[:, used], overlap,
                        [[j, n + j, *([] if load is None else [2 * n + j]),
                          *range(3 * n, features.shape[1])] for j in used.tolist()])
    if lag - Z999 * error < MIN_EFFORT_LAG:
        return []
    return [Finding(OF_EFFORTS, (
        f"the efforts are {lag:.2f} +- {error:.2f} s late compared with the joints' motion; make "
        "the driver publish positions and efforts for the same instant, with the same filter or "
        "none"),
        harm=Harm.SLIGHT if lag - Z999 * error < 2 * MIN_EFFORT_LAG else Harm.CONTRADICTS)]


class _Owners(NamedTuple):
    """Whose friction each effort follows: the likelihood of an order of the efforts is that of each
    given posture and the friction of the joint it is assigned to.

    cost (n, n): -2 log likelihood of the effort in place j as that of joint k; drives (n, n): joint
    k would be braked by it, as friction does; moved (n,): enough to judge by."""

    cost: np.ndarray
    drives: np.ndarray
    moved: np.ndarray

    def order(self) -> tuple[list[int], float]:
        """The joint (n,) to which the effort in each place most likely belongs, and by how much
        -2 log likelihood is less than that of the published order; 0 while not every joint moves.
        """
        places, order = linear_sum_assignment(self.cost)
        gain = np.trace(self.cost) - self.cost[places, order].sum()
        certain = self.moved.all() and self.drives[places, order].all()
        return order.tolist(), float(gain) if certain else 0.0

    def gain_elsewhere(self, j: int) -> float:
        """By how much -2 log likelihood of the likeliest order in which the effort in place j is
        not that of joint j is less than that of the published order."""
        possible = self.drives | ~self.moved | np.eye(len(self.moved), dtype=bool)
        possible[j, j] = False
        avoided = 1.0 + 2.0 * np.abs(self.cost).sum()
        places, order = linear_sum_assignment(np.where(possible, self.cost, avoided))
        if not possible[places, order].all():
            return -math.inf
        return float(np.trace(self.cost) - self.cost[places, order].sum())


def _owners(speed: np.ndarray, effort: np.ndarray, posture: np.ndarray, overlap: float) -> _Owners:
    n, moving = speed.shape[1], np.abs(speed) > MOVING_SPEED
    unexplained, drives = np.empty((n, n)), np.empty((n, n), bool)
    for k in range(n):
        friction = np.column_stack([speed[:, k], np.sign(speed[:, k]) * moving[:, k]])
        x = np.column_stack([friction, posture])
        b = np.linalg.lstsq(x, effort, rcond=None)[0]
        unexplained[:, k] = np.mean((effort - x @ b) ** 2, axis=0)
        drives[:, k] = np.mean(speed[:, [k]] * (friction @ b[:2]), axis=0) > 0.0
    cost = len(speed) / overlap * np.log(np.maximum(unexplained, 1e-300))
    return _Owners(cost, drives, moving.sum(axis=0) >= MANY_MOVING_READINGS)
