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

"""The thread that owns the estimator; other threads read what it publishes or send it requests.

Every sample enters the window; when solves are late, only the latest tick is solved.
"""
from __future__ import annotations

import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable

# Before Python 3.11 this is not the builtin TimeoutError.
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any

from ..errors import UvmsError
from ..estimation.estimator import SOLVE_AGAIN
from ..estimation.snapshot import EstimatorSnapshot
from ..garbage import ShortCollections
from ..model.sample import Sample
from ..solvers.problem import OUT_OF_TIME

# Skip a solve only if newer samples are waiting and this one has waited for this many periods, and
# fewer than SOLVE_AGAIN in a row: after seconds without a solve, values count as failed. Ticks
# arrive in twos and threes when messages do, and each should be solved as in `evaluate`.
LATE_AFTER_PERIODS = 2.5

# Solve times kept for median and 99th percentile: 20 s at 50 Hz.
TIMES_KEPT = 1000

CALL_TIMEOUT_S = 10.0

# [s] Python's thread switch interval. With the default of 5 ms a tick waits repeatedly while a
# state is serialized or sensors are checked: 12 late ticks in five minutes.
SWITCH_S = 1e-3


class WorkerBusyError(UvmsError):
    """The worker's thread did not answer in time."""


@dataclass(frozen=True)
class KnownFromData:
    """What the data determine (docs/uncertainty.md).

    identifiable_rank: number of determined directions; known_from: source of each parameter
    ('measured', 'weak', 'prior' or 'frozen'); limited: see `ParameterSet`; findings: messages about
    implausible values.
    """

    identifiable_rank: int
    known_from: tuple[str, ...]
    limited: tuple[bool, ...]
    findings: tuple[str, ...] = ()


class Worker:
    """Runs an Estimator off the executor.

    Calls `on_prediction(prediction)`, `on_estimate(estimate)` and, before a request is answered,
    `on_request()` on this thread; also `on_error(exception)` for any exception, which costs one
    sample but never the thread.

    Publishes immutable objects for other threads: `snapshot` after each sample and request, before
    either is announced; `knowledge` after `request_knowledge`. Other threads access the estimator
    only through `request` and `call`. `learns_again`: whether the sample in work comes with earlier
    ones to be learnt again, which takes seconds.
    """

    def __init__(self, estimator: Any, period: float, on_prediction: Callable[[Any], None],
                 on_estimate: Callable[[Any], None], on_error: Callable[[Exception], None],
                 on_request: Callable[[], None] = lambda: None):
        """`period` [s]: time between samples."""
        self._estimator, self._late_after = estimator, LATE_AFTER_PERIODS * period
        self._on_prediction, self._on_estimate = on_prediction, on_estimate
        self._on_error, self._on_request = on_error, on_request
        self._queue: queue.SimpleQueue = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="estimator")
        self._collections = ShortCollections()
        self._asked: Future | None = None
        self._submitted = 0   # written only by the submitting thread
        self._done = 0        # written only by the worker
        self.snapshot: EstimatorSnapshot = estimator.snapshot()
        self.knowledge: KnownFromData | None = None
        self.learns_again = False
        self.skipped = self._skipped_in_a_row = 0
        self._excused = 0     # samples that waited for earlier ones to be learnt again
        self.out_of_time = 0
        self.exceptions = self.exceptions_in_a_row = 0
        self.last_error = ""
        self.solve_ms: deque[float] = deque(maxlen=TIMES_KEPT)
        self.update_ms: deque[float] = deque(maxlen=TIMES_KEPT)

    @property
    def backlog(self) -> int:
        """Number of samples waiting or in work."""
        return self._submitted - self._done

    @property
    def done(self) -> int:
        """Number of finished samples."""
        return self._done

    @property
    def ended(self) -> bool:
        """Whether the thread was started and has ended."""
        return self._thread.ident is not None and not self._thread.is_alive()

    def start(self) -> None:
        """Start the thread, when everything else is set up (see ShortCollections).

        Until `stop`, the whole process uses the thread switch interval SWITCH_S.
        """
        self._collections.begin()
        self._switched_after = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        self._thread.start()

    def stop(self) -> None:
        """Finish queued work and join the thread; left running, it would abort the process."""
        if self._thread.ident is None:
            return
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        sys.setswitchinterval(self._switched_after)
        self._collections.end()

    def submit(self, sample: Sample) -> None:
        """Queue a sample."""
        self._submitted += 1
        self._queue.put((sample, time.perf_counter()))

    def request(self, action: Callable[[Any], Any]) -> Future:
        """Run `action(estimator)` on the worker's thread, after the samples already queued."""
        answer: Future = Future()
        self._queue.put((action, answer))
        return answer

    def call(self, action: Callable[[Any], Any], timeout: float = CALL_TIMEOUT_S) -> Any:
        """`request`, and wait for the result or the exception.

        Raises WorkerBusyError after `timeout` [s] and withdraws the action if it has not started.
        """
        answer = self.request(action)
        try:
            return answer.result(timeout)
        except (FutureTimeoutError, TimeoutError):
            if answer.done():
                return answer.result()    # it arrived just now, or the action itself timed out
            outcome = ("Nothing was changed; try again" if answer.cancel()
                       else "The request is in progress and may still take effect")
            raise WorkerBusyError(
                f"the estimator did not answer within {timeout:g} s, {self.backlog} samples are "
                f"waiting. {outcome}. Is the computer overloaded?") from None

    def request_knowledge(self) -> None:
        """Request an update of `knowledge`, unless one is pending."""
        if self._asked is None or self._asked.done():
            self._asked = self.request(self._publish_knowledge)

    # --- on the worker's thread -----------------------------------------------------------------

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            if isinstance(item[1], Future):
                self._answer(*item)
                continue
            try:
                self._work(*item)
                self.exceptions_in_a_row = 0
            except Exception as error:  # whatever the error, the node must continue and report it
                self.exceptions += 1
                self.exceptions_in_a_row += 1
                self.last_error = f"{type(error).__name__}: {error}"
                self._on_error(error)
            finally:
                self._done += 1

    def _work(self, sample: Sample, submitted: float) -> None:
        try:
            estimate = self._estimate(sample, submitted)
        finally:
            self.snapshot = self._estimator.snapshot()
        if estimate is not None:
            self._on_estimate(estimate)

    def _estimate(self, sample: Sample, submitted: float) -> Any:
        """Process a sample; returns the estimate, or None."""
        begin = time.perf_counter()
        prediction = self._add(sample)
        if prediction is None:
            return None
        self._on_prediction(prediction)
        if not self._estimator.learn:
            return None
        waiting = self._submitted - self._done - 1
        if (waiting and time.perf_counter() - submitted > self._late_after
                and self._skipped_in_a_row < SOLVE_AGAIN):
            self._skipped_in_a_row += 1
            self.skipped += self._done >= self._excused
            return None
        self._skipped_in_a_row = 0
        estimate = self._estimator.solve(begin)
        if estimate is not None:
            self.out_of_time += estimate.status in OUT_OF_TIME
            self.solve_ms.append(estimate.solve_ms)
            self.update_ms.append(1e3 * (time.perf_counter() - begin))
        return estimate

    def _add(self, sample: Sample) -> Any:
        self.learns_again = bool(sample.again)
        try:
            return self._estimator.add(sample)
        finally:
            if self.learns_again:
                self._excused = self._submitted
            self.learns_again = False

    def _answer(self, action: Callable[[Any], Any], answer: Future) -> None:
        if not answer.set_running_or_notify_cancel():
            return
        result, failure = None, None
        try:
            result = action(self._estimator)
        except Exception as error:  # passed to the caller, who knows the request
            failure = error
        try:
            self.snapshot = self._estimator.snapshot()
            self._on_request()
        except Exception as error:  # publishing failed; the action is complete anyway
            self._on_error(error)
        if failure is None:
            answer.set_result(result)
        else:
            answer.set_exception(failure)

    def _publish_knowledge(self, estimator: Any) -> None:
        findings = (*(said for _, said in estimator.mass_findings()),
                    *estimator.findings.of_residuals())
        words = tuple(estimator.known_from())
        self.knowledge = KnownFromData(estimator.identifiable_rank(), words,
                                       estimator.knowledge.limited(words), findings)
