"""Small fits for the frame checks: linear relations with standard errors, the nearest signed axes, rotation vectors."""
from __future__ import annotations

import itertools
import math

import numpy as np

NEIGHBOURS = 10.0    # windows overlap: so many of them carry the information of one

SIGNED_AXES = [np.eye(3)[list(order)] * np.array(signs)[:, None]
               for order in itertools.permutations(range(3)) for signs in itertools.product((1.0, -1.0), repeat=3)]


def relation(x: np.ndarray, y: np.ndarray, robust: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(A (p, m), standard error (p,) of its worst column) of the least-squares fit y (k, m) = x (k, p) A.

    `robust` leaves out the tenth with the largest residuals, and fits again.
    """
    N = x.T @ x
    ridge = 1e-9 * max(np.trace(N) / len(N), 1e-12) * np.eye(len(N))      # nothing moved at all: no number, but no error either
    A = np.linalg.solve(N + ridge, x.T @ y)
    left = y - x @ A
    if robust:
        size = np.linalg.norm(left, axis=1)
        keep = size <= np.quantile(size, 0.9)
        x, y = x[keep], y[keep]
        N = x.T @ x
        A = np.linalg.solve(N + ridge, x.T @ y)
        left = y - x @ A
    variance = NEIGHBOURS * np.max(np.mean(left ** 2, axis=0))
    return A, np.sqrt(variance * np.diagonal(np.linalg.inv(N + ridge)))


def nearest_axes(Q: np.ndarray) -> tuple[np.ndarray | None, float]:
    """(signed permutation matrix nearest to Q (3, 3), how far Q's directions are from it); None for a Q without size."""
    size = np.linalg.norm(Q)
    if size < 1e-9:
        return None, math.inf
    Q = Q * (math.sqrt(3.0) / size)
    best = min(SIGNED_AXES, key=lambda axes: np.linalg.norm(Q - axes))
    return best, float(np.linalg.norm(Q - best)) / math.sqrt(3.0)


def axis_name(row: np.ndarray) -> str:
    """'-y' and the like for a row of signed axes."""
    k = int(np.argmax(np.abs(row)))
    return ("-" if row[k] < 0 else "+") + "xyz"[k]


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """log(R) (3,) [rad], angle below pi."""
    angle = math.acos(min(1.0, max(-1.0, (R[0, 0] + R[1, 1] + R[2, 2] - 1) / 2)))
    s = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    if angle < 1e-6:
        return 0.5 * s
    if math.pi - angle < 1e-3:
        k = int(np.argmax(np.diagonal(R)))
        axis = R[:, k] + np.eye(3)[k]
        return angle * axis / np.linalg.norm(axis)
    return angle / (2 * math.sin(angle)) * s
