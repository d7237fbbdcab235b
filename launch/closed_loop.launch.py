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

"""Simulated robot under an example controller with a feedforward that the estimator adapts; it
picks up a payload on the way. No vehicle needed: `ros2 launch uvms_adaptive_dynamics
closed_loop.launch.py`.

It ends by itself and prints the tracking errors of each quarter of the run.
"""
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE = "uvms_adaptive_dynamics"
# Separate from the directory of real robots, whose state a simulated one must not replace.
DIRECTORY = "~/.ros/uvms_adaptive_dynamics_demo"

ARGUMENTS = (
    ("seed", "0", "Seed of motion and noise."),
    ("duration", "120.0", "Length of the run [s]."),
    ("feedforward", "adapted", "Parameters of the feedforward: adapted, prior or none."),
    ("pick_up_at", "60.0", "When a payload of 0.38 kg is picked up [s]; 0: never."),
    ("drop_at", "90.0", "When the payload is dropped [s]; 0: never."),
)


def setting(name, kind):
    """A launch argument as a node parameter."""
    return ParameterValue(LaunchConfiguration(name), value_type=kind)


def generate_launch_description():
    """Start robot, estimator and controller; all end with the controller."""
    robot = Node(
        package=PACKAGE, executable="simulated_robot", name="simulated_robot", output="screen",
        emulate_tty=True,
        parameters=[{"seed": setting("seed", int), "pick_up_at": setting("pick_up_at", float),
                     "drop_at": setting("drop_at", float)}])
    controller = Node(
        package=PACKAGE, executable="closed_loop_controller", name="closed_loop_controller",
        output="screen", emulate_tty=True,
        parameters=[{"seed": setting("seed", int), "duration": setting("duration", float),
                     "feedforward": setting("feedforward", str)}])
    estimator = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([FindPackageShare(PACKAGE), "launch",
                                                            "estimator.launch.py"])),
        launch_arguments={"prior": "built-in", "directory": DIRECTORY}.items())
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=meaning)
          for name, default, meaning in ARGUMENTS),
        estimator,
        robot,
        controller,
        *(RegisterEventHandler(OnProcessExit(target_action=node, on_exit=end))
          for node in (robot, controller)),
    ])


def end(event, context):
    """End everything; the launch fails if the robot or the controller failed."""
    if event.returncode != 0 and not context.is_shutdown:
        raise RuntimeError(f"{event.action.name} ended with status {event.returncode}; see the "
                           "reason above.")
    return [Shutdown(reason="the controller is done")]
