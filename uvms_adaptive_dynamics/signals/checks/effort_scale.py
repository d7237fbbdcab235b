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
"""Check of the efforts' unit against the load that gravity puts on the joints.

The URDF's masses determine this load and how it changes with posture. Efforts that follow it but
are a hundred times smaller are not in N m: raw motor current, per cent of rated torque. Efforts of
the same size that oppose it show that gravity points the other way: no masses reverse a load. A
joint whose effort is mostly something else (a vertical axis, a floating arm, fast motion) is not
judged. What the arm carries makes efforts larger too, but is learnt: it is no finding.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...model.normal import Z999, chi_squared
from ...model.parameters import LINK_PARAMETERS
from ...model.robot import RobotModel
from ...model.rotations import from_down
from .carried_load import CARRIED, JointRows, Tip, misfit
from .finding import OF_POSITIONS, Finding, Harm
from .fits import overlap_of, regression
from .joint_effort_check import EFFORT_WINDOW, MOVING_SPEED

LOAD_PERIOD = 0.2       # [s] between rows: gravity's load changes slowly, with the posture
ROWS_PER_COEFFICIENT = 3.0  # independent rows per fitted coefficient
# Share of the effort's variance that the load must explain; less may have another cause.
MOST_OF_IT = 0.5
# Standard deviation of the logarithm of a load computed from a URDF: missing tools, cables and
# covers, and guessed masses.
MASS_ERROR = 0.33
UNIT_ODDS = 1000.0      # of another unit against a load that the arm carries, for a finding
LARGEST_EFFORT = 100.0  # times an effort's median magnitude; anything larger is garbage
MOUNT = "robot.mount_rpy"

Loads = Callable[[np.ndarray, np.ndarray], np.ndarray]


class _Ratio(NamedTuple):
    """Ratio of effort to load of joint `place`: value, and standard error of its logarithm."""

    place: int
    value: float
    error: float


def loads_of(robot: RobotModel, imu: np.ndarray | None) -> Loads | None:
    """Function that returns the loads (k, n) at times (k,) [s] and positions (k, n). imu (m, 4+):
    times and down vectors, for a robot with a vehicle. None if the tilt of the arm's base is
    unknown."""
    if robot.vehicle and imu is None:
        return None

    def loads(t: np.ndarray, mu: np.ndarray) -> np.ndarray:
        return np.array([robot.resting_load(q, R) for q, R in zip(mu, _attitudes(t, imu))])

    return loads


def tip_of(robot: RobotModel, imu: np.ndarray | None) -> Tip | None:
    """What the arm's last link may carry; arguments as for `loads_of`. None without an arm or its
    tilt."""
    arm = robot.arm
    if arm is None or (robot.vehicle and imu is None):
        return None
    still, place = np.zeros(arm.n), len(LINK_PARAMETERS) * (arm.n - 1)

    def columns(t: np.ndarray, mu: np.ndarray) -> np.ndarray:
        return np.array([arm.regressor(q, still, still, R, np.zeros(6), np.zeros(6))
                         for q, R in zip(mu, _attitudes(t, imu))])[:, :, place:place + CARRIED]

    return Tip(columns, float(arm.inertials()[:, 0].sum()), float(arm.link_lengths.max()))


def _attitudes(t: np.ndarray, imu: np.ndarray | None) -> list[np.ndarray]:
    """R_nb (3, 3) at each time; the heading does not matter."""
    if imu is None:
        return [np.eye(3)] * len(t)
    down = np.column_stack([np.interp(t, imu[:, 0], imu[:, k]) for k in (1, 2, 3)])
    return [from_down(one, 0.0) for one in down.tolist()]


def load_rows(t: np.ndarray) -> np.ndarray:
    """Indices of rows LOAD_PERIOD apart, of times t (k,) [s]."""
    return np.unique((t - t[0]) // LOAD_PERIOD, return_index=True)[1]


def check_effort_scale(t: np.ndarray, mu: np.ndarray, speed: np.ndarray, effort: np.ndarray,
                       loads: Loads, names: Sequence[str], scale: Sequence[float],
                       masked: Sequence[str], floats: bool,
                       fixed: bool = False, tip: Tip | None = None) -> list[Finding]:
    """A finding if efforts (k, n) are certainly not in N m, or if gravity certainly points the
    other way.

    mu, speed (k, n) at the times t (k,) [s], NaN where unknown; scale (n,): factor by which the
    efforts have been multiplied; masked: joints whose effort is meaningless; floats: buoyancy is
    unknown, so that efforts may be arbitrarily small; fixed: the base is mounted as the settings
    say, not as an IMU measures, and no buoyancy lifts the links; tip: what the arm may carry."""
    rows = load_rows(t)
    rows = rows[np.isfinite(mu[rows]).all(axis=1)]
    t, mu, speed, effort = t[rows], mu[rows], speed[rows], effort[rows]
    if len(t) < 2:
        return []
    load = loads(t, mu)
    overlap = overlap_of(t, EFFORT_WINDOW)
    judged = [ratio for j, name in enumerate(names) if name not in masked
              and (ratio := _ratio(j, load[:, j], speed[:, j], effort[:, j], overlap)) is not None]
    wrong = [ratio for ratio in judged if _is_far(ratio, floats)]
    if wrong:
        # (a load adds to all efforts, most to the outermost ratio)
        if tip is not None and all(one.value > 1.0 for one in wrong) and judged[-1] in wrong:
            carried = tip.columns(t, mu)
            of_joints = [_rows(ratio, load, carried, speed, effort, overlap) for ratio in judged]
            of_unit = [one.scaled(1.0 / ratio.value) if ratio in wrong else one
                       for one, ratio in zip(of_joints, judged)]
            gain = (misfit(of_joints, tip.stddev(1.0), MASS_ERROR)
                    - misfit(of_unit, tip.stddev(MASS_ERROR), MASS_ERROR))
            if gain < 2 * math.log(UNIT_ODDS):
                return []
        return [_finding(wrong, names, scale)]
    opposed = [ratio for ratio in judged if ratio.value < 0.0]
    return [_opposed_finding(opposed, len(judged), names)] if opposed and fixed else []


def _ratio(place: int, load: np.ndarray, speed: np.ndarray, effort: np.ndarray,
           overlap: float) -> _Ratio | None:
    """Ratio of effort to load, fitted together with friction and a constant; None if the load does
    not make up most of the effort."""
    moving = _judged(speed, effort)
    if not moving.any():
        return None
    x, y = np.column_stack([load, _other(speed)])[moving], effort[moving]
    if len(y) < ROWS_PER_COEFFICIENT * overlap * x.shape[1] or not np.std(y) > 0.0:
        return None
    unit = np.median(np.abs(y)) or np.std(y)    # normalized, so that the fit's ridge is negligible
    b, covariance, explained = regression(x, y / unit, overlap)
    value, error = b[0] * unit, math.sqrt(covariance[0, 0]) * unit
    share = np.var(value * x[:, 0]) / np.var(y)
    if min(share, explained) < MOST_OF_IT or abs(value) < Z999 * error:
        return None
    return _Ratio(place, float(value), float(error / abs(value)))


def gravity_rows(t: np.ndarray, speed: np.ndarray,
                 effort: np.ndarray) -> tuple[np.ndarray, np.ndarray, float] | None:
    """(rows (k,) bool of a joint by which its load is judged, their friction and constant (m, 3),
    how many of them are independent); None if they are too few."""
    used = _judged(speed, effort)
    other = _other(speed[used])
    overlap = overlap_of(t, EFFORT_WINDOW)
    if used.sum() < ROWS_PER_COEFFICIENT * overlap * (other.shape[1] + 3):
        return None
    return used, other, float(used.sum()) / overlap


def _judged(speed: np.ndarray, effort: np.ndarray) -> np.ndarray:
    """(k,) bool: rows of a joint in motion, without garbage."""
    moving = np.isfinite(effort) & (np.abs(speed) > MOVING_SPEED)
    if moving.any():
        size = np.abs(effort[moving])
        moving[moving] = size <= LARGEST_EFFORT * np.median(size)
    return moving


def _other(speed: np.ndarray) -> np.ndarray:
    """(k, 3) friction and a constant."""
    return np.column_stack([speed, np.sign(speed), np.ones(len(speed))])


def _rows(ratio: _Ratio, load: np.ndarray, carried: np.ndarray, speed: np.ndarray,
          effort: np.ndarray, overlap: float) -> JointRows:
    """The rows of a judged joint; load, speed, effort (k, n), carried (k, n, 4)."""
    j = ratio.place
    moving = _judged(speed[:, j], effort[:, j])
    x, other, y = carried[moving, j], _other(speed[moving, j]), effort[moving, j]
    power = float(y @ y) / len(y)
    unit = math.sqrt(power)
    left = 1.0 - regression(np.column_stack([load[moving, j], x, other]), y / unit, overlap)[2]
    return JointRows(y, load[moving, j], x, other, math.sqrt(max(left, 1e-6) * power * overlap))


def _is_far(ratio: _Ratio, floats: bool) -> bool:
    """Whether the ratio is beyond any plausible error of a URDF's masses."""
    distance = math.log(abs(ratio.value))
    least = Z999 * math.hypot(MASS_ERROR, ratio.error)
    return distance > least or (distance < -least and not floats)


def _finding(wrong: Sequence[_Ratio], names: Sequence[str], scale: Sequence[float]) -> Finding:
    """The finding, with the scales that would fix it."""
    factor, error, common = _common(wrong)
    found = {names[one.place]: factor if common else 1.0 / one.value for one in wrong}
    scales = tuple(float(f"{old * found.get(name, factor if common else 1.0):.2g}")
                   for name, old in zip(names, scale or (1.0,) * len(names)))
    which = ", ".join(names[one.place] for one in wrong)
    ratios = ", ".join(f"{one.value:.2g} +- {abs(one.value) * one.error:.1g}" for one in wrong)
    uncertain = "" if not common else f" ({_rounded(factor)} +- {_rounded(error)} times as large)"
    rest = "" if common or len(wrong) == len(names) else ", and leave the others as they are"
    return Finding("joint_states.effort_scale", (
        f"the effort of {which} follows the gravity load by the masses of robot.urdf but is "
        f"{ratios} times as large, so its unit is "
        "probably not N m (raw motor current, mN m, per cent); set joint_states.effort_scale to "
        f"about [{', '.join(map(_rounded, scales))}]{uncertain}{rest}; if the unit is right, the "
        "masses of robot.urdf are wrong"), {"joint_states.effort_scale": scales}, Harm.FOLLOWED,
        names[wrong[0].place] if len(wrong) == 1 else "")


def _opposed_finding(opposed: Sequence[_Ratio], judged: int, names: Sequence[str]) -> Finding:
    """The finding on efforts that oppose the gravity load, out of the number of judged ones."""
    which = ", ".join(names[one.place] for one in opposed)
    ratios = ", ".join(f"{one.value:.2g} +- {abs(one.value) * one.error:.1g}" for one in opposed)
    seen = (f"the effort of {which} opposes the gravity load by the masses of robot.urdf "
            f"({ratios} times)")
    of_joint = ("check the direction and the zero of its position (driver, "
                "joint_states.position_offset), its axis in robot.urdf, and the sign of its effort")
    if len(opposed) == judged:
        alone = f"; or only {which} is reversed: {of_joint}" if judged == 1 < len(names) else ""
        return Finding(MOUNT, (
            f"{seen}, so gravity points the other way in the arm's base than the setting says; "
            f"correct {MOUNT} (or, if the driver reverses all efforts, "
            f"joint_states.effort_scale){alone}"), harm=Harm.FOLLOWED)
    return Finding(OF_POSITIONS, (
        f"{seen}, unlike that of the other joints; {of_joint}"), harm=Harm.FOLLOWED)


def _rounded(value: float) -> str:
    """The value with two significant digits, and no exponent unless needed."""
    return f"{float(f'{value:.2g}'):g}"


def _common(wrong: Sequence[_Ratio]) -> tuple[float, float, bool]:
    """(factor, its standard error, whether one factor may hold for all joints)."""
    logs = np.array([-math.log(abs(one.value)) for one in wrong])
    variance = np.array([MASS_ERROR ** 2 + one.error ** 2 for one in wrong])
    mean = float(np.sum(logs / variance) / np.sum(1.0 / variance))
    alike = (len({one.value > 0.0 for one in wrong}) == 1 and len(wrong) > 1
             and float(np.sum((logs - mean) ** 2 / variance)) <= chi_squared(0.999, len(wrong) - 1))
    factor = math.copysign(math.exp(mean), wrong[0].value)
    return factor, abs(factor) / math.sqrt(float(np.sum(1.0 / variance))), alike
