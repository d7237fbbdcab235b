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

"""Rows in square-root form, channel by channel: the factors hold all rows, with digits that
products lose."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.estimation.square_root_information import (
    WAITING_ROWS,
    ChannelInformation,
    triangular,
)


@pytest.mark.parametrize("channels", [1, 3, 18])
def test_weighted_sums_are_those_of_all_rows(channels):
    """Row after row, faded in between: factors and sums equal plain products for any weights."""
    rng, size = np.random.default_rng(0), 6
    kept, plain = ChannelInformation(channels, size), np.zeros((channels, size + 1, size + 1))
    for k in range(3 * WAITING_ROWS + 7):
        rows, weight = rng.normal(size=(channels, size + 1)), float(rng.uniform(.1, 2))
        kept.fade(.999)
        plain *= .999
        kept.add_row(rows, weight)
        plain += weight * np.einsum("ci,cj->cij", rows, rows)
        if k % 97 == 0:
            weights = rng.uniform(.1, 5, channels)
            np.testing.assert_allclose(kept.weighted(weights), np.tensordot(weights, plain, 1),
                                       rtol=1e-10, atol=1e-10)
    for c in range(channels):
        R = kept.factor(c)
        np.testing.assert_allclose(R.T @ R, plain[c], rtol=1e-10, atol=1e-10)
        assert np.array_equal(R, np.triu(R))


def test_fading_never_ends():
    """80,000 fadings by .99, which leave 1e-349 of the first row's weight: the factors still equal
    plain products."""
    rng = np.random.default_rng(3)
    kept, plain = ChannelInformation(2, 3), np.zeros((2, 4, 4))
    for k in range(80_000):
        rows = rng.normal(size=(2, 4))
        kept.fade(.99)
        kept.add_row(rows)
        plain = .99 * plain + np.einsum("ci,cj->cij", rows, rows)
        if k % 5_003 == 0 or k == 79_999:
            np.testing.assert_allclose(kept.weighted(np.array([1.0, 2.0])),
                                       plain[0] + 2 * plain[1], rtol=1e-9, atol=1e-9)


def test_the_root_keeps_what_products_lose():
    """50,000 almost equal rows: their information in one direction is 1e-18 of that in the other.
    The factor has it to one in a thousand; the matrix of products has lost it."""
    rng = np.random.default_rng(1)
    along, across = np.array([.6, .8, 0.0]), np.array([-.8, .6, 0.0])
    kept, plain, known = ChannelInformation(1, 2), np.zeros((3, 3)), 0.0
    for _ in range(50_000):
        amount = rng.normal()
        row = 1e9 * rng.normal() * along + amount * across
        known += amount * amount
        kept.add_row(row[None])
        plain += np.outer(row, row)

    def least(matrix):
        return float(np.linalg.svd(matrix)[1][-1])
    assert least(kept.factor(0)[:2, :2]) ** 2 == pytest.approx(known, rel=1e-3)
    assert least(plain[:2, :2]) != pytest.approx(known, rel=0.5)


def test_no_tick_transforms_all_channels():
    """Ten channels have their transformations at different ticks."""
    kept, done = ChannelInformation(10, 4), []
    fold = kept._fold
    kept._fold = lambda channel: done.append(channel) or fold(channel)
    most = 0
    for _ in range(5 * WAITING_ROWS):
        done.clear()
        kept.add_row(np.ones((10, 5)))
        most = max(most, len(done))
    assert most == 1


def test_triangular_of_few_rows_is_square():
    """Fewer rows than columns: zeros below."""
    rows = np.random.default_rng(2).normal(size=(2, 5))
    R = triangular(rows)
    assert R.shape == (5, 5)
    np.testing.assert_allclose(R.T @ R, rows.T @ rows, atol=1e-14)
