"""Starts the digital twin beside an estimator: `ros2 launch uvms_adaptive_dynamics twin.launch.py
params_file:=my_robot.yaml`, with the parameter file of the estimator."""
from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE = "uvms_adaptive_dynamics"

ARGUMENTS = (
    ("params_file",
     PathJoinSubstitution([FindPackageShare(PACKAGE), "config", "bluerov2_alpha5.yaml"]),
     "Parameter file with the settings, the same as the estimator's."),
    ("namespace", "", "Namespace of the node and of its relative topics, as the estimator's."),
    ("use_sim_time", "false", "Take time from /clock."),
    ("log_level", "info", "debug, info, warn, error or fatal."),
)


def twin_node(context):
    """The node."""
    file = LaunchConfiguration("params_file").perform(context)
    if not Path(file).expanduser().is_file():
        # launch_ros only warns, and the twin would be of another robot.
        raise RuntimeError(f"params_file is '{file}', which is no file; expected a parameter file "
                           "such as config/bluerov2_alpha5.yaml.")
    simulated = ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
    return [Node(
        package=PACKAGE, executable="twin", name="uvms_twin",
        namespace=LaunchConfiguration("namespace"),
        parameters=[str(Path(file).expanduser()), {"use_sim_time": simulated}], output="screen",
        emulate_tty=True,
        arguments=["--ros-args", "--log-level", ["uvms_twin:=", LaunchConfiguration("log_level")]])]


def generate_launch_description():
    """Arguments, then the node."""
    declared = [DeclareLaunchArgument(name, default_value=default, description=meaning)
                for name, default, meaning in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=twin_node)])
