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

"""Two vehicles, each in its own namespace with its own files, topics and diagnostics:
`ros2 launch uvms_adaptive_dynamics two_vehicles.launch.py first_params:=a.yaml
second_params:=b.yaml`; with `simulated:=true` no vehicle is needed."""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.conditions import IfCondition, UnlessCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

PACKAGE = "uvms_adaptive_dynamics"
DEFAULT = PathJoinSubstitution([FindPackageShare(PACKAGE), "config", "bluerov2_alpha5.yaml"])


def generate_launch_description():
    """Declare the arguments, then start one group per vehicle."""
    declared = [DeclareLaunchArgument("simulated", default_value="false",
                                      description="Use two simulated robots instead of vehicles."),
                DeclareLaunchArgument("duration", default_value="0.0",
                                      description="Duration of the simulation [s]; 0: until "
                                                  "stopped."),
                DeclareLaunchArgument("record", default_value="",
                                      description="auto: record the inputs of each vehicle; empty: "
                                                  "no recording.")]
    groups = []
    for number, which in enumerate(("first", "second")):
        declared += [
            DeclareLaunchArgument(f"{which}_namespace", default_value=f"{which}_vehicle",
                                  description=f"Namespace of the {which} vehicle."),
            DeclareLaunchArgument(f"{which}_params", default_value=DEFAULT,
                                  description=f"Parameter file of the {which} vehicle.")]
        common = {"namespace": LaunchConfiguration(f"{which}_namespace"),
                  "record": LaunchConfiguration("record")}
        simulated = LaunchConfiguration("simulated")
        # One group each, so that arguments of one include do not leak into the other.
        groups.append(GroupAction([
            include("estimator.launch.py", UnlessCondition(simulated),
                    {**common, "params_file": LaunchConfiguration(f"{which}_params"),
                     "respawn": "true"}),
            include("demo.launch.py", IfCondition(simulated),
                    {**common, "seed": str(number), "duration": LaunchConfiguration("duration")}),
        ]))
    return LaunchDescription(declared + groups)


def include(file, condition, arguments):
    """Include a launch file of this package."""
    path = PathJoinSubstitution([FindPackageShare(PACKAGE), "launch", file])
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(path), condition=condition,
                                    launch_arguments=arguments.items())
