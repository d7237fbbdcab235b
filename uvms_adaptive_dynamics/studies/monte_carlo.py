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

"""Monte Carlo: simulate with parameters drawn from an estimate, and compare with its bands."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..config import Config
from ..model.dynamics import State
from ..model.forward_simulation import Forward, error_of, simulate
from ..model.parameter_draws import draw_parameters
from ..model.parameter_set import ParameterSet
from ..model.physical_set import PhysicalSet
from ..model.robot import RobotModel

COMPARED_AFTER = 0.5  # [s] from which bands are compared, since at the start all spreads are zero


class Draws(NamedTuple):
    """errors (N, T, d) of runs with the drawn parameters values (N, p); refused: number of further
    draws refused; outside: number of the N outside P."""

    errors: np.ndarray
    values: np.ndarray
    refused: int
    outside: int


def monte_carlo(robot: RobotModel, start: State, efforts: Callable[[float], np.ndarray],
                estimate: ParameterSet, config: Config, duration: float, step: float, draws: int,
                seed: int) -> Draws:
    """Simulate `draws` runs, each with parameters drawn from the estimate's normal distribution.

    Most draws lie outside P in directions that no motion excites (mass shifted between neighbouring
    links). They count unchanged; `draw_parameters` refuses draws with which the robot cannot move.
    """
    covariance = estimate.covariance
    assert covariance is not None
    values, refused = draw_parameters(robot, start, estimate.values, covariance, draws, seed)
    base, physical = simulate(robot, start, efforts, estimate.values, duration,
                              step=step), PhysicalSet(robot.table, config.estimation)
    errors = []
    for drawn in values:
        run = simulate(robot, start, efforts, drawn, duration, step=step)
        errors.append(error_of(robot, run.states, run.position, base))
    return Draws(np.array(errors), values, refused,
                 sum(physical.violation(drawn) > 0 for drawn in values))


def band_ratios(band: Forward, errors: np.ndarray) -> np.ndarray:
    """(T, d) standard deviation of the band relative to that of the draws' errors (N, T, d); NaN if
    the latter is zero."""
    spread = errors.std(axis=0, ddof=1)
    return np.divide(band.stddev, spread, out=np.full_like(spread, np.nan), where=spread > 0)


def compared(draws: Draws, bands: Mapping[str, Forward], names: tuple[str, ...],
             step: float) -> dict[str, Any]:
    """Print each band relative to the spread of the draws, and return it for forward.json; step
    [s]."""
    late, count = slice(round(COMPARED_AFTER / step), None), len(draws.values)
    found: dict[str, Any] = {"draws": count, "refused": draws.refused, "outside_P": draws.outside}
    print(f"\n{count} draws, {draws.refused} more refused (no positive definite inertia), "
          f"{draws.outside} outside P")
    print(f"band / Monte Carlo, from {COMPARED_AFTER:g} s on: RMS over time, lowest .. highest")
    for said, band in bands.items():
        ratios = band_ratios(band, draws.errors)[late]
        drawn = draws.errors.var(axis=0, ddof=1)[late]
        overall = np.sqrt(np.mean(band.stddev[late] ** 2, axis=0) / np.mean(drawn, axis=0))
        found[said] = {"overall": overall, "lowest": ratios.min(axis=0),
                       "highest": ratios.max(axis=0)}
        print(f"  {said}")
        for k, name in enumerate(names):
            print(f"    {name:<16}{overall[k]:>7.3f}{ratios[:, k].min():>9.3f} .. "
                  f"{ratios[:, k].max():.3f}")
    return found
