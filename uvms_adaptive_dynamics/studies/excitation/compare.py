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

"""Compare a designed motion, and one designed for half the time, with a multisine of equal peak use
and no less power: information, held-out R^2, and promised against achieved standard deviations."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...config import Config
from ...control.excitation.design import design, resting_place
from ...control.excitation.limits import MotionLimits, moving
from ...control.excitation.motion_information import information, promise_of
from ...control.excitation.noise import noise_of
from ...control.excitation.prior_knowledge import Knowledge
from ...control.excitation.trajectory import IMPROVED_SHARE, Promise
from ...model.covariance import deviations
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from .dry_run import dry_run
from .learning import Learnt, held_out, learn
from .multisine import energy, multisine, with_energy

# Information of both motions together, in prior deviations; below it, neither shows a direction.
LEAST_INFORMATION = 1e-3
# Shares of a motion after which its promise is restated.
RESTATED = 0.25, 0.5


def compare(config: Config, robot: RobotModel, known: ParameterSet, at_rest: np.ndarray,
            limits: MotionLimits, duration: float, seed: int) -> dict[str, Any]:
    """Figures of both motions for all channels and parameters, from present knowledge; at_rest
    (C,): noise of the robot while it holds its position."""
    free, noise = np.ones(robot.table.size, bool), noise_of(known, robot, config)
    knowledge = Knowledge(robot, known, free, config)
    tight = limits.with_margins(config, duration)
    # same start and same draws as the search for the designed motion
    place, draws = resting_place(robot, tight, knowledge.draws(limits, config, seed),
                                 moving(robot, ["*"]), None, seed)
    designed = design(robot, known, noise, free, ["*"], limits, duration, seed, config=config,
                      at_rest=at_rest)
    by_hand = multisine(robot, tight, draws, place[6:], duration, config)
    allowed = energy(by_hand, robot, tight, known.values)
    full = energy(designed, robot, tight, known.values)
    designed = with_energy(designed, robot, tight, known.values, allowed)
    gained = {name: knowledge.reduced(information(motion, robot, at_rest, config, knowledge)[0])
              for name, motion in (("designed", designed), ("multisine", by_hand))}
    values, V = np.linalg.eigh(sum(gained.values()))
    shown = V[:, values > LEAST_INFORMATION]
    smallest = {name: float(np.linalg.eigvalsh(shown.T @ A @ shown)[0])
                for name, A in gained.items()}
    half = with_energy(
        design(robot, known, noise, free, ["*"], limits, duration / 2, seed, config=config,
               at_rest=at_rest), robot, tight, known.values, allowed)
    test, learnt = held_out(config, robot), {}
    for name, motion in (("designed", designed), ("half", half), ("multisine", by_hand)):
        run = dry_run(config, robot, motion, limits, known, seed)
        learnt[name] = learn(config, robot, run.samples, known, test)
    return {
        "duration_s": duration, "seed": seed,
        "energy": {"multisine": allowed, "designed before": full,
                   "designed": energy(designed, robot, tight, known.values)},
        "directions": int(shown.shape[1]), "smallest_eigenvalue": smallest,
        "eigenvalue_ratio": smallest["designed"] / max(smallest["multisine"], 1e-300),
        "r2": {name: dict(zip(robot.channels, each.r2[-1].tolist()))
               for name, each in learnt.items()},
        "unexplained": {name: {"mean": float(np.mean(1 - each.r2[-1])),
                               "worst": float(np.max(1 - each.r2[-1]))}
                        for name, each in learnt.items()},
        "time_share": time_share(learnt["designed"], learnt["multisine"]),
        "on_the_way": {name: {"t_s": each.t.tolist(),
                              "mean": np.mean(1 - each.r2, axis=1).tolist(),
                              "worst": np.max(1 - each.r2, axis=1).tolist()}
                       for name, each in learnt.items()}}


def time_share(designed: Learnt, by_hand: Learnt) -> dict[str, float | None]:
    """Share of the multisine's time after which the designed motion predicts as well as the
    multisine at its end, and continues to: by the channels' mean 1 - R^2, and by the worst channel.

    The multisine's time is when it first was as good; for 'lasting' it must also stay so.
    """
    found: dict[str, float | None] = {}
    for name, judged in (("mean", np.mean), ("worst", np.max)):
        ours, theirs = (judged(1 - each.r2, axis=1) for each in (designed, by_hand))
        after = _lasting(ours, theirs[-1])
        times = {"": by_hand.t[np.flatnonzero(theirs <= theirs[-1])[0]],
                 ", lasting": by_hand.t[_lasting(theirs, theirs[-1])]}
        found |= {name + rule: float(designed.t[after] / needed) if after < ours.size else None
                  for rule, needed in times.items()}
    return found


def _lasting(unexplained: np.ndarray, level: float) -> int:
    """Index from which on it stays at most at the level; its length if it never does."""
    worse = np.flatnonzero(unexplained > level)
    return int(worse[-1]) + 1 if worse.size else 0


def kept_promises(config: Config, robot: RobotModel, known: ParameterSet, at_rest: np.ndarray,
                  limits: MotionLimits, duration: float, seed: int) -> dict[str, Any]:
    """Achieved over promised deviations of three motions in a row, each designed from what was
    learnt before it and with the noise known by then. For the first motion also over the best-case
    promise, with the noise at_rest (C,), and over promises restated under way."""
    found: dict[str, Any] = {}
    free = np.ones(robot.table.size, bool)
    for k in range(1, 4):
        motion = design(robot, known, noise_of(known, robot, config), free, ["*"], limits,
                        duration, seed + k, config=config, at_rest=at_rest if k == 1 else None)
        run = dry_run(config, robot, motion, limits, known, seed + k)
        stops = [share * duration for share in RESTATED] if k == 1 else []
        learnt = learn(config, robot, run.samples, known, stops=stops)
        promise, achieved = motion.promise, learnt.parameters
        assert promise is not None
        found[f"motion {k}"] = ratios(promise, achieved) | {"touched": list(run.touched)}
        if promise.at_best is not None:
            found[f"motion {k}, at best"] = ratios(promise._replace(promised=promise.at_best),
                                                   achieved)
            found[f"motion {k}, interval"] = held(promise, achieved)
        for t, then in zip(stops, learnt.on_the_way):
            restated = promise_of(motion, robot, noise_of(then, robot, config), config,
                                  Knowledge(robot, then, free, config), t)
            found[f"motion {k}, after {t:g} s"] = ratios(
                restated._replace(present=promise.present), achieved)
        known = replace(achieved, source="")
    return found


def held(promise: Promise, achieved: ParameterSet) -> dict[str, Any]:
    """Share of achieved deviations between the best-case and the cautious promise, and within .8 to
    1.3 of these; for parameters that at best should improve by a fifth or more."""
    assert promise.at_best is not None and achieved.covariance is not None
    improved = promise.free & (promise.at_best < IMPROVED_SHARE * promise.present)
    found = deviations(achieved.covariance)[improved]
    # Correlated rows outweigh the prior the more the less noise they have, so the best-case promise
    # is not always the smaller one.
    ends = promise.at_best[improved], promise.promised[improved]
    low, high = np.minimum(*ends), np.maximum(*ends)
    return {"parameters": int(improved.sum()), "width": float(np.median(high / low)),
            "held": float(np.mean((found >= low) & (found <= high))),
            "held within .8 to 1.3": float(np.mean((found >= 0.8 * low) & (found <= 1.3 * high)))}


def ratios(promise: Promise, achieved: ParameterSet) -> dict[str, Any]:
    """Median, 10th and 90th percentile of achieved over promised deviations, for parameters that
    should improve by a fifth or more."""
    assert achieved.covariance is not None
    improved = promise.improved
    ratio = deviations(achieved.covariance)[improved] / promise.promised[improved]
    if not ratio.size:
        return {"parameters": 0}
    low, middle, high = np.percentile(ratio, [10, 50, 90]).tolist()
    return {"parameters": int(improved.sum()), "10 %": low, "median": middle, "90 %": high,
            "within .8 to 1.3": float(np.mean((ratio > 0.8) & (ratio < 1.3))),
            "each": dict(zip(np.array(promise.names)[improved].tolist(), ratio.tolist()))}
