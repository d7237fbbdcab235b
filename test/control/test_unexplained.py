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

"""The unexplained residual: a known process is recovered from drawn noise."""
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.unexplained import (
    BAND_STEP,
    LONGEST_LAG,
    Residuals,
    Unexplained,
)
from uvms_adaptive_dynamics.model.kernel import gaussian_kernel
from uvms_adaptive_dynamics.model.robot import RawRows

CONFIG = Config()
PERIOD = CONFIG.filter.period
PI = np.zeros(1)


class Channels:
    """A robot whose rows are the noise carried by a sample."""

    def __init__(self, channels, joints=1):
        self.table = SimpleNamespace(channels=channels, n=joints)

    def raw_rows(self, sample, pi):
        zero = np.zeros(self.table.channels)
        return RawRows(np.zeros((zero.size, 1)), zero, sample.noise)


def watched(noise, efforts=None, valid=None, t=None):
    """`Residuals` of noise (T, C) and measured efforts (T, n)."""
    T, C = noise.shape
    efforts = np.zeros((T, 1)) if efforts is None else efforts
    config = CONFIG.with_values({"twin.memory": 3600.0})
    residuals = Residuals(config, Channels(C, efforts.shape[1]))
    for k in range(T):
        residuals.add(SimpleNamespace(
            t=PERIOD * k if t is None else t[k], noise=noise[k], joint_torque=efforts[k],
            valid=np.ones(C, bool) if valid is None else valid[k]), PI)
    return residuals


def smooth(rng, T, C, width):
    """Unit noise with Gaussian autocorrelation exp(-(t / 2 width)^2)."""
    x = np.arange(-5 * width, 5 * width, PERIOD) / width
    h = np.exp(-x ** 2 / 2)
    drawn = rng.standard_normal((T + len(h), C))
    return np.column_stack([np.convolve(column, h / np.linalg.norm(h), "same")
                            for column in drawn.T])[:T]


def test_a_smooth_noise_is_found_and_the_white_one_beside_it_left_out():
    """Over 1000 s and eight channels, white noise before the low-pass, half of the variance behind
    it, is left out; the smooth noise's autocorrelation is found within its scatter."""
    rng, width = np.random.default_rng(0), 0.3
    kernel = gaussian_kernel(CONFIG.filter)
    white = rng.standard_normal((50_000, 8)) / np.linalg.norm(kernel)
    found = watched(smooth(rng, 50_000, 8, width) + white).process(np.full(8, 3.0))
    lags = BAND_STEP * np.arange(found.correlation.shape[0])
    fading = 1 - lags / LONGEST_LAG
    expected = 0.5 * np.exp(-(lags / (2 * width)) ** 2) * fading
    assert np.allclose(found.correlation.mean(axis=1), expected, atol=0.05)
    assert np.allclose(found.variance, 9.0)


@pytest.mark.parametrize("period", [0.07, 0.25])
def test_ticks_of_any_length_give_the_correlation_at_the_same_lags(period):
    """A tone of 4 s: its correlation at 1 s is zero, at 2 s it would be -1 (tapered)."""
    config = CONFIG.with_values({"filter.period": period, "twin.memory": 3600.0})
    residuals = Residuals(config, Channels(1))
    for k in range(round(600 / period)):
        residuals.add(SimpleNamespace(
            t=period * k, noise=np.array([np.sin(0.5 * np.pi * period * k)]),
            joint_torque=np.zeros(1), valid=np.ones(1, bool)), PI)
    found = residuals.process(np.ones(1)).correlation[:, 0]
    assert len(found) == 21
    assert found[0] > 0.9 and abs(found[10]) < 0.06
    assert found[15] < -0.1


def test_what_was_never_seen_counts_as_lasting():
    """Channels with masked or too few rows get the longest correlation."""
    rng = np.random.default_rng(1)
    valid = np.tile([True, False], (2000, 1))
    found = watched(rng.standard_normal((2000, 2)), valid=valid).process(np.ones(2))
    lasting = np.linspace(1, 0, len(found.correlation))
    assert np.allclose(found.correlation[:, 1], lasting)
    assert abs(found.correlation[3, 0]) < 0.3
    few = watched(rng.standard_normal((100, 2)))
    assert np.allclose(few.process(np.ones(2)).correlation, lasting[:, None])
    assert np.allclose(few.deviation(np.array([2.0, 3.0])), [2, 3])


def test_pauses_and_jumps_join_no_neighbours():
    """Rows before and after a pause are not neighbours, and a time jump back starts over."""
    noise = np.concatenate([np.full((2000, 1), 1.0), np.full((2000, 1), -1.0)])
    t = PERIOD * np.concatenate([np.arange(2000), 10_000 + np.arange(2000)])
    lasting = np.linspace(1, 0, round(LONGEST_LAG / BAND_STEP) + 1)
    assert np.allclose(watched(noise, t=t).process(np.ones(1)).correlation[:, 0], lasting,
                       atol=0.01)
    back = watched(noise, t=PERIOD * np.concatenate([9000 + np.arange(2000), np.arange(2000)]))
    assert np.allclose(back.deviation(np.zeros(1)), 1.0)
    assert len(back._on_grid()[0]) == 2000


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5])
def test_noise_of_efforts_is_told_from_their_slow_motion(share):
    """With readings between the ticks, interpolated, variance and density are found within 10 %,
    three standard errors of 4000 readings."""
    rng, sigma = np.random.default_rng(2), 0.02
    read = sigma * rng.standard_normal(4001)
    t = PERIOD * np.arange(4000)
    efforts = ((1 - share) * read[:-1] + share * read[1:] + 0.8 * np.sin(2.5 * t))[:, None]
    found = watched(np.zeros((4000, 1)), efforts).process(np.ones(1))
    variance = sigma ** 2 * ((1 - share) ** 2 + share ** 2)
    assert found.effort_variance[0] == pytest.approx(variance, rel=0.1)
    assert 2 * found.effort_variance[0] * found.effort_time[0] == pytest.approx(
        sigma ** 2 * PERIOD, rel=0.15)


def test_planned_efforts_have_no_noise():
    found = watched(np.zeros((100, 1)), np.zeros((100, 1))).process(np.ones(1))
    assert found.effort_variance[0] == 0 and found.effort_time[0] > 0


def test_roots_are_of_the_correlation():
    """R R^T is the covariance if that is valid, and never more than its positive part."""
    lags = BAND_STEP * np.arange(21)
    process = Unexplained(np.array([4.0, 1.0]), np.column_stack([
        np.exp(-lags / 0.5) * (lags < 2), np.where(lags < 0.15, 1.0, 0.0)]), np.zeros(0),
        np.zeros(0))
    R = process.roots(30)
    made = R @ R.transpose(0, 2, 1)
    assert made[0, 3, 5] == pytest.approx(4 * np.exp(-0.4), rel=0.05)
    assert np.linalg.eigvalsh(made).min() > -1e-9
    assert process.roots(30) is R
