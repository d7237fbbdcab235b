"""Faults of sensors and logs, put into the stream of simulated messages: what the front end's gates are tried with."""
from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Iterable, Iterator, Sequence

import numpy as np

from .sensors import DVL_NOISE, EFFORT_NOISE, EFFORT_NOISE_SHARE, Message

LEAST, MOST = 10.0, 60.0     # standard deviations of an outlier
PWM_LOW, PWM_HIGH = 1100.0, 1900.0
IMU, DVL, DEPTH, JOINTS, COMMANDS = "imu/data", "dvl/twist", "depth", "joint_states", "thruster_commands"


@dataclass(frozen=True)
class Faults:
    """How much goes wrong, nothing by default; times [s] count from the first message.

    effort_share    of all joint efforts, off by 10 to 60 standard deviations of the simulated sensor
    dvl_share       of all DVL messages, off likewise on one axis or all
    command_share   of all thruster commands, in which one thruster's is anywhere in its range
    bursts          begins of seconds of DVL garbage, with a standard deviation of `burst_speed` [m/s]
    dropouts        (topic, begin, end): nothing is received
    frozen          (topic, begin, end): the same reading again and again, with new stamps
    jump            (begin, by [s]) of the sensors' clock: their stamps jump, reception does not
    """

    effort_share: float = 0.0
    dvl_share: float = 0.0
    command_share: float = 0.0
    bursts: tuple = ()
    burst_length: float = 1.0
    burst_speed: float = 0.7
    dropouts: tuple = ()
    frozen: tuple = ()
    jump: tuple = ()


# What `simulate --faults` knows, by name.
KINDS = {
    "outliers": Faults(effort_share=0.05, dvl_share=0.05),
    "bursts": Faults(bursts=(20.0, 45.0, 70.0, 95.0)),
    "spikes": Faults(command_share=0.01),
    "dropouts": Faults(dropouts=((DVL, 30.0, 33.0), (JOINTS, 50.0, 50.5), (COMMANDS, 75.0, 76.0), (IMU, 85.0, 85.2))),
    "frozen": Faults(frozen=((DVL, 25.0, 28.0), (JOINTS, 40.0, 42.0), (IMU, 60.0, 61.0), (DEPTH, 80.0, 95.0))),
    "clock-jump": Faults(jump=(65.0, 100.0)),
}
ACCEPTANCE = ("outliers", "bursts", "spikes")     # what an estimate must stand without loss


def combined(kinds: Iterable[str]) -> Faults:
    """The faults of several kinds together; a name that is not in KINDS raises KeyError."""
    found, untouched = Faults(), Faults()
    for kind in kinds:
        chosen = KINDS[kind]
        found = replace(found, **{f.name: getattr(chosen, f.name) for f in fields(Faults) if getattr(chosen, f.name) != getattr(untouched, f.name)})
    return found


def with_faults(messages: Iterable[Message], faults: Faults, seed: int = 0) -> Iterator[Message]:
    """The messages with faults put in; the same seed gives the same faults."""
    rng = np.random.default_rng(seed)
    begin, kept = None, {}
    for message in messages:
        begin = message.receive_time if begin is None else begin
        t = (message.receive_time - begin) * 1e-9
        inside = lambda spans: any(topic == message.topic and a <= t < b for topic, a, b in spans)
        if inside(faults.dropouts):
            continue
        payload = _spoiled(message, t, faults, rng)
        if inside(faults.frozen):
            payload = kept.setdefault(message.topic, payload)
        else:
            kept.pop(message.topic, None)
        by = round(faults.jump[1] * 1e9) if faults.jump and t >= faults.jump[0] else 0
        yield message._replace(payload=payload, stamp=message.stamp + by)


def _spoiled(message: Message, t: float, faults: Faults, rng: np.random.Generator) -> dict:
    """The message's payload, or a copy with wrong values."""
    payload = message.payload
    if message.topic == JOINTS and faults.effort_share:
        return {**payload, "effort": tuple(spoiled_efforts(payload["effort"], faults, rng)[0].tolist())}
    if message.topic == DVL:
        return {**payload, "linear": tuple(spoiled_velocity(payload["linear"], t, faults, rng)[0].tolist())}
    if message.topic == COMMANDS:
        return {**payload, "data": tuple(spoiled_commands(payload["data"], faults, rng)[0].tolist())}
    return payload


def spoiled_efforts(effort: Sequence[float], faults: Faults, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(efforts (n,), places of those that are wrong)."""
    effort = np.array(effort, float)
    hit = rng.random(effort.size) < faults.effort_share
    return effort + hit * _far(rng, effort.size) * (EFFORT_NOISE + EFFORT_NOISE_SHARE * np.abs(effort)), np.flatnonzero(hit)


def spoiled_velocity(velocity: Sequence[float], t: float, faults: Faults, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(DVL's velocity (3,), places of what is wrong in it), t [s] after the first message."""
    off = np.zeros(3)
    if any(start <= t < start + faults.burst_length for start in faults.bursts):
        off = faults.burst_speed * rng.standard_normal(3)
    elif rng.random() < faults.dvl_share:
        off = (np.ones(3) if rng.random() < 0.5 else np.eye(3)[rng.integers(3)]) * _far(rng, 3) * DVL_NOISE
    return np.array(velocity, float) + off, np.flatnonzero(off)


def spoiled_commands(data: Sequence[float], faults: Faults, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(thruster commands in PWM [us], places of what is wrong among them)."""
    data, hit = np.array(data, float), np.zeros(0, int)
    if rng.random() < faults.command_share:
        hit = np.array([rng.integers(data.size)])
        data[hit] = rng.uniform(PWM_LOW, PWM_HIGH)
    return data, hit


def _far(rng: np.random.Generator, size: int) -> np.ndarray:
    """(size,) numbers of either sign between LEAST and MOST."""
    return rng.choice([-1.0, 1.0], size) * rng.uniform(LEAST, MOST, size)
