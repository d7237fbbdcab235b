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

"""Metrics against independent formulas, and None for undefined metrics."""
import numpy as np
import pytest
from scipy import stats

from uvms_adaptive_dynamics.model.metrics import METRICS, all_channels, channel_metrics, timing


@pytest.fixture
def series():
    rng = np.random.default_rng(1)
    measured = rng.normal(3.0, 2.0, 400)
    stddev = rng.uniform(0.2, 0.6, 400)
    predicted = 0.9 * measured + 0.5 + stddev * rng.standard_normal(400)
    return measured, predicted, stddev, rng.random(400) > 0.2


def test_figures_agree_with_scipy(series):
    """Slope, bias, NLL and coverage equal scipy's, on valid rows only."""
    measured, predicted, stddev, valid = series
    found = channel_metrics(measured, predicted, stddev, valid, "N")
    m, p, s = measured[valid], predicted[valid], stddev[valid]
    line = stats.linregress(m, p)
    low, high = stats.norm.interval(0.95, p, s)
    assert found["n"] == valid.sum() and found["masked"] == (~valid).sum() and found["unit"] == "N"
    assert found["slope"] == pytest.approx(line.slope)
    assert found["bias"] == pytest.approx(line.intercept)
    assert found["r2"] == pytest.approx(1 - np.sum((m - p) ** 2) / np.sum((m - m.mean()) ** 2))
    assert found["mse"] == pytest.approx(np.mean((m - p) ** 2))
    assert found["rmse"] ** 2 == pytest.approx(found["mse"])
    assert found["mae"] == pytest.approx(np.mean(np.abs(m - p)))
    assert found["nll"] == pytest.approx(-stats.norm.logpdf(m, p, s).mean())
    assert found["coverage95"] == pytest.approx(np.mean((m >= low) & (m <= high)))
    assert found["interval_width"] == pytest.approx(np.mean(high - low))


def test_calibrated_prediction_covers_95_percent():
    """A prediction whose stddev is the truth's covers 95 % of the rows."""
    rng = np.random.default_rng(2)
    predicted, stddev = rng.standard_normal(20000), rng.uniform(0.1, 3.0, 20000)
    measured = predicted + stddev * rng.standard_normal(20000)
    found = channel_metrics(measured, predicted, stddev, np.ones(20000, bool), "N")
    assert found["coverage95"] == pytest.approx(0.95, abs=0.005)


def test_r2_of_the_mean_is_zero_and_of_the_truth_one(series):
    """R^2 compares with the mean of the measured rows."""
    measured, _, stddev, _ = series
    every = np.ones(400, bool)
    assert channel_metrics(measured, measured, stddev, every, "N")["r2"] == 1.0
    mean = np.full(400, measured.mean())
    of_the_mean = channel_metrics(measured, mean, stddev, every, "N")
    assert of_the_mean["r2"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("measured, gone", [([], set(METRICS)), ([1.0], {"r2", "slope", "bias"}),
                                            ([0.1, 0.1, 0.1], {"r2", "slope", "bias"})])
def test_what_does_not_exist_is_null(measured, gone):
    """No rows, one row, no variance: None for exactly the metrics that need more."""
    measured = np.array(measured)
    ones = np.ones(measured.size)
    found = channel_metrics(measured, measured + 1.0, ones, ones.astype(bool), "N")
    assert {key for key in METRICS if found[key] is None} == gone


def test_zero_stddev_leaves_the_errors_but_no_interval():
    """With zero stddev there is no likelihood; errors are still computed."""
    found = channel_metrics(np.arange(5.0), np.arange(5.0), np.zeros(5), np.ones(5, bool), "N")
    assert found["nll"] is found["coverage95"] is found["interval_width"] is None
    assert found["mse"] == 0.0


def test_rows_that_are_not_finite_are_masked():
    """A NaN in a valid row is masked and does not spread."""
    measured = np.array([0.0, 1.0, np.nan, 3.0, np.inf])
    found = channel_metrics(measured, np.zeros(5), np.ones(5), np.ones(5, bool), "N")
    assert found["n"] == 3 and found["masked"] == 2 and found["mae"] == pytest.approx(4 / 3)


def test_channels_keep_their_columns():
    """Each channel is judged on its own column and its own mask."""
    measured = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    valid = np.array([[True, False], [True, True], [False, True]])
    found = all_channels(("surge", "axis_e"), ("N", "N m"), measured, np.zeros((3, 2)),
                         np.ones((3, 2)), valid)
    assert found["surge"]["mae"] == 0.5 and found["axis_e"]["mae"] == 4.0
    assert found["axis_e"]["unit"] == "N m"


def test_timing_of_nothing_is_null():
    """Without times the statistics are None; otherwise there is a median."""
    assert timing([np.nan]) == {"median": None, "p99": None, "max": None}
    assert timing([1.0, 2.0, 9.0])["median"] == 2.0


def test_an_effort_far_below_its_noise_has_no_r2():
    """The tail of a rotor's lag varies, but too little to be explained."""
    tail, zero = 0.005 * np.exp(-np.arange(400) / 50), np.zeros(400)
    found = channel_metrics(tail, zero + 0.3, np.full(400, 0.5), np.ones(400, bool), "N")
    assert found["r2"] is None and found["rmse"] == pytest.approx(0.3, rel=.01)
    small = channel_metrics(tail, zero, np.full(400, 0.05), np.ones(400, bool), "N")
    assert small["r2"] is not None
