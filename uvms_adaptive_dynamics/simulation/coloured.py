"""Coloured sensor noise, put into a stream of decoded messages: what neighbouring rows then share, a count of rows must not hide."""
from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Iterable, Iterator

import numpy as np

from .sensors import ACCELEROMETER_NOISE, DVL_NOISE, EFFORT_NOISE, EFFORT_NOISE_SHARE, GYRO_NOISE


@dataclass(frozen=True)
class Colour:
    """First-order Gauss-Markov noise beside the sensors' own white one.

    time   [s] over which it is correlated: longer than the low-pass on the rows, which leaves it as it is
    share  its standard deviation relative to that of the sensor's white noise
    """

    time: float = 0.5
    share: float = 1.0


def with_coloured_noise(messages: Iterable[tuple[str, Any, float]], colour: Colour = Colour(),
                        seed: int = 0) -> Iterator[tuple[str, Any, float]]:
    """The messages `(role, message, receive time [s])` with coloured noise on DVL, gyroscope, accelerometer and joint efforts.

    Changed messages are copies; the same seed gives the same noise.
    """
    rng = np.random.default_rng(seed)
    states: dict[str, tuple[float, np.ndarray]] = {}

    def drawn(name: str, t: float, size: int) -> np.ndarray:
        """(size,) the process of unit deviation of this name at t [s]."""
        fresh = rng.standard_normal(size)
        if name in states:
            before, value = states[name]
            kept = np.exp(-max(t - before, 0.0) / colour.time)
            fresh = kept * value + np.sqrt(1 - kept ** 2) * fresh
        states[name] = t, fresh
        return colour.share * fresh

    for role, message, t in messages:
        if role == "joint_states":
            message = copy.copy(message)
            effort = np.array(message.effort, float)
            message.effort = effort + drawn(role, t, effort.size) * (EFFORT_NOISE + EFFORT_NOISE_SHARE * np.abs(effort))
        elif role == "dvl":
            message = copy.deepcopy(message)
            _move(message.twist.twist.linear, DVL_NOISE * drawn(role, t, 3))
        elif role == "imu":
            message = copy.deepcopy(message)
            _move(message.angular_velocity, GYRO_NOISE * drawn("gyroscope", t, 3))
            _move(message.linear_acceleration, ACCELEROMETER_NOISE * drawn("accelerometer", t, 3))
        yield role, message, t


def _move(vector: Any, by: np.ndarray) -> None:
    vector.x, vector.y, vector.z = (float(old + change) for old, change in zip((vector.x, vector.y, vector.z), by))
