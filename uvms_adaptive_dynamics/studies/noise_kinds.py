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

"""A simulated recording under several kinds of sensor noise, and the rows that injected errors
cannot affect."""
from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..config import Config
from ..evaluation.bags import read_messages
from ..model.kernel import KERNEL_REACH
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..signals.front_end import SignalFrontEnd
from ..signals.samples import samples_of
from ..signals.topics import inputs
from ..simulation.coloured import with_coloured_noise
from ..simulation.faults.outliers import corrupt_commands, corrupt_efforts, corrupt_velocity
from ..simulation.robot import COMMAND_PERIOD
from ..simulation.sensors import DVL_RATE
from ..simulation.true_robot import TrueRobot

# Single heavy outliers only: bursts of DVL garbage have their own test.
EFFORT_OUTLIER_SHARE, DVL_OUTLIER_SHARE, COMMAND_OUTLIER_SHARE = 0.05, 0.05, 0.01
NOISE_KINDS = ("gaussian", "coloured", "outliers")

# Reach [s] of a spoiled message before the rows' low-pass: to the next message on either side, and
# through this many time constants of the rotors' lag.
DVL_MESSAGE_PERIOD, EFFORT_MESSAGE_PERIOD = 1 / DVL_RATE, 0.02
ROTOR_TIME_CONSTANTS = 4.0


class Hit(NamedTuple):
    """A spoiled message: its role, its time [s] (the timestamp, or the receive time without one)
    and the indices of its spoiled values."""

    role: str
    t: float
    values: np.ndarray


class Recorded(NamedTuple):
    """Samples of a recording on the grid, and the messages spoiled on purpose."""

    samples: Sequence[Sample]
    hits: Sequence[Hit]


def recorded(bag: Path, kind: str, config: Config, robot: RobotModel, seed: int) -> Recorded:
    """The bag's samples with a kind of noise: 'gaussian' is the simulator's own, the other kinds
    are added to it."""
    hits: list[Hit] = []
    messages = read_messages(bag, inputs(config))
    if kind == "coloured":
        messages = with_coloured_noise(messages, seed=seed)
    elif kind == "outliers":
        messages = with_outliers(messages, seed, hits)
    return Recorded(samples_of(SignalFrontEnd(config, robot), messages), hits)


def with_outliers(messages: Iterable[tuple[str, Any, float]], seed: int,
                  hits: list[Hit]) -> Iterator[tuple[str, Any, float]]:
    """Decoded messages `(role, message, receive time [s])` with single wrong values; changed ones
    are copies, and appended to `hits`."""
    rng = np.random.default_rng(seed)
    for role, message, t in messages:
        wrong = np.zeros(0, int)
        if role == "joint_states":
            efforts, wrong = corrupt_efforts(message.effort, EFFORT_OUTLIER_SHARE, rng)
            if len(wrong):
                message = copy.copy(message)
                message.effort = efforts
        elif role == "dvl":
            said = message.twist.twist.linear
            velocity, wrong = corrupt_velocity((said.x, said.y, said.z), DVL_OUTLIER_SHARE, rng)
            if len(wrong):
                message = copy.deepcopy(message)
                linear = message.twist.twist.linear
                linear.x, linear.y, linear.z = velocity.tolist()
        elif role == "thrusters":
            data, wrong = corrupt_commands(message.data, COMMAND_OUTLIER_SHARE, rng)
            if len(wrong):
                message = copy.copy(message)
                message.data = data
        if len(wrong):
            hits.append(Hit(role, t if role == "thrusters" else _stamp(message), wrong))
        yield role, message, t


def _stamp(message: Any) -> float:
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def nominal(t: np.ndarray, hits: Sequence[Hit], config: Config, robot: RobotModel) -> np.ndarray:
    """(T, C) bool: no spoiled message affects the row at t (T,) [s], not even through filters.

    A joint's row is affected by its own efforts, the vehicle's rows by DVL and commands.
    """
    clean = np.ones((t.size, robot.table.channels), bool)
    lowpass = KERNEL_REACH * config.filter.lowpass
    vehicle = robot.vehicle_rows
    lag = ROTOR_TIME_CONSTANTS * config.thrusters.time_constant
    for role, before, after in (("dvl", lowpass + config.filter.dvl_window + DVL_MESSAGE_PERIOD,
                                 lowpass + config.filter.dvl_window + DVL_MESSAGE_PERIOD),
                                ("thrusters", lowpass + COMMAND_PERIOD,
                                 lowpass + COMMAND_PERIOD + lag)):
        clean[:, vehicle] &= ~_near(t, [hit.t for hit in hits if hit.role == role], before,
                                    after)[:, None]
    for k, joint in enumerate(robot.joints):
        of_joint = [
            hit.t
            for hit in hits
            if hit.role == "joint_states" and TrueRobot().joints.index(joint) in hit.values
        ]
        reach = lowpass + EFFORT_MESSAGE_PERIOD
        clean[:, vehicle.stop + k] &= ~_near(t, of_joint, reach, reach)
    return clean


def _near(t: np.ndarray, events: Sequence[float], before: float, after: float) -> np.ndarray:
    """(T,) bool: an event lies between t - `after` and t + `before` [s]."""
    times = np.sort(np.asarray(events, float))
    return np.searchsorted(times, t + before, "right") > np.searchsorted(times, t - after, "left")
