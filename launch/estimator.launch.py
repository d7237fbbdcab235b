"""Starts the estimator node: `ros2 launch uvms_adaptive_dynamics estimator.launch.py
params_file:=my_robot.yaml`."""
from pathlib import Path

import yaml
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
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
    ("name", "uvms_estimator", "Name of the node, for a second one in a namespace."),
    ("use_sim_time", "false", "Take time from /clock."),
    ("solver", "",
     "Overrides estimation.solver: auto, native, clarabel, mosek or cvxpy:<NAME>; empty: as in the "
     "parameter file."),
    ("prior", "",
     "Overrides prior.file: auto (the state that was saved of this robot), built-in, or a "
     "parameter file; empty: as in the parameter file, and auto where that has none."),
    ("directory", "",
     "Overrides output.directory, where the node saves; empty: as in the parameter file."),
    ("record", "",
     "Overrides output.record: record what the node receives into this new bag, or auto; empty: as "
     "in the parameter file."),
    ("respawn", "false",
     "Start the node again when it ends, however it ends. A record without {time} gets one."),
    ("respawn_delay", "2.0", "Time until it is started again [s]."),
    ("log_level", "info", "debug, info, warn, error or fatal."),
)
SETTINGS = (("solver", "estimation.solver"), ("prior", "prior.file"),
            ("directory", "output.directory"), ("record", "output.record"))


def estimator_node(context):
    """The node; settings that are left empty stay as the parameter file has them."""
    given = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    file = given["params_file"]
    if not Path(file).expanduser().is_file():
        # launch_ros only warns, and the robot would run with the defaults of another robot.
        raise RuntimeError(f"params_file is '{file}', which is no file; expected a parameter file "
                           "such as config/bluerov2_alpha5.yaml.")
    if not given["prior"] and not prior_in(Path(file).expanduser()):
        given["prior"] = "auto"
    respawn = given["respawn"].lower() in ("true", "1", "yes", "on")
    overrides = {"use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"),
                                                value_type=bool)}
    for argument, setting in SETTINGS:
        if given[argument]:
            overrides[setting] = ParameterValue(
                as_setting(argument, given[argument], respawn), value_type=str)
    name = given["name"] or "uvms_estimator"
    node = Node(
        package=PACKAGE, executable="estimator", name=name,
        namespace=LaunchConfiguration("namespace"),
        parameters=[str(Path(file).expanduser()), overrides], output="screen", emulate_tty=True,
        respawn=respawn, respawn_delay=float(given["respawn_delay"] or 0),
        arguments=["--ros-args", "--log-level",
                   f"{logger(context, given['namespace'], name)}:={given['log_level'] or 'info'}"])
    if respawn:
        return [node]
    return [RegisterEventHandler(OnProcessExit(target_action=node, on_exit=fail_with_it)), node]


def prior_in(file):
    """Where a parameter file has the estimate start, '' where it does not say."""
    try:
        nodes = yaml.safe_load(file.read_text(encoding="utf-8"))
        found = [node["ros__parameters"] for node in nodes.values()]
        return "".join(each.get("prior.file", "") or each.get("prior", {}).get("file", "")
                       for each in found)
    except Exception:    # whatever it is: the node refuses the file, with the reason
        return "unreadable"


def as_setting(argument, value, respawn):
    """What the node calls the value of a launch argument."""
    if argument == "prior" and value == "built-in":
        return ""
    # A bag is never overwritten, and the node would not start a second time.
    if argument == "record" and respawn and value != "auto" and "{time}" not in value:
        return f"{value}_{{time}}"
    return value


def logger(context, namespace, name):
    """The node's logger, which has the namespace in its name, that of a group included."""
    pushed = context.launch_configurations.get("ros_namespace", "")
    whole = namespace if namespace.startswith("/") else f"{pushed}/{namespace}"
    return ".".join([*filter(None, whole.split("/")), name])


def fail_with_it(event, context):
    """`ros2 launch` ends with 0 whatever becomes of its processes, unless something is raised."""
    if event.returncode != 0 and not context.is_shutdown:
        raise RuntimeError(f"the estimator ended with status {event.returncode}; its reason stands "
                           "above. With respawn:=true it would be started again.")


def generate_launch_description():
    """Arguments, then the node."""
    declared = [DeclareLaunchArgument(name, default_value=default, description=meaning)
                for name, default, meaning in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=estimator_node)])
