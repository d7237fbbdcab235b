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

"""The slow offset between DVL and integrated IMU, and the accelerometer bias that causes it
(docs/signals.md, "Acceleration").

In the frame G of `imu_integral`, the true velocity is C + o, where C is the integrated specific
force. The offset o is a random walk due to accelerometer noise plus a drift due to bias: that of
the accelerometer, and gravity times the error of the attitude. The first hardly changes, while the
attitude of an IMU that is moved wanders by tenths of a degree within seconds. How fast the bias
walks is therefore learnt: of several Kalman filters, each with its own walk, the slowest is used
that has not predicted the offsets significantly worse than another. The offset at a tick is a
weighted line through neighbouring values, with a prior of zero slope as tight as the bias is known:
a line alone would take its slope from two seconds of DVL noise (an error of 0.008 m/s^2).
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...model.normal import Z999
from ...model.rotations import turned, turned_back
from ..gates.contradictions import Contradictions
from .series import Series

BIAS_STDDEV = 0.1        # [m/s^2] initially: half a degree of attitude, a cheap accelerometer
OFFSET_WALK = 0.005      # [m/s per sqrt(s)] noise of integrated force and of gravity's direction
# [m/s per sqrt(s)] the same, and with errors of velocity that last for tenths of a second, which no
# bias should follow
OFFSET_WALKS = (OFFSET_WALK, 0.02)
# [m/s^2 per sqrt(s)] from an accelerometer whose temperature changes, with an attitude known by far
# better, to an attitude that wanders by half a degree within two seconds
BIAS_WALKS = (0.002, 0.005, 0.012, 0.03, 0.07)
WALK_MEMORY = 60.0       # [s] of the predictions by which walks are compared
FASTER_LOG_ODDS = math.log(1000.0)  # that a faster walk needs against a slower one
# [m/s^2] Six degrees of attitude, or ten times a cheap accelerometer's bias.
LARGEST_FORCE_BIAS = 1.0
# Innovations of a right filter are white. This many in a row contradict it if their sum on an axis
# exceeds so many of its standard deviations: a DVL that is 15 % off or .1 s late reaches 7.
RUN_VALUES, RUN_SIGMAS = 4, 8.0
JUMP_STAYS = 1.5         # [s] of contradiction due to a jump; a wrong DVL is rejected meanwhile
TYPICAL_DVL_PERIOD = 0.1  # [s] between velocities, typical of small DVLs
MIN_VALUES = 3


class _Bias(NamedTuple):
    """A bias (3,) [m/s^2] in body axes, as known at t [s]."""

    t: float
    value: tuple[float, ...]


class _BiasFilter:
    """Kalman filter of the offset (3,) [m/s] in G, which walks at `offset_walk` [m/s per sqrt(s)],
    and of a bias (3,) [m/s^2] in body axes, which walks at `walk` [m/s^2 per sqrt(s)]. All axes
    have the same gains, since the noise is isotropic.

    `bias_variance` on each axis. The `score` says how well it has predicted the offsets.
    """

    def __init__(self, walk: float, offset_walk: float):
        self.walk, self.offset_walk = walk, offset_walk
        self.bias: tuple[float, ...] = (0.0, 0.0, 0.0)
        self.bias_variance = BIAS_STDDEV ** 2
        self.forget_score()

    def forget_score(self) -> None:
        """Forget how well offsets were predicted."""
        # number of predictions, sum of their squared errors in variances, and of log variances
        self._count = self._squares = self._logs = 0.0

    def restart(self, stddev: float) -> None:
        """Forget the offset, whose first value will have this standard deviation [m/s]."""
        self._offset: Sequence[float] | None = None
        self._variances = stddev ** 2, 0.0      # of the offset, covariance with the bias

    @property
    def score(self) -> float:
        """Log likelihood of the predictions, with the noise's unknown scale at its best value."""
        if not self._squares:
            return 0.0
        return -0.5 * (self._count * math.log(self._squares / self._count) + self._logs)

    def update(self, dt: float, value: Sequence[float], R_Gb: Sequence[float], stddev: float,
               subtracted: Sequence[float]) -> list[float] | None:
        """Take a value (3,) of the offset, dt [s] after the last; stddev [m/s] of its noise,
        `subtracted` (3,): the bias that was subtracted from the force since. Returns the innovation
        (3,) in body axes and standard deviations, None for the first value."""
        if self._offset is None:
            self._offset = value
            return None
        a, b = self._variances
        c = self.bias_variance
        a, b, c = (a + 2 * dt * b + dt * dt * c + self.offset_walk ** 2 * dt, b + dt * c,
                   c + self.walk ** 2 * dt)
        spread = a + stddev ** 2
        k0, k1 = a / spread, b / spread
        self._variances, self.bias_variance = ((1 - k0) * a, (1 - k0) * b), c - k1 * b
        # If too much bias was subtracted from the force, the offset grows.
        growth = turned(R_Gb, [dt * (s - own) for s, own in zip(subtracted, self.bias)])
        expected = [o + g for o, g in zip(self._offset, growth)]
        error = [z - o for z, o in zip(value, expected)]
        self._offset = [o + k0 * e for o, e in zip(expected, error)]
        of_body = turned_back(R_Gb, error)
        self.bias = tuple(min(max(x - k1 * e, -LARGEST_FORCE_BIAS), LARGEST_FORCE_BIAS)
                          for x, e in zip(self.bias, of_body))
        kept = math.exp(-dt / WALK_MEMORY)
        self._count = kept * self._count + 3.0
        self._squares = kept * self._squares + sum(e * e for e in error) / spread
        self._logs = kept * self._logs + 3.0 * math.log(spread)
        return [e / math.sqrt(spread) for e in of_body]


class VelocityOffset:
    """Values (3,) [m/s] of the offset in G by time; `bias` (3,) [m/s^2] in body axes, with its
    variance on each axis. `jumped`: what it was before its last jump, and when, None if it has not
    jumped. `contradictions`: when the values contradicted it.

    Values within `window` [s] of a tick are used; `stddev` [m/s] of a velocity until `note_stddev`.
    """

    def __init__(self, window: float, stddev: float):
        self._window, self._stddev = window, stddev
        self._filters = [_BiasFilter(walk, offset_walk)
                         for walk in BIAS_WALKS for offset_walk in OFFSET_WALKS]
        self._used = self._filters[0]
        self.reset()

    @property
    def bias(self) -> tuple[float, ...]:
        """(3,) [m/s^2] in body axes."""
        return self._used.bias

    @property
    def bias_variance(self) -> float:
        """Variance of the bias on each axis [m^2/s^4]."""
        return self._used.bias_variance

    @property
    def walk(self) -> float:
        """How fast the bias walks [m/s^2 per sqrt(s)]."""
        return self._used.walk

    def reset(self, bias: Sequence[float] = (0.0, 0.0, 0.0), variance: float = BIAS_STDDEV ** 2,
              age: float = 0.0) -> None:
        """Forget everything, including the bias, unless an earlier one (3,) [m/s^2] is given with
        its variance on each axis, known `age` [s] ago."""
        self._know(bias, variance, age)
        self._forget_walk()
        self.jumped: _Bias | None = None
        self._jump: _Bias | None = None     # from before a jump whose size is not known yet
        self.contradictions = Contradictions()
        self.restart()

    def _know(self, bias: Sequence[float], variance: float, age: float = 0.0) -> None:
        for each in self._filters:
            each.bias, each.bias_variance = tuple(bias), variance + each.walk ** 2 * age

    def restart(self) -> None:
        """Forget the offset, as after a gap in the IMU; the bias stays."""
        self._values = Series(3)
        for each in self._filters:
            each.restart(self._stddev)
        self._updated = 0.0                         # [s] time of the last value
        self.doubt()

    def doubt(self) -> None:
        """Watch for a jump of the bias from now on, since a velocity has been rejected."""
        # innovations in body axes and standard deviations, each with the time [s] of the value
        # before it
        self._run: deque[tuple[float, list[float]]] = deque(maxlen=RUN_VALUES)
        self._before: _Bias | None = None       # the bias from before the values contradicted it

    def take_off(self, t: float, slope: Sequence[float]) -> None:
        """Restart after a jump of the force's bias at t [s], which gave the offset this slope (3,)
        [m/s^2] in body axes. The bias is as uncertain as initially."""
        self.jumped = _Bias(t, self.bias)
        self._know([min(max(b - s, -LARGEST_FORCE_BIAS), LARGEST_FORCE_BIAS)
                    for b, s in zip(self.bias, slope)], BIAS_STDDEV ** 2)
        self._forget_walk()     # (which a jump does not show)
        self.restart()

    def _forget_walk(self) -> None:
        for each in self._filters:
            each.forget_score()
        self._used = self._filters[0]

    def note_stddev(self, stddev: float) -> None:
        """Note the standard deviation [m/s] of the velocities from now on."""
        self._stddev = stddev

    @property
    def change(self) -> list[float] | None:
        """(3,) [m/s^2] since the bias jumped last; None if it has not, or has come back."""
        before = self.jumped
        if before is None or math.dist(self.bias, before.value) <= BIAS_STDDEV:
            return None
        return [now - then for now, then in zip(self.bias, before.value)]

    def discard_after(self, t: float) -> None:
        """Remove the values later than t."""
        self._values.discard_after(t)

    def add(self, t: float, value: Sequence[float], R_Gb: Sequence[float]) -> None:
        """Add an accepted value (3,) in G, later than the last; R_Gb (9,) takes body axes to G."""
        subtracted, innovations = self.bias, {}
        for each in self._filters:
            innovations[each] = each.update(t - self._updated, value, R_Gb, self._stddev,
                                            subtracted)
        innovation = innovations[self._used]
        if innovation is not None:
            self._run.append((self._updated, innovation))
            self._judge_run(t)
        # A jump looks like a fast walk, so the walk is judged while nothing contradicts it.
        if not self.contradictions.is_open:
            self._choose_walk()
        self._updated = t
        self._values.append(t, value)

    def _choose_walk(self) -> None:
        scores = [each.score for each in self._filters]
        self._used = next(each for each, score in zip(self._filters, scores)
                          if score >= max(scores) - FASTER_LOG_ODDS)

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
            self._before = _Bias(begin, self.bias)
        elif t - self._before.t > JUMP_STAYS:
            self._jump = self._before
            self._know(self.bias, BIAS_STDDEV ** 2)
            for each in self._filters:
                each.restart(self._stddev)      # (the offset has followed with a lag)
            self._forget_walk()
            self.doubt()

    def _tell_jump(self) -> None:
        """Report a jump that is over, if it is worth telling. What was no bias before it, since
        force and velocity have never agreed, has not changed."""
        before = self._jump
        if (before is not None and math.dist(self.bias, before.value) > BIAS_STDDEV
                and max(map(abs, before.value)) < Z999 * BIAS_STDDEV):
            self.jumped = before
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
