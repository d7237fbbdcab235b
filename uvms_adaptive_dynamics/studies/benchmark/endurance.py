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

"""Memory and times over many ticks: the same samples repeat while their time advances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...estimation.estimator import Estimator
from ...garbage import ShortCollections
from ...model.prior import perturbed, prior_from_config
from ...solvers.problem import OUT_OF_TIME
from .cases import TimedCase
from .measure import BENCHMARK_SEED, PRIOR_WRONG_BY, prepare
from .process_memory import resident_mb
from .times import Stopwatch, Times

CHECKS = 10


class Endured(NamedTuple):
    """memory: (ticks done, resident memory [MB]) at ten instants; update: time of every tick from
    sample to estimate, after the horizon is full; late: number of solves that kept the last
    estimate or ended at the deadline."""

    memory: list[tuple[int, float]]
    update: list[Times]
    late: int


def endured(ticks: int, progress: Callable[[float], None] = lambda share: None, lap: int = 2500,
            case: TimedCase = TimedCase("endurance")) -> Endured:
    """Memory and times of `ticks` updates, by default in the acceptance setting, with the node's
    deadline."""
    config, robot, samples = prepare(case, lap)
    prior = perturbed(prior_from_config(config, robot), PRIOR_WRONG_BY, BENCHMARK_SEED)
    estimator = Estimator(config, prior, robot, real_time=True)
    late = 0
    memory: list[tuple[int, float]] = []
    update = np.full((ticks, len(Times._fields)), np.nan)  # allocated now, so that it cannot grow
    length = samples[-1].t - samples[0].t + config.filter.period
    every = max(1, ticks // CHECKS)
    with ShortCollections():  # as in the node
        for k in range(ticks):
            turn, place = divmod(k, len(samples))
            sample = replace(samples[place], t=samples[place].t + turn * length)
            clock = Stopwatch()
            estimator.step(sample)
            if estimator.information.window.filled == case.horizon:
                update[k] = clock.read()
            late += estimator.status in OUT_OF_TIME
            if (k + 1) % every == 0:
                memory.append((k + 1, resident_mb()))
                progress((k + 1) / ticks)
    times = [Times(*row) for row in update.tolist() if row[0] == row[0]]
    return Endured(memory, times, late)
