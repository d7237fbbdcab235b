"""Starts an estimator with a schedule and the node that moves the robot through its stages: `ros2
launch uvms_adaptive_dynamics identify.launch.py params_file:=my_robot.yaml`.

Nothing moves before identification.move is true in the parameter file and `~/arm` is called.
"""
from pathlib import Path

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE, NAME = "uvms_adaptive_dynamics", "uvms_identification"

ARGUMENTS = (
    ("params_file",
     PathJoinSubstitution([FindPackageShare(PACKAGE), "config", "bluerov2_alpha5.yaml"]),
     "Parameter file with the settings of both nodes; estimation.schedule in it names the stages."),
    ("namespace", "", "Namespace of the nodes and of their relative topics."),
    ("use_sim_time", "false", "Take time from /clock."),
    ("record", "auto", "The estimator's recording: a new bag, auto, or empty for none."),
    ("log_level", "info", "debug, info, warn, error or fatal."),
)


def identification_node(context):
    """The node."""
    file = LaunchConfiguration("params_file").perform(context)
    if not Path(file).expanduser().is_file():
        # launch_ros only warns, and the node would move a robot by another robot's limits.
        raise RuntimeError(f"params_file is '{file}', which is no file; expected a parameter file "
                           "such as config/bluerov2_alpha5.yaml.")
    simulated = ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
    node = Node(
        package=PACKAGE, executable="identify", name=NAME,
        namespace=LaunchConfiguration("namespace"),
        parameters=[str(Path(file).expanduser()), {"use_sim_time": simulated}], output="screen",
        emulate_tty=True,
        arguments=["--ros-args", "--log-level",
                   [f"{logger(context)}:=", LaunchConfiguration("log_level")]])
    return [RegisterEventHandler(OnProcessExit(target_action=node, on_exit=fail_with_it)), node]


def logger(context):
    """The node's logger, which has the namespace in its name, that of a group included."""
    namespace = LaunchConfiguration("namespace").perform(context)
    pushed = context.launch_configurations.get("ros_namespace", "")
    whole = namespace if namespace.startswith("/") else f"{pushed}/{namespace}"
    return ".".join([*filter(None, whole.split("/")), NAME])


def fail_with_it(event, context):
    """`ros2 launch` ends with 0 whatever becomes of its processes, unless something is raised."""
    if event.returncode != 0 and not context.is_shutdown:
        raise RuntimeError(f"the node identify ended with status {event.returncode}; its reason "
                           "stands above.")


def generate_launch_description():
    """Arguments, the estimator, then the node."""
    declared = [DeclareLaunchArgument(name, default_value=default, description=meaning)
                for name, default, meaning in ARGUMENTS]
    estimator = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([FindPackageShare(PACKAGE), "launch",
                                                            "estimator.launch.py"])),
        launch_arguments={name: LaunchConfiguration(name)
                          for name in ("params_file", "namespace", "use_sim_time", "record",
                                       "log_level")}.items())
    return LaunchDescription([*declared, estimator,
                              OpaqueFunction(function=identification_node)])
