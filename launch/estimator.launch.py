"""Starts the estimator node: `ros2 launch uvms_adaptive_dynamics estimator.launch.py
params_file:=my_robot.yaml`."""
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
     "Parameter file with the settings."),
    ("namespace", "", "Namespace of the node and of its relative topics."),
    ("use_sim_time", "false", "Take time from /clock."),
    ("solver", "",
     "Overrides estimation.solver: auto, native, clarabel, mosek or cvxpy:<NAME>; empty: as in the "
     "parameter file."),
    ("record", "",
     "Overrides output.record: record what the node receives into this new bag; empty: as in the "
     "parameter file."),
    ("log_level", "info", "debug, info, warn, error or fatal."),
)


def estimator_node(context):
    """The node; settings that are left empty stay as the parameter file has them."""
    file = LaunchConfiguration("params_file").perform(context)
    if not Path(file).expanduser().is_file():
        # launch_ros only warns, and the robot would run with the defaults of another robot.
        raise RuntimeError(f"params_file is '{file}', which is no file; expected a parameter file "
                           "such as config/bluerov2_alpha5.yaml.")
    overrides = {"use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"),
                                                value_type=bool)}
    for argument, setting in (("solver", "estimation.solver"), ("record", "output.record")):
        if LaunchConfiguration(argument).perform(context):
            overrides[setting] = ParameterValue(LaunchConfiguration(argument), value_type=str)
    return [Node(
        package=PACKAGE, executable="estimator", name="uvms_estimator",
        namespace=LaunchConfiguration("namespace"),
        parameters=[str(Path(file).expanduser()), overrides], output="screen", emulate_tty=True,
        arguments=["--ros-args", "--log-level",
                   ["uvms_estimator:=", LaunchConfiguration("log_level")]])]


def generate_launch_description():
    """Arguments, then the node."""
    declared = [DeclareLaunchArgument(name, default_value=default, description=meaning)
                for name, default, meaning in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=estimator_node)])
