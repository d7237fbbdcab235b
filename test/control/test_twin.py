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

"""The twin: its motion matches the simulation, its bands match drawn disturbances."""
import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from uvms_adaptive_dynamics import Estimator
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.bands import friction_at_rest
from uvms_adaptive_dynamics.control.carried_arm import CarriedArm
from uvms_adaptive_dynamics.control.commands import Commands, held, holding
from uvms_adaptive_dynamics.control.twin import INTEGRATION_STEP, Twin
from uvms_adaptive_dynamics.control.unexplained import BAND_STEP, Unexplained
from uvms_adaptive_dynamics.errors import ParameterError
from uvms_adaptive_dynamics.model.dynamics import State
from uvms_adaptive_dynamics.model.equations_of_motion import EquationsOfMotion
from uvms_adaptive_dynamics.model.forward_simulation import error_of, simulate
from uvms_adaptive_dynamics.model.parameter_set import ParameterSet
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy

CONFIG = Config()
ROBOT = RobotModel.from_config(CONFIG)
PI = Estimator(CONFIG, robot=ROBOT, learn=False).pi
START = State(from_rpy(0.1, -0.15, 0.4), np.array([0.2, -0.1, 0.1, 0.05, -0.05, 0.1]),
              np.array([2.0, 2.2, 1.6, 2.5]), np.zeros(4))
CERTAIN = np.zeros((20, 20))


def efforts(t):
    size = np.array([6, 6, 6, 1, 1, 1, 0.9, 0.9, 0.4, 0.2])
    return size * np.sin(2.2 * t + np.arange(10))


def unexplained(sigma, time=0.5, effort_sigma=0.0, effort_time=0.1):
    lags = BAND_STEP * np.arange(21)
    fading = np.exp(-(lags / time) ** 2 / 2)
    return Unexplained(np.square(sigma), np.repeat(fading[:, None], 10, axis=1),
                       np.full(4, effort_sigma ** 2), np.full(4, effort_time))


def twin(process, pi=PI, covariance=None):
    known = np.zeros((PI.size,) * 2) if covariance is None else covariance
    return Twin(ROBOT, CONFIG, ParameterSet(ROBOT.table.names, pi, known), process)


def test_a_forecast_is_the_simulation():
    found = twin(unexplained(np.ones(10))).forecast(START, Commands(efforts), 1.0)
    run = simulate(ROBOT, START, efforts, PI, 1.0, step=INTEGRATION_STEP)
    assert np.allclose(found.position, run.position[::5])
    assert np.allclose(found.states[-1].nu, run.states[-1].nu)
    assert found.t[-1] == pytest.approx(1.0) and found.stddev.shape == (11, 20)


def test_bands_hold_drawn_disturbances_that_last_and_noise_of_efforts():
    """The band's RMS is within four standard errors (11 % each) of the scatter of 40 runs of 1 s
    with disturbances of a known process; without friction, which is nonlinear."""
    pi = PI.copy()
    pi[ROBOT.table.match(["*.fs"])] = 0.0
    sigma = np.array([2., 2., 2., .2, .2, .2, .02, .02, .02, .01])
    process = unexplained(sigma, effort_sigma=0.03)
    band = twin(process, pi).forecast(START, Commands(efforts, measured=True), 1.0, CERTAIN)
    rng, roots, errors = np.random.default_rng(0), process.roots(10), []
    keep = np.exp(-INTEGRATION_STEP / 0.1)
    for _ in range(40):
        lasting = np.einsum("ckj,cj->kc", roots, rng.standard_normal((10, 10)))
        noise = [0.03 * rng.standard_normal(4)]
        for _ in range(51):
            noise.append(keep * noise[-1]
                         + np.sqrt(1 - keep ** 2) * 0.03 * rng.standard_normal(4))

        def disturbed(t, lasting=lasting, noise=noise):
            # A step applies the mean of its two instants.
            tau = efforts(t) + lasting[min(int(t / BAND_STEP + 1e-9), 9)]
            tau[6:] += noise[round(t / INTEGRATION_STEP)]
            return tau
        run = simulate(ROBOT, START, disturbed, pi, 1.0, step=INTEGRATION_STEP)
        errors.append(error_of(ROBOT, run.states[::5], run.position[::5], band))
    drawn = np.mean(np.var(errors, axis=0)[4:], axis=0)
    ratio = np.sqrt(np.mean(band.stddev[4:] ** 2, axis=0) / drawn)
    assert np.all(np.abs(ratio[:16] - 1) < 4 * 0.11), ratio.round(2)


def test_parameters_and_start_widen_the_bands():
    """Each uncertain cause adds to the variance, and certain ones add nothing."""
    none = twin(unexplained(np.zeros(10))).forecast(START, Commands(held(np.zeros(10))), 0.5,
                                                    CERTAIN)
    rest = none.stddev[-1]
    assert np.all(rest[:3] < 1e-3)      # friction at rest alone, through the arm
    unknown = twin(unexplained(np.zeros(10)), covariance=np.diag((1e-2 * PI) ** 2)).forecast(
        START, Commands(held(np.zeros(10))), 0.5, CERTAIN).stddev[-1]
    started = twin(unexplained(np.zeros(10))).forecast(
        START, Commands(held(np.zeros(10))), 0.5).stddev[-1]
    assert np.all(unknown[:12] > rest[:12]) and np.all(started[:12] > rest[:12])


def test_friction_at_rest_is_any_effort_up_to_its_own():
    """The variance is fs^2 / 3 at rest and zero in motion."""
    body = EquationsOfMotion(ROBOT, PI)
    fs = PI[ROBOT.table.match(["*.fs"])]
    assert np.allclose(friction_at_rest(body, [START]), fs ** 2 / 3)
    moving = State(START.R_nb, START.nu, START.mu, np.full(4, 0.5))
    assert np.all(friction_at_rest(body, [moving]) < 1e-6)


def test_a_carried_arm_moves_the_vehicle_as_the_free_one_does():
    """With a free arm's motion as the plan, the vehicle moves the same way. Both integrators are of
    second order: half the step gives a quarter of the difference."""
    gaps = []
    for step in (0.01, 0.005):
        free = simulate(ROBOT, START, efforts, PI, 1.0, step=step)
        curve = CubicHermiteSpline(free.t, [s.mu for s in free.states],
                                   [s.mu_dot for s in free.states])
        slope = curve.derivative()
        body = CarriedArm(ROBOT, PI, lambda t, c=curve, s=slope: (c(t), s(t)))
        carried = simulate(ROBOT, START, efforts, PI, 1.0, step=step, body=body)
        assert np.allclose(carried.states[-1].mu, free.states[-1].mu)
        gaps.append(np.abs(carried.states[-1].nu - free.states[-1].nu).max())
    assert gaps[0] < 5e-3 and gaps[1] < 0.5 * gaps[0]


def test_joints_that_are_planned_have_no_bands_of_their_own():
    found = twin(unexplained(np.ones(10))).forecast(
        START, Commands(efforts, holding(START.mu, START.mu_dot)), 0.5)
    assert np.all(found.stddev[:, 12:] == 0) and np.all(found.stddev[-1, :12] > 0)
    assert np.allclose(found.states[-1].mu, START.mu)


def test_what_has_no_forecast_is_refused():
    """Parameters without a covariance and a planned arm on a fixed base are refused."""
    with pytest.raises(ParameterError, match="no covariance"):
        Twin(ROBOT, CONFIG, ParameterSet(ROBOT.table.names, PI), unexplained(np.ones(10)))
    config = Config().with_values({"robot.vehicle": False})
    arm = RobotModel.from_config(config)
    values = Estimator(config, robot=arm, learn=False).pi
    lone = Twin(arm, config, ParameterSet(arm.table.names, values, np.eye(values.size)),
                unexplained(np.ones(10)))
    with pytest.raises(ParameterError, match="nothing to forecast"):
        lone.forecast(START, Commands(held(np.zeros(4)), holding(START.mu, START.mu_dot)), 1.0)
