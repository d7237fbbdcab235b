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

"""The knowledge of a robot: each change of it concerns all of its parts."""
from dataclasses import replace

import numpy as np
import pytest
from analytic import AnalyticMotion

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.accepted_change import Restoration, RobotChange
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.robot import RobotModel

CONFIG = Config().with_values({"robot.joints": [], "filter.lowpass": 0.02,
                               "estimation.frozen": ["W"]})


@pytest.fixture(scope="module")
def saved():
    """What a second of a vehicle without an arm teaches."""
    robot, motion = RobotModel.from_config(CONFIG), AnalyticMotion(0, config=CONFIG)
    pi = Estimator(CONFIG, robot=robot, learn=False).pi
    estimator = Estimator(CONFIG, robot=robot)
    for k in range(60):
        estimator.step(motion.sample(CONFIG.filter.period * k, robot, pi))
    found = estimator.parameter_set()
    return replace(found, known_from=tuple("frozen" if name == "W" else "measured"
                                           for name in found.names))


def knowledge_of(saved):
    return Estimator(CONFIG, start=saved).knowledge


def test_what_begins_anew_is_not_known_from_the_file_any_more(saved):
    """The other parameters are, and the data behind them count."""
    knowledge = knowledge_of(saved)
    damping = knowledge.prior.names.index("X_u")
    moved = knowledge.pi.copy()
    moved.setflags(write=False)
    knowledge.revise(moved, np.array([damping]))
    words = dict(zip(saved.names, knowledge.known_from()))
    assert words.pop("X_u") == "prior" and words.pop("W") == "frozen"
    assert set(words.values()) == {"measured"} and knowledge.prior.learned
    assert knowledge.pi is moved


def test_a_robot_that_begins_anew_has_no_file(saved):
    knowledge = knowledge_of(saved)
    knowledge.revise(knowledge.pi, np.flatnonzero(knowledge.free))
    assert not knowledge.prior.learned
    assert {"prior", "frozen"} == set(knowledge.known_from())


def test_a_revision_that_restarts_nothing_keeps_the_file(saved):
    knowledge = knowledge_of(saved)
    knowledge.revise(knowledge.pi, np.zeros(0, int))
    assert knowledge.known_from() == saved.known_from and knowledge.prior.learned


def test_beginning_again_drops_the_data_and_keeps_estimate_and_covariance(saved):
    """As after solves that failed in a row."""
    estimator = Estimator(CONFIG)
    robot, motion = estimator.robot, AnalyticMotion(0, config=CONFIG)
    for k in range(60):
        estimator.step(motion.sample(CONFIG.filter.period * k, robot, saved.values))
    knowledge = estimator.knowledge
    pi, covariance, rows = knowledge.pi, knowledge.covariance, knowledge.information.rows_learned
    assert knowledge.information.window.filled and rows
    knowledge.begin_again()
    assert knowledge.pi is pi and not knowledge.information.window.filled
    np.testing.assert_array_equal(knowledge.covariance, covariance)
    assert knowledge.information.rows_in_prior == knowledge.information.rows_learned == rows


def test_beginning_again_keeps_how_well_the_noise_is_known(saved):
    """Whether residuals follow one another, and the rows of the file behind the noise."""
    known = replace(saved, learned={**saved.learned, "rows": 6_000_000})
    knowledge = knowledge_of(known)
    products = knowledge.information.gradient.autocovariance.products
    assert products[1].any()
    knowledge.begin_again()
    information = knowledge.information
    np.testing.assert_array_equal(information.gradient.autocovariance.products, products)
    assert (information.noise.record().long_run.seen > 1000).all()


def test_another_robot_that_is_withdrawn_has_its_file_again(saved):
    """Words, rows, spans and marks, all that is read from the knowledge before the change."""
    estimator = Estimator(CONFIG, start=saved)
    before, words = estimator.parameter_set().learned, estimator.known_from()
    change = RobotChange("robot", 0, estimator.information.noise_record(),
                         np.flatnonzero(estimator.free), "odds")
    kept = []
    estimator._robot_changes.detector.remember = kept.append
    estimator.follow(change, 1.2)
    assert estimator.parameter_set().learned["rows"] == 0
    known, = kept
    estimator.follow(Restoration(known.part, 0, known.information.noise, known), 1.3)
    assert estimator.parameter_set().learned == before and estimator.known_from() == words
