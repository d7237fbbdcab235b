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

"""Style, colours and grids of axes shared by all figures."""
from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

FIGURE_WIDTH = 11.0  # [inch]

INK, GRID = "#444444", "#e4e4e4"
MEASURED_COLOUR, MODEL_COLOUR = "#a9a29a", "#2f6f9f"
PRIOR_COLOUR, FINAL_COLOUR = "#b9772f", "#4d8a63"
MASKED_COLOUR = "#f1ede4"
# Above an axis rather than outside the figure, which needs matplotlib 3.7.
LEGEND_ABOVE = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
STYLE = {
    "font.size": 8.5, "figure.labelsize": 8.5, "figure.titlesize": 8.5, "axes.titlesize": 8.5,
    "axes.labelsize": 8.5, "legend.fontsize": 8.5, "xtick.labelsize": 8.5, "ytick.labelsize": 8.5,
    "axes.edgecolor": "#888888", "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK,
    "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": GRID, "grid.linewidth": 0.6, "axes.axisbelow": True, "lines.linewidth": 1.0,
    "legend.frameon": False, "axes.titlelocation": "left", "figure.constrained_layout.use": True,
    "axes.formatter.useoffset": False, "axes.formatter.limits": (-3, 4), "savefig.dpi": 110
}


def panels(count: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with `count` equal axes in rows of `columns`, each `height` [inch] high."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(FIGURE_WIDTH, height * rows + 0.5))
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(count)]
