"""Small fits for the frame checks: linear relations and nearest signed axes."""
from __future__ import annotations

import itertools
import math

import numpy as np

ROBUST_QUANTILE = 0.9     # of the residuals that a robust fit keeps
# Variance of a normal variable without the tenth that is farthest from zero.
TRIMMED_VARIANCE = 0.623
RIDGE_SHARE = 1e-9        # of the mean diagonal: nothing moved gives an error, not an exception

SIGNED_AXES = [np.eye(3)[list(order)] * np.array(signs)[:, None]
               for order in itertools.permutations(range(3))
               for signs in itertools.product((1.0, -1.0), repeat=3)]


def regression(x: np.ndarray, y: np.ndarray,
               overlap: float) -> tuple[np.ndarray, np.ndarray, float]:
    """(b (p,), its covariance (p, p), share of y's power that is explained) of y (k,) = x (k, p) b.

    The tenth with the largest residuals is left out, and the rest fitted again. overlap: rows that
    overlap so much that they carry the information of one."""
    power = max(float(y @ y) / len(y), 1e-300)
    b = _solve(x, y)
    size = np.abs(y - x @ b)
    keep = size <= np.quantile(size, ROBUST_QUANTILE)
    x, y = x[keep], y[keep]
    b = _solve(x, y)
    residual = y - x @ b
    # independent rows less the degrees of freedom that the fit takes
    free = max(len(y) / overlap - x.shape[1], 1.0)
    variance = residual @ residual / TRIMMED_VARIANCE / free
    N = x.T @ x
    covariance = variance * np.linalg.inv(N + _ridge(N))
    left = float(residual @ residual) / len(y) / TRIMMED_VARIANCE
    return b, covariance, 1.0 - min(1.0, left / power)


def relation(x: np.ndarray, y: np.ndarray, overlap: float) -> tuple[np.ndarray, np.ndarray]:
    """(A (p, m), standard errors (p, m)) of the plain fit y (k, m) = x (k, p) A; overlap: as above.
    """
    A = _solve(x, y)
    N = x.T @ x
    variance = overlap * np.mean((y - x @ A) ** 2, axis=0)
    return A, np.sqrt(np.outer(np.diagonal(np.linalg.inv(N + _ridge(N))), variance))


def _solve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    N = x.T @ x
    return np.linalg.solve(N + _ridge(N), x.T @ y)


def _ridge(N: np.ndarray) -> np.ndarray:
    return RIDGE_SHARE * max(np.trace(N) / len(N), 1e-12) * np.eye(len(N))


def nearest_axes(Q: np.ndarray) -> tuple[np.ndarray | None, float]:
    """(signed permutation matrix nearest to Q (3, 3), distance of Q's directions from it).

    None and infinity for a Q of zero.
    """
    size = np.linalg.norm(Q)
    if size < 1e-9:
        return None, math.inf
    Q = Q * (math.sqrt(3.0) / size)
    best = min(SIGNED_AXES, key=lambda axes: float(np.linalg.norm(Q - axes)))
    return best, float(np.linalg.norm(Q - best)) / math.sqrt(3.0)


def to_rpy(R: np.ndarray) -> tuple[float, float, float]:
    """Roll, pitch, yaw [rad] of a rotation (3, 3), as settings have them."""
    return (math.atan2(R[2, 1], R[2, 2]), -math.asin(max(-1.0, min(1.0, R[2, 0]))),
            math.atan2(R[1, 0], R[0, 0]))


def axis_name(row: np.ndarray) -> str:
    """'-y' and the like for a row of signed axes."""
    k = int(np.argmax(np.abs(row)))
    return ("-" if row[k] < 0 else "+") + "xyz"[k]


def degrees(phi: np.ndarray) -> str:
    """A rotation vector (3,) [rad] in words: '0, 0, 90 degrees (roll, pitch, yaw)'."""
    whole = ", ".join(str(round(float(angle))) for angle in np.degrees(phi))
    return f"{whole} degrees (roll, pitch, yaw)"
