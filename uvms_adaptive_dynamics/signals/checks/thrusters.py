"""Directions and order of the thrusters, held against the motion they cause (DESIGN section 5).

Thrust over a second is fitted to the change of velocity and to what else moves slowly. Its part that goes with
acceleration, mapped by the allocation, must be a mass matrix: positive on the diagonal, small beside it. A thruster
that turns the other way, or two that are exchanged, leave traces all over it.
"""
from __future__ import annotations

import itertools
import math

import numpy as np

from .finding import WINDOW

CLEARLY = 3.0         # times smaller traces, from which another wiring is believed
MOST_THRUSTERS = 10   # whose directions are all tried


def thruster_findings(thrust: np.ndarray, dvl: np.ndarray, allocation: np.ndarray) -> list[tuple[str, str]] | None:
    """[(setting, sentence)], None while the motion is too small to tell; `thrust` (k, 1 + N): time and integrated thrust
    [N s], `dvl` rows of the frame checks, `allocation` (6, N)."""
    gain = _thrust_of_acceleration(thrust, dvl)
    N = allocation.shape[1]
    if gain is None:
        return None
    if N > MOST_THRUSTERS:
        return []
    now = _traces(allocation @ gain)
    wirings = []
    for p in itertools.product((1.0, -1.0), repeat=N):
        turned = ", ".join(str(k + 1) for k in range(N) if p[k] < 0)
        wirings.append((_traces((allocation * np.array(p)) @ gain), "thrusters.signs",
                        f"thruster {turned} pushes the other way than its setting says: change its sign in thrusters.signs"))
    for a, b in itertools.combinations(range(N), 2):
        order = list(range(N))
        order[a], order[b] = b, a
        wirings.append((_traces(allocation[:, order] @ gain), "thrusters.allocation",
                        f"thrusters {a + 1} and {b + 1} seem to be exchanged: the order of the commands is not that of thrusters.allocation"))
    least, setting, sentence = min(wirings)
    return [(setting, sentence)] if now > CLEARLY * least else []


def turned_sensor(thrust: np.ndarray, dvl: np.ndarray, allocation: np.ndarray, turn: np.ndarray) -> str:
    """'dvl' or 'imu': which of the two is turned, `turn` (3, 3) taking the DVL's axes to the IMU's, as thrust tells."""
    by_dvl, by_imu = dvl.copy(), dvl.copy()
    by_dvl[:, 1:4] = dvl[:, 1:4] @ turn.T
    by_imu[:, 4:7], by_imu[:, 19:22] = dvl[:, 4:7] @ turn, dvl[:, 19:22] @ turn
    traces = [math.inf if gain is None else _traces(allocation @ gain)
              for gain in (_thrust_of_acceleration(thrust, log) for log in (by_dvl, by_imu))]
    return "imu" if traces[1] < traces[0] else "dvl"


def _thrust_of_acceleration(thrust: np.ndarray, dvl: np.ndarray) -> np.ndarray | None:
    """(N, 6) thrust per acceleration of each axis; None where the motion is too small to tell."""
    t, nu, n3 = dvl[:, 0], dvl[:, 1:7], dvl[:, 19:22]
    lag = max(1, round(WINDOW / np.median(np.diff(t))))
    inside = (t[:-lag] >= thrust[0, 0]) & (t[lag:] <= thrust[-1, 0]) & (t[lag:] - t[:-lag] < 1.5 * WINDOW)
    if inside.sum() < 150 or np.any(nu.std(axis=0) < 0.02):
        return None
    slow = np.hstack([nu, n3, np.cross(nu[:, 3:], nu[:, :3]), np.ones((len(t), 1))])
    path = np.vstack([np.zeros(slow.shape[1]), np.cumsum(0.5 * (slow[1:] + slow[:-1]) * np.diff(t)[:, None], axis=0)])
    x = np.hstack([nu[lag:] - nu[:-lag], path[lag:] - path[:-lag]])[inside]
    integral = np.column_stack([np.interp(t, thrust[:, 0], column) for column in thrust.T[1:]])
    impulse = (integral[lag:] - integral[:-lag])[inside]
    if np.any(impulse.std(axis=0) < 0.05):
        return None
    size = np.maximum(x.std(axis=0), 1e-9)
    x = x / size
    gain = np.linalg.solve(x.T @ x + 1e-6 * len(x) * np.eye(x.shape[1]), x.T @ impulse)
    return (gain[:6] / size[:6, None]).T


def _traces(mass: np.ndarray) -> float:
    """How far a matrix (6, 6) is from a mass matrix: mean square of its normalized entries beside the diagonal, and more
    for every diagonal entry that is not positive."""
    diagonal = np.diagonal(mass)
    size = np.sqrt(np.maximum(np.abs(diagonal), 1e-9))
    beside = mass / np.outer(size, size) - np.diag(np.sign(diagonal))
    return float(np.mean(np.minimum(beside ** 2, 100.0))) + 10.0 * float(np.sum(diagonal <= 0))
