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

"""Tunes the PID's gains without feedforward.

The bandwidths rise until the loop begins to oscillate and its error grows again. The controller
uses Tyreus and Luyben's (1992) share of that: 1 / 2.2 of the ultimate gain for a PID (vehicle),
1 / 3.2 for a PI (joints, which friction damps).
"""
from __future__ import annotations

from collections.abc import Iterator

from ...config import Config
from ...control.motion_controller import gains_for
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from .loop import rms, run_loop
from .runs import ERRORS

TUNING_SEED = 0     # a motion that no other run uses
# [rad/s] translation, rotation, joints, varied together: they hardly affect each other.
TRIED = ((4.0, 4.0, 12.0), (6.0, 6.0, 18.0), (8.0, 8.0, 24.0), (10.0, 10.0, 30.0),
         (12.0, 12.0, 36.0), (14.0, 14.0, 42.0), (16.0, 16.0, 48.0), (18.0, 18.0, 54.0))
TUNING_LENGTH, TUNING_SETTLED = 30.0, 12.0  # [s] length of a run, and when errors start to count


def tuning(config: Config, model: RobotModel, nominal: ParameterSet
           ) -> Iterator[tuple[tuple[float, float, float], dict[str, float]]]:
    """(bandwidths [rad/s], RMS errors [m, rad] of PID alone) for each of TRIED."""
    for bandwidth in TRIED:
        gains = gains_for(nominal, model.joints, bandwidth)
        track = run_loop(config, model, TUNING_SEED, TUNING_LENGTH, gains, None)
        norms = track.norms()
        yield bandwidth, {kind: rms(norms[kind], track.t, (TUNING_SETTLED, TUNING_LENGTH))
                          for kind in ERRORS}


def tuning_table(found: list[tuple[tuple[float, float, float], dict[str, float]]]) -> str:
    """The scan as markdown."""
    lines = ["| bandwidth of translation, rotation, joints [rad/s] | position [mm] | "
             "attitude [mrad] | joints [mrad] |", "|---|---|---|---|"]
    lines += [f"| {', '.join(f'{w:g}' for w in bandwidth)} | "
              + " | ".join(f"{1e3 * errors[kind]:.2f}" for kind in ERRORS) + " |"
              for bandwidth, errors in found]
    return "\n".join(lines) + "\n"
