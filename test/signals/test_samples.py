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

"""A recording's samples, all of them."""
import numpy as np
from analytic import AnalyticMotion, joint_message

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.samples import samples_of


def test_samples_reach_to_the_last_message():
    """The samples of a live front end that waits for later messages, and the remaining ticks."""
    config = Config().with_values({"robot.vehicle": False})
    robot, motion = RobotModel.from_config(config), AnalyticMotion(0, config=config)
    states = [motion.sample(0.02 * k, robot) for k in range(150)]
    messages = [("joint_states", joint_message(s), s.t + 0.001) for s in states]
    live, early = SignalFrontEnd(config, robot), []
    for message in messages:
        live.add_message(*message)
        early += live.samples()
    found = samples_of(SignalFrontEnd(config, robot), iter(messages))
    missing = round(config.filter.latency / config.filter.period)
    assert abs(len(found) - len(early) - missing) <= 1
    assert abs(found[-1].t - states[-1].t) <= config.filter.period
    for one, other in zip(found, early):
        np.testing.assert_array_equal(one.mu_ddot, other.mu_ddot)
