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

"""Checks within the IMU: specific force against gravity, rates against the attitude's change."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from ...config import Config
from ...model.normal import Z999
from ...model.rotations import FRD_FROM_FLU
from .depth_check import depth_fit
from .finding import (
    CONSISTENT,
    MAX_STANDARD_ERROR,
    UNDECIDED,
    CheckResult,
    Finding,
    Harm,
    Mend,
    mismatch,
    outside,
)
from .fits import (
    axis_name,
    is_level,
    lag_of,
    listed,
    mounted,
    nearest_axes,
    relation,
    rows_in,
    stretch_means,
)

TURNS = ("roll", "pitch", "yaw")
FIRST_RATE = 3                 # place of the rates among an IMU's values
MIN_TURN = 0.02           # [rad] RMS of the gyro's integral over TURN_WINDOW on a judged axis
TURN_WINDOW = 0.4         # [s]
MAX_TURN = 1.5            # [rad] in a window; larger turns are not compared
RATE_GAIN = 0.6, 1.5      # range of correct rates' gain
# [s] Smallest lag of the orientation worth a finding: 1.4 degrees at 0.5 rad/s.
MIN_ORIENTATION_LAG = 0.05
MIN_GYRO_BIAS = 0.02      # [rad/s] worth a finding: twice a cheap gyro's
DEGREES_GAIN = 30.0, 110.0
FORCE_BATCH = 2.0         # [s]: longer than a wave or a back-and-forth motion of the vehicle
# Range of mean vertical force over gravity; a good accelerometer is accurate to .5 %.
FORCE_GAIN = 0.95, 1.05


class GravityCheck(NamedTuple):
    """Findings on gravity; `upside_down`: roll is near 180 deg; `consistent`: force and attitude
    agree, so checks that rely on them are meaningful."""

    findings: list[Finding]
    upside_down: bool
    consistent: bool


def check_gravity(logs: dict[str, np.ndarray], config: Config) -> GravityCheck:
    """Check specific force against gravity by the attitude; `logs` as in `frames`."""
    imu, g = logs["imu"], config.robot.gravity
    n3, f = imu[:, 1:4], imu[:, 7:10]
    size = float(np.median(np.linalg.norm(f, axis=1)))
    along_up = float(np.median(-np.sum(f * n3, axis=1)))
    upside_down = bool(np.median(n3[:, 2]) < -0.3)
    if not np.ptp(f, axis=0).any() and (not f.any() or np.ptp(n3, axis=0).max() > MIN_TURN):
        return GravityCheck([_unmeasured_force(f[0])], upside_down, False)
    if not 0.3 * g <= size <= 3 * g:
        return GravityCheck([_force_unit(size, along_up, g)], upside_down, False)
    if abs(along_up) <= 0.7 * g:
        axis = "xyz"[int(np.argmax(np.abs(np.median(f, axis=0))))]
        finding = Finding("imu.rpy", (
            f"specific force disagrees with the attitude ({along_up:.2g} m/s^2 along the vertical, "
            f"expected {g:.2g}, mostly along {axis}); check imu.rpy, imu.world and the order of "
            "the quaternion (x y z w)"))
        return GravityCheck([finding], upside_down, False)
    other_frame = "frd" if config.imu.frame == "flu" else "flu"
    other_world = "ned" if config.imu.world == "enu" else "enu"
    if along_up > 0:
        seen = ("roll is near 180 degrees although force and attitude agree, so pitch and yaw "
                "rates are reversed")
        finding = Finding("imu.frame", (
            f"{seen}; set imu.frame to '{other_frame}', or imu.rpy if the IMU is mounted upside "
            "down"), {"imu.frame": other_frame})
        by_mount = mounted(config.imu.frame, config.imu.rpy, FRD_FROM_FLU)
        if is_level(by_mount):
            finding = Finding("imu.rpy", (
                f"{seen}; the IMU is not mounted upside down: set imu.rpy to {listed(by_mount)}"),
                {"imu.rpy": by_mount})
        elif upside_down and not config.imu.measures_force:
            finding = Finding("imu.frame", (
                f"roll is near 180 degrees; set imu.frame to '{other_frame}' or imu.world to "
                f"'{other_world}', or imu.rpy if the marker body is upside down"))
        if upside_down:
            return GravityCheck([finding], True, True)
        scale = _force_scale(imu, g)
        return GravityCheck([] if scale is None else [scale], False, scale is None)
    if upside_down:
        finding = Finding("imu.world", (
            "gravity points up by the attitude but down by the specific force; set imu.world to "
            f"'{other_world}'"), {"imu.world": other_world})
    elif _pitch_is_reversed(logs, config):
        finding = Finding("imu.frame", (
            "pitch and specific force are reversed; set imu.frame to "
            f"'{other_frame}' and imu.world to '{other_world}'"),
            {"imu.frame": other_frame, "imu.world": other_world})
    else:
        finding = Finding("imu linear acceleration", (
            f"specific force is reversed ({along_up:.2g} m/s^2 upward, {g:.2g} expected at rest); "
            "make the driver publish specific force instead of gravity, or set imu.frame to "
            f"'{other_frame}' and imu.world to '{other_world}'"))
    return GravityCheck([finding], upside_down, False)


def _force_scale(imu: np.ndarray, g: float) -> Finding | None:
    """The finding on a specific force whose mean along the vertical is not gravity.

    Whatever the motion, the mean acceleration over T is at most the change of velocity over T."""
    t, up = imu[:, 0], -np.sum(imu[:, 7:10] * imu[:, 1:4], axis=1) / g
    means = stretch_means(t, up[:, None], FORCE_BATCH)[:, 0]
    scale, error = float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means)))
    if not outside(scale, scale, error, FORCE_GAIN):
        return None
    return Finding("imu linear acceleration", (
        f"specific force along the vertical averages {scale:.3f} +- {error:.3f} times gravity; "
        "the accelerometer's scale or bias is wrong: calibrate it, or set robot.gravity"),
        harm=Harm.SLIGHT)


def _unmeasured_force(f: np.ndarray) -> Finding:
    """The finding on a specific force that is f (3,) [m/s^2] in every reading."""
    return Finding("imu linear acceleration", (
        f"the specific force is [{', '.join(f'{one:.3g}' for one in f)}] m/s^2 (front, right, "
        "down) in every reading, so the accelerometer is not measured; restart or replace the IMU, "
        "and make its driver publish the specific force (at rest: gravity, upward)"))


def _force_unit(size: float, along_up: float, g: float) -> Finding:
    """The finding on a specific force of the wrong magnitude [m/s^2]."""
    seen = f"specific force is about {size:.3g} m/s^2, expected {g:.3g}"
    if size > g:
        cause = "the driver's unit is probably mg or raw counts; publish m/s^2"
    elif abs(abs(along_up) - 1) < 0.2:
        cause = "the driver's unit is probably g; publish m/s^2"
    else:
        cause = "the driver probably removes gravity; publish the raw specific force"
    return Finding("imu linear acceleration", f"{seen}; {cause}")


def _pitch_is_reversed(logs: dict[str, np.ndarray], config: Config) -> bool:
    """Whether depth changes as if pitch had the wrong sign; False if DVL and depth cannot tell."""
    if "dvl" not in logs or "depth" not in logs:
        return False
    fit = depth_fit(logs, np.eye(3), config)
    if fit is None:
        return False
    return bool(fit.by_axis[0] + Z999 * fit.errors[0] < 0)


def attitudes(imu: np.ndarray) -> Rotation:
    """R_nb of the rows of `imu`, as in `frames`."""
    n3 = imu[:, 1:4]
    return Rotation.from_euler("ZYX", np.column_stack([
        imu[:, 19], -np.arcsin(np.clip(n3[:, 0], -1, 1)), np.arctan2(n3[:, 1], n3[:, 2])]))


def turns(imu: np.ndarray, R_nb: Rotation) -> tuple[int, np.ndarray, np.ndarray]:
    """(rows in TURN_WINDOW, turns [rad] of the gyro and of the attitudes R_nb over it, one each row
    (k, 3)); `imu` rows as in `frames`."""
    R_G = Rotation.from_matrix(imu[:, 10:19].reshape(-1, 3, 3))
    lag = rows_in(imu[:, 0], TURN_WINDOW)
    gyro, attitude = ((R[:-lag].inv() * R[lag:]).as_rotvec() for R in (R_G, R_nb))
    return lag, gyro, attitude


def without_gap(t: np.ndarray, lag: int) -> np.ndarray:
    """Whether each window of `lag` rows at t (k,) [s] is without a gap, across which the gyro's
    integral is meaningless."""
    return t[lag:] - t[:-lag] < 1.5 * TURN_WINDOW


def check_rates(imu: np.ndarray) -> CheckResult:
    """Check the gyro against the orientation's change; `imu` rows as in `frames`."""
    lag, gyro, attitude = turns(imu, attitudes(imu))
    t = imu[:, 0]
    small = (np.linalg.norm(attitude, axis=1) < MAX_TURN) & without_gap(t, lag)
    # A fit to no more independent windows than it has unknowns (with a bias four) is exact, right
    # or wrong. An IMU with long intervals leaves none.
    if small.sum() <= 4 * lag:
        return UNDECIDED
    gain = np.sqrt(np.mean(imu[:, 4:7] ** 2)
                   / max(np.mean((attitude[small] / TURN_WINDOW) ** 2), 1e-12))
    turning = np.sqrt(np.mean(attitude[small] ** 2)) > 0.01
    if DEGREES_GAIN[0] < gain < DEGREES_GAIN[1] and turning:
        return mismatch("imu angular velocity", (
            f"rates are {gain:.0f} times those of the orientation; the driver's unit is probably "
            "deg/s: publish rad/s, or scale a CSV's columns by 0.0174533 in its mapping"))
    A, error = relation(gyro[small], attitude[small], lag)
    # Without motion the fit's error can be small too.
    moved = np.sqrt(np.mean(gyro[small] ** 2, axis=0)) > MIN_TURN
    judged = (error.max(axis=1) < MAX_STANDARD_ERROR) & moved
    wrong = [k for k in range(3)
             if judged[k] and outside(A[k, k], A[k, k], error[k, k], RATE_GAIN)]
    if wrong:
        return _rate_mismatch(A, error, wrong)
    found = [*_gyro_bias(gyro[small], attitude[small], lag),
             *_late_orientation(t[lag:][small], gyro[small], attitude[small], lag)]
    return CheckResult(found, True) if found else CONSISTENT if judged.all() else UNDECIDED


def _gyro_bias(gyro: np.ndarray, attitude: np.ndarray, overlap: int) -> list[Finding]:
    """The finding on a constant bias of the rates; gyro, attitude: turns (k, 3) [rad] over the same
    windows."""
    fit, errors = relation(np.column_stack([gyro, np.ones(len(gyro))]), attitude, overlap)
    bias, error = -fit[3] / TURN_WINDOW, errors[3] / TURN_WINDOW
    if (np.abs(bias) - Z999 * error < MIN_GYRO_BIAS).all():
        return []
    shown = ", ".join(f"{b:.3f} +- {e:.3f}" for b, e in zip(bias, error))
    return [Finding("imu angular velocity", (
        f"rates have a bias of [{shown}] rad/s (roll, pitch, yaw) relative to the orientation; "
        "calibrate the gyro at rest, and check that nothing shakes or heats it"),
        harm=Harm.SLIGHT)]


def _late_orientation(t: np.ndarray, gyro: np.ndarray, attitude: np.ndarray,
                      overlap: int) -> list[Finding]:
    """The finding on an orientation that lags or leads the gyro; gyro, attitude: turns (k, 3) [rad]
    over the windows that end at t (k,)."""
    if np.sqrt(np.mean(gyro ** 2)) < MIN_TURN:
        return []
    lag, error = lag_of(t, gyro, attitude, overlap)
    if abs(lag) - Z999 * error < MIN_ORIENTATION_LAG:
        return []
    side = "later" if lag > 0 else "earlier"
    # nothing is measured before it happens: either the orientation is late, or the gyro is
    late = (Mend("imu", FIRST_RATE, np.eye(6), late=-lag) if lag > 0
            else Mend("imu", FIRST_RATE, np.eye(3), late=-lag))
    return [Finding("imu orientation", (
        f"the orientation turns {abs(lag):.2f} +- {error:.2f} s {side} than the gyro; make the "
        "driver publish both for the same instant, without a filter of its own"),
        harm=Harm.SLIGHT if abs(lag) - Z999 * error < 2 * MIN_ORIENTATION_LAG
        else Harm.CONTRADICTS, mend=late)]


def _rate_mismatch(A: np.ndarray, error: np.ndarray, wrong: list[int]) -> CheckResult:
    """The result where the rates of some axes do not fit; A (3, 3) maps gyro to attitude, with
    standard errors (3, 3)."""
    gains = ", ".join(f"{A[k, k]:.2f} +- {error[k, k]:.2f}" for k in wrong)
    if all(-RATE_GAIN[1] < A[k, k] < -RATE_GAIN[0] for k in wrong):
        if len(wrong) == 3:
            return mismatch("imu orientation", (
                f"all rates are reversed relative to the orientation (gains {gains}); the driver's "
                "quaternion is probably inverted (world to body): publish body to world"))
        turns = " and ".join(TURNS[k] for k in wrong)
        return mismatch("imu angular velocity", (
            f"{turns} rate has the wrong sign relative to the orientation (gain {gains}); the "
            "driver's gyro and orientation probably use different axes: check imu.frame and the "
            "driver"), mend=Mend("imu", FIRST_RATE, np.diag(
                [-1.0 if k in wrong else 1.0 for k in range(3)])), lasting=True)
    axes, _ = nearest_axes(A.T)
    seen = "no clean axes" if axes is None else ", ".join(
        f"{TURNS[k]} is the gyro's {axis_name(axes[k])}" for k in wrong)
    return mismatch("imu angular velocity", (
        f"rates disagree with the orientation ({seen}, gain {gains}); check the gyro's axes and "
        "the order of the quaternion (x y z w)"),
        mend=None if axes is None else Mend("imu", FIRST_RATE, axes))
