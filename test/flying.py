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

"""Sensors of a vehicle and topics of an estimator for the identification node, each of which can be
corrupted."""
import threading
import time
from dataclasses import replace

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TwistWithCovarianceStamped
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import BatteryState, FluidPressure, Imu, JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.parameter_file import parameter_text
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.thrust_curve import ThrustCurve
from uvms_adaptive_dynamics.ros import messages
from uvms_adaptive_dynamics.ros.identification_node import IdentificationNode

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
CONFIG = Config()
ROBOT = RobotModel.from_config(CONFIG)
PERIOD = 0.01
NODE = "uvms_identification"
CURVE = ThrustCurve.t200()
SETTINGS = {"identification.move": True, "identification.ramp": 0.2,
            "identification.heartbeat": 0.0, "battery.enabled": True,
            "identification.least_voltage": 13.2,
            "identification.estimator_timeout": 1.0,
            "identification.joint_error": 6.0,
            "identification.overspeed": 1.0, "excitation.yaw_turns": 5.0}
KINDS = {"imu": (Imu, "/imu/data"), "dvl": (TwistWithCovarianceStamped, "/dvl/twist"),
         "depth": (FluidPressure, "/depth"), "joint_states": (JointState, "/joint_states"),
         "battery": (BatteryState, "/battery")}
EVERY = {"imu": 1, "dvl": 10, "depth": 10, "joint_states": 2, "battery": 20}
STAGE = {"state": "running", "stage": "arm", "title": "the arm", "kind": "motion",
         "move": "axis_b", "free": "axis_b.fv", "kept": ""}


class FakeVehicle:
    """A vehicle at rest at 5 m with its arm at rest, on a separate thread. Attributes set what it
    measures, `silent` which sensors do not publish. sent: steady time [s] of each role's last
    message."""

    def __init__(self, node):
        self._publishers = {role: node.create_publisher(kind, topic, 100)
                            for role, (kind, topic) in KINDS.items()}
        self.silent = set()
        self.sent = {}
        self.reset()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def reset(self):
        self.roll = self.heading = 0.0
        self.depth, self.speed, self.rate, self.voltage = 5.0, 0.0, 0.0, 16.0
        self.mu, self.mu_dot = np.array([3.0, 1.7, 1.7, 2.8]), np.zeros(4)
        self.silent = set()

    def stop(self):
        self._stopped.set()
        self._thread.join()

    def _run(self):
        k = 0
        while not self._stopped.wait(PERIOD):
            for role, publisher in self._publishers.items():
                if k % EVERY[role] == 0 and role not in self.silent:
                    publisher.publish(getattr(self, f"_{role}")(messages.time_message(time.time())))
                    self.sent[role] = time.monotonic()
            k += 1

    def _imu(self, now):
        made = Imu()
        made.header.stamp = now
        # the identity would be a quaternion that was never set
        roll, yaw = 0.5 * self.roll, 0.5 * (0.7 + self.heading)
        # Rz(yaw) Rx(roll), ENU from FLU
        o = made.orientation
        o.w, o.x = np.cos(yaw) * np.cos(roll), np.cos(yaw) * np.sin(roll)
        o.y, o.z = np.sin(yaw) * np.sin(roll), np.sin(yaw) * np.cos(roll)
        made.angular_velocity.z = float(self.rate)
        made.linear_acceleration.y = 9.80665 * np.sin(self.roll)
        made.linear_acceleration.z = 9.80665 * np.cos(self.roll)
        return made

    def _dvl(self, now):
        made = TwistWithCovarianceStamped()
        made.header.stamp, made.twist.twist.linear.x = now, float(self.speed)
        return made

    def _depth(self, now):
        made = FluidPressure(fluid_pressure=101325.0 + 9806.65 * self.depth)
        made.header.stamp = now
        return made

    def _joint_states(self, now):
        made = JointState(name=list(ROBOT.joints), position=self.mu.tolist(),
                          velocity=self.mu_dot.tolist(), effort=[0.0] * 4)
        made.header.stamp = now
        return made

    def _battery(self, now):
        made = BatteryState(voltage=float(self.voltage))
        made.header.stamp = now
        return made


class FakeEstimator:
    """Publishes what an estimator would: `say` is called by a timer of a node; `silent` stops
    it."""

    def __init__(self, node, name="uvms_estimator", stage=STAGE):
        make = lambda kind, topic: node.create_publisher(kind, f"{name}/{topic}", LATCHED)
        self._parameters, self._covariance = make(JointState, "parameters"), make(
            Float64MultiArray, "covariance")
        self._status, self._stage = make(DiagnosticArray, "status"), make(DiagnosticArray, "stage")
        self.silent, self.state, self.said, self._node = False, "learning", 0.0, node
        prior = prior_from_config(CONFIG, ROBOT)
        self.stddev = stddev = 0.1 * np.abs(prior.values) + 0.01
        self.told = []      # whether its stages were asked to continue
        self.handed = True, parameter_text(replace(
            prior, covariance=np.diag(stddev ** 2),
            noise_stddev=0.5 * ROBOT.default_noise(CONFIG)))
        node.create_service(SetBool, f"{name}/run_stages", self._run_stages)
        node.create_service(Trigger, f"{name}/parameter_file", self._parameter_file)
        self._parameters.publish(messages.parameters_message(time.time(), prior.names, prior.values,
                                                             stddev, "learning"))
        self._covariance.publish(messages.covariance_message(time.time(), prior.names,
                                                             np.diag(stddev ** 2)))
        self._at = name, stage
        self._say_stage(stage["state"])
        node.create_timer(0.2, self.say)
        self.say()

    def _parameter_file(self, request, response):
        response.success, response.message = self.handed
        return response

    def _run_stages(self, request, response):
        self.told.append(request.data)
        self._say_stage("running" if request.data else "waiting")
        return response

    def _say_stage(self, state):
        name, stage = self._at
        self._stage.publish(messages.status_array(time.time(), name, "stage", 0, "the arm",
                                                  {**stage, "state": state}))

    def say(self):
        if not self.silent:
            self._status.publish(messages.status_array(
                time.time(), "e", "estimate", 0, self.state,
                {"state": self.state, **{f"noise {channel}": 1.0 for channel in ROBOT.channels}}))
            self.said = time.monotonic()


def size_of(message):
    """[N] sum over all thrusters, since PWM does not show it: the curve has a dead band."""
    return float(np.abs(CURVE.thrust(np.array(message.data), 16.0)).sum())


class Robot:
    """The node under test with everything it needs. `armed()` arms it and waits until it commands
    something, which grows as long as nothing stops it."""

    def __init__(self, ros, directory, dry_run=False, stage=STAGE, **settings):
        self.ros = ros
        self.vehicle = FakeVehicle(ros.operator)
        self.estimator = FakeEstimator(ros.operator, stage=stage)
        self.commands, self.torques, self.status = [], [], []
        self._hear = ros.operator.create_subscription(
            Float64MultiArray, "/thruster_input", lambda m: self.commands.append(
                (time.monotonic(), size_of(m))), 10)
        ros.operator.create_subscription(
            Float64MultiArray, "/joint_effort_input",
            lambda m: self.torques.append(np.abs(m.data).sum()), 10)
        ros.operator.create_subscription(DiagnosticArray, f"/{NODE}/status", self._on_status,
                                         LATCHED)
        values = {**SETTINGS, **settings, "output.directory": str(directory)}
        self.node = IdentificationNode(
            dry_run, context=ros.context, use_global_arguments=False,
            parameter_overrides=[Parameter(name, value=value) for name, value in values.items()])
        self.node.begin()
        self.node._designer.start = lambda *_: None     # holding station is enough here
        ros.executor.add_node(self.node)

    def _on_status(self, message):
        self.status.append({v.key: v.value for v in message.status[0].values}
                           | {"said": message.status[0].message})

    def call(self, service, kind=Trigger, **request):
        return self.ros.call(kind, f"{NODE}/{service}", kind.Request(**request))

    def arm(self, data=True):
        return self.call("arm", SetBool, data=data)

    def armed(self):
        answers = []
        # the filter settles at the present attitude
        settled = time.monotonic() + 1.0
        self.ros.until(lambda: time.monotonic() > settled)

        def try_it():
            answers.append(self.arm())
            return answers[-1].success
        try:
            self.ros.until(try_it, 20.0, "arming")
        except AssertionError as error:
            raise AssertionError(f"{error}: {answers[-1].message}") from None
        self.commands.clear()
        self.vehicle.heading = 0.1      # an error to turn against, so that the effort grows
        self.ros.until(lambda: self.status[-1]["armed"] == "true" and self.commands
                       and self.commands[-1][1] > 2.0, what="a command")
        return answers[-1].message

    def stopped(self, since):
        """[s] from `since` to the first command of the ramp to neutral, once neutral is reached."""
        self.ros.until(lambda: self.status[-1]["state"] == "disarmed", 10.0, "the stop")
        times, sizes = (np.array(x) for x in zip(*self.commands))
        # The integral lets it grow until the stop: the ramp begins after the last rise.
        falls = np.flatnonzero(np.diff(sizes) < -0.02 * sizes.max())
        assert sizes[-1] == 0.0 and self.torques[-1] == 0.0
        first = falls[falls >= np.searchsorted(times, since) - 1][0] + 1
        steps = -np.diff(sizes[first - 1:])
        assert steps.max() < 0.5 * sizes.max(), "a ramp, not a step"
        assert not self.node.flight.pilot.armed
        return times[first] - since

    def close(self):
        self.vehicle.stop()
        self.ros.end(self.node)
