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

"""Reviews of a running estimator: what they find and withdraw, what makes samples void, and how
they end."""
import threading
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from analytic import AnalyticMotion, reordered

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.ros import reviews
from uvms_adaptive_dynamics.ros.reviews import Reviews
from uvms_adaptive_dynamics.uncertainty.evidence import finding_of

CONFIG = Config().with_values({"output.review_period": 20.0})
ROBOT = RobotModel.from_config(CONFIG)
PI = prior_from_config(CONFIG, ROBOT).values
PERIOD = CONFIG.filter.period


@pytest.fixture(scope="module")
def samples():
    """24 s of noise-free samples."""
    motion = AnalyticMotion(1)
    return [motion.sample(1.0 + PERIOD * k, ROBOT, PI) for k in range(round(24.0 / PERIOD))]


class Around:
    """Stands for the node around the reviews; r2: of every channel."""

    def __init__(self, r2=0.999, period=20.0):
        self.said = []
        self.config = CONFIG.with_values({"output.review_period": period})
        estimator = SimpleNamespace(pi=PI, learn=True, standing_change="",
                                    changed_since=np.inf)
        worker = SimpleNamespace(call=lambda action: action(estimator))
        fit = SimpleNamespace(metrics=lambda: dict.fromkeys(
            ROBOT.channels, {"r2": r2, "coverage95": 0.95}))
        log = SimpleNamespace(info=self.said.append, warning=self.said.append)
        self.reviews = Reviews(ROBOT, lambda: self.config, worker, fit, log)
        front_end = SimpleNamespace(warnings=[], delay=SimpleNamespace(warning=""),
                                    frames=SimpleNamespace(findings=[]))
        self.inputs = SimpleNamespace(lock=threading.Lock(), front_end=front_end)

    @contextmanager
    def running(self):
        self.reviews.start(self.inputs)
        try:
            yield self
        finally:
            self.reviews.stop()

    def reviewed(self, samples):
        """The findings of the review after these samples."""
        for sample in samples:
            self.reviews.add(sample)
        done = threading.Event()
        look = self.reviews._look
        self.reviews._look = lambda: (look(), self.reviews.findings is not None and done.set())
        with self.running():
            assert done.wait(60.0), self.said
        return [one.sentence for one in self.reviews.findings]


def test_joints_in_another_order_are_said_once(samples, monkeypatch):
    """By a log line, and as long as reviews find it; then that they no longer do."""
    monkeypatch.setattr(reviews, "NICENESS", 0)      # other tests run beside this one
    node = Around(r2=0.2)
    found, = node.reviewed([reordered(sample, [3, 2, 1, 0]) for sample in samples])
    assert "joint_states.names to [axis_b, axis_c, axis_d, axis_e]" in found
    assert node.said == [found]
    node.reviews._take([finding_of(found)])
    assert node.said == [found]
    node.reviews._take([])
    assert node.said[1:] == [f"the last review no longer finds: {found}"]


def test_samples_that_are_learnt_again_replace_earlier_ones(samples):
    """And a jump of the clock drops everything."""
    node = Around()
    for sample in samples[:50]:
        node.reviews.add(sample)
    pairs = tuple((sample, reordered(sample, [1, 0, 2, 3])) for sample in samples[10:20])
    node.reviews.add(replace(samples[50], again=pairs))
    assert [sample.t for sample in node.reviews._samples] == [
        *(sample.t for sample in samples[10:20]), samples[50].t]
    assert node.reviews._samples[0].mu[0] == samples[10].mu[1]
    node.reviews.clear()
    assert not node.reviews._samples and node.reviews.findings is None


@pytest.mark.parametrize("period, due", [(20.0, True), (30.0, False), (0.0, False)])
def test_a_review_is_due_after_its_period_of_samples(period, due, samples, monkeypatch):
    """0: never."""
    asked, node = [], Around(period=period)
    monkeypatch.setattr(node.reviews._processes, "call", lambda function, request: (
        asked.append(request), SimpleNamespace(findings=[]))[1])
    node.reviews._inputs = node.inputs
    for sample in samples:
        node.reviews.add(sample)
    node.reviews._look()
    node.reviews._look()
    assert len(asked) == due
    if due:
        np.testing.assert_allclose(asked[0].seen.left, 0.001)
        # few large arrays, whose writing does not stop the other threads
        assert asked[0].columns["mu"].shape == (len(samples), 4)


def test_a_review_of_samples_that_were_dropped_meanwhile_counts_no_more(samples, monkeypatch):
    """A reset, a load or a jump of the clock begins anew."""
    node = Around()
    monkeypatch.setattr(node.reviews._processes, "call", lambda function, request: (
        node.reviews.clear(), SimpleNamespace(findings=[finding_of("robot.terms: drag")]))[1])
    node.reviews._inputs = node.inputs
    for sample in samples:
        node.reviews.add(sample)
    node.reviews._look()
    assert node.reviews.findings is None and node.said == []


def test_a_review_that_fails_costs_nothing_and_one_at_exit_ends_in_silence(samples):
    """The estimate goes on."""
    node = Around()
    node.reviews._failed(UvmsError("its process was ended by SIGKILL."))
    assert "could not be reviewed: its process was ended by SIGKILL. The estimate" in node.said[0]
    for sample in samples:
        node.reviews.add(sample)
    asked = threading.Event()
    seen = node.reviews._seen
    node.reviews._seen = lambda: (asked.set(), seen())[1]
    with node.running():
        assert asked.wait(10.0)
    assert len(node.said) == 1
