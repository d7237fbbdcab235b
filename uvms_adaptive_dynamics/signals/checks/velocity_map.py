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
errors.

The integral C of the specific force is smooth but for an offset o that varies slowly; the noise is
the DVL's. So the velocities v are regressed on the velocity u = R^T (C + o) of the integral: noise
does not bias that, and every velocity counts, not only changes over a second. A map Q, at first the
identity, and a lag, at first zero, are corrected by their errors E and T until these vanish:

    R Q v = C + o + R (E u - w x d - T R^T a) + K s

An attitude filter that takes the specific force for gravity, with a gain K, leans by K / g times
the velocity that the integral gains, so that this misses K times its own way s on the level. The
offset is a curve of straight pieces, as stiff as is likeliest.

Beside a DVL that is less noisy than the integral, as on a hull that shakes, errors of the integral
are taken for motion, and the map grows without bound. So there is a second, rough fit, of the
integral's changes over a second on those of the velocities, whose white noise is taken off. Its
errors are larger, and too small where the DVL's noise is not white.
"""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from ...model.normal import NORMAL_MEDIAN, chi_squared
from ...model.rotations import skew, to_rotation_vector
from .fits import ROBUST_QUANTILE, STRETCHES, integral
from .velocity_log import VelocityLog

# Standard deviations by which entries of E, the lever arm [m], the lag [s], the accelerometer's
# bias [m/s^2] and the gain of the attitude filter [1/s] may be off before anything is known.
# Filters come with gains of .05 to .5 (ArduPilot's DCM .2, Mahony's .5).
PRIOR_ERRORS = np.repeat([1.0, 0.1, 0.3], [13, 3, 1])
LEVEL_AXES = np.array([1.0, 1.0, 0.0])   # axes in which a tilt takes gravity for acceleration
# Tried ratios of the variance of the DVL's noise to that of the offset's kinks.
STIFFNESSES = 10.0 ** np.arange(-2, 8)
# Mean square of the components of standard normal vectors (3,) without the tenth that is longest.
TRIMMED_VECTORS = 0.797
# Corrections at most, until map (relative to its size) and lag [s] change by less than SETTLED.
CORRECTIONS, SETTLED = 5, 2e-3
AT_IMU = np.zeros(3)
# [m] error of the DVL's place worth a finding, and worth to repeat the fit at the right one: at
# 0.2 rad/s a small DVL's noise, 1 cm/s
MIN_LEVER_ERROR = 0.05
# Standard deviations that the size of a vector (3,) of noise exceeds once in a thousand times.
CERTAIN_SIZE = math.sqrt(chi_squared(0.999, 3))
NEARLY_SINGULAR = 1e-6           # singular values of a map, relative to its largest, that are none
LEAST_KNOWN = 0.3         # share of the integral's power that must be motion
# Share from which the DVL may be found right, or a mirror image: else the offset between them may
# hide that it was wrong for a part of the time.
KNOWN_ENOUGH = 0.8
MOST_LAG = 1.0            # [s] that is followed
LEAST = 1e-12             # share of the squares below which a residual is rounding
MOST_NOISE = 0.5          # share of the velocities' changes that counts as noise at most
THIRD_DIFFERENCES = 20.0  # sum of their squared weights, 1, 3, 3, 1


class VelocityMap(NamedTuple):
    """Fit of R Q v + R (w x d) + T a, plus the integral of the accelerometer's bias and what an
    attitude filter takes away, to the IMU's integrated velocity, whose derivative is a, up to a
    slow offset.

    Q (3, 3); d (3,) [m] error of the DVL's position; T [s] how much later the DVL's stamps are than
    the IMU's; covariance (13, 13) of Q by columns, d, T; moved (3,) [m/s] RMS change of the
    velocity along each axis of the DVL over CHANGE_WINDOW, without its noise; known: smallest share
    of the integral's power over CHANGE_WINDOW that is motion, by its correlation with the DVL less
    noise; misfit: -2 log likelihood of the velocities, up to a constant, as for white noise;
    inflation: variance of the errors relative to that; rough: as for `velocity_map`.
    """

    Q: np.ndarray
    lever: np.ndarray
    lag: float
    covariance: np.ndarray
    moved: np.ndarray
    known: float
    misfit: float
    inflation: float
    rough: bool = False

    @property
    def is_elsewhere(self) -> bool:
        """Whether the DVL's place is certainly wrong."""
        size = float(np.linalg.norm(self.lever))
        error = float(np.linalg.norm(self.lever * self.errors[9:12])) / max(size, 1e-9)
        return size - CERTAIN_SIZE * error > MIN_LEVER_ERROR

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

        Errors of an integral that counts as exact bias the fit high, at most by the share that
        is not known to be motion."""
        U, s, Vt = np.linalg.svd(self.Q)
        by_Q = (U @ Vt).T.ravel() / 3
        error = float(np.sqrt(by_Q @ self.covariance[:9, :9] @ by_Q))
        return float(s.mean()) * self.least, float(s.mean()), error

    def agrees(self, other: VelocityMap) -> bool:
        """Whether map and lag are the same within the errors of both."""
        apart = np.append((self.Q - other.Q).ravel(order="F"), self.lag - other.lag)
        places = np.append(np.arange(9), 12)
        covariance = (self.covariance + other.covariance)[np.ix_(places, places)]
        return float(apart @ np.linalg.solve(covariance, apart)) <= chi_squared(0.999, len(apart))

    @property
    def least(self) -> float:
        """Lower bound of the true scale, relative to that of Q."""
        return 1.0 if self.rough else self.known


def velocity_map(dvl: np.ndarray, place: np.ndarray = AT_IMU, of_world: bool = False,
                 rough: bool = False) -> VelocityMap | None:
    """Fit the map to the rows of `dvl` (as in `frames`); None if too few of them have neighbours,
    or if the integral shows its own errors rather than the motion. place (3,): as `dvl_place`;
    of_world: assume velocities in world axes, with Q v instead of R Q v; rough: the noise is the
    integral's, apart from white noise of the DVL."""
    found = any_map(dvl, place, of_world, rough)
    return None if found is None or found.known < LEAST_KNOWN else found


def any_map(dvl: np.ndarray, place: np.ndarray = AT_IMU, of_world: bool = False,
            rough: bool = False) -> VelocityMap | None:
    """`velocity_map`, whatever the integral shows."""
    found = _map(VelocityLog.of(dvl, place, of_world), rough)
    if found is None or not found.is_elsewhere:
        return found
    # A lag is fitted to the velocity at the DVL, so that has to be where it is.
    again = _map(VelocityLog.of(dvl, place, of_world, found.lever), rough)
    return found if again is None else again._replace(lever=found.lever + again.lever)


def _map(log: VelocityLog | None, rough: bool) -> VelocityMap | None:
    if log is None:
        return None
    if rough:
        return _result(*_settled(log, noise=_noise_of(log.v)))._replace(rough=True)
    found = _result(*_settled(log))
    if found.known < KNOWN_ENOUGH:      # corrections of the identity do not reach a mirror image
        other = _result(*_settled(log, _likely_axes(log)))
        return other if other.known > KNOWN_ENOUGH else found
    return found


def _noise_of(v: np.ndarray) -> np.ndarray:
    """Variances (3,) of white noise of the velocities v (k, 3), by their third differences, in
    which a vehicle's motion is small, and outliers are by their median."""
    differences = np.abs(np.diff(v, 3, axis=0))
    return (np.median(differences, axis=0) / NORMAL_MEDIAN) ** 2 / THIRD_DIFFERENCES


def _likely_axes(log: VelocityLog) -> np.ndarray:
    """(3, 3) orthogonal Q with which the changes of R Q v go best with those of the integral."""
    def rows(k: int) -> np.ndarray:
        turned_axes = log.R[:, :, k, None] * log.v[:, None, :]      # by R's column and v
        return log.changes(turned_axes.reshape(len(log.t), 9))
    by_imu = log.changes(log.C)
    M = np.array([np.einsum("ki,kij->j", by_imu, rows(k).reshape(-1, 3, 3)) for k in range(3)])
    U, _, Vt = np.linalg.svd(M)
    return U @ Vt


def fused(dvl: np.ndarray, place: np.ndarray = AT_IMU) -> np.ndarray:
    """The rows of `dvl` (as in `frames`) that have neighbours, with the velocity of the integral
    and the offset, which is less noisy than the DVL's; all rows as they are if these are too few.
    place (3,): as `dvl_place`."""
    log = VelocityLog.of(dvl, place)
    if log is None:
        return dvl
    _, fit, _ = _settled(log)
    rows = dvl[np.isin(dvl[:, 0], log.t)].copy()
    rows[:, 1:4] = fit.u - np.cross(rows[:, 4:7], place)
    return rows


def _settled(log: VelocityLog, start: np.ndarray | None = None,
             noise: np.ndarray | None = None) -> tuple[VelocityLog, _Fit, float]:
    """(the log, its fit once map and lag have settled, the lag [s]); start (3, 3): axes to begin
    with, None: the identity; noise (3,): as for `_by_changes`, None: `_corrected`."""
    # of any unit, and in any axes
    by_imu, by_dvl = (np.sqrt(np.mean(log.changes(x) ** 2)) for x in (log.C, log.v))
    Q = (np.eye(3) if start is None else start) * by_imu / max(by_dvl, 1e-9)
    last, lag, offset = Q, 0.0, None
    keep = np.ones(len(log.t) if noise is None else len(log.pairs()[0]), bool)
    for _ in range(CORRECTIONS):
        then = log.earlier(lag)
        fit = (_corrected(then, Q, keep, offset) if noise is None
               else _by_changes(then, Q, keep, noise))
        keep, offset = fit.keep, fit.offset
        U, s, Vt = np.linalg.svd(fit.Q)
        Q = s.mean() * U @ Vt       # (for a general matrix the noise would not be isotropic)
        before, lag = lag, float(np.clip(lag + fit.x[12], -MOST_LAG, MOST_LAG))
        if abs(lag - before) < SETTLED and np.abs(fit.Q - last).max() < SETTLED * s.mean():
            break
        last = fit.Q
    return log.earlier(before), fit, before + float(fit.x[12])


class _Fit(NamedTuple):
    """Q (3, 3), corrected; x (17,): E by columns, d, T, bias, K; covariance (17, 17) of Q and the
    rest of x, `inflation` times that for white noise; misfit: -2 log likelihood; offset
    (k, 3), with the effects of the accelerometer's bias and K; drift (k, 3): these, of the motion
    alone; keep: rows (k,), or changes, that are not outliers; variance of the DVL's noise, in the
    integral's units; u (k, 3)."""

    Q: np.ndarray
    x: np.ndarray
    covariance: np.ndarray
    inflation: float
    misfit: float
    offset: np.ndarray
    drift: np.ndarray
    keep: np.ndarray
    variance: float
    u: np.ndarray


def _corrected(log: VelocityLog, Q: np.ndarray, keep: np.ndarray,
               offset: np.ndarray | None) -> _Fit:
    """Correct Q (3, 3), a scaled orthogonal matrix, by the fit to the rows `keep` (k,); offset
    (k, 3): as known so far."""
    y = log.v @ Q.T
    y = np.einsum("kij,kj->ki", log.R, y) - log.C
    if offset is None:
        weight = log.hats.T @ log.hats + log.kinks.T @ log.kinks
        offset = log.hats @ np.linalg.lstsq(weight, log.hats.T @ y, rcond=None)[0]
    u = np.einsum("kji,kj->ki", log.R, log.C + offset)
    X = _columns(log, u)
    x, knots, covariance, variance, own, misfit = _likeliest(log.hats[keep], log.kinks, X[keep],
                                                             y[keep])
    trimmed = 1.0 if keep.all() else TRIMMED_VECTORS
    covariance, variance = covariance / trimmed, variance / trimmed
    curve = log.hats @ knots
    residual = y - X @ x - curve
    drift, offset = X[:, :, 13:16] @ x[13:16], X[:, :, 13:] @ x[13:] + curve
    # What the filter takes of the integral's own wander, the curve gives back.
    drift += x[16] * integral(log.t, log.C + offset) * LEVEL_AXES
    size = np.sum(residual ** 2, axis=1)
    scores = np.einsum("kip,ki->kp", own, residual[keep])
    inflation = _inflation(scores, covariance, variance)
    back = np.linalg.pinv(np.eye(3) + x[:9].reshape(3, 3).T, rcond=NEARLY_SINGULAR)
    Q = back @ Q
    return _Fit(Q, x, _of_map(inflation * covariance, -np.kron(Q.T, back)), inflation,
                misfit - 6.0 * float(keep.sum()) * math.log(size_of(Q)), offset, drift,
                size <= np.quantile(size, ROBUST_QUANTILE), variance, u)


def _by_changes(log: VelocityLog, Q: np.ndarray, keep: np.ndarray, noise: np.ndarray) -> _Fit:
    """`_corrected` for an integral that is noisier than the DVL: velocities by the DVL explain its
    changes over CHANGE_WINDOW, of which `keep` (m,) are used. noise (3,): variances of the DVL's
    white noise, which would make the map too small, and is taken off."""
    u, pairs = log.v @ Q.T, log.pairs()
    y, X = np.einsum("kij,kj->ki", log.R, u) - log.C, _columns(log, u)
    now, then = (rows[keep] for rows in pairs)
    dX, dy = X[then] - X[now], y[then] - y[now]
    m, _, p = dX.shape
    flat = dX.reshape(-1, p)
    N, b = flat.T @ flat, flat.T @ dy.ravel()
    # The prior weighs by the noise, which is near what is left without it.
    least = flat @ np.linalg.lstsq(N, b, rcond=None)[0]
    N += np.diag(max(float(np.sum((dy.ravel() - least) ** 2)), 1e-300) / max(3 * m - p, 1)
                 / PRIOR_ERRORS ** 2)
    shared = 2.0 * (Q * noise) @ Q.T        # of each change, in dX as in dy
    by_noise = block_diag(np.kron(shared, np.eye(3)), np.zeros((p - 9, p - 9)))
    L = np.linalg.cholesky(N)
    share = float(np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, m * by_noise).T)).max())
    taken = min(1.0, MOST_NOISE / max(share, LEAST))
    N -= taken * m * by_noise
    slope = taken * np.append(shared.ravel(), np.zeros(p - 9))
    x = np.linalg.solve(N, b - m * slope)
    residual = dy - dX @ x
    variance = float(np.mean(residual ** 2)) / (1.0 if keep.all() else TRIMMED_VECTORS)
    covariance = variance * np.linalg.inv(N)
    inflation = _inflation(
        np.einsum("kip,ki->kp", dX, residual) + taken * by_noise @ x - slope, covariance, variance)
    left, drift = y - X @ x, X[:, :, 13:] @ x[13:]
    size = np.sum((left[pairs[1]] - left[pairs[0]]) ** 2, axis=1)
    return _Fit(Q - x[:9].reshape(3, 3).T @ Q, x,
                _of_map(inflation * covariance, -np.kron(Q.T, np.eye(3))), inflation,
                3 * log.windows * math.log(variance), np.zeros_like(y), drift,
                size <= np.quantile(size, ROBUST_QUANTILE), float(np.mean(np.diagonal(shared))) / 2,
                u)


def _of_map(covariance: np.ndarray, by_E: np.ndarray) -> np.ndarray:
    """The covariance (17, 17) of Q by columns and the rest, from that of E and the rest; by_E
    (9, 9): derivatives of Q."""
    to_Q = block_diag(by_E, np.eye(len(covariance) - 9))
    return to_Q @ covariance @ to_Q.T


def _columns(log: VelocityLog, u: np.ndarray) -> np.ndarray:
    """(k, 3, 17) what each unknown, by unit, makes of the velocities u (k, 3)."""
    way = integral(log.t, log.C - log.C.mean(axis=0)) * LEVEL_AXES
    return np.concatenate([(log.R[:, :, None, :] * u[:, None, :, None]).reshape(len(u), 3, 9),
                           -log.R @ _skews(log.w), -log.a[:, :, None], log.turns,
                           way[:, :, None]], axis=2)


def _inflation(scores: np.ndarray, covariance: np.ndarray, variance: float) -> float:
    """Variance of the errors relative to that of white noise: by how much stretches of time
    disagree, as with a misfit that lasts. scores (m, 17): slopes of half the squares."""
    parts = np.array([part.sum(axis=0) for part in np.array_split(scores, STRETCHES)])
    shifts = parts @ covariance / variance
    return max(float(np.mean(np.sum(shifts ** 2, axis=0) / np.diagonal(covariance))), 1.0)


def size_of(Q: np.ndarray) -> float:
    """Mean factor of a map (3, 3)."""
    return max(float(np.linalg.norm(Q)) / math.sqrt(3.0), 1e-12)


class _Solution(NamedTuple):
    """x (17,), knots (J, 3), covariance of x (17, 17) for white noise, its variance, X without what
    knots explain (k, 3, 17), and -2 log likelihood."""

    x: np.ndarray
    knots: np.ndarray
    covariance: np.ndarray
    variance: float
    own: np.ndarray
    misfit: float


def _likeliest(hats: np.ndarray, kinks: np.ndarray, X: np.ndarray,
               y: np.ndarray) -> _Solution:
    """The fit y (k, 3) = X (k, 3, 17) x + hats (k, J) knots, with the likeliest of STIFFNESSES for
    the kinks (m, J)."""
    J, p = hats.shape[1], X.shape[2]
    G, roughness = hats.T @ hats, kinks.T @ kinks
    GX, Gy = np.tensordot(hats, X, (0, 0)).reshape(J, -1), hats.T @ y
    flat = X.reshape(-1, p)
    XX, Xy, yy = flat.T @ flat, flat.T @ y.ravel(), float(np.sum(y ** 2))
    free = max(y.size - p - 3 * (J - len(kinks)), 1)
    best, least = None, math.inf
    least_G = 1e-9 * np.trace(G) / J * np.eye(J)
    for stiffness in STIFFNESSES if len(kinks) else STIFFNESSES[:1]:
        L = np.linalg.cholesky(G + stiffness * roughness + least_G)
        ZX, Zy = np.linalg.solve(L, GX), np.linalg.solve(L, Gy)
        Z = ZX.reshape(3 * J, p)
        N, b = XX - Z.T @ Z, Xy - Z.T @ Zy.ravel()
        left = yy - float(np.sum(Zy ** 2))
        # The prior weighs by the noise, which is near what is left without it.
        bare = max(left - b @ np.linalg.lstsq(N, b, rcond=None)[0], LEAST * yy, 1e-300) / free
        N = N + np.diag(bare / PRIOR_ERRORS ** 2)
        x = np.linalg.solve(N, b)
        variance = max(left - b @ x, LEAST * yy, 1e-300) / free
        cost = (free * math.log(variance) + 6.0 * np.log(np.diagonal(L)).sum()
                - 3 * len(kinks) * math.log(stiffness) + np.linalg.slogdet(N)[1])
        if best is None or cost < least:
            best, least = (L, ZX, Zy, N, x, variance), cost
    assert best is not None
    L, ZX, Zy, N, x, variance = best
    knots = np.linalg.solve(L.T, Zy - ZX.reshape(J, 3, p) @ x)
    own = X - np.tensordot(hats, np.linalg.solve(L.T, ZX).reshape(J, 3, p), (1, 0))
    return _Solution(x, knots, variance * np.linalg.inv(N), variance, own, least)


def _result(log: VelocityLog, fit: _Fit, lag: float) -> VelocityMap:
    Q = fit.Q
    along = fit.u @ np.linalg.pinv(Q, rcond=NEARLY_SINGULAR).T
    lever = fit.x[9:12]
    seen, by_imu, moved = (log.changes(x) for x in (
        np.einsum("kij,kj->ki", log.R, log.v @ Q.T + np.cross(log.w, lever)), log.C + fit.drift,
        along))
    by_imu = by_imu - by_imu.mean(axis=0)
    power = float(np.sum(seen ** 2))
    motion = max(power - 2.0 * fit.variance * seen.size, (1.0 - MOST_NOISE) * power)
    known = (float(np.sum(seen * by_imu)) ** 2
             / max(motion * float(np.sum(by_imu ** 2)), 1e-300))
    return VelocityMap(
        Q, lever, lag, fit.covariance[:13, :13],
        np.sqrt(np.mean(moved ** 2, axis=0)), min(max(known, 1e-3), 1.0),
        fit.misfit, fit.inflation)


def _skews(w: np.ndarray) -> np.ndarray:
    """S(w) (k, 3, 3) of w (k, 3)."""
    zero = np.zeros(len(w))
    return np.array([[zero, -w[:, 2], w[:, 1]], [w[:, 2], zero, -w[:, 0]],
                     [-w[:, 1], w[:, 0], zero]]).transpose(2, 0, 1)
