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

"""Inverse and forward dynamics with an estimate."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.dynamics import State, forward_dynamics, inverse_dynamics
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_config(Config())


@pytest.fixture(scope="module")
def pi(robot):
    return prior_from_config(Config(), robot).values


def random_state(rng):
    return State(from_rpy(*rng.uniform(-.5, .5, 3)),
                 rng.normal(size=6) * .3, rng.uniform(1, 3, 4),
                 rng.normal(size=4) * .3)


def test_forward_dynamics_inverts_inverse_dynamics(robot, pi):
    """Accelerations -> efforts -> the same accelerations, for the coupled ten-channel robot."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        state, nu_dot, mu_ddot = random_state(rng), rng.normal(size=6), rng.normal(size=4)
        tau = inverse_dynamics(robot, state, nu_dot, mu_ddot, pi).tau
        a = forward_dynamics(robot, state, tau, pi)
        np.testing.assert_allclose(a.nu_dot, nu_dot, atol=1e-8)
        np.testing.assert_allclose(a.mu_ddot, mu_ddot, atol=1e-8)


def test_generalized_inertia_is_symmetric_and_positive(robot, pi):
    """M of the coupled system is a mass matrix."""
    M = forward_dynamics(robot, random_state(np.random.default_rng(1)), np.zeros(10), pi).M
    np.testing.assert_allclose(M, M.T, atol=1e-9)
    assert np.linalg.eigvalsh(M)[0] > 0


def test_acceleration_covariance_equals_finite_differences_over_parameters(robot, pi):
    """Sigma of zeta_ddot equals (da/dpi) Sigma_pi (da/dpi)^T with a numerical Jacobian."""
    rng = np.random.default_rng(2)
    state, tau = random_state(rng), rng.normal(size=10)
    A = rng.normal(size=(robot.table.size, 5)) * robot.table.scale[:, None] * 1e-3
    sigma = A @ A.T

    def acceleration(values):
        a = forward_dynamics(robot, state, tau, values)
        return np.concatenate([a.nu_dot, a.mu_ddot])

    steps = 1e-6 * robot.table.scale
    J = np.column_stack([(acceleration(pi + h * e) - acceleration(pi - h * e)) / (2 * h)
                         for h, e in zip(steps, np.eye(robot.table.size))])
    expected = J @ sigma @ J.T
    got = forward_dynamics(robot, state, tau, pi, sigma).covariance
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6 * np.max(np.abs(expected)))


def test_prediction_covariance_is_the_regressors(robot, pi):
    """Sigma_tau = Y Sigma_pi Y^T, and grows with the parameters' uncertainty."""
    rng = np.random.default_rng(3)
    state = random_state(rng)
    sigma = np.diag((.1 * robot.table.scale) ** 2)
    efforts = inverse_dynamics(robot, state, np.zeros(6), np.zeros(4), pi, sigma)
    doubled = inverse_dynamics(robot, state, np.zeros(6), np.zeros(4), pi, 4 * sigma)
    np.testing.assert_allclose(doubled.covariance, 4 * efforts.covariance)
    assert np.all(np.diag(efforts.covariance) > 0)
