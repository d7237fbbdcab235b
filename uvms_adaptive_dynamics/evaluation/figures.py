"""Figures of a run, after those of the paper (Experiments and Results); matplotlib is known here and in `canvas` alone."""
from __future__ import annotations

import re
from typing import Any, Iterator, NamedTuple, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..model.parameters import LINK, VEHICLE_DAMPING, VEHICLE_INERTIA, VEHICLE_RESTORING
from .canvas import FINAL, INK, MASKED, MAX_POINTS, MEASURED, MODEL, PRIOR, STYLE, WIDTH, Scene, panels, thinned
from .metrics import Z95
from .run import Run


class Drawn(NamedTuple):
    """A figure with the stem of its file name, a title and a sentence that says how to read it."""

    stem: str
    title: str
    caption: str
    figure: Figure


# Above an axis rather than outside the figure, which matplotlib knows from 3.7 on only.
ABOVE = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2, "ncols": 3}


def draw(run: Run, metrics: dict[str, Any]) -> Iterator[Drawn]:
    """Every figure that the run has data for."""
    with matplotlib.rc_context(STYLE):
        scene = Scene(run)
        how = "with fixed parameters" if run.frozen else "before the row entered the horizon"
        for stem, title, channels in scene.groups:
            yield Drawn(f"prediction_{stem}", f"Predicted and measured: {title}",
                        f"Every row is predicted {how}. The band is the 95 % interval of the prediction; rows on a shaded "
                        "ground are masked and do not count.", prediction(scene, channels))
        yield Drawn("parity", "Parity", "Predicted against measured, with the regression line (solid) and identity (dashed).",
                    parity(scene, metrics))
        if not run.frozen and any(channel["n"] for channel in metrics["channels"].values()):
            yield Drawn("fixed_against_adapted", "Fixed prior against adapted model",
                        "Errors on the same rows: the prior kept as it was, the estimate as it evolved, and the last estimate.",
                        comparison(scene, metrics))
        if len(scene.trajectory.t) > 1:
            for stem, title, names in parameter_groups(run):
                # A joint's name may hold a slash.
                yield Drawn(f"parameters_{re.sub(r'[^A-Za-z0-9_.-]', '_', stem)}", f"Parameters: {title}",
                            "Estimate with its 95 % interval over time; dashed: the prior.", parameters(scene, title, names))
            yield Drawn("eigenvalues", "Physical consistency",
                        "Eigenvalues over time: all above zero means positive definite. Pseudo-inertias are scaled by each "
                        "link's reference mass and length; dotted: the margin that the estimate keeps.", eigenvalues(scene))
        if np.isfinite(run.log.solve_ms).any():
            yield Drawn("solve_time", "Solver time", "Time of each solve over the run and its distribution; dashed: median and "
                        "99th percentile.", solve_time(scene))


def prediction(scene: Scene, channels: Sequence[int]) -> Figure:
    """Predicted against measured over time with the 95 % band (paper, identified fit)."""
    figure, axes = panels(len(channels), 1, 1.5)
    rows = scene.rows
    for ax, c in zip(axes, channels):
        counted = np.where(rows.valid[:, c], 1.0, np.nan)
        t, measured, predicted, half, masked = thinned(
            scene.t, rows.measured[:, c] * counted, rows.predicted[:, c] * counted, Z95 * rows.stddev[:, c], ~rows.valid[:, c])
        ax.fill_between(t, 0, 1, where=masked == 1, transform=ax.get_xaxis_transform(), color=MASKED, linewidth=0, zorder=0)
        band = ax.fill_between(t, predicted - half, predicted + half, color=MODEL, alpha=0.25, linewidth=0)
        lines = [ax.plot(t, measured, color=MEASURED, linewidth=2.0)[0], ax.plot(t, predicted, color=MODEL, linewidth=0.9)[0]]
        _limit(ax, measured, predicted)
        ax.set_xlim(scene.t[0], scene.t[-1] if scene.t[-1] > scene.t[0] else scene.t[0] + 1)
        ax.set_ylabel(scene.label(c))
        if not np.isfinite(measured).any():
            _nothing(ax)
    figure.supxlabel("time [s]")
    axes[0].legend([*lines, band], ["measured", "predicted", "95 % interval"], **ABOVE)
    return figure


def _nothing(ax: Axes) -> None:
    ax.text(0.5, 0.5, "every row is masked", transform=ax.transAxes, ha="center", va="center")
    ax.set_yticks([])


def _limit(ax: Axes, measured: np.ndarray, predicted: np.ndarray) -> None:
    """Axis from the data, not from the first seconds' intervals, which may be a hundred times wider."""
    finite = [values[np.isfinite(values)] for values in (measured, predicted)]
    if finite[0].size:
        low, high = min(finite[0].min(), np.percentile(finite[1], 2)), max(finite[0].max(), np.percentile(finite[1], 98))
        margin = 0.15 * (high - low) or 1.0
        ax.set_ylim(low - margin, high + margin)


def parity(scene: Scene, metrics: dict[str, Any]) -> Figure:
    """Predicted against measured, slope and R^2 (paper, parity analysis)."""
    rows, names = scene.rows, scene.run.robot.channels
    figure, axes = panels(len(names), 5 if len(names) > 4 else len(names), 2.5)
    for c, (ax, name) in enumerate(zip(axes, names)):
        found = metrics["channels"][name]
        counted = rows.valid[:, c] & np.isfinite(rows.measured[:, c]) & np.isfinite(rows.predicted[:, c])
        measured, predicted = rows.measured[counted, c], rows.predicted[counted, c]
        step = max(1, -(-measured.size // MAX_POINTS))
        ax.plot(measured[::step], predicted[::step], ".", color=MODEL, markersize=1.6, alpha=0.35, rasterized=True)
        figures = ["R² –" if found["r2"] is None else f"R² {found['r2']:.3f}"]
        if measured.size:
            ends = np.array([measured.min(), measured.max()])
            ax.plot(ends, ends, "--", color=INK, linewidth=0.8)
            _limit(ax, measured, predicted)
            if found["slope"] is not None:
                ax.plot(ends, found["slope"] * ends + found["bias"], color=PRIOR, linewidth=1.1)
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
    """MAE and RMSE of the fixed prior, the running estimate and the last one (paper, fixed against adaptive)."""
    names: dict[str, list[str]] = {}
    for name, channel in metrics["channels"].items():
        if channel["n"]:
            names.setdefault(channel["unit"], []).append(name)
    figure = Figure(figsize=(WIDTH, 5.2))
    axes = figure.subplots(2, len(names), squeeze=False, width_ratios=[len(found) + 1 for found in names.values()])
    blocks = [("prior, fixed", PRIOR, metrics["prior"]["channels"]), ("estimate, running", MODEL, metrics["channels"]),
              ("last estimate, fixed", FINAL, metrics["final"]["channels"])]
    for row, key in enumerate(("mae", "rmse")):
        for ax, (unit, found) in zip(axes[row], names.items()):
            for k, (label, colour, block) in enumerate(blocks):
                values = [block[name][key] for name in found]
                bars = ax.bar(np.arange(len(values)) + 0.27 * (k - 1), values, 0.25, color=colour, label=label)
                ax.bar_label(bars, [f"{v:.2g}" for v in values], padding=3, rotation=90)
            ax.set_xticks(range(len(found)), found)
            ax.grid(False, axis="x")
            ax.margins(y=0.22)
            ax.set_ylabel(f"{key.upper()} [{unit}]")
    axes[0, -1].legend(*axes[0, 0].get_legend_handles_labels(), **ABOVE)
    return figure


def parameter_groups(run: Run) -> list[tuple[str, str, list[str]]]:
    """(file name, title, parameters) of each parameter figure."""
    table, groups = run.robot.table, []
    if table.vehicle:
        inertia, damping, restoring = ([name for name, _, _ in part] for part in (VEHICLE_INERTIA, VEHICLE_DAMPING, VEHICLE_RESTORING))
        groups = [("vehicle_inertia", "vehicle, inertia", inertia[:3] + inertia[7:] + inertia[3:7]),
                  ("vehicle_damping", "vehicle, linear and quadratic damping", damping),
                  ("vehicle_restoring", "vehicle, weight and buoyancy", restoring)]
    for joint in table.joints:
        names = [f"{joint}.{name}" for name in LINK + (("Ir",) if table.rotor else ())]
        groups.append((joint, f"{joint} and its link", names))
    return groups


def parameters(scene: Scene, title: str, names: Sequence[str]) -> Figure:
    """Estimates with intervals over time, one panel each (paper, parameter adaptation)."""
    figure, axes = panels(len(names), 6 if len(names) > 5 else len(names), 1.6)
    table, prior = scene.run.robot.table, scene.run.prior.values
    trajectory = scene.trajectory
    elapsed = scene.elapsed(trajectory.t, trajectory.bag)
    for ax, name in zip(axes, names):
        k = table.index[name]
        t, value, half = thinned(elapsed, trajectory.pi[:, k], Z95 * trajectory.stddev[:, k])
        ax.fill_between(t, value - half, value + half, color=MODEL, alpha=0.25, linewidth=0)
        ax.plot(t, value, color=MODEL)
        ax.axhline(prior[k], color=PRIOR, linestyle="--", linewidth=0.9)
        shown = np.concatenate([value[np.isfinite(value)], [prior[k], value[-1] - 1.2 * half[-1], value[-1] + 1.2 * half[-1]]])
        margin = 0.08 * np.ptp(shown) or 0.1 * max(abs(prior[k]), 1e-3)
        ax.set_ylim(shown.min() - margin, shown.max() + margin)
        ax.set_title(f"{name.rpartition('.')[2]} [{table.units[k].replace('^2', '²')}]")
    figure.suptitle(title, x=0.01, ha="left")
    figure.supxlabel("time [s]")
    return figure


def eigenvalues(scene: Scene) -> Figure:
    """Eigenvalues of M_v and of every link's scaled pseudo-inertia over time (paper, pseudo-inertia eigenvalues)."""
    table, trajectory = scene.run.robot.table, scene.trajectory
    series = []
    if table.vehicle:
        M = np.array([table.vehicle_inertia(pi) for pi in trajectory.pi])
        series.append(("vehicle M [kg, kg m²]", np.linalg.eigvalsh((M + M.transpose(0, 2, 1)) / 2)))
    if table.n:
        J = np.linalg.eigvalsh(np.array([table.scaled_pseudo_inertias(pi) for pi in trajectory.pi]))
        series += [(f"{joint} pseudo-inertia, scaled", J[:, j]) for j, joint in enumerate(table.joints)]
    figure, axes = panels(len(series), 3, 2.3)
    elapsed = scene.elapsed(trajectory.t, trajectory.bag)
    for ax, (title, values) in zip(axes, series):
        t, *columns = thinned(elapsed, *values.T)
        for column in columns:
            ax.plot(t, column, color=MODEL)
        ax.set_yscale("log")
        if scene.run.config.estimation.epsilon > 0:
            ax.axhline(scene.run.config.estimation.epsilon, color=INK, linestyle=":")
        ax.set_title(title)
    figure.supxlabel("time [s]")
    return figure


def solve_time(scene: Scene) -> Figure:
    """Time of each solve [ms] (paper, solver time)."""
    times = np.array(scene.run.log.solve_ms)
    finite = times[np.isfinite(times)]
    figure = Figure(figsize=(WIDTH, 2.9))
    over, spread = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
    t, shown = thinned(scene.t, times)
    over.plot(t, shown, ".", color=MODEL, markersize=2)
    # The first solve loads and compiles; it is in the table, and would squeeze all others here.
    top = 1.15 * max(np.percentile(finite, 99.5), 1e-3)
    spread.hist(finite[finite <= top], bins=60, orientation="horizontal", color=MODEL)
    for ax in (over, spread):
        for mark in (np.median(finite), np.percentile(finite, 99)):
            ax.axhline(mark, color=PRIOR, linestyle="--", linewidth=0.9)
    over.set_ylim(0, top)
    over.set_xlabel("time [s]")
    over.set_ylabel("solve [ms]")
    spread.set_xlabel("solves")
    above = int(np.sum(finite > top))
    over.set_title(f"median {np.median(finite):.2f} ms, 99 % {np.percentile(finite, 99):.2f} ms, longest {finite.max():.2f} ms"
                   + (f" ({above} above the axis)" if above else ""))
    return figure
