"""Simulation forward in time with the bands that an estimate's covariance gives it (paper, "Forward Dynamics"; DESIGN section 8).

State x = (position, attitude, nu, mu, mu_dot); its error is the tangent vector (position NED (3), attitude body (3),
nu (6), mu (n), mu_dot (n)), without the first twelve where there is no vehicle. To first order an error d(pi) of the
parameters moves it by P d(pi) with dP/dt = F P + G, F = df/dx, G = df/dpi = -M^-1 Y (see `forward_dynamics`).
"""
from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Callable, NamedTuple

import numpy as np
from scipy.linalg import expm

from .dynamics import State, generalized_inertia, inertia_regressor, rows_of
from ..errors import ParameterError
from .robot import RobotModel
from .rotations import from_rotation_vector, skew
from ..uncertainty.parameter_covariance import deviations

# Coulomb friction acts fully from about twice this speed [rad/s or m/s] on: a step of sgn would have no derivative.
# It is the speed below which the estimator masks a joint's rows, where friction has no value.
FRICTION_SPEED = 0.02
GAMMA = 1 + 1 / math.sqrt(2)   # of the two-stage Rosenbrock method ROS2: L-stable, and a fast decay never overshoots (Verwer et al., 1999)
DRAWN_AT_ONCE = 500
TRIES = 20                     # draws of parameters that may be refused for each that has a motion, before that is a finding of its own
NUDGE = 1e-6                   # of central differences over the state


class Forward(NamedTuple):
    """A simulated run of T instants: t (T,) [s] from the start, states, position (T, 3) NED [m] and covariance (T, d, d) of the
    state's error, or None; d = 12 + 2n, or 2n without a vehicle (order and frames: see the module)."""

    t: np.ndarray
    states: tuple[State, ...]
    position: np.ndarray
    covariance: np.ndarray | None

    @property
    def stddev(self) -> np.ndarray:
        """(T, d) of the state's error."""
        return deviations(self.covariance)


@dataclass(frozen=True)
class Disturbance:
    """What the model leaves unexplained: covariance (C, C) [N, N m] of a residual that is alike over `time` [s].

    For the residuals of low-passed rows that time is `RowFilter.correlation_length` periods (0.24 s by default).
    """

    covariance: np.ndarray
    time: float


def simulate(robot: RobotModel, start: State, efforts: Callable[[float], np.ndarray], pi: np.ndarray, duration: float,
             covariance: np.ndarray | None = None, disturbance: Disturbance | None = None, start_covariance: np.ndarray | None = None,
             step: float = 0.01) -> Forward:
    """The motion under efforts tau(t) (C,) [N, N m] for `duration` [s], with the covariance of its error.

    covariance (p, p) of pi and, where they are to count, a disturbance and the start's own covariance (d, d); without any
    of the three the result has none. Bands are linear in the covariance: nothing is evaluated at other parameters
    than pi, so that it does not matter whether pi plus an error lies within P. Raises ParameterError where the motion leaves
    all bounds, or where pi has no positive definite inertia.
    """
    steps = max(1, round(duration / step))
    body, position = _Body(robot, pi), np.zeros(3)
    if not has_inertia(robot, start, pi):
        raise ParameterError("the parameters have no motion: their generalized inertia is not positive definite at the start; expected "
                             "parameters within the physical set, as every estimate is.")
    states, positions, found = [start], [position], []
    spread = None
    if covariance is not None or disturbance is not None or start_covariance is not None:
        spread = _Spread(body, covariance, disturbance, start_covariance)
        found.append(spread.covariance())
    state = start
    for k in range(steps):
        after, moved = body.step(state, efforts(k * step), efforts((k + 1) * step), step)
        if spread is not None:
            spread.step(state, after, step)
            found.append(spread.covariance())
        state, position = after, position + moved
        states.append(state)
        positions.append(position)
    return Forward(step * np.arange(steps + 1), tuple(states), np.array(positions), np.array(found) if found else None)


def error_of(robot: RobotModel, states: tuple[State, ...], position: np.ndarray, of: Forward) -> np.ndarray:
    """(T, d) tangent vectors from the run `of` to another run of the same instants."""
    errors = []
    for state, place, base, base_place in zip(states, position, of.states, of.position):
        turn = base.R_nb.T @ state.R_nb
        angle = math.acos(min(1.0, max(-1.0, (np.trace(turn) - 1) / 2)))
        axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        attitude = axis * (0.5 if angle < 1e-6 else angle / (2 * math.sin(angle)))
        vehicle = [place - base_place, attitude, state.nu - base.nu] if robot.vehicle else []
        errors.append(np.concatenate([*vehicle, state.mu - base.mu, state.mu_dot - base.mu_dot]))
    return np.array(errors)


def has_inertia(robot: RobotModel, state: State, pi: np.ndarray) -> bool:
    """Whether the generalized inertia (C, C) is positive definite: without that, efforts have no motion."""
    M = generalized_inertia(robot, state, pi)
    return bool(np.linalg.eigvalsh(M + M.T)[0] > 0)


def draw_parameters(robot: RobotModel, state: State, pi: np.ndarray, covariance: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, int]:
    """(values (count, p), how many more were refused): parameters from N(pi, covariance) that have a motion in this state.

    A normal distribution knows no physical set: the inertia of a joint that friction rules is poorly known, and the distribution
    reaches below zero. Draws whose generalized inertia is not positive definite have no motion; they are refused and drawn again.
    Raises ParameterError where nearly all are.
    """
    rng, (N, K) = np.random.default_rng(seed), inertia_regressor(robot, state)
    variances, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(variances, 0.0))
    values, refused = np.zeros((0, pi.size)), 0
    while len(values) < count:
        drawn = pi + rng.standard_normal((DRAWN_AT_ONCE, pi.size)) @ root.T
        M = np.tensordot(drawn, N, (1, 2)) + K
        fit = np.linalg.eigvalsh(M + M.transpose(0, 2, 1))[:, 0] > 0
        taken = np.flatnonzero(fit)[:count - len(values)]
        looked_at = taken[-1] + 1 if len(values) + taken.size == count else DRAWN_AT_ONCE
        values, refused = np.concatenate([values, drawn[taken]]), refused + int(looked_at - taken.size)
        if refused > TRIES * (len(values) + 1):
            raise ParameterError(f"{refused} of {refused + len(values)} drawn parameters have no positive definite inertia; expected an estimate "
                                 "that knows the inertias of all joints. Move them, and identify again.")
    return values, refused


def moving_covariance(robot: RobotModel, state: State, pi: np.ndarray, covariance: np.ndarray, count: int = 10_000, seed: int = 0) -> np.ndarray:
    """(p, p) covariance of what N(pi, covariance) holds of parameters that have a motion in this state, from `count` draws.

    That of all holds directions which no robot can take, and bands of it are off by them (docs/uncertainty.md, "Forward bands").
    """
    return np.cov(draw_parameters(robot, state, pi, covariance, count, seed)[0].T)


def smooth_sign(speed: np.ndarray) -> np.ndarray:
    """Sign of Coulomb friction at joint speeds [rad/s or m/s], smooth through rest."""
    return np.tanh(speed / FRICTION_SPEED)


class _Body:
    """The equations of motion at fixed parameters."""

    def __init__(self, robot: RobotModel, pi: np.ndarray):
        self.robot, self.pi = robot, pi
        table = robot.table
        self.head, self.n = (6 if robot.vehicle else 0), table.n
        self._coulomb = table.places(f"{joint}.fs" for joint in table.joints)
        self._viscous = table.places(f"{joint}.fv" for joint in table.joints)
        self._own = np.arange(self.head, self.head + self.n)
        if robot.vehicle:
            self._linear, self._quadratic = pi[table.nonpositive].reshape(2, 6)

    def rows(self, state: State, a: np.ndarray, sign: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Y (C, p) and known (C,) at accelerations a (C,); sign (n,) of Coulomb friction, by default the smooth one."""
        raw = rows_of(self.robot, state, a)
        raw.Y[self._own, self._coulomb] = smooth_sign(state.mu_dot) if sign is None else sign
        return raw.Y, raw.known

    def load(self, state: State, a: np.ndarray, sign: np.ndarray | None = None) -> np.ndarray:
        """(C,) the efforts that this motion needs."""
        Y, known = self.rows(state, a, sign)
        return Y @ self.pi + known

    def coulomb_slope(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """(n,) mean derivative of Coulomb friction over joint speeds from `before` to `after` (n,): no reversal is stepped over."""
        change = after - before
        small = np.abs(change) < 1e-3 * FRICTION_SPEED
        secant = (smooth_sign(after) - smooth_sign(before)) / np.where(small, 1.0, change)
        return self.pi[self._coulomb] * np.where(small, (1 - smooth_sign(before) ** 2) / FRICTION_SPEED, secant)

    def inertia(self, state: State, ahead: float) -> np.ndarray:
        """Generalized inertia (C, C) where the joints will be `ahead` [s] from now."""
        return generalized_inertia(self.robot, replace(state, mu=state.mu + ahead * state.mu_dot), self.pi)

    def _damping(self, state: State) -> np.ndarray:
        """(C,) derivative of the load by the velocities, friction and damping alone: what makes the motion stiff.

        Of Coulomb friction the secant through rest: a joint may come to rest within the step, and must not swing there.
        """
        speed = np.maximum(np.abs(state.mu_dot), 1e-3 * FRICTION_SPEED)
        joints = self.pi[self._viscous] + self.pi[self._coulomb] * smooth_sign(speed) / speed
        if not self.head:
            return joints
        return np.concatenate([-self._linear - 2 * self._quadratic * np.abs(state.nu), joints])

    def step(self, state: State, tau: np.ndarray, tau_after: np.ndarray, h: float) -> tuple[State, np.ndarray]:
        """One step h [s] of ROS2 (second order, implicit in friction and damping): the state after it, and how far it moved (3,).

        Both stages share the inertia of the step's middle: its errors in them are opposite, and the order stays two.
        """
        M, rest = self.inertia(state, h / 2), np.zeros(tau.size)
        implicit = M + GAMMA * h * np.diag(self._damping(state))
        rising = GAMMA * (tau_after - tau)   # without it, a joint that friction rules would lag behind its effort
        k1 = np.linalg.solve(implicit, tau - self.load(state, rest) + rising)
        ahead = self.moved(state, self.velocity(state), k1, h)
        k2 = np.linalg.solve(implicit, tau_after - self.load(ahead, rest) - 2 * M @ k1 - rising)
        a = 1.5 * k1 + 0.5 * k2
        v = self.velocity(state) + 0.5 * h * a
        after = self.moved(state, v, a, h)
        moved = 0.5 * h * (state.R_nb @ state.nu[:3] + after.R_nb @ after.nu[:3])
        if not np.isfinite(after.nu).all() or not np.isfinite(after.mu_dot).all() or max(np.abs(v), default=0.0) > 1e3:
            raise ParameterError("the simulated motion leaves all bounds; expected parameters within the physical set, efforts in N and N m "
                                 "and a step that friction allows.")
        return after, moved

    def velocity(self, state: State) -> np.ndarray:
        """(C,) nu and mu_dot."""
        return np.concatenate([state.nu, state.mu_dot]) if self.head else state.mu_dot

    def moved(self, state: State, v: np.ndarray, a: np.ndarray, h: float) -> State:
        """The state after h [s] at velocities v and accelerations a (C,)."""
        head = self.head
        if not head:
            return replace(state, mu=state.mu + h * v, mu_dot=state.mu_dot + h * a)
        return State(state.R_nb @ from_rotation_vector(h * v[3:6]), state.nu + h * a[:6], state.mu + h * v[6:], state.mu_dot + h * a[6:])


class _Spread:
    """Covariance of the state's error along a motion: what the parameters' errors make of it, and what disturbances add."""

    def __init__(self, body: _Body, covariance: np.ndarray | None, disturbance: Disturbance | None, start: np.ndarray | None):
        self._body, self._disturbance = body, disturbance
        n = body.n
        self._d = d = 2 * n + (12 if body.head else 0)
        values, vectors = (np.zeros(0), np.zeros((body.pi.size, 0))) if covariance is None else np.linalg.eigh(covariance)
        # A factor of the covariance in place of the parameters: fewer columns where some are certain.
        kept = values > 0
        self._root = vectors[:, kept] * np.sqrt(values[kept])
        self._P = np.zeros((d, self._root.shape[1]))
        self._N = np.zeros((d, d)) if start is None else np.array(start, float)

    def covariance(self) -> np.ndarray:
        """(d, d) at the instant reached."""
        return self._P @ self._P.T + self._N

    def step(self, before: State, after: State, h: float) -> None:
        """Carry the covariance over a step h [s] between two states, linearized in its middle."""
        F, G, B = self._linear(before, after, h)
        d = self._d
        double = np.zeros((2 * d, 2 * d))
        double[:d, :d], double[:d, d:] = h * F, h * np.eye(d)
        both = expm(double)
        whole, integral = both[:d, :d], both[:d, d:]
        self._P = whole @ self._P + integral @ (G @ self._root)
        self._N = whole @ self._N @ whole.T
        if self._disturbance is not None:
            # White noise of the density that a residual of this covariance and correlation time has at low frequencies.
            push = integral @ B / h
            self._N += push @ self._disturbance.covariance @ push.T * self._disturbance.time * h

    def _linear(self, before: State, after: State, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """F (d, d), G (d, p) and B (d, C) of d(error)/dt = F error + G d(pi) + B d(tau)."""
        body, d, n, head, x = self._body, self._d, self._body.n, self._body.head, _between(before, after)
        M = body.inertia(x, 0.0)
        # Of the step as a whole: a joint's acceleration in its middle says little where friction stops it.
        a = (body.velocity(after) - body.velocity(before)) / h
        sign = (smooth_sign(before.mu_dot) + smooth_sign(after.mu_dot)) / 2
        F, C = np.zeros((d, d)), head + n
        # Where velocities lie in the error; the rest of it moves with them.
        speeds = np.concatenate([np.arange(6, 12), np.arange(12 + n, d)]) if head else np.arange(n, d)
        if head:
            v, w = x.nu[:3], x.nu[3:]
            F[0:3, 3:6], F[0:3, 6:9] = -x.R_nb @ skew(v), x.R_nb
            F[3:6, 3:6], F[3:6, 9:12] = -skew(w), np.eye(3)
        F[2 * head:2 * head + n, d - n:] = np.eye(n)
        slopes = np.zeros((C, d))
        for k in range(3 if head else 0, d):
            e = np.zeros(d)
            e[k] = NUDGE
            slopes[:, k] = (body.load(_nudged(x, e, head, n), a, sign) - body.load(_nudged(x, -e, head, n), a, sign)) / (2 * NUDGE)
        slopes[head:, d - n:] += np.diag(body.coulomb_slope(before.mu_dot, after.mu_dot))
        F[speeds] = -np.linalg.solve(M, slopes)
        G, B = np.zeros((d, body.pi.size)), np.zeros((d, C))
        G[speeds] = -np.linalg.solve(M, body.rows(x, a, sign)[0])
        B[speeds] = np.linalg.inv(M)
        return F, G, B


def _nudged(x: State, error: np.ndarray, head: int, n: int) -> State:
    """The state at an error of x."""
    mu, mu_dot = x.mu + error[2 * head:2 * head + n], x.mu_dot + error[2 * head + n:]
    if not head:
        return replace(x, mu=mu, mu_dot=mu_dot)
    return State(x.R_nb @ from_rotation_vector(error[3:6]), x.nu + error[6:12], mu, mu_dot)


def _between(a: State, b: State) -> State:
    """The middle of two neighbouring states."""
    turn = a.R_nb.T @ b.R_nb
    half = 0.25 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    return State(a.R_nb @ from_rotation_vector(half), (a.nu + b.nu) / 2, (a.mu + b.mu) / 2, (a.mu_dot + b.mu_dot) / 2)
