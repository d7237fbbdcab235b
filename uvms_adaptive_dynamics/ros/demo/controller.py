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

"""ROS 2 node `closed_loop_controller`: the example controller on the simulated robot's topics.

In: the sensors and the estimator's trusted parameters. Out: `thruster_input`, PWM [us], and
`joint_effort_input` [N m]. After `duration` it prints the tracking errors and exits.
"""
from __future__ import annotations

import argparse
import math
import os
import sys

from ...programs import begin_imports

if __name__ == "__main__":
    begin_imports()

# Before numpy is imported: for our 75 x 75 matrices BLAS threads cost more than they gain.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import rclpy.node
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ...config import NODE_NAME, Config
from ...control.desired_motion import DesiredMotion, desired_motion
from ...control.feedforward import Feedforward, effort_limits
from ...control.motion_controller import MotionController, gains_for
from ...control.state_filter import MotionState, StateFilter
from ...errors import ConfigError, MessageError, ParameterError
from ...estimation.validity import FAILED
from ...model.prior import prior_from_config
from ...model.robot import RobotModel
from ...model.rotations import to_rotation_vector
from ...model.thrust_curve import ThrustCurve
from ...signals.decode.decoder import Decoder
from ...signals.decode.stamps import stamp_of
from ...simulation.carrying import CarryingMotion
from ...simulation.robot import SimulatedRobot
from ...simulation.sensors import ROLE_OF_TOPIC
from ..process import run_node, shut_down
from ..topic_qos import LATCHED
from ..trusted_lane import TrustedLane
from .simulated_robot import MESSAGE_CLASSES

CONTROLLER_NODE = "closed_loop_controller"
CONTROLLER_PERIOD = 0.01  # [s] of the controller, equal to that of the IMU
RUN_PARTS = 4           # of a run, in the summary at its end
FEEDFORWARDS = ("adapted", "prior", "none")


class ControllerNode(rclpy.node.Node):
    """Tracks the motion of the simulated robot's seed, starting when the first state is known."""

    def __init__(self, **kwargs):
        super().__init__(CONTROLLER_NODE, **kwargs)
        self._duration = self._declare("duration", 90.0, "Length of the run [s]; 0: endless.")
        seed = self._declare("seed", 0, "Seed of the simulated robot, which defines the wanted "
                                        "motion.")
        self._kind = self._declare("feedforward", "adapted",
                                   f"Parameters of the feedforward: {', '.join(FEEDFORWARDS)}.")
        if self._kind not in FEEDFORWARDS:
            raise ConfigError(f"parameter feedforward: got {self._kind!r}, expected one of "
                              f"{', '.join(FEEDFORWARDS)}.")
        config = Config()
        model = RobotModel.from_config(config)
        prior = prior_from_config(config, model)
        self._motion = CarryingMotion(SimulatedRobot(seed, truth_period=None).motion)
        self._feedforward = None if self._kind == "none" else Feedforward(model, prior, config)
        self._lane = (None if self._feedforward is None else
                      TrustedLane(self._feedforward, lambda receive: receive))
        self._controller = MotionController(
            config, self._feedforward, gains_for(prior, model.joints), self._wanted,
            ThrustCurve.of_settings(config.thrusters), effort_limits(model, config),
            CONTROLLER_PERIOD)
        self._filter = StateFilter(config, self._motion.at(0.0).value[:3])
        self._decoder = Decoder(config)
        self._start: float | None = None        # [s since the epoch] of the first sensor message
        self._errors: list[tuple] = []          # t, position, attitude, joints, source

    def begin(self) -> None:
        """Subscribe to sensors and start commanding."""
        for topic, role in ROLE_OF_TOPIC.items():
            if role in ("imu", "dvl", "depth", "joint_states"):
                self.create_subscription(
                    MESSAGE_CLASSES[topic], topic,
                    lambda message, role=role: self._sense(role, message), qos_profile_sensor_data)
        if self._kind == "adapted":
            self.create_subscription(JointState, f"{NODE_NAME}/trusted_parameters", self._learn,
                                     LATCHED)
            self.create_subscription(JointState, f"{NODE_NAME}/parameters", self._hear, LATCHED)
        self._pwm, self._torque = (
            self.create_publisher(Float64MultiArray, topic, qos_profile_sensor_data)
            for topic in ("thruster_input", "joint_effort_input"))
        self.get_logger().info(f"feedforward: {self._kind}")

    def close(self) -> None:
        """Print the summary and leave the graph."""
        print(self.summary(), flush=True)
        self.destroy_node()

    def _declare(self, name: str, default, meaning: str):
        descriptor = ParameterDescriptor(description=meaning, read_only=True, dynamic_typing=True)
        value, kind = self.declare_parameter(name, default, descriptor).value, type(default)
        if isinstance(value, bool) or not isinstance(value, (int, kind) if kind is float else kind):
            raise ConfigError(f"parameter {name}: got {value!r}, expected a {kind.__name__}. "
                              f"{meaning}")
        if kind is not str and not 0 <= value < math.inf:
            raise ConfigError(f"parameter {name}: got {value!r}, expected 0 or more. {meaning}")
        return kind(value)

    # --- topics -----------------------------------------------------------------------------------

    def _sense(self, role: str, message) -> None:
        try:
            stamp = stamp_of(message)
            values = self._decoder.decode(role, message)
        except MessageError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=5.0)
            return
        if stamp is not None:
            self._start = stamp if self._start is None else self._start
            self._filter.add(role, stamp, values)
            if role == "imu":
                self._act(stamp)

    def _learn(self, message: JointState) -> None:
        """Use trusted parameters of this robot, matched by name."""
        assert self._lane is not None
        try:
            self._lane.add_parameters(message, stamp_of(message) or 0.0)
        except (MessageError, ParameterError) as error:
            self.get_logger().warning(str(error), throttle_duration_sec=5.0)

    def _hear(self, message: JointState) -> None:
        """Confirm the parameters, or distrust them if the estimator has failed."""
        assert self._feedforward is not None
        if message.header.frame_id == FAILED:
            self._feedforward.distrust()
        else:
            self._feedforward.confirm(message.header.stamp.sec
                                      + 1e-9 * message.header.stamp.nanosec)

    # --- control ----------------------------------------------------------------------------------

    def _wanted(self, t: float) -> DesiredMotion:
        return desired_motion(*self._motion.at(t - (self._start or t)))

    def _act(self, now: float) -> None:
        """Command at every IMU message, at its time: on a machine too busy for real time, robot and
        controller are late together."""
        state = self._filter.motion(now)
        if state is None or self._start is None:
            return
        command = self._controller.command(now, state)
        self._pwm.publish(Float64MultiArray(data=command.pwm.tolist()))
        self._torque.publish(Float64MultiArray(data=command.joint_torque.tolist()))
        source = "none" if command.feedforward is None else command.feedforward.source
        self._note(now, state, source)
        if 0.0 < self._duration <= now - self._start:
            self.get_logger().info(f"{self._duration:g} s are over")
            shut_down(self.context)

    def _note(self, now: float, state: MotionState, source: str) -> None:
        wanted = self._wanted(now)
        self._errors.append((
            now - (self._start or now), np.linalg.norm(wanted.position - state.position),
            np.linalg.norm(to_rotation_vector(state.R_nb.T @ wanted.R_nb)),
            np.linalg.norm(wanted.mu - state.mu), source))

    def summary(self) -> str:
        """RMS errors measured by the controller's sensors, and sources of the feedforward, for each
        part of the run."""
        if not self._errors:
            return "no state was received, so no motion was tracked"
        t = np.array([row[0] for row in self._errors])
        errors = 1e3 * np.array([row[1:4] for row in self._errors])
        edges = np.linspace(0.0, t[-1] + CONTROLLER_PERIOD, RUN_PARTS + 1)
        lines = [f"{'time [s]':>12}{'position [mm]':>16}{'attitude [mrad]':>17}"
                 f"{'joints [mrad]':>15}  feedforward"]
        for begin, end in zip(edges[:-1], edges[1:]):
            inside = (t >= begin) & (t < end)
            if not inside.any():
                continue
            rms = np.sqrt(np.mean(errors[inside] ** 2, axis=0))
            sources = [row[4] for row, counts in zip(self._errors, inside) if counts]
            shares = ", ".join(f"{source} {sources.count(source) / len(sources):.0%}"
                               for source in dict.fromkeys(sources))
            lines.append(f"{begin:5.0f} .. {end:3.0f}{rms[0]:16.1f}{rms[1]:17.1f}{rms[2]:15.1f}"
                         f"  {shares}")
        return "\n".join(lines)


def main(args: list[str] | None = None) -> int:
    """Run the node until its duration is over, SIGINT or SIGTERM; returns 0, or 1 after an error
    message."""
    return run_node(sys.argv if args is None else args, ControllerNode, argparse.ArgumentParser(
        prog="closed_loop_controller", description="The example controller for the simulated "
        "robot. Parameters: duration, seed, feedforward (--ros-args -p NAME:=VALUE)."),
        CONTROLLER_NODE)


if __name__ == "__main__":
    sys.exit(main())
