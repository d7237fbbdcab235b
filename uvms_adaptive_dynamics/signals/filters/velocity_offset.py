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

"""The slow offset between DVL and integrated IMU, and the accelerometer bias that causes it.

In the frame G of `imu_integral`, the true velocity is C + o, where C is the integrated specific
force. The offset o is a random walk due to accelerometer noise plus a drift due to bias. A Kalman
filter estimates the bias, constant in body axes, from all past data. The offset at a tick is a
weighted line through neighbouring values, with a prior of zero slope as tight as the bias is known:
a line alone would take its slope from two seconds of DVL noise (an error of 0.008 m/s^2).
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...model.rotations import turned_back
from ..gates.contradictions import Contradictions
from .series import Series

OFFSET_WALK = 0.005      # [m/s per sqrt(s)] noise of integrated force and of gravity's direction
BIAS_STDDEV = 0.1        # [m/s^2] initially: half a degree of attitude, a cheap accelerometer
BIAS_WALK = 0.002        # [m/s^2 per sqrt(s)]
# [m/s^2] Larger is no bias: six degrees of attitude, ten times a cheap accelerometer's bias.
LARGEST_FORCE_BIAS = 1.0
# Innovations of a right filter are white. This many in a row contradict it if their sum on an axis
# exceeds so many of its standard deviations: a DVL that is 15 % off or .1 s late reaches 7.
RUN_VALUES, RUN_SIGMAS = 4, 8.0
JUMP_STAYS = 1.5         # [s] of contradiction due to a jump; a wrong DVL is rejected meanwhile
TYPICAL_DVL_PERIOD = 0.1  # [s] between velocities, typical of small DVLs
MIN_VALUES = 3


class _Bias(NamedTuple):
    """A bias (3,) [m/s^2] in body axes, as known at t [s], with its variance on each axis."""

    t: float
    value: tuple[float, ...]
    variance: float


class VelocityOffset:
    """Values (3,) [m/s] of the offset in G by time; `bias` (3,) [m/s^2] in body axes, with its
    variance on each axis. `jumped`: what it was before it jumped last, and when,
    None if it has not. `contradictions`: when the values contradicted it.

    Values within `window` [s] of a tick are used; `stddev` [m/s] of a velocity until `note_stddev`.
    """

    def __init__(self, window: float, stddev: float):
        self._window, self._stddev = window, stddev
        self.reset()

    def reset(self, bias: Sequence[float] = (0.0, 0.0, 0.0), variance: float = BIAS_STDDEV ** 2,
              age: float = 0.0) -> None:
        """Forget everything, including the bias, unless an earlier one (3,) [m/s^2] is given with
        its variance on each axis, known `age` [s] ago."""
        self.bias: tuple[float, ...] = tuple(bias)
        self.bias_variance = variance + BIAS_WALK ** 2 * age
        self.jumped: _Bias | None = None
        self._jump: _Bias | None = None     # from before a jump whose size is not known yet
        self.contradictions = Contradictions()
        self.restart()

    def restart(self) -> None:
        """Forget the offset, as after a gap in the IMU; the bias stays."""
        self._values = Series(3)
        self._offset: Sequence[float] | None = None
        self._variances = self._stddev ** 2, 0.0      # of the offset, covariance with the bias
        self._updated = 0.0                         # [s] time of the last value
        self.doubt()

    def doubt(self) -> None:
        """Begin anew to watch for a jump of the bias, beside a velocity that has been rejected."""
        # innovations in body axes and standard deviations, each with the time [s] of the value
        # before it
        self._run: deque[tuple[float, list[float]]] = deque(maxlen=RUN_VALUES)
        self._before: _Bias | None = None       # the bias from before the values contradicted it

    def take_off(self, t: float, slope: Sequence[float]) -> None:
        """Restart after a jump of the force's bias at t [s], which gave the offset this slope (3,)
        [m/s^2] in body axes. The bias is as uncertain as initially."""
        self.jumped = _Bias(t, self.bias, self.bias_variance)
        self.bias = tuple(min(max(b - s, -LARGEST_FORCE_BIAS), LARGEST_FORCE_BIAS)
                          for b, s in zip(self.bias, slope))
        self.bias_variance = BIAS_STDDEV ** 2
        self.restart()

    def note_stddev(self, stddev: float) -> None:
        """Note the standard deviation [m/s] of the velocities from now on."""
        self._stddev = stddev

    def discard_after(self, t: float) -> None:
        """Remove the values later than t."""
        self._values.discard_after(t)

    def add(self, t: float, value: Sequence[float], R_Gb: Sequence[float]) -> None:
        """Add an accepted value (3,) in G, later than the last; R_Gb (9,) takes body axes to G."""
        if self._offset is None:
            self._offset = value
        else:
            self._update(self._offset, t - self._updated, value, R_Gb)
            self._judge_run(t)
        self._updated = t
        self._values.append(t, value)

    def _update(self, offset: Sequence[float], dt: float, value: Sequence[float],
                R_Gb: Sequence[float]) -> None:
        """One step of the Kalman filter, with the same gains for all axes: the noise is isotropic.
        """
        a, b = self._variances
        c = self.bias_variance
        a, b, c = (a + 2 * dt * b + dt * dt * c + OFFSET_WALK ** 2 * dt, b + dt * c,
                   c + BIAS_WALK ** 2 * dt)
        spread = a + self._stddev ** 2
        k0, k1 = a / spread, b / spread
        self._variances, self.bias_variance = ((1 - k0) * a, (1 - k0) * b), c - k1 * b
        error = [z - o for z, o in zip(value, offset)]
        self._offset = [o + k0 * e for o, e in zip(offset, error)]
        of_body = turned_back(R_Gb, error)
        self._run.append((self._updated, [e / math.sqrt(spread) for e in of_body]))
        # If the offset grows, too much bias was subtracted from the force.
        self.bias = tuple(min(max(x - k1 * e, -LARGEST_FORCE_BIAS), LARGEST_FORCE_BIAS)
                          for x, e in zip(self.bias, of_body))

    def _judge_run(self, t: float) -> None:
        """Note at t [s] whether the last values contradict the filter; after JUMP_STAYS the bias
        has jumped, and is as uncertain as initially: certain of a walk, the filter would follow for
        long."""
        if len(self._run) < RUN_VALUES:
            return
        begin = self._run[0][0]
        sums = map(math.fsum, zip(*(innovation for _, innovation in self._run)))
        if max(map(abs, sums)) < RUN_SIGMAS * math.sqrt(RUN_VALUES):
            self._before = None
            if self.contradictions.is_open:
                self.contradictions.close()
                self._tell_jump()
            return
        self.contradictions.add(begin, t)
        if self._before is None:
            self._before = _Bias(begin, self.bias, self.bias_variance)
        elif t - self._before.t > JUMP_STAYS:
            self._jump, self.bias_variance = self._before, BIAS_STDDEV ** 2
            self._offset = None         # (it has followed with a lag)
            self._variances = self._stddev ** 2, 0.0
            self.doubt()

    def _tell_jump(self) -> None:
        """Report a jump that is over, if it is worth telling."""
        if self._jump is not None and math.dist(self.bias, self._jump.value) > BIAS_STDDEV:
            self.jumped = self._jump
        self._jump = None

    def at(self, t: float,
           period: float = 0.0) -> tuple[list[float], list[float], float] | None:
        """(offset (3,), its slope (3,), standard deviation of the offset [m/s]) at t in G; None if
        there are too few values around t. The window widens if velocities come less often than it
        allows for, every `period` [s]."""
        half = max(self._window, MIN_VALUES * 0.5 * period)
        times, values = self._values.window(t - half, t + half)
        if len(times) < MIN_VALUES:
            return None
        x = times - t
        # neighbours are weighted by the time over which walk and noise balance
        memory = self._stddev * math.sqrt(TYPICAL_DVL_PERIOD) / OFFSET_WALK
        weight = np.exp(np.abs(x) * (-1.0 / memory))
        first = weight * x
        s0, s1 = float(np.add.reduce(weight)), float(np.add.reduce(first))
        s2 = float(first @ x) + self._stddev ** 2 / self.bias_variance
        determinant = s0 * s2 - s1 * s1
        sums, moments = (weight @ values).tolist(), (first @ values).tolist()
        # twice the noise's variance: with this memory the walk contributes as much
        stddev = self._stddev * math.sqrt(2 * float(weight @ weight)) / s0
        return ([(s2 * p - s1 * q) / determinant for p, q in zip(sums, moments)],
                [(s0 * q - s1 * p) / determinant for p, q in zip(sums, moments)], stddev)
