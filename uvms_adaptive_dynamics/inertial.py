"""IMU and DVL joined: velocity and acceleration of the body origin, wide-band (DESIGN section 5).

In a frame G that the gyro carries along (non-rotating up to the gyro's drift) the specific force and gravity integrate
to a velocity C(t). What a DVL measures, minus C, is nearly constant: it drifts with the accelerometer's bias and the
attitude's error alone. A straight line through these few slow points gives the velocity's offset and the acceleration's,
so that the DVL fixes the slow part and the IMU the fast one, whatever the DVL's rate, lateness or dropouts.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .config import Config
from .rotations import FRD_FROM_FLU, from_rotation_vector, from_rpy
from .sensors import ImuReading
from .series import Series, polynomial_weights

IMU_DEGREE = 3       # cubic: derivative flat to the fourth order in frequency
LONGEST_IMU_STEP = 0.25   # [s] without a sample the integration means nothing
FEWEST_DVL = 3

# columns of the IMU series
_N3, _W, _ACC, _C, _YAW = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12), 21
_R = slice(12, 21)


class Motion(NamedTuple):
    """R_nb (3, 3), nu (6,), nu_dot (6,) of the body origin at a tick; velocity_known tells if nu[:3] has a source."""

    R_nb: np.ndarray
    nu: np.ndarray
    nu_dot: np.ndarray
    velocity_known: bool


class InertialFilter:
    """Joins IMU and DVL readings; times are relative to the front end's origin."""

    def __init__(self, config: Config):
        self._settings = config.filter
        self._timeout_imu, self._timeout_dvl = config.imu.timeout, config.dvl.timeout
        self._gravity = config.robot.gravity
        self._r_imu = FRD_FROM_FLU @ np.array(config.imu.xyz)
        self._r_dvl = FRD_FROM_FLU @ np.array(config.dvl.xyz)
        self._current = np.array(config.robot.current_ned)
        self.reset()

    def reset(self) -> None:
        """Forget all signals."""
        self._imu = Series(22)
        self._offset = Series(3)      # DVL velocity at the IMU's place, in G, minus C
        self._direct = Series(3)      # DVL velocity of the body origin, body axes
        self._waiting: list[tuple[float, np.ndarray]] = []
        self._R_Gb, self._C = np.eye(3), np.zeros(3)

    @property
    def last_imu(self) -> float:
        """Time of the newest IMU reading."""
        return self._imu.last

    def add_imu(self, t: float, reading: ImuReading) -> None:
        """Take in a reading later than the last."""
        n3 = reading.R_nb[2]
        force = reading.f + self._gravity * n3
        if len(self._imu):
            dt = t - self._imu.last
            if dt > LONGEST_IMU_STEP:
                self._offset.clear()
                self._waiting.clear()
            w_before, acc_before = self._imu.newest[_W], self._imu.newest[_ACC]
            self._R_Gb = self._R_Gb @ from_rotation_vector(0.5 * dt * (w_before + reading.w))
            acc = self._R_Gb @ force
            self._C = self._C + 0.5 * dt * (acc_before + acc)
        else:
            acc = self._R_Gb @ force
        row = np.empty(22)
        row[_N3], row[_W], row[_ACC], row[_C], row[_R] = n3, reading.w, acc, self._C, self._R_Gb.ravel()
        row[_YAW] = np.arctan2(reading.R_nb[1, 0], reading.R_nb[0, 0])
        self._imu.append(t, row)
        while self._waiting and self._waiting[0][0] <= t:
            self._join(*self._waiting.pop(0))

    def add_dvl(self, t: float, velocity: np.ndarray) -> None:
        """Take in a velocity (3,) of the DVL's place; it waits until the IMU has passed its time."""
        if t <= self._imu.last:
            self._join(t, velocity)
        else:
            self._waiting.append((t, velocity))
            del self._waiting[:-64]

    def _join(self, t: float, velocity: np.ndarray) -> None:
        imu = self._imu.at(t)
        if imu is None or t <= self._direct.last:
            return
        w = imu[_W]
        self._direct.append(t, velocity - np.cross(w, self._r_dvl))
        at_imu = velocity + np.cross(w, self._r_imu - self._r_dvl)
        self._offset.append(t, imu[_R].reshape(3, 3) @ at_imu - imu[_C])

    def motion(self, t: float) -> Motion | None:
        """Motion at t, None where the IMU does not cover it."""
        half = self._settings.imu_window
        if self._imu.gap_around(t) > self._timeout_imu:
            return None
        times, rows = self._imu.window(t - half, t + half)
        weights = polynomial_weights(times, t, min(IMU_DEGREE, len(times) - 1), 2) if len(times) > 2 else None
        if weights is None:
            return None
        value, slope = weights @ rows[:, :12]
        near = self._imu.at(t)
        R_Gb = self._rotation_at(t, near)
        n3 = value[_N3] / np.linalg.norm(value[_N3])
        w, w_dot = value[_W], slope[_W]
        yaw = self._imu.before(t)[1][_YAW]
        R_nb = from_rpy(np.arctan2(n3[1], n3[2]), -np.arcsin(np.clip(n3[0], -1, 1)), yaw)
        v, acceleration, known = self._linear(t, value, R_Gb, w, w_dot)
        nu, nu_dot = np.concatenate([v, w]), np.concatenate([acceleration, w_dot])
        if self._current.any():
            drift = R_nb.T @ self._current           # irrotational current: all of Fossen's terms see nu - R^T c
            nu[:3] -= drift
            nu_dot[:3] += np.cross(w, drift)
        return Motion(R_nb, nu, nu_dot, known)

    def _rotation_at(self, t: float, near: np.ndarray) -> np.ndarray:
        before_t, before = self._imu.before(t)
        w = 0.5 * (before[_W] + near[_W])
        return before[_R].reshape(3, 3) @ from_rotation_vector((t - before_t) * w)

    def _linear(self, t, value, R_Gb, w, w_dot):
        """(v (3,), v_dot (3,), known) of the body origin, body axes."""
        window = self._settings.dvl_window
        source = self._settings.linear_acceleration
        covered = self._direct.gap_around(t) <= self._timeout_dvl
        if source == "dvl":
            times, rows = self._direct.window(t - window / 2, t + window / 2)
            weights = polynomial_weights(times, t, 2, 2) if len(times) > FEWEST_DVL else None
            if weights is None or not covered:
                return np.zeros(3), np.zeros(3), False
            v, v_dot = weights @ rows
            return v, v_dot, True
        times, rows = self._offset.window(t - window, t + window)
        weights = polynomial_weights(times, t, 1, 2) if len(times) >= FEWEST_DVL else None
        if weights is None or not covered:
            return np.zeros(3), np.zeros(3), False
        offset, drift = weights @ rows
        if source == "imu":
            drift = np.zeros(3)
        v_imu = R_Gb.T @ (value[_C] + offset)
        a_imu = R_Gb.T @ (value[_ACC] + drift)
        v = v_imu - np.cross(w, self._r_imu)
        # Inertial acceleration at the IMU to the body origin, then to the derivative in the rotating body frame.
        a = a_imu - np.cross(w_dot, self._r_imu) - np.cross(w, np.cross(w, self._r_imu))
        return v, a - np.cross(w, v), True
