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

"""The verdict and its statement: each cause lowers the verdict, and nothing else does."""
import json
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.metrics import channel_metrics
from uvms_adaptive_dynamics.model.parameter_set import ParameterSet
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.sample import BY_SETTING, FILTERS_START, NO_THRUSTER
from uvms_adaptive_dynamics.uncertainty.answer import GOOD, NOT_USABLE, USABLE
from uvms_adaptive_dynamics.uncertainty.evidence import ChannelEvidence, Evidence, finding_of
from uvms_adaptive_dynamics.uncertainty.statement import statement
from uvms_adaptive_dynamics.uncertainty.verdict import verdict

ROBOT = RobotModel.from_config(Config())
TABLE = ROBOT.table
MEASURED = ("measured",) * TABLE.size


def channel(unexplained=0.01, width=1.0, **values):
    """A channel whose effort has power 1, of which `unexplained` is left; its intervals are `width`
    times the right width."""
    rng = np.random.default_rng(0)
    measured = rng.normal(size=2000)
    error = np.sqrt(unexplained) * rng.normal(size=measured.size)
    figures = channel_metrics(measured, measured + error,
                              np.full(measured.size, width * np.sqrt(unexplained)),
                              np.ones(measured.size, bool), "N")
    given = dict(figures=figures, seconds=40.0, masked={}, rows=2000, trust="ok", moved=True)
    return ChannelEvidence(**{**given, **values})


def evidence(changed=None, **values):
    """Good evidence except for the `changed` channels and `values`."""
    channels = {name: channel() for name in ROBOT.channels}
    given = Evidence({**channels, **(changed or {})}, "all rows", True, TABLE, MEASURED, [], 0,
                     2.0, 20.0)
    return replace(given, **values)


def test_nothing_wrong_is_good():
    """No reason speaks against it."""
    judged = verdict(evidence())
    assert judged.word == GOOD and judged.reasons == ()
    assert all(answer.verdict == GOOD for answer in judged.answers)


@pytest.mark.parametrize("changed, word, said", [
    (channel(0.2), USABLE, "20% of the effort's power"),
    (channel(0.7), NOT_USABLE, "wrong sensor, sign, order"),
    (channel(0.7, moved=False), USABLE, "hardly moved"),
    (channel(trust="wrong"), NOT_USABLE, "more than noise can explain"),
    (channel(trust="doubtful"), USABLE, "doubtful"),
    (channel(width=0.75), USABLE, "the 95 % intervals cover"),
    (channel(width=0.4), NOT_USABLE, "the 95 % intervals cover"),
    (channel(0.09, width=3.0), USABLE, "3.0 times as wide"),
    (channel(0.01, width=2.9), GOOD, ""),    # wide, but little of the effort
    (channel(seconds=1.0), USABLE, "less than 3 s of motion"),
    (channel(masked={"no dvl": 1500}), USABLE, "masked 75% of the time"),
    (channel(masked={"joint at rest": 1500}), GOOD, ""),
    (channel(masked={BY_SETTING: 2000}, seconds=0.0), GOOD, ""),
    (channel(0.7, trust="doubtful", unused=NO_THRUSTER), GOOD, "")])
def test_one_channel_turns_it(changed, word, said):
    """A channel that is unexplained, wrong, badly calibrated, silent or masked."""
    judged = verdict(evidence({"axis_d": changed}))
    assert judged.word == word
    assert (word == GOOD) == (judged.reasons == ())
    assert said in " ".join(judged.reasons) and ("axis_d" in " ".join(judged.reasons)) == bool(said)


def test_an_axis_whose_effort_and_errors_are_nothing_is_not_blamed():
    """A vehicle that keeps its station: .01 N of thrust, "100 % unexplained: a wrong sensor, sign,
    order". It counts if the error matters though the effort does not, or if it is explained."""
    idle = channel(0.95, trust="wrong", width=0.3, negligible=1.5)
    judged = verdict(evidence({name: idle for name in ROBOT.channels[:6]}))
    assert judged.word == USABLE and len(judged.reasons) == 1
    assert judged.reasons[0].startswith("not judged: surge, sway, heave, roll, pitch, yaw (effort "
                                        "and errors below 1.5 N, too little to judge")
    assert verdict(evidence({"surge": channel(3.0, negligible=1.5)})).word == NOT_USABLE
    assert verdict(evidence({"surge": channel(0.95, negligible=0.9)})).word == NOT_USABLE
    assert verdict(evidence({"surge": channel(0.01, negligible=1.5)})).word == GOOD
    assert verdict(evidence({name: idle for name in ROBOT.channels})).word == NOT_USABLE


@pytest.mark.parametrize("name, factor, noise, learnt, said", [
    ("heave", 0.96, 0.02, False, "Without a constant factor on the thrust, as of a battery"),
    ("heave", 0.96, 0.05, False, "the robot or its motion differs"),
    ("heave", 1.0, 0.05, False, "the robot or its motion differs"),
    ("heave", 0.01, 0.005, False, "the robot or its motion differs"),
    ("axis_d", 0.96, 0.02, False, "the robot or its motion differs"),
    ("heave", 0.96, 0.02, True, "widen with more and livelier motion")])
def test_thrust_that_has_fallen_since_it_was_learnt_is_told(name, factor, noise, learnt, said):
    """Held-out rows of simulated robots whose battery falls by .8 V were covered to 86 to 89 % (.96
    times the thrust), to 94 % and more with a constant voltage."""
    rng = np.random.default_rng(0)
    measured, ones = rng.normal(size=2000), np.ones(2000)
    measured -= measured.mean()
    figures = channel_metrics(measured, factor * measured + noise * rng.normal(size=2000),
                              0.025 * ones, ones.astype(bool), "N")
    judged = verdict(evidence({name: channel(figures=figures)}, learnt=learnt))
    assert sum(said in reason for reason in judged.reasons) == 1
    assert sum("95 % intervals cover" in reason for reason in judged.reasons) == 1


def test_channels_that_are_left_out_are_named_with_their_reason():
    """That is no reason against the estimate, unless no channel is left."""
    idle = channel(unused=NO_THRUSTER)
    judged = verdict(evidence({"roll": idle, "pitch": idle, "axis_d": channel(unused=BY_SETTING)}))
    assert judged.word == GOOD
    assert ("on 7 of 10 channels (roll, pitch: no thruster acts on it; axis_d: effort masked by "
            "setting)" in judged.answers[0].sentence)
    none = verdict(evidence({name: idle for name in ROBOT.channels}))
    assert none.word == NOT_USABLE and "no thruster acts on it" in " ".join(none.reasons)


def test_channels_with_the_same_reason_share_it():
    """With a figure for each; advice on a channel of its own stays apart."""
    changed = {"roll": channel(0.7), "yaw": channel(0.8), "axis_d": channel(width=0.75),
               "axis_c": channel(width=0.75), "pitch": channel(0.7)}
    reasons = verdict(evidence(changed, explained={"pitch": "trim"})).reasons
    assert sum("roll, yaw: 69%, 79% of the effort's power is unexplained" in one
               for one in reasons) == 1
    assert any(one.startswith("pitch: 69%") and one.endswith("; trim") for one in reasons)
    assert sum("the 95 % intervals cover only" in one for one in reasons) == 1


def test_what_explains_the_rest_widens_frozen_intervals():
    """Learning more by the same model does not; if much is left, that is told once, as a bad
    fit."""
    found = {"yaw": "drag explains 90% of it"}
    narrow, = verdict(evidence({"yaw": channel(0.07, width=0.75)}, learnt=False,
                               explained=found)).reasons
    assert narrow.endswith("7% of the effort's power is unexplained; drag explains 90% of it")
    both = verdict(evidence({"yaw": channel(0.3, width=0.75)}, learnt=False,
                            explained=found)).reasons
    assert sum("drag explains" in reason for reason in both) == 1 and len(both) == 2


@pytest.mark.parametrize("name, settings, said", [
    ("roll", {}, "(a tether, a current, waves, mass ahead or astern of the vehicle's origin, "
                 "damping across the vehicle's axes, drag of the links)"),
    ("roll", {"robot.terms": ["off_axis_damping", "link_drag"]},
     "(a tether, a current, waves, mass ahead or astern of the vehicle's origin)"),
    ("axis_d", {}, "(drag of the links)"),
    ("axis_d", {"robot.terms": ["link_drag"]}, "lacks, some of which the command terms tries")])
def test_effects_that_the_model_lacks_are_possible_causes(name, settings, said):
    """Those of the channel that this robot's terms leave out."""
    robot = RobotModel.from_config(Config().with_values(settings))
    reason, = verdict(evidence({name: channel(0.2)}, table=robot.table,
                               known_from=("measured",) * robot.table.size)).reasons
    assert said in reason and "too little motion" in reason


@pytest.mark.parametrize("values, word, said", [
    ({"findings": [finding_of("dvl.frame: mirrored; set it to 'flu'")]}, USABLE, "dvl.frame"),
    ({"findings": [finding_of("imu: its clock is 5 s ahead; corrected")]}, GOOD, ""),
    ({"findings": [finding_of("robot.dry_mass: surge is too light")]}, USABLE, "too light"),
    ({"violations": 3}, NOT_USABLE, "outside the physical set"),
    ({"update_ms": 30.0}, USABLE, "30.0 ms"),
    ({"update_ms": None}, GOOD, ""),
    ({"known_from": ()}, USABLE, "save them again")])
def test_what_concerns_all_turns_it(values, word, said):
    """Settings, masses, the physical set, update time, and parameters without `known_from`."""
    judged = verdict(evidence(**values))
    assert judged.word == word and said in " ".join(judged.reasons)


def test_recordings_too_short_to_compare_sensors_are_usable_at_best():
    """A wrong scale of the DVL, which the parameters follow, fits as well as a right one."""
    judged = verdict(evidence(uncompared="too short"))
    assert judged.word == USABLE and judged.reasons == ("too short",)
    found = verdict(evidence(uncompared="too short", findings=[finding_of("dvl.frame: mirrored")]))
    assert found.reasons == ("dvl.frame: mirrored",)


@pytest.mark.parametrize("learnt, rows, said", [
    (True, 330, "too short: 6 s after the filters' start are needed, and there are 5.6 s"),
    (True, 400, "less than 3 s of"), (False, 330, "less than 3 s of")])
def test_a_recording_that_is_too_short_is_not_blamed_for_its_rows(learnt, rows, said):
    """Half of what is learnt from is judged."""
    short = channel(seconds=2.0, masked={FILTERS_START: 50, "no dvl": 10}, rows=rows)
    judged = verdict(evidence(dict.fromkeys(ROBOT.channels, short), learnt=learnt))
    assert said in judged.reasons[0]


def test_a_wrong_setting_and_an_effort_unexplained_are_not_usable():
    """Either alone is usable if the channel hardly moved."""
    wrong = [finding_of("thrusters.allocation: 2 and 3 swapped")]
    hardly = {"surge": channel(0.7, moved=False)}
    assert verdict(evidence(hardly)).word == USABLE == verdict(evidence(findings=wrong)).word
    both = verdict(evidence(hardly, findings=wrong))
    assert both.word == NOT_USABLE
    assert both.reasons[0] == wrong[0].sentence and len(both.reasons) > 1     # the cause first


def test_most_channels_silent_is_not_usable():
    """The reason names their mask once."""
    silent = channel(seconds=0.0, masked={"no dvl": 2000})
    judged = verdict(evidence(dict.fromkeys(ROBOT.channels[:6], silent)))
    assert judged.word == NOT_USABLE
    assert "surge, sway, heave, roll, pitch, yaw (masked for 'no dvl')" in judged.reasons[0]


def test_what_is_behind_a_mask_is_named():
    """Six commands for eight thrusters mask all rows of the vehicle, and the verdict says so."""
    silent = channel(seconds=0.0, masked={"no thruster command": 2000})
    judged = verdict(evidence(dict.fromkeys(ROBOT.channels[:6], silent), remedies={
        "no thruster command": "got 6 commands, expected 8 (thrusters.allocation)"}))
    assert any("got 6 commands, expected 8" in reason for reason in judged.reasons)


@pytest.mark.parametrize("learnt, said", [(True, "They widen with more and livelier"),
                                          (False, "Frozen intervals do not widen")])
def test_narrow_intervals_grow_where_something_is_learnt(learnt, said):
    """No motion widens the intervals of frozen parameters."""
    judged = verdict(evidence({"surge": channel(width=0.3)}, learnt=learnt))
    found = [reason for reason in judged.reasons if "95 % intervals" in reason]
    assert len(found) == 1 and said in found[0]


SILENT = {"r2": None}


@pytest.mark.parametrize("values, said", [
    ({"masked": {"no dvl": 600, "no imu": 700}}, "masked for 'no imu'"),
    ({"masked": {"no dvl": 600}, "counted": 900}, "masked for 'no dvl'"),    # and rows next to them
    ({"masked": {"no dvl": 60}, "counted": 90}, "outliers or next to masked rows"),
    ({"masked": {}, "counted": 90, "beyond": "values reach 5e+03, beyond"}, "implausible: values"),
    ({"masked": {"no dvl": 600}}, "less than 3 s of motion"),
    ({"masked": {}, "moved": False}, "less than 3 s of rows"),
    ({"masked": {"no dvl": 600}, "seconds": 26.0, "figures": SILENT}, "effort varies by less")])
def test_why_a_channel_is_not_judged_is_what_costs_it_most(values, said):
    """Masks, rows next to masked ones, too little motion, a short recording, or a constant effort.
    """
    silent = channel(**{"seconds": 1.0, **values})
    judged = verdict(evidence({"axis_d": silent}))
    assert judged.word == USABLE and said in judged.reasons[0], judged.reasons


def test_what_was_not_judged_is_not_called_good():
    """Without a judged channel the verdict does not call the intervals calibrated."""
    silent = {name: channel(seconds=1.0) for name in ROBOT.channels}
    judged = {answer.question: answer for answer in verdict(evidence(silent)).answers}
    assert judged["Does it fit?"].verdict == NOT_USABLE
    assert judged["Is it calibrated?"].verdict == USABLE
    assert judged["Is it calibrated?"].sentence == "nothing could be judged"


def test_unmeasured_parts_are_named_with_the_motion_that_shows_them():
    """They are named in the verdict and in the statement's list."""
    words = np.array(MEASURED, object)
    words[TABLE.parts["vehicle restoring"]] = "prior"
    words[TABLE.parts["axis_c link"]] = "prior"
    given = evidence(known_from=tuple(words))
    said = statement(given, parameters(tuple(words)), "dive 7")
    assert said.verdict.word == USABLE and "Tilt to several angles" in said.verdict.reasons[0]
    assert [one.part for one in said.missing] == ["vehicle restoring",
                                                  "axis_c link (single values)"]
    assert "Move axis_c" in said.missing[1].motion


def test_a_change_of_the_robot_that_stands_comes_first_and_is_no_fault():
    """A payload is no error of the estimate, but the operator may not know of it."""
    said = statement(evidence(), parameters(), "dive 7", change="axis_b link: dynamics changed")
    assert said.verdict.word == GOOD and len(said.next) == 2
    assert said.next[0].startswith("axis_b link: dynamics changed. The estimate describes")


def test_a_finding_on_a_sensor_is_no_wrong_setting_but_is_not_denied():
    """A depth sensor that is stuck costs no row; "no check found a fault" would be wrong."""
    judged = verdict(evidence(findings=(finding_of("depth: it does not follow"),)))
    (answer,) = [one for one in judged.answers if "settings" in one.question]
    assert judged.word == GOOD and "no setting is wrong; what was found on depth" in answer.sentence


def parameters(words=MEASURED):
    """A parameter set with intervals and a combination."""
    values = np.linspace(-1.0, 1.0, TABLE.size)
    return ParameterSet(TABLE.names, values, known_from=words,
                        intervals=np.stack([values - 0.5, values + 0.5]), identifiability={
                            "combinations": {"W - B": {"value": -0.7, "stddev": 0.1}}})


def test_the_statement_begins_with_the_answer_and_holds_everything():
    """The text has the verdict in its title and all parameters; the document has plain types."""
    said = statement(evidence(), parameters(), "dive 7", "/data/statement.yaml", ("changed once",))
    text, document = said.text(), json.loads(json.dumps(said.document()))
    assert text.startswith("# Good: dive 7") and "R²" in text and "changed once" in text
    assert all(f"| {name} |" in text for name in TABLE.names)
    assert "prior.file: /data/statement.yaml" in text
    assert document["verdict"]["word"] == GOOD and document["next_dive"] == "/data/statement.yaml"
    assert document["combinations"][0]["name"] == "W - B"
    low, high = (document["combinations"][0][key] for key in ("low", "high"))
    assert (low + high) / 2 == pytest.approx(-0.7) and high - low == pytest.approx(0.392, abs=1e-3)
    assert len(document["parameters"]) == TABLE.size
    assert set(document["channels"]) == set(ROBOT.channels)


@pytest.mark.parametrize("share, word", [(0.02, GOOD), (0.2, USABLE)])
def test_what_was_held_out_bounds_the_verdict(share, word):
    """A page was headed "Good" although the part that was held out was not."""
    own = statement(evidence(), ParameterSet(TABLE.names, np.zeros(TABLE.size)), "dive")
    tested = statement(evidence({"surge": channel(share)}, which="rows", learnt=False),
                       ParameterSet(TABLE.names, np.zeros(TABLE.size)), "dive")
    both = own.with_held_out(tested, "held_out/")
    assert (own.verdict.word, tested.verdict.word, both.verdict.word) == (GOOD, word, word)
    (answer,) = [each for each in both.verdict.answers if "held out" in each.question]
    assert answer.verdict == word and "R^2 is at least" in answer.sentence
    if word == GOOD:
        assert both.next == own.next and answer.reasons == ()
    else:
        assert both.next == answer.reasons and "surge" in both.next[0]


def test_a_failing_estimator_is_not_usable():
    """However well the rows before were explained."""
    made = verdict(evidence(failed="the last 12 solves failed"))
    assert made.word == NOT_USABLE
    assert any("the last 12 solves failed" in reason for answer in made.answers
               for reason in answer.reasons)


def test_what_checks_tell_without_a_fault_is_told():
    """Beside the answer on sensors and settings, and it does not count against the estimate."""
    judged = verdict(evidence(facts=("the arm shows it",)))
    (answer,) = [one for one in judged.answers if "settings" in one.question]
    assert answer.sentence == "no check found a fault; the arm shows it"
    assert answer.verdict == judged.word == GOOD
