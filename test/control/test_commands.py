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

"""Commands: interpolation of tables, planned positions, and refusals."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.commands import holding, recorded, tabulated, through
from uvms_adaptive_dynamics.control.planned import MOST_ROWS, Planned
from uvms_adaptive_dynamics.errors import ParameterError
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.sample import Sample

ROBOT = RobotModel.from_config(Config())


def sample(t, mu=2.0, mu_dot=0.1):
    return Sample(t, np.eye(3), np.zeros(6), np.zeros(6), np.full(4, mu), np.full(4, mu_dot),
                  np.zeros(4), np.full(6, 3.0), np.full(4, 0.2), np.ones(10, bool))


def test_a_table_is_linear_and_stays_at_its_ends():
    at = tabulated(np.array([1.0, 2.0, 4.0]), np.array([[0.0], [1.0], [5.0]]))
    assert [at(t)[0] for t in (0, 1, 1.5, 3, 4, 9)] == [0, 0, 0.5, 3, 5, 5]
    assert tabulated(np.array([1.0]), np.array([[7.0]]))(3.0)[0] == 7


@pytest.mark.parametrize("t, values", [
    ([], np.zeros((0, 1))), ([0, 1], np.zeros((3, 1))), ([0, 0], np.zeros((2, 1))),
    ([1, 0], np.zeros((2, 1))), ([0, np.nan], np.zeros((2, 1))), ([0, 1], [[0], [np.inf]])])
def test_what_is_no_table_is_refused(t, values):
    with pytest.raises(ParameterError, match="expected finite rows"):
        tabulated(np.array(t, float), np.array(values, float))


@pytest.mark.parametrize("plan", [
    holding(np.array([1.0, 2.0]), np.array([0.3, -0.5])),
    through(np.array([1.0, 2.0]), np.array([0.5, 1.0, 2.0]), np.array([[1.2, 2], [1.1, 1], [1, 1]]))
])
def test_a_plan_begins_where_the_joints_are_and_its_speed_is_its_slope(plan):
    """Speeds match central differences of the positions; at the end the joints stand still."""
    assert np.allclose(plan(0.0)[0], [1, 2])
    for t in (0.05, 0.3, 0.7, 1.3):
        slope = (plan(t + 1e-5)[0] - plan(t - 1e-5)[0]) / 2e-5
        assert np.allclose(plan(t)[1], slope, atol=1e-4)
    assert np.allclose(plan(9.0)[1], 0, atol=1e-9)


def test_a_recorded_piece_gives_its_efforts_or_its_arms_motion():
    piece = [sample(100 + 0.02 * k, 2 + 0.002 * k) for k in range(6)]
    by_efforts = recorded(piece, True, "efforts")
    assert by_efforts.arm is None and by_efforts.measured
    assert np.allclose(by_efforts.efforts(0.05), [3] * 6 + [0.2] * 4)
    by_positions = recorded(piece, True, "positions", 2.0)
    assert not by_positions.measured and np.allclose(by_positions.arm(0.04)[0], 2.004)
    assert np.allclose(by_positions.efforts(0.05)[:6], 6)


def test_plans_are_held_planned_and_over():
    """Without a plan the present commands are held; then they follow the plan, and are held again
    after its end."""
    planned = Planned(ROBOT, "positions")
    assert planned.commands(sample(10.0), 5.0)[1] == "held"
    planned.plan_wrench(10.0, np.array([1.0, 2.0]), np.array([[5.0] * 6, [7.0] * 6]))
    planned.plan_joints(10.0, np.array([1.0]), np.full((1, 4), 2.5))
    found, word = planned.commands(sample(10.5), 5.0)
    assert word == "planned"
    assert [found.efforts(t)[0] for t in (0, 0.25, 0.5, 1, 9)] == pytest.approx([3, 4, 5, 6, 7])
    assert found.efforts(1.0)[6] == 0.2 and np.allclose(found.arm(0.5)[0], 2.5)
    assert planned.commands(sample(12.0), 5.0)[1] == "held"
    planned.forget()        # time jumped back
    assert planned.commands(sample(9.0), 5.0)[1] == "held"


def test_a_plan_that_begins_after_the_forecast_is_not_in_force():
    """As with a stamp of another clock; that is said, and it is in force once it comes near."""
    planned = Planned(ROBOT, "positions")
    planned.plan_wrench(5000.0, np.array([0.0, 1.0]), np.full((2, 6), 50.0))
    found, word = planned.commands(sample(10.0), 5.0)
    assert word == "held, a plan begins later" and found.efforts(4.0)[0] == 3
    assert planned.commands(sample(4996.0), 5.0)[1] == "planned"
    planned.plan_wrench(10.0, np.array([60.0]), np.ones((1, 6)))    # its first row may be far ahead
    assert planned.commands(sample(10.0), 5.0)[1] == "planned"


def test_an_arm_that_follows_efforts_has_no_planned_motion():
    planned = Planned(ROBOT, "efforts")
    planned.plan_joints(10.0, np.array([1.0]), np.full((1, 4), 0.5))
    found, _ = planned.commands(sample(10.0), 5.0)
    assert found.arm is None and found.efforts(1.0)[-1] == 0.5


@pytest.mark.parametrize("rows", [np.zeros((0, 6)), np.zeros((2, 5)), np.zeros((MOST_ROWS + 1, 6)),
                                  np.full((2, 6), np.nan)])
def test_a_plan_of_another_shape_is_refused_and_the_last_one_stays(rows):
    planned = Planned(ROBOT, "positions")
    planned.plan_wrench(0.0, np.array([9.0]), np.ones((1, 6)))
    with pytest.raises(ParameterError, match="planned"):
        planned.plan_wrench(0.0, np.arange(len(rows)) + 1.0, rows)
    assert planned.commands(sample(1.0), 5.0)[1] == "planned"
