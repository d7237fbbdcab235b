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

"""Check that the vehicle's moment balances the arm's on unseen runs, and compare least squares.

The runs of `hinsdale_to_bag.py --all` are split into halves, alternating by name. On the first half
all 27 parameters of the vehicle are estimated in two ways, with the arm's parameters fixed to the
published ones:

    estimator      as on a robot: prior, robust, within the physical set
    least squares  ordinary, on the same rows, without prior or constraints

On the second half the vehicle's moment Y_v pi_v is compared with the arm's, -Y_vm pi_m: with the
thrusters off they balance.
"""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# On matrices of this size BLAS threads only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Appended, so that an installed package takes precedence over the checkout.
sys.path.append(str(Path(__file__).resolve().parent.parent))

import numpy as np

from uvms_adaptive_dynamics.config import Config, load_config
from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.evaluation.run import Run, run
from uvms_adaptive_dynamics.model.metrics import channel_metrics

MOMENTS = ("roll", "pitch")
RESTORING = ("W", "B", "xgW_xbB", "ygW_ybB", "zgW_zbB")


class Comparison(NamedTuple):
    """Parameters (p,) of both estimates, their R^2 on the tested half by moment, and the runs.

    highest_damping: largest damping coefficient over all (kept) estimates while learning; damping
    coefficients should be negative.
    """

    learnt: Run
    tested: Run
    parameters: dict[str, np.ndarray]
    r2: dict[str, dict[str, float]]
    highest_damping: float


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bags", type=Path,
                        help="folder with the bags from hinsdale_to_bag.py --all")
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("hinsdale.yaml"),
                        help="default: hinsdale.yaml next to this file")
    parser.add_argument("--swap", action="store_true", help="exchange the halves")
    options = parser.parse_args(arguments)
    try:
        bags = sorted(path for path in options.bags.glob("*") if path.is_dir())
        if len(bags) < 2:
            raise UvmsError(
                f"'{options.bags}' holds {len(bags)} bags; expected those of hinsdale_to_bag.py "
                "--all."
            )
        halves = (bags[1::2], bags[::2]) if options.swap else (bags[::2], bags[1::2])
        print(report(compare(*halves, load_config(options.config))))
    except UvmsError as error:
        print(f"hinsdale_compare: {error}", file=sys.stderr)
        return 1
    return 0


def compare(learnt_on: Sequence[Path], tested_on: Sequence[Path], config: Config) -> Comparison:
    """Make both estimates from some runs and test them on others; raises UvmsError."""
    learnt = run(learnt_on, config)
    # One frozen run provides the tested rows; each estimate predicts on them.
    tested = run(tested_on, config, learnt.final, frozen=True)
    parameters = {"estimator": learnt.final.values, "least squares": plain_least_squares(learnt)}
    return Comparison(learnt, tested, parameters,
                      {name: balance(tested, pi)
                       for name, pi in parameters.items()},
                      float(learnt.log.trajectory().pi[:, learnt.robot.table.nonpositive].max()))


def balance(tested: Run, pi: np.ndarray) -> dict[str, float]:
    """R^2 of the vehicle's moment Y_v pi_v against the arm's, -(Y_vm pi_m + buoyancy of its links),
    all rows pooled."""
    rows, table = tested.log.rows(), tested.robot.table
    arm_alone, vehicle_alone = pi.copy(), pi.copy()
    arm_alone[table.vehicle_slice] = 0.0
    vehicle_alone[table.arm_slice] = 0.0
    arm, _ = tested.log.predict(arm_alone, None)
    vehicle, _ = tested.log.predict(vehicle_alone, None)
    found = {}
    for c, channel in enumerate(tested.robot.channels):
        if channel in MOMENTS:
            # `predict` adds the known buoyancy to both; it belongs to the arm.
            found[channel] = channel_metrics(-arm[:, c], vehicle[:, c] - rows.tau_known[:, c],
                                             rows.stddev[:, c], rows.valid[:, c], "N m")["r2"]
    return found


def plain_least_squares(learnt: Run) -> np.ndarray:
    """(p,) parameters with the vehicle's from ordinary least squares on the rows of a run, each
    divided by its channel's noise in the settings."""
    rows, table, vehicle = learnt.log.rows(), learnt.robot.table, learnt.robot.vehicle_rows
    pi = learnt.prior.values.copy()
    pi[table.vehicle_slice] = 0.0
    arm, _ = learnt.log.predict(pi, None)
    places = range(table.vehicle_slice.start, table.vehicle_slice.stop)
    # A column of Y is the response to its parameter alone.
    columns = [(learnt.log.predict(unit, None)[0] - rows.tau_known)[:, vehicle]
               for unit in np.eye(table.size)[places.start:places.stop]]
    weight = 1 / np.array(learnt.config.estimation.noise_stddev[vehicle])
    valid = rows.valid[:, vehicle].ravel()
    A = np.column_stack([(column * weight).ravel()[valid] for column in columns])
    b = ((rows.measured - arm)[:, vehicle] * weight).ravel()[valid]
    # W and B have the same columns with opposite signs: lstsq returns the minimum-norm solution.
    pi[table.vehicle_slice] = np.linalg.lstsq(A, b, rcond=None)[0]
    return pi


def report(found: Comparison) -> str:
    """The comparison as a table."""
    table, log = found.learnt.robot.table, found.learnt.log
    lines = [
        f"learnt on {len(log)} rows, tested on {len(found.tested.log)}; of {log.updates} estimates "
        f"{log.violations} outside the physical set, highest damping coefficient "
        f"{found.highest_damping:.2g}",
        f"{'':<22}" + "".join(f"{name:>16}" for name in found.parameters)
    ]
    lines += [
        f"{'R^2 ' + channel:<22}" + "".join(f"{found.r2[name][channel]:>16.3f}"
                                            for name in found.parameters)
        for channel in MOMENTS
    ]
    lines += [
        f"{table.names[i]:<22}" + "".join(f"{pi[i]:>16.3f}"
                                          for pi in found.parameters.values())
        for i in (*table.places(RESTORING), *table.nonpositive)
    ]
    wrong = [int(np.sum(pi[table.nonpositive] > 0)) for pi in found.parameters.values()]
    return "\n".join(
        lines + [f"{'damping of wrong sign':<22}" + "".join(f"{count:>16}" for count in wrong)])


if __name__ == "__main__":
    sys.exit(main())
