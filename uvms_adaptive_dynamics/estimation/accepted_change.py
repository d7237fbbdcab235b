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

"""An accepted change of the robot: its effect on the estimator's knowledge, and its message.

Subclasses of `Change`: re-estimation of a part, a factor on efforts, velocity or a thruster, an
external force, and the return to the knowledge before an earlier change. docs/mathematics.md,
"Changes of the robot".
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..model.scales import Scales
from ..model.wiring import then_driven
from .change_evidence import LoadSums
from .information import InformationRecord, InformationState, PastNoise
from .provenance import Provenance

EXTERNAL_FORCE = "external force"
IN_CONTACT = "contact"
FACTOR_UNDONE = 0.03                # a factor this close to one becomes one
# Lost share of a thruster's thrust from which it rather pushes backwards (2) than not at all (1).
REVERSED_SHARE = 1.5
# Thrust curves are right to a third: by so much a thruster may seem stronger than new, less than
# stopped, or other than reversed, which is all that can happen to it.
CURVE_ERROR = 0.33


class ContactSums(NamedTuple):
    """What a free vehicle's motion would be judged by: places (k,) and plausible values (k,) of
    its inertia and damping; variance (6,) of a row that accounts for the correlation between rows.
    """

    places: np.ndarray
    size: np.ndarray
    variance: np.ndarray


class Checkpoint(NamedTuple):
    """Knowledge at an instant to which the estimator may return.

    part: why it was kept, the name of a change or 'sensors'; pi (p,): the estimate; scales: factors
    on measurements; information: all that had been learnt; provenance: what the estimate had come
    from."""

    part: str
    pi: np.ndarray
    scales: Scales
    information: InformationRecord
    provenance: Provenance | None = None


class Followed(NamedTuple):
    """Result of following a change: estimate pi (p,), factors on measurements, and the knowledge
    before it, None if the change cannot be withdrawn later."""

    pi: np.ndarray
    scales: Scales
    before: Checkpoint | None


@dataclass(frozen=True)
class Change(ABC):
    """An accepted change. part: name of what has changed; ticks: how long ago it began; noise: as
    it was before."""

    part: str
    ticks: int
    noise: PastNoise

    @abstractmethod
    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """Update `information` for the change, from the estimate pi (p,) and the factors on
        measurements; what was learnt about other parts stays.

        Returns None and leaves all knowledge as it was if the update is impossible."""

    @abstractmethod
    def sentence(self, since: float) -> str:
        """Message about the change; since [s]: when it began."""

    def is_possible(self, scales: Scales) -> bool:
        """Whether it can happen to a robot whose measurements have the factors `scales`."""
        return True

    def _return_noise(self, information: InformationState) -> None:
        # The change caused the residuals since it began: noise learnt from them holds neither
        # before it, where a checkpoint returns to, nor after it.
        information.return_noise(self.noise)

    def _known_before(self, information: InformationState, pi: np.ndarray,
                      scales: Scales) -> Checkpoint:
        self._return_noise(information)
        return Checkpoint(self.part, pi, scales, information.record())


@dataclass(frozen=True)
class PartChange(Change):
    """The parameters at `places` (k,) are re-estimated; odds: the evidence, in words."""

    places: np.ndarray
    odds: str

    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """See `Change.follow`."""
        present = information.noise_record()
        before = self._known_before(information, pi, scales)
        information.age_window(self.ticks, pi)
        if not information.marginalize(self.places, pi):
            # The change stays unexplained, so its residuals are the error of predictions.
            information.return_noise(present)
            return None
        return Followed(pi, scales, before)

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        return (f"{self.part}: dynamics changed at {since:.1f} s (payload, damage?); "
                f"re-estimating. Evidence: {self.odds}")


@dataclass(frozen=True)
class RobotChange(PartChange):
    """The estimate at the start was another robot's: all parameters are re-estimated, and the
    factors on measurements that came with it are dropped."""

    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """See `Change.follow`."""
        followed = super().follow(information, pi, scales)
        if followed is None or not scales.any:
            return followed
        information.drop_window()       # its rows have these factors
        return followed._replace(scales=scales.none())

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        return (f"{self.part}: the saved estimate does not describe this one (another robot's "
                "file, other ballast, payload or settings?); re-estimating everything. Evidence: "
                f"{self.odds}")


class ScaleChange(Change):
    """The scale of a measurement has changed: it is corrected, and only the window's rows are
    dropped."""

    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """See `Change.follow`; None if it cannot be, or if the measurements are no longer worth
        correcting."""
        corrected = self._corrected(scales)
        if not (corrected.usable and self.is_possible(scales)):
            return None
        before = self._known_before(information, pi, scales)
        information.drop_window()
        return Followed(pi, corrected, before)

    @abstractmethod
    def _corrected(self, scales: Scales) -> Scales:
        """The corrected factors; one within FACTOR_UNDONE of one becomes one."""


@dataclass(frozen=True)
class EffortChange(ScaleChange):
    """Measured efforts of `channels` are now `factor` times as large; odds: the evidence, in
    words."""

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
                f"{since:.1f} s (drive?); corrected. Evidence: {self.odds}")


@dataclass(frozen=True)
class ThrustChange(EffortChange):
    """The efforts of the thrusters' commands are now `factor` times what moves the vehicle."""

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        return (f"{self.part}: all thrusters together give {1 / self.factor:.2f} times the thrust "
                f"of before since {since:.1f} s (battery?); corrected. Evidence: {self.odds}")


@dataclass(frozen=True)
class VelocityChange(ScaleChange):
    """The measured linear velocity is now `factor` times as large; odds: the evidence, in words."""

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
    """The thrusters (k,), by index, deliver more thrust than before, by `share` (k,) of their
    nominal thrust (negative: less); odds: the evidence, in words."""

    thrusters: np.ndarray
    share: np.ndarray
    odds: str

    def is_possible(self, scales: Scales) -> bool:
        """See `Change.is_possible`: each thruster works, at most as well as new, is stopped, or is
        reversed."""
        factor = scales.thruster[self.thrusters] + self.share
        forward = (factor >= -CURVE_ERROR) & (factor <= 1 + CURVE_ERROR)
        reverse = np.abs(factor + 1) <= CURVE_ERROR
        return bool((forward | reverse).all())

    def _corrected(self, scales: Scales) -> Scales:
        corrected = scales.thruster.copy()
        corrected[self.thrusters] += self.share
        corrected[np.abs(corrected - 1) < FACTOR_UNDONE] = 1.0
        return scales._replace(thruster=corrected)

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        # With a thrust curve that is some per cent off, more than all thrust may seem lost. It is
        # corrected as found, so that a recovery cancels it, but reported as all of the thrust.
        plausible = np.where(self.share > -REVERSED_SHARE, np.maximum(self.share, -1.0), self.share)
        sizes = ", ".join(f"{'down' if share < 0 else 'up'} by {100 * abs(share):.0f} %"
                          for share in plausible)
        cause = ("other order or signs of the commands?"
                 if (np.abs(self.share) > REVERSED_SHARE).any()
                 else "propeller, rope, speed controller?")
        return (f"{self.part}: thrust {sizes} of nominal since {since:.1f} s ({cause}); corrected. "
                f"Evidence: {self.odds}")


@dataclass(frozen=True)
class WiringChange(ScaleChange):
    """The commands that drove thrusters 1, 2, .. before drive those of `drives`, negative if they
    push backwards; odds: the evidence, in words."""

    drives: tuple[int, ...]
    odds: str

    def _corrected(self, scales: Scales) -> Scales:
        return scales._replace(drives=then_driven(scales.drives, self.drives))

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        moved = [k for k, thruster in enumerate(self.drives, 1) if thruster != k]
        backwards = ", ".join(str(-thruster) for thruster in self.drives if thruster < 0)
        return (f"{self.part}: what was sent to thrusters {', '.join(map(str, moved))} drives "
                f"{', '.join(str(abs(self.drives[k - 1])) for k in moved)}"
                f"{f', of which {backwards} push backwards' * bool(backwards)} since {since:.1f} s "
                "(driver, mixer, cables?); corrected. Check thrusters.allocation. "
                f"Evidence: {self.odds}")


@dataclass(frozen=True)
class OutsideChange(Change):
    """What acts on the vehicle from outside changes: the estimate stays. odds: the evidence, in
    words."""

    odds: str

    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """See `Change.follow`."""
        self._return_noise(information)
        information.drop_window()
        return Followed(pi, scales, None)


@dataclass(frozen=True)
class LoadChange(OutsideChange):
    """An external force on the vehicle begins, changes or ends. sums: least-squares sums of the
    rows since then, None if it has ended; force (3,) in NED [N]."""

    sums: LoadSums | None
    force: np.ndarray

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        if self.sums is None:
            return load_gone(since)
        down = self.force[2]
        return (f"{self.part}: {np.linalg.norm(self.force):.1f} N on the vehicle since "
                f"{since:.1f} s, {np.hypot(*self.force[:2]):.1f} N horizontally and "
                f"{abs(down):.1f} N {'down' if down > 0 else 'up'} (tether, hook, contact, "
                "current?); compensated while it lasts, nothing learnt is lost. "
                f"Evidence: {self.odds}")


@dataclass(frozen=True)
class ContactChange(OutsideChange):
    """The vehicle stands still, whatever its thrust."""

    sums: ContactSums

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        return (f"{self.part}: the vehicle stands still since {since:.1f} s, whatever its thrust: "
                "something holds it (bottom, dock, net?), or its thrusters have no power; its rows "
                f"do not count while it lasts, nothing learnt is lost. Evidence: {self.odds}")


def load_gone(since: float) -> str:
    """Message about an external force that ended at `since` [s]."""
    return f"{EXTERNAL_FORCE}: gone since {since:.1f} s"


def contact_gone(since: float) -> str:
    """Message about a contact that ended at `since` [s]."""
    return f"{IN_CONTACT}: the vehicle moves again since {since:.1f} s; its rows count again"


@dataclass(frozen=True)
class Restoration(Change):
    """Return to what was `known` before an earlier change."""

    known: Checkpoint

    @property
    def provenance(self) -> Provenance | None:
        """What the restored values had come from; None if the present ones stay."""
        return self.known.provenance

    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """See `Change.follow`."""
        information.put_back(self.known.information)
        return Followed(self.known.pi, self.known.scales, None)

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        return (f"{self.part}: back to its earlier state since {since:.1f} s; what was known "
                "before the change is restored")


@dataclass(frozen=True)
class FactorsRestoration(Restoration):
    """Return to the factors on measurements before an earlier change; the estimate stays."""

    @property
    def provenance(self) -> Provenance | None:
        """See `Restoration.provenance`."""
        return None

    def follow(self, information: InformationState, pi: np.ndarray,
               scales: Scales) -> Followed | None:
        """See `Change.follow`."""
        self._return_noise(information)
        information.drop_window()
        return Followed(pi, self.known.scales, None)

    def sentence(self, since: float) -> str:
        """See `Change.sentence`."""
        return (f"{self.part}: back to its earlier state since {since:.1f} s; no longer corrected, "
                "what has been learnt since stays")
