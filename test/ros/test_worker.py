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

"""The worker's thread: every sample is used, the latest is solved, and no exception ends it."""
import gc
import sys
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from types import SimpleNamespace

import pytest

from uvms_adaptive_dynamics.ros import worker as worker_module
from uvms_adaptive_dynamics.ros.worker import KnownFromData, Worker, WorkerBusyError


class SlowEstimator:
    """Counts its calls; `gate` blocks solves."""

    learn, status = True, "optimal"

    def __init__(self):
        self.added, self.solved = [], []
        self.gate = threading.Event()
        self.gate.set()
        self.solving = threading.Event()

    def add(self, sample):
        if sample == "bad":
            raise ValueError("no such sample")
        self.added.append(sample)
        return None if sample == "filling" else sample

    def snapshot(self):
        return SimpleNamespace(learn=self.learn, added=len(self.added))

    def identifiable_rank(self):
        return 62

    def known_from(self):
        return ["measured", "weak"]

    @property
    def knowledge(self):
        return SimpleNamespace(limited=lambda words: (False, True))

    @property
    def findings(self):
        return SimpleNamespace(of_residuals=list)

    def mass_findings(self):
        return [("robot.dry_mass", "surge: too light")]

    def solve(self, begin=None):
        self.solving.set()
        self.gate.wait(10)
        if self.added[-1] == "fails":
            raise ZeroDivisionError
        self.solved.append(self.added[-1])
        return SimpleNamespace(sample=self.added[-1], solve_ms=1.0, status=self.status)


def tick(value, again=()):
    """A sample that equals `value`."""
    sample = type("Tick", (type(value),), {})(value)
    sample.again = again
    return sample


@pytest.fixture
def made():
    """A running worker with its recorded callbacks."""
    heard = SimpleNamespace(estimator=SlowEstimator(), predictions=[], estimates=[], errors=[])
    heard.worker = Worker(heard.estimator, 0.0, heard.predictions.append,
                          lambda e: heard.estimates.append(e.sample), heard.errors.append)
    heard.worker.start()
    yield heard
    heard.estimator.gate.set()
    heard.worker.stop()


def finish(made):
    made.worker.call(lambda estimator: None)


def test_each_sample_is_predicted_and_solved_for_when_there_is_time(made):
    """Processed one by one, no solve is skipped."""
    for sample in (1, 2, 3):
        made.worker.submit(tick(sample))
        finish(made)
    assert made.predictions == made.estimates == [1, 2, 3]
    assert (made.worker.skipped, made.worker.backlog,
            list(made.worker.solve_ms)) == (0, 0, [1.0, 1.0, 1.0])


def test_late_solves_are_skipped_and_no_sample_is(made):
    """Samples queue during a long solve; all enter the horizon, and only the latest is solved."""
    made.estimator.gate.clear()
    made.worker.submit(tick(1))
    assert made.estimator.solving.wait(10)
    for sample in (2, 3, 4):
        made.worker.submit(tick(sample))
    made.estimator.gate.set()
    finish(made)
    assert made.estimator.added == made.predictions == [1, 2, 3, 4]
    assert made.estimator.solved == [1, 4] and made.worker.skipped == 2


def late(made, first, count):
    """Submit `first`, whose solve lasts until `count` more samples wait."""
    made.estimator.gate.clear()
    made.worker.submit(first)
    assert made.estimator.solving.wait(10)
    for sample in range(count):
        made.worker.submit(tick(sample))
    made.estimator.gate.set()
    finish(made)


def test_late_samples_are_solved_for_every_half_second(made):
    """Values that have not moved for two seconds would count as failed."""
    late(made, tick(-1), 80)
    assert made.estimator.solved == [-1, 25, 51, 77, 79] and made.worker.skipped == 76


def test_what_waits_for_samples_learnt_again_is_not_late_for_want_of_time(made):
    """The work lasts seconds; a warning that the computer is overloaded would be false."""
    add, seen = made.estimator.add, []

    def slow(sample):
        seen.append(made.worker.learns_again)
        if sample.again:
            for later in (1, 2, 3):
                made.worker.submit(tick(later))
        return add(sample)
    made.estimator.add = slow
    made.worker.submit(tick(0, again=("earlier", "ones")))
    for _ in range(2):      # that sample, and those submitted meanwhile
        finish(made)
    assert seen == [True, False, False, False] and not made.worker.learns_again
    assert made.estimator.solved[-1] == 3 and made.worker.skipped == 0


def test_a_burst_is_solved_for_tick_by_tick_when_it_is_not_late():
    """Two samples at once skip no solve, so that live and offline runs agree."""
    estimator, estimates = SlowEstimator(), []
    worker = Worker(estimator, 100.0, lambda p: None, lambda e: estimates.append(e.sample),
                    lambda e: None)
    for sample in (1, 2, 3):
        worker.submit(tick(sample))
    worker.start()
    worker.stop()
    assert estimates == [1, 2, 3] and worker.skipped == 0


def test_an_exception_costs_one_sample(made):
    """It is counted and reported; the next sample is processed."""
    for sample in ("bad", 1):
        made.worker.submit(tick(sample))
    finish(made)
    assert made.estimates == [1] and made.worker.exceptions == 1
    assert isinstance(made.errors[0],
                      ValueError) and made.worker.last_error == "ValueError: no such sample"


def test_an_answer_comes_though_nothing_can_be_published(made):
    """As at exit, when the context has ended and the last state is copied."""
    def gone():
        raise RuntimeError("publisher's context is invalid")
    made.worker._on_request = gone
    assert made.worker.call(lambda estimator: 5) == 5
    with pytest.raises(KeyError):
        made.worker.call(lambda estimator: {}["lost"])
    assert [type(error) for error in made.errors] == [RuntimeError, RuntimeError]


def test_an_answer_comes_though_there_is_no_snapshot(made):
    """The thread goes on."""
    def broken():
        raise FloatingPointError
    snapshot, made.estimator.snapshot = made.estimator.snapshot, broken
    assert made.worker.call(lambda estimator: 5) == 5
    made.estimator.snapshot = snapshot
    assert made.worker.call(lambda estimator: 6) == 6 and len(made.errors) == 1


def test_a_call_hands_back_result_and_exception(made):
    """A service request runs on the worker's thread, and an exception there does no harm."""
    assert made.worker.call(lambda estimator: threading.current_thread().name) == "estimator"
    with pytest.raises(ZeroDivisionError):
        made.worker.call(lambda estimator: 1 / 0)
    made.worker.submit(tick(1))
    finish(made)
    assert made.estimates == [1]


def test_without_learning_there_are_predictions_alone(made):
    """~/enable false: nothing is solved, nothing counts as skipped."""
    made.estimator.learn = False
    made.worker.submit(tick(1))
    finish(made)
    assert made.predictions == [1] and made.estimates == [] and made.worker.skipped == 0


def test_while_the_low_pass_fills_there_is_nothing_to_say(made):
    """`add` returns None at the start; neither prediction nor solve follows."""
    made.worker.submit(tick("filling"))
    finish(made)
    assert made.predictions == made.estimates == []


def test_stop_finishes_what_is_queued():
    """The last samples of a recording count too."""
    estimator = SlowEstimator()
    worker = Worker(estimator, 0.02, lambda p: None, lambda e: None, lambda e: None)
    worker.submit(tick(1))
    worker.start()
    worker.stop()
    worker.stop()
    assert estimator.added == [1]


# --- published objects --------------------------------------------------------------------------

def test_a_snapshot_is_published_before_the_start_and_after_each_sample(made):
    """Readers never wait for the worker and never access the estimator."""
    assert made.worker.snapshot.added == 0
    for count, sample in enumerate((1, "filling", "fails"), start=1):
        made.worker.submit(tick(sample))
        finish(made)
        assert made.worker.snapshot.added == count
    made.worker.submit(tick("bad"))
    finish(made)
    assert made.worker.snapshot.added == 3


def test_a_snapshot_is_published_after_each_request(made):
    """Even after one that failed halfway."""
    made.worker.call(lambda estimator: setattr(estimator, "learn", False))
    assert not made.worker.snapshot.learn

    def half_way(estimator):
        estimator.learn = True
        raise ValueError
    with pytest.raises(ValueError):
        made.worker.call(half_way)
    assert made.worker.snapshot.learn


def test_knowledge_is_published_on_request(made):
    """One pending request at a time, however often it is called."""
    assert made.worker.knowledge is None
    made.worker.request_knowledge()
    finish(made)
    assert made.worker.knowledge == KnownFromData(62, ("measured", "weak"), (False, True),
                                                  ("surge: too light",))
    made.estimator.gate.clear()
    made.worker.submit(tick(1))
    assert made.estimator.solving.wait(10)
    for _ in range(5):
        made.worker.request_knowledge()
    assert made.worker._queue.qsize() == 1
    made.estimator.gate.set()


def test_solves_that_ran_out_of_time_are_counted(made):
    """'deadline' and 'deferred' are solves that ran out of time."""
    for made.estimator.status in ("optimal", "near-optimal", "deadline", "deferred"):
        made.worker.submit(tick(1))
        finish(made)
    assert made.worker.out_of_time == 2 and len(made.estimates) == 4


# --- a worker that is slow -----------------------------------------------------------------------

class OldTimeoutError(Exception):
    """concurrent.futures.TimeoutError before Python 3.11, which is not the builtin TimeoutError."""


class OldFuture(Future):
    """A future that raises OldTimeoutError."""

    def result(self, timeout=None):
        try:
            return super().result(timeout)
        except FutureTimeoutError:
            raise OldTimeoutError from None


@pytest.mark.parametrize("old", [False, True])
def test_a_call_that_takes_too_long_is_withdrawn(made, monkeypatch, old):
    """It raises an error on every Python and does not take effect later."""
    if old:
        monkeypatch.setattr(worker_module, "Future", OldFuture)
        monkeypatch.setattr(worker_module, "FutureTimeoutError", OldTimeoutError)
    made.estimator.gate.clear()
    made.worker.submit(tick(1))
    assert made.estimator.solving.wait(10)
    called = []
    with pytest.raises(WorkerBusyError, match="within 0.05 s, 1 samples are waiting. "
                                               "Nothing was changed"):
        made.worker.call(called.append, timeout=0.05)
    made.estimator.gate.set()
    finish(made)
    assert called == []


def test_a_call_that_has_begun_cannot_be_withdrawn(made):
    """The message does not claim that it was."""
    release = threading.Event()
    with pytest.raises(WorkerBusyError, match="may still take effect"):
        made.worker.call(lambda estimator: release.wait(10), timeout=0.05)
    release.set()
    finish(made)


def test_a_timeout_of_the_action_itself_is_handed_back(made):
    """It is the action's exception, not the worker's."""
    def action(estimator):
        raise TimeoutError("of the disk")
    with pytest.raises(TimeoutError, match="of the disk"):
        made.worker.call(action)


# --- garbage -------------------------------------------------------------------------------------

def test_no_full_collection_happens_over_ticks(made):
    """With ticks that leave cyclic garbage, young generations are collected and the oldest is
    not."""
    generations = []

    def heard(phase, info):
        if phase == "start":
            generations.append(info["generation"])

    kept = []

    def littering(prediction):
        for k in range(600):
            cycle = [prediction]
            cycle.append(cycle)
            if k % 4 == 0:      # old objects must grow, or Python postpones the collection
                kept.append(cycle)

    made.worker._on_prediction = littering
    gc.callbacks.append(heard)
    try:
        for sample in range(500):
            made.worker.submit(tick(sample))
        finish(made)
    finally:
        gc.callbacks.remove(heard)
    assert generations and 2 not in generations


def test_the_process_is_as_before_when_the_worker_has_stopped():
    """Garbage collection and thread switch interval are restored for a program that embeds the
    node."""
    before, switched_after = gc.get_threshold(), sys.getswitchinterval()
    worker = Worker(SlowEstimator(), 0.02, lambda p: None, lambda e: None, lambda e: None)
    worker.start()
    assert gc.get_threshold() != before and sys.getswitchinterval() < switched_after
    worker.stop()
    assert gc.get_threshold() == before and sys.getswitchinterval() == switched_after
