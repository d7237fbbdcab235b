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

"""Order of a quaternion's numbers: published with w first, or inverted, it contradicts gravity and
gyro at once, and only the true order fits both."""
from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation

from ...config import Config
from ..decode.decoder import orientation_axes
from .finding import CheckResult, Harm, Mend, QuaternionAxes, mismatch
from .imu_check import attitudes, check_gravity, check_rates, turns, without_gap
from .joint_order import ORDER_ODDS

INVERTED = np.diag([-1.0, -1.0, -1.0, 1.0])
PUBLISHED = "(x, y, z, w)"
# What drivers put in the places of x, y, z, w, and the matrix (4, 4) that puts it right: the order
# of other libraries, or converted twice; and the rotation from world to body.
QUATERNION_ORDERS = {PUBLISHED: np.eye(4), "(w, x, y, z)": np.eye(4)[[1, 2, 3, 0]],
                     "(y, z, w, x)": np.eye(4)[[3, 0, 1, 2]]}
TRIED_ORDERS = {**QUATERNION_ORDERS, **{f"the inverse's {order}": INVERTED @ matrix
                                        for order, matrix in QUATERNION_ORDERS.items()}}


def check_quaternion(logs: dict[str, np.ndarray], config: Config) -> CheckResult | None:
    """The result on an orientation that is wrong as published, but agrees with gravity and gyro in
    another order of its quaternion; None if no order does, or if the gyro does not tell it from
    the published one and from others that do. `logs` as in `frames`."""
    imu, axes = logs["imu"], QuaternionAxes(*orientation_axes(config))
    as_published = attitudes(imu)
    found = {order: _reordered(as_published, matrix, axes)
             for order, matrix in TRIED_ORDERS.items()}
    agree = {order for order, R_nb in found.items() if order != PUBLISHED
             and _agrees({**logs, "imu": _log_of(imu, R_nb, config)}, config)}
    cost = {order: _misfit(imu, found[order]) for order in (*agree, PUBLISHED)}
    best = min(cost, key=lambda order: cost[order])
    margin = min((cost[order] - cost[best] for order in cost if order != best), default=0.0)
    if best not in agree or margin < 2.0 * math.log(ORDER_ODDS * (len(TRIED_ORDERS) - 1)):
        return None
    return mismatch("imu orientation", (
        f"the places x, y, z, w of the quaternion hold {best}: only so does it fit gravity and "
        "gyro; make the driver publish x, y, z, w of the rotation from body to world"),
        mend=Mend("imu", 0, TRIED_ORDERS[best], quaternion=axes))


def _agrees(logs: dict[str, np.ndarray], config: Config) -> bool:
    """Whether gravity and gyro agree with the attitudes."""
    gravity = check_gravity(logs, config)
    return not gravity.upside_down and not any(
        finding.harm is not Harm.SLIGHT
        for finding in (*gravity.findings, *check_rates(logs["imu"]).findings))


def _reordered(R_nb: Rotation, matrix: np.ndarray, axes: QuaternionAxes) -> Rotation:
    """The attitudes if their quaternions are times matrix (4, 4)."""
    # (copies: scipy before 1.14 refuses read-only arrays)
    left, right = (Rotation.from_matrix(np.array(turn)) for turn in axes)
    Q = left.inv() * R_nb * right.inv()
    return left * Rotation.from_quat(Q.as_quat() @ matrix.T) * right


def _misfit(imu: np.ndarray, R_nb: Rotation) -> float:
    """-2 log likelihood of attitudes that turn as the gyro does but for its bias, up to a constant.
    """
    lag, gyro, attitude = turns(imu, R_nb)
    error = (attitude - gyro)[without_gap(imu[:, 0], lag)]
    if len(error) <= 4 * lag:       # (no more independent windows than unknowns)
        return 0.0
    return len(error) / lag * float(np.sum(np.log(np.maximum(np.var(error, axis=0), 1e-300))))


def _log_of(imu: np.ndarray, R_nb: Rotation, config: Config) -> np.ndarray:
    """The rows of `imu` with other attitudes."""
    R, rows = R_nb.as_matrix(), imu.copy()
    rows[:, 1:4], rows[:, 19] = R[:, 2], np.arctan2(R[:, 1, 0], R[:, 0, 0])
    if not config.imu.measures_force:
        rows[:, 7:10] = -config.robot.gravity * R[:, 2]
    return rows
