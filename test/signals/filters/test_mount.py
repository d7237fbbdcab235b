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

"""A knocked IMU: its readings are turned back; those of an attitude that steps alone are not."""

import math

import numpy as np
import pytest

from uvms_adaptive_dynamics.model.rotations import (
    from_down,
    from_rotation_vector,
    to_rotation_vector,
)
from uvms_adaptive_dynamics.signals.filters.imu_integral import ImuIntegral
from uvms_adaptive_dynamics.signals.filters.mount import KNOCK_TIME, MountRotation

G, PERIOD, KNOCKED_AT = 9.80665, 0.01, 2.0
TURN = from_rotation_vector(np.radians([8.0, -5.0, 6.0]))    # sensor axes to body


def true_readings():
    """(t, reading [down, rates, force, heading]) of a body that rolls and turns and accelerates."""
    R = np.eye(3)
    for k in range(round((KNOCKED_AT + KNOCK_TIME + 1.0) / PERIOD)):
        t = k * PERIOD
        w = np.array([0.2 * math.sin(t), 0.1 * math.cos(2 * t), 0.3])
        R = R @ from_rotation_vector(PERIOD * w)
        force = 0.2 * np.sin([t, 2 * t, 3 * t]) - G * R[2]
        yield t, np.array([*R[2], *w, *force, math.atan2(R[1, 0], R[0, 0])])


def knocked(reading, with_force):
    """The reading of an IMU that is turned by TURN relative to the body, or only its attitude."""
    R_ns = from_down(reading[:3].tolist(), reading[9]) @ TURN
    found = reading.copy()
    found[:3], found[9] = R_ns[2], math.atan2(R_ns[1, 0], R_ns[0, 0])
    if with_force:
        found[3:6], found[6:9] = TURN.T @ reading[3:6], TURN.T @ reading[6:9]
    return found


def followed(with_force, has_force=True):
    """(the mount, its corrected readings less the true ones in the last second)."""
    mount, imu = MountRotation(has_force), ImuIntegral(G, 0.6)
    before, errors = [], []
    for t, reading in true_readings():
        measured = knocked(reading, with_force) if t > KNOCKED_AT else reading
        row = mount.corrected(measured.tolist())
        imu.add(t, row, (0.0, 0.0, 0.0))
        if t <= KNOCKED_AT:
            before = imu.series.last_row.tolist()
            mount.follow(PERIOD, imu.R_Gb, row[6:9])
        elif not errors and not mount.is_judging and t < KNOCKED_AT + 0.5:
            mount.note_step(t, KNOCKED_AT, before, imu)
        elif mount.is_judging:
            mount.judge(t, imu, row[6:9])
        else:
            errors.append(np.array(row) - reading)
    return mount, np.abs(errors)


def test_an_imu_that_was_knocked_is_turned_back():
    """All of its readings, to half a degree, the accuracy of the averaged step."""
    mount, errors = followed(with_force=True)
    assert errors[:, :3].max() < 0.01 and errors[:, 6:9].max() < 0.1
    assert errors[:, 3:6].max() < 0.01 and errors[:, 9].max() < 0.01
    (said,) = mount.sentences(100.0)
    assert said.startswith("imu orientation: at 2 s it tilted by ") and "this is corrected" in said
    assert abs(float(said.partition("tilted by ")[2].split()[0]) - math.hypot(8.0, 5.0)) < 1.5


def test_an_attitude_that_steps_alone_is_said_and_left():
    """The force does not step with it, so the driver is the cause."""
    mount, errors = followed(with_force=False)
    angle = np.linalg.norm(to_rotation_vector(TURN))
    assert 0.5 * angle < errors[:, :3].max() < 1.5 * angle
    (said,) = mount.sentences(100.0)
    assert "check its driver" in said and "taken off" not in said


def test_without_a_force_a_step_is_waited_for_and_said():
    """An odometry whose marker body was swapped: nothing tells what has turned."""
    mount, errors = followed(with_force=False, has_force=False)
    assert len(errors) <= round(1.0 / PERIOD) and errors[:, :3].max() > 0.05
    (said,) = mount.sentences(100.0)
    assert "has not returned" in said and "corrected" not in said


@pytest.mark.parametrize("seconds, told", [(0.5, True), (3.0, False)])
def test_without_a_force_only_a_quick_step_is_the_attitudes(seconds, told):
    """An odometry that froze for seconds had wrong rates as well."""
    mount, imu, before = MountRotation(has_force=False), ImuIntegral(G, 0.6), []
    for t, reading in true_readings():
        imu.add(t, (knocked(reading, False) if t > KNOCKED_AT else reading).tolist(),
                (0.0, 0.0, 0.0))
        if t <= KNOCKED_AT:
            before = imu.series.last_row.tolist()
    mount.note_step(KNOCKED_AT + seconds, KNOCKED_AT, before, imu)
    assert mount.is_judging == told == bool(mount.sentences(100.0))


@pytest.mark.parametrize("has_force", [True, False])
def test_a_step_that_ends_after_a_while_is_over(has_force):
    """Its return is no other step: a heading that was off for 10 s "had not returned" after."""
    mount, imu, row = MountRotation(has_force), ImuIntegral(G, 0.6), []
    for k in range(1500):
        t = k * PERIOD
        turn = 0.5 if 2.0 < t <= 12.0 else 0.0
        imu.add(t, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -G, turn], (0.0, 0.0, 0.0))
        if k in (200, 1200):
            row = imu.series.last_row.tolist()
        if k in (230, 1230):
            mount.note_step(t, t - 0.3, row, imu)
            assert bool(mount.sentences(t + 5.0)) == (k == 230)
