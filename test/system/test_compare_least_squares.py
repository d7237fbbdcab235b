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

"""examples/compare_least_squares.py: its least squares, and the published results of UR10 and
Panda."""
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from campaign_cases import first
from conftest import ROOT

EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))

import compare_least_squares  # noqa: E402
from compare_least_squares import Rows, least_squares  # noqa: E402

# Held-out R^2 of plain least squares in the README of the recordings, all rows.
PUBLISHED = {"ur10": (.969, .989, .996, .984, .949, .965),
             "panda": (.703, .999, .997, .989, .921, .991, .941)}


@pytest.fixture
def recording(shared):
    """Bare .db3 and settings of a robot, by name."""
    folder = shared / "data" / "unisa_acg"
    if not folder.is_dir():
        pytest.skip(f"UR10 and Panda are not among the shared material ({folder})")

    def find(name):
        from uvms_adaptive_dynamics.config import load_config
        config = load_config(EXAMPLES / f"{name}.yaml").with_values(
            {"robot.urdf": str(folder / f"{name}.urdf")})
        return folder / f"{name}_exciting_trajectory.db3", config
    return find


def linear_rows(rng, pi, offset):
    """Rows of three channels that `pi` and a constant per channel explain exactly; the last channel
    is corrupted where it does not count."""
    Y = rng.standard_normal((60, 3, pi.size))
    measured, valid = Y @ pi + offset, np.ones((60, 3), bool)
    valid[::4, 2] = False
    measured[~valid] = 1e6
    return Rows(Y, measured, measured, np.ones((60, 3)), valid)


def test_least_squares_finds_parameters_and_offsets_of_exact_rows():
    """With an offset the test rows are matched exactly, without one they are off by about the
    offset; rows that do not count have no effect."""
    rng = np.random.default_rng(0)
    pi, offset = rng.standard_normal(5), np.array([3.0, 0.0, -2.0])
    table = SimpleNamespace(scale=np.array([1.0, 10.0, 0.1, 1.0, 1.0]), term_slices={})
    robot = SimpleNamespace(table=table)
    learnt, tested = (linear_rows(rng, pi, offset) for _ in range(2))
    expected = tested.Y @ pi + offset
    assert least_squares(learnt, tested, robot, offset=True) == pytest.approx(expected)
    error = expected - least_squares(learnt, tested, robot, offset=False)
    assert error.mean(axis=0) == pytest.approx(offset, abs=0.5)


def test_a_channel_that_nothing_drives_does_not_decide():
    """Its constant zero, which the model contradicts, leaves the fit of the others as it is."""
    rng = np.random.default_rng(0)
    pi = rng.standard_normal(5)
    robot = SimpleNamespace(table=SimpleNamespace(scale=np.ones(5), term_slices={}))
    learnt, tested = (linear_rows(rng, pi, np.zeros(3)) for _ in range(2))
    learnt.measured[:, 1] = 0.0
    expected = tested.Y @ pi
    assert least_squares(learnt, tested, robot, offset=False) == pytest.approx(expected)


@pytest.mark.parametrize("name", PUBLISHED)
def test_only_what_the_recording_asks_for_differs_from_the_defaults(recording, name):
    """The examples change neither noise nor prior nor any weight of the estimator."""
    _, config = recording(name)
    assert {setting.split(".")[0] for setting in config.changed()} == {
        "robot", "imu", "dvl", "depth", "thrusters"}
    assert len(config.robot.joints) == len(PUBLISHED[name])


@pytest.mark.parametrize("name", first(1, PUBLISHED))
def test_the_estimator_is_as_good_as_least_squares_on_motion_it_has_not_seen(recording, name):
    """Learnt on the first 70 % with the defaults, frozen, and tested on the rest: within .02 of the
    published least squares where those are above .9, and no joint below .65."""
    bag, config = recording(name)
    found = compare_least_squares.compare([bag], None, config)
    estimator = np.array(list(found.r2["estimator"].values()))
    published = np.array(PUBLISHED[name])
    good = published > 0.9
    assert found.changes == 0
    assert np.all(estimator[good] >= published[good] - 0.02), estimator
    assert np.all(estimator >= 0.65), estimator


@pytest.mark.parametrize("name", first(1, PUBLISHED))
def test_least_squares_is_the_published_one(recording, name):
    """With other low-passes and without rows at rest: at most .03 below the published value on
    every joint where that is above .9, from a bare .db3 whose times start at zero."""
    bag, config = recording(name)
    robot = compare_least_squares.RobotModel.from_config(config)
    (samples,) = compare_least_squares.usable_samples([bag], config, robot, [])
    assert samples[0].t < 1.0
    cut = round(compare_least_squares.TRAINING_SHARE * len(samples))
    # nothing is learnt: the rows alone are of interest
    rows = [compare_least_squares.rows_of(
        compare_least_squares.Estimator(config, robot=robot, learn=False), [part])
        for part in (samples[:cut], samples[cut:])]
    predicted = least_squares(*rows, robot, offset=True)
    r2 = np.array([by["r2"] for by in
                   compare_least_squares.metrics(robot, rows[1], predicted).values()])
    published = np.array(PUBLISHED[name])
    good = published > 0.9
    assert np.all(r2[good] >= published[good] - 0.03), r2


def test_a_missing_recording_is_one_sentence(tmp_path):
    """No traceback: the message gives the path and what is expected."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "compare_least_squares.py"), str(tmp_path / "nowhere")],
        capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "nowhere" in done.stderr
