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

"""What is known and what is not, in words and by blocks, for cases with known answers."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.coverage import run_seed
from uvms_adaptive_dynamics.studies.coverage_table import summary
from uvms_adaptive_dynamics.studies.linear_data import linear_samples, true_parameters
from uvms_adaptive_dynamics.uncertainty.identifiability import _block


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


def test_the_deviation_of_a_combination_is_that_of_the_saved_estimate(learnt):
    """With what timing, calibration and effects that the model lacks may shift: a statement had
    W - B to .56 N and a table of the same file to 18 N."""
    known = learnt.parameter_set()
    J = np.zeros((1, len(known.names)))
    J[0, known.names.index("W")], J[0, known.names.index("B")] = 1.0, -1.0
    (told,) = [one for one in learnt.identifiability().combinations if one.text == "W - B"]
    assert told.stddev == pytest.approx(known.stddev_of(J)[0], rel=1e-3)
    assert told.stddev > 1.5 * np.sqrt(J @ known.covariance @ J.T)[0, 0]


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


@pytest.mark.campaign
def test_intervals_hold_the_true_parameters():
    """Short form of the `coverage` command: 3 robots, 60 s each, white noise, pooled over measured
    parameters. (In the first 40 s the tracked noise is still too large, and intervals cover more.)
    With deviations times .7 coverage is .857 here, with times 1.5 it is 1."""
    found = summary([run_seed(Config(), seed, 60.0) for seed in range(3)])
    assert found["measured_per_seed"] > 20
    assert .90 < found["covariance"]["information"]["pooled"] < .985
