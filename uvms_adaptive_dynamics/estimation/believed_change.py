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

"""A change of the robot that is believed: what it does to what is known, and what is said of it.

Siblings behind `Change`: a part that begins again, a factor on efforts, on velocity or on a
thruster, a force from outside, and the return to what was known before an earlier change.
docs/mathematics.md, "Changes of the robot".
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..uncertainty.channel_noise import NoiseRecord
from .change_evidence import LoadSums
from .information import InformationRecord, InformationState

EXTERNAL_FORCE = "external force"
FACTOR_UNDONE = 0.03                # a factor so near to one is none


class Scales(NamedTuple):
    """Factors that correct what is measured: effort (C,) on the efforts, velocity on the vehicle's
    linear velocity, thruster (N,) on what each adds to the wrench."""

    effort: np.ndarray
    velocity: float = 1.0
    thruster: np.ndarray = np.ones(0)


class Checkpoint(NamedTuple):
    """What was known at an instant to which the estimate may return: why it was kept (a change's
    name, or 'sensors'), the estimate (p,), the factors on what is measured, and all that was
    learned."""

    part: str
    pi: np.ndarray
    scales: Scales
    information: InformationRecord


class Followed(NamedTuple):
    """After a change: the estimate (p,), the factors on what is measured, and what was known
    before, where the change may yet be withdrawn."""

    pi: np.ndarray
    scales: Scales
    before: Checkpoint | None


@dataclass(frozen=True)
class Change(ABC):
    """A change that is believed. part: what has changed, in words; ticks: for how long; noise: of
    the time before."""

    part: str
    ticks: int
    noise: NoiseRecord

    @abstractmethod
    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """Let `information` follow, from the estimate pi (p,) and the factors on what is measured;
        what was learned of other parts stays. None where the numbers do not allow it; what is known
        then stays."""

    @abstractmethod
    def sentence(self, since: float) -> str:
        """What is said of it; since [s]: when it began."""

    def _return_noise(self, information: InformationState) -> None:
        # The residuals since then were the change's: noise that holds them is neither of the time
        # before, to which a record returns, nor of the time after.
        information.noise.put_back(self.noise)

    def _known_before(self, information: InformationState, pi: np.ndarray,
                      scales: Scales) -> Checkpoint:
        self._return_noise(information)
        return Checkpoint(self.part, pi, scales, information.record())


@dataclass(frozen=True)
class PartChange(Change):
    """Parameters at `places` (k,) begin again; odds: the evidence, in words."""

    places: np.ndarray
    odds: str

    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """See `Change.follow`."""
        learned = information.noise.record()
        before = self._known_before(information, pi, scales)
        information.age_window(self.ticks, pi)
        if not information.marginalize(self.places, pi):
            # The change stays unexplained, and its residuals are what predictions are off by.
            information.noise.put_back(learned)
            return None
        return Followed(pi, scales, before)

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        return (f"{self.part}: dynamics changed at {since:.1f} s (payload, damage?); "
                f"re-estimating. Evidence: {self.odds}")


class ScaleChange(Change):
    """What is measured has another scale: it is corrected, and nothing that was learned is dropped
    but the window."""

    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """See `Change.follow`."""
        before = self._known_before(information, pi, scales)
        information.drop_window()
        return Followed(pi, self._corrected(scales), before)

    @abstractmethod
    def _corrected(self, scales: Scales) -> Scales:
        """The factors from now on; one within FACTOR_UNDONE of one is none."""


@dataclass(frozen=True)
class EffortChange(ScaleChange):
    """Efforts of `channels` are `factor` times what they were; odds: the evidence, in words."""

    channels: np.ndarray
    factor: float
    odds: str

    def _corrected(self, scales: Scales) -> Scales:
        corrected = scales.effort.copy()
        corrected[self.channels] /= self.factor
        corrected[np.abs(corrected - 1) < FACTOR_UNDONE] = 1.0
        return scales._replace(effort=corrected)

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        return (f"{self.part}: efforts {self.factor:.2f} times what the model predicts since "
                f"{since:.1f} s (battery, drive?); corrected. Evidence: {self.odds}")


@dataclass(frozen=True)
class VelocityChange(ScaleChange):
    """The linear velocity is measured as `factor` times what it was; odds: the evidence, in words.
    """

    factor: float
    odds: str

    def _corrected(self, scales: Scales) -> Scales:
        corrected = scales.velocity / self.factor
        return scales._replace(velocity=1.0 if abs(corrected - 1) < FACTOR_UNDONE else corrected)

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        return (f"{self.part}: velocities {self.factor:.2f} times what the model predicts since "
                f"{since:.1f} s (DVL, speed of sound?); corrected. Evidence: {self.odds}")


@dataclass(frozen=True)
class ThrusterChange(ScaleChange):
    """A thruster, by its place, gives `share` more of the thrust of its setting than until now;
    odds: the evidence, in words."""

    thruster: int
    share: float
    odds: str

    def _corrected(self, scales: Scales) -> Scales:
        corrected = scales.thruster.copy()
        corrected[self.thruster] += self.share
        corrected[np.abs(corrected - 1) < FACTOR_UNDONE] = 1.0
        return scales._replace(thruster=corrected)

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        return (f"{self.part}: thrust {'down' if self.share < 0 else 'up'} by "
                f"{100 * abs(self.share):.0f} % of nominal since {since:.1f} s (propeller, rope, "
                f"speed controller?); corrected. Evidence: {self.odds}")


@dataclass(frozen=True)
class LoadChange(Change):
    """A force from outside begins to pull at the vehicle, or another one than before, or none any
    more: sums of what the rows since then say of it, None where it is gone; force (3,) in NED [N];
    odds: the evidence, in words."""

    sums: LoadSums | None
    force: np.ndarray
    odds: str

    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """See `Change.follow`."""
        self._return_noise(information)
        information.drop_window()
        return Followed(pi, scales, None)

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        if self.sums is None:
            return load_gone(since)
        down = self.force[2]
        return (f"{self.part}: {np.linalg.norm(self.force):.1f} N on the vehicle since "
                f"{since:.1f} s, {np.hypot(*self.force[:2]):.1f} N horizontally and "
                f"{abs(down):.1f} N {'down' if down > 0 else 'up'} (tether, hook, contact, "
                "current?); compensated while it lasts, nothing is unlearnt. "
                f"Evidence: {self.odds}")


def load_gone(since: float) -> str:
    """What is said of a force from outside that has let go; since [s]."""
    return f"{EXTERNAL_FORCE}: gone since {since:.1f} s"


@dataclass(frozen=True)
class Restoration(Change):
    """What was `known` before an earlier change holds again."""

    known: Checkpoint

    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """See `Change.follow`."""
        information.put_back(self.known.information)
        return Followed(self.known.pi, self.known.scales, None)

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        return (f"{self.part}: back to its earlier state since {since:.1f} s; what was known "
                "before the change is restored")
