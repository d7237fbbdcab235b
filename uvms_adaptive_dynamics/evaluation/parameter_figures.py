"""Figures of parameters over time: estimates with intervals, and physical consistency."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ..model.normal import Z95
from ..model.parameters import VEHICLE_DAMPING, VEHICLE_INERTIA, VEHICLE_RESTORING
from .canvas import INK, MODEL, PRIOR, Scene, panels, thinned
from .run_record import Run


def parameter_groups(run: Run) -> list[tuple[str, str, list[str]]]:
    """(file name, title, parameters) of each parameter figure."""
    table, groups = run.robot.table, []
    if table.vehicle:
        inertia, damping, restoring = (
            [name for name, _, _ in part]
            for part in (VEHICLE_INERTIA, VEHICLE_DAMPING, VEHICLE_RESTORING))
        groups = [("vehicle_inertia", "vehicle, inertia", inertia[:3] + inertia[7:] + inertia[3:7]),
                  ("vehicle_damping", "vehicle, linear and quadratic damping", damping),
                  ("vehicle_restoring", "vehicle, weight and buoyancy", restoring)]
    further = list(table.names[table.paper_slice.stop:table.vehicle_slice.stop])
    if further:
        groups.append(("vehicle_terms", "vehicle, further terms", further))
    for joint in table.joints:
        groups.append((joint, f"{joint} and its link", list(table.of_joint(joint))))
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
        shown = np.concatenate([
            value[np.isfinite(value)],
            [prior[k], value[-1] - 1.2 * half[-1], value[-1] + 1.2 * half[-1]]
        ])
        margin = 0.08 * np.ptp(shown) or 0.1 * max(abs(prior[k]), 1e-3)
        ax.set_ylim(shown.min() - margin, shown.max() + margin)
        ax.set_title(f"{name.rpartition('.')[2]} [{table.units[k].replace('^2', '²')}]")
    figure.suptitle(title, x=0.01, ha="left")
    figure.supxlabel("time [s]")
    return figure


def eigenvalues(scene: Scene) -> Figure:
    """Eigenvalues of M_v and of every link's scaled pseudo-inertia over time (paper, pseudo-inertia
    eigenvalues)."""
    table, trajectory = scene.run.robot.table, scene.trajectory
    series = []
    if table.vehicle:
        M = np.array([table.vehicle_inertia(pi) for pi in trajectory.pi])
        series.append(("vehicle M [kg, kg m²]", np.linalg.eigvalsh((M + M.transpose(0, 2, 1)) / 2)))
    if table.n:
        J = np.linalg.eigvalsh(np.array([table.scaled_pseudo_inertias(pi) for pi in trajectory.pi]))
        series += [(f"{joint} pseudo-inertia, scaled", J[:, j])
                   for j, joint in enumerate(table.joints)]
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
