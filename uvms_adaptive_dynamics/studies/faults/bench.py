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

"""The bench: judges runs of a recording with one fault each against the clean run."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...config import Config
from ...errors import BagError
from ...model.robot import RobotModel
from ...simulation.faults.stream import Received, with_faults
from ...simulation.faults.values import FIELD_PATHS, field_of
from ..held_out import HeldOut
from .case import Case
from .judge import CaseResult, judged
from .recordings import RecordedMessages, SceneTimes, recordings_of, simulated_recordings
from .runner import Ran, held_out, run_through


class Bench:
    """Holds the recordings, and the clean runs for comparison, each computed once."""

    def __init__(self, recordings: RecordedMessages, config: Config):
        self.config, self._recordings = config, recordings
        self._clean: dict[tuple, tuple[Ran, HeldOut]] = {}

    @classmethod
    def of(cls, bag: Path | None, folder: Path, scene: SceneTimes, config: Config) -> Bench:
        """A bench for a recording, or for the simulated robot, whose bags are kept in `folder`."""
        if bag is not None:
            return cls(recordings_of(bag, config, scene), config)
        return cls(simulated_recordings(folder, config, scene), config)

    def concerns(self, case: Case) -> bool:
        """True if the recording has messages of all roles that the case concerns."""
        roles = {item.role for item in self._recordings.learnt} | {"", "battery"}
        return roles >= {fault.role for fault in case.faults}

    def result(self, case: Case) -> CaseResult:
        """Run a case and judge it."""
        config = self.config.with_values(dict(case.settings))
        robot = RobotModel.from_config(config)
        clean, test = self._clean_run(case, config, robot)
        # Built before the run: an exception in the fault itself is not a result.
        stream = list(with_faults(self._recordings.learnt, (*case.given, *case.faults)))
        ran = run_through(stream, config, robot, reference=clean.pi)
        return judged(case, ran, clean, test, robot, self._wrong_numbers(case, stream))

    def _wrong_numbers(self, case: Case, stream: Sequence[Received]) -> int:
        """How many numbers of the counted field differ from the recording's."""
        if not case.counted:
            return 0
        role = FIELD_PATHS[case.counted][0]
        values = [np.array([field_of(item.message, case.counted) for item in items
                            if item.role == role]) for items in (self._recordings.learnt, stream)]
        return int(np.sum(values[0] != values[1]))

    def _clean_run(self, case: Case, config: Config, robot: RobotModel) -> tuple[Ran, HeldOut]:
        key = (tuple(case.settings.items()), tuple(map(repr, case.given)))
        if key not in self._clean:
            learnt, tested = (list(with_faults(part, case.given)) for part in self._recordings)
            clean, test = run_through(learnt, config, robot), held_out(tested, config, robot)
            if not clean.valid.any() or not np.isfinite(test.tau).any():
                raise BagError("the recording gives no valid row even without a fault; run "
                               "'evaluate' on it to see why.")
            self._clean[key] = clean, test
        return self._clean[key]
