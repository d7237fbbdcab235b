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

"""The twin node over real DDS: sensors and trusted parameters in, forecasts with bands out."""
import json

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Path
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory

from uvms_adaptive_dynamics import Estimator
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.unexplained import BAND_STEP
from uvms_adaptive_dynamics.model.dynamics import State
from uvms_adaptive_dynamics.model.forward_simulation import Forward
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_quaternion, from_rpy
from uvms_adaptive_dynamics.ros import twin_node
from uvms_adaptive_dynamics.ros.demo.simulated_robot import MESSAGE_CLASSES, ros_message
from uvms_adaptive_dynamics.ros.messages import covariance_message, doubles, time_message
from uvms_adaptive_dynamics.ros.topic_qos import LATCHED
from uvms_adaptive_dynamics.ros.twin_messages import ForecastMessages
from uvms_adaptive_dynamics.ros.twin_node import TwinNode
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot

SENSOR = QoSProfile(depth=200, reliability=ReliabilityPolicy.RELIABLE)
START_NS = 1_800_000_000 * 10**9
OUTPUTS = {"path": Path, "vehicle": MultiDOFJointTrajectory, "joints": JointTrajectory,
           "stddev": JointTrajectory, "end": PoseWithCovarianceStamped}
ESTIMATOR = Estimator(Config(), learn=False)
NAMES = ESTIMATOR.table.names


@pytest.fixture
def node(ros):
    settings = {"use_sim_time": True, "twin.rate": 5.0, "twin.horizon": 1.0,
                **{f"qos_overrides./{topic}.subscription.reliability": "reliable"
                   for topic in MESSAGE_CLASSES}}
    made = TwinNode(context=ros.context, use_global_arguments=False,
                    parameter_overrides=[Parameter(name, value=value)
                                         for name, value in settings.items()])
    yield ros.begin(made)
    ros.end(made)


def parameters(values=ESTIMATOR.pi, names=NAMES):
    made = JointState(name=list(names), position=doubles(values), effort=doubles(0.01 * values))
    made.header.stamp = time_message(START_NS * 1e-9)
    return made


def covariance(names=NAMES):
    return covariance_message(START_NS * 1e-9, names,
                              1e-6 * np.diag(np.array(ESTIMATOR.table.scale) ** 2))


def status(noise=0.3, state="learning", trusted="true", scales="{}"):
    values = [KeyValue(key="state", value=state), KeyValue(key="trusted", value=trusted),
              KeyValue(key="scales", value=scales),
              *(KeyValue(key=f"noise {channel}", value=str(noise))
                for channel in ESTIMATOR.robot.channels)]
    return DiagnosticArray(status=[DiagnosticStatus(values=values)])


def said(message):
    return {pair.key: pair.value for pair in message.status[0].values}


def play(ros, node, seconds, behind=0):
    """The simulated robot in simulated time, as fast as the node follows; its clock is `behind` [s]
    that of the node."""
    robot = SimulatedRobot(3, None, start_ns=START_NS - behind * 10**9, truth_period=None)
    clock = ros.publisher(Clock, "/clock", QoSProfile(depth=10))
    publishers = {topic: ros.publisher(kind, f"/{topic}", SENSOR)
                  for topic, kind in MESSAGE_CLASSES.items()}
    sent = 0
    while robot.t < seconds:
        found = list(robot.advance(robot.t + 0.04))
        now, message = START_NS + round(robot.t * 1e9), Clock()
        message.clock.sec, message.clock.nanosec = divmod(now, 10**9)
        clock.publish(message)
        ros.until(lambda now=now: node.get_clock().now().nanoseconds == now)
        for each in found:
            publishers[each.topic].publish(ros_message(each))
        sent += len(found)
        ros.until(lambda sent=sent: sum(s.messages for s in node.inputs.subscriptions) >= sent)


def test_forecasts_come_with_bands_once_parameters_are_trusted(ros, node):
    """Before, the status says what is missing, and garbage is refused; then poses, joints and
    standard deviations arrive with equal stamps, and plans are used."""
    heard = {name: ros.collect(kind, f"/uvms_twin/{name}", 10) for name, kind in OUTPUTS.items()}
    statuses = ros.collect(DiagnosticArray, "/uvms_twin/status", LATCHED)
    play(ros, node, 1.2)
    ros.until(lambda: statuses and "trusted parameters" in statuses[-1].status[0].message)
    assert said(statuses[-1])["valid"] == "false" and not heard["path"]
    given = {topic: ros.publisher(kind, f"/uvms_estimator/{topic}", LATCHED) for topic, kind in
             (("trusted_parameters", JointState), ("trusted_covariance", Float64MultiArray),
              ("status", DiagnosticArray))}
    given["trusted_parameters"].publish(parameters(np.full(len(NAMES), np.nan)))
    given["trusted_parameters"].publish(parameters(np.ones(3), NAMES[:3]))
    given["trusted_covariance"].publish(covariance())
    given["status"].publish(status())
    ros.until(lambda: node.estimate.missing == "trusted parameters from '/uvms_estimator'")
    order = np.arange(len(NAMES))[::-1]        # by name, in whatever order
    given["trusted_parameters"].publish(parameters(ESTIMATOR.pi[order],
                                                   [NAMES[k] for k in order]))
    ros.until(lambda: all(heard.values()), what="forecasts")
    assert np.allclose(node.estimate.values, ESTIMATOR.pi)
    path, deviations = heard["path"][-1], heard["stddev"][-1]
    assert len(path.poses) == len(deviations.points) >= 1.0 / BAND_STEP
    assert deviations.joint_names[:6] == ["x", "y", "z", "roll", "pitch", "yaw"]
    assert deviations.points[-1].positions[0] > deviations.points[0].positions[0]
    assert list(deviations.points[-1].positions[6:]) == [0] * 4    # servos hold the joints
    ros.until(lambda: said(statuses[-1])["valid"] == "true")
    assert said(statuses[-1])["commands"] == "held"
    plan = ros.publisher(Float64MultiArray, "/uvms_twin/planned_wrench", 10)
    joints = ros.publisher(JointTrajectory, "/uvms_twin/planned_joints", 10)
    plan.publish(Float64MultiArray(data=[1.0, 2.0]))
    joints.publish(JointTrajectory(joint_names=["nobody"], points=[JointTrajectoryPoint()]))
    plan.publish(Float64MultiArray(data=[60.0, 20.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    ros.until(lambda: said(statuses[-1]).get("commands") == "planned")


def give(ros):
    """A trusted estimate; returns the publisher of its status."""
    given = [(ros.publisher(type(message), f"/uvms_estimator/{topic}", LATCHED), message)
             for topic, message in (("trusted_parameters", parameters()),
                                    ("trusted_covariance", covariance()), ("status", status()))]
    for publisher, message in given:
        publisher.publish(message)
    return given[-1][0]


def test_a_vehicle_whose_computer_has_another_clock_is_forecast_too(ros, node):
    """All stamps are 30 s behind the node's clock: ages and plans are those of the same clock."""
    statuses = ros.collect(DiagnosticArray, "/uvms_twin/status", LATCHED)
    give(ros)
    plan = ros.publisher(Float64MultiArray, "/uvms_twin/planned_wrench", 10)
    play(ros, node, 1.5, behind=30)
    ros.until(lambda: said(statuses[-1])["valid"] == "true", what="a forecast")
    assert 0 < float(said(statuses[-1])["age of start [s]"]) < 1
    assert float(said(statuses[-1])["ahead [s]"]) == pytest.approx(1.0, abs=BAND_STEP / 2 + 1e-6)
    plan.publish(Float64MultiArray(data=[5.0, 20.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    ros.until(lambda: said(statuses[-1]).get("commands") == "planned")


def test_what_the_estimator_corrects_is_corrected_in_the_forecast(ros, node):
    """A weak thruster, a scale of the thrust and of the DVL: the parameters hold with these."""
    heard, planned = [], node.planned.commands

    def commands(sample, ahead, behind, factor):
        heard.append((sample, factor))
        return planned(sample, ahead, behind, factor)
    node.planned.commands = commands
    publisher = give(ros)
    play(ros, node, 1.2)
    ros.until(lambda: heard, what="a forecast")
    publisher.publish(status(scales=json.dumps({
        "effort_factor": {"yaw": 0.7}, "velocity_factor": 1.3,
        "thruster_factor": [0.5] * 8})))
    ros.until(lambda: heard[-1][1][5] == 0.7, what="a forecast with the factors")
    play(ros, node, 1.6)
    assert heard[-1][1].tolist() == [1.0] * 5 + [0.7] + [1.0] * 4

    def share(sample):
        return sample.wrench / sample.by_thruster.sum(axis=1)[:6]
    assert share(heard[0][0]) == pytest.approx(np.ones(6))
    ros.until(lambda: np.allclose(share(heard[-1][0]), 0.5), what="a sample with the factors")


def test_the_status_says_why_the_parameters_may_be_old(ros, node, monkeypatch):
    """An estimator that is not trusted, has failed, or is gone; with its last trusted parameters
    forecasts continue."""
    statuses = ros.collect(DiagnosticArray, "/uvms_twin/status", LATCHED)
    monkeypatch.setattr(twin_node, "NONE_FOR", 600.0)
    estimator = give(ros)
    play(ros, node, 1.2)
    for message, words in ((status(trusted="false"), "are not trusted"),
                           (status(state="failed"), "has failed")):
        estimator.publish(message)
        ros.until(lambda words=words: words in statuses[-1].status[0].message, what=words)
    estimator.publish(status())
    ros.until(lambda: "last trusted" not in statuses[-1].status[0].message)
    monkeypatch.setattr(twin_node, "NONE_FOR", 0.0)
    ros.until(lambda: "no message from '/uvms_estimator': forecasting with the last trusted" in
              statuses[-1].status[0].message)
    assert said(statuses[-1])["valid"] == "true" and said(statuses[-1])["estimator"] == "learning"


def test_settings_change_or_are_refused_with_the_reason(node):
    """Gates reach the front end; a setting that the twin reads only at start is refused."""
    taken, = node.set_parameters([Parameter("dvl.max_speed", value=2.5)])
    assert taken.successful and node.config.dvl.max_speed == 2.5
    refused, = node.set_parameters([Parameter("twin.horizon", value=3.0)])
    assert not refused.successful and "at start" in refused.reason


def test_poses_and_covariances_are_in_the_axes_that_are_said():
    """North, east, down become east, north, up; the covariance of the end pose is about fixed
    axes."""
    config = Config()
    robot = RobotModel.from_config(config)
    state = State(from_rpy(0, 0, np.pi / 2), np.array([1.0, 2, 3, 4, 5, 6]), np.arange(4.0),
                  np.zeros(4))
    variances = np.arange(1.0, 21)
    run = Forward(np.zeros(1), (state,), np.array([[1.0, 2.0, 3.0]]),
                  np.array([np.diag(variances)]))
    built = ForecastMessages(config, robot)
    pose = built.path(10.0, run).poses[0].pose
    assert (pose.position.x, pose.position.y, pose.position.z) == (2, 1, -3)
    q = pose.orientation
    # heading east: its x axis is the world's
    assert np.allclose(np.reshape(from_quaternion(q.x, q.y, q.z, q.w), (3, 3)), np.eye(3))
    twist = built.vehicle(10.0, run).points[0].velocities[0]
    assert (twist.linear.y, twist.angular.z) == (-2, -6)
    assert np.allclose(np.square(built.stddev(10.0, run).points[0].positions),
                       [2, 1, 3, 4, 5, 6, 13, 14, 15, 16])
    covariance_of_end = np.reshape(built.end(10.0, run).pose.covariance, (6, 6))
    # to the east the body's x axis turns, to the north its y axis, reversed
    assert np.allclose(covariance_of_end, np.diag([2, 1, 3, 4, 5, 6]))
