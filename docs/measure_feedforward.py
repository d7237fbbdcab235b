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

"""Measures the feedforward node: python docs/measure_feedforward.py [--duration 60].

Needs ROS 2 or the wheels of bootstrap.py.

The node with its default settings and the simulated robot run as separate processes, over real
DDS. This process stands in for the estimator: it publishes every 20 ms, covariance each second. It
subscribes to the outputs that a controller needs, then to all. It prints the time of one call
without ROS, the node's processor time from /proc, the rate of efforts and the age of states.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from measure_node import processor_time
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from uvms_adaptive_dynamics import Config, Feedforward, RobotModel, State
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.ros.feedforward_outputs import FEEDFORWARD_CLASSES
from uvms_adaptive_dynamics.ros.messages import covariance_message, parameters_message
from uvms_adaptive_dynamics.ros.topic_qos import LATCHED
from uvms_adaptive_dynamics.signals.topics import FEEDFORWARD_OUTPUTS

STARTING = 6.0      # [s] for imports and discovery, not measured
CONTROLLERS = {"wrench", "joint_efforts", "status"}
KEYS = 45           # of an estimator's status: trust, age and noise of ten channels, and the rest


class Estimator(Node):
    """Publishes like an estimator, and subscribes to the feedforward."""

    def __init__(self, robot, prior):
        super().__init__("measure_feedforward")
        name, self._k = "uvms_estimator", 0
        self._table, self._prior = robot.table, prior
        self._parameters = self.create_publisher(
            JointState, f"{name}/trusted_parameters", LATCHED)
        self._covariance = self.create_publisher(
            Float64MultiArray, f"{name}/trusted_covariance", LATCHED)
        self._status = self.create_publisher(DiagnosticArray, f"{name}/status", LATCHED)
        self.create_timer(0.02, self._say)
        self.times: list[float] = []
        self.ages: list[float] = []

    def listen_to(self, names):
        """Subscribe to the outputs `names`."""
        for output in FEEDFORWARD_OUTPUTS:
            if output.name in names:
                self.create_subscription(
                    FEEDFORWARD_CLASSES[output.type], f"uvms_feedforward/{output.name}",
                    lambda message, name=output.name: self._hear(name, message), 100)

    def _say(self):
        t, values = time.time(), self._prior.values
        self._parameters.publish(parameters_message(t, self._table.names, values, 0.1 * values))
        self._status.publish(DiagnosticArray(status=[DiagnosticStatus(values=[
            KeyValue(key="state", value="learning"),
            *(KeyValue(key=f"trust {k}", value="ok") for k in range(KEYS))])]))
        if self._k % 50 == 0:
            self._covariance.publish(covariance_message(
                t, self._table.names, np.diag((0.1 * values) ** 2 + 1e-6)))
        self._k += 1

    def _hear(self, name, message):
        if name == "wrench":
            self.times.append(time.monotonic())
        if name == "status":
            self.ages += [float(pair.value) for pair in message.status[0].values
                          if pair.key == "age of state [s]"]


def main() -> int:
    """Run, print, and return 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=60.0,
                        help="measured time [s]; default 60")
    duration = parser.parse_args().duration
    config = Config()
    robot = RobotModel.from_config(config)
    prior = prior_from_config(config, robot)
    one_call(robot, prior)
    os.environ.update({"ROS_DOMAIN_ID": str(100 + os.getpid() % 100),
                       "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
                       "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]),
                                                      os.environ.get("PYTHONPATH", "")])})
    module = "uvms_adaptive_dynamics.ros"
    node, simulated = (subprocess.Popen([sys.executable, "-m", f"{module}.{name}"])
                       for name in ("feedforward_node", "demo.simulated_robot"))
    rclpy.init()
    listener = Estimator(robot, prior)
    try:
        for names in (CONTROLLERS, {output.name for output in FEEDFORWARD_OUTPUTS} - CONTROLLERS):
            listener.listen_to(names)
            listen(listener, STARTING)
            measure(listener, node.pid, duration)
        return 0
    finally:
        for process in (simulated, node):
            process.terminate()
            process.wait(20)
        listener.destroy_node()
        rclpy.try_shutdown()


def measure(listener: Estimator, pid: int, duration: float) -> None:
    """Print the node's share of a core, rate and ages over a duration [s]."""
    listener.times.clear()
    listener.ages.clear()
    before, begin = processor_time(pid), time.monotonic()
    listen(listener, duration)
    elapsed = time.monotonic() - begin
    gaps, ages = 1e3 * np.diff(listener.times), 1e3 * np.array(listener.ages)
    print(f"{(processor_time(pid) - before) / elapsed:.3f} of a core over {elapsed:.0f} s, "
          f"{len(listener.times) / elapsed:.1f} Hz, load of the machine {os.getloadavg()[0]:.1f}\n"
          f"  between two wrenches median {np.median(gaps):.1f} ms, 99 % "
          f"{np.percentile(gaps, 99):.1f} ms\n"
          f"  age of the state median {np.median(ages):.1f} ms, 99 % "
          f"{np.percentile(ages, 99):.1f} ms", flush=True)


def one_call(robot, prior) -> None:
    """Print the time of one call that also returns the standard deviation."""
    feedforward = Feedforward(robot, prior)
    n = robot.table.n
    state, times = State(np.eye(3), np.full(6, .1), np.full(n, 2.0), np.full(n, .2)), []
    for k in range(2000):
        begin = time.perf_counter()
        feedforward.efforts(0.01 * k, state, np.full(6, .1), np.full(n, .1))
        times.append(1e3 * (time.perf_counter() - begin))
    print(f"one call: median {np.median(times):.3f} ms, 99 % {np.percentile(times, 99):.3f} ms, "
          f"most {max(times):.3f} ms")


def listen(listener: Node, duration: float) -> None:
    """Spin for a duration [s]."""
    end = time.monotonic() + duration
    while time.monotonic() < end:
        rclpy.spin_once(listener, timeout_sec=0.01)


if __name__ == "__main__":
    sys.exit(main())
