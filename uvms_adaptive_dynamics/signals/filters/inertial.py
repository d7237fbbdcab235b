"""IMU and DVL joined: velocity and acceleration of the body origin, wide-band (DESIGN section 5).

In a frame G that the gyro carries along (non-rotating up to the gyro's drift) the specific force and gravity integrate
to a velocity C(t). What a DVL measures, minus C, is nearly constant (`offset`): the DVL fixes the slow part of velocity
and acceleration and the IMU the fast one, whatever the DVL's rate, lateness or dropouts. Gravity's direction is nearly
constant in G, too: there the noise of the attitude is averaged.
"""
from __future__ import annotations

import math
from typing import Callable, NamedTuple, Sequence

import numpy as np

from ...config import Config
from ..gates.spikes import DriftGate, Judged, SpikeGate
from ...model.rotations import FRD_FROM_FLU, from_rpy
from .velocity_offset import VelocityOffset
from .series import Series, polynomial_at
from .vectors import IDENTITY, cross, product, rotation, turned, turned_back

IMU_DEGREE = 3       # cubic: derivative flat to the fourth order in frequency
LONGEST_IMU_STEP = 0.25   # [s] without a sample the integration means nothing
FEWEST_DVL = 3
NOTE_PERIOD = 0.1    # [s] between the IMU's rows in the frame checks

# Smallest scales that the gates believe: down vector, rates [rad/s], specific force [m/s^2]; DVL [m/s].
IMU_FLOOR = np.append(np.repeat([0.002, 0.002, 0.02], 3), np.inf)     # heading is not judged: it wraps
DVL_FLOOR = 0.003
DVL_WANDER = 0.02     # [m/s^2] by which the offset's slope changes in a second: attitude errors of 0.1 deg
DVL_PATIENCE = 2.5    # [s] of rejected velocities after which the gate doubts itself

# [s] over which gravity's direction in G is averaged: the attitude's noise falls with it, a gyro's bias of 0.002 rad/s turns
# G by as much times this.
GRAVITY_TIME = 0.6

# columns of the IMU series: acceleration and C as corrected, C as it is from force and attitude alone
_N3, _W, _ACC, _C, _R, _YAW, _RAW_C = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12), slice(12, 21), 21, slice(22, 25)


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
        self._r_imu = (FRD_FROM_FLU @ config.imu.xyz).tolist()
        self._r_dvl = (FRD_FROM_FLU @ config.dvl.xyz).tolist()
        self._from_dvl = [a - b for a, b in zip(self._r_imu, self._r_dvl)]
        self._current = config.robot.current_ned
        self._imu_gate = SpikeGate(IMU_FLOOR)
        self._offset = VelocityOffset(config.filter.dvl_window)
        self.dvl_gate = DriftGate(DVL_FLOOR, DVL_WANDER, DVL_PATIENCE)
        self.reset()

    def reset(self) -> None:
        """Forget all signals."""
        self._imu = Series(25)
        self._offset.reset()          # of the DVL's velocity at the IMU's place
        self._direct = Series(3)      # DVL velocity of the body origin, body axes
        self._waiting: list[tuple[float, np.ndarray]] = []      # DVL readings that the IMU has not reached
        self._undecided: list[tuple] = []
        self._imu_gate.reset()
        self.dvl_gate.reset()
        self._R_Gb = IDENTITY
        self._C = self._raw_C = (0.0, 0.0, 0.0)
        self._gravity_count = 0
        self._noted = -math.inf

    def add_imu(self, t: float, reading: Sequence[float]) -> None:
        """Take in a reading later than the last; it counts as soon as its neighbours have shown that it is no spike."""
        for judged in self._imu_gate.push(t, reading):
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
            newest = self._imu.newest.tolist()
            self._R_Gb, self._C, self._raw_C, self._w = newest[_R], newest[_C], newest[_RAW_C], newest[_W]
            self._acc = self._raw = newest[_ACC]

    def drop_dvl_after(self, t: float) -> None:
        """Forget what the DVL said after t (it was frozen)."""
        self._direct.drop_after(t)
        self._offset.drop_after(t)

    def _integrate(self, judged: Judged) -> None:
        t, given = judged.t, judged.row
        if judged.spikes is not None:
            self._refuse("imu", "spike")
        n0, n1, n2, p, q, r, fx, fy, fz, yaw = given
        half = 0.0
        if len(self._imu):
            half = 0.5 * (t - self._imu.last)
            if 2 * half > LONGEST_IMU_STEP:
                self._forget_offset()
            p0, q0, r0 = self._w
            self._R_Gb = product(self._R_Gb, rotation(half * (p0 + p), half * (q0 + q), half * (r0 + r)))
        R, g = self._R_Gb, self._gravity
        down, (bx, by, bz) = self._down_in_G(2 * half, turned(R, (n0, n1, n2))), self._offset.bias
        raw = turned(R, (fx + g * n0, fy + g * n1, fz + g * n2))
        acc = [a + g * d for a, d in zip(turned(R, (fx - bx, fy - by, fz - bz)), down)]
        if half:
            self._raw_C = [c + half * (before + now) for c, before, now in zip(self._raw_C, self._raw, raw)]
            self._C = [c + half * (before + now) for c, before, now in zip(self._C, self._acc, acc)]
        self._w, self._raw, self._acc = (p, q, r), raw, acc
        self._imu.append(t, [n0, n1, n2, p, q, r, *acc, *self._C, *R, yaw, *self._raw_C])
        if t - self._noted > NOTE_PERIOD:
            self._noted = t
            self._note("imu", t, given[:9], self._R_Gb, given[9:])
        while self._waiting and self._waiting[0][0] <= t:
            self._join(*self._waiting.pop(0))

    def _down_in_G(self, dt: float, seen: Sequence[float]) -> Sequence[float]:
        """Gravity's direction (3,) in G after one more attitude, dt [s] after the last; `seen` (3,) is what that says."""
        self._gravity_count += 1
        share = max(1.0 / self._gravity_count, dt / (dt + GRAVITY_TIME))
        self._down = seen if share == 1.0 else [d + share * (s - d) for d, s in zip(self._down, seen)]
        return self._down

    def _forget_offset(self) -> None:
        """Without the IMU's integral the offset starts anew."""
        self._offset.restart()
        self._gravity_count = 0
        self._waiting.clear()
        self._undecided.clear()
        self.dvl_gate.reset()

    def add_dvl(self, t: float, velocity: Sequence[float]) -> None:
        """Take in a velocity (3,) of the DVL's place; it waits until the IMU has passed its time."""
        if t <= self._imu.last:
            self._join(t, velocity)
        else:
            self._waiting.append((t, velocity))
            del self._waiting[:-64]

    def _join(self, t: float, velocity: Sequence[float]) -> None:
        imu = self._imu.at(t)
        if imu is None or t <= self._direct.last:
            return
        imu = imu.tolist()
        w, R_Gb, C = imu[_W], imu[_R], imu[_C]
        at_imu = [v + c for v, c in zip(velocity, cross(w, self._from_dvl))]
        direct = [v - c for v, c in zip(velocity, cross(w, self._r_dvl))]
        offset = [v - c for v, c in zip(turned(R_Gb, at_imu), C)]
        self._note("dvl", t, at_imu, w, imu[_RAW_C], R_Gb, imu[_N3])
        self._undecided.append((t, direct, offset, R_Gb))
        for _, good in self.dvl_gate.judge(t, np.array(offset), np.array(R_Gb).reshape(3, 3)):
            at, direct, slow, R_Gb = self._undecided.pop(0)
            if good:
                self._direct.append(at, direct)
                self._offset.add(at, slow, R_Gb)
            else:
                self._refuse("dvl", "does not fit the IMU (outlier)")

    def motion(self, t: float) -> Motion | None:
        """Motion at t, None where the IMU does not cover it."""
        half = self._settings.imu_window
        if self._imu.gap_around(t) > self._timeout_imu:
            return None
        times, rows = self._imu.window(t - half, t + half)
        fit = polynomial_at(times, rows[:, :12], t, min(IMU_DEGREE, len(times) - 1)) if len(times) > 2 else None
        if fit is None:
            return None
        value, slope = fit
        n0, n1, n2 = value[_N3]
        w, w_dot = value[_W], slope[_W]
        before_t, before = self._imu.before(t)
        R_Gb = self._rotation_at(t, before_t, before)
        length = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
        R_nb = from_rpy(math.atan2(n1, n2), -math.asin(min(1.0, max(-1.0, n0 / length))), before.item(_YAW))
        v, acceleration, known = self._linear(t, value, R_Gb, w, w_dot)
        if any(self._current):
            drift = (R_nb.T @ self._current).tolist()           # irrotational current: all of Fossen's terms see nu - R^T c
            v = [x - d for x, d in zip(v, drift)]
            acceleration = [x + d for x, d in zip(acceleration, cross(w, drift))]
        return Motion(R_nb, np.array([*v, *w]), np.array([*acceleration, *w_dot]), known)

    def _rotation_at(self, t: float, before_t: float, before: np.ndarray) -> tuple[float, ...]:
        """R_Gb (9,) at t, from the row `before` it."""
        near = self._imu.at(t)
        half = 0.5 * (t - before_t)
        before = before.tolist()
        return product(before[_R], rotation(*(half * (a + b) for a, b in zip(before[_W], near[_W].tolist()))))

    def _linear(self, t, value, R_Gb, w, w_dot):
        """(v (3,), v_dot (3,), known) of the body origin, body axes."""
        window = self._settings.dvl_window
        source = self._settings.linear_acceleration
        unknown = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), False
        if self._direct.gap_around(t) > self._timeout_dvl:
            return unknown
        if source == "dvl":
            times, rows = self._direct.window(t - window / 2, t + window / 2)
            fit = polynomial_at(times, rows, t, 2) if len(times) > FEWEST_DVL else None
            return unknown if fit is None else (*fit, True)
        joined = self._offset.at(t)
        if joined is None:
            return unknown
        offset, drift = joined
        if source == "imu":
            drift = (0.0, 0.0, 0.0)
        vx, vy, vz = turned_back(R_Gb, [c + o for c, o in zip(value[_C], offset)])
        ax, ay, az = turned_back(R_Gb, [c + d for c, d in zip(value[_ACC], drift)])
        lever = self._r_imu
        bx, by, bz = cross(w, lever)
        v = vx - bx, vy - by, vz - bz
        # Inertial acceleration at the IMU to the body origin, then to the derivative in the rotating body frame.
        tx, ty, tz = cross(w_dot, lever)
        cx, cy, cz = cross(w, (bx, by, bz))
        ux, uy, uz = cross(w, v)
        return v, (ax - tx - cx - ux, ay - ty - cy - uy, az - tz - cz - uz), True
