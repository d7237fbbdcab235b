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

"""The weights of the low-pass."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Filter
from uvms_adaptive_dynamics.model.kernel import correlation_length, gaussian_kernel, pass_band


def test_default_gain_is_at_least_nine_tenths_at_one_hertz():
    """Motion up to 1 Hz passes; noise above 5 Hz is removed."""
    settings = Filter()
    h = gaussian_kernel(settings)
    k = (np.arange(len(h)) - len(h) // 2) * settings.period

    def gain(frequency):
        return abs(np.sum(h * np.exp(-2j * np.pi * frequency * k)))

    assert gain(1.0) >= .9 and gain(0.0) == pytest.approx(1) and gain(6.0) < .05


def test_the_pass_band_is_that_of_the_weights():
    """The gain of a sine through the weights; no band without low-pass."""
    settings = Filter()
    h, band = gaussian_kernel(settings), pass_band(settings)
    k = (np.arange(len(h)) - len(h) // 2) * settings.period
    for frequency, expected in ((band.bandwidth_hz, np.sqrt(0.5)), (1.0, band.gain_at_1_hz)):
        assert h @ np.cos(2 * np.pi * frequency * k) == pytest.approx(expected, abs=5e-3)
    assert pass_band(Filter(lowpass=0.0)) is None


def test_weights_are_symmetric_positive_and_sum_to_one():
    """A symmetric kernel delays every frequency alike."""
    h = gaussian_kernel(Filter())
    assert len(h) % 2 == 1 and h.min() > 0 and h.sum() == pytest.approx(1)
    np.testing.assert_array_equal(h, h[::-1])


def test_without_low_pass_one_weight_is_left():
    """Each row then consists of its own instant."""
    np.testing.assert_array_equal(gaussian_kernel(Filter(lowpass=0.0)), [1.0])


def test_correlation_length_counts_overlapping_rows():
    """White noise through the kernel: the variance of a mean of N rows is correlation_length / N
    times a row's."""
    h = gaussian_kernel(Filter())
    rng = np.random.default_rng(1)
    noise = np.convolve(rng.normal(size=400_000), h, "valid")
    blocks = noise[:len(noise) // 2000 * 2000].reshape(-1, 2000).mean(axis=1)
    assert blocks.var() / noise.var() * 2000 == pytest.approx(correlation_length(h), rel=.15)
