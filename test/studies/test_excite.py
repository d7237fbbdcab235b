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

"""The command that designs a motion: files, dry run, stages, and refusals."""
import json
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.excitation.trajectory import Promise
from uvms_adaptive_dynamics.control.excitation.trajectory_file import load_trajectory
from uvms_adaptive_dynamics.model.parameter_file import save_parameters
from uvms_adaptive_dynamics.model.parameter_set import ParameterSet
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.simulation.bag import write_bag
from uvms_adaptive_dynamics.studies.excitation import command
from uvms_adaptive_dynamics.studies.excitation.campaign import Campaign, random_limits
from uvms_adaptive_dynamics.studies.excitation.compare import held, ratios, time_share
from uvms_adaptive_dynamics.studies.excitation.dry_run import DryRun
from uvms_adaptive_dynamics.studies.excitation.learning import Learnt
from uvms_adaptive_dynamics.studies.excitation.table import campaign_table, use_table

QUICK = ["--duration", "10", "--set", "excitation.starts=1", "--set", "excitation.iterations=1",
         "--set", "excitation.harmonics=3", "--set", "excitation.draws=4"]


@pytest.mark.campaign
def test_a_motion_is_designed_and_tried(tmp_path, capsys):
    """All files are written, the simulated robot follows within the margins and touches nothing."""
    assert main(["excite", *QUICK, "--dry-run", "--output", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "| parameter | unit | deviation now | promised |" in said
    assert "On the simulated robot:" in said and "touched |\n" not in said.split("robot:")[1]
    motion = load_trajectory(tmp_path / "trajectory.yaml")
    assert motion.duration == 10.0 and motion.promise.free.all()
    uses = json.loads((tmp_path / "excite.json").read_text())["uses"]
    assert 0.02 < uses["tilt"] < 1.0 and max(uses.values()) < 1.0
    assert (tmp_path / "trajectory.png").stat().st_size > 10_000


@pytest.mark.parametrize("touched, setting", [
    ("forward", "position_margin"), ("tilt", "attitude_margin"), ("rate", "speed_margin"),
    ("axis_e", "joint_margin"), ("axis_e speed", "speed_margin"),
    ("axis_e effort", "torque_share"), ("thruster 3", "thrust_share")])
def test_a_touched_limit_names_what_keeps_room_to_it(touched, setting):
    """A setting of excitation; without a touched limit there is nothing to do."""
    of = {name: np.array([1.1 if name == touched else 0.5]) for name in (touched, "down")}
    run = DryRun(np.zeros(1), of, np.zeros((1, 10)), np.zeros((1, 10)), [])
    said = use_table(run).partition("Touched: ")[2]
    assert said.startswith(touched) and f"excitation.{setting}," in said
    assert hasattr(Config().excitation, setting)
    fine = replace(run, uses={"down": np.array([0.5])})
    assert "Touched" not in use_table(fine)


def test_a_robot_that_cannot_be_tried_is_refused_before_the_design(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "design", None)
    for option, setting, said in (
            ("--dry-run", "robot.vehicle=false", "the motions tried here are flown"),
            ("--compare", "robot.joints=[axis_e]", "the only robot that --compare")):
        assert main(["excite", option, "--set", setting, "--output", str(tmp_path)]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.campaign
def test_the_robot_of_the_settings_is_tried(tmp_path, capsys):
    """Here a vehicle without an arm, with thrusters of other directions, whose drivers publish in
    other axes than the simulated robot."""
    settings = tmp_path / "mine.yaml"
    settings.write_text("""/**:
  ros__parameters:
    robot.joints: []
    imu.frame: frd
    thrusters.signs: [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0]
    thrusters.allocation: [0.7, 0.7, -0.7, -0.7, 0.0, 0.0, 0.0,
                           -0.7, 0.7, -0.7, 0.7, 0.0, 0.0, 0.0,
                           0.0, 0.0, 0.0, 0.0, -1.0, -1.0, -1.0,
                           0.06, -0.06, 0.06, -0.06, -0.22, 0.22, 0.0,
                           0.06, 0.06, -0.06, -0.06, 0.1, 0.1, -0.2,
                           -0.19, 0.19, 0.19, -0.19, 0.0, 0.0, 0.0]
""")
    assert main(["excite", *QUICK, "--dry-run", "--config", str(settings), "--move", "surge",
                 "yaw", "heave", "--output", str(tmp_path)]) == 0
    assert "| thruster 7 |" in capsys.readouterr().out
    uses = json.loads((tmp_path / "excite.json").read_text())["uses"]
    assert "thruster 8" not in uses and uses["yaw"] > 0.02 and max(uses.values()) < 1.0


def test_a_stage_of_a_schedule_is_designed_for(tmp_path):
    """The promise covers the stage's free parameters, and its channels move, in its kind."""
    assert main(["excite", *QUICK, "--schedule", "guided", "--stage", "restoring", "--output",
                 str(tmp_path)]) == 0
    motion = load_trajectory(tmp_path / "trajectory.yaml")
    moved = np.abs(motion.sine).any(axis=1)
    assert moved.tolist() == [False] * 3 + [True, True] + [False] * 5
    assert motion.made["kind"] == "tilt" and "X_u" in motion.promise.names


def test_promises_from_a_recording_and_under_way(tmp_path, capsys):
    """The noise of a recording gives the best case of a promise; under way, an estimate with
    measured noise and half the motion left promises more than the settings' noise did."""
    write_bag(tmp_path / "bag", seed=4, duration=8.0)
    simulated = ["--set", "robot.surface_pressure=101325"]
    assert main(["excite", *QUICK, *simulated, "--hover", str(tmp_path / "bag"), "--output",
                 str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "| deviation now | at best | promised |" in said
    assert "which has not been measured" in said
    promise = load_trajectory(tmp_path / "trajectory.yaml").promise
    gains = promise.at_best / promise.promised
    assert np.median(gains) < 0.9 and gains.min() < 0.3
    robot = RobotModel.from_config(Config())
    prior = prior_from_config(Config(), robot)
    now = replace(prior, covariance=np.diag(promise.promised ** 2),
                  noise_stddev=0.1 * robot.default_noise(Config()))
    save_parameters(tmp_path / "now.yaml", now)
    found = []
    for at in ("5", "9"):
        assert main(["excite", "--under-way", str(tmp_path / "trajectory.yaml"), "--parameters",
                     str(tmp_path / "now.yaml"), "--at", at, "--output", str(tmp_path / at)]) == 0
        said = capsys.readouterr().out
        assert f"{at} s after the start" in said and "with the parameters: surge 0.2 N" in said
        found.append(sum(float(line.split("|")[5].strip(" %")) for line in said.splitlines()
                         if line.endswith("% |")))
    assert found[0] < found[1] < 100.0 * robot.table.size + 1


@pytest.mark.parametrize("arguments, said", [
    (["--at", "3"], "--at belongs to --under-way"),
    (["--again", "3"], "--again belongs to --campaign"),
    (["--schedule", "guided"], "belong together"),
    (["--schedule", "guided", "--stage", "arm", "--free", "W"], "belong together"),
    (["--schedule", "guided", "--stage", "legs"], "expected one of hover, arm, vehicle"),
    (["--move", "wings"], "'wings' fits no channel"), (["--free", "Q"], "'Q' fits no parameter")])
def test_what_cannot_be_used_is_refused_in_a_sentence(tmp_path, capsys, arguments, said):
    """The error names the argument and what is expected."""
    assert main(["excite", *QUICK, *arguments, "--output", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_the_times_compared_are_to_the_same_fit():
    """A motion reaches at 10 s the other's final fit, which that first had at 40 s and lastingly at
    60 s."""
    t = np.arange(10.0, 70.0, 10.0)
    slow = np.array([.1, .2, .5, .9, .8, .9])[:, None]
    quick = np.array([.95, .95, .95, .95, .95, .95])[:, None]
    late = np.array([.95, .95, .2, .95, .95, .95])[:, None]
    none = ParameterSet((), np.zeros(0))

    def shares(r2):
        return time_share(Learnt(none, t, r2), Learnt(none, t, slow))
    quickly, tardily = shares(quick), shares(late)
    assert quickly["mean"] == quickly["worst"] == 0.25
    assert quickly["mean, lasting"] == pytest.approx(1 / 6)
    assert tardily["mean"] == 1.0 and tardily["mean, lasting"] == pytest.approx(2 / 3)
    assert shares(0.5 * quick)["mean"] is None


def test_ratios_are_of_what_was_to_be_learnt():
    """Parameters without a promised improvement do not count."""
    promise = Promise(("a", "b", "c"), ("", "", ""), np.array([True, True, False]),
                      np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.9, 0.1]))
    achieved = ParameterSet(promise.names, np.zeros(3), np.diag([0.36, 1.0, 1.0]))
    found = ratios(promise, achieved)
    assert found["each"] == {"a": pytest.approx(1.2)} and found["within .8 to 1.3"] == 1.0


def test_an_interval_holds_what_lies_between_its_ends():
    """Holds whichever end is larger; a parameter without a promised improvement does not count."""
    promise = Promise(("a", "b", "c", "d"), ("",) * 4, np.ones(4, bool), np.ones(4),
                      np.array([0.6, 0.6, 0.5, 1.0]), np.array([0.2, 0.2, 0.7, 0.9]))
    achieved = ParameterSet(promise.names, np.zeros(4), np.diag([0.4, 0.7, 0.6, 9.0]) ** 2)
    found = held(promise, achieved)
    assert found["parameters"] == 3 and found["held within .8 to 1.3"] == 1.0
    assert found["held"] == pytest.approx(2 / 3) and found["width"] == pytest.approx(3.0)


def test_a_campaign_counts_what_was_refused_and_touched():
    """The table begins with the counts."""
    results = [{"robot": 1, "design_s": 2.0, "touched": [], "most used": {"tilt": 0.5}},
               {"robot": 2, "refused": "no room"},
               {"robot": 3, "design_s": 9.0, "touched": ["yaw"], "most used": {"yaw": 1.1}}]
    text = campaign_table(results)
    assert text.startswith("Motions designed for 2 of 3 robots, in 9.0 s (median) to 9.0 s")
    assert "1 of them touched a limit" in text and "no room" in text


def test_an_interrupted_campaign_goes_on(tmp_path, monkeypatch):
    """Finished robots are not tried again, unless settings differ; another process's robots in the
    same folder are counted."""
    tried = []

    def quick(self, k):
        tried.append(k)
        return {"robot": k, "design_s": 1.0, "touched": [], "most used": {"tilt": 0.5}}
    monkeypatch.setattr(Campaign, "tried", quick)
    for more in (["2"], ["3"], ["1", "--seed", "10"], ["1", "--duration", "20"]):
        assert main(["excite", "--output", str(tmp_path), "--campaign", *more]) == 0
    assert tried == [1, 2, 3, 11, 1]
    assert main(["excite", "--output", str(tmp_path), "--campaign", "2"]) == 0
    assert tried[5:] == [1] and (tmp_path / "excite.md").read_text().startswith(
        "Motions designed for 4 of 4 robots")


def test_second_motions_are_told_apart():
    """Second motions have their own table."""
    one = {"design_s": 2.0, "touched": [], "most used": {"tilt": 0.5}}
    text = campaign_table([{"robot": 1, **one, "again": {**one, "touched": ["yaw"]}}])
    first, second = text.split("Second motions")
    assert "0 of them touched a limit" in first and "1 of them touched a limit" in second


def test_random_limits_are_settings():
    """Limits from many seeds are all valid settings, and differ."""
    robot = RobotModel.from_config(Config())
    tilts = {Config().with_values(random_limits(k, 4, robot)).excitation.tilt for k in range(20)}
    assert len(tilts) == 20
