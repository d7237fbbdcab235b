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

"""The count of verdicts: its tables, its seeds, and its judgement."""
from argparse import ArgumentParser
from pathlib import Path

import pytest

from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot
from uvms_adaptive_dynamics.studies.verdicts import command, trial
from uvms_adaptive_dynamics.studies.verdicts.table import TABLES


def parsed(*arguments):
    parser = ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args([*arguments, "--output", "out"])


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_whole(name):
    """Names are unique, both kinds are present, and every case names existing robot parameters."""
    cases = TABLES[name]
    assert len({case.name for case in cases}) == len(cases)
    assert {case.good for case in cases} == {True, False}
    assert all(hasattr(TrueRobot(), figure) for case in cases for figure in case.robot)


def test_no_spoilt_recording_of_the_final_table_is_of_the_other():
    """Rules are not judged on the recordings used to develop them."""
    spoilt = [{(case.faults, tuple(case.robot.items()), case.motion, tuple(case.settings.items()))
               for case in TABLES[name] if not case.good and "outliers" not in case.name}
              for name in ("development", "final")]
    assert not spoilt[0] & spoilt[1]


def test_seeds_go_round_and_a_name_keeps_its_own():
    """`--only` runs the same recording as the whole count would."""
    all_of_them = command._trials(parsed("--seeds", "3", "4"))
    assert [one.seed for one in all_of_them[:3]] == [3, 4, 3]
    assert [one.seed for one in command._trials(parsed())][:2] == [200, 201]
    only, = command._trials(parsed("--seeds", "3", "4", "--only", "yaw never"))
    assert only in all_of_them
    with pytest.raises(ConfigError, match="expected a part of one of: as configured"):
        command._trials(parsed("--only", "leak"))


@pytest.mark.parametrize("place, word, right", [
    (0, "good", True), (0, "usable", False), (-1, "usable", True), (-1, "not usable", True),
    (-1, "good", False)])
def test_what_is_right(monkeypatch, place, word, right):
    """A good recording must be `good`, a spoilt one anything else; the summary counts both."""
    place %= len(TABLES["final"])
    monkeypatch.setattr(trial, "_made", lambda case, seed, bag: (bag, None))
    monkeypatch.setattr(trial, "_evaluated", lambda bag, config: {
        "verdict": {"word": word, "reasons": ["dvl.delay: late"]}, "channels": {}})
    found = trial.judged(trial.Trial("final", place, 200))
    assert found["right"] == right and found["verdict"] == word
    assert command.line(found).startswith("right" if right else "WRONG")
    assert f"{int(right)} of 1" in command.summary([found])


def test_a_recording_of_ones_own_is_to_be_good(monkeypatch, tmp_path):
    """A given recording has its own settings, and several may be given."""
    (tmp_path / "dive").mkdir()
    given = parsed("--only", "no arm", "--recording", str(tmp_path / "dive"), "robot.yaml")
    assert command._trials(given)[1:] == [
        trial.Trial(recording=tmp_path / "dive", config=Path("robot.yaml"))]
    monkeypatch.setattr(trial, "load_config", lambda path: None)
    monkeypatch.setattr(trial, "_evaluated", lambda bag, config: {
        "verdict": {"word": "good", "reasons": []}, "channels": {}})
    found = trial.judged(command._trials(given)[1])
    assert (found["name"], found["asked"], found["right"]) == ("dive", "good", True)
