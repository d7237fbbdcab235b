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

"""Figures of the parameters over time: estimates with intervals, and physical consistency."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from .canvas import INK, MODEL_COLOUR, PRIOR_COLOUR, panels
from .scene import Scene, eigenvalue_series, thinned


def parameters(scene: Scene, title: str, names: Sequence[str]) -> Figure:
    """Estimates with intervals over time, one panel each (paper, parameter adaptation)."""
    figure, axes = panels(len(names), 6 if len(names) > 5 else len(names), 1.6)
    table, prior = scene.run.robot.table, scene.run.prior.values
    trajectory = scene.trajectory
    elapsed = scene.elapsed(trajectory.t, trajectory.bag)
    for ax, name in zip(axes, names):
        k = table.index[name]
        t, value, low, high = thinned(elapsed, trajectory.pi[:, k], *scene.intervals[:, :, k])
        ax.fill_between(t, low, high, color=MODEL_COLOUR, alpha=0.25, linewidth=0)
        ax.plot(t, value, color=MODEL_COLOUR)
        ax.axhline(prior[k], color=PRIOR_COLOUR, linestyle="--", linewidth=0.9)
        shown = np.concatenate([
            value[np.isfinite(value)],
            [prior[k], 1.2 * low[-1] - 0.2 * value[-1], 1.2 * high[-1] - 0.2 * value[-1]]
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
    series, trajectory = eigenvalue_series(scene), scene.trajectory
    figure, axes = panels(len(series), 3, 2.3)
    elapsed = scene.elapsed(trajectory.t, trajectory.bag)
    for ax, (title, values) in zip(axes, series):
        t, *columns = thinned(elapsed, *values.T)
        for column in columns:
            ax.plot(t, column, color=MODEL_COLOUR)
        ax.set_yscale("log")
        if scene.run.config.estimation.epsilon > 0:
            ax.axhline(scene.run.config.estimation.epsilon, color=INK, linestyle=":")
        ax.set_title(title)
    figure.supxlabel("time [s]")
    return figure
