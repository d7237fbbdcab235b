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

"""`export` from the command line."""
import json

import pytest
from export_cases import CONFIG, estimate

from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.export.formats import FORMATS, read_export
from uvms_adaptive_dynamics.model.parameter_file import save_parameters


@pytest.fixture
def saved(tmp_path):
    return str(save_parameters(tmp_path / "learnt.yaml", estimate(1).parameters))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written(name, saved, tmp_path, capsys):
    """The command writes the file and prints what it holds and what is lost."""
    target = tmp_path / "there" / name
    assert main(["export", name, saved, "--output", str(target)]) == 0
    said = capsys.readouterr().out
    assert "parameters exactly as estimated" in said and str(target) in said
    assert read_export(name, target.read_text(), CONFIG)


def test_the_table_needs_no_file(saved, tmp_path, capsys):
    assert main(["export", "table", saved]) == 0
    assert "axis_b.Izz_about_centre" in capsys.readouterr().out
    target = tmp_path / "table.json"
    assert main(["export", "table", saved, "--mass", "9.5", "--output", str(target)]) == 0
    values = {row["name"]: row["value"] for row in json.loads(target.read_text())["quantities"]}
    assert values["vehicle.mass"] == 9.5


def test_the_robot_is_that_of_the_settings(saved, tmp_path, capsys):
    """The mass comes from robot.dry_mass; another robot's file is refused."""
    assert main(["export", "gazebo", saved, "--set", "robot.dry_mass=12", "--output",
                 str(tmp_path / "x")]) == 0
    assert "robot.dry_mass less the arm's links" in " ".join(capsys.readouterr().out.split())
    assert main(["export", "gazebo", saved, "--set", "robot.joints=[axis_e]", "--output",
                 str(tmp_path / "x")]) == 2


@pytest.mark.parametrize("arguments, part", [
    (["rdml"], "--output: got nothing"), (["collada"], "invalid choice"),
    (["rdml", "--output", "x", "--mass", "-1"], "--mass: got '-1'"),
    (["rdml", "--output", "x", "--mass", "99"], "make added mass negative"),
    (["table", "--output", "x.txt"], "ending in .json or .csv")])
def test_what_cannot_be_done_is_one_sentence(arguments, part, saved, tmp_path, capsys,
                                             monkeypatch):
    """Unusable arguments give one sentence, status 2, and no file."""
    monkeypatch.chdir(tmp_path)
    assert main(["export", arguments[0], saved, *arguments[1:]]) == 2
    said = capsys.readouterr().err
    assert part in said and said.count("\n") == 1
    assert not (tmp_path / "x").exists() and not (tmp_path / "x.txt").exists()
