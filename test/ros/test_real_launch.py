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
from launch_prefix import PACKAGE, environment, make_prefix, ros2_launch_is_there

pytestmark = pytest.mark.skipif(
    not ros2_launch_is_there(), reason="`ros2 launch` is not installed (pip does not have it)")


@pytest.fixture
def launch(tmp_path):
    """Starts a launch file; all its processes end with the test."""
    prefix, running = make_prefix(tmp_path / "prefix"), []

    def start(file, *arguments):
        child = subprocess.Popen(
            ["ros2", "launch", PACKAGE, file, *arguments], text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(
                prefix, ROS_DOMAIN_ID=str(ros_bus.DOMAIN), ROS_LOG_DIR=str(tmp_path / "log")))
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
    """Under their names; Ctrl-C is no failure."""
    child = launch(f"{file}.launch.py", "namespace:=/fleet/boat",
                   *(["record:=none"] if file == "identify" else []))
    said = read_until(child, *words)
    child.send_signal(signal.SIGINT)
    said += child.communicate(timeout=30)[0]
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
