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

"""Convert recordings of a UR10e on a fixed base, with and without a load, to rosbag2 bags.

Output: joint states with the motors' currents [A] as efforts. Input: the tables of
shamilmamedov/dynamic_calibration, `dataset_ur10e` (see README.md). Rows that a damaged transfer has
spoilt are left out and counted.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bag_writer import ConversionError, Message, joint_state, write_bag

JOINTS = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint",
          "wrist_2_joint", "wrist_3_joint")
EPOCH_NS = 1_600_000_000 * 10 ** 9      # the tables' times [s] have no date
# Columns: time [s], positions [rad], velocities [rad/s], currents [A]; wanted ones are not used.
USED = 1 + 3 * len(JOINTS)
LARGEST = 100.0     # beyond any of these joints' positions, velocities and currents


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="one table (.csv)")
    parser.add_argument("--output", type=Path, required=True,
                        help="bag to write (a folder that does not exist yet)")
    options = parser.parse_args(arguments)
    try:
        rows, spoilt = read(options.data)
        count = write_bag(options.output, messages(rows), {
            "source": "github.com/shamilmamedov/dynamic_calibration, dataset_ur10e",
            "licence": "none stated", "recording": options.data.name})
    except ConversionError as error:
        print(f"ur10e_to_bag: {error}", file=sys.stderr)
        return 1
    print(f"{options.output}: {count} messages" + (f", {spoilt} spoilt rows" if spoilt else ""))
    return 0


def read(path: Path) -> tuple[np.ndarray, int]:
    """(rows (k, USED), number of rows that are spoilt); raises ConversionError."""
    if not path.is_file():
        raise ConversionError(f"'{path}' does not exist. Check --data.")
    lines = path.read_text(errors="replace").split()
    rows = [row for line in lines if (row := _row(line)) is not None]
    if len(rows) < 2:
        raise ConversionError(f"'{path}' is not a table of at least {USED} numbers per row.")
    # (a spoilt time is far from all others, which are hundredths of a second apart)
    table = np.array(rows)
    near = np.abs(table[:, 0] - np.median(table[:, 0])) < len(table)
    return table[near], len(lines) - int(near.sum())


def _row(line: str) -> list[float] | None:
    """The used numbers of a line; None if it is spoilt."""
    try:
        row = [float(cell) for cell in line.split(",")[:USED]]
    except ValueError:
        return None
    return row if len(row) == USED and max(map(abs, row[1:])) < LARGEST else None


def messages(rows: np.ndarray) -> Iterator[Message]:
    """Yields one JointState [rad, rad/s, A] per row (k, USED)."""
    for t, *values in rows:
        stamp_ns = EPOCH_NS + round(t * 1e9)
        yield Message(stamp_ns, "/joint_states", joint_state(
            stamp_ns, JOINTS, *np.reshape(values, (3, len(JOINTS)))))


if __name__ == "__main__":
    sys.exit(main())
