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

"""Nodes as processes, for minutes: two robots in namespaces, and repeated starts and stops.

    python test/live_launch.py two --seconds 300       files, topics and diagnostics stay separate
    python test/live_launch.py cycles --count 100      no orphan, exit within 2 s
"""
import argparse
import os
import secrets
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
import conftest  # noqa: E402, F401  (the environment of all tests)
from ros_bus import bus, process  # noqa: E402

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402  isort: skip
from rclpy.qos import QoSProfile  # noqa: E402  isort: skip
from sensor_msgs.msg import JointState  # noqa: E402  isort: skip

from uvms_adaptive_dynamics.model.parameter_file import load_parameters  # noqa: E402

NODE, ROBOT = "uvms_adaptive_dynamics.ros.node", "uvms_adaptive_dynamics.ros.demo.simulated_robot"
EXIT_S = 2.0
NAMESPACES = ("first", "second")
GLOBAL = ("/rosout", "/parameter_events", "/diagnostics", "/clock")


def node(module: str, namespace: str, *settings: str):
    """Start a node in a namespace, with further arguments `name:=value`."""
    values = [word for setting in settings for word in ("-p", setting)]
    return process(module, "--ros-args", "-r", f"__ns:=/{namespace}", *values)


def stop(child, number: int = signal.SIGINT) -> float:
    """Seconds from the signal to the exit."""
    begin = time.monotonic()
    child.send_signal(number)
    try:
        child.wait(10 * EXIT_S)
    finally:
        child.kill()
    return time.monotonic() - begin


def two(seconds: float) -> str:
    """AssertionError if two robots share anything."""
    with tempfile.TemporaryDirectory() as folder, bus() as ros:
        reports = ros.collect(DiagnosticArray, "/diagnostics", QoSProfile(depth=100))
        found = {name: ros.collect(JointState, f"/{name}/uvms_estimator/parameters",
                                   QoSProfile(depth=100)) for name in NAMESPACES}
        children = [node(NODE, name, f"output.directory:={folder}", "output.save_period:=2.0",
                         "output.record:=auto") for name in NAMESPACES]
        try:
            for name in NAMESPACES:
                ros.until(lambda name=name: ros.operator.count_subscribers(f"/{name}/imu/data"),
                          60.0, what=f"the node of {name}")
            children += [node(ROBOT, name, f"seed:={seed}")
                         for seed, name in enumerate(NAMESPACES)]
            end = time.monotonic() + seconds
            ros.until(lambda: time.monotonic() > end, seconds + 60.0)
            topics = [topic for topic, _ in ros.operator.get_topic_names_and_types()]
            exits = [stop(child) for child in children[::-1]]
            assert not any(child.returncode for child in children), "a node failed"
        finally:
            for child in children:
                child.kill()
        check_apart(topics, reports, found, Path(folder))
        assert max(exits) < EXIT_S, exits
        counts = ", ".join(f"{len(messages)} of {name}" for name, messages in found.items())
        return f"{seconds:g} s: {counts}; apart; exits within {max(exits):.2f} s"


def check_apart(topics, reports, found, folder: Path) -> None:
    """Check that topics, diagnostics, values and files of the two namespaces are separate."""
    stray = [topic for topic in topics if topic not in GLOBAL
             and topic.split("/")[1] not in NAMESPACES]
    assert not stray, stray
    said = {status.name.split("/")[0] for report in reports for status in report.status}
    assert said == set(NAMESPACES), said
    last = [messages[-1].position for messages in found.values()]
    assert list(last[0]) != list(last[1]), "both have the same parameters"
    assert sorted(path.name for path in folder.iterdir()) == sorted(NAMESPACES)
    for name, messages in found.items():
        robot, = (folder / name).iterdir()
        saved = load_parameters(robot / "state.yaml")
        # the state saved at exit is the last published one, or a tick or two newer
        ours, theirs = messages[-1].position, found[other(name)][-1].position
        assert distance(saved.values, ours) < distance(saved.values, theirs), name
        assert len(list((robot / "recordings").iterdir())) == 1


def other(name: str) -> str:
    return NAMESPACES[1 - NAMESPACES.index(name)]


def distance(one, two_) -> float:
    return sum(abs(a - b) for a, b in zip(one, two_))


def cycles(count: int) -> str:
    """AssertionError if a stop takes too long, fails, or leaves a process."""
    mark = f"UVMS_CYCLE_{secrets.token_hex(4)}"
    os.environ[mark] = "1"
    exits = []
    with tempfile.TemporaryDirectory() as folder:
        for k in range(count):
            child = process(NODE, "--ros-args", "-p", f"output.directory:={folder}",
                            "-p", "output.record:=auto")
            for line in child.stdout:
                if "parameters on" in line:
                    break
            exits.append(stop(child, (signal.SIGINT, signal.SIGTERM)[k % 2]))
            assert child.returncode == 0, (k, child.returncode, child.stdout.read())
            assert exits[-1] < EXIT_S, (k, exits[-1])
            assert not (left := processes_with(mark)), (k, left)
    return f"{count} starts and stops: exits within {max(exits):.2f} s, no orphan"


def processes_with(mark: str) -> list[int]:
    """Other processes whose environment has the marker."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        pid = int(path.parent.name)
        try:
            if pid != os.getpid() and f"{mark}=".encode() in path.read_bytes():
                found.append(pid)
        except OSError:     # it ended, or is another user's
            continue
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("two").add_argument("--seconds", type=float, default=300.0)
    commands.add_parser("cycles").add_argument("--count", type=int, default=100)
    given = parser.parse_args()
    print(two(given.seconds) if given.command == "two" else cycles(given.count))
    return 0


if __name__ == "__main__":
    sys.exit(main())
