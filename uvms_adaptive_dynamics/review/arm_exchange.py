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

"""Check whether joints in another order, or a mirrored one, explain what looks like a wrong effort
or zero, like a changed robot, or like nothing else.

If two joints have exchanged names, or a joint's position counts the other way, a factor or constant
on an effort improves the fit but does not correct it. So each exchange and each mirrored joint is
tried on the rows, and their likelihood decides.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..config import Config
from ..config.estimation import Filter
from ..config.sensors import Joints
from ..estimation.low_pass import low_passed
from ..model.robot import RawRows, RobotModel
from ..model.sample import Sample
from ..signals.checks.finding import OF_POSITIONS
from ..signals.filters.joints import joint_limits
from ..uncertainty.added_direction import RobustFit
from ..uncertainty.arm_evidence import LEAST_COST_GAIN, effort_scales, witnesses
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
        return fitted([change(sample) for sample in samples], robot, row_filter)

    as_it_is = fitted(samples, robot, row_filter)
    if as_it_is is None:
        return None
    moves = moving(as_it_is, robot)
    count = float(as_it_is.valid.sum())
    best: tuple[float, ReportedFinding | None] = (gain, None)
    for change, joints, findings in _guesses(samples, config, robot, room, moves):
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


def room_of(samples: Sequence[Sample], config: Config, robot: RobotModel) -> np.ndarray:
    """(n, 2) how far the joints' positions may move down (negative) and up within their limits."""
    low, high = joint_limits(config, robot)
    mu = np.array([sample.mu for sample in samples])
    return np.column_stack([low - mu.min(axis=0), high - mu.max(axis=0)])


class LikelyOrder(NamedTuple):
    """Places (n,) of the readings of each joint; rivals: orders that are as likely."""

    order: tuple[int, ...]
    rivals: list[tuple[int, ...]]

    def finding(self, config: Config, robot: RobotModel) -> ReportedFinding:
        """What is said of it."""
        return _order(config, robot, self.order, self.rivals)

    def values(self, config: Config, robot: RobotModel) -> dict[str, Any]:
        """The setting that puts it right, none if there are rivals."""
        names = config.joint_states.names or robot.joints
        return {} if self.rivals else {
            "joint_states.names": tuple(names[k] for k in self.order)}


def whole_config(config: Config, robot: RobotModel) -> Config:
    """The settings with the sets of terms that the robot surely has and its model lacks."""
    return config.with_values({"robot.terms": (*config.robot.terms, *robot.table.lacking)})


def with_lacking(config: Config, robot: RobotModel) -> RobotModel:
    """The robot by `whole_config`."""
    return RobotModel(whole_config(config, robot), robot.arm)


def likely_order(samples: Sequence[Sample], config: Config, robot: RobotModel, period: float
                 ) -> LikelyOrder | None:
    """The other order in which joints come, with all their readings, or None.

    Joints are exchanged two at a time as long as the cost falls. What is found must explain the
    rows better than the order as it is by as much as `mistaken_joint` demands, without a channel of
    no moved joint that denies it by as much, and those of each half by itself, since it holds from
    the start and a failed thruster does not; all orders that it does not exceed by as much are
    named with it. None can move farther than its limits. samples: `period` [s] apart.
    """
    row_filter = replace(config.filter, period=period)
    n, start, scale = len(robot.joints), robot.arm_rows.start, effort_scale_of(config, robot)
    fits: dict[tuple[int, ...], RobustFit] = {}
    reaches = _reaches(samples, config, robot)

    def add(order: tuple[int, ...]) -> None:
        if order not in fits and reaches[range(n), order].all() and (own := fitted(
                [reordered(sample, order, scale) for sample in samples], robot, row_filter)):
            fits[order] = own

    def judges(one: tuple[int, ...], other: tuple[int, ...]) -> np.ndarray:
        moved = [start + j for j, (k, here) in enumerate(zip(one, other)) if k != here]
        return ~np.isin(np.arange(len(robot.channels)), moved)

    def exceeds(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        return fits[one].explains_more(fits[other], judges(one, other), LEAST_COST_GAIN)

    def is_likelier(one: tuple[int, ...]) -> bool:
        # (the true order makes no other channel's rows fit worse beyond doubt)
        gains = fits[as_it_is].channel_costs - fits[one].channel_costs
        return exceeds(one, as_it_is) and (
            gains[judges(one, as_it_is)].min(initial=0.0) > -LEAST_COST_GAIN)

    here, best = None, (as_it_is := tuple(range(n)))
    add(as_it_is)
    moves = moving(fits[as_it_is], robot) if fits else np.zeros(n, bool)
    while here != best:
        here = best
        for i, j in combinations(range(n), 2):
            if moves[here[i]] or moves[here[j]]:
                add(_exchange(here, i, j))
        best = min(fits, key=lambda order: fits[order].cost, default=as_it_is)
    if best == as_it_is or not is_likelier(best) or not all(
            _is_likelier(best, half, robot, row_filter, scale) for half in _halves(samples)):
        return None
    rivals = [order for order in fits if order not in (best, as_it_is)
              and is_likelier(order) and not exceeds(best, order)]
    return LikelyOrder(best, rivals)


def _reaches(samples: Sequence[Sample], config: Config, robot: RobotModel) -> np.ndarray:
    """(n, n) whether joint j can have moved as far as the readings of joint k: its limits, whatever
    its zero, are as far apart, or what is published of itself goes as far."""
    low, high = joint_limits(config, robot)
    way = np.ptp([sample.mu for sample in samples], axis=0)
    return np.maximum(high - low, way)[:, None] >= way


def _halves(samples: Sequence[Sample]) -> tuple[Sequence[Sample], Sequence[Sample]]:
    middle = len(samples) // 2
    return samples[:middle], samples[middle:]


def _is_likelier(order: tuple[int, ...], samples: Sequence[Sample], robot: RobotModel,
                 row_filter: Filter, scale: np.ndarray) -> bool:
    """Whether samples fit an order better than as they are, or say nothing."""
    own = fitted([reordered(sample, order, scale) for sample in samples], robot, row_filter)
    as_they_are = fitted(samples, robot, row_filter)
    return own is None or as_they_are is None or own.cost < as_they_are.cost


def moving(fit: RobustFit, robot: RobotModel) -> np.ndarray:
    """(n,) whether each joint has rows that count. The posture of one that hardly moves is a
    constant, which errors of the vehicle's model fit whatever it is."""
    return fit.valid[:, robot.arm_rows].any(axis=0)


def telling(samples: Sequence[Sample], robot: RobotModel) -> np.ndarray:
    """(C,) whether each channel's effort says something of the arm. That of a vehicle's axis does
    if it varies by more than such a robot hardly notices: what moves an axis without thrust is
    unknown, and what thrusters do in their dead zone proves nothing."""
    found = np.ones(len(robot.channels), bool)
    if robot.vehicle:
        wrench, valid = (np.array([getattr(one, name)[:6] for one in samples])
                         for name in ("wrench", "valid"))
        found[:6] = [own.any() and effort[own].std() > least for effort, own, least
                     in zip(wrench.T, valid.T, robot.negligible)]
    return found


def _guesses(samples: Sequence[Sample], config: Config, robot: RobotModel, room: np.ndarray,
             moves: np.ndarray) -> Iterator[tuple[SampleChange | None, tuple[int, ...], list[
                 tuple[ReportedFinding, np.ndarray | None]]]]:
    """Yield (change of the samples, the joints that are mistaken, [(finding, signs (C,) of the
    efforts)]) for joints of which one `moves` (n,); None: unchanged."""
    joints, C = robot.joints, len(robot.channels)
    scale, reaches = effort_scale_of(config, robot), _reaches(samples, config, robot)
    for i, j in combinations(range(len(joints)), 2):
        if not (moves[[i, j]].any() and reaches[i, j] and reaches[j, i]):
            continue
        order = _exchange(range(len(joints)), i, j)
        yield (partial(reordered, order=order, scale=scale), (i, j),
               [(_order(config, robot, order), None)])
    mu = np.array([sample.mu for sample in samples])
    for j, name in enumerate(joints):
        if not moves[j]:
            continue
        sign = np.ones(C)
        sign[C - len(joints) + j] = -1.0
        flipped = np.where(np.arange(len(joints)) == j, -1.0, 1.0)
        yield None, (j,), [(_effort_sign(name, config.joint_states, flipped), sign)]
        # Mirror the positions about their own middle, then shift them within the limits.
        middle = mu[:, j].min() + mu[:, j].max()
        if not np.isfinite(room[j]).all():
            continue
        for shift in np.linspace(room[j, 0], room[j, 1], ZEROS):
            yield (partial(_mirrored, j=j, total=middle + shift), (j,),
                   [(_mirror(name, False), None), (_mirror(name, True), sign)])


def _exchange(order: Sequence[int], i: int, j: int) -> tuple[int, ...]:
    """The order with places i and j exchanged."""
    return tuple(order[{i: j, j: i}.get(k, k)] for k in range(len(order)))


def effort_scale_of(config: Config, robot: RobotModel) -> np.ndarray:
    """(n,) factors by which the joints' published efforts have been multiplied."""
    return np.array(config.joint_states.effort_scale or np.ones(len(robot.joints)))


def reordered(sample: Sample, order: tuple[int, ...], scale: np.ndarray) -> Sample:
    """The sample whose joint j has all readings of joint order[j]; scale (n,): of each joint's
    published effort, whatever place that comes in."""
    here, valid = list(order), sample.valid.copy()
    valid[-len(here):] = valid[-len(here):][here]
    return replace(sample, mu=sample.mu[here], mu_dot=sample.mu_dot[here],
                   mu_ddot=sample.mu_ddot[here],
                   joint_torque=scale * (sample.joint_torque / scale)[here], valid=valid)


def _mirrored(sample: Sample, j: int, total: float) -> Sample:
    """The sample with joint j at `total` [rad, m] minus its position; its velocity changes sign."""
    sign = np.where(np.arange(len(sample.mu)) == j, -1.0, 1.0)
    return replace(sample, mu=np.where(sign < 0.0, total - sample.mu, sample.mu),
                   mu_dot=sign * sample.mu_dot, mu_ddot=sign * sample.mu_ddot)


def fitted(samples: Sequence[Sample], robot: RobotModel, settings: Filter) -> RobustFit | None:
    """The fit to the samples' low-passed rows; None without rows that count."""
    raw = [robot.raw_rows(sample, drag=drag)
           for sample, drag in zip(samples, robot.links_drag_of(samples))]
    t, Y, tau, valid = low_passed_rows(samples, raw, settings)
    fit = RobustFit(Y, tau, valid & telling(samples, robot), t, witness=witnesses(robot.channels))
    return fit if fit.valid.any() else None


def low_passed_rows(samples: Sequence[Sample], raw: Sequence[RawRows], settings: Filter,
                    stride: int = EXCHANGE_STRIDE
                    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every stride-th low-passed row of the samples with these raw rows: t (T,), Y (T, C, p),
    efforts minus known loads (T, C), valid (T, C)."""
    values = np.concatenate([np.array([one.Y for one in raw]), np.array(
        [one.tau - one.tau_known for one in raw])[:, :, None]], axis=2)
    t, valid = np.array([one.t for one in samples]), np.array([one.valid for one in samples])
    places, rows, valid = low_passed(settings, t, values, valid, stride)
    return t[places], rows[:, :, :-1], rows[:, :, -1], valid


def _order(config: Config, robot: RobotModel, order: Sequence[int],
           rivals: Sequence[Sequence[int]] = ()) -> ReportedFinding:
    """order (n,): the place of each joint's readings; rivals: orders that are as likely."""
    names = config.joint_states.names or robot.joints
    moved = [name for name, j, k in zip(names, range(len(order)), order) if j != k]
    exchanged = f"{' and '.join(moved)} are exchanged" if len(moved) == 2 and not rivals else (
        f"{', '.join(names)} come in another order")
    right = " or ".join(f"[{', '.join(names[k] for k in one)}]" for one in (order, *rivals))
    return ReportedFinding("joint_states.names", (
        f"joint_states.names: the weight of the links shows that {exchanged}, with position, "
        f"velocity and effort; set joint_states.names to {right}, or mend the names that the "
        "driver publishes"))


def _effort_sign(name: str, settings: Joints, flipped: np.ndarray) -> ReportedFinding:
    return ReportedFinding("joint_states.effort_scale", (
        f"joint_states.effort_scale: the effort of {name} has the wrong sign; with the other one, "
        f"{effort_scales(settings, flipped)}"))


def _mirror(name: str, effort: bool) -> ReportedFinding:
    what = "position, velocity and effort" if effort else "position and velocity"
    return ReportedFinding(OF_POSITIONS, (
        f"joint position: the weight of the links shows that {what} of {name} have the wrong sign; "
        "flip them in the driver, or the joint's axis in the URDF"
        + ("" if effort else " and the sign of its joint_states.effort_scale")))
