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

"""Check the arm's data against the vehicle's, and the joints' against each other: rows and columns
for `uncertainty/arm_evidence.py`."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..estimation.low_pass import low_passed
from ..model.robot import RobotModel
from ..model.rotations import FRD_FROM_FLU, from_rotation_vector, from_rpy
from ..model.sample import Sample
from ..model.vehicle_size import least_mass
from ..model.wiring import directions
from ..signals.checks.effort_scale import MOUNT
from ..signals.checks.fits import listed, rpy_setting, to_rpy
from ..uncertainty.added_direction import RobustFit
from ..uncertainty.arm_evidence import (
    OF_COMMANDS,
    OF_WRENCH,
    Tilts,
    arm_findings,
    unconfirmed_scales,
    witnesses,
)
from ..uncertainty.evidence import ReportedFinding
from ..uncertainty.thrust_scale import UNSHOWN, drives_of, thrust_scale
from .arm_exchange import (
    EXCHANGE_STRIDE,
    low_passed_rows,
    mistaken_joint,
    moving,
    room_of,
    telling,
    with_lacking,
)
from .arm_mount import remounted

CHECKED_EVERY = 3   # ticks between checked samples: motion is slower
CHECKED_SECONDS = 180.0  # [s] length of the checked samples, the newest ones
DRAG = "link_drag"
WEIGHT = ("m", "mlx", "mly", "mlz")  # of a link: what gravity and buoyancy act on
JOINT_NUDGE = 0.05  # [rad, m] step of a joint for derivatives of the predictions


class ArmCheck(NamedTuple):
    """Faults of the arm's data that the vehicle's data, or the other joints', prove; what is known
    of the thrust's scale, in words, '' if a fault spoils it."""

    findings: list[ReportedFinding]
    thrust_scale: str = ""


class CheckedRows(NamedTuple):
    """Low-passed rows of one recording, in order of time: t (T,) [s], efforts minus known loads
    (T, C), valid (T, C), and a function from indices (k,) to regressors (k, C, p)."""

    t: np.ndarray
    tau: np.ndarray
    valid: np.ndarray
    regressors: Callable[[np.ndarray], np.ndarray]


def rows_of(samples: Sequence[Sample], config: Config, robot: RobotModel) -> CheckedRows:
    """The rows of all samples of a recording."""
    raw = [robot.raw_rows(sample) for sample in samples]
    t, Y, tau, valid = low_passed_rows(samples, raw, config.filter, stride=1)
    return CheckedRows(t, tau, valid, lambda places: Y[places])


def checked_period(config: Config) -> float:
    """[s] between checked samples."""
    return CHECKED_EVERY * config.filter.period


def samples_kept(config: Config) -> int:
    """Number of checked samples, each CHECKED_EVERY-th of a run."""
    return round(CHECKED_SECONDS / config.filter.period / CHECKED_EVERY)


def arm_check(samples: Sequence[Sample], rows: CheckedRows, pi: np.ndarray, config: Config,
              robot: RobotModel, sign_doubted: bool = False) -> ArmCheck:
    """The check of one recording; for a vehicle without an arm or one that does not feel it, and
    for a single joint, there is nothing to find.

    samples: each CHECKED_EVERY-th; pi (p,): the estimate; sign_doubted: an effort goes with its
    joint's speed, so one of the two has the wrong sign."""
    unshown = UNSHOWN if robot.vehicle else ""
    if not (robot.joints and robot.coupled if robot.vehicle else len(robot.joints) > 1):
        return ArmCheck([], unshown)
    n, whole = len(robot.joints), with_lacking(config, robot)
    axes = _tilt_axes(robot)
    t, columns = _columns(samples, pi, config, robot, whole, axes)
    places = np.minimum(np.searchsorted(rows.t, t), len(rows.t) - 1)
    same = np.abs(rows.t[places] - t) < 0.5 * config.filter.period
    t, columns, places = t[same], columns[same], places[same]
    valid = (rows.valid[places] & np.isfinite(columns).all(axis=2)
             & telling(samples, robot))
    if not valid.any():
        return ArmCheck([], unshown)
    columns = np.where(valid[:, :, None], columns, 0.0)
    drags = n if DRAG in robot.table.lacking else 0
    loads = _own_load_count(robot)
    lacking = columns.shape[2] - 1 - n - len(axes) - drags - loads - robot.thrusters
    late, turned, tilted, drag, across, own, zones = np.split(
        columns, np.cumsum([1, n, len(axes), drags, lacking, loads]), axis=2)
    # Drag looks like a delay, moments across the axes like an arm of another weight, and thrust
    # that does not arrive like a lighter one, so what the model lacks is fitted along with the
    # faults.
    across = np.concatenate([across, zones], axis=2)
    without = RobustFit(rows.regressors(places), rows.tau[places], valid, t,
                        witness=witnesses(robot.channels)).beside(across)
    if not moving(without, robot).any():
        return ArmCheck([], unshown)
    fit = without.beside(drag)
    drag_gain = without.cost - fit.cost
    room = room_of(samples, config, robot)
    by_command = config.thrusters.source == "thrusters"
    fault = arm_findings(fit, late[:, :, 0], turned, robot.joints, config.joint_states, room,
                         drag_gain, own, OF_COMMANDS if by_command else OF_WRENCH,
                         Tilts(tilted, axes, partial(_tilt_finding, config)))
    if fault is None and not sign_doubted:
        if not robot.vehicle:
            return ArmCheck([])
        scale = thrust_scale(fit, n, config.uncertainty.scale_stddev, drives_of(robot.allocation),
                             least_mass(config))
        if scale is None:
            return ArmCheck([], UNSHOWN)
        off = scale.finding(by_command, config.thrusters.efficiency)
        if off is not None:
            return ArmCheck([off])
        # (efforts that come in N m are the driver's, and as accurate as it says)
        doubt = unconfirmed_scales(fit, robot.joints) if config.joint_states.effort_scale else ""
        return ArmCheck([], "; ".join(one for one in (scale.sentence(), doubt) if one))
    gain = 0.0 if fault is None else fault.gain / float(valid.sum())
    mistaken = mistaken_joint(samples, config, whole, checked_period(config), room,
                              gain)
    return ArmCheck([one for one in (mistaken or (fault and fault.finding),) if one])


def _columns(samples: Sequence[Sample], pi: np.ndarray, config: Config,
             robot: RobotModel, whole: RobotModel, axes: np.ndarray
             ) -> tuple[np.ndarray, np.ndarray]:
    """(times (T,), columns (T, C, k)): derivatives of the predictions with respect to the lag of
    the arm's data (1), to each joint's position (n) and to turns of the arm's base about the axes
    (m, 3), then what the model lacks: drag of the links (n), the other sets of terms of the robot
    `whole`, `_own_loads`, `_dead_zones`; NaN in masked rows."""
    sets, period = whole.table.term_slices, checked_period(config)
    lacking = sorted(robot.table.lacking, key=lambda name: name != DRAG)
    places = np.concatenate([np.zeros(0, int), *(np.r_[sets[name]] for name in lacking)])
    columns = (1 + len(robot.joints) + len(axes) + len(places) + _own_load_count(robot)
               + robot.thrusters)
    tilted = [remounted(config, robot, to_rpy(_turned_mount(config, JOINT_NUDGE * axis)))
              for axis in axes]
    kept: list[tuple[float, np.ndarray, np.ndarray]] = []
    exchanged = _ExchangedArms(pi, robot)
    drags = whole.links_drag_of(samples)
    for k, (before, sample, after) in enumerate(zip(samples, samples[1:], samples[2:])):
        if max(abs(sample.t - before.t - period),
               abs(after.t - sample.t - period)) > 0.5 * period:     # a gap or another recording
            continue
        Y = np.column_stack([_late(before, sample, after, exchanged, robot) / (2 * period),
                             _turned(sample, pi, robot, tilted),
                             whole.raw_rows(sample, drag=drags[k + 1]).Y[:, places],
                             _own_loads(sample, robot), _dead_zones(sample, robot)])
        # Without known motion of vehicle and arm in the neighbours there is no derivative.
        known = all(each.valid[robot.vehicle_rows].all() for each in (before, after))
        kept.append((sample.t, Y, sample.valid & known))
    if not kept:
        return np.zeros(0), np.zeros((0, len(robot.channels), columns))
    t, Y, valid = map(np.array, zip(*kept))
    places, rows, valid = low_passed(replace(config.filter, period=period), t, Y, valid,
                                     EXCHANGE_STRIDE)
    return t[places], np.where(valid[:, :, None], rows, np.nan)


def _own_load_count(robot: RobotModel) -> int:
    """Number k of the columns of `_own_loads`."""
    each = (0 if robot.knows_buoyancy else len(WEIGHT)) + ("rotor" not in robot.table.term_slices)
    return each * len(robot.joints)


def _own_loads(sample: Sample, robot: RobotModel) -> np.ndarray:
    """(C, k) loads of the arm that the links' parameters cannot represent: of buoyancy, which acts
    like weight without inertia (none if volumes are set), and of the rotors' inertia, which acts on
    nothing but its own joint (none if that is estimated)."""
    table, loads = robot.table, np.zeros((robot.table.channels, _own_load_count(robot)))
    if not robot.knows_buoyancy:
        # by `robot`, since the drag of `whole` costs more than all other columns
        weights = table.places(f"{joint}.{name}" for joint in robot.joints for name in WEIGHT)
        loads[:, :len(weights)] = robot.raw_rows(at_rest(sample)).Y[:, weights]
    if "rotor" not in table.term_slices:
        loads[robot.arm_rows, -table.n:] = np.diag(sample.mu_ddot)
    return loads


def _dead_zones(sample: Sample, robot: RobotModel) -> np.ndarray:
    """(C, N) efforts by which thrust is too large, per newton that each thruster's dead zone takes
    away wherever it acts."""
    found = np.zeros((robot.table.channels, robot.thrusters))
    if sample.by_thruster is not None and robot.thrusters:
        found[robot.vehicle_rows] = robot.allocation * directions(
            robot.allocation, sample.by_thruster, robot.low_thrust)
    return found


def at_rest(sample: Sample) -> Sample:
    """The sample with the same posture and attitude, at rest."""
    still, joints = np.zeros(6), np.zeros(len(sample.mu))
    return replace(sample, nu=still, nu_dot=still, mu_dot=joints, mu_ddot=joints)


class _ExchangedArms:
    """Predictions for the vehicle of one sample with the arm of a neighbour. Those of the last pair
    are kept: the next sample asks for them again."""

    def __init__(self, pi: np.ndarray, robot: RobotModel):
        self._pi, self._robot = pi, robot
        self._kept: tuple[Sample, Sample, tuple[np.ndarray, np.ndarray]] | None = None

    def of(self, first: Sample, second: Sample) -> tuple[np.ndarray, np.ndarray]:
        """(C,) predictions: first's arm on second's vehicle, second's arm on first's vehicle."""
        kept = self._kept
        if kept is None or kept[0] is not first or kept[1] is not second:
            kept = first, second, (self._with_arm(first, second), self._with_arm(second, first))
            self._kept = kept
        return kept[2]

    def _with_arm(self, arm: Sample, base: Sample) -> np.ndarray:
        return _predicted(replace(base, mu=arm.mu, mu_dot=arm.mu_dot, mu_ddot=arm.mu_ddot),
                          self._pi, self._robot)


def _late(before: Sample, sample: Sample, after: Sample, exchanged: _ExchangedArms,
          robot: RobotModel) -> np.ndarray:
    """(C,) change of the predictions if the arm's data are two periods later: the vehicle then
    carries the arm of a later time, and the joints act on an earlier vehicle."""
    of_before, on_before = exchanged.of(before, sample)
    on_after, of_after = exchanged.of(sample, after)
    found = on_before - on_after
    rows = robot.vehicle_rows
    found[rows] = (of_after - of_before)[rows]
    return found


def _turned(sample: Sample, pi: np.ndarray, robot: RobotModel, tilted: Sequence[RobotModel]
            ) -> np.ndarray:
    """(C, n + m) derivatives of the predictions with respect to each joint's position and to the
    turns of the base by which the m robots `tilted` differ."""
    here = _predicted(sample, pi, robot)
    return np.column_stack([(there - here) / JOINT_NUDGE for there in (
        *(_predicted(replace(sample, mu=sample.mu + turn), pi, robot)
          for turn in JOINT_NUDGE * np.eye(len(sample.mu))),
        *(_predicted(sample, pi, one) for one in tilted))])


def _tilt_axes(robot: RobotModel) -> np.ndarray:
    """(m, 3) FLU axes of turns of the arm's base: those across the first joint's, about which a
    turn of the base is an offset of that joint; all for a prismatic one."""
    assert robot.arm is not None
    still = np.zeros(len(robot.joints))
    first = robot.arm.link_motion(still, still, np.eye(3), np.zeros(6)).J[3:, 6]
    return np.linalg.svd(first[None] @ FRD_FROM_FLU)[2][int(first.any()):]


def _turned_mount(config: Config, turn: np.ndarray) -> np.ndarray:
    """(3, 3) the base's setting turned by a rotation vector (3,) [rad] in FLU axes."""
    return from_rotation_vector(turn) @ from_rpy(*config.robot.mount_rpy)


def _tilt_finding(config: Config, turn: np.ndarray, stddev: float) -> ReportedFinding:
    now, right = config.robot.mount_rpy, rpy_setting(_turned_mount(config, turn))
    return ReportedFinding(MOUNT, (
        f"{MOUNT}: the weight of the links shows that the arm's base is turned by about "
        f"{np.linalg.norm(turn):.2f} +- {stddev:.2f} rad from the setting; set {MOUNT} to "
        f"{listed(right)} (now {listed(now)}) and evaluate again, or correct the attitude of its "
        "base in robot.urdf"))


def _predicted(sample: Sample, pi: np.ndarray, robot: RobotModel) -> np.ndarray:
    raw = robot.raw_rows(sample, pi)
    return raw.Y @ pi + raw.tau_known
