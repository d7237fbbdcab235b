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

"""A horizontal current as two slowly drifting parameters: found, followed, and forgotten."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.vehicle import vehicle_regressor
from uvms_adaptive_dynamics.studies.linear_data import linear_samples

PLAIN = Config().with_values({"robot.joints": []})
CONFIG = PLAIN.with_values({"robot.terms": ["current"], "robot.current_time": 30.0,
                            "estimation.frozen": ["[!c]*"]})
SECONDS, CURRENT = 60.0, (0.4, -0.25)


@pytest.fixture(scope="module")
def drifting():
    """Samples of a vehicle in a current of 0.4 m/s north and -0.25 m/s east, faster than it moves;
    all terms use the velocity through the water, without linearization."""
    robot = RobotModel.from_config(PLAIN)
    pi = prior_from_config(PLAIN, robot).values
    own, found = robot.table.paper_slice, []
    for sample in linear_samples(PLAIN, robot, pi, SECONDS, 3):
        drift = sample.R_nb.T @ [*CURRENT, 0.0]
        nu, nu_dot = sample.nu.copy(), sample.nu_dot.copy()
        nu[:3] -= drift
        nu_dot[:3] += np.cross(nu[3:], drift)
        change = (vehicle_regressor(nu, nu_dot, sample.R_nb)
                  - vehicle_regressor(sample.nu, sample.nu_dot, sample.R_nb))
        found.append(replace(sample, wrench=sample.wrench + change @ pi[own]))
    return found


@pytest.fixture(scope="module")
def learnt(drifting):
    estimator = Estimator(CONFIG, robot=RobotModel.from_config(CONFIG))
    for k, sample in enumerate(drifting):
        if estimator.add(sample) is not None and k % 10 == 0:
            estimator.solve()
    return estimator


def test_it_is_found_to_a_centimetre_a_second(learnt):
    """With the model linearized about the estimated current."""
    place = learnt.table.term_slices["current"]
    np.testing.assert_allclose(learnt.pi[place], CURRENT, atol=0.015)
    assert (np.sqrt(np.diag(learnt.covariance))[place] < 0.05).all()


def test_a_saved_current_is_no_knowledge_of_the_next_dive(learnt):
    """After a restart from the saved estimate its value is only the start, without information."""
    place = learnt.table.term_slices["current"]
    again = Estimator(CONFIG, learnt.parameter_set(), robot=learnt.robot)
    prior = again.information.arrival.prior(again.pi)[:-1, :-1]
    np.testing.assert_allclose(np.diag(prior)[place],
                               again.information.prior.stddev[place] ** -2.0, rtol=1e-6)
    np.testing.assert_array_equal(again.pi, learnt.pi)
