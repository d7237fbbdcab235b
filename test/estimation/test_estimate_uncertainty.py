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

"""The covariance that predictions use is refreshed often enough, and anyone who asks for that of
the present estimate gets it."""
import numpy as np
import pytest
from test_estimator import samples_of, truth_of

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimate_uncertainty import EstimateUncertainty
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.uncertainty.gradient_covariance import BATCH, LAG_STRIDE

TURN = LAG_STRIDE * BATCH


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_config(Config())


@pytest.fixture(scope="module")
def data(robot):
    return samples_of(Config(), robot, truth_of(Config(), robot), 360)


def test_whoever_asks_gets_the_covariance_of_the_newest_solve(robot, data, monkeypatch):
    """Between two refreshes as well: it is that of an estimator that has just refreshed."""
    lazy, eager = (Estimator(Config(), robot=robot) for _ in range(2))
    for k, sample in enumerate(data):
        used = lazy.knowledge.uncertainty.recent.covariance
        lazy.step(sample)
        if k > 200 and lazy.knowledge.uncertainty.recent.covariance is used:
            break
        eager.step(sample)
    monkeypatch.setattr(eager.knowledge.uncertainty, "_is_due", lambda: True)
    eager.step(sample)
    np.testing.assert_array_equal(lazy.pi, eager.pi)
    recent = eager.knowledge.recent
    np.testing.assert_array_equal(lazy.covariance, recent.covariance.matrix)
    np.testing.assert_array_equal(lazy.knowledge.uncertainty.present().systematic,
                                  recent.systematic)
    assert not np.array_equal(lazy.covariance, used.matrix)


def test_predictions_use_a_covariance_of_a_turn_ago_at_most(robot, data, monkeypatch):
    """In the first second it is refreshed at every solve, later whenever the gradient's covariance
    is, and never later than that."""
    refreshes = []
    formed = EstimateUncertainty._formed

    def counted(self, solved):
        refreshes[-1] += 1
        return formed(self, solved)

    monkeypatch.setattr(EstimateUncertainty, "_formed", counted)
    estimator = Estimator(Config(), robot=robot)
    for sample in data:
        refreshes.append(0)
        estimator.step(sample)
    refreshed = np.flatnonzero(refreshes)
    first = refreshed[0]
    np.testing.assert_array_equal(refreshed[:20], np.arange(first, first + 20))
    assert np.diff(refreshed).max() <= TURN
    assert len(refreshed) < 0.5 * (len(data) - first)


@pytest.mark.parametrize("change", ["marginalize", "put_back", "hold"])
def test_knowledge_that_is_dropped_or_held_refreshes_at_the_next_solve(robot, data, change):
    """Predictions must not stay confident for the rest of a turn."""
    estimator = Estimator(Config(), robot=robot)
    for sample in data[:150]:
        estimator.step(sample)
    information, part = estimator.information, robot.table.parts["vehicle damping"]
    record = information.record() if change == "put_back" else None
    for sample in data[150:300]:
        estimator.step(sample)
    before = estimator.knowledge.uncertainty.recent.covariance
    if change == "marginalize":
        assert information.marginalize(part, estimator.pi)
    elif record is not None:
        information.put_back(record)
    else:
        estimator.set_free(["axis_*"])
        assert not estimator.free[part].any()
    estimator.step(data[300])
    after = estimator.knowledge.uncertainty.recent.covariance
    assert after is not before and after.matrix is estimator.covariance


def test_asking_changes_nothing(robot, data):
    """An estimator that is asked for its covariance, flags and state at every tick learns the same,
    to the bit."""
    asked, quiet = (Estimator(Config(), robot=robot) for _ in range(2))
    for k, sample in enumerate(data):
        one, other = asked.step(sample), quiet.step(sample)
        if one is None or other is None:
            continue
        if k % 3 == 0:
            assert asked.covariance.shape == (robot.table.size,) * 2
            asked.known_from()
            if k % 30 == 0:
                asked.parameter_set()
        np.testing.assert_array_equal(one.pi, other.pi)
        np.testing.assert_array_equal(one.prediction.predicted_stddev,
                                      other.prediction.predicted_stddev)
        np.testing.assert_array_equal(one.covariance, other.covariance)
        np.testing.assert_array_equal(one.systematic, other.systematic)
