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

"""Measures the node's processor time and late solves: python docs/measure_node.py [--duration 600].

Needs ROS 2 or the wheels of bootstrap.py.

Starts the node with its default settings and the simulated robot as separate processes, over real
DDS, and reads the node's processor time from /proc and its counters from /diagnostics.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

STARTING = 20.0      # [s] for imports and the first window, not measured


def main() -> int:
    """Run, print, and return 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=600.0,
                        help="measured time [s]; default 600")
    duration = parser.parse_args().duration
    environment = {**os.environ, "ROS_DOMAIN_ID": str(100 + os.getpid() % 100),
                   "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
                   "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]),
                                                  os.environ.get("PYTHONPATH", "")])}
    os.environ.update(environment)
    saved = tempfile.mkdtemp(prefix="uvms_measure_")     # saves as usual, starts empty
    node = subprocess.Popen([sys.executable, "-m", "uvms_adaptive_dynamics.ros.node", "--ros-args",
                             "-p", f"output.directory:={saved}"], env=environment)
    time.sleep(5.0)
    robot = subprocess.Popen([sys.executable, "-m",
                              "uvms_adaptive_dynamics.ros.demo.simulated_robot", "--ros-args", "-p",
                              f"duration:={duration + 2 * STARTING}"],
                             env=environment)
    values: dict[str, str] = {}
    rclpy.init()
    listener = Node("measure_node")
    listener.create_subscription(DiagnosticArray, "/diagnostics", lambda message: values.update(
        {pair.key: pair.value
         for status in message.status if status.name.startswith("uvms_estimator")
         for pair in status.values}), 10)
    try:
        _listen(listener, STARTING)
        before, begin, counted = processor_time(node.pid), time.monotonic(), dict(values)
        _listen(listener, duration)
        share = (processor_time(node.pid) - before) / (time.monotonic() - begin)
        print(f"{share:.3f} of a core over {duration:g} s")
        for name in sorted(values):
            if any(word in name for word in ("solves", "samples", "exceptions", "ms")):
                print(f"{name}: {counted.get(name, '-')} -> {values[name]}")
        return 0
    finally:
        for process in (robot, node):
            process.terminate()
            process.wait(20)
        listener.destroy_node()
        rclpy.try_shutdown()


def processor_time(pid: int) -> float:
    """User and system time of all threads of a process [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _listen(listener: Node, duration: float) -> None:
    end = time.monotonic() + duration
    while time.monotonic() < end:
        rclpy.spin_once(listener, timeout_sec=1.0)


if __name__ == "__main__":
    sys.exit(main())
