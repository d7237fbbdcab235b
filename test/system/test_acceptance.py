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

r"""Acceptance criteria of the whole package, on a simulated robot and on external recordings;
README.md states the numbers.

Three seeds, the paper's arrival cost and other splits take too long for a test:
    python -m uvms_adaptive_dynamics campaign --seeds 1 2 3 --duration 120 --held-out \
        --compare-relative --output DIR
    python examples/hinsdale_compare.py BAGS --swap
"""
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from uvms_adaptive_dynamics.__main__ import main
from uvms_adaptive_dynamics.config import Config, load_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot
from uvms_adaptive_dynamics.studies.campaign import SeedTask, run_seed
from uvms_adaptive_dynamics.studies.simulated_runs import best_linear, simulated, truth_file

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))

import hinsdale_compare  # noqa: E402
import hinsdale_to_bag  # noqa: E402
import tiago_to_bag  # noqa: E402

CHANNELS = ("surge", "sway", "heave", "roll", "pitch", "yaw", "axis_e", "axis_d", "axis_c",
            "axis_b")
TIAGO_ARM = [f"arm_{k}_joint" for k in range(1, 5)]


def recording(shared, name):
    folder = shared / "data" / name
    if not folder.is_dir():
        pytest.skip(f"the recording '{name}' is not among the shared material ({folder})")
    return folder


# --- simulated robot ------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    """Folder of simulated bags for the whole module."""
    return tmp_path_factory.mktemp("simulated")


@pytest.fixture(scope="module")
def identified(bags):
    """One simulated robot: 40 s from a prior wrong by a factor of 2, then 20 s of another motion
    with frozen parameters."""
    return run_seed(
        SeedTask(seed=1, duration=40.0, held_out=20.0, prior_factor=2.0, config=Config(),
                 compare_relative=False, bags=bags))


@pytest.mark.parametrize("channel", CHANNELS)
def test_simulated_robot_is_predicted_while_learning_and_held_out(identified, channel):
    """R^2 is at least .90 in the second half and, frozen, on another motion, where the slope is
    between .9 and 1.1."""
    found = identified["arrival"]["information"]
    assert found["second_half"][channel]["r2"] >= 0.90
    held_out = found["held_out"][channel]
    assert held_out["r2"] >= 0.90 and 0.9 <= held_out["slope"] <= 1.1


def test_simulated_robot_stays_physical(identified):
    """No estimate leaves the physical set and no solve fails."""
    found = identified["arrival"]["information"]
    assert found["physical"]["violations"] == 0 and found["solver"]["failures"] == 0
    assert found["physical"]["min_eig_M"] > 0 and (found["physical"]["min_eig_J"] > 0).all()


def test_estimate_is_as_good_as_the_model_allows(identified):
    """On held-out data no channel explains much less than the best linear model of the true states
    and efforts."""
    held_out = identified["arrival"]["information"]["held_out"]
    for channel in CHANNELS:
        assert held_out[channel]["r2"] > identified["best_linear"][channel]["r2"] - 0.03


def test_bags_of_a_campaign_are_used_again(bags, identified):
    """Equal seed and duration give the same bag without simulating again."""
    bag = bags / "seed1_40s"
    stamp = bag.stat().st_mtime_ns
    assert simulated(bags, 1, 40.0) == bag and bag.stat().st_mtime_ns == stamp
    assert not list(bags.glob(".unfinished*"))


def test_best_linear_model_explains_the_truth(bags, identified):
    """Its weights less buoyancies match the simulator's, up to the drag that the rows of Y lack."""
    config, true = Config(), TrueRobot()
    robot = RobotModel.from_config(config)
    found = best_linear(truth_file(bags / "seed1_40s"), config, robot)
    W, B, *links = found.values[robot.table.places(
        ["W", "B", *(f"{joint}.m" for joint in config.robot.joints)])]
    displaced = true.buoyancy + true.water_density * true.gravity * sum(link.volume
                                                                        for link in true.links)
    weight = true.gravity * (true.mass + sum(link.mass for link in true.links))
    assert W - B + true.gravity * sum(links) == pytest.approx(weight - displaced, abs=0.4)


@pytest.mark.campaign
def test_campaign_command_compares_arrival_costs(tmp_path, capsys):
    """One short seed at 25 Hz gives a table per arrival cost, and the same figures in
    campaign.json."""
    assert main(["campaign", "--seeds", "4", "--duration", "10", "--held-out", "--compare-relative",
                 "--set", "filter.period=0.04", "--output", str(tmp_path)]) == 0
    said, content = capsys.readouterr().out, json.loads((tmp_path / "campaign.json").read_text())
    assert "arrival 'information'" in said and "arrival 'relative'" in said
    outcome = content["seeds"]["4"]
    assert set(outcome["arrival"]) == {"information", "relative"} and set(
        outcome["best_linear"]) == set(CHANNELS)
    assert f"{outcome['arrival']['relative']['held_out']['heave']['r2']:.3f}" in said


@pytest.mark.parametrize("arguments, part", [(["--duration", "2"], "--duration"),
                                             (["--jobs", "0"], "--jobs"),
                                             (["--seeds", "-1"], "--seeds"),
                                             (["--set", "estimation.horison=3"], "Did you mean"),
                                             (["--prior-factor", "0"], "--prior-factor")])
def test_campaign_refuses_bad_arguments(arguments, part, tmp_path, capsys):
    """Exit status 2 and one message that names the argument."""
    assert main(["campaign", "--output", str(tmp_path), *arguments]) == 2
    error = capsys.readouterr().err
    assert part in error and error.count("\n") == 1 and not (tmp_path / "campaign.json").exists()


# --- TIAGo ----------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def tiago(shared, tmp_path_factory):
    """metrics.json of the first 70 % (learning) and of the last 30 % (frozen), from the commands in
    examples/README.md."""
    folder, data = tmp_path_factory.mktemp("tiago"), recording(shared, "tiago")
    common = ["--config", str(EXAMPLES / "tiago.yaml"), "--set",
              f"robot.urdf={data / 'tiago_48_schunk.urdf'}", "--no-report"]
    for part, extra in (("train", ["--save-parameters",
                                   str(folder / "saved.yaml")]),
                        ("test", ["--parameters",
                                  str(folder / "saved.yaml"), "--frozen"])):
        assert tiago_to_bag.main(
            ["--data", str(data), "--part", part, "--output",
             str(folder / part)]) == 0
        assert main(["evaluate", str(folder / part), *common, *extra, "--output",
                     str(folder / f"{part}_metrics")]) == 0
    return tuple(
        json.loads((folder / f"{part}_metrics" / "metrics.json").read_text())
        for part in ("train", "test"))


@pytest.mark.parametrize("joint", TIAGO_ARM)
def test_tiago_is_predicted_on_the_last_thirty_percent(tiago, joint):
    """R^2 at least .93, frozen, from the first 70 %."""
    _, held_out = tiago
    assert held_out["channels"][joint]["r2"] >= 0.93


def test_tiago_stays_physical(tiago):
    """Every pseudo-inertia of every estimate is positive definite."""
    learnt, _ = tiago
    assert len(learnt["physical"]["min_eig_J"]) == 8 and min(learnt["physical"]["min_eig_J"]) > 0
    assert learnt["physical"]["violations"] == 0 and learnt["solver"]["failures"] == 0


# --- Hinsdale -------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def hinsdale(shared, tmp_path_factory):
    """Both estimates of examples/hinsdale_compare.py from every twelfth run, tested on every
    twelfth (all runs, halved: examples/README.md)."""
    folder, data = tmp_path_factory.mktemp("hinsdale"), recording(shared, "hinsdale_uvms")
    runs = hinsdale_to_bag.runs_of(data)
    learnt, tested = runs[::12], runs[6::12]
    for name in (*learnt, *tested):
        assert hinsdale_to_bag.main(["--data", str(data), "--run", name, "--output",
                                     str(folder / name)]) == 0
    config = load_config(EXAMPLES / "hinsdale.yaml").with_values(
        {"robot.urdf": str(data / "blue_rov_hardware_fixedjaw.urdf")})
    found = hinsdale_compare.compare([folder / name for name in learnt],
                                     [folder / name for name in tested], config)
    print(hinsdale_compare.report(found))
    return found


def test_hinsdale_vehicle_balances_its_arm(hinsdale):
    """On held-out runs, pooled: R^2 of Y_v pi_v against -Y_vm pi_m is at least .95 in roll and
    pitch."""
    assert set(hinsdale.r2["estimator"]) == {"roll", "pitch"} and min(
        hinsdale.r2["estimator"].values()) >= 0.95


def test_hinsdale_restoring_stiffness(hinsdale):
    """|zgW_zbB| is close to the 3.9 to 4.3 N m of independent fits."""
    table = hinsdale.learnt.robot.table
    assert 3.6 <= abs(hinsdale.parameters["estimator"][table.index["zgW_zbB"]]) <= 4.8


def test_hinsdale_damping_has_the_right_sign_where_least_squares_has_not(hinsdale):
    """On rows whose least-squares solution has damping that drives the vehicle, no estimate has a
    positive coefficient."""
    damping = hinsdale.learnt.robot.table.nonpositive
    assert hinsdale.learnt.log.violations == 0 and hinsdale.highest_damping <= 0
    assert hinsdale.parameters["least squares"][damping].max() > 0.1


def test_hinsdale_arm_is_fixed_and_the_vehicle_free(hinsdale):
    """The comparison uses an estimate of the whole vehicle and nothing else."""
    learnt = hinsdale.learnt
    table, moved = learnt.robot.table, learnt.final.values != learnt.prior.values
    assert moved[table.vehicle_slice].all() and not moved[table.arm_slice].any()
    assert np.array_equal(hinsdale.parameters["least squares"][table.arm_slice],
                          hinsdale.learnt.prior.values[table.arm_slice])
