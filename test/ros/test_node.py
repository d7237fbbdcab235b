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

"""The node over real DDS: topics, services, bad input, time jumps, and recordings that reproduce
the run."""
import array
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
import yaml
from campaign_cases import also, first
from diagnostic_msgs.msg import DiagnosticArray
from diagnostic_msgs.srv import AddDiagnostics
from geometry_msgs.msg import AccelStamped, TwistStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Log
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from ros_bus import bus, of_a_child, process
from rosbags.rosbag2 import Reader
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import FluidPressure, Imu, JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.disk.folder_lock import FolderLock
from uvms_adaptive_dynamics.errors import ConfigError, RobotError
from uvms_adaptive_dynamics.evaluation.bags import read_messages
from uvms_adaptive_dynamics.evaluation.run import run as evaluation
from uvms_adaptive_dynamics.model.parameter_file import load_parameters
from uvms_adaptive_dynamics.model.urdf_address import resolve_urdf
from uvms_adaptive_dynamics.ros import inputs as ros_inputs
from uvms_adaptive_dynamics.ros.demo.simulated_robot import MESSAGE_CLASSES, ros_message
from uvms_adaptive_dynamics.ros.estimator_node import EstimatorNode
from uvms_adaptive_dynamics.ros.messages import time_message
from uvms_adaptive_dynamics.ros.node_stages import FLOWN_TIMEOUT
from uvms_adaptive_dynamics.ros.subscriptions import PeriodicThread
from uvms_adaptive_dynamics.ros.worker import Worker
from uvms_adaptive_dynamics.signals.topics import inputs
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot

SENSOR = QoSProfile(depth=200,
                    reliability=ReliabilityPolicy.RELIABLE)  # compared messages must not get lost
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE_INPUTS = {f"qos_overrides./{topic}.subscription.reliability": "reliable"
                   for topic in MESSAGE_CLASSES}


@pytest.fixture
def start(ros, tmp_path, monkeypatch):
    """Starts the node on the test's executor; closes it at the end. Simulated time goes as fast as
    its messages are taken, so they are looked for more often than once a tick."""
    nodes = []
    monkeypatch.setattr(ros_inputs, "PeriodicThread",
                        lambda period, *rest: PeriodicThread(0.001, *rest))

    def make(**settings):
        settings = {"output.directory": str(tmp_path / "parameters"),
                    "output.diagnostics_period": 0.2, **RELIABLE_INPUTS, **settings}
        node = EstimatorNode(context=ros.context, use_global_arguments=False,
                             parameter_overrides=[Parameter(name, value=value)
                                                  for name, value in settings.items()])
        nodes.append(node)
        return ros.begin(node)

    yield make
    for node in nodes:
        ros.end(node)


class SimulatedTime:
    """Plays the simulated robot to a node in simulated time, as fast as the node follows."""

    def __init__(self, ros, node, seed=3):
        self.ros, self.node = ros, node
        self.robot = SimulatedRobot(seed, None, start_ns=1_800_000_000 * 10**9, truth_period=None)
        self.clock = ros.publisher(Clock, "/clock", QoSProfile(depth=10))
        self.publishers = {topic: ros.publisher(kind, f"/{topic}", SENSOR)
                           for topic, kind in MESSAGE_CLASSES.items()}
        self.now = 0
        self.sent = 0

    def tick(self, ns):
        """Set the clock and wait until the node sees it."""
        self.now = ns
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(ns, 10**9)
        self.clock.publish(message)
        self.ros.until(lambda: self.node.get_clock().now().nanoseconds == ns,
                       what="the node's clock")

    def send(self, topic, message):
        self.publishers[topic].publish(message)
        self.sent += 1

    def settled(self):
        """Whether everything sent has been received and no sample is waiting."""
        taken = sum(source.messages for source in self.node.inputs.subscriptions)
        return taken == self.sent and self.node.worker.backlog == 0

    def play(self, seconds, step=0.01):
        """Send messages of the next `seconds`, each within `step` [s] of its time of arrival."""
        until = self.robot.t + seconds
        while self.robot.t < until - 1e-9:
            messages = list(self.robot.advance(self.robot.t + step))
            self.tick(self.robot.start_ns + round(self.robot.t * 1e9))
            for message in messages:
                self.send(message.topic, ros_message(message))
            self.ros.until(self.settled, what="all messages taken")
            self.node.worker.call(lambda estimator: None)  # and all requests are answered


def asked(node, question):
    """Answer of the estimator, on the worker's thread."""
    return node.worker.call(question)


def parameters_of(node):
    return asked(node, lambda estimator: estimator.pi.copy())


def said(statuses, name):
    """The last status of a name."""
    found = [s for array_ in statuses for s in array_.status if s.name.endswith(f": {name}")]
    return found[-1] if found else None


def values_of(status):
    return {v.key: v.value for v in status.values}


# --- results of a run -----------------------------------------------------------------------------

def test_a_run_publishes_everything_and_its_recording_repeats_it(ros, start, tmp_path):
    """All outputs are published, stamped with ticks; the recorded bag gives the same parameters if
    no solve was skipped."""
    # No deadline, which would make the result depend on the machine's load.
    node = start(**{"use_sim_time": True, "output.record": str(tmp_path / "bag"),
                    "output.covariance_period": 0.5, "estimation.deadline": 10.0})
    found = {name: ros.collect(kind, f"/uvms_estimator/{name}", QoSProfile(depth=1000))
             for name, kind in (
        ("parameters", JointState), ("covariance", Float64MultiArray),
        ("predicted_wrench", WrenchStamped),
        ("wrench_stddev", WrenchStamped), ("predicted_joint_states", JointState),
        ("joint_stddev", JointState),
        ("measured_wrench", WrenchStamped), ("measured_joint_states", JointState),
        ("acceleration", AccelStamped))}
    time = SimulatedTime(ros, node)
    time.play(4.0, step=0.004)  # small steps: ticks come one by one and no solve is skipped
    ros.until(lambda: found["parameters"]
              and found["parameters"][-1].header.stamp == time_message(node.worker.snapshot.t))
    assert node.worker.skipped == 0 and node.worker.exceptions == 0, node.worker.last_error
    assert node.inputs.samples > 150
    assert all(found.values()), {name: len(messages) for name, messages in found.items()}

    names, last = node.robot.table.names, found["parameters"][-1]
    assert list(last.name) == list(names) and len(last.position) == len(last.effort) == len(names)
    assert all(np.isfinite(m.position).all() and np.isfinite(m.effort).all()
               for m in found["parameters"])
    # A tick is a multiple of 20 ms since the epoch.
    assert round((last.header.stamp.nanosec % 20_000_000) / 1e3) == 0
    assert found["covariance"][-1].layout.dim[0].size == len(names)
    assert found["predicted_wrench"][-1].header.frame_id == "base_link"
    assert list(found["predicted_joint_states"][-1].name) == list(node.robot.joints)
    # Invalid values are not published, and joints keep their names.
    assert all(set(m.name) <= set(node.robot.joints) and len(m.effort) == len(m.name) > 0
               for m in found["measured_joint_states"])
    predicted = {(m.header.stamp.sec, m.header.stamp.nanosec): m.wrench.force.x
                 for m in found["predicted_wrench"]}
    pairs = np.array([(m.wrench.force.x, predicted[m.header.stamp.sec, m.header.stamp.nanosec])
                      for m in found["measured_wrench"]])[-50:]
    assert len(pairs) == 50 and np.corrcoef(pairs.T)[0, 1] > 0.8

    node.inputs.recorder.close()
    replayed = evaluation([tmp_path / "bag"], node.config)
    scale = np.maximum(np.abs(parameters_of(node)), node.robot.table.scale)
    np.testing.assert_allclose(np.array(last.position) / scale, replayed.final.values / scale,
                               atol=1e-6, rtol=0)
    np.testing.assert_allclose(np.array(last.effort) / scale,
                               replayed.log.trajectory().stddev[-1] / scale, atol=1e-6, rtol=0)
    saved = asked(node, lambda estimator: estimator.parameter_set(described=False))
    np.testing.assert_allclose(saved.stddev / scale, replayed.final.stddev / scale,
                               atol=1e-6, rtol=0)


def test_a_topic_for_two_inputs_is_read_and_recorded_once(ros, start, tmp_path):
    """Odometry as IMU and DVL: both get every message, and the bag contains it once."""
    kind = "nav_msgs/msg/Odometry"
    node = start(**{"imu.type": kind, "dvl.type": kind, "imu.topic": "odom", "dvl.topic": "odom",
                    "dvl.frame": "flu", "output.record": str(tmp_path / "bag")})
    publisher = ros.publisher(Odometry, "/odom", SENSOR)
    for _ in range(5):
        publisher.publish(Odometry())
    states = node.inputs.front_end.inputs
    ros.until(lambda: states["imu"].received == states["dvl"].received == 5, what="all messages")
    node.inputs.recorder.close()
    with Reader(tmp_path / "bag") as bag:
        assert [c.topic for c, _, _ in bag.messages()] == ["/odom"] * 5


def test_parameters_are_latched(ros, start):
    """A controller that starts after the estimator gets the last parameters at once."""
    node = start(use_sim_time=True)
    SimulatedTime(ros, node).play(1.2)
    late = ros.collect(JointState, "/uvms_estimator/parameters", LATCHED)
    ros.until(lambda: late, what="the latched parameters")
    assert list(late[0].name) == list(node.robot.table.names)
    np.testing.assert_array_equal(late[0].position, parameters_of(node))


def test_outputs_can_be_frd(ros, start):
    """output.frame 'frd' only changes signs and the name of the frame."""
    node = start(**{"use_sim_time": True, "output.frame": "frd"})
    found = ros.collect(AccelStamped, "/uvms_estimator/acceleration", QoSProfile(depth=1000))
    SimulatedTime(ros, node).play(1.2)
    ros.until(lambda: found)
    assert found[-1].header.frame_id == "base_link_frd"


# --- bad input ------------------------------------------------------------------------------------

def test_bad_messages_are_counted_and_survived(ros, start):
    """NaN, wrong lengths, unknown joints and empty arrays: the node keeps running, reports them and
    continues to estimate."""
    node = start(use_sim_time=True)
    reports = ros.collect(DiagnosticArray, "/diagnostics", QoSProfile(depth=100))
    time = SimulatedTime(ros, node)
    time.play(2.0)
    before = node.inputs.samples
    imu, pressure, nan = Imu(), FluidPressure(), float("nan")
    imu.orientation.w = imu.linear_acceleration.x = nan
    pressure.fluid_pressure = nan
    stamp = ros_message(next(m for m in time.robot.advance(time.robot.t + 0.05)
                             if m.topic == "joint_states")).header

    def doubles(*values):
        return array.array("d", values)

    for topic, message in (
            ("imu/data", imu), ("imu/data", Imu()), ("depth", pressure),
            ("joint_states", JointState()),
            ("joint_states", JointState(header=stamp, name=["elbow"], position=doubles(1.0))),
            ("joint_states",
             JointState(header=stamp, name=list(node.robot.joints), position=doubles(1.0, 2.0))),
            ("joint_states",
             JointState(header=stamp, name=list(node.robot.joints),
                        position=doubles(nan, nan, nan, nan),
                        velocity=doubles(0, 0, 0, 0), effort=doubles(0, 0, 0, 0))),
            ("thruster_commands", Float64MultiArray()),
            ("thruster_commands", Float64MultiArray(data=doubles(1500.0, 1500.0))),
            ("thruster_commands", Float64MultiArray(data=doubles(*[nan] * 8)))):
        time.send(topic, message)
    ros.until(time.settled)
    assert sum(node.inputs.front_end.counters.values()) >= 8, node.inputs.front_end.counters
    time.play(1.0)
    assert node.inputs.samples > before + 20
    assert node.worker.exceptions == 0 and not node.inputs.dropped
    ros.until(lambda: values_of(said(reports, "refused messages")),
              what="refused messages in diagnostics") if reports else None
    assert np.isfinite(parameters_of(node)).all()


def test_an_exception_in_the_worker_does_not_end_the_node(ros, start):
    """It is counted and shown in diagnostics, and the next sample is processed."""
    node = start(use_sim_time=True)
    reports = ros.collect(DiagnosticArray, "/diagnostics", QoSProfile(depth=100))
    time = SimulatedTime(ros, node)
    time.play(1.5)
    healthy = asked(node, lambda estimator: estimator.solve)
    asked(node, lambda estimator: setattr(estimator, "solve", lambda begin: 1 / 0))
    time.play(0.3)
    ros.until(lambda: node.worker.exceptions > 0)
    ros.until(lambda: said(reports, "solver") and said(reports, "solver").level == b"\x02",
              what="the solver's error")
    assert "ZeroDivisionError" in said(reports, "solver").message
    asked(node, lambda estimator: setattr(estimator, "solve", healthy))
    solved = len(node.worker.solve_ms)
    time.play(0.3)
    assert len(node.worker.solve_ms) > solved


def test_silent_topics_are_warned_of_with_their_reason(ros, start):
    """Within 5 s each silent topic is named, with its type and the reason."""
    # A separate DDS participant: a single one cannot have two types on a topic.
    with bus() as drivers:
        drivers.operator.create_publisher(TwistStamped, "/dvl/twist", 10)
        drivers.operator.create_publisher(Imu, "/imu/data",
                                          QoSProfile(depth=10,
                                                     reliability=ReliabilityPolicy.BEST_EFFORT))
        drivers.operator.create_publisher(FluidPressure, "/bar30/pressure", 10)
        drivers.operator.create_publisher(JointState, "/joint_states", 10)
        log = ros.collect(Log, "/rosout", QoSProfile(depth=100))
        start()

        def warned(*words):
            return any(all(word in line.msg for word in words) for line in log)
        for words in (("'/dvl/twist'", "geometry_msgs/msg/TwistWithCovarianceStamped",
                       "its publisher '/operator' sends geometry_msgs/msg/TwistStamped"),
                      ("'/imu/data'", "incompatible QoS", "'/operator'"),
                      ("'/depth'", "no publisher exists", "/bar30/pressure"),
                      ("'/joint_states'", "exists and fits, but sends nothing")):
            assert ros.until(lambda words=words: warned(*words), timeout=5.0,
                             what=f"a warning with {words}")


# --- time -----------------------------------------------------------------------------------------

def test_time_that_jumps_back_keeps_the_estimate_and_splits_the_recording(ros, start, tmp_path):
    """Playing a bag again empties the horizon and keeps the estimate, and each recording is in time
    order."""
    node = start(**{"use_sim_time": True, "output.record": str(tmp_path / "bag")})
    time = SimulatedTime(ros, node)
    time.play(2.0)
    learnt, sent = parameters_of(node), time.sent
    again = SimulatedTime(ros, node)
    again.sent = sent
    again.tick(again.robot.start_ns)
    again.send("depth", FluidPressure(fluid_pressure=150000.0))
    ros.until(again.settled)
    node.worker.call(lambda estimator: None)
    assert node.worker.snapshot.window_filled == 0
    np.testing.assert_array_equal(parameters_of(node), learnt)
    again.play(2.0)
    assert node.worker.snapshot.window_filled > 10 and node.worker.exceptions == 0
    assert (tmp_path / "bag_2").is_dir()


def test_stamps_that_jump_are_said_in_the_log(ros, start):
    """A bag played in a loop without simulated time: stamps jump back, reception does not."""
    log = ros.collect(Log, "/rosout", QoSProfile(depth=100))
    node = start(use_sim_time=True)
    time = SimulatedTime(ros, node)
    time.play(1.5)
    made = node.inputs.samples
    time.robot = SimulatedRobot(3, None, start_ns=time.robot.start_ns - 3600 * 10**9,
                                truth_period=None)
    for _ in range(200):
        for message in time.robot.advance(time.robot.t + 0.01):
            time.send(message.topic, ros_message(message))
        time.tick(time.now + 10_000_000)
        ros.until(time.settled)
    ros.until(lambda: any("signals restart" in line.msg and "clock jumped" in line.msg
                          for line in log), what="the log")
    assert node.inputs.samples > made and node.worker.exceptions == 0


def test_without_simulated_time_nothing_is_taken(ros, start):
    """With use_sim_time and a silent /clock, messages are dropped and counted, since they have no
    time; their publisher is not blamed."""
    log = ros.collect(Log, "/rosout", QoSProfile(depth=100))
    node = start(use_sim_time=True)
    publisher = ros.publisher(FluidPressure, "/depth", SENSOR)
    publisher.publish(FluidPressure(fluid_pressure=1.2e5))
    ros.until(lambda: node.inputs.dropped["no simulated time on /clock yet"] == 1)
    assert node.inputs.front_end.inputs["depth"].used == 0 and node.inputs.samples == 0
    ros.until(lambda: any("nothing has arrived on /clock" in line.msg for line in log),
              what="the cause")
    silent = [line.msg for line in log if line.msg.startswith("no message yet on")]
    assert len(silent) == 4 and not any("'/depth'" in text for text in silent)


# --- services -------------------------------------------------------------------------------------

def test_services(ros, start, tmp_path):
    """save and load reproduce the parameters, reset returns to the prior, disable stops learning
    but not predicting."""
    node = start(use_sim_time=True)
    time = SimulatedTime(ros, node)
    time.play(2.0)
    name = "/uvms_estimator/"
    learnt = parameters_of(node)
    answer = ros.call(Trigger, name + "save")
    assert answer.success and "parameters.yaml" in answer.message
    np.testing.assert_allclose(load_parameters(node.memory.folder / "parameters.yaml").values,
                               learnt)

    prior = asked(node, lambda estimator: estimator.prior.values)
    answer = ros.call(Trigger, name + "reset")
    assert answer.success and "reset to the built-in prior" in answer.message
    np.testing.assert_array_equal(parameters_of(node), prior)
    answer = ros.call(Trigger, name + "load")
    assert answer.success
    assert "Loaded 75 parameters" in answer.message
    assert "their covariance and the noise of 10 channels" in answer.message
    np.testing.assert_allclose(parameters_of(node), learnt, rtol=1e-12)
    assert node.worker.snapshot.started_from_file
    assert ros.call(Trigger, name + "reset").success
    np.testing.assert_array_equal(parameters_of(node), prior)
    answer = ros.call(Trigger, name + "save")
    assert answer.message.endswith(
        "The file before knew more; it is kept as 'parameters.before.yaml'.")
    (node.memory.folder / "parameters.before.yaml").replace(node.memory.folder / "parameters.yaml")
    assert ros.call(Trigger, name + "load").success

    assert ros.call(SetBool, name + "enable", SetBool.Request(data=False)).success
    predicted = ros.collect(WrenchStamped, name + "predicted_wrench", QoSProfile(depth=1000))
    time.play(1.5)
    ros.until(lambda: predicted, what="predictions while disabled")
    np.testing.assert_array_equal(parameters_of(node), learnt)
    assert not node.worker.snapshot.learn
    assert ros.call(SetBool, name + "enable", SetBool.Request(data=True)).success
    time.play(1.5)
    assert not np.array_equal(parameters_of(node), learnt)

    text = ros.call(Trigger, name + "parameter_file").message
    (tmp_path / "handed.yaml").write_text(text)
    handed = load_parameters(tmp_path / "handed.yaml")
    assert handed.covariance is not None and handed.information is not None
    assert handed.row_noise_stddev is not None

    answer = ros.call(Trigger, name + "next_stage")
    assert not answer.success and "schedule" in answer.message


def test_stages(ros, start, tmp_path):
    """~/stage shows what is free, the progress and what is missing, latched; ~/next_stage ends a
    stage by hand, ~/reset returns to the first; the log reports each. If a node may move the robot,
    the first stage waits for ~/run_stages."""
    own = tmp_path / "own.yaml"
    own.write_text("stages:\n"
                   "  - {name: arm, title: the arm, free: ['*.*'], move: [joints]}\n"
                   "  - {name: all, title: everything, free: ['*'], move: ['*']}\n")
    log = ros.collect(Log, "/rosout", QoSProfile(depth=1000))
    node = start(**{"use_sim_time": True, "estimation.schedule": str(own),
                    "identification.move": True})
    heard = ros.collect(DiagnosticArray, "/uvms_estimator/stage", LATCHED)

    def said():
        return {pair.key: pair.value for pair in heard[-1].status[0].values}
    ros.until(lambda: heard, what="the stage at the start")
    assert said()["stage"] == "arm" and said()["elapsed"] == "0"
    assert said()["state"] == "waiting"
    assert "waiting at 0 s, until the node that moves the robot is armed" in (
        heard[-1].status[0].message)
    assert asked(node, lambda estimator: estimator.knowledge.free_set.held.sum()) == 27
    time = SimulatedTime(ros, node)
    time.play(1.5)
    answer = ros.call(SetBool, "/uvms_estimator/run_stages", SetBool.Request(data=True))
    assert answer.success and "0% after 0 s" in answer.message
    ros.until(lambda: said()["state"] == "running", what="the stage that runs")
    assert "axis_e: has moved too little, or its rows are masked" in heard[-1].status[0].message
    flown = ros.operator.create_publisher(String, "/uvms_estimator/flown_stage", 10)
    ros.until(lambda: flown.get_subscription_count() == 1, what="the estimator that listens")
    repeated = ros.operator.create_timer(0.1, lambda: flown.publish(String(data="all")))
    ros.until(lambda: node._stages._flown is not None, what="the flown stage")
    time.play(1.5)
    ros.until(lambda: float(said()["elapsed"]) >= 1.0, what="time without the stage's motion")
    assert float(said()["moved axis_b"]) == 0.0
    assert "the stage's own motion has not begun" in said()["missing axis_e"]
    repeated.cancel()       # its node has died: nothing moves the robot any more
    assert said()["state"] == "running"
    until = monotonic() + 1.1 * FLOWN_TIMEOUT
    ros.until(lambda: monotonic() > until, what="its silence")
    elapsed = float(said()["elapsed"])
    time.play(1.5)
    ros.until(lambda: said()["state"] == "waiting", what="the stages that wait")
    assert float(said()["elapsed"]) <= elapsed + 1.0
    ros.until(lambda: any("no message of the node that moves the robot for" in line.msg
                          for line in log))
    # the caller of ~/run_stages moves the robot
    ros.call(SetBool, "/uvms_estimator/run_stages", SetBool.Request(data=True))
    time.play(2.5)
    ros.until(lambda: float(said()["elapsed"]) >= 3.0, what="progress")
    assert float(said()["moved axis_b"]) > 0 and heard[-1].header.stamp.sec > 0
    assert "missing axis_d" in said() and said()["move"].startswith("axis_e,axis_d")
    answer = ros.call(Trigger, "/uvms_estimator/next_stage")
    assert answer.success and "ended by hand" in answer.message and "everything" in answer.message
    ros.until(lambda: said()["stage"] == "all", what="the next stage")
    assert said()["last stage ended"] == "by hand" and "axis" in said()["last stage missing"]
    assert asked(node, lambda estimator: estimator.knowledge.free_set.held.sum()) == 0
    statement = node.memory.folder / "statement.md"
    ros.until(statement.is_file, what="the statement after the stage")
    assert "| arm | by hand after " in statement.read_text()
    assert ros.call(Trigger, "/uvms_estimator/reset").success
    ros.until(lambda: said()["stage"] == "arm", what="the first stage again")
    assert asked(node, lambda estimator: estimator.knowledge.free_set.held.sum()) == 27
    ended = "stage 1 of 2, the arm: ended by hand"
    ros.until(lambda: any(ended in line.msg for line in log))
    assert sum(ended in line.msg for line in log) == 1
    assert node.worker.exceptions == 0


def test_a_schedule_that_does_not_exist_ends_the_start(start):
    with pytest.raises(ConfigError, match="expected one of all_at_once"):
        start(**{"estimation.schedule": "giuded"})


@pytest.mark.parametrize("file",
                         ["../outside.yaml", "/tmp/outside.yaml", "", ".", "a/../../b.yaml",
                          ".lock"])
def test_save_and_load_stay_in_their_directory(ros, start, file):
    """Both refuse a file name that leads out of output.directory."""
    start(**{"output.file": file})
    for service in ("save", "load"):
        answer = ros.call(Trigger, f"/uvms_estimator/{service}")
        assert not answer.success and "output.directory" in answer.message


def test_a_link_out_of_the_directory_is_refused(ros, start, tmp_path):
    """Symbolic links are resolved before the check."""
    node = start(**{"output.file": "link.yaml"})
    (node.memory.folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    assert not ros.call(Trigger, "/uvms_estimator/save").success
    assert not (tmp_path / "outside.yaml").exists()


def test_load_says_what_is_wrong_with_a_file(ros, start):
    """A missing or foreign file gives an answer; the node continues."""
    node = start()
    assert "cannot be read" in ros.call(Trigger, "/uvms_estimator/load").message
    (node.memory.folder / "parameters.yaml").write_text("parameters: {W: 1.0, elbow: 2.0}\n")
    answer = ros.call(Trigger, "/uvms_estimator/load")
    assert not answer.success and "elbow" in answer.message
    np.testing.assert_array_equal(parameters_of(node), asked(node, lambda e: e.prior.values))


@pytest.mark.parametrize("change, words", [
    ({"noise_stddev": [1.0, 0.0] + [1.0] * 8}, "noise_stddev of 'sway' is 0"),
    ({"robot": {"joints": list("abcd"), "vehicle": True}},
     "another robot: its joints (a, b, c, d)"),
    ({"schema": 7}, "has schema 7; expected 1")])
def test_load_refuses_what_would_spoil_every_solve(ros, start, change, words):
    """The answer gives file, got, expected and what to do; the estimate stays."""
    node = start()
    assert ros.call(Trigger, "/uvms_estimator/save").success
    path = node.memory.folder / "parameters.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **change}))
    answer = ros.call(Trigger, "/uvms_estimator/load")
    assert not answer.success and words in answer.message and str(path) in answer.message
    assert not node.worker.snapshot.started_from_file


def test_a_file_by_hand_says_what_stands_in(ros, start):
    """Covariance and noise then come from the settings, and the answer says so."""
    node = start()
    values = asked(node, lambda e: dict(zip(e.table.names, map(float, e.pi))))
    path = node.memory.folder / "parameters.yaml"
    path.write_text(yaml.safe_dump({"parameters": values}))
    answer = ros.call(Trigger, "/uvms_estimator/load")
    assert answer.success and "no covariance: estimation.prior_stddev is used" in answer.message


def test_files_have_names(ros, start):
    """save_as and load_from accept any name in the robot's folder. Invalid and reserved names are
    refused; for a missing file the answer lists the existing ones."""
    node = start()
    name = "/uvms_estimator/"

    def call(service, file):
        return ros.call(AddDiagnostics, name + service,
                        AddDiagnostics.Request(load_namespace=file))
    assert call("save_as", "pool").success and call("save_as", "sea.yaml").success
    assert sorted(path.name for path in node.memory.folder.glob("*.yaml")) == ["pool.yaml",
                                                                               "sea.yaml"]
    answer = call("load_from", "pool")
    assert answer.success and str(node.memory.folder / "pool.yaml") in answer.message
    assert "expected one of pool, sea" in call("load_from", "lake").message
    for bad in ("", "..", "../x", "a/b", "/etc/x", ".hidden", "x" * 101, "state", "state.yaml",
                "statement", "statement.yaml"):
        answer = call("save_as", bad)
        assert not answer.success and "load_namespace" in answer.message, bad
    assert "does not exist" in call("load_from", "state").message
    # 297 bytes, beyond any file system: an answer, and the node lives on
    for service in ("save_as", "load_from"):
        answer = call(service, "\u6c34" * 99)
        assert not answer.success and "too long" in answer.message
    assert call("load_from", "pool").success


@pytest.mark.parametrize("file", ["state.yaml", "statement.yaml", "state.x.yaml"])
def test_save_replaces_no_file_of_the_node(ros, start, file):
    """Nor does ~/save by output.file, which may change while the node runs."""
    node = start()
    assert node.set_parameters([Parameter("output.file", value=file)])[0].successful
    answer = ros.call(Trigger, "/uvms_estimator/save")
    assert not answer.success and "reserved" in answer.message
    assert not (node.memory.folder / file).exists()


def test_an_answer_does_not_promise_learning_that_is_off(ros, start):
    """~/enable false holds through a reset and a load, and their answers say so."""
    start()
    name = "/uvms_estimator/"
    assert ros.call(Trigger, name + "save").success
    assert ros.call(SetBool, name + "enable", SetBool.Request(data=False)).success
    for service in ("reset", "load"):
        answer = ros.call(Trigger, name + service)
        assert answer.success and "Estimation is off" in answer.message
        assert "estimating from" not in answer.message
    assert ros.call(SetBool, name + "enable", SetBool.Request(data=True)).success
    assert "estimating from scratch" in ros.call(Trigger, name + "reset").message


def test_a_node_goes_on_where_the_last_one_ended(ros, start):
    """The state is saved at exit; the next node starts from it and says so."""
    node = start(use_sim_time=True)
    SimulatedTime(ros, node).play(2.0)
    learnt, rows = parameters_of(node), asked(node, lambda e: e.information.rows_learned)
    ros.end(node)
    log = ros.collect(Log, "/rosout", QoSProfile(depth=100))
    again = start(use_sim_time=True, **{"prior.file": "auto"})
    np.testing.assert_allclose(parameters_of(again), learnt, rtol=1e-12)
    said = ros.until(lambda: [line.msg for line in log if "prior: started from" in line.msg])
    assert f"with {rows} rows" in said[0] and str(again.memory.folder / "state.yaml") in said[0]
    progress = again.worker.snapshot.progress
    assert (progress.jumps, progress.jump_reason) == (0, "start from a saved estimate")
    assert "built-in prior" in ros.call(Trigger, "/uvms_estimator/reset").message
    assert not again.worker.snapshot.started_from_file
    progress = again.worker.snapshot.progress
    assert (progress.jumps, progress.jump_reason) == (1, "restart from the prior")
    answer = ros.call(AddDiagnostics, "/uvms_estimator/load_from",
                      AddDiagnostics.Request(load_namespace="state"))
    assert answer.success and "Loaded 75 parameters" in answer.message
    progress = again.worker.snapshot.progress
    assert (progress.jumps, progress.jump_reason) == (2, "restart from a saved estimate")


def test_an_end_leaves_no_thread_whatever_goes_wrong(ros, start, monkeypatch):
    """If recording or memory fail at exit, the other threads are still joined: a remaining one
    would keep the process alive."""
    before = set(threading.enumerate())
    node = start()
    names = {thread.name for thread in set(threading.enumerate()) - before}
    assert {"inputs", "estimator", "memory", "status"} <= names

    def fail():
        raise OSError("the disk is gone")
    stop = node.memory.stop
    monkeypatch.setattr(node.memory, "stop", lambda: (stop(), fail()))
    ros.executor.remove_node(node)
    with pytest.raises(OSError, match="the disk is gone"):
        node.close()
    assert not {thread for thread in set(threading.enumerate()) - before if thread.is_alive()}


def test_a_start_that_fails_late_leaves_no_thread_and_no_lock(ros, start, monkeypatch):
    """Even if other threads run already, the caller gets the error, and the folder is unlocked."""
    before = set(threading.enumerate())

    def fail(inputs):
        raise ConfigError("no such topic")
    monkeypatch.setattr(ros_inputs.NodeInputs, "start", fail)
    made = EstimatorNode(context=ros.context, use_global_arguments=False)
    with pytest.raises(ConfigError, match="no such topic"):
        made.begin()
    assert made.worker is not None and made.memory is not None
    made.close()
    assert not {thread for thread in set(threading.enumerate()) - before if thread.is_alive()}
    assert FolderLock(made.memory.folder).take()


def test_a_slow_worker_fails_a_service_and_not_the_node(ros, start, monkeypatch):
    """The answer says that nothing was changed, and the status continues; the next call works."""
    node = start()
    release, statuses = threading.Event(), []
    publish = node._outputs.publish
    node._parameter_outputs._publish = lambda name, message: (statuses.append(name),
                                                              publish(name, message))
    node.worker.request(lambda estimator: release.wait(20))
    patient = Worker.call
    monkeypatch.setattr(Worker, "call", lambda self, action: patient(self, action, 1.2))
    try:
        answer = ros.call(SetBool, "/uvms_estimator/enable", SetBool.Request(data=False))
    finally:
        release.set()
    assert statuses.count("status") >= 2
    assert not answer.success and "Nothing was changed; try again" in answer.message
    monkeypatch.undo()
    assert ros.call(Trigger, "/uvms_estimator/save").success
    assert node.worker.snapshot.learn


# --- robots ---------------------------------------------------------------------------------------

def test_the_description_is_waited_for(ros, start):
    """With robot.urdf 'robot_description' the node starts when the topic arrives, with the arm it
    describes."""
    node = start(**{"robot.urdf": "robot_description"})
    assert node.worker is None
    publisher = ros.publisher(String, "/robot_description", LATCHED)
    publisher.publish(String(data=Path(resolve_urdf(Config().robot.urdf)).read_text()))
    ros.until(lambda: node.worker is not None, what="the node to start")
    assert node.robot.table.size == 75


def test_a_description_that_is_no_urdf_ends_the_node_with_a_sentence(ros, start):
    """The error leaves spin(), and main() turns it into a message and an exit status."""
    start(**{"robot.urdf": "robot_description"})
    publisher = ros.publisher(String, "/robot_description", LATCHED)
    publisher.publish(String(data="<nothing/>"))
    with pytest.raises(RobotError):
        ros.until(lambda: False, timeout=5.0)


@pytest.mark.parametrize("settings, topics", [
    ({"robot.joints": Parameter.Type.NOT_SET},
     {"predicted_wrench", "wrench_stddev", "measured_wrench", "acceleration"}),
    ({"robot.vehicle": False, "robot.mount_xyz": [0.0, 0.0, 0.0]},
     {"predicted_joint_states", "joint_stddev", "measured_joint_states", "payload"})])
def test_a_robot_without_arm_or_vehicle_has_the_topics_that_it_can_fill(ros, start, settings,
                                                                        topics):
    """There is no wrench topic for a fixed base."""
    node = start(**{name: None if value is Parameter.Type.NOT_SET else value
                    for name, value in settings.items()})
    own = {name.rsplit("/", 1)[-1]
           for name, _ in node.get_publisher_names_and_types_by_node("uvms_estimator", "/")
           if "/uvms_estimator/" in name}
    assert own == topics | {"parameters", "parameter_intervals", "trusted_parameters", "status",
                            "stage", "covariance", "trusted_covariance"}


def test_diagnostics_tell_the_whole_story(ros, start):
    """Overall, every input, rows, solver with times, estimate with rank, predictions, refused
    messages."""
    node = start(use_sim_time=True)
    reports = ros.collect(DiagnosticArray, "/diagnostics", QoSProfile(depth=100))
    SimulatedTime(ros, node).play(2.0)
    ros.until(lambda: said(reports, "estimate")
              and values_of(said(reports, "estimate"))["identifiable rank"] not in ("-", "0"),
              what="the rank")
    names = {s.name.split(": ", 1)[1] for s in reports[-1].status}
    assert {"overall", "masked rows", "solver", "estimate", "predictions",
            "refused messages", "memory"} <= names
    assert len(names) > 10  # and one for each input
    imu = values_of(said(reports, "input imu"))
    assert imu["resolved topic"] == "/imu/data" and imu["type"] == "sensor_msgs/msg/Imu"
    assert imu["QoS"] == "reliable volatile" and "/operator (reliable" in imu["publishers"]
    solver = values_of(said(reports, "solver"))
    assert {"solver", "solve median [ms]", "solve 99th percentile [ms]", "failures",
            "skipped solves"} <= set(solver)
    assert set(node.robot.channels) <= set(values_of(said(reports, "masked rows")))


def test_the_period_of_diagnostics_may_change_while_it_runs(ros, start):
    """`ros2 param set` changes the timer; a fixed setting and a bad value are refused."""
    node = start(**{"output.diagnostics_period": 600.0})
    reports = ros.collect(DiagnosticArray, "/diagnostics", QoSProfile(depth=100))
    ros.until(lambda: ros.operator.count_publishers("/diagnostics"))
    answers = node.set_parameters([Parameter("output.diagnostics_period", value=0.1),
                                   Parameter("output.diagnostics_period", value=0.0),
                                   Parameter("estimation.horizon", value=3)])
    assert [answer.successful for answer in answers] == [True, False, False]
    ros.until(lambda: len(reports) > 2, what="reports at the new period")


# --- the process ----------------------------------------------------------------------------------

@pytest.mark.parametrize("how", first(1, [signal.SIGINT, signal.SIGTERM]))
def test_the_process_ends_cleanly_and_its_bag_can_be_read(ros, tmp_path, how):
    """SIGINT and SIGTERM: status 0, no traceback, a finished recording."""
    child = process("uvms_adaptive_dynamics.ros.node", "--ros-args", "-p",
                    f"output.record:={tmp_path / 'bag'}")
    try:
        publishers = {topic: ros.publisher(kind, f"/{topic}", SENSOR)
                      for topic, kind in MESSAGE_CLASSES.items()}
        found = ros.collect(DiagnosticArray, "/diagnostics", QoSProfile(depth=10))
        ros.until(lambda: found)
        for publisher, kind in zip(publishers.values(), MESSAGE_CLASSES.values()):
            for _ in range(5):
                publisher.publish(kind())
        ros.until(lambda: said(found, "recorder")
                  and int(values_of(said(found, "recorder"))["messages"]) >= 25)
        child.send_signal(how)
        words = child.communicate(timeout=20)[0]
    finally:
        child.kill()
    assert child.returncode == 0, words
    assert "Traceback" not in words and "25 messages recorded" in words
    assert sum(1 for _ in read_messages(tmp_path / "bag", inputs(Config()))) == 25


@pytest.fixture(scope="module")
def refused():
    """Starts the node with unusable arguments: (exit status, output)."""
    script = Path(__file__).resolve().parents[1] / "node_refusals.py"
    with subprocess.Popen([sys.executable, str(script)], env=of_a_child(), text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        def start(*arguments):
            starter.stdin.write(json.dumps(arguments) + "\n")
            starter.stdin.flush()
            return json.loads(starter.stdout.readline())
        yield start
        starter.stdin.close()


@pytest.mark.parametrize("arguments, sentence", [
    (["--ros-args", "-p", "estimation.horizn:=5"],
     "setting 'estimation.horizn' does not exist. Did you mean 'estimation.horizon'?"),
    also(["--ros-args", "-p", "filter.period:=-1.0"],
     "setting 'filter.period' is -1.0; expected a number from 0.001 to 1 [s]"),
    (["--ros-args", "-p", "dvl.type:=dvl_msgs/msg/DVL"],
     "package 'dvl_msgs' is not installed; install it (apt install ros-jazzy-dvl-msgs"),
    (["--ros-args", "-p", "imu.topic:=no//topic"],
     "setting 'imu.topic' is 'no//topic', which cannot be subscribed"),
    also(["--ros-args", "-p", "robot.urdf:=/nowhere.urdf"], "/nowhere.urdf"),
    also(["--ros-args", "-p", "estimation.solver:=cvxpy:NONE"], "NONE"),
    (["--ros-args", "-p", "use_sim_time:=perhaps"], "use_sim_time"),
    also(["--ros-args", "-p", "imu.xyz:=[0, 0.5, 1]"], "have a decimal point or none: [1.0, 2.5]"),
    also(["--ros-args", "--params-file", "/nowhere.yaml"], "/nowhere.yaml"),
    also(["--ros-args", "-p", "output.record:=/"], "setting 'output.record' is '/', which exists"),
    also(["--ros-args", "-p", "output.record:=/dev/null/bag"], "'/dev/null' is a device"),
    also(["--ros-args", "-p", "output.directory:=/dev/null"], "where '/dev/null' is a device"),
    also(["--ros-args", "-p", "output.directory:=/etc/passwd/x"],
         "'output.directory' is '/etc/pas"),
    also(["--ros-args", "-p", "thrusters.curve:=/dev/zero"], "table '/dev/zero' cannot be read"),
    also(["--ros-args", "-p", "prior.file:=/dev/zero"],
         "'/dev/zero' cannot be read: it is a device"),
    (["--ros-args", "--params-file", "/dev/zero"], "'/dev/zero' cannot be read: it is a device"),
    also(["--ros-args", "-r", "--nonsense"], ""),
    (["nonsense"], "unrecognized arguments: nonsense")])
def test_what_cannot_be_used_is_refused_at_start(refused, arguments, sentence):
    """With a message, a nonzero status and no traceback."""
    status, words = refused(*arguments)
    assert status > 0, words
    assert sentence in words and "Traceback" not in words, words


def test_a_log_directory_that_cannot_be_written_is_refused(monkeypatch):
    """As on a read-only home; the message gives the variable to set."""
    monkeypatch.setenv("ROS_LOG_DIR", "/dev/null/log")
    ended = process("uvms_adaptive_dynamics.ros.node")
    words, _ = ended.communicate(timeout=60)
    assert ended.returncode == 1, words
    assert "'/dev/null/log'. Set the environment variable ROS_LOG_DIR" in words, words
    assert "Traceback" not in words


def test_a_malformed_parameter_file_is_refused(refused, tmp_path):
    """The message gives file and line."""
    path = tmp_path / "bad.yaml"
    path.write_text("/**:\n  ros__parameters:\n    imu: [\n")
    status, words = refused("--ros-args", "--params-file", str(path))
    assert status == 1, words
    assert str(path) in words and "line" in words and "Traceback" not in words, words


def test_a_parameter_file_for_another_namespace_is_refused(refused, tmp_path):
    """The message gives the name in the file and that of the node."""
    path = tmp_path / "rov.yaml"
    path.write_text("/rov/uvms_estimator:\n  ros__parameters:\n    filter.gap: 2.0\n")
    status, words = refused("--ros-args", "--params-file", str(path), "-r", "__ns:=/auv")
    assert status == 1 and "Traceback" not in words, words
    assert "only for '/rov/uvms_estimator'" in words and "'/auv/uvms_estimator'" in words
