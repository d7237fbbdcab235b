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

"""Why a node ends: FATAL on /rosout, in the log file and on stderr."""
import threading

import pytest
from rcl_interfaces.msg import Log
from rclpy.qos import QoSProfile
from ros_bus import bus, process

from uvms_adaptive_dynamics.ros import node as node_module
from uvms_adaptive_dynamics.ros import node_log
from uvms_adaptive_dynamics.ros import process as process_module

FATAL = 50


@pytest.mark.parametrize("arguments, sentence", [
    (["-p", "robot.urdf:=/nowhere.urdf"], "/nowhere.urdf"),
    (["--params-file", "/nowhere.yaml"], "/nowhere.yaml")], ids=["URDF", "file"])
def test_why_a_node_does_not_start_is_in_its_log_file(tmp_path, monkeypatch, arguments, sentence):
    """Before and after the node is created, under its name and namespace."""
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    child = process("uvms_adaptive_dynamics.ros.node", "--ros-args", "-r", "__ns:=/auv", *arguments)
    words = child.communicate(timeout=30)[0]
    assert child.returncode == 1 and "Traceback" not in words, words
    lines = [line for path in tmp_path.rglob("*.log") for line in path.read_text().splitlines()]
    for said in (words.splitlines(), lines):
        assert any("FATAL" in line and sentence in line and "[auv.uvms_estimator]" in line
                   for line in said), said


@pytest.mark.parametrize("exists", [True, False])
def test_last_words_reach_the_log_topic(monkeypatch, exists):
    """From the node, or from a temporary one with its name; on a loaded computer discovery takes
    seconds."""
    monkeypatch.setattr(node_log, "DISCOVERY_S", 20.0)
    with bus() as ros:
        log = ros.collect(Log, "/rosout", QoSProfile(depth=100))
        node = ros.operator if exists else None
        speaker = threading.Thread(target=node_log.last_words, args=(
            "no URDF", node, "uvms_estimator", ["-r", "__ns:=/auv"]))
        speaker.start()
        name = "operator" if exists else "auv.uvms_estimator"
        assert ros.until(lambda: any((line.level, line.msg, line.name) == (FATAL, "no URDF", name)
                                     for line in log), what="a fatal line")
        speaker.join()


def test_what_ros_cannot_say_is_on_stderr(monkeypatch, capfd):
    """Even with a broken middleware the reason is shown."""
    monkeypatch.setattr(node_log.rclpy, "create_node", lambda *a, **k: 1 / 0)
    node_log.last_words("no URDF", None, "uvms_estimator", [])
    assert "uvms_estimator: no URDF" in capfd.readouterr().err


def test_only_names_are_taken_over():
    """Other arguments may be the unusable ones."""
    arguments = ["--ros-args", "-r", "__ns:=/auv", "-r", "imu/data:=/x", "-p", "a:=1",
                 "--params-file", "/dev/zero", "--remap", "__node:=left"]
    assert list(node_log._names(arguments)) == ["-r", "__ns:=/auv", "--remap", "__node:=left"]


def test_an_error_of_the_program_is_in_the_log_too(monkeypatch):
    """The process also ends with its traceback."""
    said = []
    monkeypatch.setattr(node_module, "EstimatorNode", lambda: 1 / 0)
    monkeypatch.setattr(process_module, "last_words", lambda sentence, *rest: said.append(sentence))
    for name in ("init", "try_shutdown"):
        monkeypatch.setattr(process_module.rclpy, name, lambda **_: None)
    monkeypatch.setattr(process_module.signal, "signal", lambda *_: None)
    with pytest.raises(ZeroDivisionError):
        node_module.main(["estimator"])
    assert "ZeroDivisionError" in said[0] and "report" in said[0]
