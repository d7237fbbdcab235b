"""Faults of sensors and logs, added to a stream of simulated messages to test the gates."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from . import combine
from .sensors import DVL_NOISE, EFFORT_NOISE, EFFORT_NOISE_SHARE, Message

MIN_OUTLIER, MAX_OUTLIER = 10.0, 60.0     # standard deviations
PWM_LOW, PWM_HIGH = 1100.0, 1900.0
IMU_TOPIC, DVL_TOPIC, DEPTH_TOPIC = "imu/data", "dvl/twist", "depth"
JOINT_TOPIC, COMMAND_TOPIC = "joint_states", "thruster_commands"


@dataclass(frozen=True)
class Faults:
    """What goes wrong, nothing by default; times [s] count from the first message.

    effort_share    of all joint efforts, off by 10 to 60 standard deviations of the sensor
    dvl_share       of all DVL messages, off likewise on one axis or all
    command_share   of all thruster commands, in which one thruster's is anywhere in its range
    bursts          begins of `burst_length` [s] of DVL noise, of deviation `burst_speed` [m/s]
    dropouts        (topic, begin, end): nothing is received
    frozen          (topic, begin, end): the same reading again and again, with new stamps
    jump            (begin, step [s]) of the sensors' clock; times of reception do not jump
    effort_scale    of all joint efforts
    dvl_scale       of the DVL's velocity
    imu_turn        roll, pitch or yaw [rad] of the IMU's mount, one after the other (x, y, z)
    swapped         two thrusters whose commands are exchanged in the log
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
    effort_scale: float = 1.0
    dvl_scale: float = 1.0
    imu_turn: tuple = ()
    swapped: tuple = ()


# Choices of `simulate --faults`.
FAULT_KINDS = {
    "outliers": Faults(effort_share=0.05, dvl_share=0.05),
    "bursts": Faults(bursts=(20.0, 45.0, 70.0, 95.0)),
    "spikes": Faults(command_share=0.01),
    "dropouts": Faults(dropouts=(
        (DVL_TOPIC, 30.0, 33.0), (JOINT_TOPIC, 50.0, 50.5), (COMMAND_TOPIC, 75.0, 76.0),
        (IMU_TOPIC, 85.0, 85.2))),
    "frozen": Faults(frozen=(
        (DVL_TOPIC, 25.0, 28.0), (JOINT_TOPIC, 40.0, 42.0), (IMU_TOPIC, 60.0, 61.0),
        (DEPTH_TOPIC, 80.0, 95.0))),
    "clock-jump": Faults(jump=(65.0, 100.0)),
    "effort-scale": Faults(effort_scale=2.0),
    "dvl-scale": Faults(dvl_scale=1.3),
    "imu-turned": Faults(imu_turn=(0.0, np.radians(10.0), 0.0)),
    "thruster-order": Faults(swapped=(1, 2)),
}
ACCEPTANCE = ("outliers", "bursts", "spikes")     # that an estimate must tolerate without loss


def combined(kinds: Iterable[str]) -> Faults:
    """The faults of several kinds together; a name that is not in FAULT_KINDS raises KeyError."""
    return combine.combined(kinds, FAULT_KINDS, Faults())


def with_faults(messages: Iterable[Message], faults: Faults, seed: int = 0) -> Iterator[Message]:
    """The messages with faults added; the same seed gives the same faults."""
    rng = np.random.default_rng(seed)
    begin: int | None = None
    frozen: dict[str, dict] = {}
    for message in messages:
        begin = message.receive_time if begin is None else begin
        t = (message.receive_time - begin) * 1e-9
        if _inside(faults.dropouts, message.topic, t):
            continue
        payload = _miscalibrated(message.topic, _corrupt_payload(message, t, faults, rng), faults)
        if _inside(faults.frozen, message.topic, t):
            payload = frozen.setdefault(message.topic, payload)
        else:
            frozen.pop(message.topic, None)
        step = round(faults.jump[1] * 1e9) if faults.jump and t >= faults.jump[0] else 0
        yield message._replace(payload=payload, stamp=message.stamp + step)


def _inside(spans: Iterable[tuple[str, float, float]], topic: str, t: float) -> bool:
    return any(name == topic and begin <= t < end for name, begin, end in spans)


def _corrupt_payload(message: Message, t: float, faults: Faults,
                     rng: np.random.Generator) -> dict:
    """The message's payload, or a copy with wrong values."""
    payload = message.payload
    if message.topic == JOINT_TOPIC and faults.effort_share:
        effort, _ = corrupt_efforts(payload["effort"], faults, rng)
        return {**payload, "effort": tuple(effort.tolist())}
    if message.topic == DVL_TOPIC:
        velocity, _ = corrupt_velocity(payload["linear"], t, faults, rng)
        return {**payload, "linear": tuple(velocity.tolist())}
    if message.topic == COMMAND_TOPIC:
        commands, _ = corrupt_commands(payload["data"], faults, rng)
        return {**payload, "data": tuple(commands.tolist())}
    return payload


def _miscalibrated(topic: str, payload: dict, faults: Faults) -> dict:
    """The payload of a sensor with a wrong scale, mount or order."""
    if topic == JOINT_TOPIC and faults.effort_scale != 1.0:
        return {**payload, "effort": tuple(faults.effort_scale * e for e in payload["effort"])}
    if topic == DVL_TOPIC and faults.dvl_scale != 1.0:
        return {**payload, "linear": tuple(faults.dvl_scale * v for v in payload["linear"])}
    if topic == COMMAND_TOPIC and faults.swapped:
        data, (a, b) = list(payload["data"]), faults.swapped
        data[a], data[b] = data[b], data[a]
        return {**payload, "data": tuple(data)}
    if topic == IMU_TOPIC and faults.imu_turn:
        return {**payload, **turned_imu(payload, pin.rpy.rpyToMatrix(*faults.imu_turn))}
    return payload


def turned_imu(payload: dict, mount: np.ndarray) -> dict:
    """What an IMU mounted with the rotation `mount` (3, 3), sensor to body, says instead."""
    attitude = pin.Quaternion(np.array(payload["orientation"])).matrix() @ mount
    vectors = {name: tuple((mount.T @ np.array(payload[name])).tolist())
               for name in ("angular_velocity", "linear_acceleration")}
    return {"orientation": tuple(pin.Quaternion(attitude).coeffs().tolist()), **vectors}


def corrupt_efforts(effort: Sequence[float], faults: Faults,
                    rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(efforts (n,), places of those that are wrong)."""
    true = np.array(effort, float)
    wrong = rng.random(true.size) < faults.effort_share
    stddev = EFFORT_NOISE + EFFORT_NOISE_SHARE * np.abs(true)
    return true + wrong * _outliers(rng, true.size) * stddev, np.flatnonzero(wrong)


def corrupt_velocity(velocity: Sequence[float], t: float, faults: Faults,
                     rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(DVL velocity (3,), places of what is wrong in it), t [s] after the first message."""
    error = np.zeros(3)
    if any(start <= t < start + faults.burst_length for start in faults.bursts):
        error = faults.burst_speed * rng.standard_normal(3)
    elif rng.random() < faults.dvl_share:
        axes = np.ones(3) if rng.random() < 0.5 else np.eye(3)[rng.integers(3)]
        error = axes * _outliers(rng, 3) * DVL_NOISE
    return np.array(velocity, float) + error, np.flatnonzero(error)


def corrupt_commands(commands: Sequence[float], faults: Faults,
                     rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(thruster commands in PWM [us], places of those that are wrong)."""
    pwm, wrong = np.array(commands, float), np.zeros(0, int)
    if rng.random() < faults.command_share:
        wrong = np.array([rng.integers(pwm.size)])
        pwm[wrong] = rng.uniform(PWM_LOW, PWM_HIGH)
    return pwm, wrong


def _outliers(rng: np.random.Generator, size: int) -> np.ndarray:
    """(size,) numbers of either sign between MIN_OUTLIER and MAX_OUTLIER."""
    return rng.choice([-1.0, 1.0], size) * rng.uniform(MIN_OUTLIER, MAX_OUTLIER, size)
