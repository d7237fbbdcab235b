"""A designed motion, and one designed for half the time, beside a multisine of equal peak use and
no less power: information, held-out R^2, and promised deviations beside those that the estimator
then states."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...config import Config
from ...control.excitation.design import design, information
from ...control.excitation.knowledge import Knowledge
from ...control.excitation.limits import MotionLimits
from ...control.excitation.trajectory import Promise
from ...model.covariance import deviations
from ...model.parameter_file import ParameterSet
from ...model.robot import RobotModel
from .dry_run import dry_run
from .learning import Learnt, held_out, learn
from .multisine import energy, multisine, with_energy

# Of the information of both motions together, in prior deviations: what no motion shows has less.
SHOWN = 1e-3


def compare(config: Config, robot: RobotModel, known: ParameterSet, limits: MotionLimits,
            duration: float, seed: int) -> dict[str, Any]:
    """Figures of both motions, of all channels and parameters, from what is known."""
    free, noise = np.ones(robot.table.size, bool), noise_of(known, robot, config)
    knowledge = Knowledge(robot, known, free, config)
    draws = knowledge.draws(limits, config, seed)
    tight = limits.with_margins(config, duration)
    designed = design(robot, known, noise, free, ["*"], limits, duration, seed, config=config)
    by_hand = multisine(robot, tight, draws, designed.posture, duration, config)
    allowed = energy(by_hand, robot, tight, known.values)
    full = energy(designed, robot, tight, known.values)
    designed = with_energy(designed, robot, tight, known.values, allowed)
    told = {name: knowledge.reduced(information(motion, robot, noise, config, knowledge)[0])
            for name, motion in (("designed", designed), ("multisine", by_hand))}
    values, V = np.linalg.eigh(sum(told.values()))
    shown = V[:, values > SHOWN]
    smallest = {name: float(np.linalg.eigvalsh(shown.T @ A @ shown)[0]) for name, A in told.items()}
    half = with_energy(
        design(robot, known, noise, free, ["*"], limits, duration / 2, seed, config=config), robot,
        tight, known.values, allowed)
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
        "time_share": time_share(learnt["designed"], learnt["multisine"])}


def time_share(designed: Learnt, by_hand: Learnt) -> dict[str, float | None]:
    """Share of the multisine's time after which the designed motion predicts as well, and stays so:
    by the mean over the channels of 1 - R^2, and by the worst channel's."""
    found: dict[str, float | None] = {}
    for name, judged in (("mean", np.mean), ("worst", np.max)):
        ours, theirs = (judged(1 - each.r2, axis=1) for each in (designed, by_hand))
        # The multisine's time: when it first was as good as it ended, if it was before.
        needed = by_hand.t[np.flatnonzero(theirs <= theirs[-1])[0]]
        worse = np.flatnonzero(ours > theirs[-1])
        after = worse[-1] + 1 if worse.size else 0
        found[name] = float(designed.t[after] / needed) if after < ours.size else None
    return found


def noise_of(known: ParameterSet, robot: RobotModel, config: Config) -> np.ndarray:
    """(C,) noise of rows: of a saved estimate, else what the estimator starts from."""
    if known.row_noise_stddev is not None:
        return known.row_noise_stddev
    return known.noise_stddev if known.noise_stddev is not None else robot.default_noise(config)


def kept_promises(config: Config, robot: RobotModel, known: ParameterSet, limits: MotionLimits,
                  duration: float, seed: int) -> dict[str, Any]:
    """Achieved over promised deviations of three motions in a row: from the prior, from what the
    first told, and from what both told, each designed with the noise of before."""
    found: dict[str, Any] = {}
    for k in range(1, 4):
        free, noise = np.ones(robot.table.size, bool), noise_of(known, robot, config)
        motion = design(robot, known, noise, free, ["*"], limits, duration, seed + k,
                        config=config)
        run = dry_run(config, robot, motion, limits, known, seed + k)
        learnt = learn(config, robot, run.samples, known)
        assert motion.promise is not None
        found[f"motion {k}"] = ratios(motion.promise, learnt.parameters) | {
            "touched": list(run.touched)}
        known = replace(learnt.parameters, source="")
    return found


def ratios(promise: Promise, achieved: ParameterSet) -> dict[str, Any]:
    """Median, and 10th and 90th percentile, of achieved over promised deviations of the parameters
    that were to become better known by a fifth or more."""
    assert achieved.covariance is not None
    told = promise.free & (promise.promised < 0.8 * promise.present)
    ratio = deviations(achieved.covariance)[told] / promise.promised[told]
    if not ratio.size:
        return {"parameters": 0}
    low, middle, high = np.percentile(ratio, [10, 50, 90]).tolist()
    return {"parameters": int(told.sum()), "10 %": low, "median": middle, "90 %": high,
            "within .8 to 1.3": float(np.mean((ratio > 0.8) & (ratio < 1.3))),
            "each": dict(zip(np.array(promise.names)[told].tolist(), ratio.tolist()))}
