"""The worker's thread: every sample is taken, the latest is solved for, and nothing that is raised ends it."""
import threading
from types import SimpleNamespace

import pytest

from uvms_adaptive_dynamics.ros.worker import Worker


class SlowEstimator:
    """Counts what is asked of it; `gate` holds up solves."""

    learn = True

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

    def solve(self, begin):
        self.solving.set()
        self.gate.wait(10)
        self.solved.append(self.added[-1])
        return SimpleNamespace(sample=self.added[-1], solve_ms=1.0, update_ms=2.0)


@pytest.fixture
def made():
    """A running worker with what it has said."""
    heard = SimpleNamespace(estimator=SlowEstimator(), predictions=[], estimates=[], errors=[])
    heard.worker = Worker(heard.estimator, 0.0, heard.predictions.append, lambda e: heard.estimates.append(e.sample), heard.errors.append)
    heard.worker.start()
    yield heard
    heard.estimator.gate.set()
    heard.worker.stop()


def finish(made):
    made.worker.call(lambda estimator: None)


def test_each_sample_is_predicted_and_solved_for_when_there_is_time(made):
    """One after the other, nothing is skipped."""
    for sample in (1, 2, 3):
        made.worker.submit(sample)
        finish(made)
    assert made.predictions == made.estimates == [1, 2, 3]
    assert (made.worker.skipped, made.worker.backlog, list(made.worker.solve_ms)) == (0, 0, [1.0, 1.0, 1.0])


def test_late_solves_are_skipped_and_no_sample_is(made):
    """While a solve takes long, samples queue; all enter the horizon, and the latest alone is solved for."""
    made.estimator.gate.clear()
    made.worker.submit(1)
    assert made.estimator.solving.wait(10)
    for sample in (2, 3, 4):
        made.worker.submit(sample)
    made.estimator.gate.set()
    finish(made)
    assert made.estimator.added == made.predictions == [1, 2, 3, 4]
    assert made.estimator.solved == [1, 4] and made.worker.skipped == 2


def test_a_burst_is_solved_for_tick_by_tick_when_it_is_not_late():
    """Two samples at once cost no solve, so that live and offline runs agree."""
    estimator, estimates = SlowEstimator(), []
    worker = Worker(estimator, 100.0, lambda p: None, lambda e: estimates.append(e.sample), lambda e: None)
    for sample in (1, 2, 3):
        worker.submit(sample)
    worker.start()
    worker.stop()
    assert estimates == [1, 2, 3] and worker.skipped == 0


def test_an_exception_costs_one_sample(made):
    """It is counted and told; the next sample is worked on."""
    for sample in ("bad", 1):
        made.worker.submit(sample)
    finish(made)
    assert made.estimates == [1] and made.worker.exceptions == 1
    assert isinstance(made.errors[0], ValueError) and made.worker.last_error == "ValueError: no such sample"


def test_a_call_hands_back_result_and_exception(made):
    """What a service asks of the estimator runs on the worker's thread, and fails there without harm."""
    assert made.worker.call(lambda estimator: threading.current_thread().name) == "estimator"
    with pytest.raises(ZeroDivisionError):
        made.worker.call(lambda estimator: 1 / 0)
    made.worker.submit(1)
    finish(made)
    assert made.estimates == [1]


def test_without_learning_there_are_predictions_alone(made):
    """~/enable false: nothing is solved, nothing counts as skipped."""
    made.estimator.learn = False
    made.worker.submit(1)
    finish(made)
    assert made.predictions == [1] and made.estimates == [] and made.worker.skipped == 0


def test_while_the_low_pass_fills_there_is_nothing_to_say(made):
    """`add` answers None at the start; neither prediction nor solve follows."""
    made.worker.submit("filling")
    finish(made)
    assert made.predictions == made.estimates == []


def test_stop_finishes_what_is_queued():
    """A recording's last samples count too."""
    estimator = SlowEstimator()
    worker = Worker(estimator, 0.02, lambda p: None, lambda e: None, lambda e: None)
    worker.submit(1)
    worker.start()
    worker.stop()
    worker.stop()
    assert estimator.added == [1]
