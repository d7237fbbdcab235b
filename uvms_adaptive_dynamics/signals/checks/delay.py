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

"""The unknown delay between thruster command and motion.

It is the shift of the wrench at which the motion explains it best: offline with the robot's own
regressor (`thruster_delay`), online with a few features of the motion (`DelayMonitor`). Public
recordings have 0.1 to 0.6 s of it.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...config import Config
from ...model.kernel import gaussian_kernel
from ...model.normal import Z95, Z999
from ...model.robot import RobotModel
from ...model.sample import VEHICLE_CHANNELS, Misread, Sample

SETTING = "thrusters.delay"
MIN_SHIFT, MAX_SHIFT, SHIFT_STEP = -0.2, 0.8, 0.02     # [s] of the shifts tried
ROW_STRIDE = 5           # every fifth row is enough after the low-pass
MIN_DELAY_ROWS = 100
INDEPENDENT_AFTER = 1.0  # [s] between rows whose residuals are independent
MIN_RECORDING = 20.0     # [s]
CONTRAST_SHIFT = 0.1     # [s] beside the best shift, where the contrast is taken
MIN_CONTRAST = 1.1       # below which the delay is unknown
# [N, N m] an axis with less tells nothing: a step of a thruster's PWM, the end of a rotor's lag
LEAST_EFFORT = 0.05
MAX_DELAY_ERROR = 0.005  # [s] a quarter of a tick
FIRST_ESTIMATE, ESTIMATE_PERIOD, MONITORED = 30.0, 30.0, 60.0    # [s]


class Delay(NamedTuple):
    """`delay` [s] by which the motion follows the wrench beyond what the settings say, and its
    standard error `stddev` [s] from the likelihood's curvature.

    `unexplained` is the share of the wrench's variance that is left there, `contrast` how many
    times more is left 0.1 s beside it.
    """

    delay: float
    unexplained: float
    contrast: float
    stddev: float = 0.0


def thruster_delay(samples: Sequence[Sample], robot: RobotModel, config: Config) -> Delay | None:
    """The delay in `samples` on the grid, to be added to thrusters.delay.

    None where the vehicle's rows are too few or move too little to tell.
    """
    t = np.array([s.t for s in samples])
    Y = np.array([robot.raw_rows(s).Y[:6] for s in samples])
    wrench = np.array([s.wrench for s in samples])
    valid = np.array([s.valid[:6].all() for s in samples])
    return _best_shift(t, Y, wrench, valid, config)


class DelayMonitor:
    """Keeps the last minute of motion and wrench, and estimates the delay every 30 s."""

    def __init__(self, config: Config):
        self._config = config
        self._max_rows = round(MONITORED / config.filter.period)
        self._misread = (Misread(SETTING, tuple(range(len(VEHICLE_CHANNELS)))),)
        self.reset()

    def reset(self) -> None:
        """Forget the motion and the estimate."""
        self.found: Delay | None = None
        self._rows: list[tuple] = []
        self._since_estimate = ESTIMATE_PERIOD - FIRST_ESTIMATE

    def add(self, sample: Sample) -> None:
        """Add a sample, and estimate the delay if it is time."""
        self._rows.append((sample.t, sample.R_nb[2], sample.nu, sample.nu_dot, sample.wrench,
                           bool(sample.valid[:6].all())))
        self._since_estimate += self._config.filter.period
        if self._since_estimate >= ESTIMATE_PERIOD:
            self._since_estimate = 0.0
            self._rows = self._rows[-self._max_rows:]
            self.found = self._estimate()

    def _estimate(self) -> Delay | None:
        columns = (np.array(column) for column in zip(*self._rows))
        t, n3, nu, nu_dot, wrench, valid = columns
        features = np.hstack([nu_dot, nu, np.abs(nu) * nu, n3, np.cross(nu[:, 3:], nu[:, :3]),
                              np.ones((len(t), 1))])
        return _best_shift(t, features, wrench, valid, self._config)

    @property
    def _least(self) -> float:
        """[s] Error of the delay that is certain to 99.9 %."""
        found = self.found
        return 0.0 if found is None else max(abs(found.delay) - Z999 * found.stddev, 0.0)

    @property
    def misread(self) -> tuple[Misread, ...]:
        """What parameters take in: a delay that is wrong by more than their intervals allow for."""
        allowed = Z95 * self._config.uncertainty.delay_stddev
        return self._misread if self._least > allowed else ()

    @property
    def warning(self) -> str:
        """A sentence if the delay is wrong by more than MAX_DELAY_ERROR with 99.9 %
        certainty, else ''."""
        found = self.found
        if found is None or self._least < MAX_DELAY_ERROR:
            return ""
        setting, error = self._config.thrusters.delay, found.delay
        return (f"{SETTING}: over the last minute the vehicle followed its thrusters "
                f"{abs(error):.3f} +- {found.stddev:.3f} s {'later' if error > 0 else 'earlier'} "
                "than the setting says; "
                f"set thrusters.delay to {setting + error:.3f} (now {setting:.3f})")


def _best_shift(t: np.ndarray, Y: np.ndarray, wrench: np.ndarray, valid: np.ndarray,
                config: Config) -> Delay | None:
    """The shift d with the least residual of wrench (k, 6) at t - d on Y, refined by a parabola.

    Y (k, 6, p): one model of all axes; Y (k, p): the same features for each axis by itself.
    """
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
    if not moved.any():
        return None
    rows = np.array([np.tensordot(kernel, Y[k:k + len(kernel)], (0, 0)) for k in used])
    weight = np.where(moved, 1.0 / np.maximum(tau[used].std(axis=0), 1e-9), 0.0)
    U = _range_of(rows if Y.ndim == 2 else (rows * weight[:, None]).reshape(-1, Y.shape[2]))
    shifts = np.arange(MIN_SHIFT, MAX_SHIFT + SHIFT_STEP / 2, SHIFT_STEP)
    unexplained = np.zeros(len(shifts))
    for k, d in enumerate(shifts):
        b = np.column_stack([np.interp(times[used] - d, times, column) for column in tau.T])
        b = b * weight
        b = b if Y.ndim == 2 else b.reshape(-1, 1)
        unexplained[k] = 1.0 - np.sum((U.T @ b) ** 2) / np.sum(b ** 2)
    independent = moved.sum() * len(used) * ROW_STRIDE * period / INDEPENDENT_AFTER
    return _minimum(shifts, unexplained, float(independent))


def _whole_windows(t: np.ndarray, valid: np.ndarray, length: int, period: float) -> np.ndarray:
    """Whether each window of `length` rows is valid throughout and without a gap."""
    span = length - 1
    all_valid = np.convolve(valid, np.ones(length), "valid") > length - 0.5
    duration = t[span:] - t[:len(t) - span]
    return all_valid & (np.abs(duration - span * period) < 0.5 * period)


def _range_of(A: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the columns of A (k, p), those of nearly zero left out."""
    size = np.linalg.norm(A, axis=0)
    large = size > 1e-9 * size.max()
    U, s, _ = np.linalg.svd(A[:, large] / size[large], full_matrices=False)
    return U[:, s > 1e-6 * s[0]]


def _minimum(shifts: np.ndarray, unexplained: np.ndarray, independent: float) -> Delay | None:
    """The delay at the least residual; None at the edge, or where the minimum is flat.
    independent: rows that the residual has."""
    k = int(np.argmin(unexplained))
    if k in (0, len(shifts) - 1):
        return None
    beside = max(1, round(CONTRAST_SHIFT / SHIFT_STEP))
    neighbours = unexplained[max(0, k - beside)], unexplained[min(len(shifts) - 1, k + beside)]
    contrast = float(min(neighbours) / unexplained[k])
    if contrast <= MIN_CONTRAST:
        return None
    before, here, after = unexplained[k - 1:k + 2]
    curvature = max(before - 2 * here + after, 1e-12)
    delay = shifts[k] + SHIFT_STEP * 0.5 * (before - after) / curvature
    # -2 log L = n log(unexplained), whose curvature is 2 / stddev^2
    stddev = SHIFT_STEP * np.sqrt(2 * here / (independent * curvature))
    return Delay(float(delay), float(unexplained[k]), contrast, float(stddev))
