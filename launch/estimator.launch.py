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

"""Starts the estimator node: `ros2 launch uvms_adaptive_dynamics estimator.launch.py
params_file:=my_robot.yaml`."""
from pathlib import Path

import yaml
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

SHARE = FindPackageShare("uvms_adaptive_dynamics")

ARGUMENTS = (
    ("params_file", PathJoinSubstitution([SHARE, "config", "bluerov2_alpha5.yaml"]),
     "Parameter file with the settings."),
    ("namespace", "", "Namespace of the node and of its relative topics."),
    ("name", "uvms_estimator",
             "Name of the node; change it for a second one in the same namespace."),
    ("use_sim_time", "false", "Use simulated time from /clock."),
    ("solver", "",
     "Overrides estimation.solver: auto, native, clarabel, mosek or cvxpy:<NAME>; empty: as in the "
     "parameter file."),
    ("prior", "",
     "Overrides prior.file: auto (the saved state of this robot), built-in, or a "
     "parameter file; empty: as in the parameter file, or auto if that sets none."),
    ("directory", "",
     "Overrides output.directory, where the node saves; empty: as in the parameter file."),
    ("record", "",
     "Overrides output.record: record the node's inputs into this new bag, auto, or none; "
     "empty: as in the parameter file."),
    ("respawn", "false",
     "Restart the node whenever it ends. {time} is then appended to a record path without it."),
    ("respawn_delay", "2.0", "Delay before a restart [s]."),
    ("log_level", "info", "Log level: debug, info, warn, error or fatal."),
)
SETTINGS = (("solver", "estimation.solver"), ("prior", "prior.file"),
            ("directory", "output.directory"), ("record", "output.record"))
TO_NODE = ("params_file", "namespace", "use_sim_time", "respawn", "respawn_delay", "log_level")


def estimator_node(context):
    """Start the node; empty arguments leave settings as in the parameter file."""
    given = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    if not given["prior"] and not prior_in(Path(given["params_file"]).expanduser()):
        given["prior"] = "auto"
    respawn = given["respawn"].lower() in ("true", "1", "yes", "on")
    overrides = {setting: as_setting(argument, given[argument], respawn)
                 for argument, setting in SETTINGS if given[argument]}
    to_node = {"executable": "estimator", "name": given["name"] or "uvms_estimator",
               "overrides": yaml.safe_dump(overrides), **{name: given[name] for name in TO_NODE}}
    return [GroupAction([IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([SHARE, "launch",
                                                            "one_node.launch.py"])),
        launch_arguments=to_node.items())])]


def prior_in(file):
    """`prior.file` in a parameter file, '' if it is not set."""
    try:
        found = list(settings_in(yaml.safe_load(file.read_text(encoding="utf-8"))))
        return "".join(each.get("prior.file", "") or (each.get("prior") or {}).get("file", "")
                       for each in found)
    except Exception:    # whatever the error, the node refuses the file and gives the reason
        return "unreadable"


def settings_in(tree):
    """The parameters of every node in a parameter file, whose names may be nested by namespace."""
    for name, content in (tree or {}).items():
        if name == "ros__parameters":
            yield content or {}
        elif content is not None:
            yield from settings_in(content)


def as_setting(argument, value, respawn):
    """Convert the value of a launch argument to that of the setting."""
    # `ros2 launch` accepts no empty value.
    if (argument, value) in (("prior", "built-in"), ("record", "none")):
        return ""
    # A bag is never overwritten, so the node could not restart with the same path.
    if argument == "record" and respawn and value != "auto" and "{time}" not in value:
        return f"{value}_{{time}}"
    return value


def generate_launch_description():
    """Declare the arguments, then start the node."""
    declared = [DeclareLaunchArgument(name, default_value=default, description=meaning)
                for name, default, meaning in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=estimator_node)])
