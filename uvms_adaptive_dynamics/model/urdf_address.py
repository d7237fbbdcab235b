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

"""Where an arm's URDF is."""
from __future__ import annotations

from importlib import resources
from pathlib import Path

from .. import PACKAGE
from ..config import Robot
from ..errors import RobotError


def resolve_urdf(address: str) -> str:
    """The path of a URDF address; package:// finds this package's own files and, on a ROS machine,
    any package's share directory."""
    if not address.startswith("package://"):
        try:
            return str(Path(address).expanduser())
        except RuntimeError as error:
            raise RobotError(
                f"URDF '{address}' cannot be found: {error} Give an absolute path.") from None
    package, _, inside = address[len("package://"):].partition("/")
    if package == PACKAGE:
        return str(resources.files(PACKAGE).joinpath(inside))
    try:
        from ament_index_python.packages import get_package_share_directory
        return str(Path(get_package_share_directory(package)) / inside)
    except (ImportError, LookupError, OSError, ValueError) as error:
        raise RobotError(
            f"URDF '{address}': package '{package}' is not found; give a path instead, or source "
            "its workspace."
        ) from error


def urdf_of(robot: Robot, robot_description: str | None) -> str:
    """The path or the XML of a robot's URDF; robot_description: the text on the topic of that name,
    which robot.urdf may choose. Raises RobotError if it was not received."""
    if robot.urdf != "robot_description":
        return resolve_urdf(robot.urdf)
    if not robot_description:
        raise RobotError(
            "robot.urdf is 'robot_description' but no description was received; expected the "
            "URDF's text on that topic. Start robot_state_publisher, or set robot.urdf to a file.")
    return robot_description
