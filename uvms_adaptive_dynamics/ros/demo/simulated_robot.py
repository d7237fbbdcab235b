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

"""ROS 2 node `simulated_robot`: the simulated robot in real time on the default topics.

It moves by itself until it receives an external command: thrusters by `thruster_input` (PWM [us])
or `wrench_input` (body axes FLU), joints by `joint_effort_input` [N m], as ros2_control sends them.
`thruster_commands` always shows the present thruster commands."""
from __future__ import annotations

import array
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from ...programs import begin_imports, end_imports

if __name__ == "__main__":
    begin_imports()

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TwistWithCovarianceStamped, WrenchStamped
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.qos_overriding_options import QoSOverridingOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import FluidPressure, Imu, JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from ...errors import ConfigError, MessageError
from ...model.rotations import FRD_FROM_FLU
from ...simulation.inputs import INPUT_TIMEOUT
from ...simulation.robot import SimulatedRobot
from ...simulation.sensors import BODY_FRAME, DVL_FRAME, Message
from ..process import shut_down

MESSAGE_CLASSES = {"imu/data": Imu, "dvl/twist": TwistWithCovarianceStamped, "depth": FluidPressure,
                   "joint_states": JointState,
                   "thruster_commands": Float64MultiArray}
TICK = 0.005  # [s] between publications; every message leaves at most this late
# [s] Longest time simulated per tick under external commands: on a busy machine the robot falls
# behind real time rather than moving on without them.
LONGEST_TICK = 0.01
LONGEST_CATCH_UP = 1.0  # [s] Longest pause that is simulated afterwards; a longer one is skipped


class SimulatedRobotNode(Node):
    """Publishes measurements of `SimulatedRobot` at their time of arrival.

    `finished` is set when the duration is over.
    """

    def __init__(self):
        super().__init__("simulated_robot")
        seed = self._declare("seed", 0, 2**31 - 1,
                             "Seed of motion and noise.")
        duration = self._declare("duration", 0.0, 1e6,
                                 "Length of the run [s]; 0 runs until stopped.")
        delay = self._declare("start_delay", 0.0, 3600.0, "Wait before the first message [s].")
        timeout = self._declare("input_timeout", INPUT_TIMEOUT, 3600.0,
                                "After this time without an external command thrusters are "
                                "neutral and joints limp [s].")
        # The arm lifts no more than 2 kg.
        self._payload = self._declare("payload", 0.38, 2.0, "Mass that ~/grip picks up [kg].")
        self._pick_up_at = self._declare("pick_up_at", 0.0, 1e6,
                                         "When the payload is picked up [s]; 0: only by ~/grip.")
        self._drop_at = self._declare("drop_at", 0.0, 1e6, "When it is dropped [s]; 0: never.")
        self._publishers_by_topic = {
            topic: self.create_publisher(
                kind, topic, qos_profile_sensor_data,
                qos_overriding_options=QoSOverridingOptions.with_default_policies())
            for topic, kind in MESSAGE_CLASSES.items()}
        clock = self.declare_parameter("publish_clock", False, ParameterDescriptor(
            description="Publish this node's time on /clock, for nodes with use_sim_time.",
            read_only=True)).value
        self._clock_publisher = self.create_publisher(Clock, "/clock", 10) if clock else None
        self._duration, self._delay_ns = duration or None, round(delay * 1e9)
        self._robot = SimulatedRobot(seed, self._duration, truth_period=None,
                                     input_timeout=timeout)
        if self.declare_parameter("waits", False, ParameterDescriptor(
                description="Float freely until a command arrives, instead of moving by itself.",
                read_only=True)).value:
            self._robot.float_freely()
        self._listen()
        self._start: int | None = None
        self._driven = False    # an external command has arrived
        self.finished = False
        until = f"{duration:g} s" if duration else "until stopped"
        self.get_logger().info(f"simulating seed {seed}, {until}")
        self.create_timer(TICK, self._tick)

    def _listen(self) -> None:
        """Subscribe to external commands."""
        robot, flu = self._robot, FRD_FROM_FLU.diagonal()

        def wrench(message: WrenchStamped) -> None:
            vectors = message.wrench.force, message.wrench.torque
            robot.command_wrench(np.concatenate([flu * (v.x, v.y, v.z) for v in vectors]))

        for kind, topic, command in (
                (Float64MultiArray, "thruster_input", lambda m: robot.command_pwm(m.data)),
                (WrenchStamped, "wrench_input", wrench),
                (Float64MultiArray, "joint_effort_input",
                 lambda m: robot.command_joint_torque(m.data))):
            self.create_subscription(
                kind, topic, partial(self._obey, topic, command), qos_profile_sensor_data,
                qos_overriding_options=QoSOverridingOptions.with_default_policies())
        self.create_service(SetBool, "~/grip", self._grip)

    def _obey(self, topic: str, command: Callable[[Any], None], message: Any) -> None:
        try:
            command(message)
            self._driven = True
        except MessageError as error:
            self.get_logger().warning(f"command on '{topic}' refused: {error}",
                                      throttle_duration_sec=5.0)

    def _grip(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._hold(request.data)
        response.success, response.message = True, self._holding
        return response

    def _hold(self, held: bool) -> None:
        self._robot.grip(self._payload if held else 0.0)
        self._holding = f"{self._payload:g} kg in the gripper" if held else "gripper empty"
        self.get_logger().info(self._holding)

    def _handle_payload(self) -> None:
        """Pick up and drop the payload when due, once each."""
        if 0.0 < self._pick_up_at <= self._robot.t:
            self._pick_up_at = 0.0
            self._hold(True)
        if 0.0 < self._drop_at <= self._robot.t:
            self._drop_at = 0.0
            self._hold(False)

    def _declare(self, name: str, default, highest, meaning: str):
        """Value of a read-only parameter between 0 and `highest`; `duration:=30` is accepted for
        `30.0`."""
        descriptor = ParameterDescriptor(description=meaning, read_only=True, dynamic_typing=True)
        value, kind = self.declare_parameter(name, default, descriptor).value, type(default)
        number = isinstance(value, (int, kind)) and not isinstance(value, bool)
        if not number or not 0 <= value <= highest:
            raise ConfigError(f"parameter {name}: got {value!r}, expected a number "
                              f"({kind.__name__}) from 0 to {highest:g}. {meaning}")
        return kind(value)

    def _tick(self) -> None:
        now = self.get_clock().now().nanoseconds
        if now == 0 or self.finished:  # simulated time has not started
            return
        if self._clock_publisher is not None:
            self._clock_publisher.publish(Clock(clock=_time(now)))
        if self._start is None:
            self._set_start(now + self._delay_ns)
        late = (now - self._start) * 1e-9 - self._robot.t
        if abs(late) > LONGEST_CATCH_UP + self._delay_ns * 1e-9:
            self.get_logger().warning(f"clock jumped by {late:.1f} s; the robot continues "
                                      "from where it was")
            self._set_start(now - round(self._robot.t * 1e9))
        until = (now - self._start) * 1e-9
        if self._driven:
            until = min(until, self._robot.t + LONGEST_TICK)
        self._handle_payload()
        for message in self._robot.advance(until if self._duration is None
                                           else min(until, self._duration)):
            self._publishers_by_topic[message.topic].publish(ros_message(message))
        if self._duration is not None and until >= self._duration:
            self.get_logger().info(f"{self._duration:g} s are over")
            self.finished = True

    def _set_start(self, start_ns: int) -> None:
        self._start = start_ns
        self._robot.restart_clock(start_ns)


def ros_message(message: Message):
    """The rclpy message for a simulated one; headers have the time of measurement."""
    result, p = MESSAGE_CLASSES[message.topic](), message.payload
    if message.topic == "thruster_commands":
        result.data = array.array("d", p["data"])
        return result
    result.header.stamp = _time(message.stamp)
    result.header.frame_id = {"dvl/twist": DVL_FRAME, "joint_states": ""}.get(message.topic,
                                                                              BODY_FRAME)
    if message.topic == "imu/data":
        _fill(result.orientation, "xyzw", p["orientation"])
        _fill(result.angular_velocity, "xyz", p["angular_velocity"])
        _fill(result.linear_acceleration, "xyz", p["linear_acceleration"])
        for name in ("orientation", "angular_velocity", "linear_acceleration"):
            getattr(result, f"{name}_covariance")[::4] = p[f"{name}_variance"]
    elif message.topic == "dvl/twist":
        _fill(result.twist.twist.linear, "xyz", p["linear"])
        result.twist.covariance[0:15:7] = p["linear_variance"]
    elif message.topic == "depth":
        result.fluid_pressure, result.variance = p["fluid_pressure"], p["variance"]
    else:
        result.name = list(p["name"])
        for name in ("position", "velocity", "effort"):
            setattr(result, name, array.array("d", p[name]))
    return result


def _time(ns: int) -> Time:
    return Time(sec=ns // 10**9, nanosec=ns % 10**9)


def _fill(target, fields: str, values) -> None:
    for name, value in zip(fields, values):
        setattr(target, name, value)


def main(args=None) -> int:
    """Run until the duration is over or the process is asked to stop; returns 0, or 2 for a bad
    parameter."""
    executor = node = None
    try:
        end_imports()
        rclpy.init(args=args)
        executor, node = SingleThreadedExecutor(), SimulatedRobotNode()
        executor.add_node(node)
        while rclpy.ok() and not node.finished:
            executor.spin_once()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except ConfigError as error:
        print(f"simulated_robot: {error}", file=sys.stderr)
        return 2
    except Exception:
        if rclpy.ok():  # else a shutdown between two rclpy calls, raised by the second
            raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if executor is not None:
            executor.shutdown()
        if node is not None:
            node.destroy_node()
        shut_down()
    return 0


if __name__ == "__main__":
    sys.exit(main())
