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

"""Plot of a motion: coordinates over time with their limits, actuators, and the box."""
from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...control.desired_motion import desired_motion
from ...control.excitation.limits import MotionLimits
from ...control.excitation.rows import regressors
from ...control.excitation.trajectory import Trajectory
from ...evaluation.canvas import (
    FINAL_COLOUR,
    MASKED_COLOUR,
    MEASURED_COLOUR,
    MODEL_COLOUR,
    STYLE,
    panels,
)
from ...model.robot import RobotModel
from .dry_run import DryRun

PICTURE_RATE = 20   # per second


def picture(trajectory: Trajectory, robot: RobotModel, limits: MotionLimits, pi: np.ndarray,
            run: DryRun | None = None) -> Figure:
    """One axis for each coordinate, one for the actuators, one for the box seen from above."""
    t = np.arange(0.0, trajectory.duration, 1 / PICTURE_RATE)
    coordinates = np.array(trajectory.coordinates_at(t))
    names = trajectory.coordinates if robot.vehicle else trajectory.joints
    offset = len(trajectory.coordinates) - len(names)
    with matplotlib.rc_context(STYLE):
        figure, axes = panels(len(names) + 2, 3, 1.7)
        for k, (ax, name) in enumerate(zip(axes, names), start=offset):
            for end in (limits.low[k], limits.high[k]):
                if np.isfinite(end):
                    ax.axhline(end, color=MEASURED_COLOUR, linestyle="--")
            if run is not None:
                ax.plot(run.t, run.true[:, k], color=FINAL_COLOUR, label="simulated robot")
            ax.plot(t, coordinates[0][:, k], color=MODEL_COLOUR, label="wanted")
            ax.set_ylabel(f"{name} [{'m' if k < 3 else 'rad'}]")
        axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
        _actuators(axes[-2], t, coordinates, robot, limits, pi)
        _box(axes[-1], coordinates[0], limits, run)
        figure.supxlabel("time [s]; dashed: limits")
    return figure


def _actuators(ax: Axes, t: np.ndarray, coordinates: np.ndarray, robot: RobotModel,
               limits: MotionLimits, pi: np.ndarray) -> None:
    Y, known = regressors(robot, desired_motion(*coordinates))
    uses = limits.effort_uses(Y @ pi + known)
    for k, name in enumerate(limits.effort_names):
        thruster = name.startswith("thruster")
        ax.plot(t, 100 * uses[:, k], color=MODEL_COLOUR if thruster else FINAL_COLOUR)
    ax.set_ylim(0.0, 100.0)
    ax.set_ylabel("of limits [%]")
    ax.set_title("thrusters blue, joints green")


def _box(ax: Axes, value: np.ndarray, limits: MotionLimits, run: DryRun | None) -> None:
    low, high = limits.low, limits.high
    ax.fill([low[1], high[1], high[1], low[1]], [low[0], low[0], high[0], high[0]],
            color=MASKED_COLOUR)
    if run is not None:
        ax.plot(run.true[:, 1], run.true[:, 0], color=FINAL_COLOUR)
    ax.plot(value[:, 1], value[:, 0], color=MODEL_COLOUR)
    ax.set_aspect("equal")
    ax.set_xlabel("right [m]")
    ax.set_ylabel("forward [m]")
