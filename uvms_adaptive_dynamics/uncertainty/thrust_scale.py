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

"""What is known of the thrust's scale, which all parameters of the vehicle share
(docs/statement.md, "What the coupling tells").

Any thrust that is a constant factor off fits a vehicle without an arm: masses, damping and
restoring moments come out smaller by it. But the thrust also carries the arm, whose weight and
inertia the joints' efforts show: all efforts are then that factor larger than what it implies.

Most of this weight is on the axes of the thrusters that push up and down. Of the others it says
only as much as their axes share with these: masses, added masses, and gravity as the vehicle tilts.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..model.sample import VEHICLE_CHANNELS
from ..model.vehicle_size import LEAST_DRIVEN
from .added_direction import MIN_PIECES, Coefficient, RobustFit
from .arm_evidence import LEAST_COST_GAIN, LEAST_FACTOR, Scale, scale_of, scale_of_all
from .evidence import ReportedFinding

UNSHOWN = ("the data do not show the scale of the thrust, which all parameters of the vehicle "
           "share (robot.dry_mass bounds it from one side)")


class Drive(NamedTuple):
    """Thrusters, by index, that push along the same axes, and these axes of the vehicle."""

    thrusters: tuple[int, ...]
    axes: tuple[int, ...]


def drives_of(allocation: np.ndarray) -> tuple[Drive, ...]:
    """The thrusters of an allocation (6, N) by the directions in which they push, such as up and
    down, and sideways. An axis about which several of them turn the vehicle goes with those that do
    so most."""
    # (less than a thousandth is the rounding of an allocation that was computed)
    pushes = np.abs(allocation[:3]) > 1e-3 * np.linalg.norm(allocation[:3], axis=0)
    groups: list[set[int]] = []
    for row in pushes:
        own = set(np.flatnonzero(row).tolist())
        joined = [group for group in groups if group & own]
        groups = [group for group in groups if not group & own]
        groups += [own.union(*joined)] if own else []
    groups.sort(key=min)
    square = [(allocation[:, sorted(group)] ** 2).sum(axis=1) for group in groups]
    most = np.argmax(square, axis=0) if groups else np.zeros(6, int)
    used = (allocation != 0.0).any(axis=1)
    return tuple(Drive(tuple(sorted(group)), tuple(np.flatnonzero(used & (most == k)).tolist()))
                 for k, group in enumerate(groups))


class Extent(NamedTuple):
    """The part of the thrust that a scale is known of; others: axes of which it is not, denied:
    since their rows contradict that theirs is wrong by the same factor; total: of thrusters."""

    drives: tuple[Drive, ...]
    others: tuple[int, ...]
    denied: bool
    total: int

    def axes(self) -> str:
        """The axes, in words."""
        return _names(sorted(axis for drive in self.drives for axis in drive.axes))

    def rest(self) -> str:
        """What is said of the others."""
        names = _names(self.others)
        return (f"; the rows of {names} deny that theirs is wrong by the same factor"
                if self.denied else f"; of {names} it says nothing")

    def thrusters(self) -> list[int]:
        """The thrusters, by index."""
        return sorted(thruster for drive in self.drives for thruster in drive.thrusters)


class ThrustRatio(NamedTuple):
    """The true thrust relative to the one that the settings give, if the joints' efforts are right;
    `added`: its logarithm with its standard error; efforts_stddev: relative error that all these
    efforts may share; part: what it is known of, None for all of the thrust."""

    factor: float
    added: Coefficient
    efforts_stddev: float = 0.0
    part: Extent | None = None

    @property
    def error(self) -> float:
        """Half width of the logarithm's 95 % interval, with the efforts' error."""
        stddev = math.hypot(self.added.stddev, self.efforts_stddev)
        return self.added._replace(stddev=stddev).half_width(0.975)

    @property
    def is_bounded(self) -> bool:
        """Whether the interval ends at plausible factors, from below and above: an arm whose weight
        seems a fifth of what its efforts say is explained as well by axes that do not feel it."""
        return (self.added.clusters >= MIN_PIECES
                and abs(self.added.value) + self.error < -math.log(LEAST_FACTOR))

    def sentence(self) -> str:
        """What is known of the scale."""
        ratio, part = math.exp(self.error), self.part
        of_part = f" on {part.axes()}" if part else ""
        whose = f"of the vehicle on {part.axes()}" if part else "of the vehicle"
        return (f"the arm shows that the true thrust{of_part} is {self.factor:.2f} times what the "
                f"settings give (95 %: {self.factor / ratio:.2f} to {self.factor * ratio:.2f}), if "
                f"the joints' efforts are right to {self.efforts_stddev:.0%}; by the same factor "
                f"all parameters {whose} are uncertain{part.rest() if part else ''}")

    def finding(self, by_command: bool = True, efficiency: Sequence[float] = ()
                ) -> ReportedFinding | None:
        """The finding on a scale that is not one with 99.9 % confidence if the efforts are right,
        so that either they or the thrust are wrong; None otherwise. by_command: the thrust follows
        from commands, not from a wrench topic; efficiency: the setting."""
        if not self.added.exceeds(0.0):
            return None
        if not by_command:
            return ReportedFinding("thrusters.wrench_topic", (
                f"thrusters.wrench_topic: {self.sentence()}; correct the wrench that is published, "
                "or check joint_states.effort_scale"))
        advice = f"multiply thrusters.efficiency by {self.factor:.2f}"
        if self.part is not None:
            own = self.part.thrusters()
            values = np.array(efficiency or (1.0,) * self.part.total)
            values[own] *= self.factor
            advice += (f" for thrusters {_listed([str(k + 1) for k in own])} only, "
                       f"[{', '.join(f'{value:.3g}' for value in values)}]")
        return ReportedFinding("thrusters.efficiency", (
            f"thrusters.efficiency: {self.sentence()}; {advice}, or check thrusters.voltage, "
            "thrusters.curve and joint_states.effort_scale"))


def thrust_scale(fit: RobustFit, joints: int, efforts_stddev: float,
                 drives: Sequence[Drive] = (), lightest: float = 0.0) -> ThrustRatio | None:
    """The scale from a fit whose last `joints` channels are efforts of joints; None if the fit does
    not bound it, or if the vehicle's mass by it is impossible. efforts_stddev: see `ThrustRatio`;
    drives: of the thrusters, none if the wrench is measured; lightest: least mass [kg] that the
    vehicle may have.
    """
    found = _likeliest_scale(fit, joints, efforts_stddev, drives)
    if found is None or not lightest:
        return found
    axes = [axis for drive in (found.part.drives if found.part else drives) for axis in drive.axes]
    masses = found.factor * fit.solution[[k for k in axes if k < 3 and fit.valid[:, k].any()]]
    return found if (masses > LEAST_DRIVEN * lightest).all() else None


def _likeliest_scale(fit: RobustFit, joints: int, efforts_stddev: float,
                     drives: Sequence[Drive]) -> ThrustRatio | None:
    """`thrust_scale`, whatever the vehicle's mass is by it.

    It is that of all thrust, unless one drive alone explains the rows better with odds of a
    thousand. Then it is this drive's if that is beyond doubt, but nobody's if the arm denies it:
    which drive is wrong only the arm can tell, and it says of all thrust what it says of those that
    carry it. If it says that these are right, the drive is wrong by the ratio of both, where the
    rows are certain of that."""
    whole = scale_of_all(fit, joints)
    if whole is None:
        return None
    of_all = ThrustRatio(whole.factor, whole.added, efforts_stddev)
    alone = [_scale_of_drive(fit, drive) for drive in drives] if len(drives) > 1 else []
    ratios = [scale and ThrustRatio(1.0 / scale.factor, scale.added._replace(
        value=-scale.added.value), efforts_stddev) for scale in alone]
    total = sum(len(drive.thrusters) for drive in drives)

    def of_part(ratio: ThrustRatio, own: Sequence[Drive], denied: bool) -> ThrustRatio:
        others = sorted(axis for one in drives if one not in own for axis in one.axes)
        return ratio._replace(part=Extent(tuple(own), tuple(others), denied, total))

    gains = [-math.inf if scale is None else scale.gain for scale in alone]
    first, *others = np.argsort(gains)[::-1].tolist() or [None]
    if first is not None and gains[first] > whole.gain + LEAST_COST_GAIN:
        scale, ratio = alone[first], ratios[first]
        assert scale is not None and ratio is not None      # (they have a gain)
        beyond = all(gains[first] > gains[k] + LEAST_COST_GAIN for k in others)
        if abs(ratio.added.value - whole.added.value) > of_all.error:
            carrying = alone[others[0]] if beyond and len(others) == 1 else None
            if (carrying is None or not carrying.matters or of_all.added.exceeds(0.0)
                    or abs(carrying.added.value + whole.added.value) < of_all.error):
                return None
            # (what makes the others wrong by a factor makes this one wrong by its inverse)
            relative = ThrustRatio(carrying.factor, carrying.added, efforts_stddev)
            return of_part(relative, (drives[first],), True) if relative.is_bounded else None
        if beyond and scale.matters and ratio.is_bounded:
            return of_part(ratio, (drives[first],), True)
    shown = tuple(drive for ratio, drive in zip(ratios, drives) if ratio and ratio.is_bounded)
    if 0 < len(shown) < len(drives):
        of_all = of_part(of_all, shown, False)
    return of_all if of_all.is_bounded else None


def _scale_of_drive(fit: RobustFit, drive: Drive) -> Scale | None:
    """The factor on the efforts of a drive's axes, judged by the joints and the other axes."""
    channels = np.arange(fit.predicted.shape[1])
    return scale_of(fit, np.isin(channels, drive.axes), judged_by_channels=True)


def _names(axes: Sequence[int]) -> str:
    return _listed([VEHICLE_CHANNELS[axis] for axis in axes])


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
