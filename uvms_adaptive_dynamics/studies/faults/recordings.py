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

"""The two recordings of the bench: one to inject faults into, one to test estimates on."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...config import Config
from ...errors import BagError
from ...evaluation.bags import check_bag, read_messages
from ...signals.topics import inputs
from ...simulation.faults.stream import Received
from ..paper.trials import LEARNT_SHARE
from ..simulated_runs import simulated

LEARNT_SEED, TESTED_SEED = 1, 11


class SceneTimes(NamedTuple):
    """Lengths [s] of the recording with the fault and of the held-out one; onset [s] of faults in
    the middle of the run."""

    learnt: float
    tested: float
    onset: float


# 15 s remain after the longest outage.
LONG_SCENE = SceneTimes(75.0, 40.0, 30.0)
# 5 s remain after the longest outage; by 7 s the estimate has left the prior.
SHORT_SCENE = SceneTimes(22.0, 12.0, 7.0)


class RecordedMessages(NamedTuple):
    """Messages to inject faults into, and messages to test on."""

    learnt: Sequence[Received]
    tested: Sequence[Received]


def simulated_recordings(folder: Path, config: Config, scene: SceneTimes) -> RecordedMessages:
    """Recordings of the simulated robot; existing bags in the folder are reused."""
    return RecordedMessages(_messages(simulated(folder, LEARNT_SEED, scene.learnt), config),
                            _messages(simulated(folder, TESTED_SEED, scene.tested), config))


def recordings_of(bag: Path, config: Config, scene: SceneTimes) -> RecordedMessages:
    """Split a recording into a first part to learn from and the rest to test on; raises BagError if
    it is too short for the scene."""
    check_bag(bag, inputs(config))
    messages = _messages(bag, config)
    length = (messages[-1].true_ns - messages[0].true_ns) * 1e-9 if messages else 0.0
    if LEARNT_SHARE * length < scene.learnt:
        raise BagError(f"bag '{bag}' is {length:.0f} s long, expected at least "
                       f"{scene.learnt / LEARNT_SHARE:.0f} s: faults go into the first "
                       f"{LEARNT_SHARE:.0%}, and the rest is for the test.")
    begin = messages[0].true_ns
    learnt, tested = begin + round(scene.learnt * 1e9), begin + round(LEARNT_SHARE * length * 1e9)
    return RecordedMessages([m for m in messages if m.true_ns < learnt],
                            [m for m in messages if m.true_ns >= tested])


def _messages(bag: Path, config: Config) -> list[Received]:
    found = []
    for role, message, t in read_messages(bag, inputs(config)):
        ns = round(t * 1e9)
        found.append(Received(role, message, ns, ns))
    return found
