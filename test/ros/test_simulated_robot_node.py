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

"""The simulated robot as a node."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
NODE = "uvms_adaptive_dynamics.ros.demo.simulated_robot"
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("rclpy") is None, reason="rclpy is not installed"
)


def ros_environment():
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]),
        "ROS_PYTHON_CHECK_FIELDS": "1",
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_DOMAIN_ID": "83",
    }


def test_node_ends_with_its_duration():
    """The node publishes valid messages in real time and exits 0 when its duration is over."""
    done = subprocess.run(
        [sys.executable, "-m", "uvms_adaptive_dynamics.ros.demo.simulated_robot", "--ros-args",
         "-p", "duration:=1.0"],
        env=ros_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "1 s are over" in done.stderr and "Traceback" not in done.stderr


def test_node_refuses_a_bad_parameter():
    """A parameter out of range ends the node with 2 and one message that names it; an integer
    number of seconds is accepted."""
    run_node = lambda value: subprocess.run(
        [sys.executable, "-m", "uvms_adaptive_dynamics.ros.demo.simulated_robot", "--ros-args",
         "-p", f"duration:={value}"],
        env=ros_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    bad = run_node("-3.0")
    assert bad.returncode == 2 and "duration" in bad.stderr and "Traceback" not in bad.stderr
    assert run_node("1").returncode == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_node_stops_cleanly_when_asked(how):
    """SIGINT and SIGTERM end an endless run with 0 and without a traceback."""
    node = subprocess.Popen(
        [sys.executable, "-m", "uvms_adaptive_dynamics.ros.demo.simulated_robot"],
        env=ros_environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    heard = ""
    while "until stopped" not in heard:
        line = node.stderr.readline()
        assert line, heard
        heard += line
    node.send_signal(how)
    _, rest = node.communicate(timeout=30)
    assert node.returncode == 0 and "Traceback" not in rest, rest


def test_node_and_bag_agree_on_every_field():
    """The rclpy message has the same values as the one written into a bag."""
    script = """
import json, sys
import numpy as np
from rosbags.typesys import Stores, get_typestore
from rclpy.serialization import serialize_message
from uvms_adaptive_dynamics.simulation.bag import ros_message as bag_message
from uvms_adaptive_dynamics.ros.demo.simulated_robot import ros_message
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
store, seen = get_typestore(Stores.ROS2_JAZZY), {}
for m in SimulatedRobot(1, 0.5, start_ns=1_800_000_000_123_456_789):
    live = store.deserialize_cdr(bytes(serialize_message(ros_message(m))), m.type)
    same = store.serialize_cdr(live, m.type) == store.serialize_cdr(bag_message(store, m), m.type)
    seen[m.topic] = seen.get(m.topic, True) and same
print(json.dumps(seen))
"""
    done = subprocess.run([sys.executable, "-c", script], env=ros_environment(),
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == dict.fromkeys(
        ("imu/data", "dvl/twist", "depth", "joint_states", "thruster_commands"), True
    )
