"""The command that designs a motion: files, dry run, stages, and what is refused."""
import json

import numpy as np
import pytest

from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.excitation.trajectory import Promise
from uvms_adaptive_dynamics.control.excitation.trajectory_file import load_trajectory
from uvms_adaptive_dynamics.model.parameter_file import ParameterSet
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.excitation.campaign import random_limits
from uvms_adaptive_dynamics.studies.excitation.compare import ratios, time_share
from uvms_adaptive_dynamics.studies.excitation.learning import Learnt
from uvms_adaptive_dynamics.studies.excitation.table import campaign_table

QUICK = ["--duration", "10", "--set", "excitation.starts=1", "--set", "excitation.iterations=1",
         "--set", "excitation.harmonics=3", "--set", "excitation.draws=4"]


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


def test_a_stage_of_a_schedule_is_designed_for(tmp_path):
    """What it frees is promised, what it moves moves, in its kind."""
    assert main(["excite", *QUICK, "--schedule", "guided", "--stage", "restoring", "--output",
                 str(tmp_path)]) == 0
    motion = load_trajectory(tmp_path / "trajectory.yaml")
    moved = np.abs(motion.sine).any(axis=1)
    assert moved.tolist() == [False] * 3 + [True, True] + [False] * 5
    assert motion.made["kind"] == "tilt" and "X_u" in motion.promise.names


@pytest.mark.parametrize("arguments, said", [
    (["--schedule", "guided"], "belong together"),
    (["--schedule", "guided", "--stage", "arm", "--free", "W"], "belong together"),
    (["--schedule", "guided", "--stage", "legs"], "expected one of hover, arm, vehicle"),
    (["--move", "wings"], "'wings' fits no channel"), (["--free", "Q"], "'Q' fits no parameter")])
def test_what_cannot_be_used_is_refused_in_a_sentence(tmp_path, capsys, arguments, said):
    """Named, with what is expected."""
    assert main(["excite", *QUICK, *arguments, "--output", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_the_times_compared_are_to_the_same_fit():
    """A motion that is as good at 10 s as the other ends, which was so first at 40 s."""
    t = np.arange(10.0, 70.0, 10.0)
    slow = np.array([.1, .2, .5, .9, .8, .9])[:, None]
    quick = np.array([.95, .95, .95, .95, .95, .95])[:, None]
    late = np.array([.95, .95, .2, .95, .95, .95])[:, None]
    none = ParameterSet((), np.zeros(0))

    def shares(r2):
        return time_share(Learnt(none, t, r2), Learnt(none, t, slow))
    assert shares(quick) == {"mean": 0.25, "worst": 0.25}
    assert shares(late) == {"mean": 1.0, "worst": 1.0}      # it must stay as good
    assert shares(0.5 * quick)["mean"] is None


def test_ratios_are_of_what_was_to_be_learnt():
    """Parameters that a motion promises nothing of do not count."""
    promise = Promise(("a", "b", "c"), ("", "", ""), np.array([True, True, False]),
                      np.array([1.0, 1.0, 1.0]), np.array([0.5, 0.9, 0.1]))
    achieved = ParameterSet(promise.names, np.zeros(3), np.diag([0.36, 1.0, 1.0]))
    found = ratios(promise, achieved)
    assert found["each"] == {"a": pytest.approx(1.2)} and found["within .8 to 1.3"] == 1.0


def test_a_campaign_counts_what_was_refused_and_touched():
    """In a table that begins with the counts."""
    results = [{"robot": 1, "design_s": 2.0, "touched": [], "most used": {"tilt": 0.5}},
               {"robot": 2, "refused": "no room"},
               {"robot": 3, "design_s": 9.0, "touched": ["yaw"], "most used": {"yaw": 1.1}}]
    text = campaign_table(results)
    assert text.startswith("2 of 3 robots designed for, in 9.0 s (median) to 9.0 s")
    assert "touched on 1 of them" in text and "no room" in text


def test_random_limits_are_settings():
    """Of many seeds, all are accepted, and differ."""
    robot = RobotModel.from_config(Config())
    tilts = {Config().with_values(random_limits(k, 4, robot)).excitation.tilt for k in range(20)}
    assert len(tilts) == 20
