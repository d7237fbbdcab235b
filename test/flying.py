"""A vehicle's sensors and an estimator's topics for the identification node: each can be spoilt."""
import threading
import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TwistWithCovarianceStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import BatteryState, FluidPressure, Imu, JointState
from std_msgs.msg import Float64MultiArray

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.ros import messages

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
CONFIG = Config()
ROBOT = RobotModel.from_config(CONFIG)
PERIOD = 0.01
KINDS = {"imu": (Imu, "/imu/data"), "dvl": (TwistWithCovarianceStamped, "/dvl/twist"),
         "depth": (FluidPressure, "/depth"), "joint_states": (JointState, "/joint_states"),
         "battery": (BatteryState, "/battery")}
EVERY = {"imu": 1, "dvl": 10, "depth": 10, "joint_states": 2, "battery": 20}
STAGE = {"state": "running", "stage": "arm", "title": "the arm", "kind": "motion",
         "move": "axis_b", "free": "axis_b.fv", "kept": ""}


class FakeVehicle:
    """A vehicle that rests at 5 m with a resting arm, on a thread of its own; attributes say what
    it measures, `silent` which sensors do not. sent: steady time [s] of each role's last message.
    """

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
    """Says what an estimator says, by `say` called from a timer of a node; `silent` if it does not.
    """

    def __init__(self, node, name="uvms_estimator", stage=STAGE):
        make = lambda kind, topic: node.create_publisher(kind, f"{name}/{topic}", LATCHED)
        self._parameters, self._covariance = make(JointState, "parameters"), make(
            Float64MultiArray, "covariance")
        self._status, self._stage = make(DiagnosticArray, "status"), make(DiagnosticArray, "stage")
        self.silent, self.state, self.said, self._node = False, "learning", 0.0, node
        prior = prior_from_config(CONFIG, ROBOT)
        stddev = 0.1 * np.abs(prior.values) + 0.01
        self._parameters.publish(messages.parameters_message(time.time(), prior.names, prior.values,
                                                             stddev, "learning"))
        self._covariance.publish(messages.covariance_message(time.time(), prior.names,
                                                             np.diag(stddev ** 2)))
        self._stage.publish(messages.status_array(time.time(), name, "stage", 0, "the arm", stage))
        node.create_timer(0.2, self.say)
        self.say()

    def say(self):
        if not self.silent:
            self._status.publish(messages.status_array(
                time.time(), "e", "estimate", 0, self.state,
                {"state": self.state, **{f"noise {channel}": 1.0 for channel in ROBOT.channels}}))
            self.said = time.monotonic()
