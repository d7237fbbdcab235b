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
"""Check of the attitude in which an arm on a fixed base is mounted, by gravity's load on it.

The load is linear in the direction of gravity. Whatever the scale of each joint's effort, all of
them must name one direction, and `robot.mount_rpy` says which.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...model.normal import Z999
from ...model.robot import RobotModel
from ...model.rotations import FRD_FROM_FLU, from_down, from_rotation_vector, from_rpy
from .effort_scale import (
    MASS_ERROR,
    MOST_OF_IT,
    MOUNT,
    UNIT_ODDS,
    gravity_rows,
    load_rows,
)
from .finding import Finding, Harm
from .fits import listed, rpy_setting

# (positions (k, n), down vector (3,) in the axes of the arm's base as set, FRD) -> loads (k, n)
LoadsAlong = Callable[[np.ndarray, np.ndarray], np.ndarray]

AS_SET_DOWN = np.array([0.0, 0.0, 1.0])        # as set
STARTS = np.vstack([np.eye(3), -np.eye(3)])
ROUNDS = 20                             # of alternating fits of direction and scales
MIN_JOINTS = 2                          # that have to name one direction


class _Joint(NamedTuple):
    """A joint's rows: effort (k,) and loads (k, 3) of gravity along each axis, both less their fit
    by friction and a constant, in units of the effort's deviation; rows: independent ones."""

    name: str
    effort: np.ndarray
    loads: np.ndarray
    rows: float

    def left(self, direction: np.ndarray) -> float:
        """Share of the effort that a load along the direction (3,) leaves, whatever its size."""
        load = self.loads @ direction
        size = float(load @ load)
        scale = max(float(load @ self.effort) / size, 0.0) if size > 0.0 else 0.0
        return float(np.mean((self.effort - scale * load) ** 2))


def loads_along(robot: RobotModel, mu: np.ndarray, down: np.ndarray) -> np.ndarray:
    """(k, n) loads at positions (k, n) with the unit vector `down` (3,) of the base's axes as set
    (FRD) pointing down."""
    R = from_down(down.tolist(), 0.0)
    return np.array([robot.resting_load(q, R) for q in mu])


def check_gravity_direction(t: np.ndarray, mu: np.ndarray, speed: np.ndarray, effort: np.ndarray,
                            along: LoadsAlong, names: Sequence[str], masked: Sequence[str],
                            rpy: Sequence[float]) -> list[Finding]:
    """A finding if the efforts (k, n) certainly show that the arm is mounted otherwise than `rpy`
    says; mu, speed (k, n) at times t (k,) [s], NaN where unknown; masked: joints whose effort is
    meaningless.

    Each joint's direction is as uncertain as the places of its links' masses are; so is the common
    one, less by the root of the number of joints."""
    rows = load_rows(t)
    rows = rows[np.isfinite(mu[rows]).all(axis=1)]
    t, mu, speed, effort = t[rows], mu[rows], speed[rows], effort[rows]
    if len(t) < 2:
        return []

    def joints(mu: np.ndarray, axes: np.ndarray) -> list[_Joint]:
        loads = np.stack([along(mu, axis) for axis in axes], axis=-1)      # (k, n, axes)
        return [found for j, name in enumerate(names) if name not in masked
                and (found := _joint(name, t, speed[:, j], effort[:, j], loads[:, j])) is not None]

    judged = joints(mu, np.eye(3))
    judged = [one for one in judged if _explained(one.loads, one.effort) > MOST_OF_IT]
    if len(judged) < MIN_JOINTS:
        return []
    direction = min((_direction(judged, start) for start in STARTS),
                    key=lambda found: _cost(judged, found))
    agreeing = [one for one in judged if 1.0 - one.left(direction) > MOST_OF_IT]
    least = Z999 * MASS_ERROR / math.sqrt(max(len(agreeing), 1))
    angle = math.acos(min(max(float(direction @ AS_SET_DOWN), -1.0), 1.0))
    # (gravity the other way round may be efforts that are all reversed)
    if (len(agreeing) < MIN_JOINTS or not least < angle < math.pi - least
            or _cost(judged, AS_SET_DOWN) - _cost(judged, direction) < 2 * math.log(UNIT_ODDS)):
        return []
    axes = STARTS @ (FRD_FROM_FLU @ from_rpy(*rpy)).T       # of the URDF's base
    nearest = axes[np.argmax(axes @ direction)]
    if math.acos(min(float(nearest @ direction), 1.0)) < least / Z999:
        direction = nearest
    zeros = [name for j, name in enumerate(names) if any(
        _as_likely(judged, direction, joints(_moved(mu, j, turn), AS_SET_DOWN[None]))
        for turn in (angle, -angle))]
    return [_finding(direction, agreeing, rpy, zeros)]


def _joint(name: str, t: np.ndarray, speed: np.ndarray, effort: np.ndarray,
           loads: np.ndarray) -> _Joint | None:
    """The rows of a joint; None if it hardly moves."""
    rows = gravity_rows(t, speed, effort)
    if rows is None:
        return None
    used, other, independent = rows
    both = np.column_stack([effort[used], loads[used]])
    both = both - other @ np.linalg.lstsq(other, both, rcond=None)[0]
    size = float(np.std(both[:, 0]))
    return _Joint(name, both[:, 0] / size, both[:, 1:] / size, independent) if size > 0.0 else None


def _explained(loads: np.ndarray, effort: np.ndarray) -> float:
    left = effort - loads @ np.linalg.lstsq(loads, effort, rcond=None)[0]
    return 1.0 - float(np.mean(left ** 2))


def _direction(joints: Sequence[_Joint], start: np.ndarray) -> np.ndarray:
    """The unit vector (3,) reached from a start by fitting scales and direction in turn."""
    direction = start
    for _ in range(ROUNDS):
        x, y = [], []
        for one in joints:
            load = one.loads @ direction
            scale = max(float(load @ one.effort) / max(float(load @ load), 1e-12), 0.0)
            weight = math.sqrt(one.rows / len(one.effort) / max(one.left(direction), 1e-6))
            x.append(weight * scale * one.loads)
            y.append(weight * one.effort)
        found = np.linalg.lstsq(np.vstack(x), np.concatenate(y), rcond=None)[0]
        size = float(np.linalg.norm(found))
        if not size > 0.0:
            break
        direction = found / size
    return direction


def _cost(joints: Sequence[_Joint], direction: np.ndarray) -> float:
    """-2 log likelihood of a direction, with a free scale for each joint."""
    return sum(one.rows * math.log(max(one.left(direction), 1e-12)) for one in joints)


def _moved(mu: np.ndarray, j: int, angle: float) -> np.ndarray:
    """The positions (k, n) with another zero of joint j."""
    moved = mu.copy()
    moved[:, j] += angle
    return moved


def _as_likely(joints: Sequence[_Joint], direction: np.ndarray, others: Sequence[_Joint]) -> bool:
    """Whether other loads of the same joints, one column each, explain the efforts about as well as
    the direction."""
    places = {one.name: one for one in others}
    cost = sum(one.rows * math.log(max(places[one.name].left(np.ones(1)), 1e-12)) for one in joints)
    return cost - _cost(joints, direction) < 2 * math.log(UNIT_ODDS)


def _finding(down: np.ndarray, joints: Sequence[_Joint], rpy: Sequence[float],
             wrong_zeros: Sequence[str]) -> Finding:
    """The finding on gravity along `down` (3,); wrong_zeros: joints whose position may have another
    zero instead."""
    axis = np.cross(down, AS_SET_DOWN)
    sine = float(np.linalg.norm(axis))
    turn = from_rotation_vector(math.atan2(sine, float(down @ AS_SET_DOWN)) / sine * axis)
    right = rpy_setting(FRD_FROM_FLU @ turn @ FRD_FROM_FLU @ from_rpy(*rpy))
    instead = (f", or the zero of {' or '.join(wrong_zeros)} (joint_states.position_offset)"
               if wrong_zeros else "")
    return Finding(MOUNT, (
        f"the efforts of {', '.join(one.name for one in joints)} follow gravity along another axis "
        f"of the arm's base: it is mounted otherwise; set {MOUNT} to {listed(right)} (now "
        f"{listed(rpy)}; its heading does not matter){instead}"),
        {} if wrong_zeros else {MOUNT: right}, Harm.FOLLOWED)
