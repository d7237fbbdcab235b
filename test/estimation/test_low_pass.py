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

"""The common low-pass on every column of Y and on tau."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Filter
from uvms_adaptive_dynamics.estimation.low_pass import RowFilter, low_passed
from uvms_adaptive_dynamics.model.robot import RawRows


def test_filtered_rows_keep_the_equation_whatever_is_masked():
    """tau = Y pi + known stays exact after the filter for any pattern of invalid rows, and invalid
    values are never used."""
    rng = np.random.default_rng(0)
    C, p = 3, 5
    pi = rng.normal(size=p)
    f = RowFilter(Filter(), C, p, thrusters=2)
    rows = 0
    for k in range(300):
        Y, known = rng.normal(size=(C, p)), rng.normal(size=C)
        tau = Y @ pi + known
        valid = rng.random(C) > .3
        by_thruster = np.column_stack([.3 * tau, .7 * tau])
        Y[~valid], tau[~valid] = np.inf, np.nan
        row = f.add_row(.02 * k, RawRows(Y, known, tau, by_thruster=by_thruster), valid)
        if row is not None:
            rows += 1
            assert row.t == pytest.approx(.02 * k - f.delay)
            np.testing.assert_allclose((row.Y @ pi + row.tau_known)[row.valid], row.tau[row.valid],
                                       atol=1e-12)
            np.testing.assert_allclose(row.by_thruster.sum(axis=1)[row.valid], row.tau[row.valid])
    assert rows == 300 - 2 * round(f.delay / .02)


def test_rows_without_enough_valid_instants_do_not_count():
    """A channel masked for longer than half the kernel is masked after it; the others are not."""
    f = RowFilter(Filter(), 2, 1)
    last = None
    for k in range(60):
        last = f.add_row(.02 * k, RawRows(np.ones((2, 1)), np.zeros(2), np.ones(2)),
                         np.array([True, k < 30]))
    assert last.valid[0] and not last.valid[1]


def test_reset_forgets_what_was_before_a_gap():
    """After a reset no row mixes instants from both sides."""
    f = RowFilter(Filter(), 1, 1)
    for k in range(40):
        f.add_row(.02 * k, RawRows(np.full((1, 1), 100.), np.zeros(1), np.zeros(1)),
                  np.ones(1, bool))
    f.reset()
    rows = [
        f.add_row(10 + .02 * k, RawRows(np.ones((1, 1)), np.zeros(1), np.zeros(1)),
                  np.ones(1, bool)) for k in range(40)
    ]
    assert all(r is None or r.Y[0, 0] == pytest.approx(1) for r in rows) and rows[-1] is not None


@pytest.mark.parametrize("share, valid", [(0.4, True), (0.6, False)])
def test_a_row_needs_the_least_share_of_valid_instants(share, valid):
    """An instant that is valid itself counts if enough of the kernel's weight around it is: half of
    it is masked here, up to the instant."""
    f = RowFilter(Filter(minimum_share=share), 1, 1)
    K = f.kernel.size
    for k in range(K):
        row = f.add_row(.02 * k, RawRows(np.ones((1, 1)), np.zeros(1), np.ones(1)),
                        np.array([k >= K // 2]))
    assert f.kernel[K // 2:].sum() == pytest.approx(0.5, abs=0.1)
    assert row.valid[0] == valid


@pytest.mark.parametrize("stride", [1, 3])
def test_a_whole_recording_has_the_rows_of_its_instants(stride):
    """At once or one by one, with gaps, and with values that are not numbers where masked."""
    rng, settings = np.random.default_rng(1), Filter()
    step = np.full(400, .02)
    step[[120, 122, 300]] = .07
    t, values, valid = np.cumsum(step), rng.normal(size=(400, 3, 4)), rng.random((400, 3)) > .4
    values[~valid] = np.inf
    f, one_by_one = RowFilter(settings, 3, 4), []
    for k in range(400):
        if k and abs(t[k] - t[k - 1] - .02) > .01:
            f.reset()
        row = f.add_row(t[k], RawRows(values[k], np.zeros(3), np.zeros(3)), valid[k])
        if row is not None and k % stride == 0:
            one_by_one.append(row)
    places, rows, right = low_passed(settings, t, values, valid, stride)
    np.testing.assert_array_equal(t[places], [row.t for row in one_by_one])
    np.testing.assert_array_equal(right, [row.valid for row in one_by_one])
    np.testing.assert_allclose(rows, [row.Y for row in one_by_one], atol=1e-13)


def test_a_recording_shorter_than_the_low_pass_has_no_rows():
    for length in (0, 5):
        places, rows, valid = low_passed(Filter(), .02 * np.arange(length), np.ones((length, 2, 3)),
                                         np.ones((length, 2), bool))
        assert places.shape == (0,) and rows.shape == (0, 2, 3) and valid.shape == (0, 2)
