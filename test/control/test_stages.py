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

"""Schedules: the shipped ones on robots of every kind, custom ones, and refusals."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config.excitation import Excitation
from uvms_adaptive_dynamics.control.stages import load_schedule, shipped
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.model.parameters import VEHICLE_PARAMETERS, ParameterTable

JOINTS = ("shoulder", "elbow", "wrist")


def table_of(vehicle=True, joints=JOINTS, **options):
    n = len(joints)
    return ParameterTable(vehicle, tuple(joints), (False,) * n, (1.0,) * n, (.3,) * n, **options)


TABLES = {
    "both": table_of(), "arm": table_of(vehicle=False), "vehicle": table_of(joints=()),
    "options": table_of(terms=("rotor", "vehicle_offsets", "joint_offsets")),
    "names": table_of(joints=("yaw", "a.b")), "one": table_of(vehicle=False, joints=("only",))}


def written(tmp_path, text):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("name", shipped())
def test_a_shipped_schedule_fits_every_robot_or_says_why_not(name, kind):
    """Stages name existing parameters and channels, and free something; inapplicable parts are left
    out with a note."""
    table = TABLES[kind]
    if (name, kind) in (("vehicle", "arm"), ("vehicle", "one"),
                        ("arm_distal_to_proximal", "vehicle")):
        with pytest.raises(ConfigError, match="no stage for this robot: stage"):
            load_schedule(name, table)
        return
    schedule = load_schedule(name, table)
    for stage in schedule.stages:
        assert stage.free and set(stage.free) | set(stage.kept) <= set(table.names)
        assert not set(stage.free) & set(stage.kept)
    freed = {one for stage in schedule.stages for one in stage.free}
    assert (freed != set(table.names)) == any("no stage frees" in note for note in schedule.notes)
    if kind == "both" and name in ("guided", "paper", "all_at_once"):
        assert schedule.notes == ()
    if kind == "options" and name in ("guided", "paper", "all_at_once", "vehicle"):
        assert set(table.names[:table.vehicle_slice.stop]) <= freed


def test_the_papers_two():
    """The arm goes from tip to base, the vehicle from least to most coupled, each stage alone;
    together they free all of the paper's parameters."""
    table = table_of()
    stages = load_schedule("paper", table).stages
    assert [stage.name for stage in stages] == [
        "wrist", "elbow", "shoulder", "yaw_heave", "roll_pitch", "couplings", "restoring"]
    assert all(stage.kept == () for stage in stages)
    assert stages[0].move == ("wrist",) and stages[-1].kind == "tilt"
    assert sum((stage.free for stage in stages), ()).__len__() == len(VEHICLE_PARAMETERS) + 36
    assert {name for stage in stages for name in stage.free} == set(table.names)


def test_guided_frees_everything_and_freezes_nothing_again():
    table, before = TABLES["options"], set()
    for stage in load_schedule("guided", table).stages:
        now = set(stage.free) | set(stage.kept)
        assert before <= now
        before = now
    assert before == set(table.names)


def test_guided_ends_with_more_than_one_motion_of_everything():
    """What the model lacks looks different in each motion: one alone left R² on others by chance.
    All stages together still take ten minutes at most."""
    stages = load_schedule("guided", TABLES["both"]).stages
    assert stages[-1].at_least > Excitation().duration
    assert sum(stage.at_most for stage in stages) <= 600.0


def test_frozen_by_settings_is_left_out():
    stages = load_schedule("arm_distal_to_proximal", table_of(), frozen=["elbow.*", "wrist.m"])
    assert [stage.name for stage in stages.stages] == ["wrist", "shoulder"]
    assert "wrist.m" not in stages.stages[0].free
    assert stages.notes[0] == ("stage 'elbow' is left out: estimation.frozen freezes all its "
                               "parameters")
    assert "no stage frees m_X_du, m_Y_dv" in stages.notes[1] and "27 of 63" in stages.notes[1]


def test_ones_own(tmp_path):
    """A custom schedule can have patterns, exceptions, kept parameters, widths and numbers; a joint
    named like a vehicle channel moves its own channel."""
    path = written(tmp_path, """
stages:
  - {name: a, title: first, free: ["*", "!*.*", "!W"], move: [vehicle, "!"], at_least: 3, left: 0.1}
""".replace(', "!"', ""))
    table = TABLES["names"]
    one = load_schedule(path, table).stages[0]
    assert "W" not in one.free and len(one.free) == len(VEHICLE_PARAMETERS) - 1
    assert one.at_least == 3 and one.left == .1 and len(one.move) == 6
    path = written(tmp_path, """
stages:
  - {name: "{joint}", for_each_joint: base_first, title: "{joint}", free: ["{joint}.f?"],
     move: ["{joint}"], keep: true, intervals: {"{joint}.fv": 0.5}}
""")
    first, second = load_schedule(path, table).stages
    assert (first.name, first.move, second.move) == ("yaw", ("joint.yaw",), ("a.b",))
    assert second.kept == ("yaw.fv", "yaw.fs") and second.intervals == {"a.b.fv": .5}


def one(**values):
    entry = {"name": "a", "title": "b", "free": ["W"], **values}
    inside = ", ".join(f"{key}: {value}" for key, value in entry.items()).replace("'", '"')
    return f"stages: [{{{inside}}}]"


@pytest.mark.parametrize("text, said", [
    ("", "with a list of stages"), ("stages: 3", "with a list of stages"),
    ("stages: []", "no stage for this robot"), ("stages: [3]", "a stage is 3"),
    ("stages: [{name: a, title: b}]", "no 'free'"), (one(free=[]), "at least one parameter"),
    (one(free=["X_uuu"]), "'X_uuu', which fits no parameter; expected names such as 'X_uu'"),
    (one(free=["elbow.fw"]), "fits no parameter"), (one(free=["W", "!W"]), "frees nothing"),
    (one(mov=["roll"]), "'move'"), (one(move=["rol"]), "no channel"),
    (one(move="roll"), "a list of names"), (one(at_most=0), "from 1 to"),
    (one(at_most=".nan"), "from 1 to"), (one(at_least=50, at_most=40), "more than at_least"),
    (one(left=1.5), "from 0.001"), (one(kind="jump"), "motion, tilt"), (one(keep=1), "true or"),
    (one(for_each_joint="upwards"), "distal_first, base_first"),
    (one(intervals={"W": -1}), "widths above 0"), (one(name=7), "a text"),
    ("stages: [{name: a, title: b, free: [W]}, {name: a, title: c, free: [B]}]", "two stages"),
    ("stages: [&a {name: x}, *a]", "not valid YAML")])
def test_what_cannot_be_used_is_refused_in_a_sentence(tmp_path, text, said):
    with pytest.raises(ConfigError) as refused:
        load_schedule(written(tmp_path, text), table_of())
    assert said in str(refused.value) and "own.yaml" in str(refused.value)


def test_names_that_do_not_exist(tmp_path):
    with pytest.raises(ConfigError, match="expected one of all_at_once, arm_distal"):
        load_schedule("giuded", table_of())
    with pytest.raises(ConfigError, match="cannot be read"):
        load_schedule(tmp_path / "none.yaml", table_of())


def test_a_term_that_is_switched_off_is_no_mistake(tmp_path):
    """Names that exist with other settings or robots are left out, not refused."""
    path = written(tmp_path, one(free=["W", "offset_X", "*.Ir"]))
    assert load_schedule(path, table_of()).stages[0].free == ("W",)
    arm = replace(table_of(), vehicle=False)
    with pytest.raises(ConfigError, match="no stage for this robot"):
        load_schedule(path, arm)
    assert np.all([len(load_schedule(path, TABLES[k]).stages) for k in ("options", "vehicle")])
