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

"""Flags, null space in words, and blocks, for cases with known answers."""
import numpy as np
import pytest
from scipy.stats import truncnorm

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.coverage import judge_flags, run_seed
from uvms_adaptive_dynamics.studies.coverage_table import summary
from uvms_adaptive_dynamics.studies.linear_data import linear_samples, true_parameters
from uvms_adaptive_dynamics.uncertainty.identifiability import (
    _block,
    _cut_off,
    _echelon,
    _written,
    directions,
    known_from,
)


def test_flags_by_what_is_left_and_by_the_priors_part():
    """A measured parameter needs a narrow interval that is not due to the prior; one that only
    physics narrows is weak; one without a prior deviation is frozen."""
    left = np.array([.2, .2, .5, .95, .95, 0.])
    other = (np.array([1., 1., 1., 1., 1., 0.]), np.array([.05, .15, .1, .9, .9, 0.]),
             np.where(np.arange(6) == 4, .4, left))
    assert known_from(left, np.zeros(6), *other) == (
        "measured", "weak", "weak", "prior", "weak", "frozen")
    # Systematic errors count, and do not make the prior's share smaller.
    assert known_from(left, np.full(6, .25), *other)[:3] == ("weak", "weak", "weak")
    assert known_from(left, np.full(6, .1), *other)[:2] == ("measured", "weak")


def test_cut_off_normal_distribution_is_scipys():
    """The deviation of a truncated normal distribution: one-sided, narrow and wide."""
    for down, up in ((0., 10.), (.5, 2.), (.001, .002), (10., 10.), (3., 0.)):
        assert _cut_off(np.array([down]),
                        np.array([up]))[0] == pytest.approx(truncnorm.std(-down, up), rel=1e-3)


def test_combinations_are_written_as_people_do():
    """Elimination finds sparse combinations; long ones are not written out."""
    N = np.array([[1., 1.], [1., -1.], [2., 0.]])
    assert np.count_nonzero(_echelon(N)) <= 4
    assert _written(np.array([2., -2.]), ["W", "B"]) == "W - B" and _written(
        np.array([1., 0., .5]), list("abc")) == "a + 0.5 c"
    assert _written(np.ones(9), list("abcdefghi")) == ""


@pytest.fixture(scope="module")
def learnt():
    config = Config()
    robot = RobotModel.from_config(config)
    truth = true_parameters(config, robot, np.random.default_rng(3))
    estimator = Estimator(config, perturbed(truth, 2, 3), robot)
    for k, sample in enumerate(
            linear_samples(config, robot,
                           Estimator(config, truth, robot).prior.values, 20.0, 3)):
        estimator.add(sample)
        if k % 25 == 24:
            estimator.solve()
    return estimator


def test_weight_and_buoyancy_only_as_their_difference(learnt):
    """The code does not contain this rule: it follows from the rows."""
    assert "W and B only as W - B" in learnt.identifiability().sentences


def test_rank_and_null_space_are_those_of_an_svd_of_the_rows():
    """Random rows of low rank: the rank is that of an independent SVD, and null directions change
    no row."""
    config = Config()
    table = RobotModel.from_config(config).table
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 30)) @ rng.normal(size=(30, table.size)) / table.scale
    found = directions(table, np.ones(table.size, bool), rows.T @ rows)
    reduced = found.at.columns(rows)
    s = np.linalg.svd(reduced / np.linalg.norm(reduced, axis=0), compute_uv=False)
    assert found.rank == np.sum(s > 1e-6 * s[0]) == 30
    assert found.condition == pytest.approx(s[0] / s[29], rel=1e-6)
    assert np.abs(
        reduced @ found.null).max() < 1e-6 * np.abs(reduced).max() * np.abs(found.null).max()


def test_blocks_that_the_motion_shows_are_trusted_and_others_warned_of(learnt):
    """After 20 s of full motion vehicle and friction are known and the first link is not; the
    summary says so."""
    found = learnt.identifiability()
    left = {block.name: block.left for block in found.blocks}
    assert left["vehicle inertia"] < .1 and left["axis_b friction"] < .1
    assert left["axis_e link"] > .3
    assert any(
        w.startswith("axis_e link")
        for w in found.warnings) and not any(w.startswith("vehicle") for w in found.warnings)
    assert found.rank == learnt.identifiable_rank() < found.size == 73


def test_nothing_is_known_before_the_first_row():
    """Rank zero, and every parameter is the prior's and without effect so far."""
    config = Config()
    found = Estimator(config, prior_from_config(config,
                                                RobotModel.from_config(config))).identifiability()
    assert found.rank == 0 and set(
        found.known_from) == {"prior"} and "no effect on any row so far" in found.sentences[-1]


def test_information_that_rounding_leaves_below_zero_is_none():
    """A group that no row shows; its excitation was not a number in the statement."""
    block = _block("axis_e friction", np.array([0]), np.array([[-1e-18]]), 10.0, np.eye(1),
                   np.ones(1))
    assert (block.excitation, block.left) == (0.0, 1.0)


def test_flags_are_right_for_nearly_all_parameters():
    """Over draws of prior and noise, at least 95 % of the flags are right, also strictly
    (docs/uncertainty.md). (With 8 draws, without the rule about the prior's part and with
    'measured' up to .9 of the prior's deviation, .903 are strictly right.) For more draws use
    `coverage --draws`."""
    found = judge_flags(Config(), 0, 40.0, 5)
    assert found["right"] >= found["strictly"] >= .95, found["wrong"]
    assert found["cautious"] < .31      # measured .277; .280 with 8 draws, .302 with 16


@pytest.mark.parametrize("word", ["measured", "prior"])
def test_wrong_flags_are_seen(word, monkeypatch):
    """A rule that flags everything as measured, or nothing, fails clearly."""
    monkeypatch.setattr(Estimator, "known_from", lambda estimator: (word,) * estimator.pi.size)
    found = judge_flags(Config().with_values({"estimation.frozen": ["axis_e.fs"]}), 0, 10.0, 3)
    assert found["strictly"] < .7 and found["right"] < .8


def test_intervals_hold_the_true_parameters():
    """Short form of the `coverage` command: 3 robots, 60 s each, white noise, pooled over measured
    parameters. (In the first 40 s the tracked noise is still too large, and intervals cover more.)
    With deviations times .7 coverage is .857 here, with times 1.5 it is 1."""
    found = summary([run_seed(Config(), seed, 60.0) for seed in range(3)])
    assert found["measured_per_seed"] > 20
    assert .90 < found["covariance"]["information"]["pooled"] < .985
