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

"""Plot of forecasts with their bands over what happened."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from ...evaluation.canvas import LEGEND_ABOVE, MEASURED_COLOUR, MODEL_COLOUR, STYLE, panels
from ...model.dynamics import State
from ...model.normal import Z95
from ...model.robot import RobotModel
from ...model.sample import Sample
from .judge import Forecasts
from .reality import Reality

Value = Callable[[State, np.ndarray], float]
DRAWN_SECONDS = 45.0  # [s] length of the plot


def picture(judged: Forecasts, samples: Sequence[Sample], reality: Reality, robot: RobotModel,
            horizon: float) -> Figure:
    """One axis per quantity, with non-overlapping forecasts from the first one on."""
    t = np.array([sample.t for sample in samples[:len(reality.states)]])
    t = t - t[judged.begin[0]]
    shown = (t >= -1.0) & (t <= DRAWN_SECONDS)
    chosen, free = [], -np.inf
    for m, k in enumerate(judged.begin):
        if t[k] >= free and t[k] + horizon <= DRAWN_SECONDS and judged.forecasts[m] is not None:
            chosen.append(m)
            free = t[k] + horizon
    rows = _rows(robot)
    with matplotlib.rc_context(STYLE):
        figure, axes = panels(len(rows), 2, 1.5)
        for ax, (label, place, value) in zip(axes, rows):
            happened = np.unwrap([value(state, x) for state, x in zip(reality.states,
                                                                      reality.position)])
            ax.plot(t[shown], happened[shown], color=MEASURED_COLOUR, linewidth=2.2,
                    label="what happened")
            for m in chosen:
                _forecast(ax, judged, m, reality, t, place, value, happened)
            ax.set_ylabel(label)
        axes[0].legend(**LEGEND_ABOVE, ncols=2)
        figure.supxlabel("time [s]")
    return figure


def _forecast(ax, judged: Forecasts, m: int, reality: Reality, t: np.ndarray, place: int,
              value: Value, happened: np.ndarray) -> None:
    run, k = judged.forecasts[m], judged.begin[m]
    if run is None:
        return
    line = np.unwrap([value(state, x + reality.position[k])
                      for state, x in zip(run.states, run.position)])
    line = line + 2 * np.pi * np.round((happened[k] - line[0]) / (2 * np.pi))
    spread = Z95 * judged.stddev[m, :, place]
    ax.fill_between(t[k] + run.t, line - spread, line + spread, color=MODEL_COLOUR, alpha=0.25,
                    linewidth=0, label="95 % band" if m == 0 else None)
    ax.plot(t[k] + run.t, line, color=MODEL_COLOUR, label="forecast" if m == 0 else None)
    ax.plot(t[k], line[0], ".", color=MODEL_COLOUR, markersize=4)


def _rows(robot: RobotModel) -> list[tuple[str, int, Value]]:
    """(label, index in the error, function of a state and position)."""
    rows: list[tuple[str, int, Value]] = []
    first = 0
    if robot.vehicle:
        first = 12
        rows = [("north [m]", 0, lambda s, x: x[0]), ("east [m]", 1, lambda s, x: x[1]),
                ("down [m]", 2, lambda s, x: x[2]),
                ("yaw [rad]", 5, lambda s, x: np.arctan2(s.R_nb[1, 0], s.R_nb[0, 0])),
                ("surge u [m/s]", 6, lambda s, x: s.nu[0]),
                ("yaw rate r [rad/s]", 11, lambda s, x: s.nu[5])]
    for j in sorted({0, robot.table.n - 1} if robot.joints else ()):
        rows.append((f"{robot.joints[j]} [rad]", first + j, _joint(j)))
    return rows


def _joint(j: int) -> Value:
    return lambda state, position: float(state.mu[j])
