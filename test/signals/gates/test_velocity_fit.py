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

"""Joint velocities that are late or in another unit."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.gates.velocity_fit import VelocityFit, velocity_relation

T = 0.02 * np.arange(1000)
RNG = np.random.default_rng(0)


def position(t):
    return np.sin(0.9 * t) + 0.3 * np.sin(2.3 * t)


def speed(t):
    return 0.9 * np.cos(0.9 * t) + 0.69 * np.cos(2.3 * t)


def judged(positions, velocities):
    """(unused, misplaced) of two joints after 20 s; the first one's readings are right."""
    fit = VelocityFit(2)
    for t, q, v in zip(T, positions, velocities):
        fit.add(t, (0.5 * position(t), q), (0.5 * speed(t), v))
    return fit.unused, fit.misplaced


@pytest.mark.parametrize("velocity", [np.degrees(speed(T)), -speed(T), 2.0 * speed(T),
                                      0.3 * speed(T), speed(T - 0.1)])
def test_a_velocity_of_another_unit_sign_or_time_is_not_used(velocity):
    """Only that joint's, and not permanently: it is judged again."""
    assert judged(position(T), velocity) == ([False, True], [False, False])
    mended = np.where(T < 8.0, velocity, speed(T))
    assert judged(position(T), mended) == ([False, False], [False, False])


def test_a_position_in_degrees_is_told_from_a_velocity_that_is_small():
    """It changes 57 times as fast as the velocity says."""
    assert judged(np.degrees(position(T)), speed(T)) == ([False, False], [False, True])


@pytest.mark.parametrize("change", [
    lambda q, v: (q, v + RNG.normal(0, 0.05, len(v))), lambda q, v: (q, speed(T - 0.02)),
    lambda q, v: (np.full_like(q, 0.3), v),              # frozen: nobody knows which is wrong
    lambda q, v: (q, RNG.normal(size=len(v))), lambda q, v: (0.01 * q, 0.5 * v),
    lambda q, v: (q + 0.5 * (T > 15.0), v), lambda q, v: (q, np.full_like(v, np.nan))])
def test_what_is_no_clean_relation_is_left_to_others(change):
    """Noise, a driver's filter, a frozen position, another signal, an arm at rest, a slip, nothing.
    """
    assert judged(*change(position(T), speed(T))) == ([False, False], [False, False])


def test_factor_and_delay_are_right_within_their_errors():
    """Together, with noise."""
    velocity = 3.0 * speed(T - 0.15) + RNG.normal(0, 0.02, len(T))
    found = velocity_relation(T, position(T) + RNG.normal(0, 0.0005, len(T)), velocity)
    assert abs(found.factor - 3.0) < 4 * found.error < 0.2
    assert abs(found.lag - 0.15) < max(4 * found.lag_error, 0.005) < 0.03


def test_steps_of_an_encoder_do_not_change_the_lag():
    """Of slow motion they are most of what shifting a position by half a period smooths away. The
    driver's filter delays by 21 ms, its difference by half a period."""
    t = np.arange(0.0, 12.0, 0.02)
    position = np.round(0.2 * np.cos(0.5 * t) / 1e-3) * 1e-3
    velocity = np.zeros_like(position)
    for k in range(1, len(t)):
        velocity[k] = velocity[k - 1] + 0.487 * ((position[k] - position[k - 1]) / 0.02
                                                 - velocity[k - 1])
    assert velocity_relation(t, position, velocity).lag == pytest.approx(0.031, abs=0.004)
