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


def generate_launch_description():
    """Both nodes; everything ends with the simulated robot, so that a recording is complete."""
    robot = Node(
        package=PACKAGE, executable="simulated_robot", name="simulated_robot", output="screen",
        emulate_tty=True,
        parameters=[{"seed": ParameterValue(LaunchConfiguration("seed"), value_type=int),
                     "duration": ParameterValue(LaunchConfiguration("duration"),
                                                value_type=float)}])
    estimator = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([FindPackageShare(PACKAGE), "launch",
                                                            "estimator.launch.py"])),
        launch_arguments={"record": LaunchConfiguration("record")}.items())
    return LaunchDescription([
        DeclareLaunchArgument("seed", default_value="0",
                              description="Another seed is another motion and other noise."),
        DeclareLaunchArgument("duration", default_value="90.0",
                              description="Length of the run [s]."),
        DeclareLaunchArgument("record", default_value="",
                              description="Record what the estimator receives into this new bag."),
        estimator,
        robot,
        RegisterEventHandler(OnProcessExit(
            target_action=robot, on_exit=[Shutdown(reason="the simulated robot is done")])),
    ])
