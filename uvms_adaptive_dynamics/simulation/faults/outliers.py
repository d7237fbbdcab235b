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

"""Single outliers in efforts, DVL velocities and thruster commands, and their indices."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..sensors import DVL_NOISE, EFFORT_NOISE, EFFORT_NOISE_SHARE
from .values import ValueChange

MIN_OUTLIER, MAX_OUTLIER = 10.0, 60.0     # standard deviations
PWM_LOW, PWM_HIGH = 1100.0, 1900.0        # [us]


def corrupt_efforts(effort: Sequence[float] | np.ndarray, share: float,
                    rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(efforts (n,), indices of outliers): a `share` of all is off by 10 to 60 standard deviations
    of the sensor."""
    true = np.array(effort, float)
    wrong = rng.random(true.size) < share
    stddev = EFFORT_NOISE + EFFORT_NOISE_SHARE * np.abs(true)
    return true + wrong * _outliers(rng, true.size) * stddev, np.flatnonzero(wrong)


def corrupt_velocity(velocity: Sequence[float] | np.ndarray, share: float,
                     rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(DVL velocity (3,), indices of outliers): a `share` of all messages is off by 10 to 60
    standard deviations, on one axis or all."""
    error = np.zeros(3)
    if rng.random() < share:
        axes = np.ones(3) if rng.random() < 0.5 else np.eye(3)[rng.integers(3)]
        error = axes * _outliers(rng, 3) * DVL_NOISE
    return np.array(velocity, float) + error, np.flatnonzero(error)


def corrupt_commands(commands: Sequence[float] | np.ndarray, share: float,
                     rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(thruster commands in PWM [us], indices of outliers): in a `share` of all messages one
    thruster's command is anywhere in its range."""
    pwm, wrong = np.array(commands, float), np.zeros(0, int)
    if rng.random() < share:
        wrong = np.array([rng.integers(pwm.size)])
        pwm[wrong] = rng.uniform(PWM_LOW, PWM_HIGH)
    return pwm, wrong


def effort_outliers(share: float) -> ValueChange:
    """`corrupt_efforts` as a change of a field."""
    return lambda values, rng: corrupt_efforts(values, share, rng)[0]


def velocity_outliers(share: float) -> ValueChange:
    """`corrupt_velocity` as a change of a field."""
    return lambda values, rng: corrupt_velocity(values, share, rng)[0]


def command_spikes(share: float) -> ValueChange:
    """`corrupt_commands` as a change of a field."""
    return lambda values, rng: corrupt_commands(values, share, rng)[0]


def noise(stddev: float) -> ValueChange:
    """Added white noise."""
    return lambda values, rng: values + stddev * rng.standard_normal(values.size)


def _outliers(rng: np.random.Generator, size: int) -> np.ndarray:
    """(size,) numbers of random sign with magnitudes from MIN_OUTLIER to MAX_OUTLIER."""
    return rng.choice([-1.0, 1.0], size) * rng.uniform(MIN_OUTLIER, MAX_OUTLIER, size)
