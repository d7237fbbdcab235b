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

"""Result of a frame check: mismatches, and whether there was enough motion to judge."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...model.normal import Z999
from ...model.rotations import from_down, from_quaternion, in_turned_axes, to_quaternion

CHANGE_WINDOW = 1.0       # [s] window over which changes of two signals are compared
MAX_STANDARD_ERROR = 0.12      # of a fit's entry; less certain entries are not judged
# Allowed ratio of one sensor's velocities to another's: sea water is 3 % denser than fresh water,
# and sound is 3 % faster in it.
SCALE_TOLERANCE = 0.95, 1.05


NO_VALUES: Mapping[str, Any] = MappingProxyType({})


class Harm(IntEnum):
    """What a mismatch does to the estimate.

    SLIGHT: a few per cent or nothing, since no row depends on it. FOLLOWED: rows are consistent and
    are learnt from, but yield parameters that are not the robot's. CONTRADICTS: no parameters fit
    the rows."""

    SLIGHT = 0
    FOLLOWED = 1
    CONTRADICTS = 2


SIGN = "it has the wrong sign"
OF_POSITIONS = "joint position"


class QuaternionAxes(NamedTuple):
    """Axes of an IMU's message: R_nb = left Q right (3, 3), with the Q of its quaternion."""

    left: np.ndarray
    right: np.ndarray

    def reordered(self, R_nb: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """R_nb (3, 3) if the quaternion (x, y, z, w) is times matrix (4, 4)."""
        q = matrix @ to_quaternion(self.left.T @ R_nb @ self.right.T)
        return self.left @ np.reshape(from_quaternion(*q.tolist()), (3, 3)) @ self.right


class Mend(NamedTuple):
    """Puts the readings of a sensor right: those of `role`, as listed in `decoder`, with the k
    values from `first` on, counted from `neutral`, times matrix (k, k). NaN leaves a value out.

    of_thrust: the commands stay, and the thrust of each thruster is that which they ask for, times
    the diagonal of the matrix. quaternion: the matrix (4, 4) is of the quaternion in an IMU's
    message, in these axes. turn: the matrix (3, 3) turns the axes of all of an IMU's values. late
    [s]: how much older these values are than the others of an IMU's reading (negative: the others
    are older), or than the stamp of another sensor's. out_until [s]: readings up to then are left
    out, since some are right and some wrong. of_world: the matrix (3, 3) takes a DVL's velocity, or
    an IMU's rates, to NED, from where the attitude turns them to the body."""

    role: str
    first: int
    matrix: np.ndarray
    neutral: float = 0.0
    of_thrust: bool = False
    quaternion: QuaternionAxes | None = None
    late: float = 0.0
    turn: bool = False
    out_until: float = -math.inf
    of_world: bool = False

    def mended(self, values: Sequence[float], R_nb: np.ndarray | None = None) -> list[float]:
        """The values of a reading, put right; R_nb (3, 3): the attitude at that time, if needed."""
        last = self.first + len(self.matrix)
        if self.of_world:
            assert R_nb is not None
            right = (R_nb.T @ self.matrix @ values[self.first:last]).tolist()
            return [*values[:self.first], *right, *values[last:]]
        if self.turn:
            return in_turned_axes(values, self.matrix)
        if self.quaternion is not None:
            R = self.quaternion.reordered(from_down(values[:3], values[9]), self.matrix)
            return [*R[2].tolist(), *values[3:9], math.atan2(R[1, 0], R[0, 0])]
        part = np.array(values[self.first:last]) - self.neutral
        # (a value that is missing says nothing of those that do not depend on it)
        found = np.where(self.matrix == 0.0, 0.0, self.matrix * part).sum(axis=1) + self.neutral
        return [*values[:self.first], *found.tolist(), *values[last:]]


class Finding(NamedTuple):
    """A mismatch between sensors.

    setting: the setting that probably causes it, or, without a dot, the quantity of a sensor or
    driver that is wrong; sentence: for the operator; values: settings by dotted name that would fix
    it, where the data determine them; harm: see `Harm`; joint: the joint whose effort alone is
    concerned, '' otherwise; mend: what puts the readings right, None if that is not known; since:
    time [s] of the last row that was right, where rows from before and after the fault tell;
    lasting: no setting puts it right, so the mend does, even if it has always been wrong; guess:
    like values, where the data determine no more than their order of magnitude."""

    setting: str
    sentence: str
    values: Mapping[str, Any] = NO_VALUES
    harm: Harm = Harm.CONTRADICTS
    joint: str = ""
    mend: Mend | None = None
    since: float | None = None
    lasting: bool = False
    guess: Mapping[str, Any] = NO_VALUES

    @property
    def is_of_sign(self) -> bool:
        """Whether it concerns the sign of one joint's effort (or of its position and velocity)."""
        return bool(self.joint) and SIGN in self.sentence


class CheckResult(NamedTuple):
    """Mismatches found by one check; `complete` if there was enough motion to judge everything
    but the settings `open`, which may have been wrong all along."""

    findings: list[Finding]
    complete: bool
    open: frozenset[str] = frozenset()

    @property
    def is_harmful(self) -> bool:
        """Whether rows depend on what was found."""
        return any(finding.harm is not Harm.SLIGHT for finding in self.findings)


CONSISTENT = CheckResult([], True)
UNDECIDED = CheckResult([], False)


def mismatch(setting: str, sentence: str, values: Mapping[str, Any] = NO_VALUES,
             harm: Harm = Harm.CONTRADICTS, mend: Mend | None = None,
             lasting: bool = False) -> CheckResult:
    """A complete result with one finding."""
    return CheckResult([Finding(setting, sentence, values, harm, mend=mend, lasting=lasting)], True)


def outside(low: float, high: float, error: float, bounds: tuple[float, float]) -> bool:
    """Whether a value between `low` and `high`, with standard error `error`, is outside `bounds`
    with 99.9 % certainty."""
    return high + Z999 * error < bounds[0] or low - Z999 * error > bounds[1]
