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

"""Plot of the variants' errors over time, with the payload's span."""
from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from ...evaluation.canvas import (
    FINAL_COLOUR,
    MASKED_COLOUR,
    MEASURED_COLOUR,
    MODEL_COLOUR,
    PRIOR_COLOUR,
    STYLE,
    panels,
)
from .loop import CONTROL_PERIOD, TrackingErrors
from .runs import ERRORS, VARIANTS, RunTimes
from .table import SCALE

COLOURS = {"pid": MEASURED_COLOUR, "prior": PRIOR_COLOUR, "adapted": MODEL_COLOUR,
           "true": FINAL_COLOUR}
SMOOTHED = 1.0      # [s] averaging of the errors, so that lines are distinguishable


def picture(tracks: dict[str, TrackingErrors], schedule: RunTimes) -> Figure:
    """One logarithmic axis for each kind of error."""
    with matplotlib.rc_context(STYLE):
        figure, axes = panels(len(ERRORS), 1, 1.9)
        for ax, (kind, unit) in zip(axes, ERRORS.items()):
            ax.axvspan(schedule.picked_up, schedule.dropped, color=MASKED_COLOUR)
            ax.axvspan(0.0, schedule.transient, color="#f7f7f7")
            for name, track in tracks.items():
                width = max(1, round(SMOOTHED / CONTROL_PERIOD))
                square = np.convolve(track.norms()[kind] ** 2, np.full(width, 1 / width), "same")
                ax.plot(track.t, SCALE[unit] * np.sqrt(square), color=COLOURS[name],
                        label=VARIANTS[name])
            ax.set_yscale("log")
            ax.set_ylabel(f"{kind} error [{unit}]")
        axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(tracks),
                       borderaxespad=0.2)
        figure.supxlabel("time [s]; shaded: start transient, and payload in the gripper")
    return figure
