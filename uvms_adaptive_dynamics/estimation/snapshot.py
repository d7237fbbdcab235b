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

"""The estimator's public state: a frozen copy that any thread may read."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..model.scales import Scales
from ..uncertainty.parameter_covariance import ParameterCovariance
from .prediction import parameter_stddev
from .progress import ProgressRecord
from .sample_check import Rejected


@dataclass(frozen=True)
class PresentParameters:
    """The present parameters pi (p,), read-only, with their covariance and systematic (CAUSES, p)
    as in `Estimate`."""

    pi: np.ndarray
    parameter_covariance: ParameterCovariance
    systematic: np.ndarray

    @property
    def covariance(self) -> np.ndarray:
        """Covariance (p, p), read-only; see `Estimate`."""
        return self.parameter_covariance.matrix

    @cached_property
    def stddev(self) -> np.ndarray:
        """Standard deviations (p,), read-only; see `Estimate`."""
        return parameter_stddev(self.parameter_covariance, self.systematic)


@dataclass(frozen=True)
class EstimatorSnapshot:
    """State of an Estimator after a sample or a command.

    learn: whether samples change the estimate; t: stamp of the last row [s], None before the first;
    status: of the last solve, '' before the first; solver: its name; solver_counts: solves by
    outcome; failures: solves without a usable answer; noise_stddev (C,) [N, N m]: noise of the
    channels' predictions, read-only; window_filled: samples in the window; changes, last_change:
    number of changes of the robot so far, and the sentence about the last one; started_from_file:
    whether the estimate continues a saved one with a covariance; rejected: rows and samples that
    were not used; recoveries: restarts after solves that failed in a row; trust (C,): per channel
    'ok', 'doubtful', 'wrong', or one of LEFT_OUT if it is not judged; trust_cause: the likely cause
    if one is not ok (docs/uncertainty.md); judged: whether any channel has been judged since the
    values last jumped; progress: ages of rows and solves, and jumps of the values; parameters: the
    present ones; scales: factors by which measurements are corrected, None if nothing learns;
    external_force [N]: size of the one that predictions contain, 0 if there is none.
    """

    learn: bool
    t: float | None
    status: str
    solver: str
    solver_counts: Mapping[str, int]
    failures: int
    noise_stddev: np.ndarray
    window_filled: int
    changes: int
    last_change: str
    started_from_file: bool
    parameters: PresentParameters
    progress: ProgressRecord
    judged: bool = False
    rejected: Rejected = Rejected()
    recoveries: int = 0
    trust: tuple[str, ...] = ()
    trust_cause: str = ""
    scales: Scales | None = None
    external_force: float = 0.0
