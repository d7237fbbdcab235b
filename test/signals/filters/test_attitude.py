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

"""Attitude from gyro, force and velocity, for a motion in closed form."""
import numpy as np
import pytest
from analytic import AnalyticMotion
from signal_runs import make

from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.signals.filters.attitude import GOOD_TILT, OwnAttitude

G = 9.80665
GYRO_BIAS, FORCE_BIAS = np.array([0.004, -0.003, 0.002]), np.array([0.04, -0.03, 0.02])


def followed(seconds=40.0, with_velocity=True, garbage=None, seed=3, hz=100):
    """(times, tilt errors [rad], filter) with rates and force at `hz`, with biases and noise, and
    velocities at 10 Hz with 1 cm/s of noise."""
    config, robot, _ = make()
    motion, rng = AnalyticMotion(seed, config=config), np.random.default_rng(seed)
    attitude, times, errors = OwnAttitude(G, 0.01), [], []
    for k in range(int(hz * seconds)):
        t = k / hz
        s = motion.sample(t, robot)
        v, w = s.nu[:3], s.nu[3:]
        force = s.nu_dot[:3] + np.cross(w, v) - G * s.R_nb[2]
        rates = w + GYRO_BIAS + rng.normal(0, 0.003, 3)
        row = attitude.add(t, rates.tolist(),
                           (force + FORCE_BIAS + rng.normal(0, 0.03, 3)).tolist())
        times.append(t)
        errors.append(np.linalg.norm(np.cross(row[:3], s.R_nb[2])))
        if with_velocity and k % (hz // 10) == 0 and k:
            velocity = v + rng.normal(0, 0.01, 3)
            if garbage is not None:
                velocity = garbage(t, velocity)
            attitude.add_velocity(t, velocity.tolist())
    return np.array(times), np.array(errors), attitude


def test_the_tilt_is_right_while_the_vehicle_accelerates():
    """With the DVL, to 0.15 degrees RMS after 10 s, and never reported as known when it is not."""
    times, errors, attitude = followed()
    assert np.degrees(np.sqrt(np.mean(errors[times > 10] ** 2))) < 0.15
    assert 0.1 < attitude.tilt_since <= attitude.good_since < 5.0
    assert errors[times > attitude.tilt_since].max() < 3 * GOOD_TILT


def test_without_a_dvl_a_speed_that_vehicles_have_is_enough_for_the_tilt():
    """To 1 degree RMS after 20 s; the acceleration stays unknown."""
    times, errors, attitude = followed(60.0, with_velocity=False)
    assert np.degrees(np.sqrt(np.mean(errors[times > 20] ** 2))) < 1.0
    assert np.isinf(attitude.good_since)


def test_a_fast_imu_without_a_dvl_keeps_its_tilt():
    """Two seconds between updates are more readings than a series keeps."""
    times, errors, _ = followed(seconds=12.0, with_velocity=False, hz=1000)
    assert errors[times > 6.0].max() < 0.05


def test_biases_are_taken_off():
    """The gyro's biases about level axes, which the tilt reveals."""
    _, _, attitude = followed()
    row = np.array(attitude.add(40.0, GYRO_BIAS.tolist(), [0.0, 0.0, -G]))
    assert np.abs(row[3:5]).max() < 0.001


def test_garbage_at_the_start_does_not_stay():
    """After two seconds of meaningless velocities the filter restarts and finds the tilt."""
    noise = np.random.default_rng(1)
    times, errors, _ = followed(
        20.0, garbage=lambda t, v: noise.normal(0, 1.0, 3) if t < 2 else v)
    assert np.degrees(errors[times > 10].max()) < 0.5


def test_heading_is_the_yaw_rates_integral():
    """It starts from zero, whatever roll and pitch are; the true one is unknown."""
    attitude, rate, headings = OwnAttitude(G, 0.01), 0.3, []
    for k in range(501):
        R = from_rpy(0.2, -0.1, 1.0 + rate * 0.01 * k)
        w = R.T @ [0.0, 0.0, rate]
        row = attitude.add(0.01 * k, w.tolist(), (-G * R[2]).tolist())
        headings.append(row[9])
    assert headings[-1] - headings[0] == pytest.approx(rate * 5.0, abs=0.01)
    assert row[:3] == pytest.approx(R[2], abs=1e-3)
