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

"""Compares a run that was saved, loaded and continued with one that was not interrupted.

    python docs/measure_restart.py [--seeds 1 2 3]

continued
    RMSE of predictions in the second minute of a recording, loaded from a file after the first,
    relative to that of the uninterrupted run on the same rows.
other motion
    RMSE on a minute of another motion while learning continues from that file, relative to the
    same file frozen.

Simulated robot with all sensors, prior wrong by a factor of two, a solve at every tick.
"""
from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np  # noqa: E402

from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.estimation.estimator import Estimator  # noqa: E402
from uvms_adaptive_dynamics.model.parameter_file import (  # noqa: E402
    load_parameters,
    save_parameters,
)
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.model.sample import Sample  # noqa: E402
from uvms_adaptive_dynamics.studies.benchmark.samples import simulated_samples  # noqa: E402

MINUTE = 60.0       # [s]


def main() -> int:
    """Run, print, and return 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3],
                        help="simulated motions and noises; default 1 2 3")
    config = Config()
    robot = RobotModel.from_config(config)
    print(" " * 16, *(f"{channel:>7s}" for channel in robot.channels))
    for seed in parser.parse_args().seeds:
        samples = simulated_samples(2 * MINUTE, seed)
        end = len(samples) // 2
        whole = Estimator(config, perturbed(prior_from_config(config, robot), 2, seed), robot)
        residuals(whole, samples[:end])
        with tempfile.TemporaryDirectory() as folder:
            file = save_parameters(Path(folder) / "saved.yaml", whole.parameter_set())
            saved = load_parameters(file)
        _print("continued", residuals(Estimator(config, saved, robot), samples[end:]),
               residuals(whole, samples[end:]))
        other = simulated_samples(MINUTE, seed + 100)
        _print("other motion", residuals(Estimator(config, saved, robot), other),
               residuals(Estimator(config, saved, robot, learn=False), other))
    return 0


def residuals(estimator: Estimator, samples: Sequence[Sample]) -> dict[float, np.ndarray]:
    """Stamp -> residuals (C,) of predictions before they are learnt from, NaN where not valid."""
    found = {}
    for sample in samples:
        prediction = estimator.add(sample)
        estimator.solve()
        if prediction is not None:
            found[prediction.t] = np.where(prediction.valid, prediction.residual, np.nan)
    return found


def _print(what: str, one: dict[float, np.ndarray], other: dict[float, np.ndarray]) -> None:
    stamps = sorted(one.keys() & other.keys())
    rmse, reference = (np.sqrt(np.nanmean(np.square([rows[t] for t in stamps]), axis=0))
                       for rows in (one, other))
    print(f"{what:16s}", *(f"{ratio:7.4f}" for ratio in rmse / reference), flush=True)


if __name__ == "__main__":
    sys.exit(main())
