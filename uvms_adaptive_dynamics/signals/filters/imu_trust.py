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

"""Trust in the IMU: whether attitude, gyro and accelerometer fit each other at each reading
(docs/signals.md, "Garbage and outages").

A contradiction masks rows until the sensors agree again and a velocity has proven the attitude
right. Errors that can be corrected are: a bias of the gyro, and an attitude that has stepped
because the mount has turned.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...config import Config
from ..decode.sensor_clock import SensorClock
from ..gates.choose import imu_consistency
from ..gates.contradictions import Contradictions
from ..gates.imu_consistency import TURN_SPAN
from .attitude_source import AttitudeSource
from .gyro_bias import BIAS_SPAN, HEADING, RATES, GyroBias
from .imu_integral import N3, YAW, ImuIntegral, W
from .mount import MIN_KNOCK, MountRotation

# [s] without a contradiction after which the IMU is used again: three times the judged span, so
# that the end of a fault is seen too.
IMU_QUIET = 0.3
# [s] in which an attitude steps, faster than any vehicle turns; less the jitter of stamps.
STEP_SPAN, SHORTEST_STEP_SPAN = 0.05, 0.045
NO_TURN = (0.0, 0.0, 0.0, 0.0)


class TrustChange(NamedTuple):
    """What a reading has settled. `remounted`: the mount has turned, and readings are turned back
    from the next one on; `regained`: the IMU is trusted again."""

    remounted: bool = False
    regained: bool = False


UNCHANGED = TrustChange()


class ImuTrust:
    """Judges the newest reading of an integral; times [s] increase.

    `distrusted`: the IMU contradicts itself, or its mount may have turned. `contradictions`: when
    it did, open until `prove`; `turned_heading`: when only the heading was wrong, which does not
    affect the tilt. `gyro`, `mount`: the corrections of its readings.
    """

    def __init__(self, config: Config, imu: ImuIntegral, source: AttitudeSource,
                 clock: SensorClock):
        self._imu, self._source, self._clock = imu, source, clock
        self._has_force = config.imu.measures_force
        self.gyro, self.mount = GyroBias(), MountRotation(self._has_force)
        self.use_gates(config.filter.gates)
        self.reset()

    def use_gates(self, gates: bool) -> None:
        """Judge from now on, or (gates: false) trust every reading."""
        self._gates, self._consistency = gates, imu_consistency(gates)

    def reset(self) -> None:
        """Forget everything."""
        self._consistency.reset()
        self.gyro.reset()
        self.mount.reset()
        self.contradictions, self.turned_heading = Contradictions(), Contradictions()
        self.distrusted = False
        self._attitude_stepped = False
        self._before: Sequence[float] = ()      # the integral's row before the IMU was distrusted

    def restart(self) -> None:
        """Forget what readings are compared with, as across a gap."""
        self._consistency.restart()

    def follow(self, t: float, row: Sequence[float], before: Sequence[float], erratic: bool,
               settling: bool) -> TrustChange:
        """Judge the reading `row` [down (3), rates (3), force (3), heading], which has just been
        integrated to t; before: the integral's row of the last one. erratic: its gate has found the
        signal to be garbage; settling: the attitude drifts, so it proves nothing."""
        span = max(TURN_SPAN, self._clock.period or 0.0)
        self._attitude_stepped |= not self._source.own and self._has_step()
        fits = self._consistency.fits(t, self._turn_error(t, row[3:6]), row[6:9])
        if erratic or not fits:
            # The fault may have begun anywhere in the span of the judgement.
            if not self.distrusted:
                self._before = before
            self.contradictions.add(t - span, t)
            self.distrusted = True
            self.gyro.restart()
        elif self._wrong_turn(t, row, settling) == RATES:
            self.contradictions.add(t - 2 * BIAS_SPAN, t)
            self.distrusted = True
        elif self.distrusted and t - self.contradictions.last > IMU_QUIET:
            return self._end_distrust(t, row[6:9])
        return UNCHANGED

    @property
    def unproven(self) -> bool:
        """Whether the IMU has contradicted itself and no velocity has proven it right since."""
        return self.contradictions.is_open

    def prove(self) -> None:
        """End a contradiction: a velocity fits the IMU, or none comes that could."""
        if self.contradictions.is_open:
            self.contradictions.close()

    def _end_distrust(self, t: float, force: Sequence[float]) -> TrustChange:
        """Trust an IMU that no longer contradicts itself, unless its mount may have turned."""
        if self._attitude_stepped and self._before:
            self.mount.note_step(t, self.contradictions.begin, self._before, self._imu)
        self._attitude_stepped = remounted = False
        if self.mount.is_judging:
            remounted = self.mount.judge(t, self._imu, force)
            if remounted:
                self._consistency.restart()
            if self.mount.is_judging:
                return UNCHANGED
        self.distrusted = False
        return TrustChange(remounted, regained=True)

    def _wrong_turn(self, t: float, row: Sequence[float], settling: bool) -> str:
        """RATES or HEADING if these have been wrong, else ''; needs an attitude that is independent
        of the rates."""
        if self._source.own or not self._has_force or not self._gates:
            return ""
        if self.unproven or settling:
            self.gyro.restart()         # an unproven attitude proves nothing
            return ""
        if not self.gyro.is_due(t):
            return ""
        wrong = self.gyro.compare(t, self._imu.turn_error(BIAS_SPAN), row[:3])
        if wrong == HEADING:
            self.turned_heading.add(t - 2 * BIAS_SPAN, t)
        elif self.turned_heading.is_open:
            self.turned_heading.close()
        return wrong

    def _has_step(self) -> bool:
        """Whether the newest attitude differs by MIN_KNOCK both from an earlier one and from the
        gyro's prediction: if only the gyro turns, it is no step."""
        series, now = self._imu.series, self._imu.newest
        earlier = series.latest(series.last_time - SHORTEST_STEP_SPAN)
        if earlier is None:
            return False
        then = earlier[1].tolist()
        tilt = max(abs(a - b) for a, b in zip(now[N3], then[N3]))
        turn = max(tilt, abs(math.remainder(now[YAW] - then[YAW], math.tau)))
        # (over more time, as of a slow IMU or across a gap, the vehicle may have turned as far)
        span = max(series.last_time - earlier[0], STEP_SPAN)
        return (turn > MIN_KNOCK * span / STEP_SPAN
                and max(map(abs, self._imu.turn_error_since(then))) >= MIN_KNOCK)

    def _turn_error(self, t: float, rates: Sequence[float]) -> Sequence[float]:
        """(4,) [rad] deviation of the turn over the last TURN_SPAN from the expected one.

        An attitude estimated here relies on the gyro and always agrees with it; then this is the
        turn due to the rates' change over that span.
        """
        if not self._source.own:
            return self._imu.turn_error(max(TURN_SPAN, self._clock.period or 0.0))
        earlier = self._imu.series.latest(t - TURN_SPAN)
        if earlier is None:
            return NO_TURN
        return [*(TURN_SPAN * (w - v) for w, v in zip(rates, earlier[1][W].tolist())), 0.0]
