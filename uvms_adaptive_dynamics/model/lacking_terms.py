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

"""Effects that a vehicle in water may have and its model lacks, at their typical sizes: what the
intervals of its parameters must allow for (docs/mathematics.md, "What the model lacks")."""
from __future__ import annotations

import numpy as np

from ..config import Config
from .prior import prior_stddev
from .robot import RobotModel
from .sample import Sample
from .term_sets import TERM_SETS


class LackingTerms:
    """The term sets of the vehicle, and the drag of its arm's links, that a model does not have.

    Sets of the joints' friction are left out: they share their columns with the paper's friction,
    so the prior decides between the two.

    names (q,): their parameters."""

    names: tuple[str, ...]

    def __init__(self, config: Config, robot: RobotModel):
        own, share = robot.table, config.uncertainty.lacking_share
        sets = [one.name for one in TERM_SETS.values() if robot.vehicle and share > 0.0
                and one.name not in own.terms
                and (one.part == "vehicle" or one.expected and robot.joints)]
        both = "joint_offsets" in own.terms
        self._whole = robot if not sets else RobotModel(config.with_values({
            "robot.terms": (*config.robot.terms,
                            *(name for name in sets if name != "vehicle_offsets")),
            "robot.estimate_offsets": "all" if both else "vehicle"}), robot.arm)
        whole = self._whole.table
        self._own = whole.places(own.names)
        self._places = np.concatenate([np.zeros(0, int), *(
            np.r_[whole.term_slices[name]] for name in whole.term_slices if name in sets)])
        self.names = tuple(whole.names[k] for k in self._places)
        self._deviation = prior_stddev(np.zeros(whole.size), self._whole,
                                       share)[self._places]

    def columns(self, sample: Sample, pi: np.ndarray) -> np.ndarray:
        """(C, q) efforts of an instant by one deviation of each parameter; pi (p,): the estimate,
        for effects that multiply other parameters."""
        whole = np.zeros(self._whole.table.size)
        whole[self._own] = pi
        return self._whole.raw_rows(sample, whole).Y[:, self._places] * self._deviation
