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

"""Bumpless feedforward: efforts for a wanted motion while parameters may change at any instant.

The efforts are tau = [Y, known] x with x = (pi, 1); x = 0 is no feedforward. Each call moves the
acting x along the straight line to the wanted one, so that it stays within the convex set P, and
only as far as the efforts may move. A change of parameters therefore never moves an effort by more
than `feedforward.max_step` of its limit, whatever the estimator reports; the wanted motion may
move it freely within the limit.
"""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..errors import ParameterError, RobotError, require
from ..model.dynamics import State, rows_of
from ..model.equations_of_motion import smooth_sign
from ..model.parameter_set import ParameterSet
from ..model.parameters import ParameterTable
from ..model.physical_set import ACCEPTED_VIOLATION, PhysicalSet
from ..model.prior import prior_stddev
from ..model.robot import RobotModel
from .allocation import wrench_limits


class FeedforwardEfforts(NamedTuple):
    """tau (C,) within the limits and stddev (C,) [N, N m]: wrench in body FRD, then joint efforts;
    stddev is due to the parameters alone, NaN unless it was asked for.

    source: 'trusted', 'prior' or 'nothing', or 'blend' during a transition; age [s] of the last
    trusted parameters, infinite before any. arm_reaction (6,) [N, N m]: wrench of the arm on the
    vehicle, which is minus the arm's part of the vehicle's wrench.
    """

    tau: np.ndarray
    stddev: np.ndarray
    source: str
    age: float
    arm_reaction: np.ndarray


class _Parameters(NamedTuple):
    """x (p + 1,) = (pi, 1), or zero; covariance (p, p); source and stamp [s]."""

    x: np.ndarray
    covariance: np.ndarray
    source: str
    stamp: float = -math.inf


class _Blend:
    """A covariance (p, p) that moves towards others, brought up to date only when it is read."""

    def __init__(self, covariance: np.ndarray):
        self._reached, self._workspace = covariance.copy(), np.empty_like(covariance)
        self._towards, self._kept, self._added = covariance, 1.0, 0.0

    def move(self, share: float, towards: np.ndarray) -> None:
        """Move by a share of the way. Mixed variances are an upper bound (Jensen), whatever the
        correlation of the two."""
        if towards is not self._towards:
            self.now()
            self._towards = towards
        self._kept *= 1.0 - share
        self._added = self._added * (1.0 - share) + share

    def now(self) -> np.ndarray:
        """The covariance reached."""
        self._reached *= self._kept
        self._reached += np.multiply(self._added, self._towards, out=self._workspace)
        self._kept, self._added = 1.0, 0.0
        return self._reached


class Feedforward:
    """Inverse dynamics with the trusted parameters, at the controller's rate.

    `update` and `confirm` may be called from another thread than `efforts`.
    """

    def __init__(self, robot: RobotModel, prior: ParameterSet, config: Config | None = None):
        """Raises ParameterError for a prior of another robot, RobotError for a joint without an
        effort limit."""
        config = Config() if config is None else config
        require("robot", robot, RobotModel)
        require("prior", prior, ParameterSet)
        require("config", config, Config)
        self.robot, self.settings = robot, config.feedforward
        self.limits = effort_limits(robot, config)
        self._limits = self.limits.tolist()
        table = robot.table
        self._physical = PhysicalSet(table, config.estimation)
        prior = prior.for_table(table, "the feedforward's prior")
        stddev = prior_stddev(prior.values, robot, config.estimation.prior_stddev)
        self._prior = _Parameters(
            np.append(prior.values, 1.0),
            np.diag(stddev ** 2) if prior.covariance is None else prior.covariance, "prior")
        self._nothing = _Parameters(np.zeros(table.size + 1), np.zeros((table.size,) * 2),
                                    "nothing")
        self._trusted: _Parameters | None = None
        self._sign_of_life, self._refused = -math.inf, False
        self._x, self._covariance = self._wanted(0.0).x, _Blend(self._wanted(0.0).covariance)
        self._unknown = np.full(len(self.limits), math.nan)
        self._unknown.setflags(write=False)
        self._before: float | None = None

    def change_settings(self, config: Config) -> None:
        """Adopt other `feedforward` settings from the next call of `efforts`."""
        self.settings = config.feedforward

    # --- what the estimator says ------------------------------------------------------------------

    def update(self, pi: np.ndarray, covariance: np.ndarray | None, stamp: float,
               trusted: bool) -> None:
        """Take new parameters pi (p,) of time `stamp` [s], in the table's order.

        covariance (p, p); None keeps the previous one. Untrusted parameters only count as a sign
        of life. Raises ParameterError for unusable ones (shape, not finite, outside P); the
        fallback then acts from the next call of `efforts` until a usable update arrives.
        """
        if not trusted:
            return self.confirm(stamp)
        try:
            self._trusted = self._checked(pi, covariance, stamp)
        except ParameterError:
            self.refuse()
            raise
        self._sign_of_life, self._refused = stamp, False

    def confirm(self, stamp: float) -> None:
        """Note a sign of life of the estimator at `stamp` [s]: its trusted parameters still hold.
        """
        if math.isfinite(stamp):
            self._sign_of_life = stamp

    def distrust(self) -> None:
        """Switch to the fallback until the next sign of life: the estimator has failed."""
        self._sign_of_life = -math.inf

    def refuse(self) -> None:
        """Switch to the fallback until the next usable update: the trusted parameters are unusable.
        Signs of life do not end it, since they vouch for what was refused."""
        self._refused = True

    def _checked(self, pi: np.ndarray, covariance: np.ndarray | None, stamp: float) -> _Parameters:
        pi = self.robot.table.vector(pi, "trusted parameters")
        if not math.isfinite(stamp):
            raise ParameterError(f"trusted parameters have the stamp {stamp}; expected seconds.")
        outside = self._physical.violation(pi, 0.0)
        if not outside <= ACCEPTED_VIOLATION:
            raise ParameterError(
                f"trusted parameters violate physical consistency by {outside:.2g} (scaled); "
                "expected parameters within P, such as those of an estimate.")
        if covariance is None:
            covariance = (self._trusted or self._prior).covariance
        else:
            covariance = checked_covariance(covariance, self.robot.table)
        return _Parameters(np.append(pi, 1.0), covariance, "trusted", stamp)

    # --- what the controller gets -----------------------------------------------------------------

    def trusted(self, t: float) -> tuple[np.ndarray, np.ndarray] | None:
        """(pi (p,), standard deviations (p,)) of the trusted estimate at time t [s]; None while
        the fallback acts."""
        acting = self._wanted(t)
        if acting.source != "trusted":
            return None
        return acting.x[:-1], np.sqrt(np.diagonal(acting.covariance))

    @property
    def prior_stddev(self) -> np.ndarray:
        """(p,) standard deviations of the prior."""
        return np.sqrt(np.diagonal(self._prior.covariance))

    def efforts(self, t: float, state: State, nu_dot: np.ndarray, mu_ddot: np.ndarray,
                friction_speed: np.ndarray | None = None,
                engaged: bool = True, with_stddev: bool = True) -> FeedforwardEfforts:
        """Efforts at time t [s] for wanted accelerations nu_dot (6,), mu_ddot (n,) in `state`.

        friction_speed (n,) [rad/s or m/s]: speed for Coulomb friction, by default state.mu_dot;
        the wanted speed keeps measurement noise out of the joint efforts. engaged False: the
        efforts fade to zero, e.g. because the state is too old. with_stddev False leaves the
        standard deviations out. Raises ParameterError if time, state or accelerations are not
        finite; nothing has changed then.
        """
        E, wrench = self._regressor(state, nu_dot, mu_ddot, friction_speed)
        wanted = self._wanted(t) if engaged else self._nothing
        before, after = E @ self._x, E @ wanted.x
        # Catches NaN in state or motion, and overflow.
        if not (math.isfinite(t) and np.isfinite(before + after).all()):
            raise ParameterError("time, state or wanted motion of the feedforward is not finite, "
                                 "or absurdly large; expected finite numbers [SI].")
        share = min(self._share_of_time(t), self._share_of_step(before, after))
        self._x = self._x + share * (wanted.x - self._x)
        self._covariance.move(share, wanted.covariance)
        self._before = t
        tau = self._limited(E @ self._x)
        there = np.abs(self._limited(after) - tau) <= self.settings.max_step * self.limits
        carried = self.robot.table.arm_slice
        arm = wrench[:, carried] @ self._x[carried] + wrench[:, -1] * self._x[-1]
        return FeedforwardEfforts(
            tau, self._stddev(E[:, :-1]) if with_stddev else self._unknown,
            wanted.source if there.all() else "blend",
            t - self._trusted.stamp if self._trusted else math.inf,
            -arm if self.robot.vehicle else np.zeros(6))

    def _stddev(self, Y: np.ndarray) -> np.ndarray:
        """(C,) standard deviations of Y pi."""
        variance = np.einsum("ij,ij->i", Y @ self._covariance.now(), Y)
        return np.sqrt(np.maximum(variance, 0.0))

    def _regressor(self, state: State, nu_dot: np.ndarray, mu_ddot: np.ndarray,
                   friction_speed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """[Y, known] (C, p + 1) of the efforts to command, and (6, p + 1) of the wrench that then
        acts: thrust factors separate them."""
        accelerations = np.concatenate([nu_dot, mu_ddot]) if self.robot.vehicle else mu_ddot
        speed = state.mu_dot if friction_speed is None else friction_speed
        raw = rows_of(self.robot, state, accelerations, self._x[:-1], smooth_sign(speed))
        E = np.concatenate([raw.Y, raw.tau_known[:, None]], axis=1)
        if self.robot.thrust_is_exact:
            return E, E[:6]
        wrench = E[:6].copy()
        # Thrust factors depend on the sign of the acting efforts, which keeps E linear in x.
        needed = E @ self._x
        share = self.robot.measured_wrench(np.sign(needed), self._x[:-1]) * np.sign(needed)
        E[:6] *= np.where(share[:6] == 0.0, 1.0, share[:6])[:, None]
        return E, wrench

    def fallback_because(self, t: float) -> str:
        """Why the fallback acts at time t [s], a clause; '' if the trusted parameters do."""
        trusted, settings = self._trusted, self.settings
        if trusted is None:
            return "no trusted parameters have come yet"
        if settings.fallback == "trusted":
            return ""
        if self._refused:
            return "the last trusted parameters are unusable"
        if self._sign_of_life == -math.inf:
            return "the estimator has failed"
        # abs: a stamp from the future is no sign of life, nor does it prove an age
        if not abs(t - self._sign_of_life) <= settings.timeout:
            return "the estimator is silent"
        if not (settings.max_age == 0.0 or abs(t - trusted.stamp) <= settings.max_age):
            return "the trusted parameters are older than feedforward.max_age"
        return ""

    def _wanted(self, t: float) -> _Parameters:
        """The parameters that should act at time t."""
        if self._trusted is not None and not self.fallback_because(t):
            return self._trusted
        return self._nothing if self.settings.fallback == "nothing" else self._prior

    def _share_of_time(self, t: float) -> float:
        """Share of the way to the wanted parameters due to the time since the last call: 1 at the
        first call, 0 if time stands still or jumps back."""
        if self._before is None:
            return 1.0
        elapsed = max(t - self._before, 0.0)
        if self.settings.blend_time == 0.0:
            return 1.0
        return -math.expm1(-elapsed / self.settings.blend_time)

    def _share_of_step(self, before: np.ndarray, after: np.ndarray) -> float:
        """Largest share of the way from efforts `before` to `after` (C,), both unlimited, that
        moves no limited effort by more than one step."""
        if self._before is None:
            return 1.0
        share = 1.0
        # floats: for ten channels, arrays would take longer
        for start, end, limit in zip(before.tolist(), after.tolist(), self._limits):
            way, step = abs(end - start), self.settings.max_step * limit
            start = -start if end < start else start    # mirrored so that all efforts rise
            # Motion below the lower limit is free, then one step; beyond the upper limit all is.
            if min(max(start, -limit), limit) + step < limit:
                free = max(-limit - start, 0.0) + step
                share = min(share, free / max(way, free))
        return share

    def _limited(self, tau: np.ndarray) -> np.ndarray:
        return np.clip(tau, -self.limits, self.limits)


def effort_limits(robot: RobotModel, config: Config) -> np.ndarray:
    """(C,) effort limits of vehicle [N, N m] and joints [N m or N] from settings, thrusters and
    URDF; raises RobotError for a joint without a limit."""
    joints = joint_effort_limits(robot, config)
    return np.array([*(wrench_limits(config) if robot.vehicle else ()), *joints])


def joint_effort_limits(robot: RobotModel, config: Config) -> np.ndarray:
    """(n,) effort limits of the joints [N m or N] from settings and URDF; raises RobotError for a
    joint without a limit."""
    joints = config.feedforward.joint_limits or tuple(robot.effort_limits)
    if len(joints) != len(robot.joints):
        raise RobotError(f"setting 'feedforward.joint_limits' has {len(joints)} numbers; expected "
                         f"none or {len(robot.joints)}, one for each of robot.joints.")
    without = [name for name, limit in zip(robot.joints, joints) if not math.isfinite(limit)]
    if without:
        raise RobotError(
            f"joint '{without[0]}' has no effort limit in the URDF to bound its feedforward; set "
            "feedforward.joint_limits.")
    return np.array(joints)


def checked_covariance(covariance: np.ndarray, table: ParameterTable) -> np.ndarray:
    """The covariance (p, p) as an array; raises ParameterError for a wrong shape, numbers that are
    not finite, or negative variances."""
    covariance = np.asarray(covariance, float)
    if (covariance.shape != (table.size,) * 2 or not np.isfinite(covariance).all()
            or (np.diagonal(covariance) < 0).any()):
        raise ParameterError(
            f"the covariance of trusted parameters has shape {covariance.shape}, or entries that "
            f"are not finite or negative variances; expected ({table.size}, {table.size}) numbers.")
    return covariance
