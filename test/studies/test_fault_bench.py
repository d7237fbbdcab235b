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

"""The fault bench: its table, its page, its command, and its short form: one fault of each sort.

The whole table takes longer than a test may: `python -m uvms_adaptive_dynamics faults`.
"""
import math
from pathlib import Path

import pytest
from campaign_cases import also

pytest.importorskip("rosbags")  # the simulated robot's recordings

from uvms_adaptive_dynamics.__main__ import main  # noqa: E402
from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.errors import BagError, ConfigError  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.simulation.faults.clocks import Clock  # noqa: E402
from uvms_adaptive_dynamics.simulation.faults.stream import Received  # noqa: E402
from uvms_adaptive_dynamics.studies.faults import command  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.bench import Bench  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.case import Allowed, Case  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.page import OTHER_RECORDINGS, page  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.recordings import (  # noqa: E402
    LONG_SCENE,
    SHORT_SCENE,
    RecordedMessages,
    SceneTimes,
    recordings_of,
)
from uvms_adaptive_dynamics.studies.faults.report import line  # noqa: E402
from uvms_adaptive_dynamics.studies.faults.table import CASE_KINDS, chosen, table  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CASES = chosen(SHORT_SCENE.onset, [], [], short=True)
HERE = ("dvl clock 5 s ahead", "gyro of 1e+200 for 0.6 s", "20% outliers in efforts")


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_config(Config())


def test_the_table_is_whole():
    """Names are unique, kinds are known, and faults end before the recording or never."""
    cases = table(LONG_SCENE.onset)
    assert len(cases) == len({case.name for case in cases}) >= 60
    assert {case.kind for case in cases} == set(CASE_KINDS)
    assert all(math.isinf(case.end) or case.end + 10.0 <= LONG_SCENE.learnt for case in cases)
    assert all(math.isinf(case.end) or case.end + 5.0 <= SHORT_SCENE.learnt for case in CASES)
    with pytest.raises(ConfigError, match="got leak, expected a part of a fault's name"):
        chosen(LONG_SCENE.onset, [], ["leak"], short=False)


def test_the_page_is_the_tables():
    """docs/faults.md is what `python -m uvms_adaptive_dynamics.studies.faults.page` prints."""
    assert (ROOT / "docs/faults.md").read_text() == page()


def test_limits_in_other_recordings_are_of_faults_that_exist():
    assert OTHER_RECORDINGS.keys() <= {case.name for case in table(LONG_SCENE.onset)}


# --- the command ----------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench.of(None, tmp_path_factory.mktemp("bench"), SHORT_SCENE, Config())


@pytest.mark.parametrize("case", [one if one.name in HERE else also(one) for one in CASES],
                         ids=lambda case: case.name)
def test_short_form(bench, robot, case):
    """Every fault of the short form meets its requirements."""
    result = bench.result(case)
    assert result.ok, line(result, robot)


def test_the_clean_recording_has_no_fault(bench, robot):
    """A fault that changes nothing costs nothing and is not mentioned."""
    nothing = Case("nothing", "clock", "", (Clock("imu", offset=0.0),), None,
                   Allowed(samples=1.0, vehicle=1.0, wrong=0.0, loss=0.0))
    result = bench.result(nothing)
    assert result.ok and not result.loss.any(), line(result, robot)


def test_a_recording_that_is_too_short_is_refused(tmp_path):
    from uvms_adaptive_dynamics.simulation.bag import write_bag
    write_bag(tmp_path / "dive", duration=5.0)
    with pytest.raises(BagError, match="is 5 s long, expected at least 31 s"):
        recordings_of(tmp_path / "dive", Config(), SHORT_SCENE)


@pytest.mark.parametrize("jobs", [also("1"), "2"])
def test_the_command_prints_and_writes(tmp_path, capsys, monkeypatch, jobs):
    """A fault selected by name gives a line, the summary and faults.json, and the exit status tells
    if all requirements are met. Parallel processes give the same."""
    monkeypatch.setattr(command, "SHORT_SCENE", SceneTimes(5.0, 3.0, 2.0))
    status = main(["faults", "--short", "--only", "effort NaN for", "--jobs", jobs, "--output",
                   str(tmp_path)])
    said = capsys.readouterr().out
    assert "effort NaN for" in said and f"{1 - status} of 1 faults as asked" in said
    assert '"effort NaN for 0.6 s"' in (tmp_path / "faults.json").read_text()


def test_a_recording_without_valid_rows_is_refused():
    """A recording without valid rows has none to lose."""
    item = Received("joint_states", None, 0, 0)
    bench = Bench(RecordedMessages([item], []), Config())
    with pytest.raises(BagError, match="no valid row even without a fault"):
        bench.result(table(LONG_SCENE.onset)[0])


def test_faults_of_sensors_that_a_recording_lacks_are_left_out(robot):
    """For example, without a DVL there is no fault of a silent DVL."""
    arm = [Received("joint_states", None, 0, 0)]
    bench = Bench(RecordedMessages(arm, arm), Config())
    concerned = {case.name for case in table(LONG_SCENE.onset) if bench.concerns(case)}
    assert "joint_states silent for 2 s" in concerned and "every message twice" in concerned
    assert not any("dvl" in name for name in concerned)
