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

"""Evidence of a verdict: which rows tell, and what a channel's figures say."""
import numpy as np

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.sample import BY_SETTING, JOINT_AT_REST
from uvms_adaptive_dynamics.uncertainty.evidence import ChannelEvidence, finding_of, telling

TABLE = RobotModel.from_config(Config()).table


def test_a_joints_rows_tell_whatever_the_model_says():
    """Rows of the vehicle tell only in motion."""
    in_motion = np.zeros((2, TABLE.channels), bool)
    in_motion[0, 0] = True
    told = telling(TABLE, in_motion, np.ones(in_motion.shape), np.ones(in_motion.shape))
    assert told[:, 6:].all() and told[:, :6].sum() == 1 and not in_motion[:, 6:].any()


def test_a_vehicle_without_thrust_tells_nothing():
    """A force that pulls it while it coasts leaves all of an effort that is not there; efforts of
    any other size tell, and so do joints without effort."""
    effort = np.full((3, TABLE.channels), 5.0)
    effort[1], effort[2] = 0.0, -0.1
    told = telling(TABLE, np.ones(effort.shape, bool), effort, np.full(effort.shape, 2.0))
    assert told[0].all() and told[2].all() and not told[1, :6].any() and told[1, 6:].all()


def test_a_finding_is_known_by_its_code():
    """The code ends at the first colon; the sentence stays whole."""
    found = finding_of("imu: its clock is 5 s ahead: synchronize it")
    assert found.code == "imu" and found.sentence.startswith("imu: its")


def test_rows_masked_without_a_fault_make_no_channel_faulty():
    """A joint at rest is no fault; a channel that a setting masks most of the time is left out."""
    figures = {"r2": 0.9, "rmse": 1.0, "slope": 1.0, "interval_width": 4.0}
    made = ChannelEvidence(figures, 10.0, {JOINT_AT_REST: 60, "imu silent": 30}, 100, "ok")
    assert made.faults == {"imu silent": 30} and not made.faulty and made.lost == 90
    assert made._replace(masked={"imu silent": 51}).faulty
    assert made.left_out == "" and made._replace(masked={BY_SETTING: 51}).left_out == BY_SETTING
    np.testing.assert_allclose(made.width_ratio, 4.0 / (2 * 1.96), rtol=1e-3)
