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

"""Forward simulation: the motion against independent integration, its bands against drawn
parameters.

The whole Monte Carlo takes ten minutes: `python -m uvms_adaptive_dynamics forward BAG --parameters
YAML --draws 2000` (docs/uncertainty.md).
"""
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from uvms_adaptive_dynamics import Estimator
from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ParameterError
from uvms_adaptive_dynamics.model.dynamics import State, forward_dynamics
from uvms_adaptive_dynamics.model.equations_of_motion import FRICTION_SPEED
from uvms_adaptive_dynamics.model.error_covariance import Disturbance
from uvms_adaptive_dynamics.model.forward_simulation import error_of, simulate
from uvms_adaptive_dynamics.model.parameter_draws import moving_covariance
from uvms_adaptive_dynamics.model.parameter_file import save_parameters
from uvms_adaptive_dynamics.model.parameter_set import ParameterSet
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rotation_vector, from_rpy
from uvms_adaptive_dynamics.simulation.bag import write_bag
from uvms_adaptive_dynamics.studies.forward_check import error_names
from uvms_adaptive_dynamics.studies.monte_carlo import band_ratios, monte_carlo


def robot_and_pi(**settings):
    """A robot and its prior, which the estimator has projected onto P."""
    config = Config().with_values(settings)
    robot = RobotModel.from_config(config)
    return config, robot, Estimator(config, robot=robot).pi


@pytest.fixture(scope="module")
def whole():
    return robot_and_pi()


def start_of(robot, seed=0):
    rng = np.random.default_rng(seed)
    n = robot.table.n
    R_nb = from_rpy(0.1, -0.15, 0.4) if robot.vehicle else np.eye(3)
    return State(R_nb, 0.2 * rng.normal(size=6) * robot.vehicle, rng.uniform(1.5, 2.5, n),
                 0.3 * rng.choice([-1, 1], n))


def efforts_of(robot):
    """Smooth efforts that move vehicle and joints to and fro, the joints through rest."""
    C, head = robot.table.channels, 6 if robot.vehicle else 0
    size = np.concatenate([[6, 6, 6, 1, 1, 1][:head], [0.9, 0.9, 0.4, 0.2][:C - head]])
    return lambda t: size * np.sin(2.2 * t + np.arange(C))


def in_motion(robot, pi):
    """A state whose joint speeds match the efforts, and the efforts from there on; friction removes
    any other speed within milliseconds."""
    efforts = efforts_of(robot)
    return simulate(robot, start_of(robot), efforts, pi, 0.3).states[-1], lambda t: efforts(t + 0.3)


def test_motion_agrees_with_an_adaptive_integrator(whole):
    """Against scipy's Radau with forward_dynamics: 1 s of vehicle and arm without Coulomb friction,
    which has no derivative there."""
    _, robot, pi = whole
    pi = pi.copy()
    pi[robot.table.match(["*.fs"])] = 0.0
    start, efforts = in_motion(robot, pi)

    def slope(t, x):
        R, nu, mu, mu_dot = x[:9].reshape(3, 3), x[9:15], x[15:19], x[19:]
        a = forward_dynamics(robot, State(R, nu, mu, mu_dot), efforts(t), pi)
        w = nu[3:]
        R_dot = R @ np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.concatenate([R_dot.ravel(), a.nu_dot, mu_dot, a.mu_ddot])

    exact = solve_ivp(slope, (0, 1),
                      np.concatenate([start.R_nb.ravel(), start.nu, start.mu, start.mu_dot]),
                      "Radau", rtol=1e-7, atol=1e-9).y[:, -1]
    errors = []
    for step in (0.02, 0.01):
        end = simulate(robot, start, efforts, pi, 1.0, step=step).states[-1]
        x = np.concatenate([end.R_nb.ravel(), end.nu, end.mu, end.mu_dot])
        errors.append(np.abs(x - exact).max())
    assert errors[1] < 2e-3 and errors[0] / errors[1] > 3    # second order


def test_a_joint_comes_to_rest_and_stays():
    """With efforts below friction an arm at rest only creeps, at any step size; a sign function
    would oscillate."""
    _, robot, pi = robot_and_pi(**{"robot.vehicle": False})
    robot.arm.model.gravity.linear = np.zeros(3)    # the settings do not allow zero gravity
    start = replace(start_of(robot), mu_dot=np.full(4, 0.4))
    for step in (0.02, 0.005):
        run = simulate(robot, start, lambda t: np.zeros(4), pi, 2.0, step=step)
        assert np.abs(run.states[-1].mu_dot).max() < 0.1 * FRICTION_SPEED
        assert max(np.abs(state.mu_dot).max() for state in run.states) <= 0.4


def misfit(band, expected, settled=10):
    """(d,) RMS over time of the difference of two deviations (T, d), relative to the expected one.
    The first steps do not count: in them the speeds of joints dominated by friction change faster
    than a step resolves."""
    band, expected = band[settled:], expected[settled:]
    size = np.maximum(np.mean(expected ** 2, axis=0), 1e-24)
    return np.sqrt(np.mean((band - expected) ** 2, axis=0) / size)


def small_direction(robot, pi):
    """A random direction (p,) of 1e-4 of each parameter's size."""
    size = np.maximum(np.abs(pi), 0.1 * robot.table.scale)
    return 1e-4 * size * np.random.default_rng(1).normal(size=pi.size)


def distance(robot, start, efforts, pi, direction, duration, covariance):
    """The band's deviations (T, d), and half the distance of the runs at pi +- direction."""
    band = simulate(robot, start, efforts, pi, duration, covariance)
    runs = [simulate(robot, start, efforts, pi + sign * direction, duration) for sign in (1, -1)]
    ends = (error_of(robot, run.states, run.position, band) for run in runs)
    return band.stddev, np.abs(np.subtract(*ends)) / 2


@pytest.mark.parametrize("settings", [{}, {"robot.vehicle": False}, {"robot.joints": ()}],
                         ids=["whole", "arm", "vehicle"])
def test_bands_are_the_derivative_by_the_parameters(settings):
    """To first order in a small covariance of one direction, the band is half the distance of the
    two runs at pi +- that direction: to 5 % without Coulomb friction, the error of steps of 10 ms
    (half of that with 5 ms)."""
    _, robot, pi = robot_and_pi(**settings)
    pi = pi.copy()
    direction = small_direction(robot, pi)
    if robot.table.n:
        pi[robot.table.match(["*.fs"])] = direction[robot.table.match(["*.fs"])] = 0.0
    stddev, half = distance(robot, *in_motion(robot, pi), pi, direction, 1.5,
                            np.outer(direction, direction))
    found = misfit(stddev, half)
    assert np.all(found < 0.05) and np.all(stddev[0] == 0), found.round(3)


def test_bands_stand_reversals_of_joints(whole):
    """With Coulomb friction joints stop and reverse within a step: vehicle and joint positions keep
    5 %; joint speeds, whose bands then jump, keep 20 %."""
    _, robot, pi = whole
    direction = small_direction(robot, pi)
    start, efforts = in_motion(robot, pi)
    stddev, half = distance(robot, start, efforts, pi, direction, 1.5,
                            np.outer(direction, direction))
    found = misfit(stddev, half)
    assert np.all(found[:16] < 0.05) and np.all(found[16:] < 0.2), found.round(3)
    signs = np.sign([state.mu_dot for state in simulate(robot, start, efforts, pi, 1.5).states])
    assert np.any(signs[0] != signs[-1])


@pytest.mark.campaign
def test_bands_agree_with_drawn_parameters(whole):
    """60 draws over 2 s: the band of the draws' own covariance equals their spread, except for
    nonlinearity (5 %); that of the covariance they were drawn from agrees within the sampling error
    of 60 draws (9 % of a standard deviation; four times that)."""
    config, robot, pi = whole
    rng = np.random.default_rng(3)
    size = 0.01 * np.maximum(np.abs(pi), 0.02 * robot.table.scale)
    root = size[:, None] * rng.normal(size=(pi.size, 20)) / np.sqrt(20)
    estimate = ParameterSet(robot.table.names, pi, root @ root.T)
    start, efforts = in_motion(robot, pi)
    draws = monte_carlo(robot, start, efforts, estimate, config, 2.0, 0.02, 60, 0)
    spread = draws.errors.std(axis=0, ddof=1)

    def ratio(covariance):
        band = simulate(robot, start, efforts, pi, 2.0, covariance, step=0.02)
        return np.sqrt(np.mean(band.stddev ** 2, axis=0) / np.mean(spread ** 2, axis=0)), band

    of_draws, _ = ratio(np.cov(draws.values.T))
    of_estimate, band = ratio(estimate.covariance)
    assert np.all(np.abs(of_draws - 1) < 0.05), of_draws.round(3)
    assert np.all(np.abs(of_estimate - 1) < 4 * 0.09) and draws.refused == 0
    ratios = band_ratios(band, draws.errors)
    assert ratios.shape == (101, 20) and np.isnan(ratios[0]).all()


def test_bands_of_a_disturbance_agree_with_drawn_disturbances(whole):
    """60 runs under efforts with white noise of the same density: RMS of the band within four
    standard errors (9 % each)."""
    _, robot, pi = whole
    step, duration = 0.02, 1.0
    sigma, time = np.array([2., 2., 2., .4, .4, .4, .02, .02, .02, .02]), 0.24
    start, efforts = in_motion(robot, pi)
    band = simulate(robot, start, efforts, pi, duration,
                    disturbance=Disturbance(np.diag(sigma ** 2), time), step=step)
    rng, errors = np.random.default_rng(0), []
    for _ in range(60):
        # Trapezoids between the steps: a step experiences the mean of two neighbours.
        noise = rng.normal(size=(round(duration / step) + 1, 10)) * sigma * np.sqrt(time / step)

        def disturbed(t, noise=noise):
            return efforts(t) + noise[min(round(t / step), len(noise) - 1)]
        run = simulate(robot, start, disturbed, pi, duration, step=step)
        errors.append(error_of(robot, run.states, run.position, band))
    slow = range(16)   # joint speeds follow the noise itself, which the trapezoids correlate
    drawn = np.mean(np.var(errors, axis=0)[25:], axis=0)
    ratio = np.sqrt(np.mean(band.stddev[25:] ** 2, axis=0) / drawn)[slow]
    assert np.all(np.abs(ratio - 1) < 4 * 0.09), ratio.round(2)


def test_start_covariance_turns_with_the_state(whole):
    """A start with uncertain attitude: the band is that of two starts rotated against each other.
    """
    _, robot, pi = whole
    pi = pi.copy()
    pi[robot.table.match(["*.fs"])] = 0.0
    start, efforts = in_motion(robot, pi)
    turn = np.zeros(20)
    turn[3:6] = 1e-4 * np.array([1.0, -2.0, 0.5])
    band = simulate(robot, start, efforts, pi, 0.5, start_covariance=np.outer(turn, turn))
    runs = [
        simulate(robot, replace(start, R_nb=start.R_nb @ from_rotation_vector(sign * turn[3:6])),
                 efforts, pi, 0.5) for sign in (1, -1)
    ]
    half = np.abs(np.subtract(*(error_of(robot, run.states, run.position, band)
                                for run in runs))) / 2
    assert np.all(misfit(band.stddev, half) < 0.03), misfit(band.stddev, half).round(3)


def test_without_any_covariance_there_are_no_bands(whole):
    """Simulation alone; the same motion as with bands."""
    _, robot, pi = whole
    start, efforts = start_of(robot), efforts_of(robot)
    alone, banded = simulate(robot, start, efforts, pi,
                             0.2), simulate(robot, start, efforts, pi, 0.2, np.zeros((75, 75)))
    assert alone.covariance is None and np.all(banded.stddev == 0)
    np.testing.assert_array_equal(alone.states[-1].mu, banded.states[-1].mu)


def test_draws_that_have_no_motion_are_refused_and_counted(whole):
    """The last joint's inertia is as uncertain as it is large: about half of the draws have no
    positive definite inertia and are drawn again."""
    config, robot, pi = whole
    variance = np.zeros(75)
    variance[robot.table.places(["axis_b.Izz"
                                 ])] = (3 * abs(pi[robot.table.places(["axis_b.Izz"])])) ** 2
    draws = monte_carlo(robot, start_of(robot), efforts_of(robot),
                        ParameterSet(robot.table.names, pi, np.diag(variance)), config, 0.04, 0.02,
                        10, 0)
    assert draws.refused > 0 and draws.outside <= 10 and len(draws.values) == 10
    # Half a normal distribution has .36 of its variance; here the cut is below the mean.
    all_of_it, place = np.diag(variance), robot.table.places(["axis_b.Izz"])[0]
    moving = moving_covariance(robot, start_of(robot), pi, all_of_it, 4000)
    assert .36 < moving[place, place] / variance[place] < .75


def test_what_has_no_motion_is_refused(whole):
    """Parameters without inertia and a diverging motion raise errors with a message instead of
    returning infinite numbers."""
    _, robot, pi = whole
    without = pi.copy()
    without[robot.table.places(["m_X_du"])] = -30.0
    with pytest.raises(ParameterError, match="not positive definite"):
        simulate(robot, start_of(robot), efforts_of(robot), without, 0.1)
    with pytest.raises(ParameterError, match="motion diverges"):
        simulate(robot, start_of(robot), lambda t: np.full(10, 1e7), pi, 1.0)


def test_command_compares_bands_with_the_recording(whole, tmp_path, capsys):
    """A recording and a saved estimate: bands and errors of all states at all instants, and the
    Monte Carlo's ratios."""
    _, robot, pi = whole
    write_bag(tmp_path / "bag", seed=1, duration=5.0)
    covariance = np.diag((0.01 * np.abs(pi)) ** 2)
    saved = ParameterSet(robot.table.names, pi, covariance, np.full(10, 0.1))
    save_parameters(tmp_path / "p.yaml", saved)
    arguments = ["forward", str(tmp_path / "bag"), "--parameters", str(tmp_path / "p.yaml"),
                 "--begin", "2", "--output", str(tmp_path / "out")]
    assert main([*arguments, "--duration", "1", "--draws", "3", "--disturbance"]) == 0
    found = json.loads((tmp_path / "out" / "forward.json").read_text())
    assert np.array(found["stddev"]).shape == (51, 20)
    assert np.array(found["measured_minus_simulated"], float).shape == (51, 20)
    assert found["error_names"] == list(error_names(robot))
    assert "yaw [rad]" in capsys.readouterr().out
    assert len(found["monte_carlo"]["parameters that can move"]["overall"]) == 20
    assert main([*arguments, "--duration", "60"]) == 2
    assert "begin earlier" in capsys.readouterr().err
