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

"""Fusion of IMU and DVL: wide-band velocity and acceleration of the body origin.

The DVL's velocity less the IMU's integrated velocity C is nearly constant. So the DVL determines
the slow part of velocity and acceleration and the IMU the fast part, whatever the DVL's rate,
latency or dropouts.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...model.rotations import FRD_FROM_FLU, cross, from_down, turned, turned_back
from ..checks.bursts import BurstFilter
from ..decode.input_state import REPEATED
from ..decode.poses import lateness
from ..decode.sensor_clock import SensorClock
from ..gates.choose import imu_consistency, innovation_gate, spike_gate
from ..gates.contradictions import Contradictions
from ..gates.frozen import FROZEN_AFTER
from ..gates.imu_consistency import TURN_SPAN
from ..gates.innovations import JUMP_PATIENCE
from ..gates.repeats import NewValues
from ..gates.spikes import GatedRow
from .attitude_source import AttitudeSource
from .body_motion import (
    CONTRADICTS,
    DVL_CONTRADICTS,
    NO_DVL,
    NO_IMU,
    LinearMotion,
    Motion,
    at_body_origin,
    unknown,
)
from .expected_attitude import ExpectedAttitude
from .gyro_bias import BIAS_SPAN, HEADING, RATES, GyroBias
from .imu_integral import ACC, N3, R_GB, RAW_C, YAW, C, ImuIntegral, W
from .mount import MIN_KNOCK, Mount
from .pace import half_window, longest_gap, window_wait
from .polynomials import polynomial_at
from .series import Series
from .settling import SettlingAttitude
from .thinning import BlockAverage
from .velocity_offset import BIAS_STDDEV, LARGEST_FORCE_BIAS, VelocityOffset

IMU_DEGREE = 3            # cubic: its derivative is flat to the fourth order in frequency
DVL_DEGREE = 2
MAX_IMU_STEP = 0.25       # [s] without a reading, after which the integral is meaningless
DVL_PERIODS = 2.2         # periods of a slow DVL that the IMU bridges: one lost velocity
# [s] without a contradiction after which the IMU is used again: three times the judged span, so
# that the end of a fault is seen too.
IMU_QUIET = 0.3
MIN_DVL_VALUES = 3
MAX_DVL_QUEUE = 64
IMU_LOG_PERIOD = 0.1      # [s] between the IMU's rows for the frame checks

# Smallest scales of the gates: down vector, rates [rad/s], specific force [m/s^2]. Heading is not
# judged, since it wraps.
IMU_FLOOR = [0.002] * 6 + [0.02] * 3 + [math.inf]
DVL_FLOOR = 0.003         # [m/s]
# [m/s] Largest noise of a DVL that is still informative at half a metre per second.
DVL_LARGEST = 0.2
DVL_WANDER = 0.02         # [m/s^2] change of the offset's slope in a second: 0.1 deg of attitude
# For velocities without integrated force [m/s^2]: initial standard deviation of the acceleration,
# its change in a second, its largest value (full thrust gives less than 1 g), and the noise of an
# acceleration that is the velocity's slope.
VEHICLE_SLOPE, VEHICLE_WANDER, LARGEST_ACCELERATION, SLOPE_STDDEV = 0.5, 1.0, 10.0, 0.03
VELOCITY_MEMORY = 0.5     # [s] after which the last accepted velocity predicts nothing
DVL_PATIENCE = 2.5        # [s] of rejected velocities after which the gate restarts

STEP_SPAN = 0.05          # [s] in which an attitude steps, faster than any vehicle turns

OUTLIER = "does not fit the IMU (outlier)"
NO_TURN = (0.0, 0.0, 0.0, 0.0)


class _DvlValue(NamedTuple):
    """A DVL velocity still undecided by the gate, in all frames that need it."""

    t: float
    at_origin: Sequence[float]    # (3,) [m/s] at the body origin, body axes
    at_imu: Sequence[float]       # (3,) [m/s] at the IMU, body axes
    offset: Sequence[float]       # (3,) [m/s] at the IMU minus C, in G
    R_Gb: Sequence[float]         # (9,)


class InertialFilter:
    """Fuses IMU and DVL readings; times [s] are relative to the front end's origin.

    `on_reject(role, reason)` counts rejections, `log(name, t, *values)` feeds the frame checks,
    outliers included. Windows and gaps follow the rates of `imu_clock` and `dvl_clock` if these are
    slower than the settings assume.
    """

    def __init__(self, config: Config, imu_clock: SensorClock, dvl_clock: SensorClock,
                 on_reject: Callable[[str, str], None] = lambda role, reason: None,
                 log: Callable[..., None] = lambda name, t, *values: None):
        self._on_reject = on_reject
        self._log_imu, self._log_dvl = BurstFilter("imu", log), BurstFilter("dvl", log)
        self._settings = config.filter
        self._has_force = config.imu.measures_force
        # Without specific force, only velocities give the acceleration.
        self._acceleration = config.filter.linear_acceleration if self._has_force else "dvl"
        self._velocity_stddev = config.dvl.stddev
        self._types = config.imu.type, config.dvl.type
        self._imu_clock, self._dvl_clock = imu_clock, dvl_clock
        self._imu_timeout, self._dvl_timeout = config.imu.timeout, config.dvl.timeout
        self._r_imu = (FRD_FROM_FLU @ config.imu.xyz).tolist()
        self._r_dvl = (FRD_FROM_FLU @ config.dvl.xyz).tolist()
        self._imu_from_dvl = [a - b for a, b in zip(self._r_imu, self._r_dvl)]
        self._current = config.robot.current_ned
        self._source = AttitudeSource(config)
        self._gravity = config.robot.gravity
        self._expected = ExpectedAttitude(self._gravity)
        self._gyro = GyroBias()
        self._mount = Mount()
        self._settling = SettlingAttitude()
        self._thin = BlockAverage(newest=[9])
        self._imu = ImuIntegral(config.robot.gravity, config.imu.gravity_time)
        self._offset = VelocityOffset(config.filter.dvl_window, config.dvl.stddev)
        self._make_gates(config.filter.gates)
        self.reset()

    def _make_gates(self, gates: bool) -> None:
        self._imu_gate = spike_gate(gates, IMU_FLOOR)
        self._consistency = imu_consistency(gates)
        slope, wander, steepest = ((BIAS_STDDEV, DVL_WANDER, LARGEST_FORCE_BIAS) if self._has_force
                                   else (VEHICLE_SLOPE, VEHICLE_WANDER, LARGEST_ACCELERATION))
        self.dvl_gate = innovation_gate(gates, DVL_FLOOR, DVL_LARGEST, slope, wander, DVL_PATIENCE,
                                        steepest)

    def change_settings(self, config: Config, gates_change: bool) -> None:
        """Use new settings from now on; gates_change: `filter.gates` has changed."""
        self._settings = config.filter
        self._imu_timeout, self._dvl_timeout = config.imu.timeout, config.dvl.timeout
        if gates_change:
            self.flush()
            self._undecided.clear()
            self._make_gates(config.filter.gates)

    def reset(self) -> None:
        """Forget all signals."""
        self._source.reset()
        self._imu_gate.reset()
        self._thin.reset()
        self._consistency.reset()
        self._gyro.reset()
        self._mount.reset()
        self._settling.reset()
        self._log_imu.reset()
        self._log_dvl.reset()
        self._imu.reset()
        self.dvl_gate.reset()
        self._offset.reset()
        self._at_origin = Series(3)      # accepted DVL velocities at the body origin, body axes
        self._dvl_queue: list[tuple[float, Sequence[float]]] = []   # later than the IMU's last
        self._undecided: list[_DvlValue] = []
        self._logged = -math.inf
        self._expected.reset()
        # [s] times of the DVL's last velocity and of its last rejected one
        self._last_velocity = self._last_rejected = -math.inf
        self._gap_end = -math.inf       # [s] end of the IMU's last gap
        self._refused_since = math.inf      # [s] since when all velocities are rejected
        self._measured = NewValues(FROZEN_AFTER["dvl"])     # the DVL's velocities
        # (time [s], size [m/s^2] in body axes) of a jump of the force's bias
        self._force_jump: tuple[float, np.ndarray] | None = None
        self._attitude_stepped = False
        self._before: Sequence[float] = ()      # the integral's row before the IMU was distrusted
        self._contradictions = Contradictions()
        self._turned_heading = Contradictions()    # (these do not affect the tilt)
        self._distrusted = False       # the IMU contradicts itself, or has not been proven since

    def flush(self) -> None:
        """Integrate what the gate still holds, at the end of a recording."""
        for gated in self._imu_gate.flush():
            self._integrate(gated)

    def sentences(self) -> list[str]:
        """Warnings for the operator about attitude and rates."""
        return [*self._source.sentences(), *self._mount.sentences(self._imu.series.last_time),
                *self._gyro.sentences(), *self._measured.sentences("dvl", self._dvl_clock.rate)]

    def motion_sentences(self) -> list[str]:
        """Warnings that follow from the IMU's integral and the DVL's velocity together."""
        return [*self._settling.sentences(), *self._force_sentences()]

    def _force_sentences(self) -> list[str]:
        """A warning if the specific force has diverged from the DVL's velocity."""
        if self._force_jump is None:
            return []
        since, slope = self._force_jump
        shown = ", ".join(f"{-s:.2f}" for s in slope)
        tilt = math.degrees(float(np.linalg.norm(slope)) / self._gravity)
        return [f"imu linear acceleration: at {since:.0f} s the specific force changed by "
                f"[{shown}] m/s^2 (front, right, down) relative to the DVL's velocity; this is "
                "corrected. Either the accelerometer's bias has jumped (heat, a shock), or the "
                f"attitude has tilted by {tilt:.1f} degrees: check the IMU's mount, and calibrate "
                "it"]

    # --- readings ---------------------------------------------------------------------------------

    def add_imu(self, t: float, reading: Sequence[float]) -> None:
        """Add an IMU reading later than the last; it is used once the gate has decided."""
        own = self._source.own
        judged = self._source.judge(t, self._mount.corrected(reading),
                                    longest_gap(MAX_IMU_STEP, self._imu_clock))
        if own is not None and self._source.own != own:
            self._imu_gate.reset()
            self._consistency.restart()
            self._restart_offset()
        if math.isnan(reading[0]) and not self._source.own and self._has_force:
            self._on_reject("imu", "without the orientation that others have")
        if judged is None:
            return
        for gated in self._imu_gate.gate(t, judged):
            self._integrate(gated)

    def add_dvl(self, t: float, velocity: Sequence[float]) -> None:
        """Add a velocity (3,) at the DVL; it waits for IMU readings up to its time.

        A nonzero velocity that is bit-identical to the last is no measurement: it would drag the
        gate along while the sensor is frozen, or published again and again.
        """
        if self._measured.repeats(t, velocity) and any(velocity) and self._settings.gates:
            self._on_reject("dvl", REPEATED)
            return
        if t <= self._imu.series.last_time:
            self._fuse(t, velocity)
        else:
            self._dvl_queue.append((t, velocity))
            del self._dvl_queue[:-MAX_DVL_QUEUE]

    def discard_imu_after(self, t: float) -> None:
        """Remove the IMU's readings after t, from a frozen IMU; the integral continues from t."""
        self._imu_gate.reset()
        self._imu.discard_after(t)

    def discard_dvl_after(self, t: float) -> None:
        """Remove the DVL's velocities after t, from a frozen DVL."""
        self._at_origin.discard_after(t)
        self._offset.discard_after(t)

    def _integrate(self, gated: GatedRow) -> None:
        """Integrate a gated IMU reading, then fuse the DVL velocities that waited for it."""
        if gated.spikes is not None:
            self._on_reject("imu", "spike")
        thinned = self._thin.add(gated.t, gated.row)
        if thinned is None:
            return
        t, row = thinned
        longest = longest_gap(MAX_IMU_STEP, self._imu_clock)
        if len(self._imu.series) and t - self._imu.series.last_time > longest:
            self._consistency.restart()
            self._restart_offset()
            self._gap_end = t
        row = self._source.complete(t, row)
        row = [*row[:3], *(w - b for w, b in zip(row[3:6], self._gyro.bias)), *row[6:]]
        spacing = t - self._imu.series.last_time
        before = self._imu.newest
        self._imu.add(t, row, self._offset.bias)
        if not self._distrusted and spacing < longest:
            self._mount.follow(spacing, self._imu.R_Gb, row[6:9])
        self._follow_trust(t, row, before, erratic=gated.erratic is not None)
        if t - self._logged > IMU_LOG_PERIOD:
            self._logged = t
            self._log_imu.add(self._distrusted, t, row[:9], self._imu.R_Gb, row[9:])
        while self._dvl_queue and self._dvl_queue[0][0] <= t:
            self._fuse(*self._dvl_queue.pop(0))

    def _follow_trust(self, t: float, row: Sequence[float], before: Sequence[float],
                      erratic: bool) -> None:
        """Note where the IMU contradicts itself, and restart once it no longer does; before: the
        integral's row of the last reading."""
        span = max(TURN_SPAN, self._imu_clock.period or 0.0)
        self._attitude_stepped |= not self._source.own and self._has_step()
        fits = self._consistency.fits(t, self._turn_error(t, row[3:6]), row[6:9])
        if erratic or not fits:
            # The fault may have begun anywhere in the span of the judgement.
            if not self._distrusted:
                self._before = before
            self._contradictions.add(t - span, t)
            self._distrusted = True
            self._gyro.restart()
        elif self._wrong_turn(t, row) == RATES:
            self._contradictions.add(t - 2 * BIAS_SPAN, t)
            self._distrusted = True
        elif self._distrusted and t - self._contradictions.last > IMU_QUIET:
            self._end_distrust(t, row[6:9])
        if self._distrusted:
            self._on_reject("imu", "attitude, gyro and accelerometer do not fit each other")
        if (self._contradictions.is_open and not self._distrusted
                and t - self._last_velocity > self._longest_dvl_gap()):
            self._contradictions.close()    # without a DVL, nothing can prove the IMU

    def _end_distrust(self, t: float, force: Sequence[float]) -> None:
        """Trust an IMU that no longer contradicts itself, unless its mount may have turned."""
        if self._attitude_stepped and self._before:
            self._mount.note_step(t, self._contradictions.begin, self._before, self._imu)
        self._attitude_stepped = False
        if self._mount.is_judging and self._has_force:
            if self._mount.judge(t, self._imu, force):
                self._imu_gate.reset()
                self._thin.reset()
                self._consistency.restart()
            if self._mount.is_judging:
                return
        self._distrusted = False
        self._restart_offset()

    def _wrong_turn(self, t: float, row: Sequence[float]) -> str:
        """RATES or HEADING if these have been wrong, else ''; needs an attitude that is independent
        of the rates."""
        if self._source.own or not self._has_force or not self._settings.gates:
            return ""
        if self._contradictions.is_open or self._settling.spans.is_open:
            self._gyro.restart()        # an unproven attitude proves nothing
            return ""
        if not self._gyro.is_due(t):
            return ""
        wrong = self._gyro.look(t, self._imu.turn_error(BIAS_SPAN), row[:3])
        if wrong == HEADING:
            self._turned_heading.add(t - 2 * BIAS_SPAN, t)
        elif self._turned_heading.is_open:
            self._turned_heading.close()
        return wrong

    def _has_step(self) -> bool:
        """Whether the newest attitude differs by MIN_KNOCK both from an earlier one and from the
        gyro's prediction: if only the gyro turns, it is no step."""
        series, now = self._imu.series, self._imu.newest
        earlier = series.latest(series.last_time - STEP_SPAN)
        if earlier is None:
            return False
        then = earlier[1].tolist()
        tilt = max(abs(a - b) for a, b in zip(now[N3], then[N3]))
        return (max(tilt, abs(math.remainder(now[YAW] - then[YAW], math.tau))) > MIN_KNOCK
                and max(map(abs, self._imu.turn_error(STEP_SPAN))) >= MIN_KNOCK)

    def _turn_error(self, t: float, rates: Sequence[float]) -> Sequence[float]:
        """(4,) [rad] deviation of the turn over the last TURN_SPAN from the expected one.

        An attitude estimated here relies on the gyro and always agrees with it; then this is the
        turn due to the rates' change over that span.
        """
        if not self._source.own:
            return self._imu.turn_error(max(TURN_SPAN, self._imu_clock.period or 0.0))
        earlier = self._imu.series.latest(t - TURN_SPAN)
        if earlier is None:
            return NO_TURN
        return [*(TURN_SPAN * (w - v) for w, v in zip(rates, earlier[1][W].tolist())), 0.0]

    def wait(self) -> float:
        """[s] of data after a tick until everything for its motion has arrived."""
        imu = window_wait(self._settings.imu_window, self._imu_clock)
        imu += lateness(self._types[0], self._imu_clock.period)
        dvl = self._dvl_clock.delay + DVL_PERIODS * self._dvl_period()
        return max(imu, dvl + lateness(self._types[1], self._dvl_clock.period))

    def _dvl_period(self) -> float:
        """Usual interval [s] between the DVL's measurements."""
        return max(self._dvl_clock.period or 0.0, self._measured.period or 0.0)

    def _longest_dvl_gap(self) -> float:
        return max(self._dvl_timeout, DVL_PERIODS * self._dvl_period())

    def _restart_offset(self) -> None:
        """Forget the offset, since the integral is meaningless across a gap in the IMU."""
        self._offset.restart()
        self._source.restart()
        self._gyro.restart()
        self._settling.restart()
        if self._settling.spans.is_open:
            self._end_drift()
        self._imu.restart_gravity()
        self._dvl_queue.clear()
        self._restart_gate()

    def _restart_gate(self) -> None:
        """Restart the DVL's gate; undecided values are lost."""
        self._undecided.clear()
        self.dvl_gate.reset()

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
        self._last_velocity = t
        log = t, at_imu, w, imu[RAW_C], R_Gb, imu[N3]
        if self._distrusted:
            self._log_dvl.add(True, *log)
            return      # the offset from a distrusted IMU is meaningless
        if self._follow_drift(t, turned(R_Gb, at_imu), imu):
            self._log_dvl.add(True, *log)
            return
        if not self._source.known:
            self._log_dvl.add(True, *log)
            if self._source.find(t, at_imu):
                self._begin_offset()
            return
        restarts = self.dvl_gate.restarts
        self._undecided.append(_DvlValue(t, at_origin, at_imu, offset, R_Gb))
        decided = self.dvl_gate.gate(t, np.array(offset), np.array(R_Gb).reshape(3, 3))
        self._log_dvl.add(not (decided and decided[-1][1]), *log)
        if self.dvl_gate.restarts > restarts:
            self._offset.restart()      # (older values belong to another offset)
        if self.dvl_gate.bend is not None:
            self._force_jump = t - DVL_PATIENCE, self.dvl_gate.bend
            self._offset.take_off(self.dvl_gate.bend.tolist())
            self._settling.restart()
            self._undecided = self._undecided[-1:]
        for _, accepted in decided:
            value = self._undecided.pop(0)
            if accepted:
                if self._contradictions.is_open:
                    self._contradictions.close()
                self._source.keep(value.t, value.at_imu)
                self._refused_since = math.inf
                self._at_origin.append(value.t, value.at_origin)
                if self._has_force:
                    self._offset.stddev = max(self._velocity_stddev, self.dvl_gate.noise)
                    self._offset.add(value.t, value.offset, value.R_Gb)
            else:
                self._source.doubt(value.t)
                self._last_rejected = value.t
                self._doubt_bias(value.t)
                # After a contradiction of the IMU, the IMU has to be proven, not the DVL.
                doubted = self._contradictions.is_open
                self._on_reject(*(("imu", "contradicted itself, and has not fitted the DVL since")
                                  if doubted else ("dvl", OUTLIER)))
                if not self._has_force and value.t - self._at_origin.last_time > VELOCITY_MEMORY:
                    self._restart_gate()
                    break

    def _follow_drift(self, t: float, velocity: Sequence[float], imu: Sequence[float]) -> bool:
        """Whether the IMU's attitude drifts according to a velocity (3,) at the IMU in G; `imu`:
        the integral's row at t. What was learnt with such an attitude is forgotten."""
        if self._source.own or not self._has_force or not self._settings.gates:
            return False
        self._settling.add(t, velocity, imu, self._offset.bias, self._velocity_stddev)
        if self._settling.spans.is_open and not self._settling.drifts:
            self._restart_offset()
        return self._settling.drifts

    def _end_drift(self) -> None:
        """Forget biases that may have been learnt from an attitude that has drifted."""
        begin = self._settling.begin
        self._settling.spans.close()
        self._offset.reset(self._settling.bias)
        if self._gyro.since is not None and self._gyro.since >= begin:
            self._gyro.reset()
        if self._force_jump is not None and self._force_jump[0] >= begin:
            self._force_jump = None

    def _doubt_bias(self, t: float) -> None:
        """Forget the accelerometer's bias if no velocity has fitted it for longer than any burst of
        garbage: it may have been learnt from an attitude that was still settling."""
        self._refused_since = min(self._refused_since, t)
        if t - self._refused_since > JUMP_PATIENCE:
            self._offset.reset()
            self._refused_since = t

    def _begin_offset(self) -> None:
        """Restart the offset with an attitude that has just become known."""
        self._offset.reset()
        self._imu.restart_gravity()
        self._restart_gate()

    # --- motion at a tick -------------------------------------------------------------------------

    def motion(self, t: float) -> Motion | None:
        """Motion at t; None if the IMU does not cover t and has never shown an attitude."""
        imu = self._imu.series
        half = half_window(self._settings.imu_window, self._imu_clock)
        if self._contradictions.cover(t - half, t + half):
            return self.unseen(t, CONTRADICTS)
        if imu.gap_around(t) > longest_gap(self._imu_timeout, self._imu_clock):
            return self.unseen(t, NO_IMU)
        times, rows = imu.window(t - half, t + half)
        if len(times) < 3:
            return self.unseen(t, NO_IMU)
        fit = polynomial_at(times, rows[:, :12], t, min(IMU_DEGREE, len(times) - 1))
        latest = imu.latest(t)
        if fit is None or latest is None:
            return self.unseen(t, NO_IMU)
        value, slope = fit
        w, w_dot = value[W], slope[W]
        R_nb = from_down(value[N3], latest[1].item(YAW))
        v, v_dot, reason, stddev = self._linear_motion(t, value, w, w_dot)
        # If the DVL contradicts an attitude estimated here, the attitude may be wrong.
        known = self._source.level(t) and not (self._source.own and reason == DVL_CONTRADICTS)
        if known:
            acceleration = None if reason else [a + b for a, b in zip(v_dot, cross(w, v))]
            self._expected.add(t, R_nb, acceleration)
        elif (unseen := self.unseen(t, reason)) is not None:
            return unseen
        reason = self._source.mask_reason(t) or reason
        if (self._turned_heading.cover(t - half, t + half)
                or self._settling.spans.cover(t - half, t + half)):
            reason = CONTRADICTS
        if any(self._current):
            # Irrotational current: all of Fossen's terms use nu - R^T c.
            drift = (R_nb.T @ self._current).tolist()
            v = [x - d for x, d in zip(v, drift)]
            v_dot = [x + d for x, d in zip(v_dot, cross(w, drift))]
        return Motion(R_nb, np.array([*v, *w]), np.array([*v_dot, *w_dot]), reason,
                      velocity_stddev=stddev)

    def unseen(self, t: float, reason: str) -> Motion | None:
        """A vehicle at rest in the expected attitude; None if its attitude was never known."""
        expected = self._expected.at(t)
        if expected is None:
            return None
        R_nb, doubt = expected
        return Motion(R_nb, np.zeros(6), np.zeros(6), reason, doubt)

    def _velocity_half(self) -> float:
        """[s] Half the window over which velocities are differentiated. Without specific force it
        is as long as SLOPE_STDDEV requires of a slope's noise, sqrt(3 / 2 stddev^2 period /
        half^3)."""
        longest = self._settings.dvl_window / 2
        if self._has_force:
            return longest
        period = self._dvl_clock.period or 0.0
        variance = 1.5 * self._velocity_stddev ** 2 * period / SLOPE_STDDEV ** 2
        return min(longest, max(self._settings.imu_window, variance ** (1 / 3)))

    def _linear_motion(self, t: float, imu: Sequence[float], w: Sequence[float],
                       w_dot: Sequence[float]) -> LinearMotion:
        """Linear motion of the body origin at t; `imu`: fitted columns of the IMU's series at t."""
        source = self._acceleration
        longest = self._longest_dvl_gap()
        if self._at_origin.gap_around(t) > longest:
            return unknown(DVL_CONTRADICTS if self._last_rejected > t - longest else NO_DVL)
        if source == "dvl":
            half = self._velocity_half()
            times, rows = self._at_origin.window(t - half, t + half)
            if len(times) <= MIN_DVL_VALUES:
                return unknown(NO_DVL)
            fit = polynomial_at(times, rows, t, DVL_DEGREE)
            return unknown(NO_DVL) if fit is None else LinearMotion(*fit, "")
        fused = self._offset.at(t, self._dvl_clock.period or 0.0)
        if fused is None:
            return unknown(NO_DVL)
        offset, drift, stddev = fused
        if source == "imu":
            drift = [0.0, 0.0, 0.0]
        R_Gb = self._imu.rotation_at(t)
        at_imu = turned_back(R_Gb, [c + o for c, o in zip(imu[C], offset)])
        acceleration = turned_back(R_Gb, [a + d for a, d in zip(imu[ACC], drift)])
        v, v_dot = at_body_origin(at_imu, acceleration, w, w_dot, self._r_imu)
        return LinearMotion(v, v_dot, "", stddev)
