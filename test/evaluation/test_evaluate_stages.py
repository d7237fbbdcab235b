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

"""A schedule offline: the node's stage runner, with its stages in metrics.json, in the report and
on the terminal."""
import json
import re

import numpy as np
import pytest

from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.evaluation.run import run
from uvms_adaptive_dynamics.evaluation.run_record import metrics_of
from uvms_adaptive_dynamics.simulation.bag import write_bag

OWN = """
stages:
  - {name: arm, title: the arm, free: ["*.*"], move: [joints], at_least: 1, at_most: 3}
  - {name: vehicle, title: the vehicle, free: ["*", "!*.*", "!W"], move: [vehicle], at_most: 60}
"""


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """Eight seconds of the simulated robot."""
    path = tmp_path_factory.mktemp("simulated") / "dive"
    write_bag(path, seed=3, duration=8.0)
    return path


@pytest.mark.campaign
def test_all_at_once_is_no_schedule_to_the_bit(bag):
    """A stage that frees everything changes nothing."""
    config = Config()
    without = run([bag], config)
    staged = run([bag], config.with_values({"estimation.schedule": "all_at_once"}))
    np.testing.assert_array_equal(staged.final.values, without.final.values)
    np.testing.assert_array_equal(staged.final.covariance, without.final.covariance)
    for one, other in zip(staged.log.rows(), without.log.rows()):
        np.testing.assert_array_equal(one, other)
    assert staged.final.known_from == without.final.known_from
    assert [end.why for end in staged.stages] == ["the data ended"] and without.stages == ()


def test_stages_are_in_metrics_report_and_terminal(bag, tmp_path, capsys):
    """Stages have times from the first row, why they ended, and the deviations of their own
    parameters before and after."""
    own = tmp_path / "own.yaml"
    own.write_text(OWN)
    assert main(["evaluate", str(bag), "--schedule", str(own), "--output",
                 str(tmp_path / "out")]) == 0
    said, notes = capsys.readouterr()
    assert "no stage frees W" in notes
    metrics = json.loads((tmp_path / "out/metrics.json").read_text())
    arm, vehicle = metrics["stages"]
    assert (arm["name"], arm["why_ended"]) == ("arm", "at_most")
    assert (vehicle["name"], vehicle["why_ended"]) == ("vehicle", "the data ended")
    assert arm["begin_s"] == 0.0 and arm["end_s"] == pytest.approx(3.0, abs=.05)
    assert vehicle["begin_s"] == arm["end_s"] and vehicle["missing"]
    assert set(arm["stddev"]) == {name for name in metrics["parameters"]["names"] if "." in name}
    for stage in (arm, vehicle):
        found = [(one["begin"], one["end"]) for one in stage["stddev"].values()]
        assert np.median([end / begin for begin, end in found]) < 1.0
    assert "ended" in said and "at_most" in said
    page = (tmp_path / "out/report.html").read_text()
    assert "<h2>Stages</h2>" in page and "the data ended" in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    assert [(round(mark["t"], 1), mark["text"]) for mark in data["marks"]
            if mark["text"].startswith("stage ")] == [(0.0, "stage arm begins"),
                                                      (3.0, "stage vehicle begins")]
    statement = (tmp_path / "out/statement.md").read_text()
    assert "| arm | ended at its limit before it was done after 3 s" in statement


def test_a_schedule_and_frozen_contradict_each_other(bag, tmp_path, capsys):
    file = tmp_path / "saved.yaml"
    file.write_text("")
    assert main(["evaluate", str(bag), "--schedule", "guided", "--frozen", "--parameters",
                 str(file), "--output", str(tmp_path / "out")]) == 2
    assert "learns nothing" in capsys.readouterr().err


@pytest.mark.campaign
def test_the_study_compares_schedules_held_out(bag, tmp_path, capsys):
    """On a given recording, which also serves as the test here."""
    own = tmp_path / "own.yaml"
    own.write_text(OWN)
    assert main(["stages", "--bags", str(bag), "--held-out", str(bag), "--seeds", "1",
                 "--schedules", str(own), "--output", str(tmp_path / "out")]) == 0
    one, = json.loads((tmp_path / "out/stages.json").read_text())["runs"]
    assert one["held_out"]["surge"]["r2"] is not None and len(one["stages"]) == 2
    assert "held out, mean (least) R^2 of 1 seeds" in capsys.readouterr().out
    assert main(["stages", "--bags", str(bag), "--output", str(tmp_path / "out")]) == 2


def test_metrics_without_a_schedule_have_no_stages(bag):
    assert metrics_of(run([bag], Config(), frozen=True))["stages"] == []
