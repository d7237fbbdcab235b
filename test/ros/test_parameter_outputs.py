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

"""What subscribers of the parameters receive over real DDS: states, ages, jumps and trusted
parameters. Samples are passed to the worker directly, so that minutes pass within seconds."""
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from analytic import START, AnalyticMotion, stream
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_bus import bus
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import SolverError
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.estimation.validity import NONE_FOR
from uvms_adaptive_dynamics.ros.estimator_node import EstimatorNode
from uvms_adaptive_dynamics.ros.messages import read_covariance
from uvms_adaptive_dynamics.ros.parameter_outputs import SILENCE_LOOK_S
from uvms_adaptive_dynamics.ros.validity import ValidityMonitor
from uvms_adaptive_dynamics.ros.worker import Worker

KEPT = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
LANES = {"parameters": JointState, "trusted_parameters": JointState, "status": DiagnosticArray,
         "covariance": Float64MultiArray, "trusted_covariance": Float64MultiArray}
JUDGED_S = 3.6      # the low-pass, and six batches of half a second


class Watched:
    """A node, its messages, and samples of a robot that moves as its prior predicts."""

    def __init__(self, ros, tmp_path, **settings):
        self.ros, self.period, self.tick = ros, 0.02, 0
        settings = {"output.directory": str(tmp_path), "filter.period": self.period, **settings}
        self.node = EstimatorNode(context=ros.context, use_global_arguments=False,
                                  parameter_overrides=[Parameter(name, value=value)
                                                       for name, value in settings.items()])
        self.heard = {name: ros.collect(kind, f"/uvms_estimator/{name}", KEPT)
                      for name, kind in LANES.items()}
        ros.begin(self.node)
        self.worker = self.node.worker
        self.motion = AnalyticMotion(0, config=self.node.config, joints=4)
        self.pi = self.asked(lambda estimator: estimator.prior.values.copy())

    def asked(self, question):
        return self.worker.call(question)

    def learn(self, seconds):
        """Pass the worker samples of so many seconds, one after the other."""
        for _ in range(round(seconds / self.period)):
            self.worker.submit(self.sample())
            self.asked(lambda estimator: None)

    def play(self, seconds, silent):
        """Pass the front end messages of so many seconds, except those with silent(role, t), and
        its samples to the worker, one after the other."""
        front_end = self.node.inputs.front_end
        for role, message, t in stream(self.motion, self.node.robot, self.pi, seconds):
            if silent(role, t - START):
                continue
            front_end.add_message(role, message, t)
            for sample in front_end.samples():
                self.worker.submit(sample)
                self.asked(lambda estimator: None)

    def sample(self):
        """The next sample."""
        sample = self.motion.sample(self.period * self.tick, self.node.robot, self.pi)
        noise = 1e-3 * np.random.default_rng(self.tick).normal(size=10)
        self.tick += 1
        return replace(sample, wrench=sample.wrench + noise[:6],
                       joint_torque=sample.joint_torque + noise[6:])

    def status(self):
        """The last status: (stamp, level, values by key)."""
        message = self.heard["status"][-1]
        status, = message.status
        return message.header.stamp, status.level, {v.key: v.value for v in status.values}

    def said(self, state, **values):
        """Wait for a status with this state and these values."""
        def fits():
            found = self.heard["status"] and self.status()[2]
            return found and found["state"] == state and values.items() <= found.items()
        self.ros.until(fits, what=f"{state} {values}, not "
                       f"{self.heard['status'] and self.status()}")
        return self.status()[2]


@pytest.fixture
def watched(tmp_path):
    with bus() as ros:
        made = []

        def make(**settings):
            made.append(Watched(ros, tmp_path, **settings))
            return made[-1]
        yield make
        for one in made:
            ros.end(one.node)


def stamp_of(message):
    return message.header.stamp.sec, message.header.stamp.nanosec


def test_from_the_prior_to_a_trusted_estimate(watched):
    """Waiting with the prior, learning, then trusted; status, parameters and covariances have the
    same stamps, and nothing is NaN."""
    node = watched()
    values = node.said("waiting", trusted="false", reset_count="0")
    assert values["reset_reason"] == "start from the prior" and values["age surge"] == "inf"
    node.ros.until(lambda: node.heard["parameters"])
    np.testing.assert_array_equal(node.heard["parameters"][0].position, node.pi)
    first = node.heard["parameters"][0].header
    assert first.frame_id == "waiting" and (first.stamp.sec, first.stamp.nanosec) == (0, 0)
    node.learn(1.0)
    assert "not been judged" in node.said("learning", trusted="false")["reason"]
    assert not node.heard["trusted_parameters"]
    node.learn(JUDGED_S)
    values = node.said("learning", trusted="true")
    node.worker.request_knowledge()
    node.learn(0.1)
    node.ros.until(lambda: int(node.status()[2]["rank"]) > 0, what="a rank")
    last = node.heard
    node.ros.until(lambda: stamp_of(last["trusted_parameters"][-1]) == stamp_of(
        last["parameters"][-1]) == stamp_of(last["status"][-1]), what="equal stamps")
    assert last["trusted_parameters"][-1] == last["parameters"][-1]
    values = node.status()[2]
    assert node.status()[1] == b"\x00" and values["solver"] == "native" and values["measured"]
    for channel in node.node.robot.channels:
        assert float(values[f"noise {channel}"]) > 0 and float(values[f"age {channel}"]) == 0
        assert values[f"trust {channel}"] in ("ok", "doubtful")
    stamps = {(m.header.stamp.sec, m.header.stamp.nanosec) for m in last["parameters"]}
    trusted = {stamp_of(m) for m in last["trusted_parameters"]}
    for lane, known in (("covariance", stamps), ("trusted_covariance", trusted)):
        read = read_covariance(last[lane][-1])
        assert read.names == node.node.robot.table.names and np.isfinite(read.matrix).all()
        assert (read.stamp.sec, read.stamp.nanosec) in known
    assert {stamp_of(m) for m in last["status"]} <= stamps
    assert all(np.isfinite([*m.position, *m.effort]).all() for m in last["parameters"])


def test_a_dead_dvl_and_then_no_sensor_at_all(watched):
    """Messages through the front end: vehicle rows age while the arm learns; without samples the
    state is `holding` within the time stated in docs/validity.md, and ages keep growing."""
    node = watched(**{"thrusters.source": "wrench"})
    died = JUDGED_S + 1.0
    node.play(died + 3.0, lambda role, t: role == "dvl" and t > died)
    node.said("learning", trusted="true")
    node.ros.until(lambda: float(node.status()[2]["age surge"]) > 2.2, what="an old row")
    values = node.said("learning", trusted="true")
    # The DVL's velocities count until its timeout, and ticks are late by the front end's latency.
    assert 2.2 < float(values["age surge"]) < 2.8
    assert values["age surge"] == values["age yaw"]
    assert min(float(values[f"age {joint}"]) for joint in node.node.robot.joints) == 0
    assert "lately on surge, sway, heave, roll, pitch, yaw" in values["reason"]
    values = node.said("holding", trusted="false")
    silent = min(float(values[f"age {joint}"]) for joint in node.node.robot.joints)
    # (the age is published with four digits; a loaded computer is late)
    assert NONE_FOR <= silent < NONE_FOR + SILENCE_LOOK_S + 0.5
    assert "no sample for" in values["reason"] and float(values["age surge"]) > silent + 2.0
    parameters = node.heard["parameters"][-1]
    assert parameters.header.frame_id == "holding"
    assert stamp_of(parameters) == stamp_of(node.heard["status"][-1])
    assert node.heard["trusted_parameters"][-1].header.frame_id == "learning"


def test_a_solver_that_fails_leaves_the_trusted_estimate(watched):
    """Ten failures in a row give `failed`; trusted parameters stay until the estimate has recovered
    and is trusted again, and the recovery counts as a jump."""
    node = watched()
    node.learn(JUDGED_S)
    node.said("learning", trusted="true")

    def broken(estimator):
        estimator.solver.solve = lambda *problem: (_ for _ in ()).throw(SolverError("no answer"))
    node.asked(broken)
    node.learn(0.5)
    values = node.said("failed", trusted="false")
    assert node.status()[1] == b"\x02" and "solves failed" in values["reason"]
    node.ros.until(lambda: node.heard["parameters"][-1].header.frame_id == "failed")
    kept = node.heard["trusted_parameters"][-1]
    node.learn(0.3)
    assert node.heard["trusted_parameters"][-1] == kept and stamp_of(kept) < stamp_of(
        node.heard["parameters"][-1])
    assert int(values["reset_count"]) >= 1 and "recovery" in values["reset_reason"]

    node.asked(lambda estimator: delattr(estimator.solver, "solve"))
    node.learn(0.5)
    node.said("learning", trusted="false")
    node.learn(JUDGED_S)
    node.said("learning", trusted="true")
    node.ros.until(lambda: node.heard["trusted_parameters"][-1] != kept)


@pytest.mark.parametrize("spoilt", ["add", "solve"])
def test_a_worker_that_raises_has_failed(watched, spoilt):
    """If every sample raises, there is no tick, but the failure is still published."""
    node = watched()
    node.learn(1.0)
    node.said("learning")
    node.asked(lambda estimator: setattr(estimator, spoilt, lambda *sample: 1 / 0))
    node.learn(0.3)
    assert "internal error" in node.said("failed", trusted="false")["reason"]
    assert node.heard["parameters"][-1].header.frame_id == "failed"


def test_a_worker_that_hangs_or_ends_has_failed(monkeypatch, watched):
    """A separate timer detects it without a tick."""
    node, gate = watched(), threading.Event()
    node.learn(1.0)
    node.asked(lambda estimator: setattr(estimator, "solve", lambda begin: gate.wait(20) and None))
    for _ in range(2):
        node.worker.submit(node.sample())
    try:
        assert "worked on one sample" in node.said("failed")["reason"]
    finally:
        gate.set()
    node.worker.stop()
    node.worker.submit(None)
    node.ros.until(lambda: "thread has ended" in node.status()[2]["reason"], what="its end")
    patient = Worker.call       # nobody answers when the node asks at its own end
    monkeypatch.setattr(Worker, "call", lambda self, action: patient(self, action, 0.5))


def test_values_that_are_not_finite_are_never_published(watched):
    """A broken covariance gives `failed` with the last finite values."""
    node = watched()
    node.learn(1.0)
    node.said("learning")
    node.ros.until(lambda: node.heard["parameters"][-1].header.frame_id == "learning")

    def spoil(estimator):
        known = estimator.knowledge.uncertainty
        known.recent = known.recent._replace(
            systematic=np.full_like(known.recent.systematic, np.nan))
    node.asked(spoil)
    assert "not finite" in node.said("failed", trusted="false")["reason"]
    node.ros.until(lambda: node.heard["parameters"][-1].header.frame_id == "failed")
    assert all(np.isfinite([*m.position, *m.effort]).all() for m in node.heard["parameters"])


def test_commands_are_said_at_once(watched):
    """enable, reset and load are published before the service answers; jumps are counted with their
    reason."""
    node = watched()
    node.learn(JUDGED_S)
    node.said("learning", trusted="true")
    name = "/uvms_estimator/"
    assert node.ros.call(Trigger, name + "save").success
    assert node.ros.call(SetBool, name + "enable", SetBool.Request(data=False)).success
    node.said("frozen", trusted="true", reset_count="0")
    frozen = node.heard["trusted_parameters"][-1]
    assert node.heard["parameters"][-1] == frozen and frozen.header.frame_id == "frozen"
    node.learn(0.2)
    assert node.ros.call(SetBool, name + "enable", SetBool.Request(data=True)).success
    node.learn(1.0)
    node.said("learning", reset_count="0")

    assert node.ros.call(Trigger, name + "reset").success
    values = node.said("waiting", trusted="false", reset_count="1")
    assert values["reset_reason"] == "restart from the prior" and values["age surge"] == "inf"
    node.ros.until(lambda: node.heard["parameters"][-1].header.frame_id == "waiting")
    np.testing.assert_array_equal(node.heard["parameters"][-1].position, node.pi)
    assert node.ros.call(Trigger, name + "load").success
    values = node.said("waiting", reset_count="2")
    assert values["reset_reason"] == "restart from a saved estimate"
    np.testing.assert_allclose(node.heard["parameters"][-1].position, frozen.position)
    node.learn(1.0)
    node.said("learning", trusted="false", reset_count="2")
    assert node.heard["trusted_parameters"][-1].header.frame_id == "learning"


def test_status_costs_little(watched):
    """Judging, building and publishing the messages of an estimate takes less than 5 % of a
    tick."""
    node = watched()
    node.learn(JUDGED_S)
    assert node.node._parameter_outputs._monitor.latest.trusted

    def taken(_):
        begin = time.thread_time()      # of processor time: others may be at work
        node.node._parameter_outputs.estimate()
        return 1e3 * (time.thread_time() - begin)
    times = [node.asked(taken) for _ in range(200)]
    print(f"median {np.median(times):.2f} ms, 99th percentile {np.percentile(times, 99):.2f} ms")
    assert np.median(times) < 1.0


def test_parameters_may_come_more_rarely(watched):
    """output.parameters_period thins parameters and status alike; a change of state is published at
    once."""
    node = watched(**{"output.parameters_period": 0.5})
    node.learn(2.0)

    def learning():
        return [m for m in node.heard["parameters"] if m.header.frame_id == "learning"]
    node.ros.until(lambda: len(learning()) >= 3, what="thinned parameters")
    assert len(learning()) <= 4
    assert {stamp_of(m) for m in node.heard["status"]} <= {stamp_of(m)
                                                           for m in node.heard["parameters"]}


class FakeWorker:
    """A worker with state set by a test, of an estimator that has learnt."""

    def __init__(self, snapshot):
        self.snapshot, self.knowledge = snapshot, None
        self.done = self.backlog = self.exceptions_in_a_row = 0
        self.learns_again = False
        self.ended = False


def test_the_first_sample_after_a_silence_is_no_hang():
    """Time without samples is not working time; time spent on one sample is, and a backward clock
    jump ends neither."""
    estimator = Estimator(Config())
    estimator._progress.note_rows(np.ones(10, bool), 0.02)
    estimator._progress.note_solve()
    worker, clock = FakeWorker(estimator.snapshot()), [100.0]
    monitor = ValidityMonitor(worker, estimator.robot.channels, estimator.table, lambda: clock[0])

    def state(at, done=0, backlog=0):
        clock[0], worker.done, worker.backlog = at, done, backlog
        return monitor.report().validity.state
    assert state(110.0, backlog=1) == "holding" and state(110.1, done=1) == "learning"
    assert state(120.0, 1) == "holding" and state(120.1, 1, backlog=1) == "holding"
    assert state(120.2, 2) == "learning"
    assert state(120.3, 2, backlog=3) == "learning" and state(123.0, 2, backlog=3) == "failed"
    assert state(50.0, 2, backlog=3) == "learning" and state(53.0, 2, backlog=3) == "failed"
    worker.learns_again = True      # of a minute, which takes seconds
    assert state(53.1, 2, backlog=3) == "holding"
    worker.learns_again = False
    assert state(53.1, 5) == "learning"


def test_corrections_and_an_external_force_are_told():
    """Status has the factors in force and the force's size; without learning none is subtracted."""
    estimator = Estimator(Config())
    worker = FakeWorker(estimator.snapshot())
    monitor = ValidityMonitor(worker, estimator.robot.channels, estimator.table, lambda: 0.0)

    def told():
        worker.snapshot = estimator.snapshot()
        values = monitor.figures(monitor.report())
        return values["corrected"], values["external_force"]
    assert told() == ("", 0.0)
    changes = estimator._robot_changes
    changes.scales = changes.scales._replace(effort=np.r_[.8, np.ones(9)], velocity=1.1)
    changes.load.load = np.r_[2.0, -3.0, 6.0, np.zeros(9)]
    assert told() == ("surge times 0.8,the vehicle's velocity times 1.1", 7.0)
    estimator.set_learning(False)
    assert told()[1] == 0.0
