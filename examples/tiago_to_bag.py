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

"""Convert the published TIAGo recording (torso lift and 7-joint arm, 100 Hz) to a rosbag2 bag.

The bag has one topic, `joint_states`. Efforts remain motor currents [A] as recorded;
`joint_states.effort_scale` converts them to torque (see README.md).
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bag_writer import ConversionError, Message, joint_state, read_table, write_bag

JOINTS = ("torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 8)))
USEFUL_ROWS = (921, 6791)       # the arm stands still before and after them
TRAINING_SHARE = 0.7
EPOCH_NS = 1_600_000_000 * 10**9  # the recording starts at time zero; any fixed date will do
# [s] lag of the recorded velocity, which is filtered, behind the positions: shifted by this much it
# differs from their slope by 2-4 % RMS on arm_2 to arm_7, unshifted by 13 % (torso and arm_1 fit
# best at 0.18 and 0.155).
VELOCITY_DELAY = 0.195


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True,
                        help="folder with tiago_position.csv.gz, _velocity and _effort")
    parser.add_argument("--output", type=Path, required=True,
                        help="bag to write (a folder that does not exist yet)")
    parser.add_argument("--rows", type=_rows, default=USEFUL_ROWS, metavar="FIRST:END",
                        help="rows used, 921:6791 by default")
    parser.add_argument("--part", choices=("train", "test", "all"), default="all",
                        help="first 70 %%, last 30 %% or all of the rows")
    parser.add_argument(
        "--velocity", choices=("aligned", "recorded", "none"), default="aligned",
        help="aligned: the recorded velocity shifted 0.195 s ahead, to match the positions")
    options = parser.parse_args(arguments)
    try:
        first, end = part_of(options.rows, options.part)
        count = write_bag(
            options.output, messages(options.data, first, end, options.velocity), {
                "source": "github.com/thanhndv212/figaroh-examples, examples/tiago",
                "licence": "Apache-2.0", "rows": f"{first}:{end}", "effort": "motor current [A]",
                "velocity": options.velocity
            })
    except ConversionError as error:
        print(f"tiago_to_bag: {error}", file=sys.stderr)
        return 1
    print(f"{options.output}: {count} joint states, rows {first}:{end}")
    return 0


def _rows(text: str) -> tuple[int, int]:
    first, _, end = text.partition(":")
    if not (first.isdigit() and end.isdigit() and int(first) < int(end)):
        raise argparse.ArgumentTypeError(f"'{text}' is not FIRST:END with FIRST smaller than END")
    return int(first), int(end)


def part_of(rows: tuple[int, int], part: str) -> tuple[int, int]:
    """(first, end) row of the training part, the test part or all of `rows`."""
    first, end = rows
    cut = first + round(TRAINING_SHARE * (end - first))
    return {"train": (first, cut), "test": (cut, end), "all": (first, end)}[part]


def messages(data: Path, first: int, end: int, velocity: str) -> Iterator[Message]:
    """Yields one JointState [m, rad; m/s, rad/s; A] per row; raises ConversionError."""
    tables = {
        quantity: read_table(data / f"tiago_{quantity}.csv.gz")
        for quantity in ("position", "velocity", "effort")
    }
    time = tables["position"]["t"]
    if end > len(time):
        raise ConversionError(f"--rows ends at {end}, but the recording has {len(time)} rows.")
    position, rate, current = (_columns(data, quantity, tables[quantity], time)
                               for quantity in tables)
    if velocity == "aligned":
        rate = np.column_stack(
            [np.interp(time + VELOCITY_DELAY, time, column) for column in rate.T])
    elif velocity == "none":
        rate = np.empty((len(time), 0))
    for row in range(first, end):
        stamp_ns = EPOCH_NS + round(time[row] * 1e9)
        yield Message(stamp_ns, "/joint_states",
                      joint_state(stamp_ns, JOINTS, position[row], rate[row], current[row]))


def _columns(data: Path, quantity: str, table: dict[str, np.ndarray],
             time: np.ndarray) -> np.ndarray:
    """(rows, 8) the joints' columns in the order of JOINTS; in the files these are called
    '- arm_1_joint_position'."""
    missing = [joint for joint in JOINTS if f"- {joint}_{quantity}" not in table]
    if missing or not np.array_equal(table["t"], time):
        raise ConversionError(
            f"'{data / f'tiago_{quantity}.csv.gz'}' lacks "
            f"{missing or 'the time column of the positions'}."
        )
    return np.column_stack([table[f"- {joint}_{quantity}"] for joint in JOINTS])


if __name__ == "__main__":
    sys.exit(main())
