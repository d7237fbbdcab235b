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

"""Fusion of the DVL's velocities with the integrated IMU: gate, offset, linear motion.

A velocity is judged by its offset from the IMU's integral C (module `inertial`). Accepted ones give
the offset that is added to C; without a specific force, they give velocity and acceleration alone
(`velocity_use`).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...model.rotations import FRD_FROM_FLU, cross, turned, turned_back
from ..checks.bursts import BurstFilter
from ..checks.velocity_log import KNOT_SPACING
from ..decode.decoder import dvl_axes
from ..decode.poses import lateness
from ..decode.sensor_clock import SensorClock
from ..gates.choose import innovation_gate
from ..gates.clipped import AT_LIMIT, ClippedVelocities
from ..gates.frozen import new_values
from ..gates.innovations import JUMP_PATIENCE
from ..gates.repeats import REPEATED
from ..gates.zero_velocities import ZERO_WITHOUT_LOCK, ZeroVelocities
from .attitude_source import AttitudeSource
from .body_motion import DVL_CONTRADICTS, NO_DVL, LinearMotion, at_body_origin, unknown
from .imu_integral import ACC, N3, R_GB, RAW_C, C, ImuIntegral, W
from .imu_trust import ImuTrust
from .pace import longest_gap
from .polynomials import polynomial_at
from .series import Series
from .settling import SettlingAttitude
from .velocity_offset import VelocityOffset
from .velocity_use import velocity_use

DVL_DEGREE = 2
DVL_PERIODS = 2.2         # periods of a slow DVL that the IMU bridges: one lost velocity
MIN_DVL_VALUES = 3
MAX_DVL_QUEUE = 64

# [sqrt(s)] Standard deviation of a walk half-way between two knots of the checks' offset, over its
# size.
HALF_BRIDGE = 0.5 * math.sqrt(KNOT_SPACING)
DVL_FLOOR = 0.003         # [m/s] smallest scale of the gate
# [m/s] Largest noise of a DVL that is still informative at half a metre per second.
DVL_LARGEST = 0.2
DVL_PATIENCE = 2.5        # [s] of rejected velocities after which the gate restarts

OUTLIER = "does not fit the IMU (outlier)"


class _DvlValue(NamedTuple):
    """A DVL velocity still undecided by the gate, in all frames that need it."""

    t: float
    at_origin: Sequence[float]    # (3,) [m/s] at the body origin, body axes
    at_imu: Sequence[float]       # (3,) [m/s] at the IMU, body axes
    offset: Sequence[float]       # (3,) [m/s] at the IMU minus C, in G
    R_Gb: Sequence[float]         # (9,)


class DvlFusion:
    """Fuses velocities with the integral `imu`; times [s] increase.

    `gate` judges them; `offset` holds what is added to the integral, and the accelerometer's bias;
    `settling`: whether they contradict an attitude that drifts; `last_velocity` [s]: time of the
    last one.
    """

    def __init__(self, config: Config, clock: SensorClock, imu: ImuIntegral,
                 source: AttitudeSource, trust: ImuTrust,
                 on_reject: Callable[[str, str], None], log: Callable[..., None],
                 walk: Callable[[], float]):
        """walk: returns how fast the integral departs from the true velocity by noise, as
        `ImuIntegral.walk`."""
        self._walk = walk
        self._imu, self._source, self._trust, self._clock = imu, source, trust, clock
        self._on_reject, self._log = on_reject, BurstFilter("dvl", log)
        self._settings, self._timeout = config.filter, config.dvl.timeout
        self._stddev = config.dvl.stddev
        self._gravity = config.robot.gravity
        self._r_imu = (FRD_FROM_FLU @ config.imu.xyz).tolist()
        self._r_dvl = (FRD_FROM_FLU @ config.dvl.xyz).tolist()
        self._imu_from_dvl = [a - b for a, b in zip(self._r_imu, self._r_dvl)]
        self.settling = SettlingAttitude()
        self.offset = VelocityOffset(config.filter.dvl_window, config.dvl.stddev)
        self._use = velocity_use(config, self.offset)
        self._zeros = ZeroVelocities()
        self._clipped = ClippedVelocities(dvl_axes(config), config.dvl.stddev)
        self._make_gate()
        self.reset()

    def _make_gate(self) -> None:
        slope, wander, steepest = self._use.slope
        self.gate = innovation_gate(self._settings.gates, DVL_FLOOR, DVL_LARGEST, slope, wander,
                                    DVL_PATIENCE, steepest)

    def change_settings(self, config: Config, gates_change: bool) -> None:
        """Use new settings from now on; gates_change: `filter.gates` has changed."""
        self._settings, self._timeout = config.filter, config.dvl.timeout
        if gates_change:
            self._undecided.clear()
            self._make_gate()

    def reset(self) -> None:
        """Forget all velocities."""
        self.settling.reset()
        self._log.reset()
        self.gate.reset()
        self.offset.reset()
        self._at_origin = Series(3)      # accepted velocities at the body origin, body axes
        self._queue: list[tuple[float, Sequence[float]]] = []   # later than the IMU's last reading
        self._undecided: list[_DvlValue] = []
        # [s] times of the last velocity and of the last rejected one
        self.last_velocity = self._last_rejected = -math.inf
        self._gap_end = -math.inf       # [s] end of the IMU's last gap
        self._refused_since = math.inf      # [s] since when all velocities are rejected
        self._measured = new_values("dvl")

    def restart(self) -> None:
        """Forget the offset, since the integral is meaningless across a gap in the IMU."""
        self.offset.restart()
        self._source.restart()
        self._trust.gyro.restart()
        self.settling.restart()
        if self.settling.has_ended:
            self._end_drift()
        self._imu.restart_gravity()
        self._queue.clear()
        self._restart_gate()

    def note_gap(self, t: float) -> None:
        """Note a gap of the IMU that ends with the reading at t, the first after it."""
        self.restart()
        self._gap_end = t

    def _restart_gate(self) -> None:
        """Restart the gate; undecided velocities are lost."""
        self._undecided.clear()
        self.gate.reset()

    def _begin_offset(self) -> None:
        """Restart the offset with an attitude that has just become known."""
        self.offset.reset()
        self._imu.restart_gravity()
        self._restart_gate()

    def discard_after(self, t: float) -> None:
        """Remove the velocities after t, from a frozen DVL."""
        self._at_origin.discard_after(t)
        self.offset.discard_after(t)

    # --- velocities -------------------------------------------------------------------------------

    def add(self, t: float, velocity: Sequence[float]) -> None:
        """Add a velocity (3,) at the DVL; it waits for IMU readings up to its time.

        A nonzero velocity that is bit-identical to the last is no measurement: it would drag the
        gate along while the sensor is frozen, or published again and again. Nor is one of exactly
        zero from a sensor that does not measure that, or one at the end of the sensor's range.
        """
        reason = self._unmeasured(t, velocity)      # (also without gates: it tells the true rate)
        if reason and self._settings.gates:
            self._on_reject("dvl", reason)
            return
        if t <= self._imu.series.last_time:
            self._fuse(t, velocity)
        else:
            self._queue.append((t, velocity))
            del self._queue[:-MAX_DVL_QUEUE]

    def _unmeasured(self, t: float, velocity: Sequence[float]) -> str:
        """Why a velocity (3,) is no measurement, '' if it is one."""
        if self._measured.repeats(t, velocity) and any(velocity):
            return REPEATED
        if self._zeros.are_unlikely(velocity):
            return ZERO_WITHOUT_LOCK
        return AT_LIMIT if self._clipped.at_limit(velocity) else ""

    def catch_up(self, t: float) -> None:
        """Fuse the velocities that waited for the IMU's reading at t."""
        while self._queue and self._queue[0][0] <= t:
            self._fuse(*self._queue.pop(0))

    def _fuse(self, t: float, velocity: Sequence[float]) -> None:
        """Gate a DVL velocity by its offset from the IMU's integral, and keep accepted ones."""
        interpolated = self._imu.series.interpolate(t)
        # (a late velocity may have been measured before or in the IMU's last gap)
        if interpolated is None or t < self._gap_end or t <= self._at_origin.last_time:
            return
        imu = interpolated.tolist()
        w, R_Gb = imu[W], imu[R_GB]
        at_imu = [v + c for v, c in zip(velocity, cross(w, self._imu_from_dvl))]
        at_origin = [v - c for v, c in zip(velocity, cross(w, self._r_dvl))]
        offset = [v - c for v, c in zip(turned(R_Gb, at_imu), imu[C])]
        self.last_velocity = t
        log = t, at_imu, w, imu[RAW_C], R_Gb, imu[N3]
        if self._trust.distrusted:
            self._log_row(True, *log)
            return      # the offset from a distrusted IMU is meaningless
        if self._follow_drift(t, turned(R_Gb, at_imu), imu):
            self._log_row(True, *log)
            return
        if not self._source.known:
            self._log_row(True, *log)
            if self._source.find(t, at_imu):
                self._begin_offset()
            return
        restarts = self.gate.restarts
        self.gate.note_crowded(self._clock.intervals.crowded)
        self._undecided.append(_DvlValue(t, at_origin, at_imu, offset, R_Gb))
        decided = self.gate.gate(t, np.array(offset), np.array(R_Gb).reshape(3, 3))
        self._log_row(not (decided and decided[-1][1]), *log)
        if self.gate.restarts > restarts:
            self.offset.restart()      # (older values belong to another offset)
        if self.gate.drift is not None:
            self.offset.take_off(t - DVL_PATIENCE, self.gate.drift.tolist())
            self.settling.restart()
            self._undecided = self._undecided[-1:]
        for _, accepted in decided:
            value = self._undecided.pop(0)
            if accepted:
                self._trust.prove()
                self._source.keep(value.t, value.at_imu)
                self._refused_since = math.inf
                self._at_origin.append(value.t, value.at_origin)
                self._use.correct(value.t, value.offset, value.R_Gb, self.gate.noise)
            else:
                self._source.doubt(value.t)
                self.offset.doubt()
                self._last_rejected = value.t
                self._doubt_bias(value.t)
                # After a contradiction of the IMU, the IMU has to be proven, not the DVL.
                doubted = self._trust.unproven
                self._on_reject(*(("imu", "contradicted itself, and has not fitted the DVL since")
                                  if doubted else ("dvl", OUTLIER)))
                if value.t - self._at_origin.last_time > self._use.memory:
                    self._restart_gate()
                    break

    def _log_row(self, doubted: bool, t: float, *values: Sequence[float]) -> None:
        """Log a velocity for the frame checks, which take its noise for all that there is: where
        the integral's own exceeds it between two knots of its offset, they learn nothing."""
        if self._walk() * HALF_BRIDGE > self._stddev:
            self._log.leave_out(t)
        else:
            self._log.add(doubted, t, *values)

    def _follow_drift(self, t: float, velocity: Sequence[float], imu: Sequence[float]) -> bool:
        """Whether the IMU's attitude drifts according to a velocity (3,) at the IMU in G; `imu`:
        the integral's row at t. What was learnt with such an attitude is forgotten."""
        if self._source.own or not self._use.drifts or not self._settings.gates:
            return False
        self.settling.add(t, velocity, imu, self.offset.bias, self.offset.bias_variance,
                          self.offset.walk, self._stddev)
        if self.settling.has_ended:
            self.restart()
        return self.settling.drifts

    def _end_drift(self) -> None:
        """Forget biases that may have been learnt from an attitude that has drifted."""
        settling, begin = self.settling, self.settling.begin
        self.offset.reset(settling.bias, settling.bias_variance, settling.spans.last - begin)
        settling.spans.close()
        gyro = self._trust.gyro
        if gyro.since is not None and gyro.since >= begin:
            gyro.reset()

    def _doubt_bias(self, t: float) -> None:
        """Forget the accelerometer's bias if no velocity has fitted it for longer than any burst of
        garbage: it may have been learnt from an attitude that was still settling."""
        self._refused_since = min(self._refused_since, t)
        if t - self._refused_since > JUMP_PATIENCE:
            self.offset.reset()
            self._refused_since = t

    # --- motion at a tick -------------------------------------------------------------------------

    def wait(self) -> float:
        """[s] of data after a tick until the velocities for its motion have arrived."""
        return (self._clock.delay + DVL_PERIODS * self._period()
                + lateness(self._clock))

    def _period(self) -> float:
        """Usual interval [s] between measurements."""
        return max(self._clock.period or 0.0, self._measured.period or 0.0)

    def is_silent(self, t: float) -> bool:
        """Whether there is no DVL at t [s]. Velocities lost one by one are no silence."""
        return t - self.last_velocity > max(self.longest_gap(), DVL_PATIENCE)

    def longest_gap(self) -> float:
        """[s] Longest gap between velocities that the IMU bridges."""
        return longest_gap(self._timeout, self._period(), DVL_PERIODS)

    def motion(self, t: float, imu: Sequence[float], w: Sequence[float],
               w_dot: Sequence[float]) -> LinearMotion:
        """Linear motion of the body origin at t; `imu`: fitted columns of the IMU's series at t;
        w, w_dot (3,): rates and their derivative."""
        longest = self.longest_gap()
        if self._at_origin.gap_around(t) > longest:
            return unknown(DVL_CONTRADICTS if self._last_rejected > t - longest else NO_DVL)
        if self._use.acceleration == "dvl":
            return self._of_velocities(t)
        if self.offset.contradictions.cover(t, t):
            return unknown(DVL_CONTRADICTS)
        fused = self.offset.at(t, self._period())
        if fused is None:
            return unknown(NO_DVL)
        offset, drift, stddev = fused
        if self._use.acceleration == "imu":
            drift = [0.0, 0.0, 0.0]
        R_Gb = self._imu.rotation_at(t)
        at_imu = turned_back(R_Gb, [c + o for c, o in zip(imu[C], offset)])
        acceleration = turned_back(R_Gb, [a + d for a, d in zip(imu[ACC], drift)])
        v, v_dot = at_body_origin(at_imu, acceleration, w, w_dot, self._r_imu)
        return LinearMotion(v, v_dot, "", stddev)

    def _of_velocities(self, t: float) -> LinearMotion:
        """The linear motion from accepted velocities alone."""
        half = self._use.half_window(self._period(), self._settings.imu_window,
                                     self._settings.dvl_window / 2)
        times, rows = self._at_origin.window(t - half, t + half)
        fit = polynomial_at(times, rows, t, DVL_DEGREE) if len(times) > MIN_DVL_VALUES else None
        return unknown(NO_DVL) if fit is None else LinearMotion(*fit, "")

    # --- reports ----------------------------------------------------------------------------------

    def sentences(self) -> list[str]:
        """Warnings for the operator about the messages."""
        if self._clock.intervals.alternates:
            return []       # (values that repeat are another node's)
        clipped = self._clipped.sentences() if self._settings.gates else []
        return [*self._measured.sentences("dvl", self._clock.rate), *clipped]

    def motion_sentences(self) -> list[str]:
        """Warnings that follow from the IMU's integral and the velocities together."""
        return [*self.settling.sentences(), *self._force_sentences()]

    def _force_sentences(self) -> list[str]:
        """A warning if the specific force has diverged from the DVL's velocity, and stayed so."""
        before, change = self.offset.jumped, self.offset.change
        if before is None or change is None:
            return []
        shown = ", ".join(f"{c:.2f}" for c in change)
        tilt = math.degrees(math.hypot(*change) / self._gravity)
        return [f"imu linear acceleration: at {before.t:.0f} s the specific force changed by "
                f"[{shown}] m/s^2 (front, right, down) relative to the DVL's velocity; this is "
                "corrected. Either the accelerometer's bias has jumped (heat, a shock), or the "
                f"attitude has tilted by {tilt:.1f} degrees, or the DVL's velocities are off: "
                "check the IMU's mount and the DVL, and calibrate the IMU"]
