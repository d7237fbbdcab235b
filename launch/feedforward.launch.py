"""Starts the feedforward node beside a running estimator: `ros2 launch uvms_adaptive_dynamics
feedforward.launch.py params_file:=my_robot.yaml`."""
from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE, NAME = "uvms_adaptive_dynamics", "uvms_feedforward"

ARGUMENTS = (
    ("params_file",
     PathJoinSubstitution([FindPackageShare(PACKAGE), "config", "bluerov2_alpha5.yaml"]),
     "Parameter file with the settings, the estimator's own."),
    ("namespace", "", "Namespace of the node and of its relative topics."),
    ("use_sim_time", "false", "Take time from /clock."),
    ("wrench", "~/wrench", "Topic of the wrench (geometry_msgs/WrenchStamped)."),
    ("wrench_reference", "~/wrench_reference",
     "Topic of the wrench without a header (geometry_msgs/Wrench)."),
    ("joint_efforts", "~/joint_efforts", "Topic of the joint efforts (sensor_msgs/JointState)."),
    ("arm_reaction", "~/arm_reaction",
     "Topic of what the arm does to the vehicle (geometry_msgs/WrenchStamped)."),
    ("accelerations", "~/accelerations",
     "Topic of the vehicle's acceleration (geometry_msgs/TwistStamped)."),
    ("log_level", "info", "debug, info, warn, error or fatal."),
)
OUTPUTS = ("wrench", "wrench_reference", "joint_efforts", "arm_reaction", "accelerations")


def feedforward_node(context):
    """The node, its outputs under the names that its listeners have."""
    file = LaunchConfiguration("params_file").perform(context)
    if not Path(file).expanduser().is_file():
        # launch_ros only warns, and the robot would run with the defaults of another robot.
        raise RuntimeError(f"params_file is '{file}', which is no file; expected a parameter file "
                           "such as config/bluerov2_alpha5.yaml.")
    sim_time = ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
    node = Node(
        package=PACKAGE, executable="feedforward", name=NAME,
        namespace=LaunchConfiguration("namespace"),
        parameters=[str(Path(file).expanduser()), {"use_sim_time": sim_time}],
        remappings=[(f"~/{output}", LaunchConfiguration(output)) for output in OUTPUTS],
        output="screen", emulate_tty=True,
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
        raise RuntimeError(f"the feedforward ended with status {event.returncode}; its reason "
                           "stands above.")


def generate_launch_description():
    """Arguments, then the node."""
    declared = [DeclareLaunchArgument(name, default_value=default, description=meaning)
                for name, default, meaning in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=feedforward_node)])
