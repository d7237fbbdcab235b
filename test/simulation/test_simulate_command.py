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

from uvms_adaptive_dynamics.simulation import simulate_command
from uvms_adaptive_dynamics.simulation.rough import ROUGH, Roughness


def test_simulate_command_writes_bag_and_truth(tmp_path):
    """The command's arguments reach the bag: duration, storage, payload and truth."""
    parser = argparse.ArgumentParser()
    simulate_command.add_arguments(parser)
    args = [
        "--output",
        str(tmp_path / "b"),
        "--duration",
        "1",
        "--seed",
        "2",
        "--payload",
        "0.2",
        "--truth",
        str(tmp_path / "t.npz"),
    ]
    assert simulate_command.run(parser.parse_args(args)) == 0
    assert (tmp_path / "b" / "metadata.yaml").is_file() and (tmp_path / "t.npz").is_file()


@pytest.mark.parametrize("given, expected", [
    ([], Roughness()), (["--rough"], ROUGH),
    (["--rough", "tether", "mocap"], Roughness(tether_force=2.0, mocap=True))])
def test_rough_without_a_part_is_all_of_it(given, expected):
    """`--rough` alone, with parts, and not at all."""
    parser = argparse.ArgumentParser()
    simulate_command.add_arguments(parser)
    args = parser.parse_args(["--output", "b_that_is_not_there", *given])
    assert simulate_command.rough_of(args.rough) == expected
