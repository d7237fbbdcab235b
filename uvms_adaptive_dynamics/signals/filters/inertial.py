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

"""Fusion of IMU and DVL: wide-band velocity and acceleration of the body origin (docs/signals.md,
"Acceleration").

The DVL's velocity less the IMU's integrated velocity C is nearly constant. So the DVL determines
the slow part of velocity and acceleration and the IMU the fast part, whatever the DVL's rate,
latency or dropouts.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...config import Config
from ...model.rotations import cross, from_down
from ..checks.bursts import BurstFilter
from ..decode.poses import lateness
from ..decode.sensor_clock import SensorClock
from ..gates.choose import spike_gate
from ..gates.innovations import InnovationGate
from ..gates.spikes import GatedRow
from .attitude_source import AttitudeSource
from .body_motion import CONTRADICTS, DVL_CONTRADICTS, NO_IMU, BodyMotion
from .dvl_fusion import DvlFusion
from .expected_attitude import ExpectedAttitude
from .imu_integral import N3, YAW, ImuIntegral, W
from .imu_trust import ImuTrust
from .pace import half_window, longest_gap, window_wait
from .polynomials import polynomial_at
from .thinning import BlockAverage

IMU_DEGREE = 3            # cubic: its derivative is flat to the fourth order in frequency
MAX_IMU_STEP = 0.25       # [s] without a reading, after which the integral is meaningless
IMU_LOG_PERIOD = 0.1      # [s] between the IMU's rows for the frame checks
# Smallest scales of the gate: down vector, rates [rad/s], specific force [m/s^2]. Heading is not
# judged, since it wraps.
IMU_FLOOR = [0.002] * 6 + [0.02] * 3 + [math.inf]


class InertialFilter:
    """Fuses IMU and DVL readings; times [s] are relative to the front end's origin.

    `on_reject(role, reason)` counts rejections, `log(name, t, *values)` feeds the frame checks,
    outliers included. Windows and gaps follow the rates of `imu_clock` and `dvl_clock` if these are
    slower than the settings assume.
    """

    def __init__(self, config: Config, imu_clock: SensorClock, dvl_clock: SensorClock,
                 on_reject: Callable[[str, str], None] = lambda role, reason: None,
                 log: Callable[..., None] = lambda name, t, *values: None):
        self._on_reject, self._log = on_reject, BurstFilter("imu", log)
        self._settings, self._timeout = config.filter, config.imu.timeout
        self._clock = imu_clock
        self._has_force = config.imu.measures_force
        self._current = config.robot.current_ned
        self._source = AttitudeSource(config)
        self._expected = ExpectedAttitude(config.robot.gravity)
        self._gate = spike_gate(config.filter.gates, IMU_FLOOR)
        self._thin = BlockAverage(newest=[9])
        self._imu = ImuIntegral(config.robot.gravity, config.imu.gravity_time)
        self._trust = ImuTrust(config, self._imu, self._source, imu_clock)
        self._dvl = DvlFusion(config, dvl_clock, self._imu, self._source, self._trust, on_reject,
                              log, self._walk)
        self.reset()

    def _walk(self) -> float:
        return self._imu.walk(self._gate.noise, self._clock.period or 0.0)

    def change_settings(self, config: Config, gates_change: bool) -> None:
        """Use new settings from now on; gates_change: `filter.gates` has changed."""
        if gates_change:
            self.flush()
            self._gate = spike_gate(config.filter.gates, IMU_FLOOR)
            self._trust.use_gates(config.filter.gates)
        self._settings, self._timeout = config.filter, config.imu.timeout
        self._dvl.change_settings(config, gates_change)

    def reset(self) -> None:
        """Forget all signals."""
        for part in (self._source, self._expected, self._gate, self._thin, self._imu, self._trust,
                     self._dvl, self._log):
            part.reset()
        self._logged = -math.inf

    def flush(self) -> None:
        """Integrate what the gate still holds, at the end of a recording."""
        for gated in self._gate.flush():
            self._integrate(gated)

    @property
    def dvl_gate(self) -> InnovationGate:
        """The gate of the DVL's velocities."""
        return self._dvl.gate

    def sentences(self) -> list[str]:
        """Warnings for the operator about attitude and rates."""
        return [*self._source.sentences(self._clock.rate),
                *self._trust.mount.sentences(self._imu.series.last_time),
                *self._trust.gyro.sentences(), *self._dvl.sentences()]

    def motion_sentences(self) -> list[str]:
        """Warnings that follow from the IMU's integral and the DVL's velocity together."""
        return self._dvl.motion_sentences()

    # --- readings ---------------------------------------------------------------------------------

    def add_imu(self, t: float, reading: Sequence[float]) -> None:
        """Add an IMU reading later than the last; it is used once the gate has decided."""
        own = self._source.own
        judged = self._source.judge(t, self._trust.mount.corrected(reading), self._longest_step())
        if own is not None and self._source.own != own:
            self._gate.reset()
            self._trust.restart()
            self._dvl.restart()
        if math.isnan(reading[0]) and not self._source.own and self._has_force:
            self._on_reject("imu", "without the orientation that others have")
        if judged is None:
            return
        for gated in self._gate.gate(t, judged):
            self._integrate(gated)

    def add_dvl(self, t: float, velocity: Sequence[float]) -> None:
        """Add a velocity (3,) at the DVL; it waits for IMU readings up to its time."""
        self._dvl.add(t, velocity)

    def discard_dvl_after(self, t: float) -> None:
        """Remove the DVL's velocities after t, from a frozen DVL."""
        self._dvl.discard_after(t)

    def discard_imu_after(self, t: float) -> None:
        """Remove the IMU's readings after t, from a frozen IMU; the integral continues from t."""
        self._gate.reset()
        self._imu.discard_after(t)
        if not len(self._imu.series):       # what was compared with it means nothing any more
            self.reset()

    def _longest_step(self) -> float:
        """[s] Longest step between readings that is integrated."""
        return longest_gap(MAX_IMU_STEP, self._clock.period)

    def _integrate(self, gated: GatedRow) -> None:
        """Integrate a gated IMU reading, then fuse the DVL velocities that waited for it."""
        if gated.spikes is not None:
            self._on_reject("imu", "spike")
        thinned = self._thin.add(gated.t, gated.row)
        if thinned is None:
            return
        t, row = thinned
        trust, dvl, longest = self._trust, self._dvl, self._longest_step()
        if len(self._imu.series) and t - self._imu.series.last_time > longest:
            trust.restart()
            dvl.note_gap(t)
        row = self._source.complete(t, row)
        row = [*row[:3], *(w - b for w, b in zip(row[3:6], trust.gyro.bias)), *row[6:]]
        spacing = t - self._imu.series.last_time
        before = self._imu.newest
        self._imu.add(t, row, dvl.offset.bias)
        if not trust.distrusted and spacing < longest:
            trust.mount.follow(spacing, self._imu.R_Gb, row[6:9])
        outcome = trust.follow(t, row, before, gated.erratic is not None,
                               dvl.settling.spans.is_open)
        if outcome.remounted:       # the gate's readings are in the old axes
            self._gate.reset()
            self._thin.reset()
        if outcome.regained:
            dvl.restart()
        if trust.distrusted:
            self._on_reject("imu", "attitude, gyro and accelerometer do not fit each other")
        elif trust.unproven and dvl.is_silent(t):
            trust.prove()           # without a DVL, nothing can prove the IMU
        if t - self._logged > IMU_LOG_PERIOD:
            self._logged = t
            self._log.add(trust.distrusted, t, row[:9], self._imu.R_Gb, row[9:])
        dvl.catch_up(t)

    # --- motion at a tick -------------------------------------------------------------------------

    def wait(self) -> float:
        """[s] of data after a tick until everything for its motion has arrived."""
        imu = window_wait(self._settings.imu_window, self._clock)
        return max(imu + lateness(self._clock), self._dvl.wait())

    def motion(self, t: float) -> BodyMotion | None:
        """Motion at t; None if the IMU does not cover t and has never shown an attitude."""
        imu = self._imu.series
        half = half_window(self._settings.imu_window, self._clock.period)
        if self._trust.contradictions.cover(t - half, t + half):
            return self.unseen(t, CONTRADICTS)
        if imu.gap_around(t) > longest_gap(self._timeout, self._clock.period):
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
        v, v_dot, reason, stddev = self._dvl.motion(t, value, w, w_dot)
        # If the DVL contradicts an attitude estimated here, the attitude may be wrong.
        known = self._source.level(t) and not (self._source.own and reason == DVL_CONTRADICTS)
        if known:
            acceleration = None if reason else [a + b for a, b in zip(v_dot, cross(w, v))]
            self._expected.add(t, R_nb, acceleration)
        elif (unseen := self.unseen(t, reason)) is not None:
            return unseen
        reason = self._source.mask_reason(t) or reason
        if (self._trust.turned_heading.cover(t - half, t + half)
                or self._dvl.settling.spans.cover(t - half, t + half)):
            reason = CONTRADICTS
        if any(self._current):
            # Irrotational current: all of Fossen's terms use nu - R^T c.
            drift = (R_nb.T @ self._current).tolist()
            v = [x - d for x, d in zip(v, drift)]
            v_dot = [x + d for x, d in zip(v_dot, cross(w, drift))]
        return BodyMotion(R_nb, np.array([*v, *w]), np.array([*v_dot, *w_dot]), reason,
                          velocity_stddev=stddev)

    def unseen(self, t: float, reason: str) -> BodyMotion | None:
        """A vehicle at rest in the expected attitude; None if its attitude was never known."""
        expected = self._expected.at(t)
        if expected is None:
            return None
        R_nb, doubt = expected
        return BodyMotion(R_nb, np.zeros(6), np.zeros(6), reason, doubt)
