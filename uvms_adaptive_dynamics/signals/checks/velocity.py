"""The DVL held against the integrated IMU, and depth against heave."""
from __future__ import annotations

import numpy as np

from ...config import Config
from .finding import SURE, WINDOW, Finding, Verdict
from .fits import axis_name, nearest_axes, relation, rotation_vector
from ...model.rotations import FRD_FROM_FLU
from .thrusters import turned_sensor

AXES = ("surge", "sway", "heave")
# RMS of the change over WINDOW, below which an axis is not judged: of a velocity [m/s], of the depth [m]
MOVED, SUNK = 0.05, 0.03


def velocity(logs: dict, config: Config, upside_down: bool) -> tuple[Verdict, np.ndarray]:
    """DVL against the integrated IMU; also the matrix that turns the DVL's velocity into the IMU's axes."""
    dvl = logs["dvl"]
    t, v, w, C = dvl[:, 0], dvl[:, 1:4], dvl[:, 4:7], dvl[:, 7:10]
    R = dvl[:, 10:19].reshape(-1, 3, 3)
    lag = max(1, round(WINDOW / np.median(np.diff(t))))
    ok = np.abs(t[lag:] - t[:-lag] - WINDOW) < 0.5
    # R Q v + R (w x d) changes as C does; unknown Q (3, 3) by columns, then the error d of the lever arm.
    rows = np.concatenate([np.einsum("kij,kl->kilj", R, v).reshape(-1, 3, 9), _crossed(R, w)], axis=2)
    change = (rows[lag:] - rows[:-lag])[ok].reshape(-1, 12)
    solution, error = relation(change, (C[lag:] - C[:-lag])[ok].reshape(-1, 1), robust=True)
    Q, spread = solution[:9, 0].reshape(3, 3).T, error[:9].reshape(3, 3).max(axis=1)
    turned = Q @ FRD_FROM_FLU if upside_down else Q     # the upside-down IMU has been named already
    moved = np.sqrt(np.mean(change[:, :9].reshape(-1, 3, 3) ** 2, axis=(0, 2)) * 3)
    sure = (spread < SURE) & (moved > MOVED)      # a fit of nothing to nothing has no error either
    if not sure.any():
        return Verdict([], False), np.eye(3)
    size = np.median(np.linalg.norm(turned[:, sure], axis=0))
    if not 0.6 < size < 1.6:
        unit = " (mm/s?)" if size < 0.01 else " (cm/s?)" if size < 0.03 else " (knots?)" if abs(size - 0.51) < 0.08 else ""
        return Verdict([Finding("dvl.unit", f"DVL velocities are {1 / max(size, 1e-9):.3g} times those of the integrated IMU: its unit is probably not m/s{unit}")], True), np.eye(3)
    if sure.all():
        return _turned(logs, config, turned, Q, solution[9:, 0], error[9:])
    wrong = [k for k in range(3) if sure[k] and turned[k, k] < -0.5]
    return Verdict([Finding("dvl.frame", f"{AXES[k]} velocity of the DVL has the wrong sign: dvl.frame or dvl.rpy is probably wrong")
                    for k in wrong], False), np.eye(3)


def _turned(logs, config, turned, Q, lever, error) -> tuple[Verdict, np.ndarray]:
    """The verdict on all nine entries of Q, and on the lever arm."""
    axes, away = nearest_axes(turned)
    other = "flu" if config.dvl.frame == "frd" else "frd"
    if axes is None or away > 0.35:
        U, _, Vt = np.linalg.svd(turned)
        phi = np.degrees(rotation_vector(U @ Vt)) if np.linalg.det(U @ Vt) > 0 else np.full(3, np.nan)
        if np.linalg.norm(phi) < 20:
            return Verdict([], True), Q
        return Verdict([Finding("dvl.rpy", f"the DVL's axes are turned against the IMU's by about {np.array2string(phi, precision=0)} degrees (roll pitch yaw): "
                                   "dvl.rpy (or imu.rpy) is probably wrong")], True), Q
    if np.array_equal(axes, np.eye(3)):
        if np.linalg.norm(lever) > 0.25 and error.max() < 0.05:
            place = FRD_FROM_FLU @ lever
            return Verdict([Finding("dvl.xyz", f"the DVL's velocity has the lever arm wrong by {np.array2string(place, precision=2)} m (FLU): dvl.xyz is "
                                       "probably wrong (or imu.xyz)")], True), Q
        return Verdict([], True), Q
    if np.array_equal(axes, FRD_FROM_FLU):
        return Verdict([Finding("dvl.frame", f"sway and heave velocity have the wrong sign against the IMU: dvl.frame is probably '{other}'")], True), axes
    if np.linalg.det(axes) < 0:
        signs = [AXES[k] for k in range(3) if axes[k, k] < 0]
        what = f"{' and '.join(signs)} velocity of the DVL has the wrong sign" if signs else "the DVL's axes are exchanged as in a mirror"
        return Verdict([Finding("dvl.frame", f"{what} (a mirror image, which no rotation of the sensor gives): check the driver's axes and dvl.frame")], True), axes
    blamed = turned_sensor(logs["thrust"], logs["dvl"], np.reshape(config.thrusters.allocation, (6, -1)), axes) if "thrust" in logs else "dvl"
    seen = ", ".join(f"{AXES[k]} is its {axis_name(axes[k] if blamed == 'dvl' else axes[:, k])}" for k in range(3))
    angles = np.degrees(rotation_vector(axes if blamed == "dvl" else axes.T))
    this, other = ("DVL", "imu") if blamed == "dvl" else ("IMU", "dvl")
    return Verdict([Finding(f"{blamed}.rpy", f"the {this}'s axes are turned ({seen}; about {np.array2string(angles, precision=0)} degrees roll pitch yaw): "
                                     f"{blamed}.rpy is probably wrong (or {other}.rpy)")], True), axes


def depth_fit(logs: dict, turn: np.ndarray, config: Config):
    """(coefficients (3,), standard errors) of depth rate on n3 v by axis; infinite without heave;
    (None, None) where the log is too thin."""
    dvl, depth = logs["dvl"], logs["depth"]
    t, v, w, n3 = dvl[:, 0], dvl[:, 1:4] @ turn.T, dvl[:, 4:7], dvl[:, 19:22]
    lever = FRD_FROM_FLU @ (np.array(config.imu.xyz) - np.array(config.depth.xyz))
    rate = n3 * (v - np.cross(w, lever))
    path = np.vstack([np.zeros(3), np.cumsum(0.5 * (rate[1:] + rate[:-1]) * np.diff(t)[:, None], axis=0)])
    lag = max(1, round(WINDOW / np.median(np.diff(t))))
    inside = (t[:-lag] >= depth[0, 0]) & (t[lag:] <= depth[-1, 0]) & (t[lag:] - t[:-lag] < 1.5 * WINDOW)
    if inside.sum() < 100:
        return None, None
    fallen = np.interp(t, depth[:, 0], depth[:, 1])
    sunk = (path[lag:] - path[:-lag])[inside]
    A, error = relation(sunk, (fallen[lag:] - fallen[:-lag])[inside][:, None], robust=True)
    return A[:, 0], error if np.sqrt(np.mean(sunk[:, 2] ** 2)) > SUNK else np.full(3, np.inf)


def depth(logs: dict, config: Config, turn: np.ndarray) -> Verdict:
    """Depth against the integrated heave of the DVL, whose axes `turn` (3, 3) takes to the IMU's; the attitude is right."""
    by_axis, error = depth_fit(logs, turn, config)
    if by_axis is None or error[2] > SURE:
        return Verdict([], False)
    level, slope = float(np.median(logs["depth"][:, 1])), by_axis[2]
    pressure = config.depth.type.endswith("FluidPressure")
    if slope < -0.5:
        return Verdict([Finding("depth.sign", "depth rises where the vehicle descends: depth has the wrong sign (positive is down), "
                                      "or the attitude's world (imu.world) is wrong")], True)
    if pressure and level < -5.0:
        units = {1.0: "", 0.01: "hPa (mbar)", 0.001: "kPa", 1e-5: "bar"}
        nearest = min(units, key=lambda u: abs(np.log(max(abs(slope), 1e-7) / u)))
        if not units[nearest]:
            return Verdict([Finding("robot.surface_pressure", f"depth is {level:.1f} m but follows heave: the pressure is probably relative to the surface; "
                                                      "set robot.surface_pressure to 0")], True)
        return Verdict([Finding("depth.unit", f"depth is {level:.1f} m and moves {slope:.2g} times as much as the vehicle: the pressure is "
                                      f"probably in {units[nearest]} instead of Pa")], True)
    if abs(slope) < 0.2:
        return Verdict([Finding("depth", "depth does not follow the heave velocity: the sensor is frozen, or its unit is wrong (depth.topic)")], True)
    if not 0.6 < slope < 1.6:
        return Verdict([Finding("depth.unit", f"depth moves {slope:.2g} times as much as the vehicle: its unit is probably wrong "
                                      "(metres, or Pa at robot.water_density)")], True)
    wrong = [AXES[k] for k in range(2) if error[k] < SURE and by_axis[k] < -0.5]
    if len(wrong) == 1:
        return Verdict([Finding("imu.frame", f"depth follows heave but not {wrong[0]} on a slope: {'pitch' if wrong[0] == 'surge' else 'roll'} has the "
                                     "wrong sign; imu.frame or imu.rpy is probably wrong")], True)
    return Verdict([], True)


def _crossed(R: np.ndarray, w: np.ndarray) -> np.ndarray:
    """R S(w) (k, 3, 3)."""
    zero = np.zeros(len(w))
    S = np.array([[zero, -w[:, 2], w[:, 1]], [w[:, 2], zero, -w[:, 0]], [-w[:, 1], w[:, 0], zero]]).transpose(2, 0, 1)
    return R @ S
