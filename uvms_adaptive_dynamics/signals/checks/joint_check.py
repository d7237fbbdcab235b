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

"""Checks within joint messages: velocity, position limits, order and sign of the efforts."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from ...model.normal import Z999
from ..decode.turns import within_turn
from ..filters.joints import MOST_EFFORT
from ..gates.joint_consistency import JUMP_SPEED
from ..gates.velocity_fit import Relation, velocity_relation
from .effort_band import dead_band_findings
from .finding import SIGN, CheckResult, Finding, Harm, outside
from .fits import integral, lag_of, regression, relation

MIN_JOINT_MOVE = 0.02        # [rad] RMS change over JOINT_WINDOW of a judged joint
JOINT_WINDOW = 0.5           # [s]
MOVING_SPEED = 0.05          # [rad/s]
MIN_MOVING_READINGS = 100    # below which a joint's effort is not judged
MANY_MOVING_READINGS = 300   # from which the judgement is final
EFFORT_WINDOW = 0.5          # [s] correlation time of the effort fit's error
MOST_SMOOTH = 0.5            # share of windows without a jump from which only those are judged
LIMIT_MARGIN = 0.2           # [rad]
# What happens to a velocity that is a clean multiple or a late copy of its position's derivative.
UNUSED = ". Until then the positions alone are used"
VELOCITY_GAIN = 0.6, 1.6     # range of a correct velocity's gain
# [s] Smallest lag of efforts worth a finding: drivers' velocities are as late, and inertia makes
# efforts lead.
MIN_EFFORT_LAG = 0.03
ODDS = 1000.0                # required odds of another order of the efforts
NEAR_ZERO = 0.05      # of the median size: an effort below it is near a zero crossing
# [s] span of the difference quotient of positions: position noise is negligible then, and the
# published velocity is not needed
SPEED_SPAN = 0.2

# (times (k,), positions, speeds, efforts (k, n)) -> findings
ScaleCheck = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], list[Finding]]


def check_joints(log: np.ndarray, names: Sequence[str], low: np.ndarray, high: np.ndarray,
                 effort_limits: np.ndarray, effort_scale: Sequence[float] = (),
                 check_scale: ScaleCheck = lambda t, mu, speed, effort: [],
                 wrapped: Sequence[bool] = (), masked: Sequence[str] = ()) -> CheckResult:
    """Check positions against limits (n,), velocities against positions, efforts against speed and
    load.

    `log` (k, 1 + 3 n): time, positions, velocities and efforts of the n joints `names`, in SI;
    the efforts have been multiplied by `effort_scale` (n,) (empty: 1). check_scale returns findings
    on the efforts' unit. wrapped (n,): joints that may be whole turns beyond their limits (empty:
    none). masked: joints whose effort is not used, so it is not judged.
    """
    n = len(names)
    t, mu = log[:, 0], log[:, 1:1 + n]
    speed, effort = log[:, 1 + n:1 + 2 * n], log[:, 1 + 2 * n:1 + 3 * n]
    relations = [velocity_relation(t, mu[:, j], speed[:, j]) if np.isfinite(speed[:, j]).all()
                 else None for j in range(n)]
    findings, complete = _check_positions(names, mu, low, high, relations, wrapped), True
    if np.isfinite(speed).all() and not findings:
        findings, complete = _check_velocities(names, t, mu, speed, relations)
    if not all(one.harm is Harm.SLIGHT for one in findings):
        return CheckResult(findings, complete)
    by_position = _speed_of(t, mu)
    by_load = check_scale(t, mu, by_position, effort)
    if any(one.values for one in by_load):
        return CheckResult(findings + by_load, complete)
    used = [j for j, name in enumerate(names) if name not in masked]
    findings = findings + _impossible_efforts(names, effort, effort_limits, effort_scale, used)
    findings = findings + dead_band_findings([names[j] for j in used], effort[:, used])
    known = (np.abs(effort) <= MOST_EFFORT * effort_limits)[:, used].all(axis=1)
    known &= np.isfinite(by_position).all(axis=1)
    if known.sum() > MIN_MOVING_READINGS:
        wrong, efforts_complete = _check_efforts([names[j] for j in used], t[known], mu[known],
                                                 by_position[known][:, used],
                                                 effort[known][:, used])
        # (friction tells the sign of an effort from that of its load)
        findings = findings + (_with_scales(wrong, names, effort_scale) or by_load)
        complete = complete and efforts_complete
    return CheckResult(findings, complete)


def _speed_of(t: np.ndarray, mu: np.ndarray) -> np.ndarray:
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


def _check_positions(names: Sequence[str], mu: np.ndarray, low: np.ndarray, high: np.ndarray,
                     relations: Sequence[Relation | None],
                     wrapped: Sequence[bool]) -> list[Finding]:
    """Findings on joints that are mostly beyond their limits, or whose positions are in degrees."""
    findings = []
    for j, (name, by_velocity) in enumerate(zip(names, relations)):
        if (by_velocity is not None and by_velocity.is_scaled
                and by_velocity.is_of_degrees):
            factor = 1 / by_velocity.factor
            findings.append(Finding("joint position", (
                f"the position of {name} changes {factor:.3g} +- "
                f"{factor ** 2 * by_velocity.error:.1g} times as fast as its velocity says, so its "
                "unit is probably degrees; make its driver publish rad. Until then all rows of the "
                "arm are masked, since every joint's load depends on this position")))
            continue
        place = mu[:, j]
        if wrapped and wrapped[j]:
            place = np.array([within_turn(one, low[j], high[j]) for one in place])
        beyond = (place < low[j] - LIMIT_MARGIN) | (place > high[j] + LIMIT_MARGIN)
        if np.mean(beyond) <= 0.5:
            continue
        middle = np.median(mu[:, j])
        in_degrees = (np.ptp(mu[:, j]) > 2 * (high[j] - low[j])
                      or np.median(np.abs(mu[:, j])) > 8)
        advice = ("its unit is probably degrees: set joint_states.unit to 'deg'" if in_degrees else
                  "check its sign, joint_states.position_offset, the order of robot.joints and the "
                  "URDF's limits")
        findings.append(Finding("joint position", (
            f"{name} is outside its limits most of the time (median {middle:.3g} rad, limits "
            f"{low[j]:.3g} to {high[j]:.3g} rad); {advice}"),
            {"joint_states.unit": "deg"} if in_degrees else {}))
    return findings


def _check_velocities(names: Sequence[str], t: np.ndarray, mu: np.ndarray, speed: np.ndarray,
                      relations: Sequence[Relation | None]) -> tuple[list[Finding], bool]:
    """(findings on velocities that are not their position's derivative, whether every joint moved).

    A velocity with a clean relation to its position costs no row: the front end leaves it out."""
    path = integral(t, speed)
    lag = max(1, round(JOINT_WINDOW / np.median(np.diff(t))))
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
        return [Finding("joint velocity", _order_sentence("velocities", names, order))], True
    for j, k, own, its_error in zip(judged.tolist(), follows.tolist(), gain, error):
        one = relations[j]
        if one is not None and not one.is_scaled:
            continue        # (a lag looks like a factor)
        if k != j or outside(own, own, its_error, VELOCITY_GAIN):
            is_clean = one is not None
            findings.append(Finding(
                "joint velocity", _velocity_sentence(names, j, k, own, its_error)
                + (UNUSED if is_clean else ""), harm=Harm.SLIGHT if is_clean else Harm.CONTRADICTS))
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
    certain = cost[own].sum() - cost[found, of].sum() > 2 * math.log(ODDS * math.factorial(n))
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


def _order_sentence(what: str, names: Sequence[str], order: Sequence[int] | np.ndarray) -> str:
    """What to report where the value in place j is that of joint order[j]."""
    here, come = (", ".join(names[k] for k in places) for places in (range(len(names)), order))
    return (f"the {what} of {here} are those of {come}; publish them in the order of the message's "
            f"names, which for these {what} is [{come}]")


def _with_scales(findings: list[Finding], names: Sequence[str],
                 effort_scale: Sequence[float]) -> list[Finding]:
    """The findings, each with the scales that correct all wrong signs at once."""
    wrong = {name for name in names for finding in findings
             if finding.sentence.startswith(_goes_with_speed(name))}
    if not wrong:
        return findings
    scales = tuple((-scale if name in wrong else scale)
                   for name, scale in zip(names, effort_scale or (1.0,) * len(names)))
    return [finding._replace(values={"joint_states.effort_scale": scales}) for finding in findings]


def _goes_with_speed(name: str) -> str:
    return f"the effort of {name} changes with its speed by "


def _impossible_efforts(names: Sequence[str], effort: np.ndarray, limits: np.ndarray,
                        scale: Sequence[float], used: Sequence[int]) -> list[Finding]:
    """A finding on those of the used joints whose efforts (k, n) mostly exceed what any actuator
    with their limit gives. The proposed scale is a power of ten, as units are: the largest that
    brings all of them within their limits."""
    size = np.array([np.median(known) if (known := values[np.isfinite(values)]).size
                     > MIN_MOVING_READINGS else 0.0 for values in np.abs(effort).T])
    wrong = [j for j in used if size[j] > MOST_EFFORT * limits[j]]
    if not wrong:
        return []
    factor = 10.0 ** math.floor(math.log10(min(limits[j] / size[j] for j in wrong)))
    scales = [f"{old * (factor if j in wrong else 1.0):.3g}"
              for j, old in enumerate(scale or (1.0,) * len(names))]
    typical, most = (", ".join(f"{values[j]:.3g}" for j in wrong) for values in (size, limits))
    return [Finding("joint_states.effort_scale", (
        f"the effort of {', '.join(names[j] for j in wrong)} is typically {typical} N m, but the "
        f"limit is {most} N m; the unit is probably mN m or mA: set joint_states.effort_scale to "
        f"about [{', '.join(scales)}] (for a current: torque constant times gear ratio)"),
        harm=Harm.FOLLOWED, joint=names[wrong[0]] if len(wrong) == 1 else "")]


def _check_efforts(names: Sequence[str], t: np.ndarray, mu: np.ndarray, speed: np.ndarray,
                   effort: np.ndarray) -> tuple[list[Finding], bool]:
    """(findings on order, sign and lag of the efforts (k, n) of these joints, whether every one
    moved enough); mu: positions of all joints.

    Friction opposes motion: besides gravity's load at each posture, the coefficient of effort on
    the joint's own speed must be positive.
    """
    n = len(names)
    overlap = max(1.0, EFFORT_WINDOW / float(np.median(np.diff(t))))
    posture = np.hstack([np.ones((len(t), 1)), np.cos(mu), np.sin(mu)])
    order = _effort_order(speed, effort, posture, overlap)
    if order is not None:
        return [Finding("joint effort", _order_sentence("efforts", names, order))], True
    findings, complete = [], True
    for j, name in enumerate(names):
        moving = np.abs(speed[:, j]) > MOVING_SPEED
        complete = complete and bool(moving.sum() >= MANY_MOVING_READINGS)
        if moving.sum() < MIN_MOVING_READINGS:
            continue
        if _has_no_sign(effort[moving, j], n):
            findings.append(Finding("joint effort", (
                f"the effort of {name} often comes close to zero but never changes sign, so it is "
                "published without its sign (a current's magnitude?); publish it with its sign"),
                joint=name))
            continue
        x = np.column_stack([speed[moving, j], posture[moving]])
        b, covariance, _ = regression(x, effort[moving, j], overlap)
        if b[0] + Z999 * np.sqrt(covariance[0, 0]) < 0:
            findings.append(Finding("joint_states.effort_scale", (
                f"{_goes_with_speed(name)}{b[0]:.2g} +- "
                f"{np.sqrt(covariance[0, 0]):.1g} N m s/rad, which friction forbids: {SIGN}, or "
                "the joint's position and velocity do; change the sign of its "
                "joint_states.effort_scale, or reverse position and velocity in the driver"),
                harm=Harm.FOLLOWED, joint=name))
    return findings or _late_efforts(t, speed, effort, posture, overlap), complete


def _has_no_sign(effort: np.ndarray, joints: int) -> bool:
    """Whether efforts (k,) are magnitudes: near zero, where noise and friction make both signs
    equally likely, all have the same sign. Odds of a thousand against chance for all joints."""
    size = np.abs(effort)
    near = effort[size < NEAR_ZERO * np.median(size)]
    one_sign = bool(effort.min() >= 0.0 or effort.max() <= 0.0)
    return one_sign and near.size * math.log(2.0) > math.log(ODDS * joints)


def _late_efforts(t: np.ndarray, speed: np.ndarray, effort: np.ndarray, posture: np.ndarray,
                  overlap: float) -> list[Finding]:
    """The finding on efforts that lag the joints' motion, judged by friction and posture."""
    moving = np.abs(speed) > MOVING_SPEED
    used = np.flatnonzero(moving.sum(axis=0) >= MANY_MOVING_READINGS)
    if not used.size:
        return []
    n, common = speed.shape[1], range(2 * speed.shape[1], 2 * speed.shape[1] + posture.shape[1])
    features = np.hstack([speed, np.sign(speed) * moving, posture])
    lag, error = lag_of(t, features, effort[:, used], overlap,
                        [[j, n + j, *common] for j in used.tolist()])
    if lag - Z999 * error < MIN_EFFORT_LAG:
        return []
    return [Finding("joint effort", (
        f"the efforts are {lag:.2f} +- {error:.2f} s late compared with the joints' motion; make "
        "the driver publish positions and efforts for the same instant, with the same filter or "
        "none"),
        harm=Harm.SLIGHT if lag - Z999 * error < 2 * MIN_EFFORT_LAG else Harm.CONTRADICTS)]


def _effort_order(speed: np.ndarray, effort: np.ndarray, posture: np.ndarray,
                  overlap: float) -> list[int] | None:
    """The joint (n,) to which the effort in each place belongs, if another order than the published
    one has odds of a thousand; None otherwise, and while not every joint moves.

    Friction makes each effort follow the speed of its own joint. The likelihood of an order is that
    of each effort given posture and the friction of the joint it is assigned to.
    """
    n, moving = speed.shape[1], np.abs(speed) > MOVING_SPEED
    if n < 2 or moving.sum(axis=0).min() < MANY_MOVING_READINGS:
        return None
    unexplained, drives = np.empty((n, n)), np.empty((n, n), bool)
    for k in range(n):
        friction = np.column_stack([speed[:, k], np.sign(speed[:, k]) * moving[:, k]])
        x = np.column_stack([friction, posture])
        b = np.linalg.lstsq(x, effort, rcond=None)[0]
        unexplained[:, k] = np.mean((effort - x @ b) ** 2, axis=0)
        drives[:, k] = np.mean(speed[:, [k]] * (friction @ b[:2]), axis=0) > 0.0
    # twice the negative log likelihood; friction dissipates: what supplies power is no friction
    cost = len(speed) / overlap * np.log(np.maximum(unexplained, 1e-300))
    places, order = linear_sum_assignment(cost)
    if drives[places, order].all() and (
            np.trace(cost) - cost[places, order].sum() > 2 * math.log(ODDS * math.factorial(n))):
        return order.tolist()
    return None
