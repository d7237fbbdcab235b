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

"""Newton's equations of an active set against finite differences and closed forms: residuals,
derivatives and multipliers."""

import numpy as np
import pytest
from problems import admissible, make_problem, make_table

from uvms_adaptive_dynamics.solvers.native.answer import ActiveSet
from uvms_adaptive_dynamics.solvers.native.cones import Cones
from uvms_adaptive_dynamics.solvers.native.huber_groups import groups_of
from uvms_adaptive_dynamics.solvers.native.optimality import Conditions
from uvms_adaptive_dynamics.solvers.native.robust_cost import RobustCost

TABLES = [make_table(1), make_table(2, vehicle=False), make_table(0)]


def on_the_edge(rng, table, ranks=(1, 2, 3)):
    """(cost, cones, x, active set with multipliers), with some bounds active and each link singular
    by one of the ranks."""
    pi = admissible(table, rng)
    pi[table.nonpositive[::3]] = 0
    problem = make_problem(table, rng, N=12, truth=pi)
    cones = Cones(problem.physical, problem.free, problem.pi)
    cost = RobustCost(problem, cones.coordinates, groups_of(problem, cones.coordinates))
    x = cones.coordinates.reduce(pi)
    cost.refresh(x)
    active = ActiveSet.near(cones, x)
    active.multipliers = active.bounds * rng.uniform(1, 2, active.bounds.size)
    values, V = np.linalg.eigh(cones.matrices(x))
    # A multiplier lies in the span of its matrix's smallest eigenvectors. That F vanishes there is
    # for Newton's method to achieve.
    active.rank = np.array([1 if side == 2 else rng.choice(ranks) for side in cones.side])
    for k, r in enumerate(active.rank):
        root = V[k][:, :r] @ rng.normal(size=(r, r))
        active.Z[k] = root @ root.T
    return cost, cones, x, active


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lost", [0, 1])
def test_the_matrix_of_newtons_equations_is_the_derivative(which, seed, lost):
    """The gradient balance and the active conditions, differentiated along random directions of x
    and the multipliers; also on a face, where directions have lost their multiplier.

    The cost's curvature is exact; F22 is diagonal, since the matrix is factorized in F's
    eigenvectors.
    """
    rng = np.random.default_rng(seed)
    cost, cones, x, active = on_the_edge(rng, TABLES[which])
    slope = cost.at(x)
    hessian = cost.hessian(slope, exact=True)
    null = np.minimum(active.rank + lost, cones.side)
    conditions = Conditions(cones, active)
    lagrangian = conditions._turn_to(x, hessian.copy(), active, null)
    assert conditions.on_a_face == (lost > 0 and cones.count > 0)
    state = conditions.state(slope)
    dx, dl, h = rng.normal(size=x.size), rng.normal(size=state.multipliers.size), 1e-6

    def at(t):
        return conditions.state(cost.slope(x + t * dx), state.multipliers + t * dl)

    ahead, behind = at(h), at(-h)
    residual = (ahead.residual - behind.residual) / (2 * h)
    expected = lagrangian @ dx - conditions._A.T @ dl
    np.testing.assert_allclose(residual, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    values = (ahead.values - behind.values) / (2 * h)
    np.testing.assert_allclose(values, conditions._A @ dx, rtol=1e-5,
                               atol=1e-6 * max(np.abs(values).max(), 1))


@pytest.mark.parametrize("which", range(3))
def test_a_step_solves_the_linearized_conditions(which):
    """After the step the linearized residual and active conditions vanish."""
    rng = np.random.default_rng(7)
    cost, cones, x, active = on_the_edge(rng, TABLES[which])
    slope = cost.at(x)
    hessian = cost.hessian(slope, exact=True)
    probe = Conditions(cones, active)
    lagrangian = probe._turn_to(x, hessian.copy(), active, active.rank)
    conditions = Conditions.at(cones, x, hessian.copy(), active)
    state = conditions.state(slope)
    dx, change = conditions.step(state)
    left = state.residual + lagrangian @ dx - probe._A.T @ change
    assert np.abs(left).max() < 1e-7 * np.abs(state.residual).max()
    assert np.abs(state.values + probe._A @ dx).max() < 1e-7 * max(np.abs(state.values).max(), 1e-3)


def test_multipliers_are_the_projection_of_what_is_negative():
    """Negative eigenvalues of a multiplier matrix are dropped and reduce the rank; positive ones
    stay."""
    rng = np.random.default_rng(8)
    cost, cones, x, active = on_the_edge(rng, TABLES[1], ranks=(2,))
    conditions = Conditions.at(cones, x, cost.hessian(cost.at(x), exact=True), active)
    state = conditions.state(cost.slope(x))
    Z, rank = conditions.multiplier_matrices(state)
    np.testing.assert_allclose(Z, active.Z, atol=1e-9)
    assert (rank == 2).all()
    flipped = conditions.state(cost.slope(x), -state.multipliers)
    Z, rank = conditions.multiplier_matrices(flipped)
    assert (rank == 0).all() and np.abs(Z).max() < 1e-12


def test_a_step_on_a_face_keeps_the_multipliers_directions_null():
    """A direction with a multiplier stays null against all null directions; one that has lost its
    multiplier moves freely, and so makes the regular part F22 nonzero."""
    rng = np.random.default_rng(11)
    cost, cones, x, active = on_the_edge(rng, TABLES[1], ranks=(1,))
    F = cones.matrices(x)
    # a point at which each link has two null directions and a multiplier along one of them
    values, V = np.linalg.eigh(F)
    flat = F - np.matmul(V[..., :2] * values[:, None, :2], V[..., :2].transpose(0, 2, 1))
    cones.constant += flat - F
    active.Z = np.matmul(V[..., :1], V[..., :1].transpose(0, 2, 1))
    slope = cost.at(x)
    conditions = Conditions.at(cones, x, cost.hessian(slope, exact=True), active, active.rank + 1)
    assert conditions.on_a_face
    state = conditions.state(slope)
    dx, _ = conditions.step(state)
    moved = np.matmul(np.matmul(V.transpose(0, 2, 1), cones.matrices(x + dx)), V)
    size = np.abs(moved).max()
    assert np.abs(moved[:, 0, :2]).max() < 1e-9 * size
    assert np.abs(moved[:, 1, 1]).min() > 1e-6 * size


def test_without_matrix_inequalities_only_bounds_are_left():
    """If all parameters of the matrix inequalities are frozen, only bounds remain as conditions."""
    rng, table = np.random.default_rng(9), make_table(1)
    pi = admissible(table, rng)
    frozen = set(range(table.size)) - set(table.nonpositive) - set(table.nonnegative)
    problem = make_problem(table, rng, N=20, truth=pi, frozen=tuple(frozen))
    cones = Cones(problem.physical, problem.free, problem.pi)
    assert cones.count == 0 and cones.coordinates.size == table.size - len(frozen)
    cost = RobustCost(problem, cones.coordinates, groups_of(problem, cones.coordinates))
    x = cones.coordinates.reduce(pi)
    active = ActiveSet.near(cones, x)
    conditions = Conditions.at(cones, x, cost.hessian(cost.at(x), exact=True), active)
    state = conditions.state(cost.slope(x))
    assert not conditions.doubtful(state, active.bounds) or active.bounds.any()
