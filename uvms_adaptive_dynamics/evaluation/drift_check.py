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

"""Find what changed slowly while a recording was made: thrust and weight (docs/statement.md, "What
drifts").

An estimate that forgets follows a battery that sags or a hull that leaks, and never sees a change.
Here the whole recording is fitted at once by constant parameters and a linear trend.
"""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.normal import Z95
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from ..uncertainty.added_direction import CLUSTER_LENGTH, Coefficient, RobustFit, pieces_of
from ..uncertainty.evidence import ReportedFinding
from .run_log import RunLog

# Pieces that the jackknife leaves out: as long as possible, since tethers and currents wander over
# minutes, but enough for a standard error.
CLUSTERS = 16
SHORTEST = CLUSTERS * CLUSTER_LENGTH  # [s]
LARGEST_FIT = 6000  # rows; bounds memory and time; the low-pass makes nearer rows alike
ROWS_APART = 5
# Codes of the findings.
THRUST_DRIFT, WEIGHT_DRIFT = "battery.enabled", "weight"


class Drifts(NamedTuple):
    """Findings on trends that the parameters' intervals do not allow for, and smaller but certain
    ones, in words."""

    findings: list[ReportedFinding]
    facts: list[str]


def drifts(log: RunLog, own: np.ndarray, final: ParameterSet, config: Config,
           robot: RobotModel) -> Drifts:
    """The trends of thrust and weight over the rows of these indices (k,), a recording's, that are
    certain to 99.9 %; final: the estimate."""
    found = Drifts([], [])
    trends = _trends(log, own, robot)
    if trends is None:
        return found
    thrust, weight = trends
    if robot.thrusters and thrust.exceeds(0.0):
        sentence = _thrust_sentence(thrust, config)
        if thrust.exceeds(2 * Z95 * config.uncertainty.scale_stddev):
            found.findings.append(ReportedFinding(
                THRUST_DRIFT, f"{THRUST_DRIFT}: {sentence}. {_remedy(config)}"))
        else:
            found.facts.append(sentence)
    if weight.exceeds(0.0):
        sentence = _weight_sentence(weight)
        if weight.exceeds(2 * Z95 * _weight_stddev(final, robot)):
            found.findings.append(ReportedFinding(WEIGHT_DRIFT, (
                f"{WEIGHT_DRIFT}: {sentence}. Check for a leak, trapped air and lost ballast; the "
                "estimate is an average over that time")))
        else:
            found.facts.append(sentence)
    return found


def _trends(log: RunLog, own: np.ndarray,
            robot: RobotModel) -> tuple[Coefficient, Coefficient] | None:
    """Change of the thrust that a motion needs, as a share, and of the weight in water [N], from
    the first to the last of these rows; None if they are too few to show them."""
    rows = log.rows()
    if not own.size:
        return None
    places = own[::max(ROWS_APART, math.ceil(own.size / LARGEST_FIT))]
    # (rows at rest repeat one error, which may wander)
    t, valid = rows.t[places], (rows.valid & rows.in_motion)[places]
    duration = t[-1] - t[0]
    if not robot.vehicle or duration < SHORTEST or not valid.any():
        return None
    Y, share = log.regressors(places), (t - t[0]) / duration - 0.5
    tau, length = (rows.measured - rows.tau_known)[places], duration / CLUSTERS * (1 + 1e-9)
    fit = RobustFit(Y, tau, valid, t, length)
    thrust, weight = np.zeros((2, *valid.shape, 1))
    thrust[:, :6, 0] = share[:, None] * fit.predicted[:, :6]
    weight[:, :, 0] = share[:, None] * Y[:, :, robot.table.index["W"]]
    # Forces that wander over many pieces look like a trend of anything: what a motion needs is
    # compared within pieces.
    of_motion, change, efforts = (_within(one, valid, pieces_of(t, length))
                                  for one in (Y, thrust, tau[:, :, None]))
    beside = fit.beside(thrust)
    # The first and last pieces tell most of a trend between pieces.
    return (RobustFit(of_motion, efforts[:, :, 0], valid, t, length).added(change)[0],
            beside.added(weight)[0]._replace(freedom=beside.freedom(weight[:, :, 0])))


def _within(values: np.ndarray, valid: np.ndarray, pieces: np.ndarray) -> np.ndarray:
    """(T, C, k) values less their mean over the valid rows of the same piece (T,) and channel."""
    found = np.where(valid[:, :, None], values, 0.0)
    for piece in np.unique(pieces):
        rows = pieces == piece
        count = np.maximum(valid[rows].sum(axis=0), 1)
        found[rows] -= found[rows].sum(axis=0) / count[:, None]
    return np.where(valid[:, :, None], found, 0.0)


def _thrust_sentence(thrust: Coefficient, config: Config) -> str:
    """A motion that needs more commanded thrust at the end gets less true thrust per command."""
    ratio = math.exp(-thrust.value)
    error = ratio * thrust.error
    voltage = ("although the battery's voltage is used" if config.battery.enabled else
               "as with a battery whose voltage the settings hold constant")
    return (f"the thrust per command {'fell' if ratio < 1 else 'rose'} by {abs(1 - ratio):.0%} (+- "
            f"{error:.0%}) from the beginning of the recording to its end, {voltage}")


def _remedy(config: Config) -> str:
    return ("Check the voltages of thrusters.curve, and the thrusters" if config.battery.enabled
            else "Record the battery's voltage and set battery.enabled, or use shorter recordings "
                 "with the thrusters.voltage of each")


def _weight_sentence(weight: Coefficient) -> str:
    return (f"the vehicle became {'heavier' if weight.value > 0 else 'lighter'} in water by "
            f"{abs(weight.value):.2g} N (+- {weight.error:.2g} N) from the beginning of the "
            "recording to its end, or a line pulls")


def _weight_stddev(final: ParameterSet, robot: RobotModel) -> float:
    """Standard deviation of W - B [N]; infinite without a covariance."""
    net = np.zeros((1, robot.table.size))
    net[0, robot.table.places(["W", "B"])] = 1.0, -1.0
    found = final.stddev_of(net)
    return math.inf if found is None else float(found[0])
