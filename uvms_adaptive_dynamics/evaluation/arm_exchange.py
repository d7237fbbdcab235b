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

"""Check whether exchanged or mirrored joints explain what looks like a wrong effort or zero.

If two joints have exchanged names, or a joint's position counts the other way, a factor or constant
on an effort improves the fit but does not correct it. So each exchange and each mirrored joint is
tried on the rows, and their likelihood decides.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from ..config import Config
from ..config.estimation import Filter
from ..estimation.low_pass import RowFilter
from ..model.robot import RawRows, RobotModel
from ..model.sample import Sample
from ..uncertainty.added_direction import RobustFit
from ..uncertainty.arm_evidence import LEAST_COST_GAIN, witnesses
from ..uncertainty.evidence import ReportedFinding

COMPARED_SAMPLES = 600  # samples compared: half a minute
EXCHANGE_STRIDE = 2  # every second row: the low-pass removes what lies between
ZEROS = 3           # positions within the limits tried as the zero of a mirrored joint

SampleChange = Callable[[Sample], Sample]


def mistaken_joint(samples: Sequence[Sample], config: Config, robot: RobotModel, period: float,
                   room: np.ndarray, gain: float) -> ReportedFinding | None:
    """The exchange or mirrored joint that best explains the rows, or None. It must lower the cost
    per row by more than `gain`, and have odds of 1000 against the unchanged rows, also without the
    other witness that speaks for it most, and beyond what they vary by over time.

    samples: `period` [s] apart; robot: with all fitted terms; room (n, 2): how far the joints'
    positions may move down (negative) and up within their limits.
    """
    samples, row_filter = samples[-COMPARED_SAMPLES:], replace(config.filter, period=period)

    def fit(change: SampleChange) -> RobustFit | None:
        return _fit([change(sample) for sample in samples], robot, row_filter)

    as_it_is = _fit(samples, robot, row_filter)
    if as_it_is is None:
        return None
    count = float(as_it_is.valid.sum())
    best: tuple[float, ReportedFinding | None] = (gain, None)
    for change, joints, findings in _guesses(samples, robot, room):
        changed = as_it_is if change is None else fit(change)
        if changed is None:
            continue
        judges = ~np.isin(np.arange(len(robot.channels)) - robot.arm_rows.start, joints)
        for finding, sign in findings:
            own = changed if sign is None else changed.of(changed.tau * sign)
            if own.explains_more(as_it_is, judges, LEAST_COST_GAIN):
                best = max(best, ((as_it_is.cost - own.cost) / count, finding),
                           key=lambda one: one[0])
    return best[1]


def _guesses(samples: Sequence[Sample], robot: RobotModel, room: np.ndarray) -> Iterator[
        tuple[SampleChange | None, tuple[int, ...],
              list[tuple[ReportedFinding, np.ndarray | None]]]]:
    """Yield (change of the samples, the joints that are mistaken, [(finding, signs (C,) of the
    efforts)]); None: unchanged."""
    joints, C = robot.joints, len(robot.channels)
    for i, j in combinations(range(len(joints)), 2):
        yield partial(_exchanged, i=i, j=j), (i, j), [(_exchange(joints[i], joints[j]), None)]
    mu = np.array([sample.mu for sample in samples])
    for j, name in enumerate(joints):
        sign = np.ones(C)
        sign[C - len(joints) + j] = -1.0
        yield None, (j,), [(_effort_sign(name), sign)]
        # Mirror the positions about their own middle, then shift them within the limits.
        middle = mu[:, j].min() + mu[:, j].max()
        if not np.isfinite(room[j]).all():
            continue
        for shift in np.linspace(room[j, 0], room[j, 1], ZEROS):
            yield (partial(_mirrored, j=j, total=middle + shift), (j,),
                   [(_mirror(name, False), None), (_mirror(name, True), sign)])


def _exchanged(sample: Sample, i: int, j: int) -> Sample:
    """The sample with all readings of two joints exchanged."""
    order = np.arange(len(sample.mu))
    order[[i, j]] = j, i
    valid = sample.valid.copy()
    valid[len(valid) - len(order):] = valid[len(valid) - len(order):][order]
    return replace(sample, mu=sample.mu[order], mu_dot=sample.mu_dot[order],
                   mu_ddot=sample.mu_ddot[order], joint_torque=sample.joint_torque[order],
                   valid=valid)


def _mirrored(sample: Sample, j: int, total: float) -> Sample:
    """The sample with joint j at `total` [rad, m] minus its position; its velocity changes sign."""
    sign = np.where(np.arange(len(sample.mu)) == j, -1.0, 1.0)
    return replace(sample, mu=np.where(sign < 0.0, total - sample.mu, sample.mu),
                   mu_dot=sign * sample.mu_dot, mu_ddot=sign * sample.mu_ddot)


def _fit(samples: Sequence[Sample], robot: RobotModel, settings: Filter) -> RobustFit | None:
    """The fit to the samples' low-passed rows; None without valid rows."""
    t, Y, tau, valid = low_passed(samples, settings, robot.raw_rows)
    return RobustFit(Y, tau, valid, t, witness=witnesses(tau.shape[1])) if valid.any() else None


def low_passed(samples: Sequence[Sample], settings: Filter, make: Callable[[Sample], RawRows]
               ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every EXCHANGE_STRIDE-th low-passed row of the samples, with `make` giving the raw rows: t
    (T,), Y (T, C, p), efforts minus known loads (T, C), valid (T, C)."""
    shape = make(samples[0]).Y.shape
    row_filter, found, last = RowFilter(settings, *shape), [], None
    for k, sample in enumerate(samples):
        if last is not None and abs(sample.t - last - settings.period) > 0.5 * settings.period:
            row_filter.reset()
        last = sample.t
        row = row_filter.add_row(sample.t, make(sample), sample.valid)
        if row is not None and k % EXCHANGE_STRIDE == 0:
            found.append(row)
    return (np.array([row.t for row in found]),
            np.array([row.Y for row in found]).reshape(-1, *shape),
            np.array([row.tau - row.tau_known for row in found]).reshape(-1, shape[0]),
            np.array([row.valid for row in found], bool).reshape(-1, shape[0]))


def _exchange(one: str, other: str) -> ReportedFinding:
    return ReportedFinding("joint_states.names", (
        f"joint_states.names: the weight of the links shows that {one} and {other} are exchanged, "
        "with position, velocity and effort; exchange them in joint_states.names, or in the names "
        "that the driver publishes"))


def _effort_sign(name: str) -> ReportedFinding:
    return ReportedFinding("joint_states.effort_scale", (
        f"joint_states.effort_scale: the effort of {name} has the wrong sign; make its "
        "joint_states.effort_scale negative"))


def _mirror(name: str, effort: bool) -> ReportedFinding:
    what = "position, velocity and effort" if effort else "position and velocity"
    return ReportedFinding("joint position", (
        f"joint position: the weight of the links shows that {what} of {name} have the wrong sign; "
        "flip them in the driver, or the joint's axis in the URDF"
        + ("" if effort else " and the sign of its joint_states.effort_scale")))
