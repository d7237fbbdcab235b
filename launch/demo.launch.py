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

"""A simulated robot and the estimator, no vehicle needed: `ros2 launch uvms_adaptive_dynamics
demo.launch.py`."""
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
    ("duration", "90.0", "Length of the run [s]; 0: until stopped."),
    ("record",
     "", "Record the estimator's inputs into this new bag, auto, or none."),
    ("namespace", "", "Namespace of both nodes and of all their topics except /clock."),
    ("use_sim_time", "false", "The robot publishes /clock, and the estimator uses it."),
    ("prior", "built-in",
     "Prior of the estimator: built-in, auto (the state of the last demonstration), or a "
     "parameter file."),
    ("directory", DIRECTORY, "Directory where the estimator saves, and where auto looks."),
    ("log_level", "info", "Log level of the estimator: debug, info, warn, error or fatal."),
)
TO_ESTIMATOR = ("record", "namespace", "use_sim_time", "prior", "directory", "log_level")


def generate_launch_description():
    """Start both nodes; both end with the simulated robot, so that a recording is complete."""
    robot = Node(
        package=PACKAGE, executable="simulated_robot", name="simulated_robot", output="screen",
        emulate_tty=True, namespace=LaunchConfiguration("namespace"),
        parameters=[{"seed": ParameterValue(LaunchConfiguration("seed"), value_type=int),
                     "duration": ParameterValue(LaunchConfiguration("duration"),
                                                value_type=float),
                     "publish_clock": ParameterValue(LaunchConfiguration("use_sim_time"),
                                                     value_type=bool)}])
    estimator = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([FindPackageShare(PACKAGE), "launch",
                                                            "estimator.launch.py"])),
        launch_arguments={name: LaunchConfiguration(name) for name in TO_ESTIMATOR}.items())
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=meaning)
          for name, default, meaning in ARGUMENTS),
        estimator,
        robot,
        RegisterEventHandler(OnProcessExit(target_action=robot, on_exit=end)),
    ])


def end(event, context):
    """End everything; the launch fails if the robot failed."""
    if event.returncode != 0 and not context.is_shutdown:
        raise RuntimeError(f"simulated_robot ended with status {event.returncode}; see the reason "
                           "above.")
    return [Shutdown(reason="the simulated robot is done")]
