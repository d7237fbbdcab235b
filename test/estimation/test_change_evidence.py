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

"""Bayes factors of a change."""
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from uvms_adaptive_dynamics.estimation.change_evidence import (
    GROWTHS,
    GrownNoise,
    Spans,
    Unchanged,
    bayes_factor,
    log_likelihood_ratio,
)
from uvms_adaptive_dynamics.estimation.recent_rows import RecentRows


def test_one_unknown_beside_another_without_information_is_as_likely():
    """The evidence of a scale, computed by itself, is that of the general formula."""
    rng = np.random.default_rng(0)
    for a, b, stddev in np.column_stack([10.0 ** rng.uniform(-6, 9, 50),
                                         1e4 * rng.normal(size=50), rng.uniform(.01, 2, 50)]):
        alone, mean = bayes_factor(np.array([[a]]), np.array([b]), np.array([stddev]))
        beside, both = bayes_factor(np.diag([a, 0.0]), np.array([b, 0.0]), np.array([stddev, 1.0]))
        assert alone == pytest.approx(beside, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose([*mean, 0.0], both, rtol=1e-9)


@pytest.mark.parametrize("a", [-1.5, -1e9])
def test_an_information_that_is_not_positive_is_refused(a):
    """Whether LAPACK or a number is asked."""
    for k in (1, 2):
        with pytest.raises(np.linalg.LinAlgError):
            bayes_factor(a * np.eye(k), np.ones(k), np.ones(k))


def test_a_likelihood_ratio_is_that_of_normal_residuals():
    """ln of the ratio of two densities, each row with its own variance."""
    rng = np.random.default_rng(1)
    old, new = rng.normal(size=(2, 30, 3))
    stddev = rng.uniform(.5, 2, (30, 3))
    rows = RecentRows(np.zeros((30, 3, 1)), np.zeros((30, 3)), old, stddev ** -2,
                      np.full(3, 30.0))
    expected = np.sum(norm.logpdf(new, scale=stddev) - norm.logpdf(old, scale=stddev))
    assert log_likelihood_ratio(rows, new) == pytest.approx(expected)


@pytest.mark.parametrize("unknowns", [1, 3])
def test_evidence_beside_what_the_model_lacks_is_that_of_normal_residuals(unknowns):
    """Written out: the covariance of all rows, with effects of size one, and with the change. Of
    two spans that end together, each has its own."""
    rng = np.random.default_rng(5)
    residual, weight = rng.normal(size=(20, 2)), rng.uniform(.5, 2.0, (20, 2))
    columns, effects = rng.normal(size=(20, 2, unknowns)), rng.normal(size=(20, 2, 4))
    stddev = rng.uniform(.2, 2.0, unknowns)
    longest = RecentRows(np.zeros((20, 2, 1)), np.zeros((20, 2)), residual, weight,
                         np.full(2, 20.0), unmodelled=effects)
    spans = [longest.newest(8), longest]
    for rows, found in zip(spans, Spans(spans).unchanged(columns)):
        r, n = rows.residual.ravel(), len(rows.residual)
        L, X = effects[-n:].reshape(2 * n, -1), columns[-n:].reshape(2 * n, -1)
        before = np.diag(1 / rows.weight.ravel()) + L @ L.T
        expected = (multivariate_normal.logpdf(r, cov=before + (X * stddev ** 2) @ X.T)
                    - multivariate_normal.logpdf(r, cov=before))
        assert found.odds(stddev)[0] == pytest.approx(expected)
        assert Unchanged.of(columns[-n:], rows).odds(stddev)[0] == pytest.approx(expected)


def rows_of(residual, stddev=1.0):
    """Independent rows with residual (T, C), by a noise of stddev [N] before."""
    return RecentRows(np.zeros((*residual.shape, 1)), np.zeros(residual.shape), residual,
                      np.full(residual.shape, stddev ** -2.0),
                      np.full(residual.shape[1], float(len(residual))))


@pytest.mark.parametrize("size, noise", [(0.0, (0.5, 0.5)), (0.5, (0.5, 0.5)), (0.0, (3.0, 0.5)),
                                         (2.0, (3.0, 0.5)), (2.0, (3.0, 3.0))])
def test_evidence_against_grown_noise_is_that_of_a_mixture_of_noises(size, noise):
    """Written out: every growth of each channel, with its share, and the change by quadrature."""
    rng = np.random.default_rng(2)
    column, noise = rng.normal(size=(25, 2, 1)), np.array(noise)
    residual = size * column[..., 0] + noise * rng.normal(size=(25, 2))
    growth = np.array(GROWTHS)
    share = growth ** -2.0 / np.sum(growth ** -2.0)

    def likelihood(change):
        left = residual - change * column[..., 0]
        each = [np.sum(share * np.prod(norm.pdf(left[:, c, None], scale=0.5 * growth), axis=0))
                for c in range(2)]
        return np.prod(each) / scale

    scale = 1.0
    scale = likelihood(0.0)
    rows = rows_of(residual, 0.5)
    got, mean = GrownNoise.of(column, rows).odds(np.array([1.5]))
    expected, _ = quad(lambda change: likelihood(change) * norm.pdf(change, scale=1.5), -8, 8,
                       points=[float(mean[0])], limit=500, epsabs=0)
    assert got == pytest.approx(np.log(expected), abs=0.2)      # Laplace's error
    assert mean[0] == pytest.approx(size, abs=0.8)


def test_outliers_are_evidence_of_grown_noise_and_a_change_is_not():
    """A fifth of the rows is off by twenty deviations: a change explains some of it by chance. One
    that has happened is as evident against grown noise, and all that is evident against it is so
    against no change at all."""
    rng = np.random.default_rng(3)
    believed = [[], []]
    for _ in range(50):
        column, residual = rng.normal(size=(20, 2, 3)), rng.normal(size=(20, 2))
        bad = residual + 20.0 * rng.choice([-1, 0, 1], p=[.1, .8, .1], size=(20, 2))
        changed = residual + column @ [3.0, -3.0, 3.0]
        for found, spoilt in zip(believed, (bad, changed)):
            found.append([rival.of(column, rows_of(spoilt)).odds(np.full(3, 3.0))[0]
                          for rival in (Unchanged, GrownNoise)])
    outliers, change = np.array(believed)
    assert np.median(outliers[:, 0]) > 30 and outliers[:, 1].max() < 3
    assert change.min() > 30
