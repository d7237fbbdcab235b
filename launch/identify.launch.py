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

"""Starts an estimator with a schedule and the node that moves the robot through its stages: `ros2
launch uvms_adaptive_dynamics identify.launch.py params_file:=my_robot.yaml`.

The robot moves only if identification.move is true in the parameter file and `~/arm` is called.
"""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

SHARE = FindPackageShare("uvms_adaptive_dynamics")

ARGUMENTS = (
    ("params_file", PathJoinSubstitution([SHARE, "config", "bluerov2_alpha5.yaml"]),
     "Parameter file of both nodes; its estimation.schedule names the stages."),
    ("namespace", "", "Namespace of the nodes and of their relative topics."),
    ("use_sim_time", "false", "Use simulated time from /clock."),
    ("record", "auto", "Record the estimator's inputs: a new bag, auto, or none."),
    ("log_level", "info", "Log level: debug, info, warn, error or fatal."),
)


def generate_launch_description():
    """Declare the arguments, then start the estimator and the node."""
    given = {name: LaunchConfiguration(name) for name, _, _ in ARGUMENTS}
    common = {name: value for name, value in given.items() if name != "record"}
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=meaning)
          for name, default, meaning in ARGUMENTS),
        included("estimator.launch.py", given),
        included("one_node.launch.py",
                 {"executable": "identify", "name": "uvms_identification", **common})])


def included(file, arguments):
    """Include a launch file of this package in its own group, so that arguments do not leak."""
    path = PathJoinSubstitution([SHARE, "launch", file])
    return GroupAction([IncludeLaunchDescription(PythonLaunchDescriptionSource(path),
                                                 launch_arguments=arguments.items())])
