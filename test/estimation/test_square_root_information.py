"""Sums of rows in square-root form: what was added is in them, however many rows, and with the digits that products lose."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.estimation.horizon import RunningSum
from uvms_adaptive_dynamics.estimation.square_root_information import FOLDED_AT, RootSum, triangular


def test_root_and_matrix_are_the_sum_of_all_rows():
    """Rows one by one and in crowds, with weights, faded in between: both forms are what plain products give."""
    rng, size = np.random.default_rng(0), 6
    root, plain = RootSum(size), RunningSum(size)
    for count in (1, 10, FOLDED_AT, 3 * FOLDED_AT + 7, 10, 40):
        rows, weight = rng.normal(size=(count, size + 1)), float(rng.uniform(.1, 2))
        for one in (root, plain):
            one.fade(.9)
            one.add(rows, weight)
        np.testing.assert_allclose(root.matrix, plain.matrix, rtol=1e-12, atol=1e-12)
    R = root.root
    np.testing.assert_allclose(R.T @ R, plain.matrix, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(root.matrix, plain.matrix, rtol=1e-12, atol=1e-12)
    assert np.array_equal(R, np.triu(R))


def test_a_prior_is_its_own_quadratic():
    """sum of ((pi - prior) / stddev)^2."""
    prior, stddev = np.array([1.0, -2.0, 0.5]), np.array([.1, 2.0, 1.0])
    R = RootSum.of_prior(prior, stddev).root
    pi = np.array([.3, 1.0, 1.0])
    assert np.sum((R @ np.append(pi, -1.0)) ** 2) == pytest.approx(np.sum(((pi - prior) / stddev) ** 2))


def test_the_root_keeps_what_products_lose():
    """50,000 rows that all but agree: what they tell of one direction is 1e-18 of what they tell of the other. The root knows it to
    one in a thousand; of the products' matrix nothing is left of it."""
    rng = np.random.default_rng(1)
    along, across = np.array([.6, .8, 0.0]), np.array([-.8, .6, 0.0])
    root, plain, known = RootSum(2), RunningSum(2), 0.0
    for _ in range(500):
        amount = rng.normal(size=100)
        rows = np.outer(1e9 * rng.normal(size=100), along) + np.outer(amount, across)
        known += float(amount @ amount)
        root.add(rows)
        plain.add(rows, 1.0)
    least = lambda singular: float(np.linalg.svd(singular)[1][-1])
    assert least(root.root[:2, :2]) ** 2 == pytest.approx(known, rel=1e-3)
    assert not least(plain.matrix[:2, :2]) == pytest.approx(known, rel=0.5)


def test_triangular_of_few_rows_is_square():
    """Fewer rows than columns: zeros below."""
    rows = np.random.default_rng(2).normal(size=(2, 5))
    R = triangular(rows)
    assert R.shape == (5, 5)
    np.testing.assert_allclose(R.T @ R, rows.T @ rows, atol=1e-14)
