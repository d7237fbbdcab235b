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

"""Estimate of the unknown delay between thruster command and motion.

The delay is the shift of the wrench at which the motion explains it best: offline with the robot's
regressor (`thruster_delay`), online with a few features of the motion (`DelayMonitor`). Public
recordings have delays of 0.1 to 0.6 s.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...model.jackknife import student_quantile, variance
from ...model.kernel import gaussian_kernel
from ...model.normal import CERTAIN, Z95
from ...model.robot import RobotModel
from ...model.sample import VEHICLE_CHANNELS, Misread, Sample
from ...model.thrust_curve import neutral_command
from .finding import CONSISTENT, UNDECIDED, CheckResult, Finding, Mend
from .fits import STRETCHES, vertex

SETTING = "thrusters.delay"
MIN_SHIFT, MAX_SHIFT, SHIFT_STEP = -0.8, 0.8, 0.02     # [s] shifts that are tried
SHIFTS = np.arange(MIN_SHIFT, MAX_SHIFT + SHIFT_STEP / 2, SHIFT_STEP)
ROW_STRIDE = 5           # every fifth row is enough after the low-pass
MIN_DELAY_ROWS = 100
MIN_RECORDING = 20.0     # [s]
# [N, N m] An axis with less is ignored: it may be one PWM step, or the tail of a rotor's lag.
LEAST_EFFORT = 0.05
LEVERAGE_STEPS = 3       # after which the stretches' weights hardly change
MAX_DELAY_ERROR = 0.005  # [s] a quarter of a tick
FIRST_ESTIMATE, ESTIMATE_PERIOD, MONITORED = 30.0, 30.0, 60.0    # [s]


class Delay(NamedTuple):
    """`delay` [s] of the motion behind the wrench in addition to the configured one, and its
    standard error `stddev` [s]. steady: whether the odds against the configured delay exceed what
    they vary by from one stretch of time to another, with 95 % confidence (Vuong 1989)."""

    delay: float
    stddev: float = 0.0
    steady: bool = True


def thruster_delay(samples: Sequence[Sample], robot: RobotModel, config: Config) -> Delay | None:
    """The delay in `samples` on the grid, to be added to thrusters.delay.

    None if the vehicle's rows are too few, or contain too little motion to tell.
    """
    t = np.array([s.t for s in samples])
    Y = np.array([robot.raw_rows(s).Y[:6] for s in samples])
    wrench = np.array([s.wrench for s in samples])
    valid = np.array([s.valid[:6].all() for s in samples])
    shifted = _Shifted.of(t, wrench, valid, config)
    return None if shifted is None else _best_shift(shifted, Y)


class DelayMonitor:
    """Keeps the last minute of motion and wrench, and estimates the delay every 30 s from all of
    it, or from its newest half if all of it shows no certain delay, as after a change.

    The wrench is regressed on the motion. Noise of the motion, as of an IMU that is shaken, makes
    acceleration explain less of it than velocity, which is later; noise of the wrench does the same
    to the reverse regression. The true delay lies between both, so both must be certain of one.

    in_bursts: returns whether the commands wait for each other without stamps, so that a delay is
    one on average."""

    def __init__(self, config: Config, in_bursts: Callable[[], bool] = bool):
        self._config, self._in_bursts = config, in_bursts
        self._max_rows = round(MONITORED / config.filter.period)
        self._misread = (Misread(SETTING, tuple(range(len(VEHICLE_CHANNELS)))),)
        self.reset()

    def reset(self) -> None:
        """Forget the motion and the estimate."""
        self.found: Delay | None = None
        self._certain = 0.0     # [s] lower bound of its magnitude
        self.restart()
        self._since_estimate = ESTIMATE_PERIOD - FIRST_ESTIMATE

    def restart(self) -> None:
        """Forget the motion, as at a jump of the clock; the estimate stays until the next."""
        self._began: float | None = None    # [s since the epoch] if it was not there before
        self._rows: list[tuple] = []
        self._since_estimate = 0.0

    def add(self, sample: Sample) -> None:
        """Add a sample; estimate the delay if it is due."""
        self._rows.append((sample.t, sample.R_nb[2], sample.nu, sample.nu_dot, sample.wrench,
                           bool(sample.valid[:6].all())))
        self._since_estimate += self._config.filter.period
        if self._since_estimate >= ESTIMATE_PERIOD:
            self._since_estimate = 0.0
            self._rows = self._rows[-self._max_rows:]
            self._began = None
            self.found, self._certain = self._estimate(self._rows)
            if not self._certain:
                recent, certain = self._estimate(self._rows[-self._max_rows // 2:])
                if certain:
                    self.found, self._certain = recent, certain
                    self._began = self._beginning(self._rows, recent)

    def _estimate(self, rows: list[tuple]) -> tuple[Delay | None, float]:
        """(delay, lower bound [s] of its magnitude with 99.9 % certainty)."""
        shifted, nu_dot, others = self._regressed(rows)
        if shifted is None:
            return None, 0.0
        found = _best_shift(shifted, np.hstack([nu_dot, others]))
        least = _least(found)
        if least:
            reverse = _least(_reverse_shift(shifted, nu_dot, others))
            least = min(abs(least), abs(reverse)) if least * reverse > 0.0 else 0.0
        return found, least

    def _beginning(self, rows: list[tuple], found: Delay | None) -> float | None:
        """Time [s since the epoch] from which on the delay is likelier than none; None if it always
        has been."""
        shifted, nu_dot, others = self._regressed(rows)
        if shifted is None or found is None:
            return None
        gain = _gain_of(shifted, np.hstack([nu_dot, others]), found.delay)
        first = int(np.argmax(np.cumsum(gain[::-1])[::-1]))
        return float(shifted.t[shifted.used[first]]) if first else None

    def _regressed(self, rows: list[tuple]) -> tuple[_Shifted | None, np.ndarray, np.ndarray]:
        """(the wrench, the acceleration (n, 6), other features of the motion (n, p)) of the kept
        rows."""
        t, n3, nu, nu_dot, wrench, valid = (np.array(column) for column in zip(*rows))
        others = np.hstack([nu, np.abs(nu) * nu, n3, np.cross(nu[:, 3:], nu[:, :3]),
                            np.ones((len(t), 1))])
        return _Shifted.of(t, wrench, valid, self._config), nu_dot, others

    def result(self, origin: float) -> CheckResult:
        """What the sensor checks are told: the delay, if putting the commands off by it is sure to
        help, since at least half of it is certain. origin: zero [s since the epoch] of the checks'
        times."""
        found, thrusters = self.found, self._config.thrusters
        if found is None:
            return UNDECIDED
        if not self.misread or 2.0 * self._certain < abs(found.delay):
            return CONSISTENT if abs(found.delay) + _margin(found) < self._allowed else UNDECIDED
        command, count = ((neutral_command(thrusters.unit), len(thrusters.signs))
                          if thrusters.source == "thrusters" else (0.0, len(VEHICLE_CHANNELS)))
        return CheckResult([Finding(
            SETTING, self.warning.partition(": ")[2],
            {} if self._in_bursts() else {SETTING: round(thrusters.delay + found.delay, 3)},
            mend=Mend(thrusters.source, 0, np.eye(count), command, late=-found.delay),
            since=None if self._began is None else self._began - origin, lasting=True)], True)

    @property
    def _allowed(self) -> float:
        """[s] what the parameters' intervals allow for."""
        return Z95 * self._config.uncertainty.delay_stddev

    @property
    def misread(self) -> tuple[Misread, ...]:
        """The delay setting, if it is wrong by more than the parameters' intervals allow for."""
        return self._misread if self._certain > self._allowed else ()

    @property
    def warning(self) -> str:
        """A sentence if the configured delay is wrong by more than MAX_DELAY_ERROR with 99.9 %
        certainty, else ''."""
        found = self.found
        if found is None or self._certain < MAX_DELAY_ERROR:
            return ""
        setting, error = self._config.thrusters.delay, found.delay
        if self._in_bursts():
            return (f"{SETTING}: commands that come in bursts are dated {abs(error):.3f} +- "
                    f"{found.stddev:.3f} s {'early' if error > 0 else 'late'} on average, by what "
                    "the vehicle makes of them; no setting is right for each: receive or record "
                    "them without a buffer between, or with stamps")
        return (f"{SETTING}: over the last minute the vehicle followed its thrusters "
                f"{abs(error):.3f} +- {found.stddev:.3f} s {'later' if error > 0 else 'earlier'} "
                "than the setting says; "
                f"set thrusters.delay to {setting + error:.3f} (now {setting:.3f})")


def _least(found: Delay | None) -> float:
    """[s] Of the delays that 99.9 % certainty allows, the one nearest to none. A controller that
    follows slow water gives a sharp estimate, but as many stretches of time deny it as say so."""
    if found is None or not found.steady:
        return 0.0
    margin = _margin(found)
    return found.delay - float(np.clip(found.delay, -margin, margin))


def _margin(found: Delay) -> float:
    """[s] by which the delay may be off, with 99.9 % certainty."""
    return student_quantile(CERTAIN, STRETCHES) * found.stddev


class _Shifted(NamedTuple):
    """The low-passed wrench (n, m) at the times t (n,) [s], in standard deviations, of the axes
    `moved` (6,) by it, whose deviations are size (m,) [N, N m]; used (k,): indices of the rows that
    are compared with motion; kernel: the low-pass."""

    t: np.ndarray
    wrench: np.ndarray
    moved: np.ndarray
    used: np.ndarray
    kernel: np.ndarray
    size: np.ndarray

    @classmethod
    def of(cls, t: np.ndarray, wrench: np.ndarray, valid: np.ndarray,
           config: Config) -> _Shifted | None:
        """None if rows or wrench are too few, or too small, to tell."""
        kernel, period = gaussian_kernel(config.filter), config.filter.period
        half = len(kernel) // 2
        if len(t) < MIN_RECORDING / period:
            return None
        tau = np.apply_along_axis(np.convolve, 0, wrench, kernel, "valid")
        times = t[half:len(t) - half]
        used = np.flatnonzero(_whole_windows(t, valid, len(kernel), period)
                              & (times > times[0] + MAX_SHIFT) & (times < times[-1] + MIN_SHIFT))
        used = used[::ROW_STRIDE]
        if len(used) < MIN_DELAY_ROWS:
            return None
        moved = tau[used].std(axis=0) > LEAST_EFFORT
        size = tau[used][:, moved].std(axis=0)
        return cls(times, tau[:, moved] / size, moved, used, kernel, size) if moved.any() else None

    def low_passed(self, rows: np.ndarray) -> np.ndarray:
        """(k, ...) the rows (n, ...) of motion, at the times that are used."""
        return np.array([np.tensordot(self.kernel, rows[k:k + len(self.kernel)], (0, 0))
                         for k in self.used])

    def earlier(self, delay: float) -> np.ndarray:
        """(k, m) the wrench a delay [s] before the times that are used."""
        return np.column_stack([np.interp(self.t[self.used] - delay, self.t, column)
                                for column in self.wrench.T])


def _best_shift(shifted: _Shifted, Y: np.ndarray) -> Delay | None:
    """The most likely shift d, with the wrench at t - d regressed on Y, refined by a parabola.

    Y (k, 6, p): one model for all axes; Y (k, p): the same features for each axis separately.
    """
    count = len(shifted.used)
    rows = shifted.low_passed(Y)
    if Y.ndim == 3:
        rows = (rows[:, shifted.moved] / shifted.size[:, None]).reshape(-1, Y.shape[2])
    weight = _weights(rows, count)
    U = _range_of(rows * np.repeat(weight, len(rows) // count)[:, None])
    left = []
    for d in SHIFTS:
        b = weight[:, None] * shifted.earlier(d)
        b = b if Y.ndim == 2 else b.reshape(-1, 1)
        left.append(_by_stretch((b - U @ (U.T @ b)).reshape(count, -1)))
    return _likeliest(np.array(left))


def _gain_of(shifted: _Shifted, Y: np.ndarray, delay: float) -> np.ndarray:
    """(k,) By how much the delay [s] lowers each row's -2 log likelihood, with the wrench regressed
    on the features Y (k, p)."""
    U = _range_of(shifted.low_passed(Y))
    left = [b - U @ (U.T @ b) for b in (shifted.earlier(0.0), shifted.earlier(delay))]
    variance = np.minimum(*(np.mean(one ** 2, axis=0) for one in left))
    return np.sum((left[0] ** 2 - left[1] ** 2) / np.maximum(variance, 1e-12), axis=1)


def _reverse_shift(shifted: _Shifted, acceleration: np.ndarray, others: np.ndarray) -> Delay | None:
    """The most likely shift d, with acceleration (k, 6) regressed on the wrench at t - d and on
    others (k, p), refined by a parabola."""
    Q = _range_of(shifted.low_passed(others))
    y = shifted.low_passed(acceleration)
    y = y - Q @ (Q.T @ y)
    left = []
    for d in SHIFTS:
        b = shifted.earlier(d)
        U = _range_of(b - Q @ (Q.T @ b))
        left.append(_by_stretch(y - U @ (U.T @ y)))
    return _likeliest(np.array(left))


def _by_stretch(left: np.ndarray) -> np.ndarray:
    """(K, m) squares of the residuals (k, m), summed over each stretch of time."""
    return np.array([part.sum(axis=0) for part in np.array_split(left ** 2, STRETCHES)])


def _whole_windows(t: np.ndarray, valid: np.ndarray, length: int, period: float) -> np.ndarray:
    """Whether each window of `length` rows is valid throughout and without a gap."""
    span = length - 1
    all_valid = np.convolve(valid, np.ones(length), "valid") > length - 0.5
    duration = t[span:] - t[:len(t) - span]
    return all_valid & (np.abs(duration - span * period) < 0.5 * period)


def _weights(rows: np.ndarray, count: int) -> np.ndarray:
    """Weights (count,) of the instants by which no stretch of time determines the fit to `rows`
    (count m, p) alone: none has a larger mean leverage than the median of all.

    The rows are measured. While an IMU is shaken, its noise is larger than any motion, and a fit to
    noise says that no motion follows from thrust."""
    stretches = np.array_split(np.arange(count), STRETCHES)
    weight = np.ones(count)
    for _ in range(LEVERAGE_STEPS):
        U = _range_of(rows * np.repeat(weight, len(rows) // count)[:, None])
        leverage = (U ** 2).reshape(count, -1).sum(axis=1)
        means = np.array([leverage[part].mean() for part in stretches])
        for part, mean in zip(stretches, means):
            weight[part] *= min(1.0, np.sqrt(np.median(means) / max(mean, 1e-12)))
    return weight


def _range_of(A: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the columns of A (k, p), without columns near zero."""
    size = np.linalg.norm(A, axis=0)
    large = size > 1e-9 * size.max()
    U, s, _ = np.linalg.svd(A[:, large] / size[large], full_matrices=False)
    return U[:, s > 1e-6 * s[0]]


def _likeliest(left: np.ndarray) -> Delay | None:
    """The most likely delay, from the residual squares (S, K, m) at the SHIFTS, in K stretches of
    time, on m axes; None if it is at the edge.

    Each stretch has its own noise, so that one in which the IMU is shaken decides nothing.
    Likelihoods of the axes multiply: an axis that thrust moves determines the delay, one on which a
    controller reacts to a tether or to another axis contributes next to nothing. The error combines
    a jackknife over stretches of time with the disagreement of axes and stretches.
    """
    cost = np.log(np.maximum(left, 1e-12)) / left.shape[1]      # (S, K, m)
    of_axes = cost.sum(axis=1)                                  # (S, m), -2 log L per row
    delay, curvature = vertex(SHIFTS, of_axes.sum(axis=1))
    without = (of_axes[:, None] - cost).sum(axis=2)
    parts, curvatures = np.transpose([vertex(SHIFTS, one) for one in without.T])
    if curvature == 0.0 or (curvatures == 0.0).any():   # an end of the tried shifts
        return None
    by_stretch = cost.sum(axis=2)
    disagreement = sum(_disagreement(costs, delay) for costs in (of_axes, by_stretch))
    gain = np.array([np.interp(0.0, SHIFTS, one) - np.interp(delay, SHIFTS, one)
                     for one in by_stretch.T])
    varies = math.sqrt(STRETCHES * float(np.var(gain, ddof=1)))
    return Delay(delay, float(np.sqrt(variance(parts) + disagreement / curvature)),
                 bool(gain.sum() > student_quantile(0.975, STRETCHES) * varies))


def _disagreement(costs: np.ndarray, delay: float) -> float:
    """Twice the sum, over all but one, of the costs (S, k) above their own least ones at a delay.
    """
    at_delay = [np.interp(delay, SHIFTS, one) for one in costs.T]
    return 2.0 * float(np.sum(at_delay - costs.min(axis=0))) / max(costs.shape[1] - 1, 1)
