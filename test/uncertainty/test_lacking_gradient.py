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

"""What the model lacks, in the intervals of parameters."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.lacking_terms import LackingTerms
from uvms_adaptive_dynamics.model.parameter_file import load_parameters, save_parameters
from uvms_adaptive_dynamics.model.parameter_set import CAUSES
from uvms_adaptive_dynamics.model.prior import perturbed
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.linear_data import linear_samples, true_parameters
from uvms_adaptive_dynamics.uncertainty.lacking_gradient import EVERY, LackingGradient

VEHICLE = Config().with_values({"robot.joints": (), "robot.urdf": ""})
# The same weights whatever is left: an effect that the model lacks would also lower its channel's.
WEIGHTED = VEHICLE.with_values({"estimation.adapt_noise": False})


def test_rows_are_paired_with_the_instants_that_they_belong_to():
    """A row of three ticks ago takes that instant's columns, not the newest ones, and no row takes
    columns from before a gap."""
    sums = LackingGradient(1, 1, 1, 3, 1.0)
    for tick in range(1, 3 * EVERY + 4):
        if sums.next_instant():
            sums.add_columns(np.array([[float(tick)]]))
        sums.add_row(np.array([[1.0 + tick]]))
    expected = EVERY * sum(k * EVERY * (4.0 + k * EVERY) for k in (1, 2, 3))
    assert sums.of_one_deviation(np.array([2.0])) == pytest.approx(2 * expected)
    while not sums.next_instant():
        pass
    sums.add_columns(np.array([[1e9]]))
    sums.break_off()
    for _ in range(5):
        sums.next_instant()
        sums.add_row(np.ones((1, 1)))
    assert sums.of_one_deviation(np.array([2.0])) == pytest.approx(2 * expected)


def test_what_is_forgotten_and_mapped_is_forgotten_and_mapped():
    def add(sums):
        for _ in range(EVERY):
            if sums.next_instant():
                sums.add_columns(np.array([[1.0, 0.0], [2.0, 3.0]]))
            sums.add_row(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]))

    once = EVERY * np.array([[3.0, 4.0, 5.0], [3.0, 3.0, 3.0]])
    fading, mapped = (LackingGradient(2, 2, 3, 0, decay) for decay in (0.5, 1.0))
    add(fading), add(fading)
    np.testing.assert_allclose(fading.of_one_deviation(np.ones(2)), (1 + 0.5 ** EVERY) * once)
    add(mapped)
    mapped.mapped(np.diag([0.0, .5, 1.0]), close=True)      # from now on the row is old
    mapped.mapped(np.diag([0.0, .5, 1.0]), close=False)
    add(mapped)
    np.testing.assert_allclose(mapped.of_one_deviation(np.ones(2)), once * [1.0, 1.5, 2.0])


@pytest.fixture(scope="module")
def plain():
    """The robot, samples of half a minute that its model explains, and the prior."""
    robot = RobotModel.from_config(VEHICLE)
    truth = true_parameters(VEHICLE, robot, np.random.default_rng(10_003))
    return (robot, list(linear_samples(VEHICLE, robot, truth.values, 30.0, 3)),
            perturbed(truth, 2, 3), truth.values)


def learnt(plain, sizes, config=WEIGHTED):
    """The estimator and its estimate for the same motion and effects of these sizes (q,), in
    deviations, that the model lacks."""
    robot, samples, given, truth = plain
    lacking = LackingTerms(VEHICLE, robot)
    estimator, last = Estimator(config, given, robot), None
    for k, sample in enumerate(samples):
        more = lacking.columns(sample, truth) @ sizes
        estimator.add(replace(sample, wrench=sample.wrench + more[:6]))
        if k % 50 == 49:
            last = estimator.solve()
    return estimator, last


@pytest.fixture(scope="module")
def complete(plain):
    return learnt(plain, np.zeros(len(LackingTerms(VEHICLE, plain[0]).names)))


@pytest.mark.campaign
@pytest.mark.parametrize("effect, error", [("X_w", .1), ("current_N", .25), ("offset_X", .1)])
def test_an_effect_moves_the_estimate_as_its_deviation_says(effect, error, plain, complete):
    """Between the same effect in one and in the other direction, small enough for bounds of the
    parameters to matter little. What a current does depends on the estimate of the time."""
    names, size = LackingTerms(VEHICLE, plain[0]).names, 0.25
    one = size * (np.array(names) == effect)
    stddev, systematic = complete[1].stddev, complete[1].systematic
    moved = (learnt(plain, one)[1].pi - learnt(plain, -one)[1].pi) / (2 * size) / stddev
    said = systematic[CAUSES + names.index(effect)] / stddev
    assert np.abs(said).max() > .1
    np.testing.assert_allclose(moved, said, atol=error)


@pytest.mark.campaign
def test_the_truth_is_inside_although_the_model_lacks_something(plain):
    """Of measured parameters more than 90 % are inside, with effects drawn at their typical sizes;
    with intervals that take the model for complete, fewer."""
    robot, _, _, truth = plain
    rng, inside = np.random.default_rng(0), {0.0: [], 1.0: []}
    for _ in range(2):
        sizes = rng.normal(size=len(LackingTerms(VEHICLE, robot).names))
        for share, found in inside.items():
            config = VEHICLE.with_values({"uncertainty.lacking_share": share})
            estimator, last = learnt(plain, sizes, config)
            measured = np.array(estimator.known_from()) == "measured"
            assert measured.sum() > 5
            found += list((np.abs(last.pi - truth) < 1.96 * last.stddev)[measured])
    assert np.mean(inside[1.0]) > .9 > np.mean(inside[0.0])


def test_what_the_estimate_has_absorbed_of_an_effect_is_no_error_of_its_predictions(plain):
    """A constant force down is weight to an estimate that has learnt it. Before, and of rows whose
    effects are not computed, nothing is known of that."""
    robot, samples, given, _ = plain
    estimator, heave, shares = Estimator(WEIGHTED, given, robot), 2, []
    for k, sample in enumerate(samples):
        estimator.add(sample)
        information, row = estimator.information, estimator.prediction
        if row is not None:
            left = information.unmodelled(
                row.regressor, estimator.knowledge.recent.systematic)
            columns = information.systematic.lacking.of_row
            assert (left is None) == (columns is None)
            if left is not None:
                shares.append(np.sum(left[heave] ** 2) / np.sum(columns[heave] ** 2))
        if k % 50 == 49:
            estimator.solve()
    assert shares[0] == 1.0 and np.median(shares[-10:]) < 0.2
    assert len(shares) <= len(samples) / EVERY


def test_what_is_estimated_is_not_lacking():
    """A set that the model has is no effect that it lacks; an arm on a fixed base, which may stand
    in air, lacks nothing, nor does a model that is said to be complete."""
    def names(**settings):
        config = Config().with_values({f"robot.{k}": v for k, v in settings.items()})
        return set(LackingTerms(config, RobotModel.from_config(config)).names)

    assert {"X_w", "current_N", "offset_X", "axis_e.c_drag", "thrust_N", "mxg_Z_dq"} <= names()
    assert "X_w" not in names(terms=("off_axis_damping",))
    assert "offset_X" not in names(estimate_offsets="all")
    assert "axis_e.c_drag" not in names(terms=("link_drag", "rotor"), estimate_offsets="joints")
    assert not names(vehicle=False)
    config = Config().with_values({"uncertainty.lacking_share": 0.0})
    assert LackingTerms(config, RobotModel.from_config(config)).names == ()


def test_it_is_saved_and_gone_on_with(complete, tmp_path):
    """A restart states the same deviations, and a second of new data does not remove them. A file
    of a version that did not know the effects can be read: they have had no effect on it, as far as
    is known."""
    estimator, last = complete
    path = save_parameters(tmp_path / "p.yaml", estimator.parameter_set())
    found = load_parameters(path)
    again = Estimator(estimator.config, found, estimator.robot)
    np.testing.assert_allclose(again.parameter_set().stddev, last.stddev, rtol=1e-9)
    for sample in linear_samples(estimator.config, estimator.robot, last.pi, 1.5, 4):
        made = again.step(sample)
    # another motion adds its own; what is lost would be lost altogether
    kept, before = (np.linalg.norm(one.systematic, axis=0) for one in (made, last))
    assert (kept > .5 * before).all()
    limited = {name for name, one in zip(found.names, found.limited) if one}
    assert {"X_u", "Y_vv"} & limited and not limited & {
        name for name, word in zip(found.names, found.known_from) if word == "measured"}
    older = Estimator(estimator.config, replace(found, systematic=found.systematic[:CAUSES]),
                      estimator.robot)
    older_set = older.parameter_set()
    assert older_set.systematic.shape == found.systematic.shape
    assert not older_set.systematic[CAUSES:].any()
