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

"""The paper's channel noise, selected by a setting."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Uncertainty
from uvms_adaptive_dynamics.uncertainty.channel_noise import ChannelNoise
from uvms_adaptive_dynamics.uncertainty.recursive_noise import RecursiveNoise, channel_noise


def recursive(alpha=0.5, adapt=True):
    settings = Uncertainty(noise="recursive", noise_alpha=alpha)
    return channel_noise(settings, np.array([1.0, 2.0]), .02, 5.0, 5000.0, adapt)


def test_it_is_the_exponentially_weighted_square_of_earlier_residuals():
    """s^2 <- (1 - a) s^2 + a r^2, row by row; masked rows leave their channel unchanged."""
    noise, rng, variance = recursive(.3), np.random.default_rng(0), np.array([1.0, 4.0])
    for _ in range(50):
        r, valid = rng.normal(size=2), rng.random(2) > .3
        np.testing.assert_allclose(noise.interval_stddev, np.sqrt(variance), rtol=1e-12)
        noise.add_residual(r, valid, noise.interval_stddev)
        variance = np.where(valid, .7 * variance + .3 * r ** 2, variance)


def test_what_is_saved_does_not_hang_on_the_newest_residual():
    """Final residuals near zero narrow the next interval, but not the saved noise."""
    noise, rng = recursive(), np.random.default_rng(1)
    for _ in range(2000):
        noise.add_residual(rng.normal(size=2), np.ones(2, bool), noise.interval_stddev)
    for _ in range(20):
        noise.add_residual(np.zeros(2), np.ones(2, bool), noise.interval_stddev)
    assert (noise.interval_stddev < .01).all()
    np.testing.assert_allclose(noise.lasting_stddev, 1.0, atol=.1)


def test_fixed_noise_stays():
    noise = recursive(adapt=False)
    noise.add_residual(np.full(2, 9.0), np.ones(2, bool), np.ones(2))
    np.testing.assert_array_equal(noise.interval_stddev, [1.0, 2.0])


@pytest.mark.parametrize("name, kind", [("calibrated", ChannelNoise),
                                        ("recursive", RecursiveNoise)])
def test_the_setting_chooses(name, kind):
    assert type(channel_noise(Uncertainty(noise=name), np.ones(1), .02, 5.0, 1e3, True)) is kind
