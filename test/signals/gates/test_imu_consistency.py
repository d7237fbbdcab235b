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

"""Consistency of an IMU's readings."""

import numpy as np

from uvms_adaptive_dynamics.signals.gates.imu_consistency import ImuConsistency

STILL, G = np.zeros(4), np.array([0.0, 0.0, -9.8])


def verdicts(turn_errors, forces, period=0.01):
    """Whether each reading fits, at a fixed period."""
    check = ImuConsistency()
    return np.array([check.fits(period * k, error, force)
                     for k, (error, force) in enumerate(zip(turn_errors, forces))])


def noisy(seconds=10.0, turn=0.005, force=0.05):
    rng = np.random.default_rng(0)
    count = int(100 * seconds)
    return rng.normal(0, turn, (count, 4)), G + rng.normal(0, force, (count, 3))


def test_noise_and_a_vehicles_motion_fit():
    """Noise of a cheap IMU, and accelerations of 2 m/s^2 at 1 Hz."""
    turn, force = noisy()
    force[:, 0] += 2.0 * np.sin(2 * np.pi * 0.01 * np.arange(len(force)))
    assert verdicts(turn, force).all()


def test_a_gyro_that_contradicts_the_attitude_is_seen_for_as_long_as_it_does():
    """0.2 rad in the span, as 2 rad/s of garbage gives, for eight seconds; then all is well."""
    turn, force = noisy()
    turn[100:900, 2] += 0.2
    fits = verdicts(turn, force)
    assert fits[:100].all() and not fits[100:900].any() and fits[900:].all()


def test_a_step_of_the_force_is_seen_and_a_spike_of_one_reading_is_not():
    """The step at either end of a burst; a single spike is left to the spike gate."""
    turn, force = noisy()
    force[300:400, 1] += 5.0
    fits = verdicts(turn, force)
    assert not fits[300:306].all() and not fits[400:406].all() and fits[310:400].all()
    assert fits[:300].all() and fits[406:].all()


def test_an_imu_that_is_always_like_that_is_accepted_in_the_end():
    """An attitude that lags by more than the floor allows for is accepted after a minute."""
    turn, force = noisy(60.0)
    turn[:, 0] += 0.15
    fits = verdicts(turn, force)
    assert not fits[:500].any() and fits[-500:].all()


def test_forces_across_a_gap_are_not_compared():
    """After 0.2 s without a reading another force is no step."""
    check = ImuConsistency()
    times = [*(0.01 * np.arange(20)), *(0.4 + 0.01 * np.arange(20))]
    forces = [G] * 20 + [G + [5.0, 0.0, 0.0]] * 20
    assert all(check.fits(t, STILL, f) for t, f in zip(times, forces))
