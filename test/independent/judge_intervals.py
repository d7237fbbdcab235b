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

"""Count the intervals of parameters that hold the truth, over dives of the independent simulator.

    python test/independent/judge_intervals.py DIVE OUTPUT [DIVE OUTPUT ..]

DIVE: folder of `make_bag`; OUTPUT: folder of `evaluate`. Judged are parameters of the vehicle
without its arm that have a true value: its inertia with the water's, its hull's damping, and the
lever of its weight. What the hull's damping is in waves, beside an arm and with thrust that falls
with the speed, is for the intervals to allow for.
"""
from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from fleet import draw
from rigid_tree import rigid_inertia

LINEAR = ("X_u", "Y_v", "Z_w", "K_p", "M_q", "N_r")
QUADRATIC = ("X_uu", "Y_vv", "Z_ww", "K_pp", "M_qq", "N_rr")
MASSES, INERTIAS = ("m_X_du", "m_Y_dv", "m_Z_dw"), ("Ix_K_dp", "Iy_M_dq", "Iz_N_dr")
GROUPS = {**dict.fromkeys(MASSES, "mass"), **dict.fromkeys(INERTIAS, "moment of inertia"),
          "mzg_X_dq": "first moment", "mzg_K_dv": "first moment", "zgW_zbB": "lever of the weight",
          **dict.fromkeys(LINEAR, "linear damping"),
          **dict.fromkeys(QUADRATIC, "quadratic damping")}


def true_parameters(number: int) -> dict[str, float]:
    """Parameters [SI] of the vehicle of an individual by the package's names."""
    robot = draw(number)
    tree, hull = robot.tree, robot.tree.bodies[0]
    M = rigid_inertia(hull.mass, hull.com, hull.inertia) + hull.added
    diagonal = np.diag(M)
    buoyancy = tree.rho * hull.volume * tree.g
    found = dict(zip(MASSES + INERTIAS, diagonal.tolist()))
    found |= {"mzg_X_dq": float(M[0, 4]), "mzg_K_dv": float(-M[3, 1]),
              "zgW_zbB": float(hull.com[2] * hull.mass * tree.g
                               - hull.buoyancy_centre[2] * buoyancy)}
    for names, matrix in ((LINEAR, robot.hull.linear), (QUADRATIC, robot.hull.quadratic)):
        found |= dict(zip(names, (-np.diag(matrix)).tolist()))
    return found


def main(arguments: list[str]) -> None:
    """Print a line for each group and flag."""
    missed: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for dive, output in zip(arguments[::2], arguments[1::2], strict=True):
        number = json.loads((Path(dive) / "truth.json").read_text())["individual"]
        stated = json.loads((Path(output) / "statement.json").read_text())["parameters"]
        truth = true_parameters(number)
        for one in stated:
            if one["name"] in truth and one["low"] is not None:
                inside = one["low"] <= truth[one["name"]] <= one["high"]
                missed[GROUPS[one["name"]], one["known_from"]].append(not inside)
    for group, flag in sorted(missed):
        print(f"{group:20s} {flag:9s} {sum(missed[group, flag]):4d} of "
              f"{len(missed[group, flag])} intervals miss the truth")
    every = sum(missed.values(), [])
    print(f"{'all':30s} {sum(every):4d} of {len(every)}")


if __name__ == "__main__":
    main(sys.argv[1:])
