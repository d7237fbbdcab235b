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

"""Plot measured efforts with the predictions of a fixed prior and of each adapted model, channel by
channel (paper, figure "compare_fixed")."""
from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from ...evaluation.canvas import (
    FINAL_COLOUR,
    LEGEND_ABOVE,
    MEASURED_COLOUR,
    MODEL_COLOUR,
    PRIOR_COLOUR,
    STYLE,
    panels,
)
from ...evaluation.scene import thinned
from ...model.robot import RobotModel
from .trials import CommonRows

MODEL_COLOURS = (MODEL_COLOUR, FINAL_COLOUR, "#8a5a9e", "#a33c3c", "#555555")


def overlays(rows: CommonRows, robot: RobotModel) -> Iterator[tuple[str, Figure]]:
    """(stem of a file name, figure) of the vehicle and of the arm, if present."""
    for stem, channels in (("vehicle", robot.vehicle_rows), ("arm", robot.arm_rows)):
        if channels.stop > channels.start and rows.t.size:
            with matplotlib.rc_context(STYLE):
                yield stem, overlay(rows, robot, range(channels.start, channels.stop))


def overlay(rows: CommonRows, robot: RobotModel, channels: range) -> Figure:
    """One axis per channel; rows that do not count are left out."""
    figure, axes = panels(len(channels), 1, 1.5)
    colours = dict(zip(rows.models, (PRIOR_COLOUR, *MODEL_COLOURS)))
    for ax, c in zip(axes, channels):
        counted = np.where(rows.valid[:, c], 1.0, np.nan)
        t, measured, *predicted = thinned(
            rows.t - rows.t[0], rows.measured[:, c] * counted,
            *(model[:, c] * counted for model, _ in rows.models.values()))
        ax.plot(t, measured, color=MEASURED_COLOUR, linewidth=2.0, label="measured")
        for (name, colour), values in zip(colours.items(), predicted):
            ax.plot(t, values, color=colour, linewidth=0.9, label=name)
        # Limits from the measured efforts: a model that is far off leaves the axis.
        finite = measured[np.isfinite(measured)]
        if finite.size:
            margin = 0.4 * float(np.ptp(finite)) or 1.0
            ax.set_ylim(finite.min() - margin, finite.max() + margin)
        ax.set_ylabel(f"{robot.channels[c]} [{robot.units[c]}]")
    axes[0].legend(**LEGEND_ABOVE, ncols=1 + len(rows.models))
    figure.supxlabel("time [s]")
    return figure
