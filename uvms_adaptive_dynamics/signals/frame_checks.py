"""Frames, signs and units of the sensors held against each other while the robot moves (DESIGN section 5).

Every sensor sees the same motion: the IMU integrates to what the DVL measures, depth follows heave, rates turn the
attitude, thrust accelerates. Each relation is a small linear fit over windows of a second; where the fit is a clean
mirror image, rotation or factor of what it should be, the setting that would cause it is named.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..config import Config
from .frame_fits import axis_name, nearest_axes, relation, rotation_vector
from ..robot import RobotModel
from ..rotations import FRD_FROM_FLU, from_rpy
from .thrust_signs import thruster_findings, turned_sensor

BEGIN, AGAIN, END = 30.0, 10.0, 60.0    # [s] of motion at the first judgement, between judgements, at the last
WINDOW = 1.0                            # [s] over which changes are compared
SURE = 0.12                             # standard error up to which an entry of a fit is judged
AXES = ("surge", "sway", "heave")
TURNS = ("roll", "pitch", "yaw")


class Finding(NamedTuple):
    """A mismatch: the setting that probably causes it, and a sentence."""

    setting: str
    sentence: str


class FrameChecks:
    """Collects what the sensors say during the first minute and judges it; times are the front end's."""

    def __init__(self, config: Config, robot: RobotModel):
        self._config, self._effort_limits = config, robot.effort_limits
        self._allocation = np.array(config.thrusters.allocation).reshape(6, -1)
        arm, joints = robot.arm, config.joint_states
        self._low = np.array(joints.limits_low) if joints.limits_low else (arm.limits_low if arm else np.zeros(0))
        self._high = np.array(joints.limits_high) if joints.limits_high else (arm.limits_high if arm else np.zeros(0))
        self._lever = FRD_FROM_FLU @ (np.array(config.imu.xyz) - np.array(config.depth.xyz))
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.findings: list[Finding] = []
        self.done = False
        self.judged = False
        self._judge_at = BEGIN
        self._begin: float | None = None
        self._logs: dict[str, list] = {"imu": [], "dvl": [], "depth": [], "joints": [], "thrust": []}
        self._saturated = [0, 0]

    def add(self, log: str, t: float, *values: np.ndarray) -> None:
        """Note one instant of a log: imu (n3, w, f, R_Gb, yaw), dvl (v, w, C, R_Gb, n3), depth, joints, thrust (its integral)."""
        if self.done:
            return
        self._begin = t if self._begin is None else self._begin
        self._logs[log].append(np.concatenate([[t], *values]))
        if t - self._begin > self._judge_at:
            self._judge_at += AGAIN
            self.findings = self.judge()
            self.judged = True
            if self._judge_at > END:
                self.done = True
                self._logs = {log: [] for log in self._logs}

    def saturated(self, yes: bool) -> None:
        """Note of a thruster command whether it lies at the end of the curve."""
        self._saturated[0] += yes
        self._saturated[1] += 1

    def judge(self) -> list[Finding]:
        """All mismatches of what was collected so far."""
        logs = {name: np.array(rows) for name, rows in self._logs.items() if len(rows) > 50}
        found: list[Finding] = []
        upside_down, gravity_right = False, False
        if "imu" in logs:
            gravity, upside_down, gravity_right = self._gravity(logs)
            rates = self._rates(logs["imu"])
            found += rates + gravity
            gravity_right = gravity_right and not rates
        turn = np.eye(3)
        if "dvl" in logs and gravity_right:
            velocity, turn = self._velocity(logs, upside_down)
            found += velocity
        if "dvl" in logs and "depth" in logs and not any(f.setting == "dvl.unit" for f in found):
            found += self._depth(logs, turn, gravity_right and not upside_down)
        if "joints" in logs:
            found += self._joints(logs["joints"])
        hits, commands = self._saturated
        if commands > 100 and hits > 0.9 * commands:
            found.append(Finding("thrusters.unit", f"{hits} of {commands} thruster commands lie at the end of the thrust curve: thrusters.unit "
                                                   f"is probably not '{self._config.thrusters.unit}' (or the topic is another one)"))
        elif "thrust" in logs and "dvl" in logs and not found:
            found += [Finding(*f) for f in thruster_findings(logs["thrust"], logs["dvl"], self._allocation)]
        return found

    def _gravity(self, logs) -> tuple[list[Finding], bool, bool]:
        """(findings, whether the vehicle seems to be upside down, whether force and attitude agree)."""
        imu, g, frame, world = logs["imu"], self._config.robot.gravity, self._config.imu.frame, self._config.imu.world
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
                by_axis, error = self._depth_fit(logs, np.eye(3))
                if by_axis is not None and by_axis[0] < -0.4 and error[0] < 2 * SURE:
                    return [Finding("imu.frame", "pitch has the wrong sign and specific force is reversed: imu.frame is probably "
                                                 f"'{other_frame}' and imu.world '{other_world}'")], False, False
            return [Finding("imu.linear_acceleration", "specific force has the wrong sign, at rest it must point up (-g along the down axis): the driver "
                                                      f"publishes gravity itself; or both imu.frame ('{other_frame}') and imu.world ('{other_world}') are wrong")], False, False
        axes = nearest_axes(np.outer(-np.median(f, axis=0), np.median(n3, axis=0)))[0]
        return [Finding("imu.rpy", f"specific force and attitude do not agree (force along gravity is {along:.2g}, expected {g:.2g} m/s^2; mostly on "
                                   f"{'xyz'[int(np.argmax(np.abs(np.median(f, axis=0))))]}): imu.rpy, imu.world or the order of the quaternion "
                                   "(x y z w) is probably wrong")], bool(upside_down and axes is not None), False

    def _rates(self, imu: np.ndarray) -> list[Finding]:
        """Gyro against the derivative of the orientation."""
        t, n3, R_G, yaw = imu[:, 0], imu[:, 1:4], imu[:, 10:19].reshape(-1, 3, 3), imu[:, 19]
        R_nb = np.array([from_rpy(np.arctan2(n[1], n[2]), -np.arcsin(np.clip(n[0], -1, 1)), y) for n, y in zip(n3, yaw)])
        lag = max(1, round(0.4 / np.median(np.diff(t))))
        gyro = np.array([rotation_vector(a.T @ b) for a, b in zip(R_G[:-lag], R_G[lag:])])
        attitude = np.array([rotation_vector(a.T @ b) for a, b in zip(R_nb[:-lag], R_nb[lag:])])
        small = np.linalg.norm(attitude, axis=1) < 1.5
        size = np.sqrt(np.mean(imu[:, 4:7] ** 2) / np.mean((attitude[small] / 0.4) ** 2))
        if 30 < size < 110 and np.sqrt(np.mean(attitude[small] ** 2)) > 0.01:
            return [Finding("imu.angular_velocity", f"rates are {size:.0f} times those of the orientation: the driver's unit is probably deg/s instead of rad/s")]
        A, error = relation(gyro[small], attitude[small])
        wrong = [k for k in range(3) if error[k] < SURE and not 0.6 < A[k, k] < 1.5]
        if not wrong:
            return []
        if all(-1.5 < A[k, k] < -0.6 for k in wrong):
            turns = ", ".join(TURNS[k] for k in wrong)
            if len(wrong) == 3:
                return [Finding("imu.orientation", "all rates turn against the orientation: the driver's quaternion is probably inverted (world to body)")]
            return [Finding("imu.angular_velocity", f"{turns} rate has the wrong sign against the orientation: imu.frame is probably not that of the "
                                                   "driver's gyro, whose axes differ from its orientation's")]
        axes, _ = nearest_axes(A.T)
        seen = ", ".join(f"{TURNS[k]} is the gyro's {axis_name(axes[k])}" for k in wrong) if axes is not None else "no clean axes"
        return [Finding("imu.angular_velocity", f"rates and orientation do not agree ({seen}): the gyro's axes or the quaternion's order are wrong")]

    def _velocity(self, logs, upside_down: bool) -> tuple[list[Finding], np.ndarray]:
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
        sure = spread < SURE
        if not sure.any():
            return [], np.eye(3)
        size = np.median(np.linalg.norm(turned[:, sure], axis=0))
        if not 0.6 < size < 1.6:
            unit = " (mm/s?)" if size < 0.01 else " (cm/s?)" if size < 0.03 else " (knots?)" if abs(size - 0.51) < 0.08 else ""
            return [Finding("dvl.unit", f"DVL velocities are {1 / max(size, 1e-9):.3g} times those of the integrated IMU: its unit is probably not m/s{unit}")], np.eye(3)
        if sure.all():
            return self._turned(logs, turned, Q, solution[9:, 0], error[9:])
        wrong = [k for k in range(3) if sure[k] and turned[k, k] < -0.5]
        return [Finding("dvl.frame", f"{AXES[k]} velocity of the DVL has the wrong sign: dvl.frame or dvl.rpy is probably wrong") for k in wrong], np.eye(3)

    def _turned(self, logs, turned, Q, lever, error) -> tuple[list[Finding], np.ndarray]:
        axes, away = nearest_axes(turned)
        other = "flu" if self._config.dvl.frame == "frd" else "frd"
        if axes is None or away > 0.35:
            U, _, Vt = np.linalg.svd(turned)
            phi = np.degrees(rotation_vector(U @ Vt)) if np.linalg.det(U @ Vt) > 0 else np.full(3, np.nan)
            if np.linalg.norm(phi) < 20:
                return [], Q
            return [Finding("dvl.rpy", f"the DVL's axes are turned against the IMU's by about {np.array2string(phi, precision=0)} degrees (roll pitch yaw): "
                                       "dvl.rpy (or imu.rpy) is probably wrong")], Q
        if np.array_equal(axes, np.eye(3)):
            if np.linalg.norm(lever) > 0.25 and error.max() < 0.05:
                place = FRD_FROM_FLU @ lever
                return [Finding("dvl.xyz", f"the DVL's velocity has the lever arm wrong by {np.array2string(place, precision=2)} m (FLU): dvl.xyz is "
                                           "probably wrong (or imu.xyz)")], Q
            return [], Q
        if np.array_equal(axes, FRD_FROM_FLU):
            return [Finding("dvl.frame", f"sway and heave velocity have the wrong sign against the IMU: dvl.frame is probably '{other}'")], axes
        if np.linalg.det(axes) < 0:
            signs = [AXES[k] for k in range(3) if axes[k, k] < 0]
            what = f"{' and '.join(signs)} velocity of the DVL has the wrong sign" if signs else "the DVL's axes are exchanged as in a mirror"
            return [Finding("dvl.frame", f"{what} (a mirror image, which no rotation of the sensor gives): check the driver's axes and dvl.frame")], axes
        blamed = turned_sensor(logs["thrust"], logs["dvl"], self._allocation, axes) if "thrust" in logs else "dvl"
        seen = ", ".join(f"{AXES[k]} is its {axis_name(axes[k] if blamed == 'dvl' else axes[:, k])}" for k in range(3))
        angles = np.degrees(rotation_vector(axes if blamed == "dvl" else axes.T))
        this, other = ("DVL", "imu") if blamed == "dvl" else ("IMU", "dvl")
        return [Finding(f"{blamed}.rpy", f"the {this}'s axes are turned ({seen}; about {np.array2string(angles, precision=0)} degrees roll pitch yaw): "
                                         f"{blamed}.rpy is probably wrong (or {other}.rpy)")], axes

    def _depth_fit(self, logs, turn: np.ndarray):
        """(coefficients (3,), standard errors) of depth rate on n3 v by axis; (None, None) where the log is too thin."""
        dvl, depth = logs["dvl"], logs["depth"]
        t, v, w, n3 = dvl[:, 0], dvl[:, 1:4] @ turn.T, dvl[:, 4:7], dvl[:, 19:22]
        rate = n3 * (v - np.cross(w, self._lever))
        path = np.vstack([np.zeros(3), np.cumsum(0.5 * (rate[1:] + rate[:-1]) * np.diff(t)[:, None], axis=0)])
        lag = max(1, round(WINDOW / np.median(np.diff(t))))
        inside = (t[:-lag] >= depth[0, 0]) & (t[lag:] <= depth[-1, 0]) & (t[lag:] - t[:-lag] < 1.5 * WINDOW)
        if inside.sum() < 100:
            return None, None
        fallen = np.interp(t, depth[:, 0], depth[:, 1])
        A, error = relation((path[lag:] - path[:-lag])[inside], (fallen[lag:] - fallen[:-lag])[inside][:, None], robust=True)
        return A[:, 0], error

    def _depth(self, logs, turn: np.ndarray, attitude_right: bool) -> list[Finding]:
        by_axis, error = self._depth_fit(logs, turn)
        if by_axis is None or error[2] > SURE or not attitude_right:
            return []
        level, slope = float(np.median(logs["depth"][:, 1])), by_axis[2]
        pressure = self._config.depth.type.endswith("FluidPressure")
        if slope < -0.5:
            return [Finding("depth.sign", "depth rises where the vehicle descends: depth has the wrong sign (positive is down), "
                                          "or the attitude's world (imu.world) is wrong")]
        if pressure and level < -5.0:
            units = {1.0: "", 0.01: "hPa (mbar)", 0.001: "kPa", 1e-5: "bar"}
            nearest = min(units, key=lambda u: abs(np.log(max(abs(slope), 1e-7) / u)))
            if not units[nearest]:
                return [Finding("robot.surface_pressure", f"depth is {level:.1f} m but follows heave: the pressure is probably relative to the surface; "
                                                          "set robot.surface_pressure to 0")]
            return [Finding("depth.unit", f"depth is {level:.1f} m and moves {slope:.2g} times as much as the vehicle: the pressure is "
                                          f"probably in {units[nearest]} instead of Pa")]
        if abs(slope) < 0.2:
            return [Finding("depth", "depth does not follow the heave velocity: the sensor is frozen, or its unit is wrong (depth.topic)")]
        if not 0.6 < slope < 1.6:
            return [Finding("depth.unit", f"depth moves {slope:.2g} times as much as the vehicle: its unit is probably wrong "
                                          "(metres, or Pa at robot.water_density)")]
        wrong = [AXES[k] for k in range(2) if error[k] < SURE and by_axis[k] < -0.5]
        if len(wrong) == 1:
            return [Finding("imu.frame", f"depth follows heave but not {wrong[0]} on a slope: {'pitch' if wrong[0] == 'surge' else 'roll'} has the "
                                         "wrong sign; imu.frame or imu.rpy is probably wrong")]
        return []

    def _joints(self, log: np.ndarray) -> list[Finding]:
        """Velocity against the derivative of position, positions against their limits, the sign of the dissipated power."""
        names = self._config.robot.joints
        n = len(names)
        t, mu, speed, effort = log[:, 0], log[:, 1:1 + n], log[:, 1 + n:1 + 2 * n], log[:, 1 + 2 * n:1 + 3 * n]
        low, high, found = self._low, self._high, []
        outside = [j for j in range(n) if np.mean((mu[:, j] < low[j] - 0.2) | (mu[:, j] > high[j] + 0.2)) > 0.5]
        for j in outside:
            where = f"{names[j]} is mostly at {np.median(mu[:, j]):.3g}, outside its limits {low[j]:.3g} to {high[j]:.3g} rad"
            why = "its unit is probably degrees" if np.ptp(mu[:, j]) > 2 * (high[j] - low[j]) or np.median(np.abs(mu[:, j])) > 8 else \
                "its sign, joint_states.position_offset or the order of robot.joints is probably wrong"
            found.append(Finding("joint_states.position", f"{where}: {why}"))
        if np.isfinite(speed).all() and not outside:
            path = np.vstack([np.zeros(n), np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(t)[:, None], axis=0)])
            lag = max(1, round(0.5 / np.median(np.diff(t))))
            moved, said = mu[lag:] - mu[:-lag], path[lag:] - path[:-lag]
            A, error = relation(said, moved)
            scale = np.sqrt(np.mean(said ** 2, axis=0))
            for j in range(n):
                if np.sqrt(np.mean(moved[:, j] ** 2)) < 0.02 or 0.6 < A[j, j] < 1.6:
                    continue
                share = np.abs(A[:, j]) * scale
                k = int(np.argmax(share))
                if k != j and share[k] > 3 * share[j]:
                    text = f"position of {names[j]} follows the velocity of {names[k]}: the order of names and velocities differs in the driver"
                elif A[j, j] < -0.5:
                    text = f"velocity of {names[j]} has the wrong sign against its position"
                else:
                    text = f"velocity of {names[j]} is {1 / A[j, j] if abs(A[j, j]) > 1e-6 else np.inf:.3g} times its position's derivative: its unit is " \
                           "probably degrees or encoder counts per second"
                found.append(Finding("joint_states.velocity", text))
        if np.isfinite(effort).all() and np.isfinite(speed).all() and not found:
            found += self._efforts(names, speed, effort, self._effort_limits)
        return found

    @staticmethod
    def _efforts(names, speed, effort, limits) -> list[Finding]:
        found = []
        for j, name in enumerate(names):
            moving = np.abs(speed[:, j]) > 0.05
            if moving.sum() < 100:
                continue
            power, size = effort[moving, j] * speed[moving, j], np.median(np.abs(effort[moving, j]))
            if power.mean() < -5 * power.std() / np.sqrt(moving.sum() / 10):
                found.append(Finding("joint_states.effort_scale", f"{name} takes power from its load on average, but friction must take it: effort has the "
                                                                  "wrong sign; make its joint_states.effort_scale negative"))
            elif size > 3 * limits[j]:
                found.append(Finding("joint_states.effort_scale", f"effort of {name} is typically {size:.3g}, its limit is {limits[j]:.3g} N m: the unit is probably "
                                                                  "mN m or mA; set joint_states.effort_scale"))
        return found


def _crossed(R: np.ndarray, w: np.ndarray) -> np.ndarray:
    """R S(w) (k, 3, 3)."""
    zero = np.zeros(len(w))
    S = np.array([[zero, -w[:, 2], w[:, 1]], [w[:, 2], zero, -w[:, 0]], [-w[:, 1], w[:, 0], zero]]).transpose(2, 0, 1)
    return R @ S
