"""What all figures share: style, colours, grids of axes, and a run's rows on one axis of time."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .log import Rows, Trajectory
from .run_record import Run

MAX_POINTS = 3000
GAP = 0.5          # [s] a longer pause is drawn as a pause
BETWEEN_BAGS = 2.0  # [s] of axis between two bags
WIDTH = 11.0       # [inch]

INK, GRID = "#444444", "#e4e4e4"
MEASURED, MODEL, PRIOR, FINAL = "#a9a29a", "#2f6f9f", "#b9772f", "#4d8a63"
MASKED = "#f1ede4"
STYLE = {
    "font.size": 8.5, "figure.labelsize": 8.5, "figure.titlesize": 8.5, "axes.titlesize": 8.5,
    "axes.labelsize": 8.5, "legend.fontsize": 8.5, "xtick.labelsize": 8.5, "ytick.labelsize": 8.5,
    "axes.edgecolor": "#888888", "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK,
    "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": GRID, "grid.linewidth": 0.6, "axes.axisbelow": True, "lines.linewidth": 1.0,
    "legend.frameon": False, "axes.titlelocation": "left", "figure.constrained_layout.use": True,
    "axes.formatter.useoffset": False, "axes.formatter.limits": (-3, 4), "savefig.dpi": 110
}


@dataclass
class Scene:
    """A run's rows on one axis of elapsed time, bag after bag."""

    run: Run

    @cached_property
    def rows(self) -> Rows:
        return self.run.log.rows()

    @cached_property
    def trajectory(self) -> Trajectory:
        return self.run.log.trajectory()

    @cached_property
    def _shifts(self) -> np.ndarray:
        """What to take off the time of each bag's rows [s]."""
        shifts, end = np.zeros(len(self.run.bags)), 0.0
        for bag in np.unique(self.rows.bag):
            t = self.rows.t[self.rows.bag == bag]
            shifts[bag] = t[0] - end
            end += t[-1] - t[0] + BETWEEN_BAGS
        return shifts

    def elapsed(self, t: np.ndarray, bag: np.ndarray) -> np.ndarray:
        """Seconds since the first row."""
        return t - self._shifts[bag]

    @cached_property
    def t(self) -> np.ndarray:
        return self.elapsed(self.rows.t, self.rows.bag)

    @cached_property
    def groups(self) -> list[tuple[str, str, list[int]]]:
        """(file name, title, channels) of the vehicle and of the arm, where there are any."""
        vehicle, count = (6 if self.run.config.robot.vehicle else 0), len(self.run.robot.channels)
        found = [("vehicle", "forces and moments of the vehicle", list(range(vehicle))),
                 ("arm", "efforts of the joints", list(range(vehicle, count)))]
        return [group for group in found if group[2]]

    def label(self, c: int) -> str:
        return f"{self.run.robot.channels[c]} [{self.run.robot.units[c]}]"


def thinned(t: np.ndarray, *series: np.ndarray) -> list[np.ndarray]:
    """At most MAX_POINTS points of each, and a NaN where time pauses or runs back, so that lines
    break there."""
    step = max(1, -(-len(t) // MAX_POINTS))
    t, kept = t[::step], [values[::step] for values in series]
    pauses = np.zeros(0, int)
    if len(t) > 1:
        steps = np.diff(t)
        pauses = np.flatnonzero((steps > max(GAP, 3 * np.median(steps))) | (steps < 0)) + 1
    return [np.insert(values.astype(float), pauses, np.nan) for values in (t, *kept)]


def panels(count: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure of `count` equal axes in rows of `columns`; `height` of one [inch]."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(WIDTH, height * rows + 0.5))
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(count)]
