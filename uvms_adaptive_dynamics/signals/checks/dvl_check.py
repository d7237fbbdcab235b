"""The DVL against the integrated IMU: unit, signs, axes and lever arm."""
from __future__ import annotations

import numpy as np

from ...config import Config
from ...model.rotations import FRD_FROM_FLU, to_rotation_vector
from .finding import (
    CHANGE_WINDOW,
    CONSISTENT,
    MAX_STANDARD_ERROR,
    UNDECIDED,
    CheckResult,
    Finding,
    mismatch,
)
from .fits import axis_name, degrees, nearest_axes, relation
from .thruster_check import turned_sensor

AXES = ("surge", "sway", "heave")
MIN_VELOCITY_RMS = 0.05   # [m/s] of the change over CHANGE_WINDOW of a judged axis
DVL_GAIN = 0.6, 1.6       # of the velocities, within which their unit is right
MAX_OFF_AXES = 0.35       # distance from signed axes, beyond which the axes are tilted
MIN_TILT = 20.0           # [deg] that is worth a finding
MIN_LEVER_ERROR = 0.25    # [m] that is worth a finding
MAX_LEVER_STDDEV = 0.05   # [m]


def check_velocity(logs: dict[str, np.ndarray], config: Config,
                   upside_down: bool) -> tuple[CheckResult, np.ndarray]:
    """(result, matrix (3, 3) that turns the DVL's velocity into the IMU's axes).

    `upside_down`: the IMU has been found upside down already. `logs` as in `frames`.
    """
    Q, lever, error, moved = _fit(logs["dvl"])
    turned = Q @ FRD_FROM_FLU if upside_down else Q
    # A fit of nothing to nothing has no error either.
    judged = (error[:9].reshape(3, 3).max(axis=1) < MAX_STANDARD_ERROR) & (moved > MIN_VELOCITY_RMS)
    if not judged.any():
        return UNDECIDED, np.eye(3)
    gain = float(np.median(np.linalg.norm(turned[:, judged], axis=0)))
    if not DVL_GAIN[0] < gain < DVL_GAIN[1]:
        return mismatch("dvl.unit", (
            f"DVL velocities are {1 / max(gain, 1e-9):.3g} times those of the integrated IMU; "
            f"publish m/s{_unit_of(gain)}")), np.eye(3)
    if judged.all():
        axes, off_axes = nearest_axes(turned)
        if axes is None or off_axes > MAX_OFF_AXES:
            return _tilted(turned), Q
        if np.array_equal(axes, np.eye(3)):
            return _lever_arm(lever, error[9:]), Q
        return _other_axes(logs, config, axes), axes
    reversed_axes = [k for k in range(3) if judged[k] and turned[k, k] < -0.5]
    findings = [Finding("dvl.frame", f"the DVL's {AXES[k]} velocity has the wrong sign against the "
                                     "IMU; check dvl.frame and dvl.rpy") for k in reversed_axes]
    return CheckResult(findings, False), np.eye(3)


def _fit(dvl: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(Q (3, 3), lever arm error d (3,) [m], standard errors (12,), RMS change by axis (3,)).

    R Q v + R (w x d) changes as C, the IMU's integrated velocity; the unknowns are Q by columns,
    then d.
    """
    t, v, w, C = dvl[:, 0], dvl[:, 1:4], dvl[:, 4:7], dvl[:, 7:10]
    R = dvl[:, 10:19].reshape(-1, 3, 3)
    lag = max(1, round(CHANGE_WINDOW / np.median(np.diff(t))))
    ok = np.abs(t[lag:] - t[:-lag] - CHANGE_WINDOW) < 0.5
    by_Q = np.einsum("kij,kl->kilj", R, v).reshape(-1, 3, 9)
    rows = np.concatenate([by_Q, _rotated_skew(R, w)], axis=2)
    change = (rows[lag:] - rows[:-lag])[ok].reshape(-1, 12)
    x, error = relation(change, (C[lag:] - C[:-lag])[ok].reshape(-1, 1), robust=True)
    moved = np.sqrt(np.mean(change[:, :9].reshape(-1, 3, 3) ** 2, axis=(0, 2)) * 3)
    return x[:9, 0].reshape(3, 3).T, x[9:, 0], error, moved


def _rotated_skew(R: np.ndarray, w: np.ndarray) -> np.ndarray:
    """R S(w) (k, 3, 3) of R (k, 3, 3) and w (k, 3)."""
    zero = np.zeros(len(w))
    S = np.array([[zero, -w[:, 2], w[:, 1]], [w[:, 2], zero, -w[:, 0]],
                  [-w[:, 1], w[:, 0], zero]]).transpose(2, 0, 1)
    return R @ S


def _unit_of(gain: float) -> str:
    """The DVL's probable unit, from m/s over its unit."""
    if gain < 0.03:
        return " (it is probably mm/s)" if gain < 0.01 else " (it is probably cm/s)"
    return " (it is probably knots)" if abs(gain - 0.51) < 0.08 else ""


def _tilted(turned: np.ndarray) -> CheckResult:
    """The result where the axes are not near any signed axes."""
    U, _, Vt = np.linalg.svd(turned)
    if np.linalg.det(U @ Vt) <= 0:
        return mismatch("dvl.rpy", (
            "the DVL's axes do not fit the IMU's, nor any rotation of them; check dvl.rpy, imu.rpy "
            "and the driver's axes"))
    phi = to_rotation_vector(U @ Vt)
    if np.linalg.norm(np.degrees(phi)) < MIN_TILT:
        return CONSISTENT
    return mismatch("dvl.rpy", (
        f"the DVL's axes are rotated against the IMU's by about {degrees(phi)}; check "
        "dvl.rpy and imu.rpy"))


def _lever_arm(lever: np.ndarray, stddev: np.ndarray) -> CheckResult:
    """The result where the axes are right; `lever` (3,) [m] FRD is what the place is wrong by."""
    if np.linalg.norm(lever) <= MIN_LEVER_ERROR or stddev.max() >= MAX_LEVER_STDDEV:
        return CONSISTENT
    place = np.array2string(FRD_FROM_FLU @ lever, precision=2)
    return mismatch("dvl.xyz", (
        f"the DVL's velocity shows a lever arm that is wrong by {place} m (FLU); check dvl.xyz and "
        "imu.xyz"))


def _other_axes(logs: dict[str, np.ndarray], config: Config, axes: np.ndarray) -> CheckResult:
    """The result where the DVL's axes are other signed axes (3, 3) than the IMU's."""
    if np.array_equal(axes, FRD_FROM_FLU):
        other = "flu" if config.dvl.frame == "frd" else "frd"
        return mismatch("dvl.frame", (
            "sway and heave velocity have the wrong sign against the IMU; set dvl.frame to "
            f"'{other}'"))
    if np.linalg.det(axes) < 0:
        signs = [AXES[k] for k in range(3) if axes[k, k] < 0]
        seen = (f"the DVL's {' and '.join(signs)} velocity has the wrong sign" if signs
                else "the DVL's axes are swapped")
        return mismatch("dvl.frame", (
            f"{seen}, a mirror image that no rotation of the sensor gives; check the driver's axes "
            "and dvl.frame"))
    turned = "dvl"
    if "thrust" in logs:
        allocation = np.reshape(config.thrusters.allocation, (6, -1))
        turned = turned_sensor(logs["thrust"], logs["dvl"], allocation, axes)
    rotation = axes if turned == "dvl" else axes.T
    other = "imu" if turned == "dvl" else "dvl"
    seen = ", ".join(f"{AXES[k]} is its {axis_name(rotation[k])}" for k in range(3))
    return mismatch(f"{turned}.rpy", (
        f"the {turned.upper()}'s axes are rotated ({seen}) by about "
        f"{degrees(to_rotation_vector(rotation))}; check {turned}.rpy, or {other}.rpy"))
