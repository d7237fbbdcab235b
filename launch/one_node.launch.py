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

"""Start one node of the package with a parameter file.

For inclusion by the other launch files, in a group of its own: otherwise its arguments would leak
into their other includes.
"""
from pathlib import Path

import yaml
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

ARGUMENTS = (
    ("executable", None, "Executable of the package."),
    ("name", None, "Name of the node."),
    ("params_file", None, "Parameter file with the settings."),
    ("overrides", "{}", "Settings that override the file: a YAML mapping of strings."),
    ("namespace", "", "Namespace of the node and of its relative topics."),
    ("use_sim_time", "false", "Use simulated time from /clock."),
    ("respawn", "false", "Restart the node whenever it ends."),
    ("respawn_delay", "2.0", "Delay before a restart [s]."),
    ("log_level", "info", "Log level: debug, info, warn, error or fatal."),
)


def one_node(context):
    """Start the node; without respawn the launch fails if the node fails."""
    given = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    file = Path(given["params_file"]).expanduser()
    if not file.is_file():
        # launch_ros would only warn, and the node would run with the settings of another robot.
        raise RuntimeError(f"params_file is '{given['params_file']}', which is not a file; "
                           "expected a parameter file such as config/bluerov2_alpha5.yaml.")
    overrides = {setting: ParameterValue(text, value_type=str)
                 for setting, text in yaml.safe_load(given["overrides"]).items()}
    overrides["use_sim_time"] = ParameterValue(LaunchConfiguration("use_sim_time"),
                                               value_type=bool)
    respawn = given["respawn"].lower() in ("true", "1", "yes", "on")
    node = Node(
        package="uvms_adaptive_dynamics", executable=given["executable"], name=given["name"],
        namespace=given["namespace"], parameters=[str(file), overrides],
        output="screen", emulate_tty=True,
        respawn=respawn, respawn_delay=float(given["respawn_delay"] or 0),
        arguments=["--ros-args", "--log-level",
                   f"{logger(context, given)}:={given['log_level'] or 'info'}"])
    if respawn:
        return [node]

    def fail_with_it(event, context):
        # `ros2 launch` exits with 0 whatever its processes return, unless an exception is raised.
        if event.returncode != 0 and not context.is_shutdown:
            raise RuntimeError(f"{given['name']} ended with status {event.returncode}; see the "
                               "reason above.")
    return [RegisterEventHandler(OnProcessExit(target_action=node, on_exit=fail_with_it)), node]


def logger(context, given):
    """Name of the node's logger, including the namespace and that of an enclosing group."""
    pushed, namespace = context.launch_configurations.get("ros_namespace", ""), given["namespace"]
    whole = namespace if namespace.startswith("/") else f"{pushed}/{namespace}"
    return ".".join([*filter(None, whole.split("/")), given["name"]])


def generate_launch_description():
    """Declare the arguments, then start the node."""
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=meaning)
          for name, default, meaning in ARGUMENTS),
        OpaqueFunction(function=one_node)])
