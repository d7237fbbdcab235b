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

"""The feedforward node over real DDS: efforts of a wanted motion, fallback, and bad input."""
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import (
    AccelStamped,
    Twist,
    TwistStamped,
    TwistWithCovarianceStamped,
    Wrench,
    WrenchStamped,
)
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_bus import process
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.dynamics import State, inverse_dynamics
from uvms_adaptive_dynamics.model.equations_of_motion import smooth_sign
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.ros import feedforward_node
from uvms_adaptive_dynamics.ros.feedforward_node import FeedforwardNode
from uvms_adaptive_dynamics.ros.messages import covariance_message, time_message

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
QUEUE = QoSProfile(depth=100)
ROBOT = RobotModel.from_config(Config())
JOINTS, G = ROBOT.joints, 9.80665
SPEED, MU = np.array([.3, -.2, .1]), [3.0, 1.8, 1.7, 2.8]
OUTPUTS = {"wrench": WrenchStamped, "wrench_reference": Wrench, "wrench_stddev": WrenchStamped,
           "joint_efforts": JointState, "joint_stddev": JointState, "arm_reaction": WrenchStamped,
           "velocity": TwistStamped, "acceleration": AccelStamped, "accelerations": TwistStamped}


class Vehicle:
    """Sensors of a level vehicle at constant speed with its arm at rest, on a thread of their
    own."""

    def __init__(self, ros):
        make = ros.operator.create_publisher
        self._imu, self._dvl = make(Imu, "/imu/data", 100), make(
            TwistWithCovarianceStamped, "/dvl/twist", 100)
        self._joints = make(JointState, "/joint_states", 100)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self):
        self._stopped.set()
        self._thread.join()

    def _run(self):
        k = 0
        while not self._stopped.wait(.01):
            now = time_message(time.time())
            imu = Imu()
            imu.header.stamp, imu.orientation.w, imu.linear_acceleration.z = now, 1.0, G
            imu.orientation.z, imu.orientation.w = np.sqrt(.5), np.sqrt(.5)
            joints = JointState(name=list(JOINTS), position=MU, velocity=[0.0] * 4)
            joints.header.stamp = now
            self._imu.publish(imu)
            self._joints.publish(joints)
            if k % 10 == 0:
                dvl = TwistWithCovarianceStamped()
                dvl.header.stamp = now
                dvl.twist.twist.linear.x, dvl.twist.twist.linear.y, dvl.twist.twist.linear.z = SPEED
                self._dvl.publish(dvl)
            k += 1


class Estimator:
    """Publishes the topics of an estimator."""

    def __init__(self, ros):
        make = ros.operator.create_publisher
        self._parameters = make(JointState, "/uvms_estimator/trusted_parameters", LATCHED)
        self._covariance = make(Float64MultiArray, "/uvms_estimator/trusted_covariance", LATCHED)
        self._status = make(DiagnosticArray, "/uvms_estimator/status", LATCHED)

    def say(self, pi, names=ROBOT.table.names):
        message = JointState(name=list(names), position=list(pi), effort=[0.0] * len(pi))
        message.header.stamp = time_message(time.time())
        self._parameters.publish(message)

    def cover(self, covariance):
        self._covariance.publish(covariance_message(time.time(), ROBOT.table.names, covariance))

    def live(self, state="learning"):
        self._status.publish(DiagnosticArray(status=[DiagnosticStatus(
            values=[KeyValue(key="state", value=state)])]))


@pytest.fixture
def start(ros):
    """Starts the node with live sensors; both end with the test."""
    made = []

    def make(**settings):
        node = FeedforwardNode(
            context=ros.context, use_global_arguments=False, parameter_overrides=[
                Parameter(f"feedforward.{name}", value=value) for name, value in settings.items()])
        ros.begin(node)
        node.vehicle = Vehicle(ros)
        made.append(node)
        return node, Heard(ros)
    yield make
    for node in made:
        node.vehicle.stop()
        ros.end(node)


class Heard(SimpleNamespace):
    """Collects the node's outputs and its last status."""

    def __init__(self, ros):
        self.lists = {name: ros.collect(kind, f"/uvms_feedforward/{name}", QUEUE)
                      for name, kind in OUTPUTS.items()}
        self.statuses = ros.collect(DiagnosticArray, "/uvms_feedforward/status", LATCHED)
        self.ros = ros

    def values(self):
        return {v.key: v.value for v in self.statuses[-1].status[0].values}

    def said(self, word):
        """Whether the last status warns with this word."""
        status = self.statuses[-1].status[0]
        return status.level == b"\x01" and word in status.message

    def source(self, word):
        self.ros.until(lambda: self.statuses and self.values().get("source") == word,
                       what=f"source {word}")


def six(message):
    force, torque = message.force, message.torque
    return np.array([force.x, -force.y, -force.z, torque.x, -torque.y, -torque.z])


def expected(pi, nu_dot=np.zeros(6), mu_ddot=np.zeros(4), speed=np.zeros(4)):
    """Efforts at the vehicle's state within the limits, without yaw."""
    state = State(np.eye(3), np.concatenate([SPEED, np.zeros(3)]), np.array(MU), np.zeros(4))
    tau = inverse_dynamics(ROBOT, state, nu_dot, mu_ddot, pi).tau
    tau[6:] += pi[ROBOT.table.places(f"{j}.fs" for j in JOINTS)] * smooth_sign(speed)
    tau[6:] = np.clip(tau[6:], -ROBOT.effort_limits, ROBOT.effort_limits)
    return tau


def test_it_gives_the_efforts_of_the_wanted_motion(ros, start):
    """Wrench and joint efforts are the inverse dynamics of the trusted parameters, in FLU, with
    standard deviations; velocity, acceleration and the arm's reaction are published too, at 100 Hz.
    """
    node, heard = start(blend_time=.02, timeout=600.0)
    estimator = Estimator(ros)
    pi = 1.2 * node.feedforward._prior.x[:-1]
    pi[ROBOT.table.index["W"]] /= 1.2
    estimator.cover(np.diag((.1 * pi) ** 2))
    estimator.say(pi)
    heard.source("trusted")
    motion = MultiDOFJointTrajectory(points=[MultiDOFJointTrajectoryPoint(
        velocities=[Twist()], accelerations=[Twist()], time_from_start=Duration(sec=30 * k))
        for k in (0, 1)])
    for point in motion.points:
        point.accelerations[0].linear.x, point.accelerations[0].angular.z = .2, -.1
    arm = JointTrajectory(joint_names=list(JOINTS[::-1]), points=[JointTrajectoryPoint(
        velocities=[.1, 0., 0., 0.], accelerations=[.4, .3, .2, .1],
        time_from_start=Duration(sec=30 * k)) for k in (0, 1)])
    publishers = [ros.publisher(type(message), f"/uvms_feedforward/{name}_trajectory", 10)
                  for message, name in ((motion, "vehicle"), (arm, "arm"))]
    for publisher, message in zip(publishers, (motion, arm)):
        publisher.publish(message)
        ros.until(lambda: heard.values()["wanted motion"] == "given")
    tau = expected(pi, np.array([.2, 0, 0, 0, 0, .1]), np.array([.1, .2, .3, .4]),
                   np.array([0, 0, 0, .1]))

    def right():
        last = [heard.lists[name][-1] for name in ("wrench", "joint_efforts")]
        return (np.abs(six(last[0].wrench) - tau[:6]).max() < .3
                and np.abs(np.array(last[1].effort) - tau[6:]).max() < .02)
    ros.until(right, what="the efforts of both motions")
    assert all(heard.lists.values()), {name: len(found) for name, found in heard.lists.items()}
    assert heard.lists["wrench"][-1].header.frame_id == "base_link"
    np.testing.assert_allclose(six(heard.lists["wrench_reference"][-1]), tau[:6], atol=.3)
    velocity = heard.lists["velocity"][-1].twist.linear
    np.testing.assert_allclose([velocity.x, -velocity.y, -velocity.z], SPEED, atol=.01)
    assert min(heard.lists["joint_stddev"][-1].effort) >= 0
    vehicle = expected(np.where(np.arange(75) < 27, pi, 0), np.array([.2, 0, 0, 0, 0, .1]))[:6]
    np.testing.assert_allclose(six(heard.lists["arm_reaction"][-1].wrench), vehicle - tau[:6],
                               atol=.3)
    # A loaded machine may pause; docs/measure_feedforward.py has the figures.
    ros.until(lambda: float(heard.values()["age of state [s]"]) < .03)
    assert float(heard.values()["age of parameters [s]"]) >= 0
    calls, begin = node.calls, time.monotonic()
    ros.until(lambda: time.monotonic() - begin > 1.0)
    assert 40 < node.calls - calls < 120


def test_it_falls_back_when_the_estimator_is_silent_failed_or_mad(ros, start):
    """Each ends trust; the status gives the reason, and trust returns with the estimator."""
    node, heard = start(timeout=.3, blend_time=.02, estimator_node="uvms_estimator")
    heard.source("prior")
    estimator = Estimator(ros)
    pi = node.feedforward._prior.x[:-1].copy()
    estimator.say(pi)
    heard.source("trusted")
    heard.source("prior")                # silent
    assert heard.said("silent")
    begin = time.monotonic()
    while time.monotonic() - begin < .6:     # the status alone keeps trust in old parameters
        estimator.live("holding")
        ros.until(lambda: True)
        ros.executor.spin_once(timeout_sec=.02)
    heard.source("trusted")
    before = len(heard.statuses)
    estimator.live("failed")
    heard.source("prior")
    assert heard.said("failed")
    assert "has failed" in next(each for each in (
        status.status[0].message for status in heard.statuses[before:]) if "trusted" not in each)
    estimator.say(pi)
    heard.source("trusted")
    estimator.say(np.full(75, np.nan))
    heard.source("prior")
    ros.until(lambda: "refused" in heard.statuses[-1].status[0].message)
    estimator.say(pi[::-1], ROBOT.table.names[::-1])
    heard.source("trusted")
    estimator.say(pi[:3], ROBOT.table.names[:3])
    heard.source("prior")
    ros.until(lambda: "got 3 parameters" in heard.statuses[-1].status[0].message)


def test_without_sensors_the_efforts_fade_and_the_status_says_so(ros, start):
    """A state that is too old is an error, and efforts fade to zero within some time constants."""
    node, heard = start(blend_time=.02)
    heard.source("prior")
    wrenches = heard.lists["wrench"]
    ros.until(lambda: wrenches and abs(six(wrenches[-1].wrench)).max() > 1)
    node.vehicle.stop()
    ros.until(lambda: heard.statuses[-1].status[0].level == b"\x02")
    ros.until(lambda: abs(six(wrenches[-1].wrench)).max() < .1)
    assert "too old" in heard.statuses[-1].status[0].message and node.calls


def test_its_process_ends_with_status_0_and_refuses_in_one_sentence():
    """SIGINT ends it; an invalid setting is named."""
    with process("uvms_adaptive_dynamics.ros.feedforward_node", bufsize=1) as child:
        next(line for line in child.stdout if "efforts per second" in line)
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=20)[0]
        assert child.returncode == 0 and "Traceback" not in said, said
    child = process("uvms_adaptive_dynamics.ros.feedforward_node", "--ros-args", "-p",
                    "feedforward.fallback:=hope")
    out, _ = child.communicate(timeout=30)
    assert child.returncode == 1 and "feedforward.fallback" in out and "Traceback" not in out


def test_a_stamp_from_the_future_proves_no_age():
    """As after a jump of all sensors' clocks."""
    assert feedforward_node._age(2.0) == 2.0
    assert feedforward_node._age(-13.0) == "unknown: their stamp is 13 s ahead of the state"
