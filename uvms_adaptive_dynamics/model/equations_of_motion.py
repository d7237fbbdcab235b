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

"""The equations of motion at fixed parameters, and one step of their integration.

Friction and damping make the motion stiff. The integrator is the two-stage Rosenbrock method ROS2,
which is L-stable: a fast decay never overshoots (Verwer et al., SIAM J. Sci. Comput. 20, 1999).
docs/mathematics.md, "Forward bands".
"""
from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..errors import ParameterError
from .dynamics import State, generalized_inertia, rows_of
from .robot import RobotModel
from .rotations import from_rotation_vector

# Coulomb friction is smoothed with this speed [rad/s or m/s], since sgn has no derivative at zero;
# it acts fully from about twice the speed. Below it the estimator masks a joint's rows, because
# friction is undetermined there.
FRICTION_SPEED = 0.02
GAMMA = 1 + 1 / math.sqrt(2)  # coefficient of ROS2


def smooth_sign(speed: np.ndarray) -> np.ndarray:
    """(n,) sign of Coulomb friction at joint speeds (n,) [rad/s or m/s], smoothed around rest."""
    return np.tanh(speed / FRICTION_SPEED)


class EquationsOfMotion:
    """The equations of motion at fixed parameters pi (p,)."""

    def __init__(self, robot: RobotModel, pi: np.ndarray):
        self.robot, self.pi = robot, pi
        table = robot.table
        self.head, self.n = (6 if robot.vehicle else 0), table.n
        self._viscous = table.places(f"{joint}.fv" for joint in table.joints)
        self.free = slice(0, self.head + self.n)    # channels whose acceleration the efforts cause
        if robot.vehicle:
            self._linear, self._quadratic = pi[table.nonpositive].reshape(2, 6)

    @property
    def coulomb(self) -> np.ndarray:
        """(n,) largest Coulomb friction of each joint [N m or N]."""
        return self.robot.largest_coulomb(self.pi)

    def rows(self, state: State, a: np.ndarray,
             sign: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Y (C, p) and known load (C,) at accelerations a (C,); sign (n,) of Coulomb friction, by
        default `smooth_sign`."""
        raw = rows_of(self.robot, state, a, self.pi,
                      smooth_sign(state.mu_dot) if sign is None else sign)
        return raw.Y, raw.tau_known

    def load(self, state: State, a: np.ndarray, sign: np.ndarray | None = None) -> np.ndarray:
        """(C,) efforts that this motion needs, if the thrusters deliver the measured wrench;
        arguments as of `rows`."""
        Y, known = self.rows(state, a, sign)
        return Y @ self.pi + known

    def coulomb_slope(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """(n,) mean derivative of Coulomb friction between joint speeds `before` and `after` (n,).

        A mean over the step cannot miss a reversal within it."""
        change = after - before
        small = np.abs(change) < 1e-3 * FRICTION_SPEED
        secant = (smooth_sign(after) - smooth_sign(before)) / np.where(small, 1.0, change)
        return self.coulomb * np.where(
            small, (1 - smooth_sign(before) ** 2) / FRICTION_SPEED, secant)

    def inertia(self, state: State, ahead: float) -> np.ndarray:
        """Generalized inertia (C, C) at the joint positions `ahead` [s] from now."""
        return generalized_inertia(self.robot, replace(state, mu=state.mu + ahead * state.mu_dot),
                                   self.pi)

    def _damping(self, state: State) -> np.ndarray:
        """(C,) derivative of friction and damping by each velocity: the stiff part of the motion.

        Coulomb friction uses the secant through rest: a joint may stop within the step and must
        not oscillate there.
        """
        speed = np.maximum(np.abs(state.mu_dot), 1e-3 * FRICTION_SPEED)
        joints = self.pi[self._viscous] + self.coulomb * smooth_sign(speed) / speed
        if not self.head:
            return joints
        return np.concatenate([-self._linear - 2 * self._quadratic * np.abs(state.nu), joints])

    def step(self, state: State, tau: np.ndarray, tau_after: np.ndarray,
             h: float) -> tuple[State, np.ndarray]:
        """One step h [s] of ROS2 (second order, implicit in friction and damping), with efforts
        tau (C,) before and tau_after (C,) after it [N, N m].

        Returns the state after it and the displacement (3,) NED [m]. Both stages use the inertia
        midway through the step: its errors in them cancel, so the order stays two.
        """
        free, given = self.free, self.given(h)
        tau, tau_after = (self.robot.needed_wrench(one, self.pi) for one in (tau, tau_after))
        M = self.inertia(state, h / 2)[free, free]
        implicit = M + GAMMA * h * np.diag(self._damping(state)[free])
        # without this, a joint dominated by friction would lag behind its effort
        rising = GAMMA * (tau_after - tau)[free]
        k1, k2 = given.copy(), -given
        k1[free] = np.linalg.solve(implicit, (tau - self.load(state, given))[free] + rising)
        ahead = self.moved(state, self.velocity(state), k1, h)
        k2[free] = np.linalg.solve(implicit, (tau_after - self.load(ahead, given))[free]
                                   - 2 * M @ k1[free] - rising)
        a = 1.5 * k1 + 0.5 * k2
        v = self.velocity(state) + 0.5 * h * a
        after = self.moved(state, v, a, h)
        moved = 0.5 * h * (state.R_nb @ state.nu[:3] + after.R_nb @ after.nu[:3])
        if not np.isfinite(after.nu).all() or not np.isfinite(after.mu_dot).all() or max(
                np.abs(v), default=0.0) > 1e3:
            raise ParameterError(
                "the simulated motion diverges; expected parameters within the physical set, "
                "efforts in N and N m, and a step short enough for the friction.")
        return after, moved

    def given(self, h: float) -> np.ndarray:
        """(C,) prescribed accelerations of the channels that are not free, over the next h [s];
        zero for the free ones."""
        return np.zeros(self.head + self.n)

    def velocity(self, state: State) -> np.ndarray:
        """(C,) nu, if there is a vehicle, and mu_dot."""
        return np.concatenate([state.nu, state.mu_dot]) if self.head else state.mu_dot

    def moved(self, state: State, v: np.ndarray, a: np.ndarray, h: float) -> State:
        """The state after h [s] at velocities v and accelerations a (C,)."""
        head = self.head
        if not head:
            return replace(state, mu=state.mu + h * v, mu_dot=state.mu_dot + h * a)
        return State(state.R_nb @ from_rotation_vector(h * v[3:6]), state.nu + h * a[:6],
                     state.mu + h * v[6:], state.mu_dot + h * a[6:])
