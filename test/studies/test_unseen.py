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

"""The campaign on robots that no rule was tuned on: which are rough, what is counted, and one short
run of the command.

Twenty robots of minutes take longer than a test may: `python -m uvms_adaptive_dynamics unseen
--output DIR` (docs/uncertainty.md).
"""
import json
from pathlib import Path

import pytest

from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.simulation.rough import Roughness
from uvms_adaptive_dynamics.studies.unseen import Constancy, UnseenTask, constancy_report


def task(number):
    return UnseenTask(number, 10.0, 10.0, 5, Config(), Path())


def test_every_second_robot_is_rough():
    """Even robots have tether and current but no pauses; odd ones have no roughness."""
    assert task(3).rough == Roughness()
    rough = task(4).rough
    assert rough.tether_force and rough.current_speed and rough.asymmetry and not rough.pauses


def test_hours_changes_and_findings_are_counted():
    """For two recordings of half an hour, each change and finding is listed with its robot, and the
    strongest evidence comes first."""
    said = constancy_report([Constancy("robot 1", 1800.0, ["axis_b link changed"], [], 31.0),
                             Constancy("robot 2", 1800.0, [], ["dvl scale"], 12.0)])
    assert said.splitlines()[0].startswith(
        "1.00 h without a change: 1 false changes, 1 false findings")
    assert "robot 1: axis_b link changed" in said and "robot 2: dvl scale" in said
    assert "31.0 (robot 1), 12.0 (robot 2)" in said


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """Folder of a campaign with one smooth robot, ten seconds learnt and ten tested."""
    folder = tmp_path_factory.mktemp("unseen")
    assert main(["unseen", "--robots", "1", "--duration", "10", "--held-out", "10",
                 "--solve-every", "25", "--output", str(folder)]) == 0
    return folder


@pytest.mark.campaign
def test_a_short_campaign_has_both_coverages(campaign):
    """Each channel has rows with saved and with adapting noise; the seconds are counted."""
    outcome = json.loads((campaign / "runs" / "robot1.json").read_text())
    rows = outcome["rows"]["held_out"]
    for channel in ("surge", "axis_b"):
        saved, adapted = rows["saved"][channel], rows["adapted"][channel]
        assert saved["n"] == adapted["n"] > 100 and saved["width"] != adapted["width"]
    assert outcome["seconds"] == 20.0 and not outcome["rough"] and outcome["changes"] == []


@pytest.mark.campaign
def test_a_finished_robot_is_not_run_again(campaign, capsys, monkeypatch):
    """The table is made from the existing results."""
    monkeypatch.setattr("uvms_adaptive_dynamics.studies.unseen.run_robot", None)
    assert main(["unseen", "--robots", "1", "--duration", "10", "--held-out", "10",
                 "--solve-every", "25", "--output", str(campaign)]) == 0
    assert "0.01 h without a change: 0 false changes" in capsys.readouterr().out


@pytest.mark.campaign
def test_recordings_at_hand_are_counted_too(campaign, tmp_path, capsys):
    """A bag instead of robots gives seconds, changes and findings, but no coverage."""
    (bag,) = (campaign / "bags").glob("seed1_10s*1")
    assert main(["unseen", "--bags", str(bag), "--solve-every", "25", "--output",
                 str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "0.00 h without a change: 0 false changes" in said and "coverage" not in said
