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

"""What an operator reads on /diagnostics: what happened, to what, since when, what to do."""
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.progress import ProgressRecord
from uvms_adaptive_dynamics.estimation.sample_check import Rejected
from uvms_adaptive_dynamics.estimation.snapshot import EstimatorSnapshot
from uvms_adaptive_dynamics.estimation.validity import Validity
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.sample import NO_THRUSTER
from uvms_adaptive_dynamics.ros.diagnostics import ERROR, OK, WARN, Diagnostics
from uvms_adaptive_dynamics.ros.recent_fit import RecentFit
from uvms_adaptive_dynamics.ros.worker import KnownFromData

PERIOD = 0.02
QUIET = EstimatorSnapshot(
    learn=True, t=5.0, status="optimal", solver="native", solver_counts={"active set": 100},
    failures=0, noise_stddev=np.ones(2), window_filled=100, changes=0, last_change="",
    started_from_file=False, parameters=None, progress=ProgressRecord(np.zeros(2), age=1000.0),
    trust=("ok", "ok"))


@pytest.fixture(scope="module")
def table():
    return RobotModel.from_config(Config()).table


def filled(scale=1.0, doubt=0.1):
    """Ten seconds of predictions; surge has residuals `scale` times as large as its intervals."""
    rng, recent = np.random.default_rng(0), RecentFit(("surge", "axis_e"), ("N", "N m"), PERIOD)
    for _ in range(500):
        predicted = rng.normal(size=2)
        measured = predicted + np.array([scale, 1.0]) * rng.normal(size=2)
        recent.add(SimpleNamespace(
            measured=measured, predicted=predicted, predicted_stddev=np.ones(2),
            noise_stddev=np.full(2, np.sqrt(1 - doubt)), valid=np.ones(2, bool)))
    return recent


class World:
    """A worker and a front end with state set by a test, and reports one second apart."""

    def __init__(self, table, fit=None, known_from="measured"):
        self.asked = 0
        self.worker = SimpleNamespace(
            snapshot=QUIET, knowledge=KnownFromData(62, (known_from,) * table.size, ()), skipped=0,
            out_of_time=0, exceptions=0, last_error="", backlog=0, solve_ms=[1.0, 2.0],
            update_ms=[2.0, 3.0], request_knowledge=self._ask)
        self.front_end = SimpleNamespace(status=lambda now: [], masked={}, ticks=0,
                                         inputs={}, resets={})
        self.topics, self.memory, self.namesakes = {}, None, ""
        self.validity = Validity("learning", True, "all channels learn")
        self.diagnostics = Diagnostics(Config(), table, self.worker, fit or filled(),
                                       lambda: self.validity)
        self.now, self.samples, self.dropped = 100.0, 50_000, {}

    def _ask(self):
        self.asked += 1

    def set(self, **fields):
        """Change the snapshot."""
        self.worker.snapshot = replace(self.worker.snapshot, **fields)

    def report(self):
        """Statuses by name, one second after the last report."""
        self.now, self.samples = self.now + 1.0, self.samples + 50
        self.front_end.ticks += 50
        found = self.diagnostics.statuses(self.front_end, self.now, self.samples, self.dropped,
                                          None, self.topics, self.memory, self.namesakes)
        return {status.name: status for status in found}


def test_a_state_that_is_not_saved_is_a_warning(table):
    """Without saving there is no such status."""
    world = World(table)
    assert "memory" not in world.report()
    world.memory = SimpleNamespace(folder="/data/boat", saves=3, error="")
    said = world.report()["memory"]
    assert said.level == OK and "/data/boat" in said.message and said.values == {"saves": 3}
    world.memory.error = "the state was not saved: no space left on device"
    said = world.report()
    assert said["memory"].level == said["overall"].level == WARN
    assert "no space left" in said["overall"].message


def test_another_node_of_the_name_is_a_warning(table):
    """Its messages mix with this node's, diagnostics included."""
    world = World(table)
    assert world.report()["node name"].level == OK
    world.namesakes = "2 nodes are called '/uvms_estimator'"
    assert world.report()["overall"].message.startswith("node name: 2 nodes are called")


def test_failure_is_said_as_on_the_status_topic(table):
    """Same judgement as on ~/status: state and trust among the values, the reason as an error."""
    world = World(table)
    values = world.report()["estimate"].values
    assert (values["state"], values["trusted"]) == ("learning", True)
    world.validity = Validity("failed", False, "the last 12 solves failed")
    found = world.report()
    assert (found["estimate"].level, found["estimate"].message) == (ERROR,
                                                                    "the last 12 solves failed")
    assert found["overall"].level == ERROR


def test_a_healthy_node_is_ok(table):
    """All statuses OK; R^2, coverage, width and NLL per channel; rank; solve times."""
    world = World(table)
    world.report()
    found = world.report()
    assert {status.level for status in found.values()} == {OK}
    assert found["overall"].message == "estimating"
    assert {"surge R^2", "surge coverage", "surge width [N]", "surge NLL [nats]",
            "axis_e width [N m]"} <= set(found["predictions"].values)
    assert found["estimate"].values["identifiable rank"] == 62
    assert found["solver"].values["solve median [ms]"] == 1.5
    assert found["solver"].values["active set"] == 100
    assert world.asked == 2


def test_before_anything_is_known_it_says_so(table):
    """Without samples, solves and knowledge there is no warning and no undefined figure."""
    world = World(table, RecentFit(("surge",), ("N",), PERIOD))
    world.worker.knowledge = None
    world.worker.solve_ms = []
    world.set(t=None, status="")
    world.samples = -50     # and the report adds 50
    found = world.report()
    assert found["overall"].message.startswith("no sample yet")
    assert found["estimate"].message == "no estimate yet: the prior is in use"
    assert found["estimate"].values["identifiable rank"] == "-"
    assert "solve median [ms]" not in found["solver"].values


def test_disabled_is_said_with_the_way_back(table):
    """The message says how to resume."""
    world = World(table)
    world.set(learn=False)
    assert "~/enable with true" in world.report()["overall"].message


def test_bad_predictions_and_unknown_blocks_are_warned_of(table):
    """Warns of intervals that fail and of parameters known only from the prior; the overall status
    shows the worst."""
    world = World(table, filled(scale=3.0), known_from="prior")
    found = world.report()
    assert found["predictions"].level == found["estimate"].level == found["overall"].level == WARN
    assert "surge" in found["predictions"].message
    assert "vehicle damping" in found["estimate"].message
    assert found["estimate"].values["links"].startswith("links of axis_e")


def test_a_channel_that_is_left_out_is_not_warned_of(table):
    """No thruster can move such an axis more."""
    world = World(table, filled(scale=3.0))
    assert world.report()["predictions"].level == WARN
    world.set(trust=(NO_THRUSTER, "ok"))
    assert world.report()["predictions"].level == OK


def test_a_loaded_estimate_is_not_called_unknown(table):
    """After loading a file, known_from does not reflect the file's knowledge."""
    world = World(table, known_from="prior")
    world.set(started_from_file=True)
    assert world.report()["estimate"].level == OK


def test_a_change_of_the_robot_is_reported_once_in_the_estimators_words(table):
    """WARN in the next report only; count and message stay among the values."""
    sentence = "axis_b link: dynamics changed at 67.0 s (payload?); re-estimating"
    world = World(table)
    world.report()
    world.set(changes=1, last_change=sentence)
    found = world.report()
    assert found["estimate"].level == found["overall"].level == WARN
    assert found["estimate"].message == sentence and sentence in found["overall"].message
    found = world.report()
    assert found["estimate"].level == OK
    assert found["estimate"].values["changes of the robot"] == 1
    assert found["estimate"].values["last change"] == sentence


def test_late_solves_are_counted_and_said_in_plain_words(table):
    """The message gives count, total, reason, effect and advice; a few late solves are no
    warning."""
    world = World(table)
    world.report()
    world.worker.skipped, world.worker.out_of_time = 3, 1
    found = world.report()["solver"]
    assert found.level == OK and world.diagnostics.late == ""
    world.worker.skipped = 30
    found = world.report()["solver"]
    assert found.level == WARN and found.message == world.diagnostics.late
    for words in ("30 solves skipped because newer samples were waiting", "1 solves stopped by "
                  "estimation.deadline", "of the last 100 samples", "all samples are still used",
                  "estimation.horizon"):
        assert words in found.message
    assert found.values["skipped solves"] == 30 and found.values["solves out of time"] == 1
    for _ in range(10):
        found = world.report()["solver"]
    assert found.level == OK and world.diagnostics.late == ""


def test_failed_solves_and_exceptions_are_errors(table):
    """The message says what is used meanwhile, and what to do."""
    world = World(table)
    world.report()
    world.set(failures=4)
    found = world.report()["solver"]
    assert found.level == ERROR and found.message.startswith("4 solves failed")
    assert "last good estimate stays in use" in found.message and "~/reset" in found.message
    world.worker.exceptions, world.worker.last_error = 1, "ZeroDivisionError: division by zero"
    found = world.report()["solver"]
    assert found.level == ERROR and "ZeroDivisionError" in found.message


def test_a_recovery_is_reported(table):
    """The operator learns that the estimator has recovered by itself."""
    world = World(table)
    world.report()
    world.set(recoveries=1)
    found = world.report()["estimate"]
    assert found.level == WARN and "re-estimating (1 times so far)" in found.message
    assert world.report()["estimate"].level == OK


def inputs(received, rejected=(), doubted=()):
    return {"imu": SimpleNamespace(received=received, rejected=Counter(dict(rejected)),
                                   doubted=Counter(dict(doubted)))}


def test_what_was_refused_is_told_from_what_was_doubted(table):
    """Refused messages and doubted single values each have their reasons, over the last reports,
    from front end, node and estimator."""
    world = World(table)
    world.report()
    world.front_end.inputs = inputs(100, {"not finite": 2}, {"spike": 5})
    world.dropped = {"dvl: ValueError": 1, "never": 0}
    world.set(rejected=Rejected(implausible=5, unknown_attitude=3, repeated_stamps=7))
    found = world.report()
    said, doubted = found["refused messages"], found["doubted values"]
    for words in ("imu: not finite 2", "dvl: ValueError 1", "implausible rows 5",
                  "samples with a repeated stamp 7", "rows of an unknown attitude 3"):
        assert words in said.message
    assert "never" not in said.values and "spike" not in said.message
    assert doubted.message.endswith("imu: spike 5")
    for _ in range(10):
        found = world.report()
    assert found["refused messages"].message == found["doubted values"].message == "none recently"


def test_single_bad_messages_are_no_reason_to_act_and_many_are(table):
    """Warns from a tenth of an input's messages on."""
    world = World(table)
    world.front_end.inputs = inputs(100, {"not finite": 20})
    assert world.report()["refused messages"].level == OK
    world.front_end.inputs = inputs(200, {"not finite": 41}, {"spike": 12})
    found = world.report()
    assert found["refused messages"].level == found["overall"].level == WARN
    assert found["doubted values"].level == OK


def test_diagnostics_stay_small_whatever_comes(table):
    """Of a thousand reasons only some are listed."""
    world = World(table)
    world.dropped = {f"imu: reason {k}": 1 for k in range(1000)}
    said = world.report()["refused messages"]
    assert len(said.values) < 50 and len(said.message) < 2000


def topic(publishers=(), several=""):
    return SimpleNamespace(topic="/imu/data", several=several, why_silent="no publisher",
                           figures=lambda: {"publishers": ", ".join(publishers)})


def test_an_input_that_has_not_come_yet_is_waited_for_first(table):
    """No error in the first seconds; then an error with what the graph knows about publishers."""
    world = World(table)
    world.front_end.status = lambda now: [(ERROR, "input imu", "no message yet",
                                           {"received": "0"})]
    world.topics = {"imu": topic()}
    first = world.report()
    assert first["input imu"].level == first["overall"].level == OK
    assert first["input imu"].message == "waiting for the first message on '/imu/data'"
    for _ in range(6):
        found = world.report()["input imu"]
    assert found.level == ERROR and found.message == "no message yet: no publisher"


def test_two_publishers_on_an_input_are_a_warning_with_their_names(table):
    """Topic, type and QoS are among the values."""
    world = World(table)
    world.front_end.status = lambda now: [(OK, "input imu", "9 messages used", {"received": "9"})]
    world.topics = {"imu": topic(["/driver (reliable)", "/other (reliable)"], "2 publishers: a, b")}
    found = world.report()["input imu"]
    assert found.level == WARN and found.message == "2 publishers: a, b"
    assert found.values["publishers"] == "/driver (reliable), /other (reliable)"


def test_doubt_is_no_warning_while_the_robot_is_new(table):
    """In the first minutes of learning, uncertain parameters, blocks and channels are no warning; a
    wrong channel is reported at once."""
    world = World(table, filled(doubt=0.5), known_from="prior")
    world.set(trust=("doubtful", "ok"), trust_cause="surge alone doubtful",
              progress=ProgressRecord(np.zeros(2), age=60.0))    # as after a reset
    found = world.report()
    assert found["overall"].level == OK
    assert all(found[name].message.startswith("learning: ")
               for name in ("estimate", "predictions", "trust"))
    world.set(trust=("wrong", "ok"), trust_cause="surge alone wrong")
    assert world.report()["trust"].level == ERROR
    world.set(trust=("doubtful", "ok"), trust_cause="surge alone doubtful",
              progress=ProgressRecord(np.zeros(2), age=1000.0))
    found = world.report()
    assert {found[name].level for name in ("estimate", "predictions", "trust")} == {WARN}


def test_how_long_a_warning_lasts_is_said(table):
    """Each warning has its duration; a backward time jump makes it zero."""
    world = World(table, filled(scale=3.0))
    assert world.report()["predictions"].values["lasts [s]"] == 0.0
    world.report()
    found = world.report()
    assert found["predictions"].values["lasts [s]"] == 2.0
    assert found["overall"].message.endswith("(for 2 s)")
    world.now = 5.0
    assert world.report()["predictions"].values["lasts [s]"] == 0.0


def test_masked_channels_are_named_with_their_reason(table):
    """A parked arm gives no warning; a DVL without lock does."""
    world = World(table)
    for _ in range(3):
        world.report()
    world.front_end.masked = {"surge": {"no dvl": 150}, "axis_e": {"joint at rest": 150}}
    found = world.report()["masked rows"]
    assert found.level == WARN and "no dvl (surge)" in found.message
    assert "axis_e" not in found.message
    assert found.values["axis_e"] == "100% (joint at rest 150)"
    world.front_end.masked = {channel: {"no imu": 200} for channel in ("surge", "axis_e")}
    assert "no imu (all)" in world.report()["masked rows"].message


def test_the_share_of_masked_ticks_is_of_all_ticks(table):
    """Also while sensors are so silent that hardly any tick becomes a sample."""
    world = World(table)
    for _ in range(12):
        world.report()
    world.samples -= 50     # no sample in this second
    masked = {"no imu": 50, "no dvl": 25}
    world.front_end.masked = {"surge": masked, "axis_e": {"no imu": 50}}
    values = world.report()["masked rows"].values
    assert values["surge"] == "15% (no imu 50, no dvl 25)"      # of ten seconds
    assert values["axis_e"] == "10% (no imu 50)"


def test_trust_says_which_channel_and_what_is_likely(table):
    """A wrong channel is an error with its likely cause; an implausible value is a warning."""
    world = World(table)
    assert world.report()["trust"].level == OK
    world.worker.knowledge = KnownFromData(62, ("measured",) * table.size, (),
                                           ("surge: too light",))
    assert world.report()["trust"][:3:2] == (WARN, "surge: too light")
    world.set(trust=("wrong", "ok"), trust_cause="surge alone wrong")
    status = world.report()["trust"]
    assert status.level == ERROR and status.message.startswith("surge alone wrong")
    assert status.values["surge"] == "wrong" and status.values["axis_e"] == "ok"
