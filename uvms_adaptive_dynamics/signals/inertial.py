"""IMU and DVL joined: velocity and acceleration of the body origin, wide-band (DESIGN section 5).

In a frame G that the gyro carries along (non-rotating up to the gyro's drift) the specific force and gravity integrate
to a velocity C(t). What a DVL measures, minus C, is nearly constant: it drifts with the accelerometer's bias and the
attitude's error alone. A straight line through these few slow points gives the velocity's offset and the acceleration's,
so that the DVL fixes the slow part and the IMU the fast one, whatever the DVL's rate, lateness or dropouts.
"""
from __future__ import annotations

import math
from typing import Callable, NamedTuple

import numpy as np

from ..config import Config
from .gates import DriftGate, Judged, SpikeGate
from ..rotations import FRD_FROM_FLU, from_rotation_vector, from_rpy
from .sensors import ImuReading
from .series import Series, polynomial_weights

IMU_DEGREE = 3       # cubic: derivative flat to the fourth order in frequency
LONGEST_IMU_STEP = 0.25   # [s] without a sample the integration means nothing
FEWEST_DVL = 3
NOTE_PERIOD = 0.1    # [s] between the IMU's rows in the frame checks

# Smallest scales that the gates believe: down vector, rates [rad/s], specific force [m/s^2]; DVL [m/s].
IMU_FLOOR = np.append(np.repeat([0.002, 0.002, 0.02], 3), np.inf)     # heading is not judged: it wraps
DVL_FLOOR = 0.003
DVL_WANDER = 0.02     # [m/s^2] by which the offset's slope changes in a second: attitude errors of 0.1 deg
DVL_PATIENCE = 2.5    # [s] of rejected velocities after which the gate doubts itself

# columns of the IMU series
_N3, _W, _ACC, _C, _YAW = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12), 21
_R = slice(12, 21)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b of vectors (3,), a tenth of numpy's time."""
    a0, a1, a2 = a.tolist()
    b0, b1, b2 = b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


class Motion(NamedTuple):
    """R_nb (3, 3), nu (6,), nu_dot (6,) of the body origin at a tick; velocity_known tells if nu[:3] has a source."""

    R_nb: np.ndarray
    nu: np.ndarray
    nu_dot: np.ndarray
    velocity_known: bool


class InertialFilter:
    """Joins IMU and DVL readings; times are relative to the front end's origin. `refuse(role, reason)` counts rejections,
    `note(log, t, *values)` hears what the frame checks need, outliers included."""

    def __init__(self, config: Config, refuse: Callable[[str, str], None] = lambda role, reason: None,
                 note: Callable[..., None] = lambda log, t, *values: None):
        self._refuse, self._note = refuse, note
        self._settings = config.filter
        self._timeout_imu, self._timeout_dvl = config.imu.timeout, config.dvl.timeout
        self._gravity = config.robot.gravity
        self._r_imu = FRD_FROM_FLU @ np.array(config.imu.xyz)
        self._r_dvl = FRD_FROM_FLU @ np.array(config.dvl.xyz)
        self._current = np.array(config.robot.current_ned)
        self._imu_gate = SpikeGate(IMU_FLOOR)
        self.dvl_gate = DriftGate(DVL_FLOOR, DVL_WANDER, DVL_PATIENCE)
        self.reset()

    def reset(self) -> None:
        """Forget all signals."""
        self._imu = Series(22)
        self._offset = Series(3)      # DVL velocity at the IMU's place, in G, minus C
        self._direct = Series(3)      # DVL velocity of the body origin, body axes
        self._waiting: list[tuple[float, np.ndarray]] = []      # DVL readings that the IMU has not reached
        self._undecided: list[tuple[float, np.ndarray, np.ndarray]] = []
        self._imu_gate.reset()
        self.dvl_gate.reset()
        self._R_Gb, self._C = np.eye(3), np.zeros(3)
        self._noted = -math.inf

    def add_imu(self, t: float, reading: ImuReading) -> None:
        """Take in a reading later than the last; it counts as soon as its neighbours have shown that it is no spike."""
        row = np.empty(10)
        row[_N3], row[_W], row[6:9] = reading.R_nb[2], reading.w, reading.f
        row[9] = math.atan2(reading.R_nb[1, 0], reading.R_nb[0, 0])
        for judged in self._imu_gate.push(t, row):
            self._integrate(judged)

    def finish(self) -> None:
        """Take in what the gate still holds, at the end of a recording."""
        for judged in self._imu_gate.drain():
            self._integrate(judged)

    def drop_after(self, t: float) -> None:
        """Forget what the IMU said after t (it was frozen); the integral goes on from there."""
        self._imu_gate.reset()
        self._imu.drop_after(t)
        if len(self._imu):
            self._R_Gb, self._C = self._imu.newest[_R].reshape(3, 3).copy(), self._imu.newest[_C].copy()

    def drop_dvl_after(self, t: float) -> None:
        """Forget what the DVL said after t (it was frozen)."""
        self._direct.drop_after(t)
        self._offset.drop_after(t)

    def _integrate(self, judged: Judged) -> None:
        t, given = judged.t, judged.row
        if judged.spikes is not None:
            self._refuse("imu", "spike")
        n3, w = given[_N3], given[_W]
        force = given[6:9] + self._gravity * n3
        if len(self._imu):
            newest = self._imu.newest
            dt = t - self._imu.last
            if dt > LONGEST_IMU_STEP:
                self._forget_offset()
            self._R_Gb = self._R_Gb @ from_rotation_vector(0.5 * dt * (newest[_W] + w))
            acc = self._R_Gb @ force
            self._C = self._C + 0.5 * dt * (newest[_ACC] + acc)
        else:
            acc = self._R_Gb @ force
        row = np.empty(22)
        row[_N3], row[_W], row[_ACC], row[_C], row[_R], row[_YAW] = n3, w, acc, self._C, self._R_Gb.ravel(), given[9]
        self._imu.append(t, row)
        if t - self._noted > NOTE_PERIOD:
            self._noted = t
            self._note("imu", t, given[:9], row[_R], given[9:])
        while self._waiting and self._waiting[0][0] <= t:
            self._join(*self._waiting.pop(0))

    def _forget_offset(self) -> None:
        """Without the IMU's integral the offset starts anew."""
        self._offset.clear()
        self._waiting.clear()
        self._undecided.clear()
        self.dvl_gate.reset()

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
        w, R_Gb = imu[_W], imu[_R].reshape(3, 3)
        at_imu = velocity + cross(w, self._r_imu - self._r_dvl)
        offset = R_Gb @ at_imu - imu[_C]
        self._note("dvl", t, at_imu, w, imu[_C], imu[_R], imu[_N3])
        self._undecided.append((t, velocity - cross(w, self._r_dvl), offset))
        for _, good in self.dvl_gate.judge(t, offset, R_Gb):
            at, direct, slow = self._undecided.pop(0)
            if good:
                self._direct.append(at, direct)
                self._offset.append(at, slow)
            else:
                self._refuse("dvl", "does not fit the IMU (outlier)")

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
        n3 = value[_N3] / math.sqrt(value[_N3] @ value[_N3])
        w, w_dot = value[_W], slope[_W]
        yaw = self._imu.before(t)[1][_YAW]
        R_nb = from_rpy(math.atan2(n3[1], n3[2]), -math.asin(min(1.0, max(-1.0, n3[0]))), yaw)
        v, acceleration, known = self._linear(t, value, R_Gb, w, w_dot)
        nu, nu_dot = np.concatenate([v, w]), np.concatenate([acceleration, w_dot])
        if self._current.any():
            drift = R_nb.T @ self._current           # irrotational current: all of Fossen's terms see nu - R^T c
            nu[:3] -= drift
            nu_dot[:3] += cross(w, drift)
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
        v = v_imu - cross(w, self._r_imu)
        # Inertial acceleration at the IMU to the body origin, then to the derivative in the rotating body frame.
        a = a_imu - cross(w_dot, self._r_imu) - cross(w, cross(w, self._r_imu))
        return v, a - cross(w, v), True
