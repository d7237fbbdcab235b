"""The IMU held against itself: force against gravity in the attitude, rates against the attitude's change."""
from __future__ import annotations

import numpy as np

from ...config import Config
from .finding import SURE, Finding, Verdict
from .fits import axis_name, nearest_axes, relation, rotation_vector
from ...model.rotations import from_rpy
from .velocity import depth_fit

TURNS = ("roll", "pitch", "yaw")
TURNED = 0.02     # [rad] RMS of the gyro's integral over 0.4 s, below which an axis is not judged


def gravity(logs: dict, config: Config) -> tuple[list[Finding], bool, bool]:
    """(findings, whether the vehicle seems to be upside down, whether force and attitude agree)."""
    imu, g, frame, world = logs["imu"], config.robot.gravity, config.imu.frame, config.imu.world
    n3, f = imu[:, 1:4], imu[:, 7:10]
    size = np.median(np.linalg.norm(f, axis=1))
    along = np.median(-np.sum(f * n3, axis=1))
    upside_down = np.median(n3[:, 2]) < -0.3
    other_frame, other_world = ("frd" if frame == "flu" else "flu"), ("ned" if world == "enu" else "enu")
    if size < 0.3 * g:
        what = "unit is probably g instead of m/s^2" if abs(abs(along) - 1) < 0.2 else "driver probably takes gravity off"
        return [Finding("imu.linear_acceleration", f"specific force is {size:.2g} m/s^2 in size, expected {g:.2g}: the {what}; "
                                                  "publish the raw specific force")], upside_down, False
    if size > 3 * g:
        return [Finding("imu.linear_acceleration", f"specific force is {size:.3g} m/s^2 in size, expected {g:.2g}: the driver's unit is "
                                                  "probably not m/s^2 (mg or raw counts)")], upside_down, False
    if along > 0.7 * g:
        if upside_down:
            return [Finding("imu.frame", "roll is near 180 degrees while force and attitude agree, pitch and yaw rate have the wrong sign: "
                                         f"imu.frame is probably '{other_frame}' (or the IMU is mounted upside down: imu.rpy)")], True, True
        return [], False, True
    if along < -0.7 * g:
        if upside_down:
            return [Finding("imu.world", f"gravity points up in the attitude and down in the force: imu.world is probably '{other_world}'")], True, False
        if "dvl" in logs and "depth" in logs:
            by_axis, error = depth_fit(logs, np.eye(3), config)
            if by_axis is not None and by_axis[0] < -0.4 and error[0] < 2 * SURE:
                return [Finding("imu.frame", "pitch has the wrong sign and specific force is reversed: imu.frame is probably "
                                             f"'{other_frame}' and imu.world '{other_world}'")], False, False
        return [Finding("imu.linear_acceleration", "specific force has the wrong sign, at rest it must point up (-g along the down axis): the driver "
                                                  f"publishes gravity itself; or both imu.frame ('{other_frame}') and imu.world ('{other_world}') are wrong")], False, False
    axes = nearest_axes(np.outer(-np.median(f, axis=0), np.median(n3, axis=0)))[0]
    return [Finding("imu.rpy", f"specific force and attitude do not agree (force along gravity is {along:.2g}, expected {g:.2g} m/s^2; mostly on "
                               f"{'xyz'[int(np.argmax(np.abs(np.median(f, axis=0))))]}): imu.rpy, imu.world or the order of the quaternion "
                               "(x y z w) is probably wrong")], bool(upside_down and axes is not None), False


def rates(imu: np.ndarray) -> Verdict:
    """Gyro against the derivative of the orientation."""
    t, n3, R_G, yaw = imu[:, 0], imu[:, 1:4], imu[:, 10:19].reshape(-1, 3, 3), imu[:, 19]
    R_nb = np.array([from_rpy(np.arctan2(n[1], n[2]), -np.arcsin(np.clip(n[0], -1, 1)), y) for n, y in zip(n3, yaw)])
    lag = max(1, round(0.4 / np.median(np.diff(t))))
    gyro = np.array([rotation_vector(a.T @ b) for a, b in zip(R_G[:-lag], R_G[lag:])])
    attitude = np.array([rotation_vector(a.T @ b) for a, b in zip(R_nb[:-lag], R_nb[lag:])])
    small = np.linalg.norm(attitude, axis=1) < 1.5
    size = np.sqrt(np.mean(imu[:, 4:7] ** 2) / max(np.mean((attitude[small] / 0.4) ** 2), 1e-12))
    if 30 < size < 110 and np.sqrt(np.mean(attitude[small] ** 2)) > 0.01:
        return Verdict([Finding("imu.angular_velocity", f"rates are {size:.0f} times those of the orientation: the driver's unit is probably deg/s instead of rad/s")], True)
    A, error = relation(gyro[small], attitude[small])
    # A fit of nothing to nothing has no error either.
    sure = (error < SURE) & (np.sqrt(np.mean(gyro[small] ** 2, axis=0)) > TURNED)
    wrong = [k for k in range(3) if sure[k] and not 0.6 < A[k, k] < 1.5]
    if not wrong:
        return Verdict([], bool(sure.all()))
    if all(-1.5 < A[k, k] < -0.6 for k in wrong):
        turns = ", ".join(TURNS[k] for k in wrong)
        if len(wrong) == 3:
            return Verdict([Finding("imu.orientation", "all rates turn against the orientation: the driver's quaternion is probably inverted (world to body)")], True)
        return Verdict([Finding("imu.angular_velocity", f"{turns} rate has the wrong sign against the orientation: imu.frame is probably not that of "
                                                        "the driver's gyro, whose axes differ from its orientation's")], True)
    axes, _ = nearest_axes(A.T)
    seen = ", ".join(f"{TURNS[k]} is the gyro's {axis_name(axes[k])}" for k in wrong) if axes is not None else "no clean axes"
    return Verdict([Finding("imu.angular_velocity", f"rates and orientation do not agree ({seen}): the gyro's axes or the quaternion's order are wrong")], True)
