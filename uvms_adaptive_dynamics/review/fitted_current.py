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

"""The steady current that explains most of what a model leaves of the vehicle's effort."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..config.estimation import Filter
from ..estimation.low_pass import low_passed
from ..model.parameters import VEHICLE_PARAMETERS
from ..model.sample import Sample
from ..model.vehicle import regressors_in_current
from ..uncertainty.added_direction import MIN_PIECES, Coefficient, RobustFit
from ..uncertainty.arm_evidence import LEAST_COST_GAIN
from .arm_exchange import EXCHANGE_STRIDE
from .guessed_columns import Columns

# [m/s] First guesses of a current; Gauss-Newton steps from the best of them.
FIRST_CURRENTS = (0.1, 0.3, 0.9)
CURRENT_STEPS = 4


class FittedCurrent(NamedTuple):
    """A steady current north and east (2,) [m/s], the remaining change of each component with its
    error, the rows' columns in this current (T, C, p), and the change of their efforts with each
    component (T, C, 2)."""

    value: np.ndarray
    change: list[Coefficient]
    Y: np.ndarray
    by_component: np.ndarray


def fitted_current(samples: Sequence[Sample], settings: Filter,
                   rows: Columns) -> FittedCurrent | None:
    """The current that explains most, or None if none is significant. The search starts along the
    steady force that the vehicle needs and continues with Gauss-Newton steps."""
    nu, nu_dot, R_nb, t = (np.array([getattr(sample, name) for sample in samples])
                           for name in ("nu", "nu_dot", "R_nb", "t"))
    valid = np.array([sample.valid[:6] for sample in samples])
    own = slice(0, len(VEHICLE_PARAMETERS))

    def at(current: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows' columns in a current, and the derivative of the efforts of parameters `of` with
        respect to it."""
        values = np.concatenate(regressors_in_current(
            nu, nu_dot, R_nb, np.append(current, 0.0), of[own]), axis=2)
        _, found, _ = low_passed(settings, t, values, valid, EXCHANGE_STRIDE)
        carried, change = rows.own.copy(), np.zeros((*rows.tau.shape, 2))
        carried[:, :6, own], change[:, :6] = found[:, :, :-2], found[:, :, -2:]
        return carried, change

    def fit(Y: np.ndarray) -> RobustFit:
        return RobustFit(Y, rows.tau, rows.valid, rows.t)

    still = fit(rows.own)
    force = still.beside(rows.guesses["tether"][:, :, :2]).solution[-2:]
    way = -force / max(float(np.linalg.norm(force)), 1e-12)
    fits = [(size * way, fit(at(size * way, still.solution)[0])) for size in FIRST_CURRENTS]
    value, best = min(fits, key=lambda one: one[1].cost)
    for _ in range(CURRENT_STEPS):
        Y, change = at(value, best.solution)
        new = value + best.beside(change).solution[-2:]
        found = fit(at(new, best.solution)[0])
        if found.cost >= best.cost:
            break
        value, best = new, found
    Y, change = at(value, best.solution)
    error = [best.beside(change[:, :, 1 - k:2 - k]).added(change[:, :, k:k + 1])[0]
             for k in range(2)]
    sure = (best.cost < still.cost - LEAST_COST_GAIN and error[0].clusters >= MIN_PIECES
            and np.linalg.norm(value) > max(one.error for one in error))
    return FittedCurrent(value, error, Y, change) if sure else None
