"""The thread that owns the estimator (DESIGN section 10): every sample enters the horizon; when solves are late, the latest
tick wins."""
from __future__ import annotations

import queue
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import Any, Callable

from ..model.sample import Sample

# A solve is skipped only when newer samples wait and this one has waited this many periods: ticks come in twos and threes
# when messages do, and a fast solver should solve for each of them, as the offline evaluation does.
LATE_AFTER_PERIODS = 2.5

# Solve times kept for median and 99th percentile: twenty seconds at 50 Hz.
TIMES_KEPT = 1000


class Worker:
    """Runs an Estimator off the executor.

    `on_prediction(prediction)` and `on_estimate(estimate)` are called on this thread; `on_error(exception)` for whatever
    is raised here, which ends one sample's work and never the thread. Other threads reach the estimator by `call` alone.
    """

    def __init__(self, estimator: Any, period: float, on_prediction: Callable[[Any], None],
                 on_estimate: Callable[[Any], None], on_error: Callable[[Exception], None]):
        """`period` [s]: time between samples."""
        self._estimator, self._late_after = estimator, LATE_AFTER_PERIODS * period
        self._on_prediction, self._on_estimate, self._on_error = on_prediction, on_estimate, on_error
        self._queue: queue.SimpleQueue = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="estimator")
        self._submitted = 0   # written by the submitting thread alone
        self._taken = 0       # written by the worker alone
        self.skipped = 0
        self.exceptions = 0
        self.last_error = ""
        self.solve_ms: deque[float] = deque(maxlen=TIMES_KEPT)
        self.update_ms: deque[float] = deque(maxlen=TIMES_KEPT)

    @property
    def backlog(self) -> int:
        """Samples that wait."""
        return self._submitted - self._taken

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is queued and join the thread; a running thread at shutdown would abort the process."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def submit(self, sample: Sample) -> None:
        """Queue a sample."""
        self._submitted += 1
        self._queue.put((sample, time.perf_counter()))

    def request(self, action: Callable[[Any], Any]) -> Future:
        """Have `action(estimator)` run on the worker's thread, after the samples before it."""
        answer: Future = Future()
        self._queue.put((action, answer))
        return answer

    def call(self, action: Callable[[Any], Any], timeout: float = 10.0) -> Any:
        """`request`, and wait for the result or the exception."""
        return self.request(action).result(timeout)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            if isinstance(item[1], Future):
                self._answer(*item)
                continue
            self._taken += 1
            try:
                self._take(*item)
            except Exception as error:  # whatever it is: the node must go on, and say so
                self.exceptions += 1
                self.last_error = f"{type(error).__name__}: {error}"
                self._on_error(error)

    def _take(self, sample: Sample, submitted: float) -> None:
        begin = time.perf_counter()
        prediction = self._estimator.add(sample)
        if prediction is None:
            return
        self._on_prediction(prediction)
        if not self._estimator.learn:
            return
        if self.backlog and time.perf_counter() - submitted > self._late_after:
            self.skipped += 1
            return
        estimate = self._estimator.solve(begin)
        if estimate is not None:
            self.solve_ms.append(estimate.solve_ms)
            self.update_ms.append(estimate.update_ms)
            self._on_estimate(estimate)

    def _answer(self, action: Callable[[Any], Any], answer: Future) -> None:
        try:
            answer.set_result(action(self._estimator))
        except Exception as error:  # handed to the caller, who can say what was asked
            answer.set_exception(error)
