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

"""What is said of efforts with a wrong sign, without signs and in another order, in recordings.

    PYTHONPATH=. python test/signals/checks/effort_wiring.py DIVE [DIVE ..]

DIVE: a folder of test/independent/make_bag.py. Each wiring is judged in its first half minute, its
first minute and the minute after 40 s. Prints how many were said right, wrong, or not at all.
"""
from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np

from uvms_adaptive_dynamics.config import load_config
from uvms_adaptive_dynamics.evaluation.bags import read_messages
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.checks.finding import SIGN, Finding
from uvms_adaptive_dynamics.signals.checks.joint_effort_check import (
    MAGNITUDES,
    check_efforts,
    speed_of,
)
from uvms_adaptive_dynamics.signals.checks.joint_order import ORDER
from uvms_adaptive_dynamics.signals.topics import inputs

PIECES = ((0.0, 31.0), (0.0, 61.0), (40.0, 100.0))  # [s]
MOST_ROWS = 1200    # of a piece, as many as the front end's log keeps of a minute


def joint_log(folder: Path) -> tuple[list[str], np.ndarray]:
    """Names (n,) and rows (k, 1 + 2 n) of times, positions and efforts."""
    config = load_config(folder / "robot.yaml")
    names = list(config.joint_states.names or RobotModel.from_config(config).joints)
    rows = {}
    for role, message, _ in read_messages(folder / "bag", inputs(config)):
        if role == "joint_states" and set(names) <= set(message.name) and len(message.effort):
            at, stamp = [list(message.name).index(name) for name in names], message.header.stamp
            t = stamp.sec + 1e-9 * stamp.nanosec
            rows[t] = [t, *np.asarray(message.position)[at], *np.asarray(message.effort)[at]]
    log = np.array([rows[t] for t in sorted(rows)]).reshape(-1, 1 + 2 * len(names))
    return names, log[np.isfinite(log).all(axis=1)]


def wirings(effort: np.ndarray, names: list[str]):
    """Yields (kind, efforts (k, n), what is to be said: '', MAGNITUDES, a joint, or an order)."""
    n = len(names)
    yield "right", effort, ""
    for j, name in enumerate(names):
        yield "sign", effort * np.where(np.arange(n) == j, -1.0, 1.0), name
    yield "without sign", np.abs(effort), MAGNITUDES
    for order in ([*range(1, n), 0], [1, 0, *range(2, n)]):
        yield "order", effort[:, order], "[" + ", ".join(names[k] for k in order) + "]"


def said(finding: Finding) -> str:
    """The finding in the terms of `wirings`."""
    if MAGNITUDES in finding.sentence:
        return MAGNITUDES
    if ORDER in finding.sentence:
        return finding.sentence[finding.sentence.index("["):]
    return finding.joint if SIGN in finding.sentence else finding.sentence


def main(folders: list[str]) -> None:
    """Print the counts."""
    counts: Counter[tuple[str, str]] = Counter()
    for folder in folders:
        names, log = joint_log(Path(folder))
        for begin, end in PIECES:
            piece = log[(log[:, 0] - log[0, 0] >= begin) & (log[:, 0] - log[0, 0] < end)]
            piece = piece[::max(1, len(piece) // MOST_ROWS)]
            t, mu, effort = piece[:, 0], *np.split(piece[:, 1:], 2, axis=1)
            speed = speed_of(t, mu)
            known = np.isfinite(speed).all(axis=1)
            for kind, wired, expected in wirings(effort, names):
                found, _ = check_efforts(names, *(part[known] for part in (t, mu, speed, wired)))
                what = {said(finding) for finding in found}
                counts[kind, "nothing" if not what else "right" if what == {expected} else "false"
                       ] += 1
    for (kind, what), count in sorted(counts.items()):
        print(f"{kind:13} {what:8} {count}")


if __name__ == "__main__":
    main(sys.argv[1:])
