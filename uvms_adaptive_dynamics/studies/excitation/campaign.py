"""Random robots and limits: is a motion designed in time, and does the true robot touch a limit?"""
from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...config import Config
from ...control.excitation.design import design
from ...control.excitation.limits import MotionLimits
from ...errors import UvmsError
from ...model.parameter_file import ParameterSet
from ...model.prior import prior_from_config
from ...model.robot import RobotModel
from ...signals.filters.thrust_curve import ThrustCurve
from ..closed_loop.truth import true_parameters, wrong_prior
from .compare import noise_of
from .dry_run import dry_run


def campaign(config: Config, robot: RobotModel, count: int, duration: float, factor: float,
             first: int = 1) -> Iterator[dict[str, Any]]:
    """Results of robots `first` and following, each of figures of its own (simulation/individual),
    with random limits, from a prior that is wrong by `factor`."""
    true = true_parameters(config, robot, 0.0, min(duration, 30.0)) if factor != 1.0 else None
    for k in range(first, first + count):
        limited = config.with_values(random_limits(k, len(robot.joints), robot))
        known = prior_from_config(config, robot)
        if true is not None:
            known = wrong_prior(true, robot, config, factor, k)
        yield _one(limited, robot, known, duration, k)


def random_limits(seed: int, n: int, robot: RobotModel) -> dict[str, Any]:
    """Settings `excitation.*` of a site that might be."""
    rng = np.random.default_rng([seed, 7])
    found: dict[str, Any] = {
        "excitation.box": rng.uniform(0.7, 2.0, 3).tolist(),
        "excitation.tilt": float(rng.uniform(0.15, 0.5)),
        "excitation.yaw_turns": float(rng.uniform(0.1, 1.0)),
        "excitation.speed": float(rng.uniform(0.2, 0.6)),
        "excitation.rate": float(rng.uniform(0.3, 1.0))}
    if robot.arm is not None:
        low, high = robot.arm.limits_low, robot.arm.limits_high
        cut = rng.uniform(0.0, 0.25, (2, n)) * (high - low)
        found |= {"excitation.joint_low": (low + cut[0]).tolist(),
                  "excitation.joint_high": (high - cut[1]).tolist(),
                  "excitation.joint_speed": (rng.uniform(0.4, 1.0, n)
                                             * robot.arm.speed_limits).tolist()}
    return found


def _one(config: Config, robot: RobotModel, known: ParameterSet, duration: float,
         seed: int) -> dict[str, Any]:
    limits = MotionLimits.from_config(config, robot, ThrustCurve.of_setting(
        config.thrusters.curve))
    begun = time.process_time()
    try:
        motion = design(robot, known, noise_of(known, robot, config),
                        np.ones(robot.table.size, bool), ["*"], limits, duration, seed,
                        config=config)
    except UvmsError as error:
        return {"robot": seed, "refused": str(error)}
    seconds = time.process_time() - begun
    run = dry_run(config, robot, motion, limits, known, seed, seed)
    most = max(run.largest, key=lambda name: run.largest[name])
    return {"robot": seed, "design_s": seconds, "touched": list(run.touched),
            "most used": {most: run.largest[most]}, "uses": run.largest,
            "gain_nats": motion.made["gain_nats"]}
