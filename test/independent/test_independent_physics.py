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

"""The independent simulator's own physics: conservation laws, statics and closed forms."""
import numpy as np
import pytest
from fleet import draw
from judge_intervals import true_parameters
from machines import Drives, curve, pwm_for, thrust_of
from rigid_tree import Body, Motion, Tree, rpy, skew, turn
from water import Strips, Waves

REST = np.zeros(3)


def integrate(tree, q, v, duration, efforts=None, h=0.01):
    """Position, axes, joints, velocity after `duration` by Runge-Kutta of fourth order, in still
    water; efforts(t) (6+n,)."""
    n = len(q)
    nothing = np.zeros((n + 1, 6))

    def derivative(t, p, R, q, v):
        at = Motion(tree, R, q, v)
        f = -tree.bias(at, REST, REST, nothing)
        if efforts is not None:
            f = f + efforts(t)
        return R @ v[:3], R @ skew(v[3:6]), v[6:], np.linalg.solve(tree.mass_matrix(at), f)

    x = (np.zeros(3), np.eye(3), q, v)
    for k in range(round(duration / h)):
        t = k * h
        a = derivative(t, *x)
        b = derivative(t + h / 2, *(s + h / 2 * d for s, d in zip(x, a)))
        c = derivative(t + h / 2, *(s + h / 2 * d for s, d in zip(x, b)))
        d = derivative(t + h, *(s + h * e for s, e in zip(x, c)))
        x = tuple(s + h / 6 * (i + 2 * j + 2 * k + l)
                  for s, i, j, k, l in zip(x, a, b, c, d))
    return x


def start(number, gravity=9.80665):
    robot, rng = draw(number), np.random.default_rng(number)
    tree = Tree(robot.tree.bodies, robot.tree.rho, gravity)
    return tree, robot.home, 0.3 * rng.normal(size=6 + len(robot.home))


@pytest.mark.parametrize("number", [1, 2, 5])
def test_energy_is_constant_without_damping(number):
    tree, q, v = start(number)
    before = tree.energy(Motion(tree, np.eye(3), q, v), np.zeros(3), v)
    p, R, q, v = integrate(tree, q, v, 0.5)
    after = tree.energy(Motion(tree, R, q, v), p, v)
    kinetic = 0.5 * v @ tree.mass_matrix(Motion(tree, R, q, v)) @ v
    assert abs(after - before) < 1e-6 * kinetic


@pytest.mark.parametrize("number", [1, 2, 5])
def test_momentum_is_constant_whatever_the_joints_do(number):
    """Without gravity, the joints' efforts move arm and vehicle but not their total momentum."""
    tree, q, v = start(number, gravity=0.0)
    for body in tree.bodies:        # motors react on the body before them: left out here
        body.rotor = 0.0
    tree.renew()
    before = tree.momentum(Motion(tree, np.eye(3), q, v), np.zeros(3))
    n = len(q)
    p, R, q, v = integrate(tree, q, v, 0.4,
                           lambda t: np.r_[np.zeros(6), 0.1 * np.cos(t + np.arange(n))])
    after = tree.momentum(Motion(tree, R, q, v), p)
    assert np.allclose(after, before, atol=1e-5 * np.abs(before).max())


def test_power_of_the_joints_is_the_gain_of_energy():
    tree, q, v = start(3)
    effort = np.r_[np.zeros(6), 0.2, -0.1, 0.1, 0.05]
    before = tree.energy(Motion(tree, np.eye(3), q, v), np.zeros(3), v)
    p, R, q2, v2 = integrate(tree, q, v, 0.4, lambda t: effort)
    after = tree.energy(Motion(tree, R, q2, v2), p, v2)
    assert after - before == pytest.approx(effort[6:] @ (q2 - q), rel=1e-4)


def test_mass_matrix_is_the_change_of_the_efforts_with_acceleration():
    tree, q, v = start(2)
    at = Motion(tree, rpy(0.3, -0.2, 1.0), q, v)
    H = tree.mass_matrix(at)
    assert np.allclose(H, H.T)
    assert np.linalg.eigvalsh(H).min() > 0
    assert np.allclose(0.5 * v @ H @ v - 0.5 * tree.rotors @ v[6:] ** 2,
                       sum(0.5 * w @ I @ w for w, I in zip(at.v, tree.total)))


def test_a_body_at_rest_bears_weight_less_buoyancy():
    """A neutral sphere needs nothing; a shifted centre of mass needs m g x about y."""
    m = 2.0
    body = Body(m, np.array([0.1, 0, 0]), 0.01 * np.eye(3), m / 1000.0, np.zeros(3),
                np.zeros((6, 6)))
    tree = Tree([body])
    at = Motion(tree, np.eye(3), np.zeros(0), np.zeros(6))
    force = tree.bias(at, REST, REST, np.zeros((1, 6)))
    assert np.allclose(force, [0, 0, 0, 0, 9.80665 * m * 0.1, 0])


def test_water_that_accelerates_carries_a_neutral_body_along():
    """A body of the water's density follows it exactly, whatever its added mass."""
    m, u_dot = 3.0, np.array([0.2, -0.1, 0.05])
    body = Body(m, np.zeros(3), 0.02 * np.eye(3), m / 1000.0, np.zeros(3),
                np.diag([1.0, 2.0, 3.0, 0.1, 0.1, 0.1]))
    tree, R = Tree([body]), rpy(0.2, 0.1, 0.7)
    at = Motion(tree, R, np.zeros(0), np.zeros(6))
    force = -tree.bias(at, REST, u_dot, np.zeros((1, 6)))
    acceleration = np.linalg.solve(tree.mass_matrix(at), force)
    assert np.allclose(R @ acceleration[:3], u_dot, atol=1e-12)


def test_added_mass_of_a_cylinder_and_its_drag():
    a, b, d, rho = np.zeros(3), np.array([0.4, 0, 0]), 0.1, 1000.0
    A = Strips.added(a, b, d, rho)
    per_length = rho * np.pi * d ** 2 / 4
    assert np.allclose(np.diag(A)[:3], [0.0, per_length * 0.4, per_length * 0.4])
    assert A[4, 4] == pytest.approx(per_length * 0.4 ** 3 / 3)
    assert A[1, 5] == pytest.approx(per_length * 0.4 ** 2 / 2)
    f = Strips([(a, b, d)], rho).drag(np.array([[0.0, 0.5, 0, 0, 0, 0]]))[0]
    assert f[1] == pytest.approx(-0.5 * rho * 1.1 * d * 0.4 * 0.25)
    assert f[5] == pytest.approx(0.2 * f[1])


def test_drag_takes_energy():
    robot, rng = draw(4), np.random.default_rng(4)
    for _ in range(200):
        v = rng.normal(size=6)
        assert v @ robot.hull.drag(v) < 0
        u = rng.normal(size=(len(robot.limits), 6))
        assert np.all((u * robot.strips.drag(u)).sum(1) < 0)


def test_waves_move_as_their_acceleration_says():
    waves = Waves.drawn(np.random.default_rng(0), 0.3)
    p, e = np.array([1.0, 2.0, 3.0]), 1e-5
    slope = (waves.at(2.0 + e, p)[0] - waves.at(2.0 - e, p)[0]) / (2 * e)
    assert np.allclose(slope, waves.at(2.0, p)[1], atol=1e-8)


def test_a_mixer_gets_the_thrust_that_it_wants():
    share = np.linspace(-0.7, 0.9, 33)
    assert np.allclose(thrust_of(curve(pwm_for(share), 16.0)), share, atol=2e-3)


def test_friction_opposes_and_its_slope_is_right():
    one = np.ones(1)
    drives = Drives(0.3 * one, 0.1 * one, 0.15 * one, 0.05 * one, 0.0 * one, 0.01 * one, one, one)
    for rate in (-0.4, -0.1, 0.08, 0.5):
        assert drives.friction(np.array([rate]))[0] * rate > 0
    e = 1e-7
    slope = (drives.friction(one * e)[0] - drives.friction(-one * e)[0]) / (2 * e)
    assert slope == pytest.approx(drives.friction(0 * one)[1], rel=1e-3)


def test_rotations():
    w = np.array([0.3, -0.2, 0.5])
    assert np.allclose(turn(w) @ turn(-w), np.eye(3))
    assert np.allclose(turn(w) @ w, w)


@pytest.mark.parametrize("number", [3, 204])
def test_the_true_parameters_are_those_of_the_hull_without_its_arm(number):
    """Inertia with the water's as the mass matrix has it; damping that dissipates."""
    robot, found = draw(number), true_parameters(number)
    hull = Tree(robot.tree.bodies[:1], robot.tree.rho, robot.tree.g)
    M = hull.mass_matrix(Motion(hull, np.eye(3), np.zeros(0), np.zeros(6)))
    for name, i, j, sign in (("m_X_du", 0, 0, 1), ("Iz_N_dr", 5, 5, 1), ("mzg_X_dq", 0, 4, 1),
                             ("mzg_K_dv", 3, 1, -1)):
        assert found[name] == pytest.approx(sign * M[i, j])
    assert all(found[name] < 0.0 for name in ("X_u", "Z_ww", "K_p", "N_rr"))
