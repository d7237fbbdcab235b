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

"""Factors by which an estimate corrects measurements, since the robot changed while it learnt."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import ParameterError, brief
from .sample import Sample
from .wiring import rewired

# A correction multiplies the measurement's noise too. Beyond a factor of five the measurement is
# not weak: its sensor is dead, or another node commands the thrusters.
LARGEST_CORRECTION = 5.0
LEAST_CORRECTION = 1e-3     # no two units in use are further apart
EFFORT_SIZE = "effort_size"         # the entry of `ParameterSet.learned`


class Scales(NamedTuple):
    """Factors that correct measurements: effort (C,) on the efforts, velocity on the vehicle's
    linear velocity, thruster (N,) on each thruster's contribution to the wrench; drives (N,): the
    thruster that each command drives, counted from 1 and negative if it pushes backwards; () if
    they are those of the settings."""

    effort: np.ndarray
    velocity: float = 1.0
    thruster: np.ndarray = np.ones(0)
    drives: tuple[int, ...] = ()

    @classmethod
    def saved(cls, learned: Mapping, channels: Sequence[str], thrusters: int, what: str) -> Scales:
        """Those of `ParameterSet.learned`, 1 where it states none.

        what: the set, for messages. Raises ParameterError for factors that cannot be used or that
        belong to other channels or thrusters."""
        by_channel = stated_factors(learned, "effort_factor", what)
        if others := [name for name in by_channel if name not in channels]:
            raise ParameterError(
                f"{what}: effort_factor names {brief(others[0])}; expected channels of this robot "
                f"({', '.join(channels)}). {_otherwise('effort_factor')}")
        by_thruster, drives = _thruster_factors(learned, what), _thruster_order(learned, what)
        for key, found in (("thruster_factor", by_thruster), ("thruster_order", drives)):
            if len(found) not in (0, thrusters):
                raise ParameterError(
                    f"{what}: {key} has {len(found)} entries, expected one for each of the "
                    f"{thrusters} thrusters in thrusters.allocation. Correct the settings. "
                    f"{_otherwise(key)}")
        return cls(np.array([by_channel.get(channel, 1.0) for channel in channels]),
                   _velocity_factor(learned, what), np.array(by_thruster or [1.0] * thrusters),
                   drives)

    def stated(self, channels: Sequence[str]) -> dict[str, Any]:
        """Entries of `ParameterSet.learned`, from which `saved` makes the same factors; empty if
        all are one."""
        found = {
            "effort_factor": {channel: float(factor) for channel, factor in zip(
                channels, self.effort) if factor != 1.0},
            "velocity_factor": self.velocity if self.velocity != 1.0 else None,
            "thruster_factor": self.thruster.tolist() if (self.thruster != 1.0).any() else None,
            "thruster_order": list(self.drives)}
        return {key: value for key, value in found.items() if value}

    def corrected(self, sample: Sample, allocation: np.ndarray) -> Sample:
        """The sample with its linear velocity and wrench corrected; allocation (6, N)."""
        if self.velocity != 1.0:
            nu = sample.nu.copy()
            nu[:3] *= self.velocity
            sample = replace(sample, nu=nu)
        if sample.by_thruster is not None and self.drives:
            contributions = rewired(allocation, sample.by_thruster, self.drives)
            sample = replace(sample, by_thruster=contributions, wrench=sample.wrench
                             + (contributions - sample.by_thruster).sum(axis=1))
        if sample.by_thruster is not None and (self.thruster != 1.0).any():
            sample = replace(sample,
                             wrench=sample.wrench + sample.by_thruster @ (self.thruster - 1.0))
        return sample

    def none(self) -> Scales:
        """Factors of one, for the same measurements."""
        return Scales(np.ones_like(self.effort), 1.0, np.ones_like(self.thruster))

    @property
    def any(self) -> bool:
        """Whether a factor is not one."""
        return bool((self.effort != 1).any() or self.velocity != 1 or (self.thruster != 1).any()
                    or self.drives)

    @property
    def usable(self) -> bool:
        """Whether the corrected measurements are still worth using."""
        return (all(map(_positive, [*self.effort, self.velocity]))
                and bool((np.abs(self.thruster) <= LARGEST_CORRECTION).all()))

    def words(self, channels: Sequence[str]) -> list[str]:
        """'surge times 0.8', ..., for each factor that is not one; thrusters are counted from 1."""
        named = (*zip(channels, self.effort),
                 *((f"thruster {k}", factor) for k, factor in enumerate(self.thruster, 1)),
                 ("the vehicle's velocity", self.velocity))
        return [f"{name} times {factor:.3g}" for name, factor in named if factor != 1.0] + (
            [f"commands for thrusters {list(self.drives)}"] if self.drives else [])


def check_scales(learned: Mapping, what: str) -> None:
    """Raise ParameterError if the factors that `ParameterSet.learned` states cannot be used by any
    robot; what: the set, for messages."""
    stated_factors(learned, "effort_factor", what)
    stated_factors(learned, "interval_factor", what)
    stated_efforts(learned, what)
    _velocity_factor(learned, what)
    _thruster_factors(learned, what)
    _thruster_order(learned, what)


def stated_factors(learned: Mapping, key: str, what: str) -> dict[str, float]:
    """Positive factors that `ParameterSet.learned` states by channel; raises ParameterError."""
    return _by_channel(learned, key, what, _positive, f"numbers {_RANGE}")


def stated_efforts(learned: Mapping, what: str) -> dict[str, float]:
    """Scale of the efforts [N, N m] that `ParameterSet.learned` states by channel; raises
    ParameterError."""
    return _by_channel(learned, EFFORT_SIZE, what,
                       lambda value: _is_number(value) and 0 < value < math.inf,
                       "positive numbers")


def _by_channel(learned: Mapping, key: str, what: str, usable: Callable[[Any], bool],
                expected: str) -> dict[str, float]:
    found = learned.get(key, {})
    if not (isinstance(found, Mapping) and all(map(usable, found.values()))):
        raise _unusable(key, found, f"a mapping from channels to {expected}", what)
    return {str(name): float(value) for name, value in found.items()}


def _velocity_factor(learned: Mapping, what: str) -> float:
    found = learned.get("velocity_factor", 1.0)
    if not _positive(found):
        raise _unusable("velocity_factor", found, f"a number {_RANGE}", what)
    return float(found)


def _thruster_factors(learned: Mapping, what: str) -> list[float]:
    """Factor of each thruster, negative if it pushes the other way; [] if none are stated."""
    found = learned.get("thruster_factor", [])
    if not (isinstance(found, list)
            and all(_is_number(one) and abs(one) <= LARGEST_CORRECTION for one in found)):
        raise _unusable("thruster_factor", found, "a list of numbers of size up to "
                        f"{LARGEST_CORRECTION:g}", what)
    return [float(one) for one in found]


def _thruster_order(learned: Mapping, what: str) -> tuple[int, ...]:
    """The thruster that each command drives, as in `Scales`; () if none are stated."""
    found = learned.get("thruster_order", [])
    if not (isinstance(found, list) and all(type(one) is int for one in found)
            and sorted(map(abs, found)) == list(range(1, len(found) + 1))):
        raise _unusable("thruster_order", found, "a list with each thruster's number, from 1, once",
                        what)
    return tuple(found)


_RANGE = f"from {LEAST_CORRECTION:g} to {LARGEST_CORRECTION:g}"


def _positive(value: Any) -> bool:
    return _is_number(value) and LEAST_CORRECTION <= value <= LARGEST_CORRECTION


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _unusable(key: str, found: Any, expected: str, what: str) -> ParameterError:
    return ParameterError(f"{what}: {key} is {brief(found)}; expected {expected}. "
                          f"{_otherwise(key)}")


def _otherwise(key: str) -> str:
    without = "is then learnt again" if key == EFFORT_SIZE else "makes its factors one"
    return f"Save the parameters again, or delete '{key}', which {without}."
