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

"""Starts the digital twin beside an estimator: `ros2 launch uvms_adaptive_dynamics twin.launch.py
params_file:=my_robot.yaml`, with the parameter file of the estimator."""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

SHARE = FindPackageShare("uvms_adaptive_dynamics")

ARGUMENTS = (
    ("params_file", PathJoinSubstitution([SHARE, "config", "bluerov2_alpha5.yaml"]),
     "Parameter file, the same as for the estimator."),
    ("namespace", "", "Namespace of the node and of its relative topics, the same as for the "
                      "estimator."),
    ("use_sim_time", "false", "Use simulated time from /clock."),
    ("log_level", "info", "Log level: debug, info, warn, error or fatal."),
)


def generate_launch_description():
    """Declare the arguments, then start the node."""
    given = {"executable": "twin", "name": "uvms_twin",
             **{name: LaunchConfiguration(name) for name, _, _ in ARGUMENTS}}
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=meaning)
          for name, default, meaning in ARGUMENTS),
        GroupAction([IncludeLaunchDescription(
            PythonLaunchDescriptionSource(PathJoinSubstitution([SHARE, "launch",
                                                                "one_node.launch.py"])),
            launch_arguments=given.items())])])
