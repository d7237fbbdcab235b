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

"""The integrated IMU, compared with known motions."""

import math

import numpy as np
import pytest

from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.signals.filters.imu_integral import N3, R_GB, RAW_C, C, ImuIntegral

G = 9.80665
NO_BIAS = (0.0, 0.0, 0.0)


def add(integral, t, R_nb=None, rates=NO_BIAS, acceleration=NO_BIAS, bias=NO_BIAS):
    """Add the reading of a perfect IMU with an inertial acceleration (3,) in body axes."""
    n3 = [0.0, 0.0, 1.0] if R_nb is None else R_nb[2].tolist()
    force = [a - G * n for a, n in zip(acceleration, n3)]
    integral.add(t, [*n3, *rates, *force, 0.0], bias)


def test_constant_acceleration_gives_its_velocity():
    """0.5 m/s^2 forward for 4 s are 2 m/s; nothing else moves."""
    integral = ImuIntegral(G, 0.6)
    for k in range(401):
        add(integral, 0.01 * k, acceleration=(0.5, 0.0, 0.0))
    np.testing.assert_allclose(integral.series.last_row[C], [2.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(integral.series.last_row[RAW_C], [2.0, 0.0, 0.0], atol=1e-9)


def test_a_constant_rate_turns_the_frame():
    """0.3 rad/s of yaw for 2 s: R_Gb is that rotation, at ticks between the readings too."""
    integral = ImuIntegral(G, 0.6)
    for k in range(201):
        add(integral, 0.01 * k, rates=(0.0, 0.0, 0.3))
    found = np.reshape(integral.series.last_row[R_GB], (3, 3))
    np.testing.assert_allclose(found, from_rpy(0.0, 0.0, 0.6), atol=1e-9)
    between = np.reshape(integral.rotation_at(1.0037), (3, 3))
    np.testing.assert_allclose(between, from_rpy(0.0, 0.0, 0.3 * 1.0037), atol=1e-9)


def test_noise_of_the_attitude_is_averaged_out_of_the_velocity():
    """With attitude noise of 0.2 degrees the velocity wanders far less than the raw integral."""
    integral, rng = ImuIntegral(G, 0.6), np.random.default_rng(0)
    for k in range(2000):
        R_nb = from_rpy(*rng.normal(0, math.radians(0.2), 3))
        reading = [*R_nb[2], 0.0, 0.0, 0.0, 0.0, 0.0, -G, 0.0]
        integral.add(0.01 * k, reading, NO_BIAS)
    _, rows = integral.series.window(0.0, 20.0)
    acceleration = np.diff(rows[:, C], axis=0)[:, :2].std()
    assert acceleration < 0.3 * np.diff(rows[:, RAW_C], axis=0)[:, :2].std()
    np.testing.assert_allclose(rows[:, N3].std(axis=0)[:2], math.radians(0.2), rtol=0.1)


def test_the_bias_is_subtracted():
    """With a known bias, a biased force integrates like an unbiased one."""
    integral = ImuIntegral(G, 0.6)
    for k in range(101):
        add(integral, 0.01 * k, acceleration=(0.05, 0.0, 0.0), bias=(0.05, 0.0, 0.0))
    np.testing.assert_allclose(integral.series.last_row[C], 0.0, atol=1e-12)


def test_discarded_readings_leave_no_trace():
    """Readings after a time are removed: what follows continues from there."""
    integral = ImuIntegral(G, 0.6)
    for k in range(101):
        add(integral, 0.01 * k, acceleration=(1.0, 0.0, 0.0) if k > 50 else NO_BIAS)
    integral.discard_after(0.5)
    add(integral, 1.01)
    assert integral.series.last_row[C].tolist() == pytest.approx([0.0] * 3)
    assert integral.series.last_row[RAW_C].tolist() == pytest.approx([0.0] * 3)


@pytest.mark.parametrize("jitter", [-0.001, 0.0, 0.001])
def test_a_turn_is_seen_over_a_period_that_jitters(jitter):
    """Of a slow IMU it is compared over its period: the reading before lay a little less than that
    ago, and the one before it a little more than twice."""
    integral = ImuIntegral(G, 0.6)
    for k, t in enumerate((0.0, 0.2 - jitter, 0.4 + jitter, 0.6)):
        add(integral, t, from_rpy(0.2 * (k == 3), 0.0, 0.0))
    assert abs(integral.turn_error(0.2)[1]) > 0.19
    add(integral, 3.0)
    assert integral.turn_error(0.2) == (0.0,) * 4       # as after a gap
