"""The unknown delay between thruster command and motion: the shift of the wrench at which the motion explains it best.

Offline with the robot's own regressor (`thruster_delay`), online with a few features of the motion (`DelayWatch`), which
warns. Public recordings have 0.1 to 0.6 s in this chain.
"""
from __future__ import annotations

from typing import NamedTuple, Sequence

import numpy as np

from ...config import Config
from ...model.robot import RobotModel
from ...estimation.low_pass import gaussian_kernel
from ...model.sample import Sample

EARLIEST, LATEST, STEP = -0.2, 0.8, 0.02     # [s] of the shifts tried
SPARSE = 5            # every fifth row is enough after the low-pass
LEAST_CONTRAST = 1.1  # residual elsewhere over residual at the best shift, below which nothing is known


class Delay(NamedTuple):
    """`delay` [s] by which the motion follows the wrench as the settings have it; `share` of the wrench's variance that
    is unexplained there; `contrast`: how many times larger that share is 0.1 s beside it."""

    delay: float
    share: float
    contrast: float


def thruster_delay(samples: Sequence[Sample], robot: RobotModel, config: Config) -> Delay | None:
    """The delay in `samples` on the grid; None where the vehicle's rows are too few or too still to tell.

    Add it to thrusters.delay.
    """
    t = np.array([s.t for s in samples])
    Y = np.array([robot.raw_rows(s).Y[:6] for s in samples])
    return _best_shift(t, Y, np.array([s.wrench for s in samples]), np.array([s.valid[:6].all() for s in samples]), config)


class DelayWatch:
    """Keeps a minute of motion and wrench, and judges it now and then."""

    BEGIN, AGAIN, KEEP = 30.0, 30.0, 60.0   # [s]

    def __init__(self, config: Config):
        self._config = config
        self._most = round(self.KEEP / config.filter.period)
        self.reset()

    def reset(self) -> None:
        """Forget the motion and the verdict."""
        self.found: Delay | None = None
        self._rows: list[tuple] = []
        self._fresh = self.AGAIN - self.BEGIN

    def add(self, sample: Sample) -> None:
        """Take in a sample."""
        self._rows.append((sample.t, sample.R_nb[2], sample.nu, sample.nu_dot, sample.wrench, bool(sample.valid[:6].all())))
        self._fresh += self._config.filter.period
        if self._fresh >= self.AGAIN:
            self._fresh = 0.0
            self._rows = self._rows[-self._most:]
            self.found = self._judge()

    def _judge(self) -> Delay | None:
        t, n3, nu, nu_dot, wrench, valid = (np.array(column) for column in zip(*self._rows))
        features = np.hstack([nu_dot, nu, np.abs(nu) * nu, n3, np.cross(nu[:, 3:], nu[:, :3]), np.ones((len(t), 1))])
        return _best_shift(t, features, wrench, valid, self._config)

    @property
    def warning(self) -> str:
        """A sentence where the delay is wrong by more than what the low-pass forgives."""
        if self.found is None or abs(self.found.delay) < 0.06:
            return ""
        setting = self._config.thrusters.delay
        return (f"thrusters.delay: the vehicle follows its thrusters {abs(self.found.delay):.2f} s {'later' if self.found.delay > 0 else 'earlier'} "
                f"than the settings say: set thrusters.delay to {setting + self.found.delay:.2f} (now {setting:.2f})")


def _best_shift(t, Y, wrench, valid, config) -> Delay | None:
    """Least squares of the wrench at t - d on Y for every d, refined by a parabola.

    Y (k, 6, p): one model of all axes; Y (k, p): the same features for each axis by itself.
    """
    kernel = gaussian_kernel(config.filter)
    half = len(kernel) // 2
    if len(t) < 20 / config.filter.period or wrench.std(axis=0).min() < 1e-6:
        return None
    smooth = lambda x: np.apply_along_axis(np.convolve, 0, x, kernel, "valid")  # noqa: E731
    whole = (np.convolve(valid, np.ones(len(kernel)), "valid") > len(kernel) - 0.5) & (
        np.abs(t[2 * half:] - t[:len(t) - 2 * half] - 2 * half * config.filter.period) < 0.5 * config.filter.period)
    times, tau = t[half:len(t) - half], smooth(wrench)
    used = np.flatnonzero(whole & (times > times[0] + LATEST) & (times < times[-1] + EARLIEST))[::SPARSE]
    if len(used) < 100:
        return None
    rows = np.array([np.tensordot(kernel, Y[k:k + len(kernel)], (0, 0)) for k in used])
    weight = 1.0 / tau.std(axis=0)
    A = rows if Y.ndim == 2 else (rows * weight[:, None]).reshape(-1, Y.shape[2])
    size = np.linalg.norm(A, axis=0)
    A = A[:, size > 1e-9 * size.max()] / size[size > 1e-9 * size.max()]
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    U = U[:, s > 1e-6 * s[0]]
    shifts = np.arange(EARLIEST, LATEST + STEP / 2, STEP)
    share = []
    for d in shifts:
        b = np.column_stack([np.interp(times[used] - d, times, column) for column in tau.T]) * weight
        b = b if Y.ndim == 2 else b.reshape(-1, 1)
        share.append(1.0 - np.sum((U.T @ b) ** 2) / np.sum(b ** 2))
    share = np.array(share)
    k = int(np.argmin(share))
    if k in (0, len(shifts) - 1):
        return None
    beside = max(1, round(0.1 / STEP))
    contrast = float(min(share[max(0, k - beside)], share[min(len(share) - 1, k + beside)]) / share[k])
    before, here, after = share[k - 1:k + 2]
    delay = shifts[k] + STEP * 0.5 * (before - after) / max(before - 2 * here + after, 1e-12)
    return Delay(float(delay), float(share[k]), contrast) if contrast > LEAST_CONTRAST else None
