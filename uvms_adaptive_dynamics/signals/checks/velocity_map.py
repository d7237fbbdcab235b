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

"""Linear map from the DVL's velocity to the integrated IMU, its scale and rotation, with standard
errors."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...model.rotations import skew, to_rotation_vector
from .finding import CHANGE_WINDOW
from .fits import ROBUST_QUANTILE, integral, regression

MIN_VELOCITY_WINDOWS = 30  # of three values each, for sixteen unknowns
UNKNOWNS = 16             # Q, lever arm, lag, accelerometer bias


class VelocityMap(NamedTuple):
    """Fit of the change of R Q v + R (w x d) + T a, plus the integral of the accelerometer's bias,
    to the change of the IMU's integrated velocity, whose derivative is a.

    Q (3, 3); d (3,) [m] error of the DVL's position; T [s] how much later the DVL's stamps are than
    the IMU's; covariance (13, 13) of Q by columns, d, T; moved (3,) [m/s] RMS change per axis;
    explained: share of the changes' power; free: degrees of freedom left (independent values less
    unknowns).
    """

    Q: np.ndarray
    lever: np.ndarray
    lag: float
    covariance: np.ndarray
    moved: np.ndarray
    explained: float
    free: float

    @property
    def by_axis(self) -> np.ndarray:
        """(3,) share of the power left by everything else that each axis' velocity explains; nearly
        zero where the DVL shows only noise."""
        found = []
        for k in range(3):
            q, C = self.Q[:, k], self.covariance[3 * k:3 * k + 3, 3 * k:3 * k + 3]
            squares = float(q @ np.linalg.lstsq(C, q, rcond=None)[0])    # in standard errors
            found.append(squares / (squares + self.free))
        return np.array(found)

    @property
    def errors(self) -> np.ndarray:
        """(13,) standard errors of Q by columns, d, T."""
        return np.sqrt(np.diagonal(self.covariance))

    def rotation(self) -> tuple[np.ndarray, float]:
        """(rotation vector (3,) [rad] from the DVL's axes to the IMU's, standard error [rad] of its
        angle); Q must be close to a scaled rotation."""
        U, s, Vt = np.linalg.svd(self.Q)
        R = U @ Vt
        phi, size = to_rotation_vector(R), s.mean()
        angle = np.linalg.norm(phi)
        axis = phi / angle if angle > 1e-9 else np.array([0.0, 0.0, 1.0])
        # Q = size R (1 + S(delta)): the turn about the axis is linear in Q
        by_Q = (R @ skew(axis)).T.ravel() / (2 * size)
        return phi, float(np.sqrt(by_Q @ self.covariance[:9, :9] @ by_Q))

    def scale(self) -> tuple[float, float, float]:
        """(lower bound, upper bound, standard error) of the ratio of IMU to DVL velocity.

        DVL noise biases the fit low, at most by the share that it leaves unexplained (reverse
        regression)."""
        U, s, Vt = np.linalg.svd(self.Q)
        by_Q = (U @ Vt).T.ravel() / 3
        error = float(np.sqrt(by_Q @ self.covariance[:9, :9] @ by_Q))
        return float(s.mean()), float(s.mean()) / max(self.explained, 1e-3), error


def velocity_map(dvl: np.ndarray, of_world: bool = False) -> VelocityMap | None:
    """Fit the map to the rows of `dvl` (as in `frames`) over one-second windows; None if too few
    windows have no gap. `of_world`: assume a velocity in world axes, with Q v instead of R Q v."""
    t, v, w, C = dvl[:, 0], dvl[:, 1:4], dvl[:, 4:7], dvl[:, 7:10]
    R = dvl[:, 10:19].reshape(-1, 3, 3)
    period = np.median(np.diff(t))
    lag = max(1, round(CHANGE_WINDOW / period))
    axes = np.broadcast_to(np.eye(3), R.shape) if of_world else R
    by_Q = np.einsum("kij,kl->kilj", axes, v).reshape(-1, 3, 9)
    acceleration, smooth = _slope(t, C, 3 * period)
    rows = np.concatenate([by_Q, _rotated_skew(R, w), acceleration[:, :, None], integral(t, R)],
                          axis=2)
    ok = (np.abs(t[lag:] - t[:-lag] - CHANGE_WINDOW) < 0.5) & smooth[lag:] & smooth[:-lag]
    if ok.sum() < MIN_VELOCITY_WINDOWS:
        return None
    change = (rows[lag:] - rows[:-lag])[ok].reshape(-1, UNKNOWNS)
    x, covariance, explained = regression(change, (C[lag:] - C[:-lag])[ok].ravel(), lag)
    moved = np.sqrt(np.mean(change[:, :9].reshape(-1, 3, 3) ** 2, axis=(0, 2)) * 3)
    free = max(ROBUST_QUANTILE * len(change) / lag - x.size, 1.0)
    return VelocityMap(x[:9].reshape(3, 3).T, x[9:12], float(x[12]), covariance[:13, :13], moved,
                       explained, free)


def _slope(t: np.ndarray, C: np.ndarray, longest: float) -> tuple[np.ndarray, np.ndarray]:
    """(slope of C (k, 3) between the neighbours of each row, (k,) whether these are less than
    `longest` [s] apart)."""
    slope, near = np.zeros_like(C), np.zeros(len(t), bool)
    span = t[2:] - t[:-2]
    slope[1:-1], near[1:-1] = (C[2:] - C[:-2]) / span[:, None], span < longest
    return slope, near


def _rotated_skew(R: np.ndarray, w: np.ndarray) -> np.ndarray:
    """R S(w) (k, 3, 3) of R (k, 3, 3) and w (k, 3)."""
    zero = np.zeros(len(w))
    S = np.array([[zero, -w[:, 2], w[:, 1]], [w[:, 2], zero, -w[:, 0]],
                  [-w[:, 1], w[:, 0], zero]]).transpose(2, 0, 1)
    return R @ S
