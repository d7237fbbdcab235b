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

"""The map from the DVL's velocity to the integrated IMU."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.checks.velocity_map import velocity_map

DVL_NOISE, PERIOD, DURATION = 0.01, 0.1, 60.0


def log(seed, gain, lag=0.0):
    """Rows of the log `dvl` of a vehicle that turns on the spot and moves on all axes, up to
    .3 m/s; gain [1/s] of an attitude filter that takes the specific force for gravity, lag [s] of
    the DVL's stamps."""
    rng, fine = np.random.default_rng(seed), 0.005
    t = np.arange(0.0, DURATION, fine)
    rates = 2 * np.pi * rng.uniform(0.03, 0.3, (6, 4))
    phases = rng.uniform(0, 2 * np.pi, (6, 4))
    tones = lambda x: np.sin(rates[:, :, None] * x + phases[:, :, None]).sum(1) * 0.12
    velocity = np.vstack([tones(t)[:2], 0.5 * tones(t)[2:3]]).T
    yaw, slope = 6.0 * tones(t)[3], np.gradient(6.0 * tones(t)[3], fine)
    # It leans by gain / g times the velocity gained: the integral is a high-pass of the velocity.
    C, decay = np.zeros_like(velocity), np.exp(-gain * fine * np.array([1.0, 1.0, 0.0]))
    for k in range(1, len(t)):
        C[k] = (C[k - 1] * decay + velocity[k] - velocity[k - 1])
    rows = []
    for k in range(200, len(t) - 200, round(PERIOD / fine)):
        c, s = np.cos(yaw[k]), np.sin(yaw[k])
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        then = k - round(lag / fine)
        c, s = np.cos(yaw[then]), np.sin(yaw[then])
        v = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ velocity[then]
        v = v + DVL_NOISE * rng.normal(size=3)
        rows.append(np.concatenate([[t[k]], v, [0.0, 0.0, slope[k]], C[k], R.ravel()]))
    return np.array(rows)


@pytest.mark.parametrize("gain", [0.0, 0.15, 0.4])
def test_an_attitude_led_by_accelerations_is_no_lag_and_no_turn_of_the_dvl(gain):
    """Their errors are as large as stated: over ten motions, lag, turn and scale are within four
    standard errors, and their mean square is that of the errors within a factor of two."""
    found = []
    for seed in range(10):
        fit = velocity_map(log(seed, gain))
        phi, error = fit.rotation()
        found.append([fit.lag / fit.errors[12], np.linalg.norm(phi) / error / np.sqrt(3),
                      (fit.scale()[1] - 1) / fit.scale()[2]])
        assert fit.known > 0.8
    found = np.array(found)
    assert np.abs(found).max() < 4.0, found
    assert np.all(np.mean(found ** 2, axis=0) < 2.0), np.mean(found ** 2, axis=0)


def test_a_lag_is_found_beside_a_gain():
    fit = velocity_map(log(3, 0.2, 0.1))
    assert fit.lag == pytest.approx(0.1, abs=0.02)
