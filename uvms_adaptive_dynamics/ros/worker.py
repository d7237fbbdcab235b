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

"""The thread that owns the estimator. Others read what it publishes, or send it a request.

Every sample enters the window; when solves are late, the latest tick wins.
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
from ..estimation.snapshot import EstimatorSnapshot
from ..garbage import ShortCollections
from ..model.sample import Sample
from ..solvers.problem import OUT_OF_TIME

# A solve is skipped only when newer samples wait and this one has waited so many periods: ticks
# come in twos and threes when messages do, and each of them should be solved as in `evaluate`.
LATE_AFTER_PERIODS = 2.5

# Solve times kept for median and 99th percentile: twenty seconds at 50 Hz.
TIMES_KEPT = 1000

CALL_TIMEOUT_S = 10.0

# [s] after which Python lets another thread run. At its own 5 ms a tick waits as long again and
# again while a state is made into text or the sensors are checked: 12 late ticks in five minutes.
SWITCH_S = 1e-3


class WorkerBusyError(UvmsError):
    """The worker's thread did not answer in time."""


@dataclass(frozen=True)
class Knowledge:
    """How many directions the data determine, and for each parameter where its value comes from:
    'measured', 'weak', 'prior' or 'frozen' (docs/uncertainty.md). findings: sentences on values
    that cannot be."""

    identifiable_rank: int
    known_from: tuple[str, ...]
    findings: tuple[str, ...] = ()


class Worker:
    """Runs an Estimator off the executor.

    `on_prediction(prediction)`, `on_estimate(estimate)` and, before a request is answered,
    `on_request()` are called on this thread, and so is `on_error(exception)` for whatever is raised
    here; that costs one sample and never the thread.

    Published for other threads, replaced and never changed: `snapshot` after each sample and each
    request, and before others hear of either; `knowledge` after `request_knowledge`. They reach the
    estimator itself by `request` and `call` alone.
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
        self._submitted = 0   # written by the submitting thread alone
        self._done = 0        # written by the worker alone
        self.snapshot: EstimatorSnapshot = estimator.snapshot()
        self.knowledge: Knowledge | None = None
        self.skipped = 0
        self.out_of_time = 0
        self.exceptions = self.exceptions_in_a_row = 0
        self.last_error = ""
        self.solve_ms: deque[float] = deque(maxlen=TIMES_KEPT)
        self.update_ms: deque[float] = deque(maxlen=TIMES_KEPT)

    @property
    def backlog(self) -> int:
        """Samples that wait or are worked on."""
        return self._submitted - self._done

    @property
    def done(self) -> int:
        """Samples that have been worked on."""
        return self._done

    @property
    def ended(self) -> bool:
        """Whether the thread was started and runs no more."""
        return self._thread.ident is not None and not self._thread.is_alive()

    def start(self) -> None:
        """Start the thread; call it when everything else is set up (see ShortCollections). Until
        `stop`, threads of the whole process give way to others after SWITCH_S."""
        self._collections.begin()
        self._switched_after = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        self._thread.start()

    def stop(self) -> None:
        """Finish what is queued and join the thread: left running, it would abort the process."""
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
        """Have `action(estimator)` run on the worker's thread, after the samples before it."""
        answer: Future = Future()
        self._queue.put((action, answer))
        return answer

    def call(self, action: Callable[[Any], Any], timeout: float = CALL_TIMEOUT_S) -> Any:
        """`request`, and wait for the result or the exception.

        Raises WorkerBusyError after `timeout` [s]; the action is then withdrawn if it has not
        begun.
        """
        answer = self.request(action)
        try:
            return answer.result(timeout)
        except (FutureTimeoutError, TimeoutError):
            if answer.done():
                return answer.result()    # it came just now, or the exception is the action's own
            outcome = ("Nothing was changed; try again" if answer.cancel()
                       else "It is being carried out and may still take effect")
            raise WorkerBusyError(
                f"the estimator did not answer within {timeout:g} s, {self.backlog} samples wait. "
                f"{outcome}. Is the computer overloaded?") from None

    def request_knowledge(self) -> None:
        """Have `knowledge` brought up to date, unless that is still under way."""
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
            except Exception as error:  # whatever it is: the node must go on, and say so
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
        """The estimate with this sample, None where there is none."""
        begin = time.perf_counter()
        prediction = self._estimator.add(sample)
        if prediction is None:
            return None
        self._on_prediction(prediction)
        if not self._estimator.learn:
            return None
        waiting = self._submitted - self._done - 1
        if waiting and time.perf_counter() - submitted > self._late_after:
            self.skipped += 1
            return None
        estimate = self._estimator.solve()
        if estimate is not None:
            self.out_of_time += estimate.status in OUT_OF_TIME
            self.solve_ms.append(estimate.solve_ms)
            self.update_ms.append(1e3 * (time.perf_counter() - begin))
        return estimate

    def _answer(self, action: Callable[[Any], Any], answer: Future) -> None:
        if not answer.set_running_or_notify_cancel():
            return
        result, failure = None, None
        try:
            result = action(self._estimator)
        except Exception as error:  # handed to the caller, who can say what was asked
            failure = error
        self.snapshot = self._estimator.snapshot()
        try:
            self._on_request()
        except Exception as error:  # nothing can be published any more; the action is done anyway
            self._on_error(error)
        if failure is None:
            answer.set_result(result)
        else:
            answer.set_exception(failure)

    def _publish_knowledge(self, estimator: Any) -> None:
        self.knowledge = Knowledge(estimator.identifiable_rank(), tuple(estimator.known_from()),
                                   (*(said for _, said in estimator.mass_findings()),
                                    *estimator.residual_findings()))
