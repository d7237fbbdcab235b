"""Directions and order of the thrusters against the motion that they cause.

Thrust over a second is fitted to the change of velocity and to what else moves slowly. The part
that goes with acceleration, mapped by the allocation, must be a mass matrix: positive on the
diagonal, small beside it. A reversed thruster, or two swapped ones, show all over it.
"""
from __future__ import annotations

import itertools
import math

import numpy as np

from .finding import CHANGE_WINDOW, Finding

MIN_RATIO = 3.0       # of the deviations as set and rewired, from which a wiring is reported
MAX_THRUSTERS = 10    # of which all directions are tried
MIN_THRUST_WINDOWS = 150
MIN_VELOCITY_STDDEV = 0.02   # [m/s, rad/s] of every axis
MIN_IMPULSE_STDDEV = 0.05    # [N s] of every thruster
NOT_POSITIVE = 10.0          # added to the deviation for each diagonal entry


def thruster_findings(thrust: np.ndarray, dvl: np.ndarray,
                      allocation: np.ndarray) -> list[Finding] | None:
    """Reversed or swapped thrusters; None while there is too little motion to tell.

    `thrust` (k, 1 + N): time and integrated thrust [N s], `dvl` as in `frames`, allocation (6, N).
    """
    gain = _thrust_of_acceleration(thrust, dvl)
    N = allocation.shape[1]
    if gain is None:
        return None
    if N > MAX_THRUSTERS:
        return []
    as_set = _deviation(allocation @ gain)
    wirings = []
    for signs in itertools.product((1.0, -1.0), repeat=N):
        reversed_ones = ", ".join(str(k + 1) for k in range(N) if signs[k] < 0)
        wirings.append((_deviation((allocation * np.array(signs)) @ gain), Finding(
            "thrusters.signs", f"thruster {reversed_ones} pushes against its setting; change its "
                               "sign in thrusters.signs")))
    for a, b in itertools.combinations(range(N), 2):
        order = list(range(N))
        order[a], order[b] = b, a
        wirings.append((_deviation(allocation[:, order] @ gain), Finding(
            "thrusters.allocation", f"thrusters {a + 1} and {b + 1} seem to be swapped; bring "
                                    "thrusters.allocation into the order of the commands")))
    least, finding = min(wirings)
    return [finding] if as_set > MIN_RATIO * least else []


def turned_sensor(thrust: np.ndarray, dvl: np.ndarray, allocation: np.ndarray,
                  turn: np.ndarray) -> str:
    """'dvl' or 'imu': which of the two is rotated, as thrust tells.

    `turn` (3, 3) takes the DVL's axes to the IMU's.
    """
    by_dvl, by_imu = dvl.copy(), dvl.copy()
    by_dvl[:, 1:4] = dvl[:, 1:4] @ turn.T
    by_imu[:, 4:7], by_imu[:, 19:22] = dvl[:, 4:7] @ turn, dvl[:, 19:22] @ turn
    deviations = []
    for log in (by_dvl, by_imu):
        gain = _thrust_of_acceleration(thrust, log)
        deviations.append(math.inf if gain is None else _deviation(allocation @ gain))
    return "imu" if deviations[1] < deviations[0] else "dvl"


def _thrust_of_acceleration(thrust: np.ndarray, dvl: np.ndarray) -> np.ndarray | None:
    """(N, 6) thrust per acceleration of each axis; None with too little motion to tell."""
    t, nu, n3 = dvl[:, 0], dvl[:, 1:7], dvl[:, 19:22]
    lag = max(1, round(CHANGE_WINDOW / np.median(np.diff(t))))
    inside = ((t[:-lag] >= thrust[0, 0]) & (t[lag:] <= thrust[-1, 0])
              & (t[lag:] - t[:-lag] < 1.5 * CHANGE_WINDOW))
    if inside.sum() < MIN_THRUST_WINDOWS or np.any(nu.std(axis=0) < MIN_VELOCITY_STDDEV):
        return None
    slow = np.hstack([nu, n3, np.cross(nu[:, 3:], nu[:, :3]), np.ones((len(t), 1))])
    steps = 0.5 * (slow[1:] + slow[:-1]) * np.diff(t)[:, None]
    path = np.vstack([np.zeros(slow.shape[1]), np.cumsum(steps, axis=0)])
    x = np.hstack([nu[lag:] - nu[:-lag], path[lag:] - path[:-lag]])[inside]
    integral = np.column_stack([np.interp(t, thrust[:, 0], column) for column in thrust.T[1:]])
    impulse = (integral[lag:] - integral[:-lag])[inside]
    if np.any(impulse.std(axis=0) < MIN_IMPULSE_STDDEV):
        return None
    size = np.maximum(x.std(axis=0), 1e-9)
    x = x / size
    ridge = 1e-6 * len(x) * np.eye(x.shape[1])
    gain = np.linalg.solve(x.T @ x + ridge, x.T @ impulse)
    return (gain[:6] / size[:6, None]).T


def _deviation(mass: np.ndarray) -> float:
    """How far a matrix (6, 6) is from a mass matrix.

    Mean square of its normalized entries beside the diagonal, and more for every diagonal entry
    that is not positive.
    """
    diagonal = np.diagonal(mass)
    size = np.sqrt(np.maximum(np.abs(diagonal), 1e-9))
    beside = mass / np.outer(size, size) - np.diag(np.sign(diagonal))
    not_positive = NOT_POSITIVE * float(np.sum(diagonal <= 0))
    return float(np.mean(np.minimum(beside ** 2, 100.0))) + not_positive
