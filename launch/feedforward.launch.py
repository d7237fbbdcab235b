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

"""Starts the feedforward node beside a running estimator: `ros2 launch uvms_adaptive_dynamics
feedforward.launch.py params_file:=my_robot.yaml`."""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import SetRemap
from launch_ros.substitutions import FindPackageShare

SHARE = FindPackageShare("uvms_adaptive_dynamics")

ARGUMENTS = (
    ("params_file", PathJoinSubstitution([SHARE, "config", "bluerov2_alpha5.yaml"]),
     "Parameter file, the same as for the estimator."),
    ("namespace", "", "Namespace of the node and of its relative topics."),
    ("use_sim_time", "false", "Use simulated time from /clock."),
    ("log_level", "info", "Log level: debug, info, warn, error or fatal."),
)
OUTPUTS = (
    ("wrench", "Topic of the wrench (geometry_msgs/WrenchStamped)."),
    ("wrench_reference", "Topic of the wrench without a header (geometry_msgs/Wrench)."),
    ("joint_efforts", "Topic of the joint efforts (sensor_msgs/JointState)."),
    ("arm_reaction", "Topic of the arm's reaction wrench on the vehicle "
                     "(geometry_msgs/WrenchStamped)."),
    ("accelerations", "Topic of the vehicle's acceleration (geometry_msgs/TwistStamped)."),
)


def generate_launch_description():
    """Declare the arguments, then start the node with its outputs remapped."""
    given = {"executable": "feedforward", "name": "uvms_feedforward",
             **{name: LaunchConfiguration(name) for name, _, _ in ARGUMENTS}}
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=meaning)
          for name, default, meaning in ARGUMENTS),
        *(DeclareLaunchArgument(name, default_value=f"~/{name}", description=meaning)
          for name, meaning in OUTPUTS),
        GroupAction([
            *(SetRemap(f"~/{name}", LaunchConfiguration(name)) for name, _ in OUTPUTS),
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(PathJoinSubstitution([SHARE, "launch",
                                                                    "one_node.launch.py"])),
                launch_arguments=given.items())])])
