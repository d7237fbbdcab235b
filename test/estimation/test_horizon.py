"""The horizon and its arrival costs, against an independent recursive least squares."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.estimation.horizon import Horizon
from uvms_adaptive_dynamics.solvers.native.solver import ClarabelSolver
from problems import Unconstrained, make_table


class RecursiveLeastSquares:
    """Textbook RLS with forgetting in covariance form (Ljung, System Identification, section 11.2)."""

    def __init__(self, prior, stddev, forgetting):
        self.pi, self.P, self.forgetting = prior.copy(), np.diag(stddev ** 2), forgetting

    def update(self, Y, tau):
        P = self.P / self.forgetting
        K = P @ Y.T @ np.linalg.inv(np.eye(len(tau)) + Y @ P @ Y.T)
        self.pi = self.pi + K @ (tau - Y @ self.pi)
        self.P = (np.eye(len(self.pi)) - K @ Y) @ P


@pytest.mark.parametrize("window", [1, 10, 200])
@pytest.mark.parametrize("forgetting", [1.0, .98])
def test_information_arrival_is_recursive_least_squares(window, forgetting):
    """rho to infinity, P inactive, floor zero: estimate and covariance equal RLS, whatever the window, to 1e-9."""
    rng = np.random.default_rng(0)
    table = make_table(1, vehicle=False)
    p, C = table.size, table.channels
    settings = Estimation(horizon=window, forgetting=forgetting, information_floor=0.0, rho_quantile=1.0, forgetting_kind="uniform")
    prior, stddev = rng.normal(size=p), np.ones(p)
    horizon, solver = Horizon(settings, Unconstrained(table), prior, stddev), ClarabelSolver()
    oracle, pi = RecursiveLeastSquares(prior, stddev, forgetting), prior
    truth, free = rng.normal(size=p), np.ones(p, bool)
    for _ in range(120):
        Y = rng.normal(size=(C, p))
        tau = Y @ truth + .1 * rng.normal(size=C)
        horizon.push(Y, tau, np.ones(C, bool), pi)
        oracle.update(Y, tau)
        problem = horizon.problem(pi, free)
        pi = solver.solve(problem).pi
        np.testing.assert_allclose(pi, oracle.pi, rtol=1e-7, atol=1e-8)
    exact = np.linalg.solve(problem.total.H, problem.total.g)
    np.testing.assert_allclose(exact, oracle.pi, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.linalg.inv(problem.total.H), oracle.P, rtol=1e-9, atol=1e-12)


def test_relative_arrival_is_the_papers_cost():
    """||pi - pi_prev||_Q^2 with Q = diag(q / max(|pi_prev|, eps)^2), rows of the window unweighted, older ones gone."""
    rng = np.random.default_rng(1)
    table = make_table(1, vehicle=False)
    settings = Estimation(arrival="relative", horizon=5, rho_quantile=1.0, relative_weight=3.0)
    horizon = Horizon(settings, Unconstrained(table), np.ones(table.size), np.ones(table.size))
    pi = rng.normal(size=table.size)
    rows = [(rng.normal(size=(1, table.size)), rng.normal(size=1)) for _ in range(12)]
    for Y, tau in rows:
        horizon.push(Y, tau, np.ones(1, bool), pi)
    problem, other = horizon.problem(pi, np.ones(table.size, bool)), rng.normal(size=table.size)
    Q = 3.0 / np.maximum(np.abs(pi), settings.relative_epsilon * table.scale) ** 2
    expected = Q @ (other - pi) ** 2 + sum(float((tau - Y @ other) @ (tau - Y @ other)) for Y, tau in rows[-5:])
    assert problem.objective(other) == pytest.approx(expected, rel=1e-10)
    assert problem.total(other) == pytest.approx(expected, rel=1e-10)


def test_rows_leave_with_the_robust_weight_they_had():
    """An outlier that leaves the window keeps the small weight of the Huber cost instead of regaining a full one."""
    table = make_table(1, vehicle=False)
    settings = Estimation(horizon=3, forgetting=1.0)
    horizon = Horizon(settings, Unconstrained(table), np.zeros(table.size), np.ones(table.size))
    pi = np.zeros(table.size)
    Y = np.zeros((1, table.size))
    Y[0, 0] = 1.0
    horizon.push(Y, np.array([100.0]), np.ones(1, bool), pi)
    for _ in range(3):
        horizon.push(np.zeros((1, table.size)), np.zeros(1), np.ones(1, bool), pi)
    assert horizon.arrival(pi).H[0, 0] - 1.0 == pytest.approx(1.96 / 100, rel=1e-3)


def test_gap_empties_the_window_and_keeps_what_was_learned():
    """After `empty` the window is gone; the information of its rows stays ('information'), of an outlier as much as Huber leaves it."""
    rng = np.random.default_rng(2)
    table = make_table(1, vehicle=False)
    horizon = Horizon(Estimation(horizon=20), Unconstrained(table), np.zeros(table.size), np.ones(table.size))
    for _ in range(10):
        horizon.push(rng.normal(size=(1, table.size)), rng.uniform(-1, 1, size=1), np.ones(1, bool), np.zeros(table.size))
    pi, free = np.zeros(table.size), np.ones(table.size, bool)
    before = horizon.problem(pi, free).total.H
    horizon.empty(pi)
    assert horizon.filled == 0
    np.testing.assert_allclose(horizon.arrival(pi).H, before)


def test_an_outlier_in_the_window_at_a_gap_keeps_its_robust_weight():
    """A row a hundred times beyond rho counts with a hundredth of its information after the gap."""
    table = make_table(1, vehicle=False)
    horizon, pi = Horizon(Estimation(horizon=20), Unconstrained(table), np.zeros(table.size), np.ones(table.size)), np.zeros(table.size)
    row = np.random.default_rng(2).normal(size=(1, table.size))
    horizon.push(row, np.array([196.0]), np.ones(1, bool), pi)
    horizon.empty(pi)
    np.testing.assert_allclose(horizon.arrival(pi).H - np.eye(table.size), 0.01 * row.T @ row, rtol=1e-3, atol=1e-4)


def test_reaction_puts_the_arm_of_the_previous_estimate_on_the_left():
    """coupling 'reaction': cost = arrival prior + sum of lambda^age |tau_v - Y_vm pi_m,prev - Y_v pi_v|^2 + |tau_m - Y_m pi_m|^2,
    for rows in the window and for those that have left it, whatever pi was when they came."""
    rng = np.random.default_rng(3)
    table = make_table(2)
    p, C, v, m = table.size, table.channels, table.vehicle_slice, table.arm_slice
    settings = Estimation(horizon=4, coupling="reaction", forgetting=.9, information_floor=0.0, rho_quantile=1.0)
    prior, stddev = rng.normal(size=p), np.ones(p)
    horizon = Horizon(settings, Unconstrained(table), prior, stddev)
    rows = []
    for _ in range(9):
        Y, tau = rng.normal(size=(C, p)), rng.normal(size=C)
        rows.append((Y, tau))
        horizon.push(Y, tau, np.ones(C, bool), rng.normal(size=p))
    previous, pi = rng.normal(size=p), rng.normal(size=p)
    problem = horizon.problem(previous, np.ones(p, bool))
    expected = .9 ** 9 * np.sum((pi - prior) ** 2)
    for age, (Y, tau) in enumerate(reversed(rows)):
        vehicle = tau[:6] - Y[:6, m] @ previous[m] - Y[:6, v] @ pi[v]
        arm = tau[6:] - Y[6:] @ pi
        expected += .9 ** age * (vehicle @ vehicle + arm @ arm)
    assert problem.objective(pi) == pytest.approx(expected, rel=1e-10)
    assert problem.total(pi) == pytest.approx(expected, rel=1e-10)


def test_a_hundred_thousand_ticks_cost_no_digits():
    """After 1e5 ticks with forgetting, columns of sizes 1e-3 to 1e3, the running quadratic and its minimiser equal sums in extended
    precision to 1e-9: normal equations, scaled, need no square root here."""
    rng = np.random.default_rng(6)
    table = make_table(1, vehicle=False)
    p, forgetting = table.size, .9998
    settings = Estimation(horizon=5, forgetting=forgetting, information_floor=0.0, rho_quantile=1.0, forgetting_kind="uniform")
    size = np.logspace(-3, 3, p)
    horizon = Horizon(settings, Unconstrained(table), np.zeros(p), 1 / size)
    H, g = np.diag(size.astype(np.longdouble) ** 2), np.zeros(p, np.longdouble)
    truth, pi, valid = rng.normal(size=p) / size, np.zeros(p), np.ones(1, bool)
    Y = rng.normal(size=(100_000, 1, p)) * size
    tau = Y @ truth + .1 * rng.normal(size=(100_000, 1))
    for y, t in zip(Y, tau):
        horizon.push(y, t, valid, pi)
        exact = y[0].astype(np.longdouble)
        H = forgetting * H + np.outer(exact, exact)
        g = forgetting * g + exact * t[0]
    total = horizon.problem(pi, np.ones(p, bool)).total
    assert np.max(np.abs(total.H - H) / np.outer(size, size)) < 1e-9 * np.max(np.diag(H) / size ** 2)
    scaled = total.H / np.outer(size, size)
    found = np.linalg.solve(scaled, total.g / size)
    correction = np.linalg.solve(scaled, ((g - H @ (found / size)) / size).astype(float))    # one step with the exact residual
    assert np.max(np.abs(correction)) < 1e-9 * np.max(np.abs(found))
