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

"""All settings together, with checks across sections."""
from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, cast

from ..errors import ConfigError, brief, require
from .control import Feedforward
from .estimation import Estimation, Filter, Limits, Uncertainty
from .excitation import Excitation
from .identification import Identification
from .output import Output
from .robot import Prior, Robot
from .sensors import Battery, Depth, Dvl, Imu, Joints
from .settings import checked
from .thrusters import Thrusters
from .twin import Twin


@dataclass(frozen=True)
class Config:
    """All settings; one field per section."""

    robot: Robot = field(default_factory=Robot)
    imu: Imu = field(default_factory=Imu)
    dvl: Dvl = field(default_factory=Dvl)
    depth: Depth = field(default_factory=Depth)
    joint_states: Joints = field(default_factory=Joints)
    thrusters: Thrusters = field(default_factory=Thrusters)
    battery: Battery = field(default_factory=Battery)
    filter: Filter = field(default_factory=Filter)
    limits: Limits = field(default_factory=Limits)
    estimation: Estimation = field(default_factory=Estimation)
    uncertainty: Uncertainty = field(default_factory=Uncertainty)
    prior: Prior = field(default_factory=Prior)
    output: Output = field(default_factory=Output)
    feedforward: Feedforward = field(default_factory=Feedforward)
    twin: Twin = field(default_factory=Twin)
    excitation: Excitation = field(default_factory=Excitation)
    identification: Identification = field(default_factory=Identification)

    def __post_init__(self) -> None:
        for entry in fields(self):
            require(entry.name, getattr(self, entry.name), cast(type, entry.default_factory),
                    ConfigError)
        for section in (self.imu, self.dvl, self.depth):
            for name in ("xyz", "rpy"):
                if len(getattr(section, name, (0, 0, 0))) != 3:
                    section.refuse(name, getattr(section, name), "3 numbers")
        if self.imu.orientation == "own" and any(self.robot.current_ned[:2]):
            self.robot.refuse("current_ned", self.robot.current_ned, (
                "no horizontal current with imu.orientation 'own', which has no heading"))
        self._check_odometry()
        n = len(self.robot.joints)
        for per_joint, names in (
                (self.joint_states, ("names", "effort_scale", "effort_scale_negative",
                                     "effort_offset", "position_offset", "limits_low",
                                     "limits_high")),
                (self.prior, ("friction_viscous", "friction_coulomb")),
                (self.excitation, ("joint_low", "joint_high", "joint_speed"))):
            for name in names:
                got = getattr(per_joint, name)
                if got and len(got) != n:
                    per_joint.refuse(
                        name, got, f"nothing or {n} values (one for each of robot.joints)")
        unknown = set(self.joint_states.effort_masked) - set(self.robot.joints)
        if unknown:
            self.joint_states.refuse("effort_masked", sorted(unknown),
                                     f"names from robot.joints {list(self.robot.joints)}")
        channels = n + (6 if self.robot.vehicle else 0)
        noise = self.estimation.noise_stddev
        if noise and len(noise) != channels:
            self.estimation.refuse("noise_stddev", noise,
                                   f"nothing or {channels} numbers (one per channel)")

    def _check_odometry(self) -> None:
        """Check odometry and poses: they have no specific force, and readers of one topic must
        agree."""
        if not self.imu.measures_force:
            if self.imu.orientation == "own":
                self.imu.refuse("orientation", "own", f"'message': {self.imu.type} has no specific "
                                                      "force")
            if self.filter.linear_acceleration == "imu":
                self.filter.refuse("linear_acceleration", "imu",
                                   f"'dvl': imu.type {self.imu.type} has no specific force")
        if self.imu.enabled and self.dvl.enabled and self.imu.topic == self.dvl.topic:
            for name in ("type", "frame", "rpy"):
                if getattr(self.dvl, name) != getattr(self.imu, name):
                    self.dvl.refuse(name, getattr(self.dvl, name), (
                        f"{getattr(self.imu, name)!r} as imu.{name}, since both read the topic "
                        f"'{self.dvl.topic}'"))

    def settings(self) -> Iterator[tuple[str, Field[Any], Any]]:
        """`(dotted name, dataclass field, value)` of every setting, in order."""
        for section in fields(self):
            group = getattr(self, section.name)
            for entry in fields(group):
                yield f"{section.name}.{entry.name}", entry, getattr(group, entry.name)

    def changed(self) -> dict[str, Any]:
        """Settings that differ from the defaults, by dotted name."""
        return {name: value for name, (_, value) in self.changed_settings().items()}

    def changed_settings(self) -> dict[str, tuple[Any, Any]]:
        """`(default, value)` of each setting that differs from its default, by dotted name."""
        return Config().differences(self)

    def counted_changes(self) -> str:
        """How many settings differ from the defaults, in words."""
        count = len(self.changed_settings())
        if not count:
            return "no setting differs from the defaults"
        differ = "settings differ" if count > 1 else "setting differs"
        return f"{count} {differ} from the defaults"

    def differences(self, other: Config) -> dict[str, tuple[Any, Any]]:
        """`(own value, value of other)` of each setting that differs, by dotted name."""
        values = {name: value for name, _, value in other.settings()}
        return {name: (value, values[name]) for name, _, value in self.settings()
                if value != values[name]}

    def with_values(self, values: Mapping[str, Any]) -> Config:
        """A copy with settings replaced by dotted name; raises ConfigError with a line for each bad
        name and value."""
        require("values", values, Mapping, ConfigError, "settings by dotted name")
        known = {name: entry for name, entry, _ in self.settings()}
        changes: dict[str, dict[str, Any]] = {}
        problems = []
        for name, value in values.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f" Did you mean '{near[0]}'?" if near else ""
                problems.append(f"setting {brief(name)} does not exist.{hint}")
                continue
            section, key = name.split(".")
            try:
                changes.setdefault(section, {})[key] = checked(section, known[name], value)
            except ConfigError as error:
                problems.append(str(error))
        _raise_all(problems)
        sections: dict[str, Any] = {}
        for section, changed in changes.items():
            try:
                sections[section] = replace(getattr(self, section), **changed)
            except ConfigError as error:
                problems.append(str(error))
        _raise_all(problems)
        return replace(self, **sections)


def _raise_all(problems: list[str]) -> None:
    if problems:
        raise ConfigError("\n".join(problems))
