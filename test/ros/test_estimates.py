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

"""Reading the estimator's messages in another node: by name, and only if usable."""
import json

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.scales import Scales
from uvms_adaptive_dynamics.ros.estimates import EstimateReader
from uvms_adaptive_dynamics.ros.messages import covariance_message, parameters_message

ROBOT = RobotModel.from_config(Config())
NAMES, P = ROBOT.table.names, ROBOT.table.size
READER = EstimateReader(ROBOT)
VALUES = np.arange(1.0, P + 1)


def status(**values):
    return DiagnosticArray(status=[DiagnosticStatus(values=[
        KeyValue(key=key.replace("_", " ", 1), value=value) for key, value in values.items()])])


def test_values_are_read_by_name():
    """In any order, with the stamp."""
    message = parameters_message(12.5, NAMES[::-1], VALUES[::-1], VALUES)
    stamp, values = READER.parameters(message)
    assert stamp == 12.5
    np.testing.assert_array_equal(values, VALUES)


def test_a_covariance_is_read_by_name():
    """Rows and columns alike."""
    root = np.random.default_rng(0).normal(size=(P, P))
    matrix, order = root @ root.T, np.random.default_rng(1).permutation(P)
    message = covariance_message(1.0, [NAMES[k] for k in order], matrix[np.ix_(order, order)])
    np.testing.assert_allclose(READER.covariance(message), matrix)


def test_state_and_noise_are_read():
    """Noise is used only if every channel has one; another robot's noise is ignored."""
    noise = {f"noise_{channel}": "0.5" for channel in ROBOT.channels}
    read = READER.status(status(state="learning", **noise))
    assert read.state == "learning" and (read.noise == 0.5).all()
    assert READER.status(status(state="failed", noise_surge="0.5")).noise is None
    assert not read.scales.any
    scales = Scales(np.array([0.8, *np.ones(9)]), 1.0, np.ones(8), (2, 1, 3, 4, 5, 6, 7, -8))
    read = READER.status(status(state="learning", scales=json.dumps(
        scales.stated(ROBOT.channels)))).scales
    assert read.effort[0] == 0.8 and read.drives == scales.drives


@pytest.mark.parametrize("message, words", [
    (JointState(name=NAMES[:3], position=[1.0] * 3), "got 3 parameters, expected the 75"),
    (JointState(name=(*NAMES[1:], "other"), position=VALUES), f"'{NAMES[0]}' is missing"),
    (JointState(name=(*NAMES, NAMES[0]), position=np.ones(P + 1)), "got 76 parameters"),
    (JointState(name=NAMES, position=VALUES[1:]), "74 positions for 75 names"),
    (JointState(name=NAMES, position=[*VALUES[1:], np.nan]), f"'{NAMES[-1]}' is not finite"),
    (Float64MultiArray(), "dimensions labelled"),
    (covariance_message(1.0, NAMES, -np.eye(P)), "a variance is negative"),
    (DiagnosticArray(), "no 'state'"),
    (status(state="learning", **{f"noise_{channel}": "0" for channel in ROBOT.channels}),
     "positive"),
    (status(state="learning", **{f"noise_{channel}": "?" for channel in ROBOT.channels}),
     "not a number"),
    (status(state="learning", scales="surge times 0.8"), "are not JSON"),
    (status(state="learning", scales="[]"), "a JSON object"),
    (status(state="learning", scales='{"effort_factor": {"surge": 0}}'), "effort_factor is")])
def test_what_cannot_be_used_is_refused_with_a_sentence(message, words):
    """The message gives got and expected; no other exception reaches the node."""
    read = {JointState: READER.parameters, Float64MultiArray: READER.covariance,
            DiagnosticArray: READER.status}[type(message)]
    with pytest.raises(UvmsError, match=words):
        read(message)
