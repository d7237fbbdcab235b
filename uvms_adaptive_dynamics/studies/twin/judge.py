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

"""Judges forecasts from many instants against what happened."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...control.commands import Commands
from ...control.twin import Twin
from ...control.unexplained import BAND_STEP
from ...errors import ParameterError
from ...model.dynamics import State
from ...model.forward_simulation import Forward, error_of
from ...model.normal import Z95
from ...model.robot import RobotModel
from ...model.sample import Sample
from .reality import Reality

# Seconds ahead at which forecasts are judged, up to their horizon.
JUDGED_AHEAD = (1.0, 2.0, 5.0)


class Forecasts(NamedTuple):
    """M forecasts: begin (M,) index of the sample; error (M, K + 1, d) what happened less the
    forecast; stddev (M, K + 1, d) of the bands plus the uncertainty of what happened. Without a
    forecast, error is NaN and stddev zero. forecasts: for the plot."""

    begin: np.ndarray
    error: np.ndarray
    stddev: np.ndarray
    forecasts: tuple[Forward | None, ...] = ()


def starts(samples: Sequence[Sample], robot: RobotModel, begin: float, every: float,
           horizon: float, period: float) -> list[int]:
    """Indices of samples from which to forecast: from `begin` [s] on, every `every` [s], where the
    motion was measured and no sample is missing up to the horizon [s]; period [s] of samples."""
    t = np.array([sample.t for sample in samples])
    count, found = round(horizon / period), []
    due = t[0] + begin
    for k in range(len(t) - count):
        if t[k] < due - period / 2:
            continue
        whole = t[k + count] - t[k] < horizon + 1.5 * period
        if whole and samples[k].valid[robot.vehicle_rows].all():
            found.append(k)
            due = t[k] + every
    return found


def judge(twin: Twin, samples: Sequence[Sample], places: Sequence[int], reality: Reality,
          robot: RobotModel, commands: Callable[[Sequence[Sample]], Commands],
          horizon: float, period: float) -> Forecasts:
    """Forecast from the samples' states at `places`, with the subsequent commands."""
    each, K = round(BAND_STEP / period), round(horizon / BAND_STEP)
    moving = BAND_STEP * np.arange(K + 1)
    errors, stddevs = [], []
    forecasts: list[Forward | None] = []
    d = len(reality.covariance)
    for k in places:
        piece = samples[k:k + K * each + 1]
        first = piece[0]
        try:
            run = twin.forecast(State(first.R_nb, first.nu, first.mu, first.mu_dot),
                                commands(piece), horizon)
        except ParameterError:
            # A diverging model counts as wrong.
            errors.append(np.full((K + 1, d), np.nan))
            stddevs.append(np.zeros((K + 1, d)))
            forecasts.append(None)
            continue
        happened = slice(k, k + K * each + 1, each)
        errors.append(error_of(robot, reality.states[happened],
                               reality.position[happened] - reality.position[k], run))
        variance = run.stddev ** 2 + np.diag(reality.covariance)
        if robot.vehicle:
            variance[:, :3] += reality.drift * moving[:, None]
        stddevs.append(np.sqrt(variance))
        forecasts.append(run)
    return Forecasts(np.array(places), np.array(errors), np.array(stddevs), tuple(forecasts))


def coasting(judged: Forecasts, reality: Reality, robot: RobotModel, period: float) -> Forecasts:
    """The same judgement for forecasts without dynamics, which hold velocities constant; period [s]
    of samples."""
    K, each, errors = judged.error.shape[1] - 1, round(BAND_STEP / period), []
    for k in judged.begin:
        start, states, places = reality.states[k], [], []
        for i in range(K + 1):
            t = i * BAND_STEP
            states.append(State(start.R_nb, start.nu, start.mu + t * start.mu_dot, start.mu_dot))
            places.append(t * (start.R_nb @ start.nu[:3]))
        happened = slice(k, k + K * each + 1, each)
        errors.append(error_of(robot, reality.states[happened],
                               reality.position[happened] - reality.position[k],
                               Forward(np.zeros(0), tuple(states), np.array(places), None)))
    return judged._replace(error=np.array(errors))


def quantities(robot: RobotModel, arm: str) -> dict[str, tuple[str, list[int]]]:
    """Names of the judged quantities, with unit and indices in the error; joints only if they are
    forecast."""
    n = robot.table.n
    found = {}
    if robot.vehicle:
        found = {"position": ("m", [0, 1, 2]), "attitude": ("rad", [3, 4, 5]),
                 "velocity": ("m/s", [6, 7, 8]), "rates": ("rad/s", [9, 10, 11])}
    first = 12 if robot.vehicle else 0
    if n and arm == "efforts":
        found |= {"joints": ("rad", list(range(first, first + n))),
                  "joint speeds": ("rad/s", list(range(first + n, first + 2 * n)))}
    return found


def figures(judged: Forecasts, robot: RobotModel, arm: str) -> dict[str, dict[str, Any]]:
    """{seconds ahead: {quantity: coverage of the 95 % bands, rms of the errors in their deviations
    (one if the bands are as wide as the errors), median and 95 % quantile of the error's length,
    median half width of the bands, n}}; each component counts."""
    found: dict[str, dict[str, Any]] = {}
    last = judged.error.shape[1] - 1
    for ahead in JUDGED_AHEAD:
        k = round(ahead / BAND_STEP)
        if k > last:
            continue
        found[f"{ahead:g}"] = {}
        for name, (unit, places) in quantities(robot, arm).items():
            error, stddev = judged.error[:, k][:, places], judged.stddev[:, k][:, places]
            # A missing forecast covers nothing and is infinitely far off.
            length = np.nan_to_num(np.linalg.norm(error, axis=1), nan=np.inf)
            inside = np.abs(error) < Z95 * stddev
            size = np.divide(error, stddev, out=np.full(error.shape, np.inf), where=stddev > 0)
            found[f"{ahead:g}"][name] = {
                "unit": unit, "n": int(inside.size), "inside": int(inside.sum()),
                "coverage": float(inside.mean()),
                "rms_in_deviations": float(np.sqrt(np.mean(np.nan_to_num(size, nan=np.inf) ** 2))),
                "median_error": float(np.median(length)),
                "p95_error": float(np.quantile(length, 0.95, method="higher")),
                "median_half_width": float(Z95 * np.median(stddev))}
    return found


def pooled(found: Sequence[Forecasts], robot: RobotModel, arm: str) -> dict[str, dict[str, Any]]:
    """`figures` of the forecasts in several recordings, with the standard error of each coverage:
    components and successive forecasts are not independent, recordings are. None for a single
    recording."""
    whole = figures(together(found), robot, arm)
    each = [figures(one, robot, arm) for one in found]
    for ahead, by_name in whole.items():
        for name, cell in by_name.items():
            shares = [one[ahead][name]["coverage"] for one in each]
            cell["standard_error"] = (float(np.std(shares, ddof=1) / np.sqrt(len(shares)))
                                      if len(shares) > 1 else None)
    return whole


def thirds(found: Sequence[Forecasts]) -> list[list[Forecasts]]:
    """The first, middle and last third of each recording's forecasts."""
    return [[one._replace(begin=one.begin[part], error=one.error[part], stddev=one.stddev[part],
                          forecasts=())
             for one, part in ((one, np.array_split(np.arange(len(one.begin)), 3)[k])
                               for one in found) if part.size]
            for k in range(3)]


def together(found: Sequence[Forecasts]) -> Forecasts:
    """The forecasts of several recordings as one, without the forecasts themselves."""
    return Forecasts(np.concatenate([each.begin for each in found]),
                     np.concatenate([each.error for each in found]),
                     np.concatenate([each.stddev for each in found]))
