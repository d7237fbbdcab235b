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

"""What a run keeps of what is said while it goes on."""
from types import SimpleNamespace

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.evaluation.run_recorder import RunRecorder
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.linear_data import linear_samples
from uvms_adaptive_dynamics.uncertainty.trust_cause import LostTrust

FINE = LostTrust("", frozenset())


def followed(said):
    """The sentences kept of these, a second apart."""
    state = SimpleNamespace(lost=FINE)
    findings = SimpleNamespace(lost_trust=lambda: state.lost,
                               trust_cause=lambda: state.lost.sentence)
    estimator = SimpleNamespace(findings=findings, add=lambda sample: None, solver_failures=0,
                                changes=0)
    recorder = RunRecorder(estimator, RobotModel.from_config(Config()), False, None, 10)
    for t, lost in enumerate(said):
        state.lost = lost
        recorder.add_samples([SimpleNamespace(t=float(t))], 0)
    return [one.sentence for one in recorder.trust_findings()]


def test_lost_trust_is_told_when_it_is_about_something_new():
    """Neither other figures nor other words for the same channel are news; a cause is."""
    surge = frozenset(["surge"])
    assert followed([
        FINE, LostTrust("roll doubtful", frozenset()), LostTrust("surge wrong", surge),
        LostTrust("surge wrong (measured effort is 0.31 +- 0.05 times predicted)", surge),
        LostTrust("surge wrong; yaw doubtful", surge), FINE,
        LostTrust("surge wrong because of dvl.frame", frozenset(["dvl.frame"])),
        LostTrust("surge wrong", surge), LostTrust("roll doubtful", frozenset())]) == [
        "from 2.0 s: surge wrong", "from 6.0 s: surge wrong because of dvl.frame",
        "at the end: roll doubtful"]


def test_rows_that_were_learnt_from_are_no_test():
    """Of frozen parameters: the same recording, wherever it begins, but not another one of the same
    times. A saved estimate that was good "on rows never learnt from" had learnt from all of them.
    """
    config = Config().with_values({"estimation.horizon": 20})
    robot = RobotModel.from_config(config)
    pi = prior_from_config(config, robot).values
    dive, another = (list(linear_samples(config, robot, pi, 32.0, seed)) for seed in (1, 2))
    first = Estimator(config, robot=robot)
    for sample in dive:
        first.add(sample)

    def seen(samples):
        frozen = Estimator(config, first.parameter_set(), robot, learn=False)
        recorder = RunRecorder(frozen, robot, True, None, 10)
        recorder.add_samples(samples, 0)
        assert frozen.parameter_set().learned["spans"] == first.parameter_set().learned["spans"]
        return recorder.seen

    (whole,), (part,) = seen(dive), seen([sample for sample in dive if sample.t > dive[0].t + 8.0])
    assert "no test" in whole.sentence and whole.code == "learned" and whole.t_s == 0.0
    assert part.sentence == whole.sentence
    assert seen(another) == []


def test_what_is_wrong_at_the_end_is_not_said_twice():
    wrong = LostTrust("surge wrong", frozenset(["surge"]))
    assert followed([wrong, FINE]) == followed([FINE, wrong][::-1]) == ["from 0.0 s: surge wrong"]
    assert followed([FINE, wrong]) == ["from 1.0 s: surge wrong"]
