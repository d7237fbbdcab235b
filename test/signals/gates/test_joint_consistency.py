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

"""Consistency of joint readings."""

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.gates.joint_consistency import JointConsistency

T = 0.02 * np.arange(2000)
RNG = np.random.default_rng(0)
POSITION = np.column_stack([np.sin(0.9 * T), 0.5 * np.sin(2.0 * T)])
VELOCITY = np.column_stack([0.9 * np.cos(0.9 * T), np.cos(2.0 * T)])


def verdicts(position, velocity):
    check = JointConsistency(2, 0.001)
    noise = RNG.normal(0, [0.001, 0.001, 0.01, 0.01], (len(T), 4))
    return np.array([check.fits(t, p + n[:2], v + n[2:])
                     for t, p, v, n in zip(T, position, velocity, noise)])


def test_readings_of_a_moving_arm_fit():
    """Noise of position and velocity, motion up to 1 rad/s."""
    assert verdicts(POSITION, VELOCITY).mean() > 0.999


def test_a_velocity_that_the_position_does_not_follow_is_seen():
    """A velocity 1 rad/s too large for ten seconds."""
    velocity = VELOCITY.copy()
    velocity[500:1000, 1] += 1.0
    fits = verdicts(POSITION, velocity)
    assert not fits[505:1000].any() and fits[1010:].all()


@pytest.mark.parametrize("readings, back", [(500, True), (1500, False)])
def test_a_position_that_jumps_counts_again_once_it_is_back_or_stays(readings, back):
    """Half a radian for ten seconds, and permanently: after fifteen seconds it is the new zero."""
    position = POSITION.copy()
    position[500:500 + readings, 0] += 0.5
    fits = verdicts(position, VELOCITY)
    jumped = 500 + (readings if back else 750)
    assert not fits[500:jumped].any() and fits[jumped + 10:].mean() > 0.999


def test_zeros_of_a_driver_that_starts_are_no_place_of_the_joints():
    """After a gap come zeros, then the old positions: no slip, and the zeros were wrong."""
    check = JointConsistency(2, 0.001)
    away = POSITION + [2.0, -1.5]
    for k in range(500):
        check.fits(T[k], away[k], VELOCITY[k])
    check.restart()
    for k in range(650, 700):
        assert check.fits(T[k], np.zeros(2), np.zeros(2))
    assert not check.fits(T[700], away[700], VELOCITY[700]) and check.wrong_since == T[650]
    assert all(check.fits(T[k], away[k], VELOCITY[k]) for k in range(701, 1900))
    assert not check.slips


@pytest.mark.parametrize("size", [np.radians(5.0), -0.5])
def test_an_encoder_that_slips_is_named_with_its_size(size):
    """Five degrees, and half a radian back: a jump at first, the new zero after fifteen seconds."""
    position = POSITION.copy()
    position[500:, 1] += size
    gate = JointConsistency(2, 0.001)
    fits = [gate.fits(t, p, v)
            for t, p, v in zip(T, position, VELOCITY)]
    assert not any(fits[500:1250]) and np.mean(fits[1260:]) > 0.999
    assert list(gate.slips) == [1] and abs(gate.slips[1] - size) < 0.02


@pytest.mark.parametrize("speed", [30.0, -15.0])
def test_bad_velocities_are_no_jump(speed):
    """Three of them: the positions go on, so readings count again after the compared span."""
    velocity = VELOCITY.copy()
    velocity[500:503, 1] = speed
    gate = JointConsistency(2, 0.001)
    fits = np.array([gate.fits(t, p, v) for t, p, v in zip(T, POSITION, velocity)])
    assert not fits[501:503].any() and fits[510:].all() and not gate.slips


def test_a_position_with_a_late_stamp_is_no_jump():
    """At 500 Hz one reading is stamped 5 ms late, of a joint that turns at 8 rad/s. Its way in is
    possible, its way out is not."""
    t = 0.002 * np.arange(2000)
    position, velocity = 2.0 * np.sin(4.0 * t), 8.0 * np.cos(4.0 * t)
    gate = JointConsistency(1, 0.001)
    late = 1000
    stamps = np.concatenate([t[:late - 3], [t[late]], t[late + 1:]])
    position, velocity = (np.delete(x, [late - 3, late - 2, late - 1])
                          for x in (position, velocity))
    position[late - 3] -= 0.005 * velocity[late - 3]
    fits = np.array([gate.fits(*one) for one in zip(stamps, position[:, None], velocity[:, None])])
    assert fits[late - 2:].mean() > 0.99 and not gate.slips


def test_after_readings_that_are_all_wrong_the_arm_is_known_again():
    """Half a second of positions and velocities that contradict each other: where the arm went
    meanwhile is unknown, no reason to wait for it to return. Nothing within them fits."""
    position, velocity = POSITION.copy(), VELOCITY.copy()
    rng = np.random.default_rng(1)
    position[500:525], velocity[500:525] = rng.normal(0.0, 2.0, (2, 25, 2))
    gate = JointConsistency(2, 0.001)
    fits = np.array([gate.fits(t, p, v) for t, p, v in zip(T, position, velocity)])
    assert not fits[500:525].any() and fits[545:].all() and not gate.slips


def test_without_velocities_nothing_is_judged():
    """A driver may leave them empty."""
    assert verdicts(POSITION, np.full_like(VELOCITY, np.nan)).all()


def test_a_joint_without_velocity_leaves_the_others_judged():
    """Only the second is judged, and named if it does not fit."""
    velocity, gate = VELOCITY.copy(), JointConsistency(2, 0.001)
    velocity[:, 0], velocity[500:1000, 1] = np.nan, VELOCITY[500:1000, 1] + 1.0
    fits = np.array([gate.fits(t, p, v) for t, p, v in zip(T, POSITION, velocity)])
    assert fits[:500].all() and not fits[505:1000].any() and fits[1010:].all()
    assert gate.worst == 1
    velocity[:, 0] = VELOCITY[:, 0]     # a driver that is mended, after any time
    noise = RNG.normal(0, [0.002, 0.002, 0.05, 0.05], (len(T), 4))
    assert np.mean([gate.fits(50.0 + t, p + n[:2], v + n[2:])
                    for t, p, v, n in zip(T, POSITION, VELOCITY, noise)]) > 0.98
