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

"""A shortened guided run offline: its decisions, and its repeatability."""
import argparse
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.stage_runner import DONE
from uvms_adaptive_dynamics.control.stages import load_schedule
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot
from uvms_adaptive_dynamics.studies.closed_loop.command import zeroed
from uvms_adaptive_dynamics.studies.closed_loop.truth import wrong_prior
from uvms_adaptive_dynamics.studies.guided import command, loop
from uvms_adaptive_dynamics.studies.guided.loop import guided_run
from uvms_adaptive_dynamics.studies.guided.simulated import holding_still, simulated
from uvms_adaptive_dynamics.studies.guided.table import markdown

# The cheapest design; the run treats it like any other.
CHEAP = {"excitation.starts": 1, "excitation.iterations": 0, "excitation.draws": 1,
         "excitation.harmonics": 2, "excitation.duration": 12.0, "identification.design_time": 1.0}
CONFIG = zeroed(Config().with_values(CHEAP))
MODEL = RobotModel.from_config(CONFIG)


@pytest.fixture(autouse=True)
def armed_soon(monkeypatch):
    """Arm early: nothing changes during the wait."""
    monkeypatch.setattr(loop, "ARMED_AFTER", 4.0)


def run(longest, stages=None, **changes):
    config = CONFIG.with_values(changes)
    prior = wrong_prior(prior_from_config(config, MODEL), MODEL, config, 3.0, 2)
    robot = holding_still(2, 60.0, TrueRobot())
    guided = load_schedule("guided", MODEL.table)
    # starting at the first stage with a motion
    schedule = replace(guided, stages=stages or guided.stages[1:])
    return guided_run(config, MODEL, prior, schedule, robot, longest)


def test_the_robot_is_armed_moved_and_left_at_neutral():
    """From a prior that once capsized the robot: by the end it has flown and learnt, touched no
    limit, and the same seed gives the same parameters."""
    done = run(5.0)
    assert done.cause.code == "longest" and done.flown == ["arm"]
    assert 5.0 < done.seconds < 5.0 + CONFIG.identification.ramp + 0.1
    assert max(done.uses.values()) < 1.0
    assert max(done.uses[f"{joint} speed"] for joint in CONFIG.robot.joints) > 0.1
    assert [end.stage for end in done.ended] == ["arm"]
    assert done.notes[-1].endswith("stopped: 5 s are over")
    again = run(5.0)
    np.testing.assert_array_equal(again.parameters.values, done.parameters.values)


def test_a_change_of_the_robot_is_told(monkeypatch):
    """The robot does not change, so one that is found is a fault of the run: it stands among the
    notes and for the statement."""
    add = Estimator.add

    def change_at_once(self, sample):
        if not self.changes:
            self.changes, self.last_change, self.standing_change = 1, "heavier", "it is heavier"
        return add(self, sample)
    monkeypatch.setattr(Estimator, "add", change_at_once)
    done = run(0.1)
    assert [note for note in done.notes if note.endswith("heavier")] and len(done.notes) < 6
    assert done.standing_change == "it is heavier"


def test_a_limit_ends_it():
    """The notes contain the limit's sentence; the motion was broken off halfway to the limit, which
    does not suffice for joints that hardly follow."""
    slow = [4.0, 4.0, 0.1]
    done = run(6.0, **{"identification.joint_error": 0.05, "identification.bandwidth": slow,
                       "identification.known_bandwidth": slow})
    assert done.cause.code == "astray" and done.seconds < 6.0
    assert any("where it should be" in note for note in done.notes)


@pytest.mark.campaign
def test_no_stage_is_done_before_its_own_motion_was_flown():
    """After the arm's motion the vehicle holds still while its motion is designed: meanwhile the
    stage learns, but is not done."""
    arm, vehicle = load_schedule("guided", MODEL.table).stages[1:3]
    done = run(18.0, (replace(arm, at_most=4.0), vehicle), **{"identification.design_time": 15.0})
    assert done.cause.code == "longest" and "vehicle" not in done.flown
    assert [(end.stage, end.why == DONE) for end in done.ended] == [("arm", False),
                                                                   ("vehicle", False)]
    assert done.ended[1].end - done.ended[1].begin > 10.0
    assert "surge: the stage's own motion has not begun (0 of 8 s)" in done.ended[1].missing[0]


def test_the_robot_is_that_of_the_configuration():
    """Arm, mount and thrusters come from the configuration, by default those of all studies.
    Messages are the simulated robot's own, whatever drivers the configuration is for."""
    robot, config = simulated(Config())
    assert robot.gravity == TrueRobot().gravity != config.robot.gravity
    assert config == zeroed(Config())
    six = np.reshape(CONFIG.thrusters.allocation, (6, 8))[:, :6].copy()
    six[2, 4:] = -1.0
    robot, config = simulated(Config().with_values({
        "robot.joints": ["axis_e", "axis_c"], "robot.mount_xyz": [0.1, 0.0, -0.2],
        "thrusters.allocation": six.ravel().tolist(), "thrusters.signs": [-1.0] * 6,
        "imu.topic": "other", "imu.frame": "frd", "joint_states.unit": "deg"}))
    assert robot.joints == ("axis_e", "axis_c") and robot.allocation.shape == (6, 6)
    assert robot.mount_xyz == (0.1, 0.0, -0.2)
    assert config.imu == CONFIG.imu and config.joint_states == CONFIG.joint_states
    assert config.thrusters.signs == (1.0,) * 6
    with pytest.raises(ConfigError, match="robot.vehicle is false"):
        simulated(Config().with_values({"robot.vehicle": False}))


def test_it_is_armed_where_it_may_move():
    """At rest amid the arm's own range, trimmed for that, with the whole box inside the free water.
    An arm that hung limp, or a robot at 5 m, would be out of its limits before it is armed."""
    settings = Config().with_values({
        "excitation.joint_low": [2.0, 1.8, 1.0, 1.0], "excitation.joint_high": [3.0, 2.6, 1.8, 3.0],
        "excitation.depth_range": [1.0, 4.0]})
    robot, config = simulated(settings)
    held = holding_still(1, 10.0, robot)
    list(held.advance(4.0))
    np.testing.assert_allclose(held.physics.mu, [2.5, 2.2, 1.4, 2.0], atol=0.05)
    assert np.abs(held.physics.nu).max() < 0.02 and held.physics.R_nb[2, 2] > np.cos(0.05)
    room = config.excitation.box[2]
    assert 1.0 + room - 0.05 < held.physics.position[2] < 4.0 - room + 0.05


@pytest.mark.campaign
def test_another_arm_is_identified_and_judged(tmp_path, monkeypatch):
    """Runs the command with two joints of the arm, with shortened truth and test. The statement has
    the stages and what to do next."""
    monkeypatch.setattr(command, "true_parameters",
                        partial(command.true_parameters, duration=2.0))
    monkeypatch.setattr(command, "GUIDED_HELD_OUT_S", 5.0)
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = parser.parse_args(["--output", str(tmp_path), "--longest", "10", "--set",
                              "robot.joints=[axis_e,axis_d]",
                              *(f"--set={name}={value}" for name, value in CHEAP.items())])
    assert command.run(args) == 1       # cut off by --longest
    said = (tmp_path / "statement_1.md").read_text()
    assert "## What to do next" in said and "| arm | the data ended" in said
    assert said.index("the run did not complete its schedule: ") < said.index("2. ")
    found = json.loads((tmp_path / "guided.json").read_text())["seeds"]["1"]
    assert found["cause"] == "longest" and "axis_d speed" in found["uses"]
    assert {"surge", "axis_e", "axis_d"} <= set(found["held_out"])
    assert "axis_c" not in found["held_out"]
    # Parameters cut off by --longest are worse than those that fit the tested rows themselves.
    assert all(found["held_out"][name]["r2"] < found["attainable"][name] < 1.0
               for name in ("heave", "pitch", "axis_d"))


def test_the_table_names_the_worst():
    found = {"held_out": {"surge": {"r2": 0.98}, "axis_b": {"r2": None}},
             "prior": {"surge": {"r2": -20.0}, "axis_b": {"r2": 0.5}}, "seconds": 300.0,
             "attainable": {"surge": 0.985, "axis_b": None},
             "cause": "done", "motions": 5, "broken_off": 1, "uses": {"tilt": 0.9, "box": 0.5}}
    worse = {**found, "held_out": {"surge": {"r2": 0.91}, "axis_b": {"r2": 0.97}}}
    text = markdown({"seeds": {"1": found, "2": worse}})
    assert "| 1 | 300 | done | 5 | 1 | tilt 90% | 0.980 | - |" in text
    assert "| 1, best fit to the tested rows themselves | | | | | | 0.985 | - |" in text
    assert "| worst | | | | | | 0.910 | 0.970 |" in text and "< -9 | 0.500" in text
