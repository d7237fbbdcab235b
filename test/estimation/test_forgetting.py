"""Directional forgetting: what is not excited stays, what is excited fades as it would uniformly, and the estimate does not move."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.estimation.forgetting import BLOCK, Forgetting
from uvms_adaptive_dynamics.estimation.horizon import Horizon
from uvms_adaptive_dynamics.estimation.square_root_information import triangular
from problems import Unconstrained, make_table


def root(rng, rows, p=8):
    """Root of random rows [Y tau]."""
    return triangular(rng.normal(size=(rows, p + 1)))


def quadratic(root):
    """H, g, c of a root."""
    whole = root.T @ root
    return whole[:-1, :-1], whole[:-1, -1], whole[-1, -1]


def test_solution_is_the_same_after_forgetting():
    """The normal equations keep their solution and their smallest cost's place, whatever the new data are."""
    rng = np.random.default_rng(0)
    old, new, pi = root(rng, 30), root(rng, 3), rng.normal(size=8)
    old[:, -1] = old[:, :-1] @ pi           # tau = Y pi
    left, g, c = quadratic(Forgetting(old, new, .3).root())
    np.testing.assert_allclose(np.linalg.solve(left, g), pi, rtol=1e-10)
    assert pi @ left @ pi - 2 * g @ pi + c == pytest.approx(0, abs=1e-9)


def test_map_gives_the_same_equations():
    """T H and T g are what is left; the sandwich of the gradient's covariance uses the same T."""
    rng = np.random.default_rng(1)
    old, new = root(rng, 30), root(rng, 12)
    H, g, _ = quadratic(old)
    forgetting = Forgetting(old, new, .2)
    left, g_left, _ = quadratic(forgetting.root())
    np.testing.assert_allclose(forgetting.map() @ H, left, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(forgetting.map() @ g, g_left, rtol=1e-9, atol=1e-9)


def test_full_excitation_forgets_uniformly():
    """Where every direction gets more than it may lose, lambda is taken from all."""
    rng = np.random.default_rng(2)
    old, new = root(rng, 30), root(rng, 60)
    left, _, _ = quadratic(Forgetting(old, new, .05).root())
    np.testing.assert_allclose(left, .95 * quadratic(old)[0], rtol=1e-9)


def test_information_never_becomes_less():
    """Old, forgotten, plus new is at least the old in every direction."""
    rng = np.random.default_rng(3)
    for rows in (1, 3, 8, 40):
        old, new = root(rng, 30), np.sqrt(.02) * root(rng, rows)
        left, H = quadratic(Forgetting(old, new, .3).root())[0], quadratic(old)[0]
        assert np.linalg.eigvalsh(left + quadratic(new)[0] - H).min() > -1e-9 * np.trace(H)


def run(kind, count, excite, forgetting=.9995, seed=4, drift=None):
    """Horizon fed with `count` ticks; excite(k) says which parameters the row of tick k moves. (horizon, last pi)"""
    rng = np.random.default_rng(seed)
    table = make_table(1, vehicle=False)
    p = table.size
    settings = Estimation(horizon=20, forgetting=forgetting, forgetting_kind=kind, rho_quantile=1.0, information_floor=0.0)
    horizon = Horizon(settings, Unconstrained(table), np.zeros(p), np.full(p, 10.0))
    truth, pi = rng.normal(size=p), np.zeros(p)
    for k in range(count):
        Y = rng.normal(size=(1, p)) * excite(k, p)
        now = truth + (0.0 if drift is None else drift(k))
        horizon.push(Y, Y @ now + .1 * rng.normal(size=1), np.ones(1, bool), pi)
        horizon.forget()
    problem = horizon.problem(pi, np.ones(p, bool))
    return problem.total.H, np.linalg.solve(problem.total.H, problem.total.g), truth


def half(k, p):
    """All parameters for 2000 ticks, then only the first six."""
    return np.ones(p) if k < 2000 else (np.arange(p) < 6).astype(float)


def test_what_is_not_excited_is_kept():
    """After 6000 ticks without excitation of six parameters their information is whole; uniformly it is down to exp(-3)."""
    before, _, _ = run("directional", 2100, half)    # when the last rows that excite them have become old data
    kept, _, _ = run("directional", 8000, half)
    lost, _, _ = run("uniform", 8000, half)
    spread = lambda H: np.sqrt(np.diag(np.linalg.inv(H)))[6:12]
    assert np.all(spread(kept) < 1.02 * spread(before))
    assert np.all(spread(lost) > 4 * spread(before))


def test_what_is_excited_fades_as_it_does_uniformly():
    """Under constant excitation the information settles where uniform forgetting settles, or up to 40 % above: it keeps what
    the block that excited a direction most has brought (12 directions of 1000 random rows differ by 20 %)."""
    everything = lambda k, p: np.ones(p)
    a, _, _ = run("directional", 20_000, everything, .9998)
    b, _, _ = run("uniform", 20_000, everything, .9998)
    ratio = np.diag(a) / np.diag(b)
    assert .95 < ratio.min() and ratio.max() < 1.4


def test_change_is_followed():
    """A parameter that changes while it is excited is followed as closely as with uniform forgetting."""
    everything = lambda k, p: np.ones(p)
    step = lambda k: np.where((np.arange(12) == 2) & (k > 1500), 5.0, 0.0)
    found = {kind: run(kind, 5000, everything, .998, drift=step)[1:] for kind in ("directional", "uniform")}
    for kind, (pi, truth) in found.items():
        assert abs(pi[2] - truth[2] - 5.0) < .1, kind


def test_without_forgetting_nothing_is_taken():
    """lambda = 1: both kinds are the plain sum of all data."""
    a, pi_a, _ = run("directional", 3 * BLOCK, half, forgetting=1.0)
    b, pi_b, _ = run("uniform", 3 * BLOCK, half, forgetting=1.0)
    np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(pi_a, pi_b, rtol=1e-9)
