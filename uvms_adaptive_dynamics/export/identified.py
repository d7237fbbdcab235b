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

"""Input and output of every export: `Identified` and `Draft`."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..config import Config
from ..errors import UvmsError, require
from ..model.arguments import array
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from ..model.scales import Scales


class ExportError(UvmsError):
    """A format cannot represent this estimate, or a file is not of the format."""


@dataclass(frozen=True)
class Identified:
    """A robot with its estimate, in the order of the robot's table.

    mass [kg]: of the vehicle without the arm's links, as stated by the user; None if not stated.
    """

    config: Config
    robot: RobotModel
    parameters: ParameterSet
    mass: float | None = None

    def __post_init__(self) -> None:
        require("config", self.config, Config)
        require("robot", self.robot, RobotModel)
        require("parameters", self.parameters, ParameterSet)
        if self.mass is not None:
            array("mass", self.mass, ())

    @classmethod
    def of(cls, config: Config, parameters: ParameterSet, mass: float | None = None) -> Identified:
        """The robot of `config` with parameters in any order; raises ParameterError if they belong
        to another robot."""
        robot = RobotModel.from_config(config)
        return cls(config, robot, parameters.for_table(robot.table), mass)

    @property
    def values(self) -> np.ndarray:
        """(p,) the estimate."""
        return self.parameters.values

    def pick(self, names: Iterable[str]) -> np.ndarray:
        """(k,) estimates of the named parameters, in the given order."""
        return self.values[self.robot.table.places(names)]

    def need_vehicle(self, name: str) -> None:
        """Raise ExportError for an arm on a fixed base."""
        if not self.robot.vehicle:
            raise ExportError(f"{name}: the robot has no vehicle (robot.vehicle is false), and "
                              "this format describes one; export 'urdf' or 'table'.")

    def need_joints(self, name: str) -> None:
        """Raise ExportError for a vehicle without an arm."""
        if not self.robot.joints:
            raise ExportError(f"{name}: the robot has no arm (robot.joints is empty), and this "
                              "format describes one; export a vehicle's format.")


def correction_notes(identified: Identified) -> tuple[str, ...]:
    """A sentence on the factors by which the estimate corrects measurements, which are no
    parameters; () if there are none."""
    robot = identified.robot
    said = Scales.saved(identified.parameters.learned, robot.channels, robot.thrusters,
                        identified.parameters.source).words(robot.channels)
    return (f"The estimate holds for corrected measurements: {', '.join(said)}, since the robot "
            "changed while it learnt. These factors are not in this file; scale what you command "
            "or measure likewise.",) if said else ()


@dataclass(frozen=True)
class Draft:
    """A file's text without its comment, and sentences on the assumptions made."""

    text: str
    notes: tuple[str, ...] = ()
