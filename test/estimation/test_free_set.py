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

"""Freeing and freezing parameters while the estimator runs: no knowledge is lost."""
import numpy as np
import pytest
from test_estimator import samples_of, settings, truth_of

from uvms_adaptive_dynamics.errors import ParameterError
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel

# a cost whose minimum does not depend on the path: plain least squares with fixed noise
PLAIN = settings(estimation__forgetting=1.0, estimation__rho_quantile=1.0,
                 estimation__adapt_noise=False, estimation__follow_changes=False,
                 filter__gates=False)


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_config(PLAIN)


@pytest.fixture(scope="module")
def data(robot):
    return samples_of(PLAIN, robot, truth_of(PLAIN, robot), 420)


def wrong_prior(robot, factor=2):
    return perturbed(prior_from_config(PLAIN, robot), factor, 1)


def learnt(robot, data, changes=None, config=PLAIN, every=10):
    """The estimator after the data, with `changes` {tick: parameters to free}."""
    estimator = Estimator(config, wrong_prior(robot), robot)
    for k, sample in enumerate(data):
        estimator.add(sample)
        for free in (changes or {}).get(k, ()):
            estimator.set_free(free)
        if k % every == 0 or k == len(data) - 1:
            estimator.solve()
    return estimator


@pytest.fixture(scope="module")
def at_once(robot, data):
    return learnt(robot, data)


def test_what_was_seen_of_held_parameters_counts_when_they_are_freed(robot, data, at_once):
    """Rows keep the columns of held parameters: freed at the end, the vehicle has the values and
    information that it would have had if free all along. Its covariance is not narrower, since the
    size of its noise is yet to be learnt."""
    staged = learnt(robot, data, {0: [["*.*"]], 410: [["*"]]})
    scale = robot.table.scale
    # both minimize the same cost, up to the solver's relative gap of 1e-7
    np.testing.assert_allclose(staged.pi / scale, at_once.pi / scale, atol=1e-4)
    np.testing.assert_allclose(staged.information.data_information(staged.pi),
                               at_once.information.data_information(at_once.pi), rtol=1e-9)
    vehicle = robot.table.vehicle_slice
    assert (np.diag(staged.covariance) > .99 * np.diag(at_once.covariance))[vehicle].all()


def test_held_parameters_keep_values_and_covariance_to_the_bit(robot, data):
    """While the vehicle is held its values stay and the arm is learnt; predictions include the
    vehicle's uncertainty."""
    estimator = learnt(robot, data[:200])
    vehicle = robot.table.vehicle_slice
    values, covariance = estimator.pi[vehicle].copy(), estimator.covariance[vehicle, vehicle].copy()
    arm = estimator.pi[robot.table.arm_slice].copy()
    words = estimator.known_from()[vehicle]
    estimator.set_free(["*.*"])
    for k, sample in enumerate(data[200:300]):
        before = estimator.covariance
        prediction = estimator.add(sample)
        if k % 10 == 0:
            estimator.solve()
    np.testing.assert_array_equal(estimator.pi[vehicle], values)
    np.testing.assert_array_equal(estimator.covariance[vehicle, vehicle], covariance)
    assert np.abs(estimator.pi[robot.table.arm_slice] - arm).max() > 0
    np.testing.assert_array_equal(before[vehicle, vehicle], covariance)
    Y = prediction.regressor
    np.testing.assert_allclose(prediction.parameter_covariance, Y @ before @ Y.T, rtol=1e-6,
                               atol=1e-9)
    assert estimator.known_from()[vehicle] == words and "frozen" not in words


def test_frozen_and_freed_at_once_has_no_effect(robot, data, at_once):
    """Bit-exact, although the set changes twice between two solves."""
    again = learnt(robot, data, {150: [["*.*"], ["*"]], 300: [["W", "B"], ["X_*"], ["*"]]})
    np.testing.assert_array_equal(again.pi, at_once.pi)
    np.testing.assert_array_equal(again.covariance, at_once.covariance)


def test_wrong_held_parameters_do_not_bias_the_free_ones_unsaid(robot, data):
    """An arm learnt while the vehicle is held at a wrong prior is inside its intervals."""
    truth = truth_of(PLAIN, robot)
    estimator = learnt(robot, data, {0: [["*.*"]]})
    arm = robot.table.arm_slice
    away = (estimator.pi - truth)[arm] / np.sqrt(np.diag(estimator.covariance)[arm])
    # 95 % of intervals contain the true value if the prior's deviations are right
    assert np.mean(np.abs(away) < 1.96) >= .95
    # only the noise is saved: the vehicle's error must not return as noise
    saved = estimator.parameter_set().row_noise_stddev
    np.testing.assert_allclose(saved, robot.default_noise(PLAIN), rtol=1e-9)
    assert (1 / estimator.information.scale[:6] > 2 * saved[:6]).any()
    measured = np.array(estimator.known_from()) == "measured"
    assert measured[arm].sum() > 5 and not measured[robot.table.vehicle_slice].any()


def test_settings_and_symmetry_are_kept(robot):
    """Parameters in estimation.frozen are never freed, and tied pairs are free together or not at
    all."""
    estimator = Estimator(settings(estimation__frozen=["X_u"]), robot=robot)
    estimator.set_free(["X_u", "X_uu", "mzg_X_dq"])
    names = np.array(robot.table.names)
    assert list(names[estimator.free]) == ["X_uu"]
    estimator.set_free(["mzg_X_dq", "mzg_M_du"])
    assert list(names[estimator.free]) == ["mzg_X_dq", "mzg_M_du"]
    assert not estimator.knowledge.free_set.held[robot.table.index["X_u"]]


@pytest.mark.parametrize("free, said", [(["X_uuu"], "X_uuu"), (np.ones(3, bool), "75 booleans"),
                                        (np.ones(75), "75 booleans")])
def test_what_cannot_be_freed_is_refused(robot, free, said):
    estimator = Estimator(PLAIN, robot=robot)
    with pytest.raises(ParameterError, match=said):
        estimator.set_free(free)


def test_a_restart_knows_what_is_held_only_for_now(robot, data):
    """Back at the prior, held parameters have its deviation; parameters frozen by settings have
    none."""
    config = settings(estimation__frozen=["X_u"])
    estimator = Estimator(config, robot=robot)
    before = estimator.covariance.copy()
    estimator.set_free(["*.*"])
    for sample in data[:30]:
        estimator.step(sample)
    estimator.restart()
    np.testing.assert_array_equal(estimator.covariance, before)
    assert estimator.covariance[robot.table.index["X_u"], robot.table.index["X_u"]] == 0
    assert estimator.knowledge.free_set.held.sum() == 26
