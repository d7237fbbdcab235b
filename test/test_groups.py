"""Which groups are beyond rho: looking at suspects only gives what looking at all gives."""
import dataclasses

import numpy as np
import pytest

from test_mhe import make_problem, make_table
from uvms_adaptive_dynamics.solvers.clarabel_direct import ClarabelSolver
from uvms_adaptive_dynamics.solvers.groups import Groups, ScreenedGroups


@pytest.fixture(params=["sample", "channel"])
def problems(request):
    rng, table = np.random.default_rng(0), make_table()
    plain = make_problem(table, rng, N=600, grouping=request.param, outliers=.03)
    rows = plain.Y * table.scale
    return plain, dataclasses.replace(plain, single=plain.Y.astype(np.float32), reach=np.sqrt(np.einsum("kcp,kcp->kc", rows, rows)))


def test_screened_groups_miss_no_outlier(problems):
    """Near and far from the point where all were looked at, the same groups with the same norms are beyond rho."""
    plain, long = problems
    rng, scale = np.random.default_rng(1), plain.physical.table.scale
    every, screened, pi = Groups(plain), ScreenedGroups(long), plain.pi
    for size in np.repeat([1e-6, 1e-4, 1e-2, 1.0], 10):
        a, b = every.beyond(pi), screened.beyond(pi)
        assert np.array_equal(a[0], b[0])
        np.testing.assert_allclose(a[1], b[1], rtol=1e-12)
        pi = pi + size * rng.normal(size=pi.size) * scale


def test_screened_problem_has_the_same_solution(problems):
    """What is not looked at costs what the condensed quadratic says."""
    plain, long = problems
    a, b = ClarabelSolver().solve(plain), ClarabelSolver().solve(long)
    assert a.objective == pytest.approx(b.objective, rel=1e-12)
    np.testing.assert_allclose(a.pi, b.pi, rtol=1e-9, atol=1e-12)
