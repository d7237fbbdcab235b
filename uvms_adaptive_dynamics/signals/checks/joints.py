"""Joint messages held against themselves: velocity against position, position against limits, effort against speed."""
from __future__ import annotations

from typing import Sequence

import numpy as np

from .finding import Finding, Verdict
from .fits import relation

STILL = 0.02           # [rad] RMS of the change in half a second, below which a joint's velocity is not judged
FEWEST_MOVING = 100    # readings in motion, below which its effort is not judged
ENOUGH_MOVING = 300    # readings in motion, from which that judgement is final


def joints(log: np.ndarray, names: Sequence[str], low: np.ndarray, high: np.ndarray, effort_limits: np.ndarray) -> Verdict:
    """Velocity against the derivative of position, positions against their limits (n,), the sign of the dissipated power.

    `log` (k, 1 + 3 n): time, positions, velocities, efforts of the n joints `names`.
    """
    n = len(names)
    t, mu, speed, effort = log[:, 0], log[:, 1:1 + n], log[:, 1 + n:1 + 2 * n], log[:, 1 + 2 * n:1 + 3 * n]
    found: list[Finding] = []
    complete = True
    outside = [j for j in range(n) if np.mean((mu[:, j] < low[j] - 0.2) | (mu[:, j] > high[j] + 0.2)) > 0.5]
    for j in outside:
        where = f"{names[j]} is mostly at {np.median(mu[:, j]):.3g}, outside its limits {low[j]:.3g} to {high[j]:.3g} rad"
        why = "its unit is probably degrees" if np.ptp(mu[:, j]) > 2 * (high[j] - low[j]) or np.median(np.abs(mu[:, j])) > 8 else \
            "its sign, joint_states.position_offset or the order of robot.joints is probably wrong"
        found.append(Finding("joint_states.position", f"{where}: {why}"))
    if np.isfinite(speed).all() and not outside:
        path = np.vstack([np.zeros(n), np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(t)[:, None], axis=0)])
        lag = max(1, round(0.5 / np.median(np.diff(t))))
        moved, said = mu[lag:] - mu[:-lag], path[lag:] - path[:-lag]
        A, error = relation(said, moved)
        scale = np.sqrt(np.mean(said ** 2, axis=0))
        for j in range(n):
            if np.sqrt(np.mean(moved[:, j] ** 2)) < STILL:
                complete = False
                continue
            if 0.6 < A[j, j] < 1.6:
                continue
            share = np.abs(A[:, j]) * scale
            k = int(np.argmax(share))
            if k != j and share[k] > 3 * share[j]:
                text = f"position of {names[j]} follows the velocity of {names[k]}: the order of names and velocities differs in the driver"
            elif A[j, j] < -0.5:
                text = f"velocity of {names[j]} has the wrong sign against its position"
            else:
                text = f"velocity of {names[j]} is {1 / A[j, j] if abs(A[j, j]) > 1e-6 else np.inf:.3g} times its position's derivative: its unit is " \
                       "probably degrees or encoder counts per second"
            found.append(Finding("joint_states.velocity", text))
    if np.isfinite(effort).all() and np.isfinite(speed).all() and not found:
        wrong, seen = _efforts(names, speed, effort, effort_limits)
        found += wrong
        complete = complete and seen
    return Verdict(found, complete)


def _efforts(names, speed, effort, limits) -> tuple[list[Finding], bool]:
    """(findings, whether every joint moved enough)."""
    found, complete = [], True
    for j, name in enumerate(names):
        moving = np.abs(speed[:, j]) > 0.05
        complete = complete and moving.sum() >= ENOUGH_MOVING
        if moving.sum() < FEWEST_MOVING:
            continue
        power, size = effort[moving, j] * speed[moving, j], np.median(np.abs(effort[moving, j]))
        if power.mean() < -5 * power.std() / np.sqrt(moving.sum() / 10):
            found.append(Finding("joint_states.effort_scale", f"{name} takes power from its load on average, but friction must take it: effort has the "
                                                              "wrong sign; make its joint_states.effort_scale negative"))
        elif size > 3 * limits[j]:
            found.append(Finding("joint_states.effort_scale", f"effort of {name} is typically {size:.3g}, its limit is {limits[j]:.3g} N m: the unit is probably "
                                                              "mN m or mA; set joint_states.effort_scale"))
    return found, complete
