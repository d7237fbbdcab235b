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

"""What an estimate starts from."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ParameterError
from uvms_adaptive_dynamics.estimation.origin import Origin
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.solvers import choose_solver

CONFIG = Config().with_values({"robot.joints": []})
ROBOT = RobotModel.from_config(CONFIG)
PHYSICAL = PhysicalSet(ROBOT.table, CONFIG.estimation)
SOLVER, _ = choose_solver("native", ROBOT.table)
PRIOR = prior_from_config(CONFIG, ROBOT)


def origin_of(given):
    return Origin.of(given, ROBOT, PHYSICAL, SOLVER)


def test_values_are_moved_into_the_physical_set_and_the_move_is_told():
    """The set that was given stays as it was."""
    values = PRIOR.values.copy()
    values[ROBOT.table.index["X_u"]] = 3.0      # damping that drives
    given = replace(PRIOR, values=values)
    origin = origin_of(given)
    assert PHYSICAL.violation(origin.values) < 1e-6 and "X_u 3 ->" in origin.moved
    assert given.values is values and origin.saved.values[ROBOT.table.index["X_u"]] == 3.0
    assert origin_of(PRIOR).moved == ""
    with pytest.raises(ValueError):
        origin.values[0] = 0.0


def test_the_prior_describes_this_robot_and_keeps_what_was_known():
    saved = replace(PRIOR, known_from=("weak",) * ROBOT.table.size, source="a file",
                    covariance=np.diag(np.array(ROBOT.table.scale) ** 2.0))
    prior = origin_of(saved).prior(ROBOT)
    assert prior.robot == {"joints": [], "vehicle": True, "channels": list(ROBOT.channels)}
    assert prior.known_from == saved.known_from and prior.source == ""
    np.testing.assert_array_equal(prior.covariance, saved.covariance)


def test_what_a_set_does_not_state_is_nothing():
    origin = origin_of(PRIOR)
    assert origin.rows_known == 0 and origin.efforts is None and not origin.scales.any
    assert (origin.interval_factors == 1).all() and origin.spans.lists() == []
    rows = origin_of(replace(PRIOR, learned={"rows": 1200})).rows_known
    assert rows == 1200 / ROBOT.table.channels
    with pytest.raises(ParameterError, match="effort_factor names"):
        origin_of(replace(PRIOR, learned={"effort_factor": {"elbow": 0.8}}))
