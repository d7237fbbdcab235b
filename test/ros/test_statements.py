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

"""Statement, payload and parameter intervals over real DDS. Samples are passed to the worker
directly, so that no time is spent waiting."""
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from analytic import AnalyticMotion
from diagnostic_msgs.msg import DiagnosticArray
from diagnostic_msgs.srv import AddDiagnostics
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_bus import bus
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from uvms_adaptive_dynamics.errors import SolverError
from uvms_adaptive_dynamics.model.parameter_file import load_parameters
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.ros.estimator_node import EstimatorNode

KEPT = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
NAME, PERIOD = "/uvms_estimator/", 0.02


@pytest.fixture
def running(tmp_path):
    """(bus, node, learn(seconds, pi)) of a robot that moves as its prior predicts."""
    with bus() as ros:
        settings = {"output.directory": str(tmp_path), "filter.period": PERIOD,
                    "output.covariance_period": 0.1}
        node = EstimatorNode(context=ros.context, use_global_arguments=False, parameter_overrides=[
            Parameter(name, value=value) for name, value in settings.items()])
        ros.begin(node)
        motion, ticks = AnalyticMotion(0, config=node.config, joints=4), iter(range(10 ** 6))

        def learn(seconds, pi):
            for _ in range(round(seconds / PERIOD)):
                tick = next(ticks)
                sample = motion.sample(PERIOD * tick, node.robot, pi)
                noise = 1e-2 * np.random.default_rng(tick).normal(size=10)
                node.worker.submit(replace(sample, wrench=sample.wrench + noise[:6],
                                           joint_torque=sample.joint_torque + noise[6:]))
                node.worker.call(lambda estimator: None)
        yield ros, node, learn
        ros.end(node)


def prior(node):
    return node.worker.call(lambda estimator: estimator.prior.values.copy())


def test_a_statement_is_answered_and_written(running):
    """The answer has path and verdict; three files are written, and the parameter file starts
    another estimate. At exit the statement is written again."""
    ros, node, learn = running
    learn(8.0, prior(node))
    answer = ros.call(Trigger, NAME + "statement")
    path = node.memory.folder / "statement.md"
    assert answer.success and answer.message.splitlines()[0] == str(path)
    assert answer.message.splitlines()[1] in ("GOOD", "USABLE", "NOT USABLE")
    document = json.loads(path.with_suffix(".json").read_text())
    assert document["verdict"]["word"].upper() in answer.message
    assert document["channels"]["surge"]["r2"] > 0.9 and document["channels"]["axis_b"]["r2"] > 0.9
    assert path.read_text().startswith("# ") and document["next_dive"] == str(
        path.with_suffix(".yaml"))
    saved = load_parameters(document["next_dive"]).for_table(node.robot.table)
    assert saved.covariance is not None
    path.unlink()
    node.inputs.stop()
    node._last_statement()
    assert path.is_file()


def judged(ros):
    """(first lines of a statement, seconds of rows that it judges on surge)."""
    message = ros.call(Trigger, NAME + "statement").message
    path = Path(message.splitlines()[0]).with_suffix(".json")
    return message, json.loads(path.read_text())["channels"]["surge"]["seconds"]


def test_an_estimate_is_not_judged_by_predictions_of_another(running):
    """Of the estimate before a reset, or from before learning was switched off."""
    ros, node, learn = running
    learn(4.0, prior(node))
    assert judged(ros)[1] > 3.0
    ros.call(SetBool, NAME + "enable", SetBool.Request(data=False))
    learn(1.0, prior(node))
    said, seconds = judged(ros)
    assert 0 < seconds <= 1.0 and "rows never learnt from" in Path(said.splitlines()[0]).read_text()
    ros.call(SetBool, NAME + "enable", SetBool.Request(data=False))     # nothing changes
    assert judged(ros)[1] == seconds
    ros.call(Trigger, NAME + "reset")
    said, seconds = judged(ros)
    assert seconds == 0 and "R^2" not in said


def test_a_statement_tells_that_every_solve_fails(running):
    """The rows predicted before may be explained well; the estimate is not usable all the same."""
    ros, node, learn = running
    learn(8.0, prior(node))

    def fail(*_):
        raise SolverError("no solution")
    node.worker.call(lambda estimator: setattr(estimator.solver, "solve", fail))
    learn(0.5, prior(node))
    answer = ros.call(Trigger, NAME + "statement")
    assert answer.success and answer.message.splitlines()[1] == "NOT USABLE"
    assert "the estimator fails: the last " in answer.message and "solves failed" in answer.message
    answer = ros.call(Trigger, NAME + "save")
    assert answer.success and "The estimator has failed: the last " in answer.message
    assert "the values are those of the last good solve" in answer.message


def test_intervals_are_published_within_p(running):
    """One row per parameter, within its bounds, around the estimate of the same stamp."""
    ros, node, learn = running
    heard = ros.collect(Float64MultiArray, NAME + "parameter_intervals", KEPT)
    learn(1.0, prior(node))
    message = ros.until(lambda: heard and heard[-1])
    labels = [dimension.label for dimension in message.layout.dim]
    assert labels[0] == f"rows: {','.join(node.robot.table.names)}"
    assert labels[1] == "columns: lower,upper" and labels[2].startswith("stamp: ")
    low, high = np.array(message.data).reshape(-1, 2).T
    lower, upper = PhysicalSet(node.robot.table, node.config.estimation).single_bounds
    assert (low >= lower).all() and (high <= upper).all() and (low <= high).all()
    weight = node.robot.table.index["W"]
    assert (low[weight], high[weight]) == (90.0, 180.0)


def test_what_is_gripped_is_named_weighed_and_released(running):
    """Nothing at first; named by the service; mass and position follow; nothing after release.
    Impossible requests are refused with a message."""
    ros, node, learn = running
    heard = ros.collect(DiagnosticArray, NAME + "payload", KEPT)
    pi = prior(node)
    assert not ros.call(Trigger, NAME + "released").success
    assert "no sample" in ros.call(AddDiagnostics, NAME + "gripped").message
    learn(6.0, pi)

    def values():
        status, = heard[-1].status
        return {pair.key: pair.value for pair in status.values}
    ros.until(lambda: heard and values()["held"] == "false", what="nothing held")
    long = AddDiagnostics.Request(load_namespace="x" * 1000)
    assert not ros.call(AddDiagnostics, NAME + "gripped", long).success
    answer = ros.call(AddDiagnostics, NAME + "gripped", AddDiagnostics.Request(
        load_namespace="stone"))
    assert answer.success and "stone" in answer.message
    held, place = pi.copy(), 0.19
    names = ("axis_b.m", "axis_b.mlz", "axis_b.Ixx", "axis_b.Iyy")
    held[node.robot.table.places(names)] += 0.4 * place ** np.array([0, 1, 2, 2])
    learn(6.0, held)
    ros.until(lambda: values().get("seconds", "0") != "0" and float(values()["seconds"]) > 5.0,
              what="a mass of some seconds")
    found = values()
    assert found["name"] == "stone" and found["joint"] == "axis_b"
    # Six seconds before the grip determine the weight for comparison only roughly.
    assert float(found["mass low"]) < 0.4 < float(found["mass high"])
    assert float(found["mass low"]) > 0.1, found
    assert abs(float(found["z"]) - place) < 2 * float(found["z stddev"])
    assert "stone" in ros.call(Trigger, NAME + "statement").message or "stone" in (
        node.memory.folder / "statement.md").read_text()
    assert ros.call(Trigger, NAME + "released").success
    ros.until(lambda: values()["held"] == "false", what="the release")


def test_a_statement_that_fails_does_not_end_the_node():
    """Whatever the error of a stage's statement, it is logged with its traceback."""
    def fail():
        raise np.linalg.LinAlgError("singular")
    log = []
    EstimatorNode._state_stages(SimpleNamespace(
        _stages_stated=0, _stages=SimpleNamespace(ended=1), memory=SimpleNamespace(saving=True),
        _statements=SimpleNamespace(write=fail),
        get_logger=lambda: SimpleNamespace(error=log.append, warning=log.append)))
    assert log[0].startswith("Traceback") and log[1:] == [
        "no statement was written after the stage: LinAlgError: singular"]
