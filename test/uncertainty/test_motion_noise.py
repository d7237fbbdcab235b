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

"""Bias of estimates due to noise of the measured motion, against regressions with known noise."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.linear_data import linear_samples
from uvms_adaptive_dynamics.uncertainty.constrained_inverse import ConstrainedInverse
from uvms_adaptive_dynamics.uncertainty.motion_noise import MotionNoise

PERIOD = .02
KERNEL = np.hanning(23)[1:-1] / np.hanning(23).sum()
MASS, DRAG = 20.0, -9.0


def fed(nu_dot, nu, decay=1.0, velocity_stddev=0.0):
    """The noise of a vehicle with two parameters, informed only by surge's row."""
    noise = MotionNoise(PERIOD, KERNEL, 2, decay, 5000.0)
    for rate, speed in zip(nu_dot, nu):
        axis = noise.add_motion(np.full(6, rate), np.full(6, speed), velocity_stddev)
        if axis == 0:
            noise.set_columns(0, np.array([[1.0, 0.0], [0.0, -1.0]]))
    return noise


def white(seed, stddev, n=6000):
    """A series of independent values."""
    return np.random.default_rng(seed).normal(0, stddev, n)


def test_noise_is_seen_and_smooth_motion_is_not():
    """White noise counts with one to 1 / SEEN times its variance after the low-pass; a vehicle's
    motion hardly counts."""
    a = white(0, .05)
    behind = np.convolve(a, KERNEL, "valid").var()
    assert 1.0 < fed(a, a).variance[0] / behind < 2.6
    t = PERIOD * np.arange(6000)
    motion = .2 * np.sin(2 * np.pi * .3 * t)
    assert fed(motion, motion).variance[0] < .003 * motion.var()


def sudden(nu_dot, seconds=2.0):
    """The variance of surge's predicted effort due to noise that the last seconds alone have."""
    return fed(nu_dot, np.zeros(len(nu_dot))).sudden_effort_variance(np.array([MASS, DRAG]),
                                                                     seconds)[0]


@pytest.mark.campaign
@pytest.mark.parametrize("seconds", [0.5, 1.0, 2.0, 6.0])
def test_noise_that_is_usual_is_not_sudden(seconds):
    """In one of a thousand cases chance looks like more."""
    assert np.mean([sudden(white(k, .05, 1500), seconds) > 0 for k in range(200)]) <= .015


@pytest.mark.parametrize("lasts", [2.0, 10.0, 30.0])
def test_a_burst_of_noise_is_told_with_its_effort_while_it_lasts(lasts):
    """Thirty seconds of it have not become usual after a minute without; when it is over, so is its
    effect."""
    series = [np.r_[white(k, .01, 3000), white(50 + k, .5, round(lasts / PERIOD))]
              for k in range(20)]
    behind = MASS ** 2 * np.convolve(white(2, .5), KERNEL, "valid").var()
    assert 1.0 < np.mean([sudden(one) for one in series]) / behind < 2.6
    assert sudden(np.r_[series[0], white(3, .01, 200)]) == 0.0


def test_smooth_motion_after_rest_is_hardly_sudden_noise():
    """A vehicle that begins to move: its own effort is four hundred times as large."""
    t = PERIOD * np.arange(500)
    motion = .2 * np.sin(2 * np.pi * .2 * t)
    assert sudden(np.r_[white(0, .003, 3000), motion]) < .0025 * MASS ** 2 * motion.var()


def test_a_gap_is_no_noise():
    """No differences are formed across a gap."""
    noise = fed(np.zeros(100), np.zeros(100))
    noise.break_off()
    for _ in range(100):
        noise.add_motion(np.ones(6), np.ones(6), 0.0)
    assert not noise.variance.any()


def test_what_the_filter_knows_of_velocities_counts():
    """Slow noise of linear velocities, which differences do not see, comes from the filter."""
    noise = fed(np.zeros(100), np.zeros(100), velocity_stddev=.004)
    assert noise.variance[6:9] == pytest.approx(.004 ** 2)
    assert not noise.variance[9:].any()


@pytest.mark.parametrize("share", [.8, .95])
def test_an_estimate_is_off_by_what_is_said(share):
    """If only a share of the acceleration's power is real, the estimated mass is too small by that
    share. The stated bias is at least the true one, since it counts too much noise (SEEN)."""
    t = PERIOD * np.arange(6000)
    true = .1 * np.sin(2 * np.pi * .2 * t)
    level = np.sqrt(true.var() * (1 / share - 1) / (KERNEL @ KERNEL))
    measured = true + white(1, level)
    rows = np.convolve(measured, KERNEL, "valid")
    effort = MASS * np.convolve(true, KERNEL, "valid")
    estimate = rows @ effort / (rows @ rows)
    assert estimate == pytest.approx(share * MASS, rel=.05)
    noise = fed(measured, np.zeros(6000))
    for _ in rows:
        noise.add_row(np.eye(6)[0])
    A = np.diag([rows @ rows, 1.0])
    inverse = ConstrainedInverse(A, A, np.zeros((0, 2)), 0, np.zeros(2), np.ones(2, bool))
    moved = noise.bias(inverse, np.array([estimate, 0.0]), np.ones(6), np.full(2, 100.0))[0]
    assert MASS - estimate < moved < 3 * (MASS - estimate)
    # if all motion is noise, the bias is the prior's deviation, and no more
    nothing = fed(white(2, 1.0), np.zeros(6000))
    for _ in rows:
        nothing.add_row(np.eye(6)[0])
    moved = nothing.bias(inverse, np.array([estimate, 0.0]), np.ones(6), np.array([7.0, 1.0]))[0]
    assert moved == pytest.approx(7.0)


def test_rows_that_are_forgotten_do_not_count():
    """Uniform forgetting, and a map of old rows along the direction that it forgets."""
    still = np.zeros(100)
    fading, mapped = fed(still, still, decay=.5), fed(still, still)
    for noise in (fading, mapped):
        for _ in range(60):
            noise.add_row(np.ones(6))
    A = np.eye(2)
    inverse = ConstrainedInverse(A, A, np.zeros((0, 2)), 0, np.zeros(2), np.ones(2, bool))
    weights = np.full(6, 1e-6)

    def mass_moves(noise):
        noise._squares[:], noise._blocks = 1.0, 1.0
        return noise.bias(inverse, np.array([MASS, DRAG]), weights, np.full(2, 100.0))[0]

    all_rows = mass_moves(mapped)
    assert mass_moves(fading) == pytest.approx(all_rows / 30, rel=.01)
    mapped.mapped(np.eye(2), close=True)
    assert mass_moves(mapped) == pytest.approx(all_rows)
    mapped.mapped(np.diag([.25, 1.0]), close=False)
    assert mass_moves(mapped) == pytest.approx(.25 * all_rows, rel=.01)


@pytest.fixture(scope="module")
def one_axis():
    """(estimator, true parameters (p,)) after 45 s of full motion in heave and 1 % of it on all
    other axes, with the usual noise of accelerometer and DVL."""
    config = Config().with_values({"robot.joints": []})
    robot = RobotModel.from_config(config)
    prior = prior_from_config(config, robot)
    truth, estimator = prior.values, Estimator(config, perturbed(prior, 2, 1), robot)
    share, rng = np.where(np.arange(6) == 2, 1.0, .01), np.random.default_rng(0)
    slow = np.zeros(3)
    for k, sample in enumerate(linear_samples(config, robot, truth, 45.0, 1, .9)):
        moves = replace(sample, nu=share * sample.nu, nu_dot=share * sample.nu_dot, R_nb=np.eye(3))
        noise = sample.wrench - robot.raw_rows(sample).Y[:6] @ truth
        slow = .95 * slow + rng.normal(0, .001, 3)
        estimator.add(replace(
            moves, wrench=robot.raw_rows(moves).Y[:6] @ truth + noise,
            nu=moves.nu + np.append(slow, rng.normal(0, .001, 3)), velocity_stddev=.003,
            nu_dot=moves.nu_dot + rng.normal(0, .03, 6)))
        if k % 5 == 4:
            estimator.solve()
    return estimator, truth


def test_an_axis_that_moves_by_noise_is_not_called_measured(one_axis):
    """Heave is measured, within its interval. The inertias of the other axes come out far too
    small; they are not flagged as measured, and their intervals cover the truth."""
    estimator, truth = one_axis
    table, words = estimator.table, estimator.known_from()
    stddev = estimator.parameter_set(described=False).stddev
    heave, others = table.index["m_Z_dw"], [table.index[name] for name in (
        "m_X_du", "m_Y_dv", "Ix_K_dp", "Iy_M_dq", "Iz_N_dr")]
    assert words[heave] == "measured"
    assert abs(estimator.pi[heave] - truth[heave]) < 3 * stddev[heave]
    assert (estimator.pi[others[:2]] < .5 * truth[others[:2]]).all()
    for place in others:
        assert words[place] != "measured", table.names[place]
        assert abs(estimator.pi[place] - truth[place]) < 3 * stddev[place]


def test_what_is_known_of_it_is_saved(one_axis, tmp_path):
    """A continued estimate begins with the deviations of the one before."""
    estimator, _ = one_axis
    saved = estimator.parameter_set()
    begun = Estimator(estimator.config, robot=estimator.robot, start=saved)
    again = begun.parameter_set(described=False)
    np.testing.assert_allclose(again.stddev, saved.stddev)
    assert saved.systematic[-1, estimator.table.index["m_X_du"]] != 0.0
