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

"""Changing settings at run time through the parameter services: applied in both threads, and
logged."""
import time

import pytest
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from uvms_adaptive_dynamics.estimation.changes import NoChangeDetection
from uvms_adaptive_dynamics.ros.estimator_node import EstimatorNode

NAME = "/uvms_estimator/"


@pytest.fixture
def node(ros, tmp_path):
    made = EstimatorNode(context=ros.context, use_global_arguments=False, parameter_overrides=[
        Parameter("output.directory", value=str(tmp_path))])
    yield ros.begin(made)
    ros.end(made)


def messages(values):
    return [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]


def test_both_threads_follow_and_the_log_says_so(ros, node):
    """Front end and estimator have the new settings; the log shows old and new value."""
    log = ros.collect(Log, "/rosout", QoSProfile(depth=100))
    answer = ros.call(SetParametersAtomically, NAME + "set_parameters_atomically",
                      SetParametersAtomically.Request(parameters=messages({
                          "dvl.timeout": 0.8, "limits.speed": 3.0, "output.diagnostics_period": 0.3,
                          "estimation.follow_changes": False})))
    assert answer.result.successful
    assert node.inputs.front_end.config == node.config and node.config.dvl.timeout == 0.8
    detector, config = node.worker.call(lambda e: (e._robot_changes.detector, e.config))
    assert config == node.config and isinstance(detector, NoChangeDetection)
    assert node._report_timer.timer_period_ns == 300_000_000
    ros.until(lambda: any("'dvl.timeout' changed from 0.35 to 0.8" in line.msg for line in log),
              what="the log")


def test_what_cannot_change_is_refused_with_the_reason(ros, node):
    """The service of `ros2 param set` refuses each; the node is unchanged."""
    before = node.config
    answer = ros.call(SetParameters, NAME + "set_parameters", SetParameters.Request(
        parameters=messages({"imu.topic": "imu", "estimation.horizon": 50,
                             "joint_states.effort_masked": ["elbow"], "dvl.timeout": -1.0})))
    reasons = [result.reason for result in answer.results]
    assert not any(result.successful for result in answer.results) and node.config == before
    for reason, words in zip(reasons, (
            "'imu.topic' cannot change while the node runs, since topics are subscribed at start",
            "'estimation.horizon' cannot change", "names from robot.joints", "dvl.timeout")):
        assert words in reason


def test_a_change_waits_for_neither_thread(ros, node):
    """The service answers while worker and input thread are busy; the change follows earlier
    requests."""
    order = []
    node.worker.request(lambda estimator: (time.sleep(0.3), order.append(estimator.config)))
    before = node.config
    ros.call(SetParameters, NAME + "set_parameters",
             SetParameters.Request(parameters=messages({"limits.force": 500.0})))
    assert not order
    assert node.worker.call(lambda estimator: estimator.config).limits.force == 500.0
    assert order == [before]
