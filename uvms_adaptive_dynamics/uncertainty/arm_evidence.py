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

"""What couples arm and vehicle tells whether the arm's data are late, and whether its efforts have
the right scale (docs/statement.md, "What the coupling tells").

An arm's own rows fit as well when all of its data are late, or when a joint's effort is doubled:
friction, inertia and weight double with it. But the vehicle carries the arm, each joint carries the
links behind it, and gravity turns with the vehicle: the same weights at the same time.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..config.sensors import Joints
from .added_direction import Added, RobustFit
from .verdict import Finding

# [s] What the model lacks looks like some .04 s of it, on simulated robots that are right.
MIN_ARM_LAG = 0.05
# Of an effort: it costs a hundredth of the effort's power, a tenth of what matters to a verdict.
MIN_EFFORT_SHARE = 0.1
# [rad, m] Brackets and zeros are set by hand: 5 degrees.
MIN_OFFSET = 0.09
# [rad, m] Beyond it the change of the load is not linear in the position.
MAX_OFFSET = 0.5
MOST_STEPS = 8          # of Gauss-Newton, in which a factor on an effort is found or never
CONVERGED_STEP = 0.25   # standard errors of a step, below which it is
# A factor below it is no unit or gear ratio: such an effort is none of its joint's.
LEAST_FACTOR = 0.2
# Of a cost: 8 ln 1000, odds of a thousand where the low-pass makes one row of four.
LEAST_COST_GAIN = 55.0


class Told(NamedTuple):
    """A finding, by how much acting on it lowers the cost of the fit, and a few words for it."""

    finding: Finding
    gain: float
    brief: str = ""


class Scale(NamedTuple):
    """The factor on an effort, with its logarithm's standard error as `added`, and by how much
    dividing by it lowers the cost of the fit."""

    factor: float
    added: Added
    gain: float

    @property
    def matters(self) -> bool:
        """Whether it is surely beyond what is borne, larger or smaller."""
        return self.added.beyond(math.log(1.0 + MIN_EFFORT_SHARE))


def arm_findings(fit: RobustFit, late: np.ndarray, turned: np.ndarray, joints: Sequence[str],
                 settings: Joints, room: np.ndarray, drag_gain: float = 0.0,
                 floating: np.ndarray | None = None) -> Told | None:
    """The likeliest of what is surely wrong, or None.

    late (T, C), turned (T, C, n): change of the predictions as the arm's data get later, and with
    each joint's position [N, N m; per s, per rad or m]; joints: whose rows are the last ones; room
    (n, 2): how far their positions may be moved down (negative) and up within their limits;
    drag_gain: by how much the drag of the links, which is among the columns of the fit but not
    among the robot's terms, lowers its cost; 0: it is one of them; floating (T, C, k): the load of
    the links' buoyancy, which has no place in their parameters. Where it explains more than what is
    found, that has to stand beside it.
    """
    told = _likeliest(_found(fit, late, turned, joints, settings, room, drag_gain))
    if told is None or floating is None:
        return told
    afloat = fit.beside(floating)
    if fit.cost - afloat.cost < told.gain + LEAST_COST_GAIN:
        return told
    return _likeliest(_found(afloat, late, turned, joints, settings, room, drag_gain))


def _found(fit: RobustFit, late: np.ndarray, turned: np.ndarray, joints: Sequence[str],
           settings: Joints, room: np.ndarray, drag_gain: float) -> list[Told]:
    """All that is surely wrong by itself."""
    n, C = len(joints), fit.predicted.shape[1]
    rows = np.vstack([np.eye(n, dtype=bool), np.ones(n, bool)])
    which = np.hstack([np.zeros((n + 1, C - n), bool), rows])
    scaled = fit.predicted[:, :, None] * which.T
    constant = np.broadcast_to(which[:n].T.astype(float), (len(late), C, n))
    directions = np.concatenate([late[:, :, None], scaled, turned, constant], axis=2)
    lag, *others = fit.added(directions)

    def gain(k: int) -> float:
        return fit.cost - fit.beside(directions[:, :, k:k + 1]).cost

    scales, offsets, constants = others[:n + 1], others[n + 1:2 * n + 1], others[2 * n + 1:]
    found = [Told(_late(lag, settings.delay), gain(0))] if lag.beyond(MIN_ARM_LAG) else []
    for name, added, own in zip((*joints, ""), scales, which):
        if not added.beyond(0.0):
            continue
        scale = scale_of(fit, own)
        if added.beyond(MIN_EFFORT_SHARE) if scale is None else scale.matters:
            found.append(Told(_scaled(scale, name), added.gain) if scale is None else
                         Told(_scaled(scale, name), scale.gain,
                              f"{name or 'all'} {scale.factor:.2f} times"))
    for k, (name, offset, one) in enumerate(zip(joints, offsets, room), start=n + 2):
        if not offset.beyond(MIN_OFFSET):
            continue
        if _is_possible(offset, one):
            found.append(Told(_moved(offset, name), gain(k)))
        elif drag_gain > gain(k):
            # The change with the position is that of parameters which hold the drag.
            found.append(Told(_dragged(name), gain(k)))
    power = [np.std(fit.tau[rows, c]) if (rows := fit.valid[:, c]).any() else math.inf
             for c in range(C - n, C)]
    found += [Told(_shifted(constant, j, joints, settings), gain(2 * n + 2 + j))
              for j, constant in enumerate(constants)
              if constant.beyond(MIN_EFFORT_SHARE * power[j])]
    return found


def _likeliest(found: Sequence[Told]) -> Told | None:
    """The one with the largest gain, and in its sentence those that are as likely."""
    if not found:
        return None
    best = max(found, key=lambda one: one.gain)
    rivals = [one.brief for one in found if one is not best and one.brief
              and one.gain > best.gain - LEAST_COST_GAIN]
    said = "".join(f"; as likely: {brief}" for brief in rivals)
    return best._replace(finding=Finding(best.finding.code, best.finding.sentence + said))


def scale_of(fit: RobustFit, which: np.ndarray) -> Scale | None:
    """The factor on the efforts of the channels `which` (C,) at which the rows ask for none more,
    by steps of Gauss-Newton, each about a fit to efforts that were divided by it; None where they
    do not settle or it is too small to be one."""
    factor = 1.0
    for _ in range(MOST_STEPS):
        own = fit.of(np.where(which, fit.tau / factor, fit.tau))
        added, = own.added((own.predicted * which)[:, :, None])
        if abs(added.value) < CONVERGED_STEP * added.stddev:
            # (Rows in another unit have another density.)
            cost = own.cost + 2.0 * math.log(factor) * float(fit.valid[:, which].sum())
            return (Scale(factor, added._replace(value=math.log(factor)), fit.cost - cost)
                    if factor >= LEAST_FACTOR else None)
        # The fit follows an effort of its own that is too small: to -1 belongs the half.
        factor *= 1.0 + added.value if added.value > 0.0 else 1.0 / (1.0 - added.value)
    return None


def _is_possible(offset: Added, room: np.ndarray) -> bool:
    """Whether positions may be off by that: a small step, and no joint leaves its limits."""
    return (abs(offset.value) < MAX_OFFSET
            and room[0] - offset.error < offset.value < room[1] + offset.error)


def _late(lag: Added, delay: float) -> Finding:
    return Finding("joint_states.delay", (
        f"joint_states.delay: the arm's data are some {abs(lag.value):.2f} +- {lag.stddev:.2f} s "
        f"{'later' if lag.value > 0 else 'earlier'} than the vehicle's of the same motion; "
        "synchronize the clocks of arm and vehicle, or set joint_states.delay to "
        f"{delay + lag.value:.2f} (now {delay:.2f}) and look again"))


def _scaled(scale: Scale | None, name: str) -> Finding:
    who, others = (("the joints", "the thrust says that carries the arm") if not name else
                   (name, "the other joints and the vehicle say of the same links"))
    thrust = "" if name else ", or the thrust (thrusters.voltage, thrust curve)"
    if scale is None:
        return Finding("joint_states.effort_scale", (
            f"joint_states.effort_scale: the efforts of {who} contradict what {others}, and no "
            "factor mends it; check the order of the joints, the signs of positions and efforts, "
            f"the driver's unit and gear ratios{thrust}"))
    return Finding("joint_states.effort_scale", (
        f"joint_states.effort_scale: the efforts of {who} are some {scale.factor:.2f} +- "
        f"{scale.factor * scale.added.stddev:.2f} times what {others}; multiply "
        f"joint_states.effort_scale by {1.0 / scale.factor:.2f}, or check the driver's unit and "
        f"gear ratios{thrust}"))


def _moved(offset: Added, name: str) -> Finding:
    return Finding("joint_states.position_offset", (
        f"joint_states.position_offset: the positions of {name} are some {-offset.value:+.2f} +- "
        f"{offset.stddev:.2f} (rad or m) off, as the weight of the links tells; add it to "
        "joint_states.position_offset, or check how the arm is mounted (robot.mount_rpy)"))


def _dragged(name: str) -> Finding:
    return Finding("robot.terms", (
        "robot.terms: the drag of the links, which the model lacks, explains much of what arm and "
        f"vehicle leave unexplained, and looks like an impossible position of {name}; set "
        "robot.terms to [link_drag], or see what the command terms says of this recording"))


def _shifted(constant: Added, j: int, joints: Sequence[str], settings: Joints) -> Finding:
    scale = settings.effort_scale[j] if settings.effort_scale else 1.0
    return Finding("joint_states.effort_offset", (
        f"joint_states.effort_offset: the efforts of {joints[j]} are some {constant.value:+.2f} +- "
        f"{constant.stddev:.2f} N m (or N) off in every posture; add "
        f"{constant.value / scale:+.2g} to its joint_states.effort_offset, or let the driver set "
        "its zero"))
