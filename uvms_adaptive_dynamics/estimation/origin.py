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

"""Where an estimate starts: a prior or a saved estimate, checked and moved into P."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.arguments import read_only
from ..model.parameter_set import ParameterSet
from ..model.physical_set import PhysicalSet
from ..model.robot import RobotModel
from ..model.scales import Scales
from ..solvers import Solver
from .learned import effort_sizes, interval_factors, known_rows
from .learned_spans import LearnedSpans
from .prior_information import admissible


class Origin(NamedTuple):
    """A prior or a saved estimate of a robot, and what is known beside its values.

    saved: as given, in the order of the robot's table; values (p,): its values moved into P,
    read-only; moved: what moved, in a sentence, or ''; scales: factors on measurements;
    interval_factors (C,): factors of adapting intervals; efforts (C,): scale of the efforts at
    which its noise was learnt [N, N m], None if not stated; rows_known: rows per channel behind
    it; spans: which data these were."""

    saved: ParameterSet
    values: np.ndarray
    moved: str
    scales: Scales
    interval_factors: np.ndarray
    efforts: np.ndarray | None
    rows_known: float
    spans: LearnedSpans

    @classmethod
    def of(cls, given: ParameterSet, robot: RobotModel, physical: PhysicalSet,
           solver: Solver) -> Origin:
        """The origin in a prior or a saved estimate. Raises ParameterError for one that does not
        fit this robot."""
        saved = given.for_table(robot.table, "prior")
        scales = Scales.saved(saved.learned, robot.channels, robot.thrusters,
                              saved.source or "prior")
        values, moved = admissible(saved.values, robot.table, physical, solver)
        return cls(saved, read_only(values), moved, scales, interval_factors(saved, robot.channels),
                   effort_sizes(saved, robot.channels), known_rows(saved) / robot.table.channels,
                   LearnedSpans(saved.learned.get("spans"), saved.learned.get("marks")))

    def prior(self, robot: RobotModel) -> ParameterSet:
        """The admissible values with what describes them, as of this robot."""
        saved, table = self.saved, robot.table
        described = {"joints": list(table.joints), "vehicle": table.vehicle,
                     "channels": list(robot.channels)}
        return ParameterSet(table.names, self.values, saved.covariance, saved.noise_stddev,
                            described, known_from=saved.known_from,
                            identifiability=saved.identifiability, systematic=saved.systematic,
                            learned=saved.learned)
