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

"""One node of the package with a parameter file, for the other launch files to include, in a group
of its own: its arguments would reach what else they include."""
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
    ("overrides", "{}", "Settings that win over the file's, a YAML mapping of texts."),
    ("namespace", "", "Namespace of the node and of its relative topics."),
    ("use_sim_time", "false", "Take time from /clock."),
    ("respawn", "false", "Start the node again when it ends, however it ends."),
    ("respawn_delay", "2.0", "Time until it is started again [s]."),
    ("log_level", "info", "debug, info, warn, error or fatal."),
)


def one_node(context):
    """The node; the launch fails with it, unless it is started again."""
    given = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    file = Path(given["params_file"]).expanduser()
    if not file.is_file():
        # launch_ros only warns, and the node would run with the settings of another robot.
        raise RuntimeError(f"params_file is '{given['params_file']}', which is no file; expected a "
                           "parameter file such as config/bluerov2_alpha5.yaml.")
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
        # `ros2 launch` ends with 0 whatever becomes of its processes, unless something is raised.
        if event.returncode != 0 and not context.is_shutdown:
            raise RuntimeError(f"{given['name']} ended with status {event.returncode}; its reason "
                               "stands above.")
    return [RegisterEventHandler(OnProcessExit(target_action=node, on_exit=fail_with_it)), node]


def logger(context, given):
    """The node's logger, which has the namespace in its name, that of a group included."""
    pushed, namespace = context.launch_configurations.get("ros_namespace", ""), given["namespace"]
    whole = namespace if namespace.startswith("/") else f"{pushed}/{namespace}"
    return ".".join([*filter(None, whole.split("/")), given["name"]])


def generate_launch_description():
    """Arguments, then the node."""
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=meaning)
          for name, default, meaning in ARGUMENTS),
        OpaqueFunction(function=one_node)])
