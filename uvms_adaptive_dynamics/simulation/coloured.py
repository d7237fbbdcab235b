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

"""Adds coloured noise to the sensors of a message stream, which correlates neighbouring rows."""
from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .sensors import ACCELEROMETER_NOISE, DVL_NOISE, EFFORT_NOISE, EFFORT_NOISE_SHARE, GYRO_NOISE


@dataclass(frozen=True)
class Colour:
    """First-order Gauss-Markov noise, added to the sensors' own white noise.

    time   [s] correlation time, longer than the low-pass on the rows, which hardly attenuates it
    share  its standard deviation relative to the sensor's white noise
    """

    time: float = 0.5
    share: float = 1.0


DEFAULT_COLOUR = Colour()


def with_coloured_noise(messages: Iterable[tuple[str, Any, float]],
                        colour: Colour = DEFAULT_COLOUR,
                        seed: int = 0) -> Iterator[tuple[str, Any, float]]:
    """The messages `(role, message, receive time [s])` with coloured noise added.

    Affects DVL, gyroscope, accelerometer and joint efforts. Changed messages are copies; the same
    seed gives the same noise.
    """
    rng = np.random.default_rng(seed)
    states: dict[str, tuple[float, np.ndarray]] = {}

    def noise(name: str, t: float, size: int) -> np.ndarray:
        """(size,) value of the named process at t [s], with standard deviation `colour.share`."""
        fresh = rng.standard_normal(size)
        if name in states:
            before, value = states[name]
            correlation = np.exp(-max(t - before, 0.0) / colour.time)
            fresh = correlation * value + np.sqrt(1 - correlation ** 2) * fresh
        states[name] = t, fresh
        return colour.share * fresh

    for role, message, t in messages:
        if role == "joint_states":
            message = copy.copy(message)
            effort = np.array(message.effort, float)
            stddev = EFFORT_NOISE + EFFORT_NOISE_SHARE * np.abs(effort)
            message.effort = effort + noise(role, t, effort.size) * stddev
        elif role == "dvl":
            message = copy.deepcopy(message)
            _add(message.twist.twist.linear, DVL_NOISE * noise(role, t, 3))
        elif role == "imu":
            message = copy.deepcopy(message)
            _add(message.angular_velocity, GYRO_NOISE * noise("gyroscope", t, 3))
            _add(message.linear_acceleration,
                 ACCELEROMETER_NOISE * noise("accelerometer", t, 3))
        yield role, message, t


def _add(vector: Any, change: np.ndarray) -> None:
    """Add (3,) to a Vector3 message in place."""
    before = vector.x, vector.y, vector.z
    vector.x, vector.y, vector.z = (float(a + b) for a, b in zip(before, change))
