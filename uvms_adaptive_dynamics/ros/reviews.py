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

"""Reviews of the last minutes of a running estimator, each in a process of its own, since it takes
seconds (docs/statement.md, "What a running node is told")."""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..config import Config
from ..errors import in_words
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..processes import Isolated
from ..review.arm_check import CHECKED_SECONDS
from ..review.review import ReviewRequest, Seen, is_doubted, packed, reviewed
from ..uncertainty.evidence import ReportedFinding, finding_of
from .inputs import NodeInputs
from .recent_fit import RecentFit
from .subscriptions import PeriodicThread
from .worker import Worker

LOOK_S = 1.0        # period of checking whether a review is due
NICENESS = 10       # of its process: a tenth of the share that the nodes have of a busy computer


class Reviews:
    """Keeps the samples that a review needs, and asks for one every `output.review_period`.

    findings: of the last review, None before it. `add` belongs to the thread that makes samples.
    """

    def __init__(self, robot: RobotModel, config: Callable[[], Config], worker: Worker,
                 fit: RecentFit, log: Any):
        """config: returns the present settings; fit: of the last minute in motion; log: takes
        `info` and `warning`."""
        self._robot, self._config, self._worker, self._fit = robot, config, worker, fit
        self._log, self._processes = log, Isolated()
        period = config().filter.period
        self._samples: deque[Sample] = deque(maxlen=round(CHECKED_SECONDS / period))
        self._lock = threading.Lock()
        self._since = 0.0       # [s] of samples since the last review
        self._cleared = 0       # how often all was dropped
        self.findings: tuple[ReportedFinding, ...] | None = None
        self._thread: PeriodicThread | None = None

    def start(self, inputs: NodeInputs) -> None:
        """Begin to look whether a review is due."""
        self._inputs = inputs
        self._thread = PeriodicThread(LOOK_S, self._look, self._failed, "reviews")

    def stop(self) -> None:
        """End the running review and join the thread."""
        self._processes.stop()
        if self._thread is not None:
            self._thread.stop()

    def add(self, sample: Sample) -> None:
        """Keep a sample; one that makes earlier ones void begins anew."""
        with self._lock:
            if sample.again:
                self._samples.clear()
                self._samples.extend(right for _, right in sample.again)
            self._samples.append(sample)
            self._since += self._config().filter.period

    def clear(self) -> None:
        """Drop all samples and findings."""
        with self._lock:
            self._samples.clear()
            self._since, self.findings = 0.0, None
            self._cleared += 1

    # --- on the thread of reviews ---------------------------------------------------------------

    def _look(self) -> None:
        config = self._config()
        with self._lock:
            if not 0.0 < config.output.review_period <= self._since:
                return
            self._since, samples, cleared = 0.0, list(self._samples), self._cleared
        seen = self._seen()
        made = self._processes.call(
            reviewed, ReviewRequest(packed(samples), seen, config, self._robot.arm, NICENESS))
        with self._lock:
            if cleared == self._cleared:    # else the samples that were reviewed count no more
                self._take(made.findings)

    def _take(self, findings: Sequence[ReportedFinding]) -> None:
        """Log what is new, and what is no longer found."""
        before, now = ({one.code: one.sentence for one in found}
                       for found in (self.findings or (), findings))
        for code, sentence in now.items():
            if code not in before:
                self._log.warning(sentence)
        for code, sentence in before.items():
            if code not in now:
                self._log.info(f"the last review no longer finds: {sentence}")
        self.findings = tuple(findings)

    def _seen(self) -> Seen:
        """What is known now beside the samples."""
        with self._inputs.lock:
            front_end = self._inputs.front_end
            findings = [finding_of(one) for one in front_end.warnings]
            doubted = is_doubted(front_end)
        pi, learn, changed, since = self._worker.call(lambda estimator: (
            estimator.pi.copy(), estimator.learn, bool(estimator.standing_change),
            estimator.changed_since))
        fits = list(self._fit.metrics().values())
        left = np.array([0.0 if fit["r2"] is None else 1.0 - fit["r2"] for fit in fits])
        held = np.array([1.0 if fit["coverage95"] is None else fit["coverage95"] for fit in fits])
        return Seen(pi, left, held, not learn, changed, since, doubted, findings)

    def _failed(self, error: Exception) -> None:
        if self._processes.stopped:
            return
        self._log.warning(f"the last minutes could not be reviewed: {in_words(error)} The estimate "
                          "goes on; output.review_period 0 switches reviews off")
