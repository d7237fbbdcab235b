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

"""Settings of the digital twin: forecast horizon, commands, uncertainty of the initial state."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting


@dataclass(frozen=True)
class Twin(Section):
    """Digital twin: forecast of the next seconds of motion, with bands (node uvms_twin)."""

    NAME = "twin"
    horizon: float = setting(5.0, "Length of a forecast.", "s", 0.5, 30.0)
    rate: float = setting(1.0, "Forecast rate; a forecast takes about 0.05 s of processor time per "
                               "second of horizon.", "Hz", 0.01, 10.0)
    arm: str = setting(
        "positions", "Arm commands in the forecast: 'positions' (servos follow the planned "
                     "positions or hold the present ones, so that the arm's motion is given) or "
                     "'efforts' (planned or held).",
        choices=("positions", "efforts"))
    estimator_node: str = setting(
        "uvms_estimator", "Name of the estimator node that provides the trusted parameters.")
    frame: str = setting(
        "twin_start", "frame_id of predicted poses. Axes: east, north, up (north, east, down with "
                      "output.frame 'frd'); origin: the body's position at the forecast's stamp.")
    memory: float = setting(
        120.0, "Time window over which the model's residuals are observed.", "s", 10.0, 3600.0)
    attitude_stddev: float = setting(
        0.0035, "Uncertainty of the initial attitude, one standard deviation (0.2 deg, as of an "
                "attitude sensor).", "rad", 0.0, 1.0)
    rate_stddev: float = setting(
        0.003, "Uncertainty of the initial angular rates, one standard deviation (MEMS gyro with "
               "bias).", "rad/s", 0.0,
        1.0)
    velocity_stddev: float = setting(
        0.004, "Uncertainty of the initial velocity, one standard deviation: a DVL with 1 cm/s at "
               "10 Hz fused with an IMU (0.0037 to 0.004 per axis on simulated robots).",
        "m/s", 0.0, 1.0)
