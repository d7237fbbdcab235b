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

"""The launch files with the real `ros2 launch`, where it is installed."""
import os
import signal
import subprocess
import time

import pytest
import ros_bus
from geometry_msgs.msg import TwistStamped, Wrench, WrenchStamped
from launch_prefix import (
    PACKAGE,
    add_package,
    environment,
    make_prefix,
    ros2_launch_is_there,
)
from rclpy.qos import QoSProfile, ReliabilityPolicy

pytestmark = pytest.mark.skipif(
    not ros2_launch_is_there(), reason="`ros2 launch` is not installed (pip does not have it)")


@pytest.fixture
def prefix(tmp_path):
    return make_prefix(tmp_path / "prefix")


@pytest.fixture
def launch(prefix, tmp_path):
    """Starts a launch file; all its processes end with the test."""
    running = []

    def start(file, *arguments):
        child = subprocess.Popen(
            ["ros2", "launch", PACKAGE, file, *arguments], text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(
                prefix, HOME=str(tmp_path), ROS_DOMAIN_ID=str(ros_bus.DOMAIN),
                ROS_LOG_DIR=str(tmp_path / "log")))
        running.append(child)
        return child
    yield start
    for child in running:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)


def read_until(child, *words, timeout=60.0):
    """Output until all words have appeared."""
    said, end = "", time.monotonic() + timeout
    while not all(word in said for word in words):
        line = child.stdout.readline()
        assert line and time.monotonic() < end, said
        said += line
    return said


def test_a_failure_is_the_launch_s(launch):
    """Status 1, with the node's error message."""
    child = launch("estimator.launch.py", "solver:=nonsense")
    said = child.communicate(timeout=60)[0]
    assert child.returncode == 1
    assert "expected 'auto', 'native'" in said and "uvms_estimator ended with status 1" in said


@pytest.mark.parametrize("file, arguments, words", [
    ("demo", ["seed:=-1"], "simulated_robot ended with status"),
    ("closed_loop", ["feedforward:=nonsense"], "closed_loop_controller-3 ended with status"),
    ("closed_loop", ["pick_up_at:=-1.0"], "simulated_robot-2 ended with status")])
def test_so_is_that_of_a_demonstration(launch, file, arguments, words):
    """A robot or controller that fails fails the launch, and everything ends."""
    child = launch(f"{file}.launch.py", *arguments)
    said = child.communicate(timeout=60)[0]
    assert child.returncode == 1 and words in said, said


def test_a_demonstration_in_a_namespace_and_simulated_time(launch, tmp_path):
    """Topics, recording and state are in the namespace; the log level is that of the node; Ctrl-C
    is no failure."""
    child = launch("demo.launch.py", "namespace:=boat", "use_sim_time:=true", "duration:=0.0",
                   "record:=auto", f"directory:={tmp_path / 'data'}")
    said = read_until(child, "parameters on /boat/uvms_estimator/parameters", "recording into")
    robot, = (tmp_path / "data" / "boat").iterdir()
    end = time.monotonic() + 30
    while not list(robot.glob("recordings/*/*.mcap")) and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(4.0)
    child.send_signal(signal.SIGINT)
    said += child.communicate(timeout=30)[0]
    assert child.returncode == 0, said
    assert "/boat/imu/data" in said and "nothing has arrived on /clock" not in said
    assert (robot / "state.yaml").is_file() and list(robot.glob("recordings/*/metadata.yaml"))


@pytest.mark.parametrize("file, words", [
    ("feedforward", ["[fleet.boat.uvms_feedforward]"]), ("twin", ["[fleet.boat.uvms_twin]"]),
    ("identify", ["[fleet.boat.uvms_estimator]", "[fleet.boat.uvms_identification]"])])
def test_other_nodes_start_in_a_namespace(launch, file, words):
    """Under their names, also in simulated time without a clock; Ctrl-C is no failure."""
    child = launch(f"{file}.launch.py", "namespace:=/fleet/boat", "use_sim_time:=true",
                   *(["record:=none"] if file == "identify" else []))
    said = read_until(child, *words)
    child.send_signal(signal.SIGINT)
    said += child.communicate(timeout=30)[0]
    assert child.returncode == 0, said


def test_the_closed_loop_ends_with_its_table(launch, tmp_path):
    """By itself, with status 0; the estimator saves in the folder of demonstrations."""
    child = launch("closed_loop.launch.py", "duration:=16.0", "pick_up_at:=8.0", "drop_at:=12.0")
    said = child.communicate(timeout=120)[0]
    assert child.returncode == 0, said
    assert "16 s are over" in said and "12 ..  16" in said and "adapted" in said, said
    assert list((tmp_path / ".ros/uvms_adaptive_dynamics_demo").glob("*/*/state.yaml"))


def test_two_vehicles_are_apart(launch, tmp_path):
    """Each has its topics, its folder and its recording; both end with the first."""
    child = launch("two_vehicles.launch.py", "simulated:=true", "duration:=8.0", "record:=auto")
    said = child.communicate(timeout=120)[0]
    assert child.returncode == 0, said
    demonstrations = tmp_path / ".ros/uvms_adaptive_dynamics_demo"
    for name in ("first_vehicle", "second_vehicle"):
        assert f"parameters on /{name}/uvms_estimator/parameters" in said
        assert list(demonstrations.glob(f"{name}/*/recordings/*/metadata.yaml"))


def test_mavros_starts_with_its_files_and_the_node_with_its_topics(launch, prefix, tmp_path):
    """In a namespace; mavros is a script that prints its arguments, and standard types stand for
    those of packages that need not be installed."""
    files = add_package(prefix, "mavros", {"mavros_node": "echo \"mavros: $*\"; exec sleep 60"})
    (files / "launch").mkdir()
    for name in ("apm_pluginlists.yaml", "apm_config.yaml"):
        (files / "launch" / name).write_text("/**:\n  ros__parameters:\n    a: 1\n")
    text = (prefix / f"share/{PACKAGE}/config/bluerov2_mavros.yaml").read_text()
    for foreign, standard in (("marine_acoustic_msgs/msg/Dvl", "geometry_msgs/msg/TwistStamped"),
                              ("mavros_msgs/msg/RCOut", "std_msgs/msg/Float64MultiArray")):
        text = text.replace(f"type: {foreign}", f"type: {standard}")
    (tmp_path / "boat.yaml").write_text(text)
    child = launch("bluerov2_mavros.launch.py", "namespace:=boat", "tgt_system:=2", "record:=none",
                   f"params_file:={tmp_path / 'boat.yaml'}")
    said = read_until(child, "mavros: ", "parameters on /boat/uvms_estimator/parameters")
    child.send_signal(signal.SIGINT)
    said += child.communicate(timeout=30)[0]
    started, = (line for line in said.splitlines() if "mavros: " in line)
    assert "apm_pluginlists.yaml" in started and "apm_config.yaml" in started
    assert "__ns:=/boat/mavros" in started
    assert "/boat/mavros/imu/data" in said and "/boat/mavros/rc/out" in said, said


def test_the_view_starts_its_tools(launch, prefix):
    """RViz, PlotJuggler and the others are scripts that print their arguments."""
    tools = {"tf2_ros": "static_transform_publisher", "plotjuggler": "plotjuggler",
             "robot_state_publisher": "robot_state_publisher", "rviz2": "rviz2",
             "diagnostic_aggregator": "aggregator_node"}
    for package, executable in tools.items():
        add_package(prefix, package, {executable: f"echo \"{executable}: $*\" >&2"})
    child = launch("view.launch.py", "plotjuggler:=true", "diagnostics:=true")
    said = child.communicate(timeout=60)[0]
    assert child.returncode == 0 and all(f"{name}: " in said for name in tools.values()), said
    assert "view.rviz" in said and "plotjuggler.xml" in said and "--child-frame-id arm_base" in said


def test_a_feedforward_publishes_where_another_s_controller_listens(launch):
    """The remaps of docs/feedforward.md, with the QoS that those controllers ask for."""
    topics = {"/boat/force_torque": WrenchStamped, "/boat/accelerations": TwistStamped,
              "/thruster_allocation_matrix_controller/reference": Wrench}
    with ros_bus.bus() as ros:
        for topic, kind in topics.items():
            ros.collect(kind, topic, QoSProfile(depth=10))
        child = launch("feedforward.launch.py", "namespace:=boat", "arm_reaction:=force_torque",
                       "accelerations:=accelerations",
                       "wrench_reference:=/thruster_allocation_matrix_controller/reference")
        for topic in topics:
            found = ros.until(lambda topic=topic: ros.operator.get_publishers_info_by_topic(topic),
                              60.0, what=topic)
            assert found[0].qos_profile.reliability == ReliabilityPolicy.RELIABLE
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=30)[0]
    assert child.returncode == 0, said


def test_a_node_that_dies_is_started_again(launch, tmp_path):
    """kill -9 gives a new process and a new recording; the log level also works in a namespace."""
    child = launch("estimator.launch.py", "namespace:=boat", "respawn:=true", "respawn_delay:=0.1",
                   f"record:={tmp_path / 'dive'}", f"directory:={tmp_path / 'data'}",
                   "log_level:=warn")
    pids = []
    for count in (1, 2):
        end = time.monotonic() + 60
        while len(list(tmp_path.glob("dive_*"))) < count and time.monotonic() < end:
            time.sleep(0.1)
        assert len(list(tmp_path.glob("dive_*"))) == count
        pids.append(estimator_of(child.pid))
        if count == 1:
            os.kill(pids[0], signal.SIGKILL)
    assert pids[0] != pids[1]
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=30)[0]
    assert child.returncode == 0 and "process has died" in said
    assert "[INFO] [boat" not in said and "settings differ" not in said


def estimator_of(launch_pid):
    """The process of the node below a launch."""
    children = subprocess.run(["pgrep", "-P", str(launch_pid), "-f", "ros.node"],
                              capture_output=True, text=True, check=False)
    return int(children.stdout.split()[-1])
