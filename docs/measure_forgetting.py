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

"""Compares forgetting: directional with and without change detection, uniform, and none.

    python docs/measure_forgetting.py [--seeds 1 2 3] [--payload 0.5]

held out
    1 - R^2 on another recording, parameters frozen after two minutes of motion.
calm
    The same after 20 s of motion, and again after five further minutes of rest, which must not
    lose what was learned.
payload
    1 - R^2 of predictions made before each row, in intervals after a mass was put into the gripper,
    two minutes after the start. `before`: the last 30 s without it. `from the start`: an estimator
    that began with it.

Simulated robot with all sensors, prior wrong by a factor of two, a solve at every tenth tick; means
over the ten channels. The default detects changes.
"""
from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(folder) for folder in (ROOT, ROOT / "test", ROOT / "test/estimation")]

import numpy as np  # noqa: E402
from frame_cases import decoded  # noqa: E402
from test_calm import r2, stopping  # noqa: E402

from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.estimation.estimator import Estimator  # noqa: E402
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.model.sample import Sample  # noqa: E402
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd  # noqa: E402
from uvms_adaptive_dynamics.signals.samples import samples_of  # noqa: E402
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot  # noqa: E402
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot  # noqa: E402

EVERY, DURATION, REST = 10, 120.0, 300.0
KINDS = {
    "default": {},
    "directional": {"estimation.follow_changes": False},
    "uniform": {"estimation.forgetting_kind": "uniform"},
    "none": {"estimation.forgetting": 1.0, "estimation.follow_changes": False},
}
PIECES = ((0.0, 10.0), (10.0, 30.0), (30.0, 60.0), (60.0, 120.0))


def main() -> int:
    """Run, print, and return 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3],
                        help="simulated robots' motions and noises; default 1 2 3")
    parser.add_argument("--payload", type=float, default=0.5,
                        help="mass put into the gripper [kg]; default 0.5")
    args = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    for seed in args.seeds:
        robot = RobotModel.from_config(Config())
        moving, other = (recorded(robot, SimulatedRobot(s, DURATION, truth_period=None))
                         for s in (seed, 1000 + seed))
        holding = replace(TrueRobot(), payload_mass=args.payload)
        loaded = recorded(robot, SimulatedRobot(2000 + seed, DURATION, holding, truth_period=None))
        rested = recorded(robot, stopping(seed, REST))
        for kind, settings in KINDS.items():
            figures = measured(Config().with_values(settings), robot, seed, moving, other, rested,
                               loaded)
            found[kind].append(figures)
            shown = ", ".join(f"{name} {value:.4f}" for name, value in figures.items())
            print(f"seed {seed}, {kind}: {shown}", flush=True)
    print("\n" + " ".join(f"{name:>14}" for name in ("1 - R^2", *KINDS)))
    for name in found["none"][0]:
        means = (np.mean([figures[name] for figures in found[kind]]) for kind in KINDS)
        print(f"{name:>14} " + " ".join(f"{mean:14.4f}" for mean in means))
    return 0


def recorded(robot: RobotModel, simulated: SimulatedRobot) -> list[Sample]:
    """Samples of a run, from the front end."""
    return samples_of(SignalFrontEnd(Config(), robot), map(decoded, simulated))


def measured(config: Config, robot: RobotModel, seed: int, moving, other, rested,
             loaded) -> dict[str, float]:
    """All figures of one kind of forgetting and one seed."""
    def begun() -> Estimator:
        return Estimator(config, perturbed(prior_from_config(config, robot), 2, seed), robot)

    estimator, figures = begun(), {}
    before = learn(estimator, moving)
    figures["held out"] = lost(config, robot, estimator, other)
    step = moving[-1].t + 0.02 - loaded[0].t
    after = learn(estimator, [replace(sample, t=sample.t + step) for sample in loaded])
    fresh = learn(begun(), loaded)
    figures["before"] = unexplained(before, DURATION - 30.0, DURATION)
    for begin, end in PIECES:
        figures[f"{begin:.0f}-{end:.0f} s"] = unexplained(after, begin, end)
    figures["from the start"] = unexplained(fresh, *PIECES[-1])
    estimator = begun()
    first = [sample for sample in rested if sample.t - rested[0].t <= 20.0]
    learn(estimator, first)
    figures["after 20 s"] = lost(config, robot, estimator, other)
    learn(estimator, rested[len(first):])
    figures["after the calm"] = lost(config, robot, estimator, other)
    return figures


def learn(estimator: Estimator, samples: list[Sample]) -> list:
    """Add all samples; returns the predictions made before each."""
    predictions = []
    for k, sample in enumerate(samples):
        prediction = estimator.add(sample)
        if prediction is not None:
            predictions.append(prediction)
        if k % EVERY == EVERY - 1:
            estimator.solve()
    return predictions


def lost(config: Config, robot: RobotModel, estimator: Estimator, samples: list[Sample]) -> float:
    """1 - R^2 of the frozen estimate on other samples, mean over channels."""
    return float(np.mean(1 - r2(config, robot, estimator.parameter_set(), samples)))


def unexplained(predictions: list, begin: float, end: float) -> float:
    """1 - R^2 of predictions from `begin` to `end` [s] after the first, mean over channels,
    relative to the variance over all predictions."""
    t = np.array([p.t for p in predictions]) - predictions[0].t
    valid, tau, residual = (np.array([getattr(p, name) for p in predictions])
                            for name in ("valid", "measured", "residual"))
    now = (t >= begin) & (t < end)
    shares = [np.mean(residual[now & ok, c] ** 2) / np.var(tau[ok, c])
              for c, ok in enumerate(valid.T)]
    return float(np.mean(shares))


if __name__ == "__main__":
    sys.exit(main())
