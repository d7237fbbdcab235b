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

"""The command `simulate`."""

import argparse

import pytest

from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.simulation import simulate_command
from uvms_adaptive_dynamics.simulation.mishaps import Held, Mishaps, Pull, ThrusterFailure
from uvms_adaptive_dynamics.simulation.rough import ROUGH, Roughness


def test_simulate_command_writes_bag_and_truth(tmp_path):
    """The command's arguments reach the bag: duration, storage, payload and truth."""
    parser = argparse.ArgumentParser()
    simulate_command.add_arguments(parser)
    args = ["--output", str(tmp_path / "b"), "--duration", "1", "--seed", "2", "--payload", "0.2",
            "--truth", str(tmp_path / "t.npz")]
    assert simulate_command.run(parser.parse_args(args)) == 0
    assert (tmp_path / "b" / "metadata.yaml").is_file() and (tmp_path / "t.npz").is_file()


@pytest.mark.parametrize("given, expected", [
    ([], Roughness()), (["--rough"], ROUGH),
    (["--rough", "tether", "mocap"], Roughness(tether_force=2.0, mocap=True))])
def test_rough_without_a_part_is_all_of_it(given, expected):
    """Covers `--rough` alone, with parts, and without it."""
    parser = argparse.ArgumentParser()
    simulate_command.add_arguments(parser)
    args = parser.parse_args(["--output", "b_that_is_not_there", *given])
    assert simulate_command.rough_of(args.rough) == expected


def parsed(*given):
    parser = argparse.ArgumentParser()
    simulate_command.add_arguments(parser)
    return parser.parse_args(["--output", "b_that_is_not_there", *given])


def test_mishaps_are_those_asked_for():
    """Thrusters are counted from one, and each option may be repeated."""
    args = parsed("--pull", "-9", "4", "-8", "50", "--thruster-fails", "6", "0", "20",
                  "--thruster-fails", "1", ".4", "30", "--held", "50", "60")
    assert simulate_command.mishaps_of(args, 8) == Mishaps(
        (Pull((-9.0, 4.0, -8.0), 50.0),),
        (ThrusterFailure(5, 0.0, 20.0), ThrusterFailure(0, .4, 30.0)), (Held(50.0, 60.0),))


def test_what_holds_ends_after_it_begins():
    """The error says what was got and expected."""
    with pytest.raises(ConfigError, match="--held: got 60 and 50 s, expected an end after"):
        simulate_command.mishaps_of(parsed("--held", "60", "50"), 8)


@pytest.mark.parametrize("given", [("9", "0", "1"), ("0", "0", "1"), ("1.5", "0", "1"),
                                   ("1", "1.2", "1"), ("1", "-1", "1")])
def test_a_thruster_that_is_not_there_is_refused(given):
    """The error says what was got and expected."""
    with pytest.raises(ConfigError, match="expected one of 1 to 8 and a share of 0 to 1"):
        simulate_command.mishaps_of(parsed("--thruster-fails", *given), 8)
