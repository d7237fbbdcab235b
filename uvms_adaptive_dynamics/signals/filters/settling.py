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

"""Detection of an attitude that drifts without a turn of the gyro, as while the IMU's own attitude
filter is still settling (docs/signals.md, "Garbage and outages").

Either the gyro has a bias then, or the attitude is wrong. Velocity decides: less the integrated
force f and gravity, in the frame G that the gyro carries along,

    v - int R (f - b) dt - g int n dt = o + s t

is a line but for the accelerometer's bias b, if the down vector n is right. If the gyro is right, n
is constant in G; if the attitude is, n turns as measured, in a line whose slope has the error of
the attitude's noise. The gyro is believed if it leaves significantly less of the velocities, and if
what it leaves beyond their noise is less than what the attitude adds: where neither explains them,
nothing is concluded. An attitude that wanders within the walk known before does not drift: the bias
follows it. A gyro whose bias has shown before is believed with that bias only. Nor is a drift
concluded if a scale of the velocities explains them as well: a DVL that is set to the wrong speed
of sound says nothing about the attitude.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...model.normal import Z999
from ..gates.contradictions import Contradictions
from .attitude import GOOD_TILT
from .imu_integral import FORCE_C, R_GB, RAW_C
from .series import Series
from .velocity_offset import BIAS_STDDEV

DRIFT_SPAN = 4.0          # [s] over which lines are fitted
SHORTEST_DRIFT = 1.0      # [s] after which they are first
DRIFT_SPACING = 0.045     # [s] between the velocities that are kept
FEWEST_VELOCITIES = 8
BIASES_KEPT = 8           # biases of the gyro, each of a span, whose mean is known
DRIFT_SIGMAS = 5.0        # by which the gyro has to fit the velocities better than the attitude
# Standard deviation of the velocities' scale: sound is 10 % slower in cold fresh than in warm salt
# water.
VELOCITY_SCALE_STDDEV = 0.1
# Columns of the velocities kept: velocity less the integrated force, and the integral of gravity as
# the attitude says [m/s], in G; R_Gb by rows; the accelerometer's bias known then, in body axes,
# and its variance; the velocity in G; the bias's walk.
REST, GRAVITY, BODY_AXES, BIAS, BIAS_VARIANCE, MEASURED, WALK = (
    slice(0, 3), slice(3, 6), slice(6, 15), slice(15, 18), slice(18, 19), slice(19, 22),
    slice(22, 23))


class SettlingAttitude:
    """Judges the attitude at each velocity; times [s] increase.

    `drifts`: whether the attitude drifts now. Of the last drift: `begin` [s], -inf without one;
    `angle` [rad], by how much it has drifted since; `bias` (3,) [m/s^2] of the accelerometer with
    its `bias_variance`, known before it. `spans`: when the attitude has drifted, open until the
    filter closes them.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.begin, self.angle = -math.inf, 0.0
        self.bias: Sequence[float] = (0.0, 0.0, 0.0)
        self.bias_variance = BIAS_STDDEV ** 2
        self.spans = Contradictions()
        self._first = np.zeros(3)       # down vector (3,) in G at `begin`
        self._gyro_biases: list[np.ndarray] = []
        self._noted = -math.inf         # [s] when the last of them was
        self.restart()

    def restart(self) -> None:
        """Forget the velocities, as across a gap of the IMU or a jump of the force's bias."""
        self.drifts = False
        self._values = Series(23)

    @property
    def has_ended(self) -> bool:
        """Whether the attitude has drifted and does no longer, while its span is still open."""
        return self.spans.is_open and not self.drifts

    def add(self, t: float, velocity: Sequence[float], row: Sequence[float],
            bias: Sequence[float], bias_variance: float, walk: float, stddev: float) -> None:
        """Add a velocity (3,) [m/s] at the IMU in G with its standard deviation, the integral's row
        (28,) at t and the bias (3,) [m/s^2] of the accelerometer as known now, with its variance
        on each axis and its walk [m/s^2 per sqrt(s)]."""
        if t - self._values.last_time < DRIFT_SPACING:
            return
        force = row[FORCE_C]
        self._values.append(t, [*(v - f for v, f in zip(velocity, force)),
                                *(g - f for g, f in zip(row[RAW_C], force)), *row[R_GB], *bias,
                                bias_variance, *velocity, walk])
        times, rows = self._values.window(t - DRIFT_SPAN, t)
        if len(times) >= FEWEST_VELOCITIES and t - times[0] >= SHORTEST_DRIFT:
            self._judge(times, rows, stddev)
            if self.drifts:
                self.spans.add(self.begin, t)

    def sentences(self) -> list[str]:
        """A warning for the operator about the last drift."""
        if self.begin == -math.inf:
            return []
        return [f"imu orientation: from {self.begin:.0f} to {self.spans.last:.0f} s it drifted by "
                f"{math.degrees(self.angle):.0f} degrees without a turn of the gyro, and the DVL's "
                "velocity fits the gyro, so the IMU's attitude filter was still settling, or led "
                "astray by accelerations. The vehicle's rows are masked meanwhile. Let the IMU "
                "settle before a dive and after a restart of its driver, or set imu.orientation to "
                "'own'"]

    def _judge(self, times: np.ndarray, rows: np.ndarray, stddev: float) -> None:
        """Judge by the velocities (n, 23) at the times (n,), of which the last is the newest."""
        rest, gravity = rows[:, REST], rows[:, GRAVITY]
        # (n - 1, 3): mean down vectors between velocities, about as long as gravity [m/s^2]
        down = (gravity[1:] - gravity[:-1]) / (times[1:] - times[:-1])[:, None]
        x = 0.5 * (times[1:] + times[:-1])
        middle, mean = x.mean(), down.mean(axis=0)
        x, g, span = x - middle, math.hypot(*mean), x[-1] - x[0]
        slope = x @ down / (x @ x)
        noise = float(((down - mean - x[:, None] * slope) ** 2).sum())
        slope_stddev = math.sqrt(noise / (2 * (len(x) - 2) * float(x @ x)))
        # how the gyro's bias turns gravity in G, as it has before
        R = rows[len(rows) // 2, BODY_AXES].reshape(3, 3)
        up, usual = mean @ R / g, np.zeros(3)
        if self._gyro_biases:
            usual = g * R @ np.cross(np.mean(self._gyro_biases, axis=0), up)
        error, size = span / g * slope_stddev, span / g * math.hypot(*(slope - usual))
        wander = rows[0, WALK].item() * math.sqrt(span) / g
        unproven = 0.0 if self.drifts else Z999 * math.hypot(error, wander)
        # An attitude filter that settles does not turn gravity upside down.
        upright = float((rest[-1] - rest[0]) @ mean) > 0.0
        if not upright or size - unproven < GOOD_TILT:
            self.drifts = False
            return
        bias = self.bias if self.drifts else rows[0, BIAS].tolist()
        scale_stddev = 0.0 if self.drifts else VELOCITY_SCALE_STDDEV
        curve = 0.5 * (times - middle) ** 2
        lines = _Lines(times, rows[:, BODY_AXES].reshape(-1, 3, 3), bias,
                       scale_stddev * rows[:, MEASURED], stddev)
        by_gyro = lines.left_with_turn(rest, curve, usual, 0.0)
        by_attitude = lines.left_with_turn(rest, curve, slope, slope_stddev)
        # Sums of squares: expected from noise, and more by the attitude than by the gyro.
        expected, worse = 3.0 * (len(times) - 2), by_attitude - by_gyro
        certain = worse > DRIFT_SIGMAS ** 2 * max(1.0, by_gyro / expected)
        if not self.drifts and certain and worse > by_gyro - expected:
            self.drifts, self.begin, self.bias = True, float(times[0]), bias
            self.bias_variance = rows[0, BIAS_VARIANCE].item()
            self._first = (mean + x[0] * slope) / g
        elif worse < 0.0:
            self.drifts = False
            self._note_bias(float(times[-1]), np.cross(up, slope @ R / g))
        if self.drifts:
            self.angle = math.hypot(*((mean + x[-1] * slope) / g - self._first))

    def _note_bias(self, t: float, bias: np.ndarray) -> None:
        """Note the gyro's bias (3,) [rad/s] about level axes, by an attitude that fits the
        velocities up to t better, once in a span."""
        if t - self._noted > DRIFT_SPAN:
            self._noted = t
            self._gyro_biases = [*self._gyro_biases[1 - BIASES_KEPT:], bias]


class _Lines:
    """Least squares of velocities (n, 3) at `times` (n,), less the integrated force, by a line, a
    bias of the accelerometer about a known one, with its prior, and a share of the velocities
    `scaled` (n, 3), with a prior of one; R (n, 3, 3) takes body axes to G."""

    def __init__(self, times: np.ndarray, R: np.ndarray, bias: Sequence[float],
                 scaled: np.ndarray, stddev: float):
        n, x = len(times), times - times.mean()
        turns = np.zeros((n, 3, 3))     # integral of R
        steps = 0.5 * (times[1:] - times[:-1])[:, None, None] * (R[1:] + R[:-1])
        steps.cumsum(axis=0, out=turns[1:])
        self._known, self._stddev = turns @ bias, stddev
        # (n, 2) orthonormal columns: a line
        self._line = np.array([np.full(n, 1.0 / math.sqrt(n)), x / math.sqrt(x @ x)]).T
        # (3 n, 4) effects of bias and share, both scaled to a standard normal distribution
        self._errors = np.hstack([
            BIAS_STDDEV / stddev * self._without_line(turns.reshape(n, 9)).reshape(-1, 3),
            self._without_line(scaled).reshape(-1, 1) / stddev])

    def left_with_turn(self, velocities: np.ndarray, curve: np.ndarray, slope: np.ndarray,
                       slope_stddev: float) -> float:
        """What is left of velocities (n, 3) [m/s] and prior, the sum of squares in variances, if
        gravity turns: its slope (3,) [m/s^3], known with slope_stddev on each axis, adds slope
        times the curve (n,) [s^2] to the velocities."""
        curve = curve[:, None]
        turn = slope_stddev / self._stddev * self._without_line(curve)[:, None] * np.eye(3)
        # A x, x of a standard normal distribution, adds to y: y^2 - y^T A (I + A^T A)^-1 A^T y
        A, velocities = np.hstack([self._errors, turn.reshape(-1, 3)]), velocities - curve * slope
        y = self._without_line(velocities + self._known - velocities[0]).ravel() / self._stddev
        explained = y @ A
        return float(y @ y - explained @ np.linalg.solve(np.eye(A.shape[1]) + A.T @ A, explained))

    def _without_line(self, y: np.ndarray) -> np.ndarray:
        """Columns of y (n, m) less a line through each."""
        return y - self._line @ (self._line.T @ y)
