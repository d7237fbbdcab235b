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

"""Timing and calibration errors in the intervals of parameters."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config, Uncertainty
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.parameter_file import load_parameters, save_parameters
from uvms_adaptive_dynamics.model.parameter_set import CAUSES
from uvms_adaptive_dynamics.model.prior import perturbed
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.linear_data import linear_samples, true_parameters
from uvms_adaptive_dynamics.uncertainty.systematic_gradient import SystematicGradient

PERIOD = .02
INERTIAS = ("m_X_du", "m_Y_dv", "m_Z_dw", "Ix_K_dp", "Iy_M_dq", "Iz_N_dr")


def sums_of(decay=1.0, **settings):
    """Sums for one wrench channel and one joint, with three parameters."""
    return SystematicGradient(Uncertainty(**settings), 1, 2, 3, PERIOD, decay, np.ones(1), 100.0)


def test_sums_are_the_gradient_of_a_shifted_and_of_a_scaled_effort():
    """Each cause's row is the change of half the gradient if its efforts are late, or larger, by
    one deviation; the other sensor's efforts do not matter."""
    rng = np.random.default_rng(0)
    t = PERIOD * np.arange(400)
    rows = np.sin(np.outer(t, 1 + rng.random(6))).reshape(-1, 2, 3)

    def effort(at):
        return np.stack([np.sin(3 * at) + np.cos(2 * at), np.cos(4 * at)], axis=-1)

    sums, weights = sums_of(delay_stddev=.01, scale_stddev=.05), np.array([4.0, 25.0])
    for Y, tau in zip(rows, effort(t)):
        sums.add_row(Y, tau, np.ones(2, bool), np.ones(2))
    weighted = rows * weights[:, None]
    late, more = (np.einsum("tcp,tc->cp", weighted, changed - effort(t))
                  for changed in (effort(t - .01), 1.05 * effort(t)))
    expected = np.stack([late[0], more[0], late[1], more[1], *np.zeros((2, 3))])
    np.testing.assert_allclose(sums.of_one_deviation(weights), expected,
                               atol=.02 * np.abs(expected).max())


def test_what_is_forgotten_and_mapped_is_forgotten_and_mapped():
    """Uniform forgetting takes the same share of everything; a map applies to earlier rows and to
    the initial sums, but not to later rows."""
    Y, tau, T = np.ones((2, 3)), np.ones(2), np.diag([0.0, .5, 1.0])
    fading, mapped = sums_of(decay=.5), sums_of()
    for _ in range(3):
        fading.add_row(Y, tau, np.ones(2, bool), np.ones(2))
    assert fading.of_one_deviation(np.ones(2))[1] == pytest.approx(.05 * np.full(3, 1.75))
    mapped.restart(np.ones((CAUSES, 3)))
    mapped.add_row(Y, tau, np.ones(2, bool), np.ones(2))
    mapped.mapped(T, close=True)        # from now on the row is old
    mapped.mapped(T, close=False)
    mapped.add_row(Y, tau, np.array([False, True]), np.ones(2))
    found = mapped.of_one_deviation(np.ones(2))
    np.testing.assert_allclose(found[1], [0, .25 + .025, 1.05])
    np.testing.assert_allclose(found[3], [.05, .25 + .025 + .05, 1.1])


@pytest.fixture(scope="module")
def runs():
    """(estimator, estimate) for the same forty seconds of a vehicle: as measured; with held
    commands, which are half a period late; and with a thrust that is 5 % off."""
    config = Config().with_values({"robot.joints": (), "robot.urdf": "",
                                   "uncertainty.lacking_share": 0.0})
    robot = RobotModel.from_config(config)
    truth = true_parameters(config, robot, np.random.default_rng(10_003))
    samples = list(linear_samples(config, robot, truth.values, 40.0, 3))
    given = perturbed(truth, 2, 3)
    found = {}
    for name, wrench in {"measured": lambda new, old: new, "held": lambda new, old: (new + old) / 2,
                         "scaled": lambda new, old: 1.05 * new}.items():
        estimator, last = Estimator(config, given, robot), None
        for k, (old, new) in enumerate(zip(samples, samples[1:])):
            estimator.add(replace(new, wrench=wrench(new.wrench, old.wrench)))
            if k % 50 == 49:
                last = estimator.solve()
        found[name] = estimator, last
    return found


@pytest.mark.parametrize("name, cause", [("held", 0), ("scaled", 1)])
def test_what_is_off_moves_the_estimate_as_its_deviation_says(name, cause, runs):
    """One deviation of delay or scale moves measured parameters as the estimate states, within a
    fifth of a standard deviation."""
    estimator, last = runs[name]
    moved = last.pi - runs["measured"][1].pi
    measured = np.array(estimator.known_from()) == "measured"
    said = last.systematic[cause]
    np.testing.assert_allclose((moved / last.stddev)[measured], (said / last.stddev)[measured],
                               atol=.2)


def test_commands_half_a_period_off_are_inside_the_intervals(runs):
    """Commands held for 20 ms act 10 ms late: inertias are then outside their intervals from noise
    alone, but inside the published ones."""
    estimator, last = runs["held"]
    places = [estimator.table.index[name] for name in INERTIAS]
    off = np.abs(last.pi - runs["measured"][1].pi)[places]
    noise = np.sqrt(np.diag(last.covariance))[places]
    assert (off > 1.96 * noise).any() and (off < 1.96 * last.stddev[places]).all()
    words = dict(zip(estimator.table.names, estimator.known_from()))
    assert words["m_X_du"] == "measured"


def test_measured_needs_a_small_interval_with_all_that_may_be_off(runs, monkeypatch):
    """With twentyfold systematic errors no mass is measured, however much data there is."""
    estimator, last = runs["measured"]
    place = estimator.table.index["m_X_du"]
    assert estimator.known_from()[place] == "measured"
    known = estimator.knowledge.uncertainty
    uncertainty = known.present()._replace(systematic=20 * last.systematic)
    monkeypatch.setattr(known, "present", lambda: uncertainty)
    assert estimator.known_from()[place] != "measured"


def test_what_may_be_off_is_saved_and_gone_on_with(runs, tmp_path):
    """The file keeps systematic errors, and its deviations are the published ones; a second of new
    data does not remove them, and predictions do not include them."""
    estimator, last = runs["measured"]
    path = save_parameters(tmp_path / "p.yaml", estimator.parameter_set())
    found = load_parameters(path)
    np.testing.assert_allclose(found.stddev, last.stddev, rtol=1e-9)
    again = Estimator(estimator.config, found, estimator.robot)
    np.testing.assert_allclose(again.parameter_set().stddev, last.stddev, rtol=1e-9)
    np.testing.assert_array_equal(again.covariance, found.covariance)
    for sample in linear_samples(estimator.config, estimator.robot, last.pi, 1.5, 4):
        made = again.step(sample)
    np.testing.assert_allclose(np.linalg.norm(made.systematic, axis=0),
                               np.linalg.norm(last.systematic, axis=0),
                               atol=.1 * np.linalg.norm(last.systematic, axis=0).max())
    text = path.read_text()
    assert "stddev:" in text and "systematic:" in text
