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

"""Show the arm and the measured and predicted thruster wrench in RViz; with `plotjuggler:=true` and
`diagnostics:=true` also plots and diagnostics: `ros2 launch uvms_adaptive_dynamics view.launch.py
params_file:=my_robot.yaml`. Not needed on the vehicle."""
from pathlib import Path

import yaml
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

PACKAGE = "uvms_adaptive_dynamics"
MOUNT = ("robot.mount_xyz", "robot.mount_rpy")


def share(*parts):
    """Path of a file in the package's share."""
    return PathJoinSubstitution([FindPackageShare(PACKAGE), *parts])


ARGUMENTS = (
    ("params_file", share("config", "bluerov2_alpha5.yaml"),
     "Parameter file of the estimator, which states where the arm is mounted."),
    ("urdf", share("robots", "alpha5.urdf"), "URDF of the arm."),
    ("root", "arm_base", "Root link of the URDF."),
    ("rviz", "true", "Start RViz with layouts/view.rviz."),
    ("plotjuggler", "false", "Start PlotJuggler with layouts/plotjuggler.xml."),
    ("diagnostics", "false",
     "Start diagnostic_aggregator with layouts/diagnostics.yaml, for rqt_robot_monitor."),
)


def flat(settings, prefix=""):
    """Settings of a parameter file by dotted name, however they are nested."""
    found = {}
    for name, value in settings.items():
        found.update(flat(value, f"{prefix}{name}.") if isinstance(value, dict)
                     else {prefix + name: value})
    return found


def robot(context):
    """Start the transform to the arm and the publisher of its frames."""
    files = {}
    for name in ("params_file", "urdf"):
        path = Path(LaunchConfiguration(name).perform(context)).expanduser()
        if not path.is_file():
            raise RuntimeError(f"{name} is '{path}', which is not a file.")
        files[name] = path.read_text()
    # (names of nodes may be nested by namespace)
    settings = {name.rpartition("ros__parameters.")[2]: value
                for name, value in flat(yaml.safe_load(files["params_file"])).items()}
    missing = [name for name in MOUNT if name not in settings]
    if missing:
        raise RuntimeError(f"params_file lacks {' and '.join(missing)}; expected the arm's mount "
                           "as in config/bluerov2_alpha5.yaml.")
    numbers = dict(zip(("x", "y", "z", "roll", "pitch", "yaw"),
                       [value for name in MOUNT for value in settings[name]]))
    frame = settings.get("output.base_frame", "base_link")
    return [
        Node(package="tf2_ros", executable="static_transform_publisher", name="arm_mount",
             arguments=[text for name, value in numbers.items()
                        for text in (f"--{name}", str(value))]
             + ["--frame-id", frame, "--child-frame-id",
                LaunchConfiguration("root").perform(context)]),
        Node(package="robot_state_publisher", executable="robot_state_publisher",
             name="arm_description", parameters=[{"robot_description": files["urdf"]}])]


def generate_launch_description():
    """Declare the arguments, then start the robot and the requested tools."""
    declared = [DeclareLaunchArgument(name, default_value=default, description=meaning)
                for name, default, meaning in ARGUMENTS]
    return LaunchDescription([
        *declared, OpaqueFunction(function=robot),
        Node(package="rviz2", executable="rviz2", name="view",
             arguments=["-d", share("layouts", "view.rviz")],
             condition=IfCondition(LaunchConfiguration("rviz"))),
        Node(package="plotjuggler", executable="plotjuggler", name="plots",
             arguments=["--layout", share("layouts", "plotjuggler.xml")],
             condition=IfCondition(LaunchConfiguration("plotjuggler"))),
        Node(package="diagnostic_aggregator", executable="aggregator_node", name="analyzers",
             parameters=[share("layouts", "diagnostics.yaml")],
             condition=IfCondition(LaunchConfiguration("diagnostics")))])
