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

"""The digital twin: how far it looks ahead, how it takes commands, how well it knows its start."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting


@dataclass(frozen=True)
class Twin(Section):
    """Digital twin: the motion of the next seconds, with bands (node uvms_twin)."""

    NAME = "twin"
    horizon: float = setting(5.0, "How far it looks ahead.", "s", 0.5, 30.0)
    rate: float = setting(1.0, "Forecasts per second; one takes about 0.05 s of processor time for "
                               "each second ahead.", "Hz", 0.01, 10.0)
    arm: str = setting(
        "positions", "What the joints follow: 'positions' (servos hold the planned or present "
                     "ones, and the arm's motion is given) or 'efforts' (given or held).",
        choices=("positions", "efforts"))
    estimator_node: str = setting(
        "uvms_estimator", "Name of the estimator node, whose trusted parameters are used.")
    frame: str = setting(
        "twin_start", "frame_id of predicted poses: axes east, north, up (with output.frame 'frd' "
                      "north, east, down), origin where the body is at the forecast's stamp.")
    memory: float = setting(
        120.0, "Time over which it watches what the model leaves unexplained.", "s", 10.0, 3600.0)
    attitude_stddev: float = setting(
        0.0035, "Noise of the start's attitude (an attitude sensor's 0.2 deg).", "rad", 0.0, 1.0)
    rate_stddev: float = setting(
        0.003, "Noise of the start's angular rates (a MEMS gyro's with its bias).", "rad/s", 0.0,
        1.0)
    velocity_stddev: float = setting(
        0.004, "Noise of the start's velocity: what a DVL of 1 cm/s at 10 Hz leaves beside an IMU "
               "(of simulated robots 0.0037 to 0.004 on each axis).", "m/s", 0.0, 1.0)
