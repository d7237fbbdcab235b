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

"""Print-quality figures of a run as PNG files, modelled on the paper's (Experiments and Results).
Only this module, `canvas` and `parameter_figures` import matplotlib."""
from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..disk.writing import attempt_all, write_file
from ..model.normal import Z95
from .canvas import (
    FIGURE_WIDTH,
    FINAL_COLOUR,
    INK,
    LEGEND_ABOVE,
    MASKED_COLOUR,
    MEASURED_COLOUR,
    MODEL_COLOUR,
    PRIOR_COLOUR,
    STYLE,
    panels,
)
from .parameter_figures import eigenvalues, parameters
from .run_record import Run
from .scene import MAX_POINTS, Scene, parameter_groups, thinned


class Drawn(NamedTuple):
    """A figure and the stem of its file name."""

    stem: str
    figure: Figure


def write_figures(folder: Path, run: Run, metrics: dict[str, Any]) -> None:
    """Write each figure as a PNG file into `folder`.

    Tries all files, then raises UvmsError if some could not be written.
    """
    files = {}
    for drawn in draw(run, metrics):
        buffer = io.BytesIO()
        drawn.figure.savefig(buffer, format="png")
        files[f"{drawn.stem}.png"] = buffer.getvalue()
    attempt_all(*(partial(write_file, folder / name, png) for name, png in files.items()))


def draw(run: Run, metrics: dict[str, Any]) -> Iterator[Drawn]:
    """Yield every figure that the run has data for."""
    with matplotlib.rc_context(STYLE):
        scene = Scene(run)
        for stem, _, channels in scene.groups:
            yield Drawn(f"prediction_{stem}", prediction(scene, channels))
        yield Drawn("parity", parity(scene, metrics))
        if not run.frozen and any(channel["n"] for channel in metrics["channels"].values()):
            yield Drawn("fixed_against_adapted", comparison(scene, metrics))
        if len(scene.trajectory.t) > 1:
            for stem, title, names in parameter_groups(run):
                # A joint's name may contain a slash.
                yield Drawn(f"parameters_{re.sub(r'[^A-Za-z0-9_.-]', '_', stem)}",
                            parameters(scene, title, names))
            yield Drawn("eigenvalues", eigenvalues(scene))
        if np.isfinite(run.log.solve_ms).any():
            yield Drawn("solve_time", solve_time(scene))


def prediction(scene: Scene, channels: Sequence[int]) -> Figure:
    """Predicted against measured over time with the 95 % band (paper, identified fit)."""
    figure, axes = panels(len(channels), 1, 1.5)
    rows = scene.rows
    for ax, c in zip(axes, channels):
        counted = np.where(rows.valid[:, c], 1.0, np.nan)
        t, measured, predicted, half, masked = thinned(
            scene.t, rows.measured[:, c] * counted, rows.predicted[:, c] * counted,
            Z95 * rows.stddev[:, c], ~rows.valid[:, c])
        ax.fill_between(t, 0, 1, where=masked == 1, transform=ax.get_xaxis_transform(),
                        color=MASKED_COLOUR, linewidth=0, zorder=0)
        band = ax.fill_between(t, predicted - half, predicted + half, color=MODEL_COLOUR,
                               alpha=0.25, linewidth=0)
        lines = [
            ax.plot(t, measured, color=MEASURED_COLOUR, linewidth=2.0)[0],
            ax.plot(t, predicted, color=MODEL_COLOUR, linewidth=0.9)[0]
        ]
        _limit(ax, measured, predicted)
        ax.set_xlim(scene.t[0], scene.t[-1] if scene.t[-1] > scene.t[0] else scene.t[0] + 1)
        ax.set_ylabel(scene.label(c))
        if not np.isfinite(measured).any():
            _nothing(ax)
    figure.supxlabel("time [s]")
    axes[0].legend([*lines, band], ["measured", "predicted", "95 % interval"],
                   **LEGEND_ABOVE, ncols=3)
    return figure


def _nothing(ax: Axes) -> None:
    ax.text(0.5, 0.5, "every row is masked", transform=ax.transAxes, ha="center", va="center")
    ax.set_yticks([])


def _limit(ax: Axes, measured: np.ndarray, predicted: np.ndarray) -> None:
    """Set the y axis from the data, not from the intervals of the first seconds, which may be 100
    times wider."""
    measured, predicted = (values[np.isfinite(values)] for values in (measured, predicted))
    if measured.size:
        below, above = np.percentile(predicted, [2, 98])
        low, high = min(measured.min(), below), max(measured.max(), above)
        margin = 0.15 * (high - low) or 1.0
        ax.set_ylim(low - margin, high + margin)


def parity(scene: Scene, metrics: dict[str, Any]) -> Figure:
    """Predicted against measured, slope and R^2 (paper, parity analysis)."""
    rows, names = scene.rows, scene.run.robot.channels
    figure, axes = panels(len(names), 5 if len(names) > 4 else len(names), 2.5)
    for c, (ax, name) in enumerate(zip(axes, names)):
        found = metrics["channels"][name]
        counted = rows.counted(c)
        measured, predicted = rows.measured[counted, c], rows.predicted[counted, c]
        step = max(1, -(-measured.size // MAX_POINTS))
        ax.plot(measured[::step], predicted[::step], ".", color=MODEL_COLOUR, markersize=1.6,
                alpha=0.35, rasterized=True)
        figures = ["R² –" if found["r2"] is None else f"R² {found['r2']:.3f}"]
        if measured.size:
            ends = np.array([measured.min(), measured.max()])
            ax.plot(ends, ends, "--", color=INK, linewidth=0.8)
            _limit(ax, measured, predicted)
            if found["slope"] is not None:
                ax.plot(ends, found["slope"] * ends + found["bias"], color=PRIOR_COLOUR,
                        linewidth=1.1)
                figures.append(f"slope {found['slope']:.2f}")
        else:
            _nothing(ax)
            ax.set_xticks([])
        ax.set_title(f"{scene.label(c)}\n{', '.join(figures)}")
        ax.set_xlabel("measured")
        if c % 5 == 0:
            ax.set_ylabel("predicted")
    return figure


def comparison(scene: Scene, metrics: dict[str, Any]) -> Figure:
    """MAE and RMSE of the fixed prior, the running estimate and the last one (paper, fixed against
    adaptive)."""
    names: dict[str, list[str]] = {}
    for name, channel in metrics["channels"].items():
        if channel["n"]:
            names.setdefault(channel["unit"], []).append(name)
    figure = Figure(figsize=(FIGURE_WIDTH, 5.2))
    axes = figure.subplots(2, len(names), squeeze=False,
                           width_ratios=[len(found) + 1 for found in names.values()])
    blocks = [("prior, fixed", PRIOR_COLOUR, metrics["prior"]["channels"]),
              ("estimate, running", MODEL_COLOUR, metrics["channels"]),
              ("last estimate, fixed", FINAL_COLOUR, metrics["final"]["channels"])]
    for row, key in enumerate(("mae", "rmse")):
        for ax, (unit, found) in zip(axes[row], names.items()):
            for k, (label, colour, block) in enumerate(blocks):
                values = [block[name][key] for name in found]
                bars = ax.bar(
                    np.arange(len(values)) + 0.27 * (k - 1), values, 0.25, color=colour,
                    label=label)
                ax.bar_label(bars, [f"{v:.2g}" for v in values], padding=3, rotation=90)
            ax.set_xticks(range(len(found)), found)
            ax.grid(False, axis="x")
            ax.margins(y=0.22)
            ax.set_ylabel(f"{key.upper()} [{unit}]")
    axes[0, -1].legend(*axes[0, 0].get_legend_handles_labels(), **LEGEND_ABOVE, ncols=3)
    return figure


def solve_time(scene: Scene) -> Figure:
    """Time of each solve [ms] (paper, solver time)."""
    times = np.array(scene.run.log.solve_ms)
    finite = times[np.isfinite(times)]
    figure = Figure(figsize=(FIGURE_WIDTH, 2.9))
    over, spread = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
    t, shown = thinned(scene.t, times)
    over.plot(t, shown, ".", color=MODEL_COLOUR, markersize=2)
    # Leave out the first solve, which loads and compiles: the plot would show nothing else.
    top = 1.15 * max(np.percentile(finite, 99.5), 1e-3)
    spread.hist(finite[finite <= top], bins=60, orientation="horizontal", color=MODEL_COLOUR)
    for ax in (over, spread):
        for mark in (np.median(finite), np.percentile(finite, 99)):
            ax.axhline(mark, color=PRIOR_COLOUR, linestyle="--", linewidth=0.9)
    over.set_ylim(0, top)
    over.set_xlabel("time [s]")
    over.set_ylabel("solve [ms]")
    spread.set_xlabel("solves")
    above = int(np.sum(finite > top))
    hidden = f" ({above} above the axis)" if above else ""
    over.set_title(f"median {np.median(finite):.2f} ms, 99 % {np.percentile(finite, 99):.2f} ms, "
                   f"longest {finite.max():.2f} ms{hidden}")
    return figure
