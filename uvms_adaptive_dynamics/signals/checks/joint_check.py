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

"""Checks within joint messages: positions against limits, then velocities, then efforts."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...model.robot import MOST_EFFORT
from ..decode.turns import within_turn
from ..gates.velocity_fit import READINGS_MEMORY, Relation, velocity_relation
from .effort_band import dead_band_findings
from .effort_scale import Loads, load_rows
from .finding import OF_POSITIONS, UNDECIDED, CheckResult, Finding, Harm, mismatch
from .joint_effort_check import (
    MIN_MOVING_READINGS,
    check_efforts,
    speed_of,
    still_unsigned,
    unit_factors,
    with_scales,
    with_unit,
)
from .joint_velocity_check import check_velocities

LIMIT_MARGIN = 0.2           # [rad]
# Motion in which positions, taken for degrees, show that they are radians, and joints that must
# show it: by chance, one is within a 57th of its range once in 57 times.
RADIANS_RANGE, RADIANS_JOINTS = 0.5, 2      # [rad]

# (times (k,), positions, speeds, efforts (k, n)) -> findings
ScaleCheck = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], list[Finding]]


def check_joints(log: np.ndarray, names: Sequence[str], low: np.ndarray, high: np.ndarray,
                 effort_limits: np.ndarray, effort_scale: Sequence[float] = (),
                 check_scale: ScaleCheck = lambda t, mu, speed, effort: [],
                 loads: Loads | None = None,
                 wrapped: Sequence[bool] = (), masked: Sequence[str] = (),
                 standing: CheckResult = UNDECIDED, unit: str = "rad",
                 prismatic: Sequence[bool] = ()) -> CheckResult:
    """Check positions against limits (n,), velocities against positions, efforts against speed and
    load.

    `log` (k, 1 + 3 n): time, positions, velocities and efforts of the n joints `names`, in SI;
    the efforts have been multiplied by `effort_scale` (n,) (empty: 1). check_scale returns findings
    on the efforts' unit. loads: gravity's, by the URDF's masses, if known. wrapped (n,): joints
    that may be whole turns beyond their limits (empty: none). masked: joints whose effort is not
    used, so it is not judged. standing: the result that stands. unit: that of positions in the
    topic. prismatic (n,): which joints are (empty: none).
    """
    n = len(names)
    slides = np.array(prismatic or (False,) * n, bool)
    t, mu = log[:, 0], log[:, 1:1 + n]
    speed, effort = log[:, 1 + n:1 + 2 * n], log[:, 1 + 2 * n:1 + 3 * n]
    relations = [_relation(t, mu[:, j], speed[:, j]) for j in range(n)]
    if unit == "deg" and _are_radians(np.where(slides, mu, np.degrees(mu)), low, high):
        return mismatch(OF_POSITIONS, (
            "taken for degrees, the positions of all joints stay within "
            f"{np.degrees(np.abs(mu).max()):.2g} degrees of zero; as radians they are within their "
            "limits: set joint_states.unit to 'rad'"), {"joint_states.unit": "rad"})
    findings = _check_positions(names, mu, low, high, relations, wrapped, slides)
    complete = True
    if np.isfinite(speed).all() and not findings:
        findings, complete = check_velocities(names, t, mu, speed, relations)
    if not all(one.harm is Harm.SLIGHT for one in findings):
        return CheckResult(findings, complete)
    used = [j for j, name in enumerate(names) if name not in masked]
    if not used:
        return CheckResult(findings, complete)
    signs = np.sign(effort_scale or np.ones(n))[used]
    if still_unsigned(standing, [names[j] for j in used], effort[:, used] * signs):
        return standing
    by_position = speed_of(t, mu)
    by_load = check_scale(t, mu, by_position, effort)
    if any(one.values for one in by_load):
        return CheckResult(findings + by_load, complete)
    findings = findings + dead_band_findings([names[j] for j in used], effort[:, used])
    factors = unit_factors(effort, effort_limits, used)
    # A wrong unit hides neither order nor sign, unless it was right at first.
    at_first = unit_factors(effort[:len(effort) // 4], effort_limits, used)
    in_unit = effort * factors if ((at_first != 1.0) == (factors != 1.0)).all() else effort
    known = (np.abs(in_unit) <= MOST_EFFORT * effort_limits)[:, used].all(axis=1)
    known &= np.isfinite(by_position).all(axis=1)
    wrong: list[Finding] = []
    if known.sum() > MIN_MOVING_READINGS:
        wrong, efforts_complete = check_efforts([names[j] for j in used], t[known], mu[known],
                                                by_position[known][:, used],
                                                in_unit[known][:, used], signs,
                                                _load(loads, t[known], mu[known], used))
        complete = complete and efforts_complete
    if (factors != 1.0).any():
        return CheckResult(findings + with_unit(wrong, names, effort, effort_limits, effort_scale,
                                                factors), complete)
    # (friction tells the sign of an effort from that of its load)
    return CheckResult(findings + (with_scales(wrong, names, effort_scale) or by_load), complete)


def _load(loads: Loads | None, t: np.ndarray, mu: np.ndarray,
          used: Sequence[int]) -> np.ndarray | None:
    """(k, m) loads of the used joints, interpolated: it takes a while to compute them."""
    if loads is None:
        return None
    rows = load_rows(t)
    found = loads(t[rows], mu[rows])[:, used]
    return np.column_stack([np.interp(t, t[rows], column) for column in found.T])


def _relation(t: np.ndarray, mu: np.ndarray, speed: np.ndarray) -> Relation | None:
    """The clean relation of a joint's velocities (k,) to its positions (k,), None without one.

    Of the latest readings alone if those show a wrong one, by which the front end leaves velocities
    out: rows from before the fault would make it look like another, or like none."""
    if not np.isfinite(speed).all():
        return None
    found = velocity_relation(t, mu, speed)
    if found is None:
        newest = t > t[-1] - READINGS_MEMORY
        latest = velocity_relation(t[newest], mu[newest], speed[newest])
        found = latest if latest is not None and (latest.is_scaled or latest.is_late) else None
    return found


def _are_radians(raw: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Whether numbers (k, n), taken for degrees, are positions in rad."""
    inside = (raw > low - LIMIT_MARGIN) & (raw < high + LIMIT_MARGIN)
    return bool(inside.all() and (np.ptp(raw, axis=0) > RADIANS_RANGE).sum() >= RADIANS_JOINTS)


def _check_positions(names: Sequence[str], mu: np.ndarray, low: np.ndarray, high: np.ndarray,
                     relations: Sequence[Relation | None],
                     wrapped: Sequence[bool], slides: np.ndarray) -> list[Finding]:
    """Findings on joints that are mostly beyond their limits, or whose positions are in degrees."""
    findings = []
    for j, (name, by_velocity) in enumerate(zip(names, relations)):
        if (not slides[j] and by_velocity is not None and by_velocity.is_scaled
                and by_velocity.is_of_degrees):
            factor = 1 / by_velocity.factor
            findings.append(Finding(OF_POSITIONS, (
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
        far = (np.ptp(mu[:, j]) > 2 * (high[j] - low[j]) or np.median(np.abs(mu[:, j])) > 8)
        in_degrees, unit = far and not slides[j], "m" if slides[j] else "rad"
        advice = ("its unit is probably degrees: set joint_states.unit to 'deg'" if in_degrees else
                  "its unit is probably mm; make its driver publish m" if far else
                  "check its sign, joint_states.position_offset, the order of robot.joints and the "
                  "URDF's limits")
        findings.append(Finding(OF_POSITIONS, (
            f"{name} is outside its limits most of the time (median {middle:.3g} {unit}, limits "
            f"{low[j]:.3g} to {high[j]:.3g} {unit}); {advice}"),
            {"joint_states.unit": "deg"} if in_degrees else {}))
    return findings
