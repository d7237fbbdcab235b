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

"""A BlueROV2 Heavy with ArduSub behind mavros, a DVL A50 and a Reach Alpha 5:
`ros2 launch uvms_adaptive_dynamics bluerov2_mavros.launch.py fcu_url:=udp://:14550@`.

Start the drivers of DVL and arm with their own launch files; config/bluerov2_mavros.yaml names
their topics. See docs/boat.md."""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE = "uvms_adaptive_dynamics"

ARGUMENTS = (
    ("params_file", PathJoinSubstitution([FindPackageShare(PACKAGE), "config",
                                          "bluerov2_mavros.yaml"]),
     "Parameter file of the estimator."),
    ("namespace", "", "Namespace of mavros and of the estimator."),
    ("mavros", "true", "Start mavros; false if it is already running."),
    ("fcu_url", "udp://:14550@", "URL at which mavros finds the autopilot."),
    # mavros names its internal topics after this number, in whatever namespace it is.
    ("tgt_system", "1", "MAVLink number of the autopilot (SYSID_THISMAV); BlueOS presents it as 1. "
                        "Two vehicles need two numbers."),
    ("record", "auto", "Record the estimator's inputs: auto, path of a new bag, or none."),
    ("log_level", "info", "Log level of the estimator: debug, info, warn, error or fatal."),
)


def generate_launch_description():
    """Start mavros and the estimator, which is restarted whenever it ends."""
    namespace = LaunchConfiguration("namespace")
    mavros = Node(
        package="mavros", executable="mavros_node", namespace=[namespace, "/mavros"],
        output="screen", respawn=True, respawn_delay=2.0,
        condition=IfCondition(LaunchConfiguration("mavros")),
        # mavros's own files for ArduPilot; without them it does not synchronize the clocks.
        parameters=[*(PathJoinSubstitution([FindPackageShare("mavros"), "launch", file])
                      for file in ("apm_pluginlists.yaml", "apm_config.yaml")),
                    {"fcu_url": LaunchConfiguration("fcu_url"),
                     "tgt_system": ParameterValue(LaunchConfiguration("tgt_system"),
                                                  value_type=int),
                     "tgt_component": 1}])
    estimator = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([FindPackageShare(PACKAGE), "launch",
                                                            "estimator.launch.py"])),
        launch_arguments={
            "respawn": "true",
            **{name: LaunchConfiguration(name)
               for name in ("params_file", "namespace", "record", "log_level")}
        }.items())
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=meaning)
          for name, default, meaning in ARGUMENTS), mavros, estimator])
