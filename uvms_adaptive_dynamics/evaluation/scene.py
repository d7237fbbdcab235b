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

"""Plot data shared by the report and the figures: rows on one axis of elapsed time, groups of
channels and parameters, eigenvalues."""
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..model.parameters import VEHICLE_DAMPING, VEHICLE_INERTIA, VEHICLE_RESTORING
from ..model.physical_set import PhysicalSet
from ..uncertainty.parameter_intervals import parameter_intervals
from .run_log import ParameterTrajectory, Rows
from .run_record import Run

MAX_POINTS = 3000
DRAWN_PAUSE = 0.5  # [s] longer pauses show as gaps
BETWEEN_BAGS = 2.0  # [s] gap on the axis between two bags


@dataclass
class Scene:
    """A run's rows on one axis of elapsed time, bag after bag."""

    run: Run

    @cached_property
    def rows(self) -> Rows:
        return self.run.log.rows()

    @cached_property
    def trajectory(self) -> ParameterTrajectory:
        return self.run.log.trajectory()

    @cached_property
    def _shifts(self) -> np.ndarray:
        """[s] to subtract from the times of each bag's rows."""
        shifts, end = np.zeros(len(self.run.bags)), 0.0
        for bag in np.unique(self.rows.bag):
            t = self.rows.t[self.rows.bag == bag]
            shifts[bag] = t[0] - end
            end += t[-1] - t[0] + BETWEEN_BAGS
        return shifts

    def elapsed(self, t: np.ndarray, bag: np.ndarray) -> np.ndarray:
        """Elapsed time [s] since the first row."""
        return t - self._shifts[bag]

    @cached_property
    def t(self) -> np.ndarray:
        return self.elapsed(self.rows.t, self.rows.bag)

    @cached_property
    def intervals(self) -> np.ndarray:
        """(2, k, p) ends of the trajectory's 95 % intervals, within P."""
        physical = PhysicalSet(self.run.robot.table, self.run.config.estimation)
        return parameter_intervals(physical, self.trajectory.pi, self.trajectory.stddev)

    @cached_property
    def groups(self) -> list[tuple[str, str, list[int]]]:
        """(file name, title, channels) of the vehicle and of the arm, if they have channels."""
        vehicle, count = (6 if self.run.config.robot.vehicle else 0), len(self.run.robot.channels)
        found = [("vehicle", "forces and moments of the vehicle", list(range(vehicle))),
                 ("arm", "efforts of the joints", list(range(vehicle, count)))]
        return [group for group in found if group[2]]

    def label(self, c: int) -> str:
        return f"{self.run.robot.channels[c]} [{self.run.robot.units[c]}]"


class Axis:
    """Times (T,) [s] for a plot: at most `most` points, increasing, with an empty point in every
    pause."""

    def __init__(self, t: np.ndarray, most: int):
        self._step = max(1, -(-len(t) // most))
        t = t[::self._step]
        steps = np.diff(t)
        back = np.where(steps <= 0.0, BETWEEN_BAGS - steps, 0.0)   # where a clock was set back
        t = t + np.r_[0.0, np.cumsum(back)] if t.size else t
        steps = np.diff(t)
        longest = max(DRAWN_PAUSE, 3 * float(np.median(steps))) if steps.size else math.inf
        self._pauses = np.flatnonzero(steps > longest) + 1
        self.t = np.insert(t, self._pauses, (t[self._pauses - 1] + t[self._pauses]) / 2)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """A series (T,) on this axis, NaN in every pause."""
        return np.insert(values[::self._step].astype(float), self._pauses, np.nan)


def thinned(t: np.ndarray, *series: np.ndarray) -> list[np.ndarray]:
    """Times (T,) and series, thinned by `Axis` to at most MAX_POINTS points each."""
    axis = Axis(t, MAX_POINTS)
    return [axis.t, *map(axis, series)]


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


def eigenvalue_series(scene: Scene) -> list[tuple[str, np.ndarray]]:
    """(title, eigenvalues (k, m)) of M_v and of every link's scaled pseudo-inertia over the
    trajectory."""
    table, trajectory = scene.run.robot.table, scene.trajectory
    series = []
    if table.vehicle:
        M = np.array([table.vehicle_inertia(pi) for pi in trajectory.pi])
        series.append(("vehicle M [kg, kg m²]", np.linalg.eigvalsh((M + M.transpose(0, 2, 1)) / 2)))
    if table.n:
        J = np.linalg.eigvalsh(np.array([table.scaled_pseudo_inertias(pi) for pi in trajectory.pi]))
        series += [(f"{joint} pseudo-inertia, scaled", J[:, j])
                   for j, joint in enumerate(table.joints)]
    return series
