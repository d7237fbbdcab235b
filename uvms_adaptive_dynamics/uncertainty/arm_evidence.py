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

"""Use the coupling of arm and vehicle to find late arm data and wrong scales, offsets and zeros of
joint efforts and positions (docs/statement.md, "What the coupling tells").

The arm's own rows fit equally well if all of its data are late, or if a joint's effort is doubled:
friction, inertia and weight double with it. But the vehicle carries the arm, each joint carries the
links behind it, and gravity turns with the vehicle, so all must see the same weights at the same
time.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..config.sensors import Joints
from .added_direction import MIN_PIECES, Coefficient, RobustFit
from .evidence import ReportedFinding

# [s] On healthy simulated robots, model errors look like a lag of up to .04 s.
MIN_ARM_LAG = 0.05
# Share of an effort: it costs 1 % of the effort's power, a tenth of what matters to a verdict.
MIN_EFFORT_SHARE = 0.1
# Share of an effort to which it must be known, with 95 % confidence, to count as confirmed.
CONFIRMED_SHARE = 0.25
# [rad, m] 5 degrees: brackets and zeros are set by hand.
MIN_OFFSET = 0.09
# [rad, m] The load is not linear in the position: from here on its correction is off by more than a
# fifth, and evaluated again it is not sure to be smaller.
MAX_OFFSET = 1.0
MOST_STEPS = 8          # Gauss-Newton steps to find the factor on an effort
CONVERGED_STEP = 0.25   # step, in standard errors, below which the search has converged
# No unit or gear ratio explains a smaller factor: the effort is not this joint's.
LEAST_FACTOR = 0.2
# Cost difference for odds of 1000: 8 ln 1000, as the low-pass leaves one independent row in four.
LEAST_COST_GAIN = 55.0


# What to check if the thrust is wrong, and if a wrench is published instead of commands.
OF_COMMANDS = "thrusters.voltage, thrusters.curve, thrusters.dead_zone, thrusters.efficiency"
OF_WRENCH = "the wrench that is published on thrusters.wrench_topic"


class Scale(NamedTuple):
    """The factor on an effort, its logarithm with standard error (`added`), and by how much
    dividing the effort by it lowers the cost of the fit. matters: whether the factor is beyond the
    tolerance with 99.9 % confidence, up or down, also without any one of the other channels."""

    factor: float
    added: Coefficient
    gain: float
    matters: bool


class Tilts(NamedTuple):
    """Derivatives (T, C, m) of the predictions with respect to turns of the arm's base [per rad]
    about `axes` (m, 3), and the finding on a turn by a rotation vector (3,) [rad]
    with this standard error."""

    derivatives: np.ndarray
    axes: np.ndarray
    finding: Callable[[np.ndarray, float], ReportedFinding]

    def likeliest(self, fit: RobustFit) -> tuple[np.ndarray, np.ndarray]:
        """(axis (3,), derivatives (T, C)) of the turn that explains the rows best."""
        m = len(self.axes)
        turn = fit.beside(self.derivatives).solution[-m:]
        turn = turn / max(float(np.linalg.norm(turn)), 1e-300)
        return turn @ self.axes, self.derivatives @ turn


class ArmFault(NamedTuple):
    """A finding, by how much correcting it lowers the cost of the fit, a short form of it, and the
    factor on the efforts of the joints `places`."""

    finding: ReportedFinding
    gain: float
    brief: str = ""
    scale: Scale | None = None
    places: tuple[int, ...] = ()


def witnesses(channels: Sequence[str]) -> np.ndarray:
    """(C,) the witness of the arm that each channel belongs to: roll and pitch of a vehicle balance
    the arm's weight by the same tilt, so they are one."""
    return np.array([channels.index("roll") if name == "pitch" else c
                     for c, name in enumerate(channels)])


def arm_findings(fit: RobustFit, late: np.ndarray, turned: np.ndarray, joints: Sequence[str],
                 settings: Joints, room: np.ndarray, drag_gain: float = 0.0,
                 loads: np.ndarray | None = None, thrust: str = OF_COMMANDS,
                 tilts: Tilts | None = None) -> ArmFault | None:
    """The most likely fault that is beyond doubt, or None.

    late (T, C), turned (T, C, n): derivatives of the predictions with respect to the lag of the
    arm's data and to each joint's position [N, N m; per s, per rad or m]; joints: names, in the
    order of the last rows; room (n, 2): how far positions may move down (negative) and up within
    their limits; drag_gain: by how much drag of the links lowers the cost of the fit, which has its
    columns though the robot's terms do not (0: the terms have it); loads (T, C, k): of the links'
    buoyancy and of the rotors, which the links' parameters cannot represent. If these explain more
    than the fault, the fault must persist with them in the fit. thrust: what to check if the thrust
    is wrong; tilts: of the arm's base.
    """
    def likely(own: RobustFit) -> ArmFault | None:
        found = _found(own, late, turned, joints, settings, room, drag_gain, thrust)
        if tilts is not None:   # (one that is too small to matter may still look like another)
            found += _tilted(own, tilts, 0.0 if found else MIN_OFFSET)
        return _most_likely(found)

    fault = likely(fit)
    if fault is not None and loads is not None:
        loaded = fit.beside(loads)
        if fit.cost - loaded.cost >= fault.gain + LEAST_COST_GAIN:
            fit, fault = loaded, likely(loaded)
    return fault and _with_all_scales(fault, fit, likely, joints, settings)


def _with_all_scales(fault: ArmFault, fit: RobustFit,
                     likely: Callable[[RobustFit], ArmFault | None], joints: Sequence[str],
                     settings: Joints) -> ArmFault:
    """The fault; if it is a factor on efforts, with those that show once it has been removed, and
    with the scales that remove all of them."""
    if fault.scale is None:
        return fault
    n, factors = len(joints), np.ones(len(joints))
    further: list[str] = []
    one: ArmFault | None = fault
    while one is not None and one.scale is not None and len(further) <= n:
        if one is not fault:
            further.append(one.brief)
        places = list(one.places)
        factors[places] *= one.scale.factor
        which = np.zeros(fit.tau.shape[1], bool)
        which[np.array(places) - n] = True
        fit = fit.of(np.where(which, fit.tau / one.scale.factor, fit.tau))
        one = likely(fit)
    then = f"; then {', '.join(further)}" if further else ""
    if_thrust = " if the thrust is right" if len(fault.places) == n else ""
    code, said = fault.finding.code, fault.finding.sentence
    return fault._replace(finding=ReportedFinding(code, (
        f"{said}{then}; with all of it, {effort_scales(settings, 1.0 / factors)}{if_thrust}")))


def effort_scales(settings: Joints, factors: np.ndarray) -> str:
    """'joint_states.effort_scale is [...]', times factors (n,), and the one of negative efforts if
    it is set."""
    def listed(scales: Sequence[float]) -> str:
        return ", ".join(f"{float(f'{old * factor:.3g}'):g}"
                         for old, factor in zip(scales, factors, strict=True))

    present = settings.effort_scale or (1.0,) * len(factors)
    said = f"joint_states.effort_scale is [{listed(present)}]"
    if settings.effort_scale_negative:
        said += f" and .effort_scale_negative [{listed(settings.effort_scale_negative)}]"
    return said


def unconfirmed_scales(fit: RobustFit, joints: Sequence[str]) -> str:
    """A sentence on the joints whose effort the motion does not show to be right to
    CONFIRMED_SHARE, by the weights that vehicle and joints share; '' if there are none."""
    n, C = len(joints), fit.predicted.shape[1]
    own = np.hstack([np.zeros((n, C - n), bool), np.eye(n, dtype=bool)])
    said = []
    for name, found in zip(joints, fit.added(fit.predicted[:, :, None] * own.T)):
        half = found.half_width(0.975)
        if found.clusters < MIN_PIECES or not half < 1.0:
            said.append(f"{name} (not shown)")
        elif abs(found.value) + half > CONFIRMED_SHARE:
            low, mean, high = (1.0 + x if x > 0.0 else 1.0 / (1.0 - x) for x in
                               (found.value - half, found.value, found.value + half))
            said.append(f"{name} ({mean:.2f} times; 95 %: {low:.2f} to {high:.2f})")
    return "" if not said else (
        "not confirmed by the motion is joint_states.effort_scale of " + ", ".join(said)
        + "; friction there is right only as far as that is")


def _found(fit: RobustFit, late: np.ndarray, turned: np.ndarray, joints: Sequence[str],
           settings: Joints, room: np.ndarray, drag_gain: float, thrust: str) -> list[ArmFault]:
    """All faults that are beyond doubt, each tested alone: certain by the rows of all channels, and
    without those of any one that the fault does not change (without any, if it changes all), since
    a model that is wrong on one axis of the vehicle accuses any joint."""
    n, C = len(joints), fit.predicted.shape[1]
    carried = n < C
    rows = np.vstack([np.eye(n, dtype=bool), np.ones(n, bool)])
    which = np.hstack([np.zeros((n + 1, C - n), bool), rows])
    scaled = fit.predicted[:, :, None] * which.T
    constant = np.broadcast_to(which[:n].T.astype(float), (len(late), C, n))
    directions = np.concatenate([late[:, :, None], scaled, turned, constant], axis=2)
    every = np.ones((1, C), bool)
    judges = np.vstack([every, ~which, *(every,) * n, ~which[:n]])
    added = fit.added(directions)

    def gain(k: int) -> float:
        return _gain(fit, directions[:, :, k])

    def exceeds(k: int, least: float) -> bool:
        found = _beyond(fit, added[k], directions[:, :, k], judges[k], least)
        added[k] = found or added[k]
        return found is not None

    found = []
    if exceeds(0, MIN_ARM_LAG):
        found.append(ArmFault(_late(added[0], settings.delay), gain(0)))
    # (without a vehicle a factor on all efforts is one on all parameters)
    for k, (name, own) in enumerate(zip((*joints, "") if carried else joints, which), start=1):
        if not added[k].exceeds(0.0):
            continue
        scale = scale_of(fit, own) if name else scale_of_all(fit, n)
        if exceeds(k, MIN_EFFORT_SHARE) if scale is None else scale.matters:
            finding = _scaled(scale, name, thrust, carried)
            found.append(ArmFault(finding, added[k].gain) if scale is None else
                         ArmFault(finding, scale.gain,
                                  f"{name or 'all'} {scale.factor:.2f} times", scale,
                                  tuple(range(n)) if not name else (k - 1,)))
    for k, (name, one) in enumerate(zip(joints, room), start=n + 2):
        if not exceeds(k, MIN_OFFSET):
            continue
        if _is_possible(added[k], one):
            found.append(ArmFault(_moved(added[k], name), gain(k),
                                  f"{name} off by {-added[k].value:+.2f}"))
        elif drag_gain > gain(k):
            # The parameters have absorbed the drag, so their change with position looks like it.
            found.append(ArmFault(_dragged(name), gain(k)))
    power = [np.std(fit.tau[rows, c]) if (rows := fit.valid[:, c]).any() else math.inf
             for c in range(C - n, C)]
    found += [ArmFault(_shifted(added[k], j, joints, settings), gain(k))
              for j, k in enumerate(range(2 * n + 2, 3 * n + 2))
              if exceeds(k, MIN_EFFORT_SHARE * power[j])]
    return found


def _tilted(fit: RobustFit, tilts: Tilts, least: float) -> list[ArmFault]:
    """The fault of a base that is turned from its setting by more than `least` [rad], if beyond
    doubt."""
    axis, direction = tilts.likeliest(fit)
    turn, = fit.added(direction[:, :, None])
    # The axis is the most likely of all (Scheffe 1953).
    turn = turn._replace(stddev=turn.stddev * math.sqrt(len(tilts.axes)))
    every = np.ones(direction.shape[1], bool)
    if abs(turn.value) > MAX_OFFSET or _beyond(fit, turn, direction, every, least) is None:
        return []
    return [ArmFault(tilts.finding(turn.value * axis, turn.stddev), _gain(fit, direction),
                     f"the base turned by {turn.value:.2f} rad")]


def _gain(fit: RobustFit, direction: np.ndarray) -> float:
    """By how much a direction (T, C) in the fit lowers its cost."""
    return fit.cost - fit.beside(direction[:, :, None]).cost


def _beyond(fit: RobustFit, added: Coefficient, direction: np.ndarray, judges: np.ndarray,
            least: float) -> Coefficient | None:
    """The coefficient of a direction (T, C), with the freedom of the pieces of time that tell of
    it, if it exceeds `least` beyond doubt, also without any one witness among the channels `judges`
    (C,); None otherwise."""
    if not added.exceeds(least):
        return None
    found = added._replace(freedom=fit.freedom(direction))
    return found if found.exceeds(least) and fit.confirmed(direction, judges) else None


def _most_likely(found: Sequence[ArmFault]) -> ArmFault | None:
    """The fault with the largest gain; its sentence names those that are equally likely."""
    if not found:
        return None
    best = max(found, key=lambda one: one.gain)
    rivals = [one.brief for one in found if one is not best and one.brief
              and one.gain > best.gain - LEAST_COST_GAIN]
    said = "".join(f"; equally likely: {brief}" for brief in rivals)
    return best._replace(finding=ReportedFinding(best.finding.code, best.finding.sentence + said))


def scale_of_all(fit: RobustFit, joints: int) -> Scale | None:
    """As `scale_of`, of the efforts of all joints, which are the last channels, against the thrust.
    A wrong thrust shows alike on all axes of the vehicle and what the model lacks does not, so the
    error includes how far the axes disagree."""
    channels = np.arange(fit.predicted.shape[1])
    return scale_of(fit, channels >= len(channels) - joints, judged_by_channels=True)


def scale_of(fit: RobustFit, which: np.ndarray, judged_by_channels: bool = False) -> Scale | None:
    """The factor on the efforts of the channels `which` (C,) after whose removal the rows need no
    further factor, by Gauss-Newton with a new fit at each step; None if the steps do not converge
    or the factor is implausibly small. judged_by_channels: the error includes how far the other
    channels disagree."""
    factor = 1.0
    for _ in range(MOST_STEPS):
        own = fit.of(np.where(which, fit.tau / factor, fit.tau))
        direction = own.predicted * which
        added, = own.added(direction[:, :, None])
        if abs(added.value) < CONVERGED_STEP * added.stddev:
            # Jacobian: rescaled rows have another probability density.
            cost = own.cost + 2.0 * math.log(factor) * float(fit.valid[:, which].sum())
            if factor < LEAST_FACTOR:
                return None
            added = (added.with_variance(*own.between_channels(direction)) if judged_by_channels
                     else added._replace(freedom=own.freedom(direction)))
            found, least = added._replace(value=math.log(factor)), math.log(1.0 + MIN_EFFORT_SHARE)
            matters = (found.exceeds(least)
                       and own.confirmed(direction, ~which, before=found.value))
            return Scale(factor, found, fit.cost - cost, matters)
        # The fit adapts to an effort that is too small, so a coefficient of -1 means one half.
        factor *= 1.0 + added.value if added.value > 0.0 else 1.0 / (1.0 - added.value)
    return None


def _is_possible(offset: Coefficient, room: np.ndarray) -> bool:
    """Whether positions can be off by this offset: it is small, and the joint stays in its limits.
    """
    return (abs(offset.value) < MAX_OFFSET
            and room[0] - offset.error < offset.value < room[1] + offset.error)


def _late(lag: Coefficient, delay: float) -> ReportedFinding:
    return ReportedFinding("joint_states.delay", (
        f"joint_states.delay: the arm's data are about {abs(lag.value):.2f} +- {lag.stddev:.2f} s "
        f"{'later' if lag.value > 0 else 'earlier'} than the vehicle's data for the same motion; "
        "synchronize the clocks of arm and vehicle, or set joint_states.delay to "
        f"{delay + lag.value:.2f} (now {delay:.2f}) and evaluate again"))


def _scaled(scale: Scale | None, name: str, thrust: str, carried: bool) -> ReportedFinding:
    """carried: by a vehicle, whose thrust may be wrong instead."""
    who, others = (("all joints", "what the thrust that carries the arm implies") if not name else
                   (name, f"what the other joints{' and the vehicle' * carried} imply for the same "
                          "links"))
    if scale is None:
        return ReportedFinding("joint_states.effort_scale", (
            f"joint_states.effort_scale: the efforts of {who} contradict {others}, and no "
            "factor corrects them; check the order of the joints, the signs of positions and "
            "efforts, the driver's unit and gear ratios"
            + ("" if name else f", or the thrust ({thrust})")))
    advice = (f"multiply joint_states.effort_scale by {1.0 / scale.factor:.2f}, or check the "
              "driver's unit and gear ratios")
    if not name:    # the coupling shows only the ratio of efforts and thrust
        advice = (f"the data cannot tell which is wrong. Either the true thrust is "
                  f"{scale.factor:.2f} times what the settings give: check {thrust}. Or the "
                  f"efforts are: {advice}")
    return ReportedFinding("joint_states.effort_scale", (
        f"joint_states.effort_scale: the efforts of {who} are about {scale.factor:.2f} +- "
        f"{scale.factor * scale.added.stddev:.2f} times {others}; {advice}"))


def _moved(offset: Coefficient, name: str) -> ReportedFinding:
    return ReportedFinding("joint_states.position_offset", (
        f"joint_states.position_offset: the weight of the links shows that the positions of {name} "
        f"are off by about {-offset.value:+.2f} +- {offset.stddev:.2f} (rad or m); add this to "
        "joint_states.position_offset, or check how the arm is mounted (robot.mount_rpy)"))


def _dragged(name: str) -> ReportedFinding:
    return ReportedFinding("robot.terms", (
        "robot.terms: the model lacks drag of the links, which explains much of the remaining "
        f"effort of arm and vehicle and looks like an impossible position of {name}; add "
        "link_drag to robot.terms, or run the command terms on this recording"))


def _shifted(constant: Coefficient, j: int, joints: Sequence[str],
             settings: Joints) -> ReportedFinding:
    scale = settings.effort_scale[j] if settings.effort_scale else 1.0
    return ReportedFinding("joint_states.effort_offset", (
        f"joint_states.effort_offset: the efforts of {joints[j]} are off by about "
        f"{constant.value:+.2f} +- {constant.stddev:.2f} N m (or N) in every posture; add "
        f"{constant.value / scale:+.2g} to its joint_states.effort_offset, or zero the effort in "
        "the driver"))
