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

"""Random robots and limits: design time of a motion, and limits that the true robot touches."""
from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ...config import Config
from ...control.excitation.design import design
from ...control.excitation.limits import MotionLimits
from ...control.excitation.noise import noise_of
from ...errors import UvmsError
from ...model.parameter_set import ParameterSet
from ...model.prior import prior_from_config
from ...model.robot import RobotModel
from ...model.thrust_curve import ThrustCurve
from ..closed_loop.truth import true_parameters, wrong_prior
from .dry_run import DryRun, dry_run
from .learning import learn

# Designs tried in a row when holding still at the start takes too much effort, each from what was
# learnt during the previous approach.
MOST_DESIGNS = 3


class Campaign:
    """Robots by number, each with its own true parameters (simulation/individual) and limits;
    priors are wrong by `factor`."""

    def __init__(self, config: Config, robot: RobotModel, duration: float, factor: float,
                 again: float | None):
        """duration [s] of motions; again [s]: processor time of a second design, from what the
        first motion taught; None for no second design."""
        self._config, self._robot, self._duration = config, robot, duration
        self._factor, self._again = factor, again

    @cached_property
    def _true(self) -> ParameterSet:
        return true_parameters(self._config, self._robot, 0.0, min(self._duration, 30.0))

    def tried(self, k: int) -> dict[str, Any]:
        """Result of robot k."""
        config, robot = self._config, self._robot
        limited = config.with_values(random_limits(k, len(robot.joints), robot))
        known = (prior_from_config(config, robot) if self._factor == 1.0
                 else wrong_prior(self._true, robot, config, self._factor, k))
        limits = MotionLimits.from_config(limited, robot, ThrustCurve.of_settings(
            config.thrusters))
        first, run = self._one(limited, limits, known, k, math.inf)
        if run is None or self._again is None:
            return {"robot": k, **first}
        known = replace(learn(limited, robot, run.samples, known).parameters, source="")
        return {"robot": k, **first, "again": self._one(limited, limits, known, k, self._again)[0]}

    def _one(self, config: Config, limits: MotionLimits, known: ParameterSet, k: int,
             seconds: float) -> tuple[dict[str, Any], DryRun | None]:
        robot, believed = self._robot, known
        held_back: list[dict[str, float]] = []
        for number in range(MOST_DESIGNS):
            begun = time.process_time()
            try:
                motion = design(robot, believed, noise_of(believed, robot, config),
                                np.ones(robot.table.size, bool), ["*"], limits, self._duration,
                                k + 1000 * number, seconds, config=config)
            except UvmsError as error:
                return {"refused": str(error), "held_back": held_back}, None
            taken = time.process_time() - begun
            run = dry_run(config, robot, motion, limits, known, k, k, holds_back=True)
            if not run.held_back:
                break
            held_back.append(run.held_back)
            believed = replace(learn(config, robot, run.samples, believed).parameters, source="")
        else:
            return {"refused": "held back each time", "held_back": held_back}, None
        most = max(run.largest, key=lambda name: run.largest[name])
        return {"design_s": taken, "touched": list(run.touched), "held_back": held_back,
                "most used": {most: run.largest[most]}, "uses": run.largest,
                "gain_nats": motion.made["gain_nats"],
                "stopped_by_time": motion.made["stopped_by_time"]}, run


def random_limits(seed: int, n: int, robot: RobotModel) -> dict[str, Any]:
    """Settings `excitation.*` of a random site."""
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
