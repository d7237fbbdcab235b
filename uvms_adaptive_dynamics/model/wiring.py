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

"""Which thruster each command drives, if not those of the settings."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def thrusts(allocation: np.ndarray, by_thruster: np.ndarray) -> np.ndarray:
    """(..., N) thrust behind each thruster's contribution by_thruster (..., C, N) to the efforts,
    of which the first six lie along its column of the allocation (6, N)."""
    along = np.einsum("an,...an->...n", allocation, by_thruster[..., :6, :])
    return np.asarray(along / np.maximum(np.sum(allocation ** 2, axis=0), 1e-12))


def directions(allocation: np.ndarray, by_thruster: np.ndarray, low_thrust: float | np.ndarray
               ) -> np.ndarray:
    """(..., N) -1 to 1: in which direction each thruster acts, by its contribution as in `thrusts`;
    in between below low_thrust [N], where it may be in its dead zone."""
    return np.asarray(np.clip(thrusts(allocation, by_thruster) / low_thrust, -1.0, 1.0))


def driven(allocation: np.ndarray, drives: Sequence[int] | np.ndarray) -> np.ndarray:
    """The allocation (6, ..., N) of commands that drive these thrusters (..., N), counted from 1;
    negative for a thruster that pushes backwards."""
    return np.asarray(allocation[:, np.abs(drives) - 1] * np.sign(drives))


def one_step_from(drives: np.ndarray, places: Sequence[int] | np.ndarray,
                  reversing: bool = True) -> np.ndarray:
    """(m, N) wirings that differ from drives (N,) by one exchange of two of the commands at these
    places (k,) or, with `reversing`, by one reversal among them; exchanges first."""
    places = np.asarray(places, int)
    first, second = places[np.array(np.triu_indices(places.size, 1))]
    found = np.tile(drives, (first.size + (places.size if reversing else 0), 1))
    each = np.arange(first.size)
    found[each, first], found[each, second] = drives[second], drives[first]
    if reversing:
        found[first.size + np.arange(places.size), places] *= -1
    return found


def rewired(allocation: np.ndarray, by_thruster: np.ndarray,
            drives: Sequence[int]) -> np.ndarray:
    """(..., C, N) each thruster's contribution to the efforts if commands drive these thrusters, as
    in `driven`; by_thruster (..., C, N): if they drive those of the settings."""
    found = np.zeros_like(by_thruster)
    places = np.abs(drives) - 1
    found[..., :6, places] = driven(allocation, drives) * thrusts(
        allocation, by_thruster)[..., None, :]
    return found


def then_driven(drives: Sequence[int], found: Sequence[int]) -> tuple[int, ...]:
    """The thrusters that commands drive if those that drive `drives` really drive `found`, thruster
    by thruster; () for those of the settings. An empty argument stands for those, too."""
    drives = drives or range(1, len(found) + 1)
    after = tuple(int(np.sign(one)) * int(found[abs(one) - 1]) for one in drives)
    return () if after == tuple(range(1, len(after) + 1)) else after


def between(before: Sequence[int], after: Sequence[int], count: int) -> tuple[int, ...]:
    """What thrusters would be driven by `after`, one for each that is driven by `before`; count:
    their number. An empty argument stands for those of the settings."""
    as_set = tuple(range(1, count + 1))
    found = dict(zip(np.abs(before or as_set).tolist(),
                     (int(np.sign(one)) * other
                      for one, other in zip(before or as_set, after or as_set))))
    return tuple(found[thruster] for thruster in as_set)
