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

"""Measures mass and place of a payload on the simulated robot, ten seconds after detection.

`python docs/measure_payload.py [SEED ..]` (docs/payload.md) takes half a minute per seed and mass.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from rosbags.typesys import Stores, get_typestore

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.sample import Sample
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.simulation.bag import DEFAULT_START, received
from uvms_adaptive_dynamics.simulation.carrying import CarryingMotion
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot

MASSES = .38, .19
GRIP, END, AFTER = 45.0, 70.0, 10.0     # [s]
SOLVE_EVERY = 5                         # rows


class _Carrying(SimulatedRobot):
    """Simulated robot in a motion that its arm can follow with a payload."""

    def _begin(self) -> None:
        self.motion = self._pilot._motion = CarryingMotion(self.motion)
        super()._begin()


def samples(config: Config, robot: RobotModel, seed: int, mass: float) -> Iterator[Sample]:
    """Samples of a run in which `mass` [kg] is gripped at GRIP."""
    front, store = SignalFrontEnd(config, robot), get_typestore(Stores.ROS2_JAZZY)
    simulated = _Carrying(seed, END, start_ns=round(DEFAULT_START * 1e9), truth_period=None)
    for until, held in ((GRIP, 0.0), (END, mass)):
        if held:
            simulated.grip(held)
        for message in received(simulated.advance(until), store):
            front.add_message(message.role, message.message, message.t)
            yield from front.samples()


def measure(seed: int, mass: float) -> str:
    """A line of the table."""
    config, place = Config(), np.array(TrueRobot().payload_place)
    robot = RobotModel.from_config(config)
    estimator, first, noticed = Estimator(config, robot=robot), None, None
    for k, sample in enumerate(samples(config, robot, seed, mass)):
        first = sample.t if first is None else first
        if estimator.add(sample) is not None and k % SOLVE_EVERY == 0:
            estimator.solve()
        if estimator.payload.held and noticed is None:
            noticed = sample.t
        if noticed is not None and sample.t > noticed + AFTER:
            found = estimator.payload.payload()
            assert found is not None
            low, high = found.mass_interval
            return (f"{mass:g} kg, seed {seed}: noticed after {noticed - first - GRIP:.1f} s, mass "
                    f"{100 * (found.mass / mass - 1):+.1f} %, "
                    f"{'inside' if low <= mass <= high else 'OUTSIDE'} its interval, place off by "
                    f"{1e3 * np.linalg.norm(found.place - place):.1f} mm; {found.sentence()}")
    return f"{mass:g} kg, seed {seed}: not noticed"


if __name__ == "__main__":
    for seed in map(int, sys.argv[1:] or "1234"):
        for mass in MASSES:
            print(measure(seed, mass), flush=True)
