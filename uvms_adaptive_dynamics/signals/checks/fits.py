"""Small fits for the frame checks: linear relations and nearest signed axes."""
from __future__ import annotations

import itertools
import math

import numpy as np

OVERLAP = 10.0            # windows overlap: so many of them carry the information of one
ROBUST_QUANTILE = 0.9     # of the residuals that a robust fit keeps
RIDGE_SHARE = 1e-9        # of the mean diagonal: nothing moved gives an error, not an exception

SIGNED_AXES = [np.eye(3)[list(order)] * np.array(signs)[:, None]
               for order in itertools.permutations(range(3))
               for signs in itertools.product((1.0, -1.0), repeat=3)]


def relation(x: np.ndarray, y: np.ndarray, robust: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(A (p, m), standard error (p,) of its worst column) of the fit y (k, m) = x (k, p) A.

    `robust` leaves out the tenth with the largest residuals, and fits again.
    """
    N = x.T @ x
    ridge = RIDGE_SHARE * max(np.trace(N) / len(N), 1e-12) * np.eye(len(N))
    A = np.linalg.solve(N + ridge, x.T @ y)
    residual = y - x @ A
    if robust:
        size = np.linalg.norm(residual, axis=1)
        keep = size <= np.quantile(size, ROBUST_QUANTILE)
        x, y = x[keep], y[keep]
        N = x.T @ x
        A = np.linalg.solve(N + ridge, x.T @ y)
        residual = y - x @ A
    variance = OVERLAP * np.max(np.mean(residual ** 2, axis=0))
    return A, np.sqrt(variance * np.diagonal(np.linalg.inv(N + ridge)))


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


def axis_name(row: np.ndarray) -> str:
    """'-y' and the like for a row of signed axes."""
    k = int(np.argmax(np.abs(row)))
    return ("-" if row[k] < 0 else "+") + "xyz"[k]



def degrees(phi: np.ndarray) -> str:
    """A rotation vector (3,) [rad] in words: '0, 0, 90 degrees (roll, pitch, yaw)'."""
    whole = ", ".join(str(round(float(angle))) for angle in np.degrees(phi))
    return f"{whole} degrees (roll, pitch, yaw)"
