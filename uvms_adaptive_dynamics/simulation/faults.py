"""Faults of sensors and logs, put into a stream of decoded messages: what the front end's gates are tried with."""
from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, NamedTuple

import numpy as np

from .sensors import DVL_NOISE, EFFORT_NOISE, EFFORT_NOISE_SHARE

LEAST, MOST = 10.0, 60.0     # standard deviations of an outlier
PWM_LOW, PWM_HIGH = 1100.0, 1900.0


@dataclass(frozen=True)
class Faults:
    """How much goes wrong: shares of values, and the begins [s from the first message] of bursts of DVL garbage.

    effort_share    of all joint efforts, off by 10 to 60 standard deviations of the simulated sensor
    dvl_share       of all DVL messages, off likewise on one axis or all
    command_share   of all thruster commands, in which one thruster's is anywhere in its range
    burst_starts, burst_length [s], burst_speed [m/s] standard deviation of the garbage
    """

    effort_share: float = 0.05
    dvl_share: float = 0.05
    command_share: float = 0.01
    burst_starts: tuple = (20.0, 45.0, 70.0, 95.0)
    burst_length: float = 1.0
    burst_speed: float = 0.7


class Hit(NamedTuple):
    """A spoiled message: its role, its time [s] (the stamp, or of receipt without one) and which of its values are spoiled."""

    role: str
    t: float
    values: np.ndarray


def with_faults(messages: Iterable[tuple[str, Any, float]], faults: Faults = Faults(),
                seed: int = 0, hits: list[Hit] | None = None) -> Iterator[tuple[str, Any, float]]:
    """The messages `(role, message, receive time [s])` with faults put in; the same seed gives the same faults.

    Spoiled messages are copies; commands are taken to be PWM [us]. What was spoiled is appended to `hits`: to tell
    afterwards which rows are nominal.
    """
    hits = [] if hits is None else hits
    rng = np.random.default_rng(seed)
    begin = None
    for role, message, t in messages:
        begin = t if begin is None else begin
        if role == "joint_states":
            effort = np.array(message.effort, float)
            hit = rng.random(effort.size) < faults.effort_share
            if hit.any():
                message = copy.copy(message)
                message.effort = effort + hit * _far(rng, effort.size) * (EFFORT_NOISE + EFFORT_NOISE_SHARE * np.abs(effort))
                hits.append(Hit(role, _stamp(message), np.flatnonzero(hit)))
        elif role == "dvl":
            if any(start <= t - begin < start + faults.burst_length for start in faults.burst_starts):
                message = _moved(message, faults.burst_speed * rng.standard_normal(3))
                hits.append(Hit(role, _stamp(message), np.arange(3)))
            elif rng.random() < faults.dvl_share:
                axes = np.ones(3) if rng.random() < 0.5 else np.eye(3)[rng.integers(3)]
                message = _moved(message, axes * _far(rng, 3) * DVL_NOISE)
                hits.append(Hit(role, _stamp(message), np.flatnonzero(axes)))
        elif role == "thrusters" and rng.random() < faults.command_share:
            message = copy.copy(message)
            data = np.array(message.data, float)
            spoiled = rng.integers(data.size)
            data[spoiled] = rng.uniform(PWM_LOW, PWM_HIGH)
            message.data = data
            hits.append(Hit(role, t, np.array([spoiled])))
        yield role, message, t


def _stamp(message: Any) -> float:
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def _far(rng: np.random.Generator, size: int) -> np.ndarray:
    """(size,) numbers of either sign between LEAST and MOST."""
    return rng.choice([-1.0, 1.0], size) * rng.uniform(LEAST, MOST, size)


def _moved(message: Any, by: np.ndarray) -> Any:
    """A copy of a TwistWithCovarianceStamped with another linear velocity."""
    message = copy.deepcopy(message)
    linear = message.twist.twist.linear
    linear.x, linear.y, linear.z = (float(old + change) for old, change in zip((linear.x, linear.y, linear.z), by))
    return message
