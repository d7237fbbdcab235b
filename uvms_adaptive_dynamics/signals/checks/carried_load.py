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
"""What the arm may carry at its tip, as a rival to efforts in another unit.

Both make efforts larger than the URDF's masses explain. A load at the tip does so for all joints in
proportions that follow from its mass and centre; another unit, for each joint by a factor. Either
way, each joint's own load may be wrong by what masses in a URDF are wrong by.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

# A load's centre is as far from the last joint as so many times the longest link.
REACH = 1.5
CARRIED = 4     # mass and first moments


class Tip(NamedTuple):
    """What the last link may carry: columns(t (k,) [s], mu (k, n)) returns the efforts (k, n, 4)
    per its mass and first moments about that link's joint; mass [kg]: of all links, as much as an
    arm carries at most; length [m]: of the longest."""

    columns: Callable[[np.ndarray, np.ndarray], np.ndarray]
    mass: float
    length: float

    def stddev(self, share: float) -> np.ndarray:
        """(4,) prior deviations of a load of a share of the arm's mass."""
        return share * self.mass * np.array([1.0] + [REACH * self.length] * 3)


class JointRows(NamedTuple):
    """A joint's rows: effort (k,), load (k,) by the URDF's masses, carried (k, 4) efforts per
    parameter of what the tip carries, other (k, m) features; stddev: of the effort's error, per
    independent row [N m]."""

    effort: np.ndarray
    load: np.ndarray
    carried: np.ndarray
    other: np.ndarray
    stddev: float

    def scaled(self, factor: float) -> JointRows:
        """The rows with the effort times a factor."""
        return self._replace(effort=factor * self.effort, stddev=abs(factor) * self.stddev)


def misfit(joints: Sequence[JointRows], carried: np.ndarray, mass_error: float) -> float:
    """-2 log likelihood of the best fit, its priors included; carried (4,): prior deviations of
    what the tip carries; mass_error: that of each joint's load, relative."""
    width = 1 + joints[0].other.shape[1]
    blocks = []
    for k, rows in enumerate(joints):
        block = np.zeros((len(rows.effort), CARRIED + width * len(joints)))
        begin = CARRIED + k * width
        block[:, :CARRIED] = rows.carried
        block[:, begin:begin + width] = np.column_stack([rows.load, rows.other])
        blocks.append(np.column_stack([block, rows.effort]) / rows.stddev)
    prior = np.zeros((CARRIED + len(joints), CARRIED + width * len(joints) + 1))
    prior[:CARRIED, :CARRIED] = np.diag(1.0 / carried)
    for k in range(len(joints)):
        prior[CARRIED + k, CARRIED + k * width] = prior[CARRIED + k, -1] = 1.0 / mass_error
    stacked = np.vstack([*blocks, prior])
    x, y = stacked[:, :-1], stacked[:, -1]
    left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return float(left @ left)
