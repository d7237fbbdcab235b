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

"""What counts as a vehicle that something holds."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.contact import ContactHypothesis
from uvms_adaptive_dynamics.estimation.recent_rows import RecentRows
from uvms_adaptive_dynamics.model.robot import RobotModel

NOISE, INERTIA = 0.5, 20.0      # [N], [kg]


def rows(gives_way, thrust=20.0, count=200):
    """A vehicle that moves by a share of what thrust of this size [N] would free."""
    table = RobotModel.from_config(Config()).table
    t = 0.1 * np.arange(count)
    Y, residual = np.zeros((count, table.channels, table.size)), np.zeros((count, table.channels))
    Y[:, 0, table.index["m_X_du"]] = gives_way * thrust / INERTIA * np.sin(t)
    residual[:, 0] = thrust * np.sin(t)
    weight, independent = np.zeros(residual.shape), np.zeros(table.channels)
    weight[:, 0], independent[0] = 1 / NOISE ** 2, count
    return table, RecentRows(Y, residual, residual, weight, independent)


def evidence(gives_way, **how):
    table, given = rows(gives_way, **how)
    places = np.array([table.index["m_X_du"]])
    return ContactHypothesis("contact", np.array([INERTIA]), places, 30.0).evidence(given)[0]


@pytest.mark.parametrize("gives_way, held", [(1e-3, True), (0.05, True), (0.09, True),
                                             (0.15, False), (1.0, False)])
def test_what_holds_may_give_way_by_a_tenth(gives_way, held):
    """Also if the motion is far above its noise, as in a net; a vehicle that moves more is not
    held."""
    assert (evidence(gives_way) > 1000.0) == held


def test_little_thrust_shows_no_contact():
    """A vehicle that rests because nothing drives it."""
    assert evidence(0.0, thrust=0.2) == -np.inf
