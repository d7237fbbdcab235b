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

"""The exciting motion."""

import numpy as np
import pinocchio as pin
import pytest
from campaign_cases import first

from uvms_adaptive_dynamics.simulation.motion import body_rate
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_motion_excites_every_axis_within_limits(seed):
    """On every axis the reference has a useful size and most of its rate between 0.05 and 0.7 Hz;
    joints keep a margin."""
    robot = SimulatedRobot(seed)
    t = np.arange(0.0, 600.0, 0.1)
    samples = [robot.motion.at(x) for x in t]
    value, rate = np.array([s.value for s in samples]), np.array([s.rate for s in samples])
    floor = np.r_[np.full(3, 0.08), np.full(3, 0.06), 0.10, 0.08, 0.13, 0.22]
    assert np.all(rate.std(0) > floor)
    power = np.abs(np.fft.rfft(rate * np.hanning(t.size)[:, None], axis=0)) ** 2
    f = np.fft.rfftfreq(t.size, 0.1)
    band = (f > 0.045) & (f < 0.71)
    assert np.all(power[band].sum(0) > 0.999 * power.sum(0))
    for low, high in ((0.045, 0.1205), (0.1205, 0.2904),
                      (0.2904, 0.71)):  # thirds of the band on a logarithmic scale
        assert np.all(power[(f > low) & (f < high)].sum(0) > 0.12 * power.sum(0))
    physics = robot.physics
    assert np.all(value[:, 6:].min(0) > physics.lower + 0.2)
    assert np.all(value[:, 6:].max(0) < physics.upper - 0.2)
    assert value[:, 2].min() > 3.0
    assert np.abs(np.corrcoef(rate.T) - np.eye(10)).max() < 0.2


def test_rate_and_acceleration_are_the_derivatives():
    """Rate and acceleration match central differences of the reference."""
    motion, h = SimulatedRobot(5, truth_period=None).motion, 1e-5
    for t in (0.0, 7.3, 42.1):
        before, now, after = (motion.at(t + d) for d in (-h, 0.0, h))
        np.testing.assert_allclose(now.rate, (after.value - before.value) / (2 * h), atol=1e-7)
        np.testing.assert_allclose(now.acceleration, (after.rate - before.rate) / (2 * h),
                                   atol=1e-7)


def test_body_rate_turns_the_attitude():
    """R S(w) is the derivative of R for roll-pitch-yaw angles that change at their rates."""
    rng, h = np.random.default_rng(0), 1e-6
    for _ in range(20):
        rpy, rate = rng.uniform(-1.0, 1.0, 3), rng.normal(size=3)
        R = [pin.rpy.rpyToMatrix(*(rpy + d * rate)) for d in (-h, h)]
        np.testing.assert_allclose(pin.log3(R[0].T @ R[1]) / (2 * h), body_rate(rpy, rate),
                                   atol=1e-6)


def test_a_share_of_a_motion_has_the_same_share_of_its_derivatives():
    """The centre stays the same, and an axis with share zero stays there."""
    share = np.r_[np.full(5, 0.5), 0.0, np.full(4, 1.0)]
    whole = SimulatedRobot(5, truth_period=None).motion
    part = SimulatedRobot(5, truth_period=None, motion_share=share).motion
    a, b = whole.at(7.3), part.at(7.3)
    np.testing.assert_allclose(b.value - part.centre, share * (a.value - whole.centre))
    np.testing.assert_allclose([b.rate, b.acceleration],
                               [share * a.rate, share * a.acceleration])
