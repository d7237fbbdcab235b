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

"""Calm after motion: measured parameters do not drift, intervals do not shrink without data, and
the model stays as good."""
import numpy as np
import pytest
from clean_recording import clean_recording, predicted_r2
from frame_cases import decoded

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.samples import samples_of
from uvms_adaptive_dynamics.simulation.motion import Reference
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot

MOVING, STOPS_IN, CALM = 18.0, 2.0, 60.0   # [s]
EVERY = 10


class MotionThatStops:
    """A motion whose time slows down from `stop` [s] on and stands still at `stop` + STOPS_IN."""

    def __init__(self, motion, stop):
        self._motion, self._stop = motion, stop

    def at(self, t):
        x = np.clip((t - self._stop) / STOPS_IN, 0.0, 1.0)
        rate, bend = 1 - 3 * x ** 2 + 2 * x ** 3, (-6 * x + 6 * x ** 2) / STOPS_IN
        own = min(t, self._stop) + STOPS_IN * (x - x ** 3 + x ** 4 / 2)
        value, speed, acceleration = self._motion.at(own)
        return Reference(value, speed * rate, acceleration * rate ** 2 + speed * bend)


def stopping(seed, calm=CALM):
    """Messages of a simulated robot that moves for 20 s, comes to rest in the last two, and then
    holds its pose for `calm` [s]."""
    simulated = SimulatedRobot(seed=seed, duration=MOVING + STOPS_IN + calm, truth_period=None)
    motion = MotionThatStops(simulated.motion, MOVING)
    simulated.motion = simulated._pilot._motion = motion
    return simulated


def test_reference_stops_smoothly():
    """Rate and acceleration of the stopping reference are derivatives of its value and end at zero.
    """
    motion = MotionThatStops(SimulatedRobot(seed=0, truth_period=None).motion, 1.0)
    h = 1e-5
    for t in (.5, 1.3, 2.4, 2.9):
        before, now, after = (motion.at(t + d) for d in (-h, 0, h))
        np.testing.assert_allclose(now.rate, (after.value - before.value) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(now.acceleration, (after.rate - before.rate) / (2 * h),
                                   atol=1e-5)
    assert not motion.at(5.0).rate.any() and np.array_equal(
        motion.at(5.0).value,
        motion.at(9.0).value)


@pytest.fixture(scope="module")
def setup():
    config = Config()
    robot = RobotModel.from_config(config)
    return config, robot


@pytest.fixture(scope="module")
def other():
    """Samples of another motion."""
    return clean_recording()[2]


def learnt(config, robot, seed):
    """(estimator after motion and calm of a simulated robot, its state at the end of the motion);
    prior wrong by a factor of 2."""
    estimator = Estimator(config, perturbed(prior_from_config(config, robot), 2, seed), robot)
    samples = samples_of(SignalFrontEnd(config, robot), map(decoded, stopping(seed)))
    moved = None
    for k, sample in enumerate(samples):
        if moved is None and sample.t - samples[0].t > MOVING + STOPS_IN:
            moved = estimator.parameter_set()
        estimator.add(sample)
        if k % EVERY == EVERY - 1:
            estimator.solve()
    return estimator, moved


def r2(config, robot, parameters, samples):
    """R^2 of each channel on low-passed rows of other samples."""
    return predicted_r2(Estimator(config, parameters, robot, learn=False), samples)


@pytest.mark.campaign
def test_calm_neither_moves_nor_spoils_what_was_measured(setup, other):
    """60 s of calm after 20 s of excitation: no measured parameter moves by more than its standard
    deviation, no measured interval becomes half as wide or half again as wide (rows of the last
    motion count after it), and on another motion no R^2 falls by more than .02."""
    config, robot = setup
    estimator, before = learnt(config, robot, seed=1)
    after = estimator.parameter_set()
    measured = np.array(before.known_from) == "measured"
    assert measured.sum() > 15
    deviation = np.sqrt(np.diag(before.covariance))
    moved = np.abs(after.values - before.values)[measured] / deviation[measured]
    assert moved.max() < 1.0, dict(zip(np.array(before.names)[measured], moved.round(2)))
    ratio = np.sqrt(np.diag(after.covariance))[measured] / deviation[measured]
    assert ratio.min() > .5 and ratio.max() < 1.5, dict(
        zip(np.array(before.names)[measured], ratio.round(2)))
    assert (r2(config, robot, before, other) - r2(config, robot, after, other)).max() < .02
