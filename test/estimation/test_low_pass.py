"""The common low-pass on every column of Y and on tau."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config, Filter
from uvms_adaptive_dynamics.model.robot import RawRows
from uvms_adaptive_dynamics.estimation.low_pass import RowFilter, correlation_length, gaussian_kernel


def test_default_gain_is_at_least_nine_tenths_at_one_hertz():
    """DESIGN section 5: gain at least .9 at 1 Hz, and the noise above 5 Hz is gone."""
    settings = Config().filter
    h = gaussian_kernel(settings)
    k = (np.arange(len(h)) - len(h) // 2) * settings.period
    gain = lambda f: abs(np.sum(h * np.exp(-2j * np.pi * f * k)))  # noqa: E731
    assert gain(1.0) >= .9 and gain(0.0) == pytest.approx(1) and gain(6.0) < .05


def test_filtered_rows_keep_the_equation_whatever_is_masked():
    """tau = Y pi + known stays exact after the filter for any pattern of invalid rows, and invalid values never enter."""
    rng = np.random.default_rng(0)
    C, p = 3, 5
    pi = rng.normal(size=p)
    f = RowFilter(Filter(), C, p)
    rows = 0
    for k in range(300):
        Y, known = rng.normal(size=(C, p)), rng.normal(size=C)
        tau = Y @ pi + known
        valid = rng.random(C) > .3
        Y[~valid], tau[~valid] = np.inf, np.nan
        row = f.push(.02 * k, RawRows(Y, known, tau), valid)
        if row is not None:
            rows += 1
            assert row.t == pytest.approx(.02 * k - f.delay)
            np.testing.assert_allclose((row.Y @ pi + row.known)[row.valid], row.tau[row.valid], atol=1e-12)
    assert rows == 300 - 2 * round(f.delay / .02)


def test_rows_without_enough_valid_instants_do_not_count():
    """A channel masked for longer than half the kernel is masked after it, the others are not."""
    f = RowFilter(Filter(), 2, 1)
    last = None
    for k in range(60):
        last = f.push(.02 * k, RawRows(np.ones((2, 1)), np.zeros(2), np.ones(2)), np.array([True, k < 30]))
    assert last.valid[0] and not last.valid[1]


def test_correlation_length_counts_overlapping_rows():
    """White noise through the filter: the variance of a mean of N rows is correlation_length / N times a row's."""
    h = gaussian_kernel(Filter())
    rng = np.random.default_rng(1)
    noise = np.convolve(rng.normal(size=400_000), h, "valid")
    blocks = noise[:len(noise) // 2000 * 2000].reshape(-1, 2000).mean(axis=1)
    assert blocks.var() / noise.var() * 2000 == pytest.approx(correlation_length(h), rel=.15)


def test_reset_forgets_what_was_before_a_gap():
    """After a reset no row mixes instants from both sides."""
    f = RowFilter(Filter(), 1, 1)
    for k in range(40):
        f.push(.02 * k, RawRows(np.full((1, 1), 100.), np.zeros(1), np.zeros(1)), np.ones(1, bool))
    f.reset()
    rows = [f.push(10 + .02 * k, RawRows(np.ones((1, 1)), np.zeros(1), np.zeros(1)), np.ones(1, bool)) for k in range(40)]
    assert all(r is None or r.Y[0, 0] == pytest.approx(1) for r in rows) and rows[-1] is not None
