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

"""How much of its thrust a thruster still gives that was right before, by what its thrust causes.

Changes of velocity are regressed on the wrench, on drag and on slow effects, with the same
coefficients before and after the fault: rows from before it tell what a newton of this thruster
causes. (The other way round, regressed on the motion, all thrust that the motion leaves unexplained
would count as lost.)"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .fits import orthonormal, unexplained
from .thruster_windows import thrust_windows
from .wirings import certain_gain

TRIED_SHARES = np.linspace(-1.0, 1.0, 81)     # of its thrust; negative: it pushes backwards


def share_since(thrust: np.ndarray, dvl: np.ndarray, allocation: np.ndarray, thruster: int,
                onsets: Sequence[float]) -> float | None:
    """The expected share of its thrust that a thruster, by index, has given since the likeliest of
    these times [s]; negative only if that is certain; None if there is too little motion to tell.

    thrust (k, 1 + N), dvl (k, 22): the logs, as in `frames`, from before and after the fault;
    allocation (6, N)."""
    windows = thrust_windows(thrust, dvl)
    if windows is None:
        return None
    basis = orthonormal(windows.effects(dvl))
    y = unexplained(basis, windows.slow[:, :6])
    wrench = unexplained(basis, windows.impulse @ allocation.T)
    t, impulse = thrust[:, 0], thrust[:, 1 + thruster]
    cost: list[np.ndarray] = []
    for onset in onsets:
        since = np.where(t > onset, impulse - np.interp(onset, t, impulse), 0.0)
        part = windows.impulses(np.column_stack([t, since]), dvl[:, 0], 1)[0][:, 0]
        cost.append(_left(y, wrench, unexplained(basis, part), allocation[:, thruster]))
    if not cost:
        return None
    # twice the negative log likelihood of each share
    independent = windows.independent(basis.shape[1] + wrench.shape[1])
    total = independent * np.min(cost, axis=0)
    forwards = TRIED_SHARES >= 0.0
    if total[forwards].min() - total.min() > certain_gain(1):
        return float(TRIED_SHARES[np.argmin(total)])
    # After seconds of a fault, a half and none of the thrust may be as likely: their mean is least
    # wrong.
    weight = np.exp(-0.5 * (total - total[forwards].min())) * forwards
    return float(weight @ TRIED_SHARES / weight.sum())


def _left(y: np.ndarray, wrench: np.ndarray, part: np.ndarray, column: np.ndarray) -> np.ndarray:
    """(S,) sum over axes of the log variances of the changes of velocity y (k, 6) that the wrench
    (k, 6) does not explain if the thruster gives each of TRIED_SHARES of its impulse `part` (k,)
    along `column` (6,)."""
    lost = (1.0 - TRIED_SHARES)[:, None, None]
    coupled = np.outer(wrench.T @ part, column)
    # normal equations of y on the wrench less the part of it that is lost
    A = (wrench.T @ wrench - lost * (coupled + coupled.T)
         + lost ** 2 * (part @ part) * np.outer(column, column))
    b = wrench.T @ y - lost * np.outer(column, part @ y)
    explained = np.sum(b * (np.linalg.pinv(A, hermitian=True) @ b), axis=1)
    left = (np.sum(y ** 2, axis=0) - explained) / len(y)
    return np.log(np.maximum(left, 1e-12)).sum(axis=1)
