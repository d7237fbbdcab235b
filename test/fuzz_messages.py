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

"""Corrupted message streams into the front end: nothing raises, and samples are finite.

A stream is ten seconds of the simulated robot in which single messages, and for a while all
messages of a role, are corrupted: fields scaled, frozen or not finite, clocks off, messages lost,
duplicated, late.
"""
import copy
import math
from types import SimpleNamespace

import numpy as np
from fuzz_cases import Hang, place, randomness, watched
from rosbags.typesys import Stores, get_typestore

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.topics import inputs
from uvms_adaptive_dynamics.simulation.bag import DEFAULT_START, ros_message
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot

SECONDS = 10.0
MOTIONS = 3      # number of simulated motions behind the streams
FIELDS = ("t", "R_nb", "nu", "nu_dot", "mu", "mu_dot", "mu_ddot", "wrench", "joint_torque",
          "down_covariance", "by_thruster", "velocity_stddev")
NUMBERS = (math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e-30, 1e6, -1e6, 1e100, 1e200, -1e308,
           1.7e308, 1.0, -1.0)
INTEGERS = (0, 1, -1, 2 ** 31 - 1, -2 ** 31, 2 ** 32 - 1)
OTHERS = (None, "x", "1.0", b"", [], [1.0], {}, 10 ** 400, 1j, np.nan, np.array([]), object())
STAMPS = ((0, 0), (0, 1), (-1, 0), (2 ** 31 - 1, 999_999_999), (1, 2 ** 32 - 1), (-(2 ** 31), 0))
SHIFTS = (-3600.0, -30.0, -5.0, -0.9, -0.05, 0.05, 0.3, 0.9, 5.0, 3600.0, 1e6)
# Receive times of a bag cover the whole range of 64-bit nanoseconds.
RECEPTIONS = (0.0, -1.0, 1.0, 9.2e9, -9.2e9, 1e-9)
# The defaults, without gates, and an arm alone.
SETTINGS = ({}, {"filter.gates": False}, {"robot.vehicle": False})
# No middleware delivers values of wrong types; one stream in eight has them.
WRONG_TYPES = 8


class MessageFuzzer:
    """Streams by number."""

    def __init__(self, seed=0, motions=MOTIONS):
        self._seed = seed
        self._robots = [(config, RobotModel.from_config(config)) for config in (
            Config().with_values({"battery.enabled": True, **changes}) for changes in SETTINGS)]
        self.streams = [recorded(self._robots[0][0], k) for k in range(motions)]

    def run(self, number, tally):
        """Run one stream and add it to the tally; returns the number of its messages."""
        with np.errstate(all="ignore"):
            return self._run(number, self.stream(number), tally)

    def wrong_types(self, number):
        """Whether the stream has values of wrong types, which no middleware would deliver."""
        return number % WRONG_TYPES == 0

    def front_end(self, number):
        """A new front end with the stream's settings."""
        return SignalFrontEnd(*self._robots[number % len(self._robots)])

    def _run(self, number, messages, tally):
        front = self.front_end(number)
        messages = [item for item in messages if item[0] in front.inputs]
        kind = "wrong type" if self.wrong_types(number) else "message"
        done, named = 0, False
        try:
            for done, (role, message, received) in enumerate(messages, 1):
                if done % 50 == 0:      # setting the watchdog takes as long as processing a message
                    with watched():
                        samples = self._step(front, role, message, received)
                else:
                    samples = self._step(front, role, message, received)
                named = self._check(samples, tally, f"{number}/{done}", named)
            with watched():
                self._check(front.flush(), tally, f"{number}/end", named)
                front.status(messages[-1][2])
        except (Exception, Hang) as error:
            what = f"{kind}: {type(error).__name__} in {place(error)}: {error}"
            tally.fail(what[:120], f"{number}/{done} ({messages[done - 1][0]})")
        for what, counts in (
                ("received", [state.received for state in front.inputs.values()]),
                ("used", [state.used for state in front.inputs.values()]),
                ("refused", [sum(state.rejected.values()) for state in front.inputs.values()])):
            tally.outcomes[f"messages {what}"] += sum(counts)
        return done

    def _step(self, front, role, message, received):
        front.add_message(role, message, received)
        return front.samples()

    def _check(self, samples, tally, name, named):
        """Count samples, and report the first one of the stream that is not finite."""
        for sample in samples:
            tally.outcomes["samples"] += 1
            known = [f for f in FIELDS if getattr(sample, f) is not None]
            wrong = [f for f in known if not np.isfinite(getattr(sample, f)).all()]
            if wrong and not named:
                named = True
                tally.fail(f"sample not finite: {', '.join(wrong)}", name)
        return named

    def stream(self, number):
        """The messages of a stream: (role, message, time of reception)."""
        rng = randomness(self._seed, number)
        with np.errstate(all="ignore"):
            return self._stream(rng, number)

    def _stream(self, rng, number):
        messages = list(rng.choice(self.streams))
        for _ in range(rng.choice((0, 0, 1, 2))):
            messages = burst(rng, messages)
        share = rng.choice((0.0, 0.001, 0.01, 0.1, 0.5))
        wrong_types = self.wrong_types(number)
        found = []
        for role, message, received in messages:
            if rng.random() >= share:
                found.append((role, message, received))
                continue
            way = rng.randrange(10)
            if way < 6:
                found.append((role, spoilt(rng, message, wrong_types), received))
            elif way == 6:
                found += [(role, message, received)] * rng.choice((0, 2))
            elif way == 7:
                found.append((role, message, received + rng.choice(SHIFTS)))
            elif way == 8 and rng.random() < 0.1:
                found.append((role, message, rng.choice(RECEPTIONS)))
            else:
                found.insert(max(0, len(found) - rng.randrange(30)), (role, message, received))
        return found or messages


def recorded(config, seed):
    """A stream of plain objects, cheap to copy, with the messages of the simulated robot's
    sensors."""
    store, roles = get_typestore(Stores.ROS2_JAZZY), {i.topic: i.role for i in inputs(config)}
    robot = SimulatedRobot(seed, SECONDS, start_ns=round(DEFAULT_START * 1e9), truth_period=None)
    found = [(roles[m.topic], plain(ros_message(store, m)), m.receive_time * 1e-9) for m in robot]
    battery = [("battery", SimpleNamespace(voltage=15.0), DEFAULT_START + k) for k in range(10)]
    return sorted(found + battery, key=lambda item: item[2])


def plain(message):
    """The same fields without the message's class."""
    if not hasattr(message, "__dataclass_fields__"):
        return message
    return SimpleNamespace(**{name: plain(getattr(message, name))
                              for name in message.__dataclass_fields__ if name[0] != "_"})


def leaves(message):
    """(holder, field) of every field in a message that is not itself a message."""
    found, waiting = [], [message]
    for holder in waiting:
        for name, value in vars(holder).items():
            if isinstance(value, SimpleNamespace):
                waiting.append(value)
            else:
                found.append((holder, name))
    return found


def spoilt(rng, message, wrong_types=False):
    """A copy with one to three corrupted fields."""
    message = copy.deepcopy(message)
    for _ in range(rng.choice((1, 1, 3))):
        if hasattr(message, "header") and rng.random() < 0.2:
            stamp = message.header.stamp
            if rng.random() < 0.5:
                stamp.sec, stamp.nanosec = rng.choice(STAMPS)
            elif isinstance(stamp.sec, int):
                stamp.sec += round(rng.choice(SHIFTS))
            continue
        holder, name = rng.choice(leaves(message))
        setattr(holder, name, changed(rng, getattr(holder, name), wrong_types))
    return message


def changed(rng, value, wrong_types):
    """Another value in place of a number, an array or a list of names."""
    if wrong_types and rng.random() < 0.5:
        return rng.choice(OTHERS)
    if isinstance(value, np.ndarray):
        value = value.copy()
        way = rng.randrange(4)
        if way == 0 or not value.size:
            return np.resize(value, rng.choice((0, 1, value.size + 1, 1000)))
        value[slice(None) if way == 1 else rng.randrange(value.size)] = rng.choice(NUMBERS)
        return value
    if isinstance(value, list):
        value = value[:]
        rng.shuffle(value)
        return value[:rng.choice((0, len(value) - 1, len(value)))] + rng.choice(
            ([], [], ["x"], value[:1]))
    if isinstance(value, int):
        return rng.choice(INTEGERS)
    return rng.choice(NUMBERS) if isinstance(value, float) else value


def burst(rng, messages):
    """Corrupt one role's messages in the same way from some time on, for .05 to 10 s."""
    role = rng.choice(sorted({role for role, _, _ in messages}))
    begin = messages[0][2] + rng.uniform(0.0, SECONDS)
    end = begin + rng.choice((0.05, 0.6, 3.0, 10.0))
    way, number, shift = rng.randrange(5), rng.choice((*NUMBERS, 57.3, 3.0)), rng.choice(SHIFTS)
    pick, first, found = rng.random(), None, []
    for each, message, received in messages:
        if each == role and begin <= received < end:
            if way == 0:
                continue
            first = first or message
            message = copy.deepcopy(first if way == 1 else message)
            if way == 2 and hasattr(message, "header"):
                message.header.stamp.sec += round(shift)
            elif way > 2:
                places = [place for place in leaves(message) if place[1] not in ("sec", "nanosec")]
                holder, name = places[int(pick * len(places))]
                value = getattr(holder, name)
                if isinstance(value, (float, np.ndarray)):
                    setattr(holder, name, value * number if way == 3 else 0 * value + number)
        found.append((each, message, received))
    return found or messages
