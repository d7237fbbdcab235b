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

"""Objective of the search: a motion's information minus penalties, with its gradient by the tones.

Bayesian D-optimality (Chaloner and Verdinelli, 1995): log det(I + R^T J R), where P = R R^T is the
present covariance of the free parameters and J = sum Y^T Sigma^-1 Y the motion's information. A
direction counts by the factor by which its standard deviation shrinks: directions already known, or
excited by no motion, add nothing. docs/excitation.md.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...config import Config
from ...model.robot import RobotModel
from ..desired_motion import desired_motion
from .basis import tones
from .limits import MotionLimits
from .prior_knowledge import Knowledge
from .rows import motion_gradient, regressors

# Cost [nats] of twice a limit, all the time: exceeding it by 5 % for 1 s of 60 costs one.
PENALTY = 24000.0
AIM = 0.95      # share of the limits above which penalties apply: peaks lie between the instants
# Instants in the shortest period of a motion, in which its values differ by 15 % of the amplitude.
INSTANTS_PER_PERIOD = 8


class Tones(NamedTuple):
    """Frequencies (d, h) [Hz] of all coordinates, and the search's amplitude units (d, h)
    [m, rad]."""

    frequencies: np.ndarray
    unit: np.ndarray


class Objective:
    """The search's cost function of x: amplitudes of sines and cosines of the coordinates that
    move, and centres of the joints that move."""

    def __init__(self, robot: RobotModel, knowledge: Knowledge, draws: np.ndarray,
                 noise: np.ndarray, limits: MotionLimits, moves: np.ndarray, centre: np.ndarray,
                 duration: float, band: tuple[float, ...], config: Config):
        """noise (C,): of low-passed rows; limits: those of the wanted motion; moves (d,) bool;
        centre (d,): start of the motion, from which the search may move the joints."""
        self._robot, self._knowledge, self._draws = robot, knowledge, draws
        self._limits, self._moves, self._centre = limits, moves, centre
        self._duration, self._ramp = duration, config.excitation.ramp
        self._rest = config.joint_states.rest_velocity * robot.radian
        steps = max(2, round(INSTANTS_PER_PERIOD * band[1] * duration))
        self._t = (np.arange(steps) + 0.5) * duration / steps
        independent = duration / steps / (config.filter.period * knowledge.overlap
                                          * knowledge.correlation)
        self._weight = independent / noise ** 2

    def use(self, of: Tones) -> None:
        """Use these frequencies and units from now on."""
        basis = tones(self._t, of.frequencies, self._duration, self._ramp)
        self._basis = basis * np.concatenate([of.unit, of.unit], axis=1)
        self._of = of

    def motion(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(centre (d,), amplitudes (d, 2h) in units) of x."""
        d, twice = self._basis.shape[2:]
        amplitudes, centre = np.zeros((d, twice)), self._centre.copy()
        split = self._moves.sum() * twice
        amplitudes[self._moves] = x[:split].reshape(-1, twice)
        centre[self._postured] += self._limits.reach[self._postured] * x[split:]
        return centre, amplitudes

    def size(self) -> tuple[int, int]:
        """Numbers of amplitudes and of centres in x."""
        return int(self._moves.sum()) * self._basis.shape[3], int(self._postured.size)

    @property
    def _postured(self) -> np.ndarray:
        return np.flatnonzero(self._moves & (np.arange(self._moves.size) >= 6))

    def value(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """(penalties minus information gain [nats], its gradient by x)."""
        centre, amplitudes = self.motion(x)
        coordinates = np.einsum("skdh,dh->skd", self._basis, amplitudes)
        coordinates[0] += centre
        Y, known = regressors(self._robot, desired_motion(*coordinates))
        gain, G = self._gain(Y, coordinates)
        cost, D = self._effort_penalty(Y, known)
        slope = motion_gradient(self._robot, coordinates, Y, D - G, self._moves)
        kinematic, K = self._motion_penalty(coordinates)
        slope += K
        by_amplitude = np.einsum("skd,skdh->dh", slope, self._basis)[self._moves]
        by_centre = (slope[0].sum(axis=0) * self._limits.reach)[self._postured]
        return cost + kinematic - gain, np.concatenate([by_amplitude.ravel(), by_centre])

    def _gain(self, Y: np.ndarray, coordinates: np.ndarray) -> tuple[float, np.ndarray]:
        """(log det, its gradient (T, C, p) by Y); joints at rest do not count."""
        knowledge = self._knowledge
        weight = np.tile(self._weight, (len(Y), 1))
        weight[:, self._robot.arm_rows] *= np.abs(coordinates[1][:, 6:]) >= self._rest
        Z = knowledge.coordinates.columns(Y) @ knowledge.root        # (T, C, m)
        M = np.einsum("tc,tca,tcb->ab", weight, Z, Z, optimize=True) + np.eye(Z.shape[2])
        _, gain = np.linalg.slogdet(M)
        back = 2 * weight[:, :, None] * (Z @ np.linalg.solve(M, knowledge.root.T))
        x, G = knowledge.coordinates, np.zeros_like(Y)
        estimated = np.flatnonzero(x.free)
        G[:, :, estimated] = (back * x.scale)[:, :, x.variable[estimated]]
        return float(gain), G

    def _effort_penalty(self, Y: np.ndarray, known: np.ndarray) -> tuple[float, np.ndarray]:
        """(cost, gradient (T, C, p) by Y) of the worst draw's efforts beyond the limits."""
        limits = self._limits
        efforts = np.einsum("tcp,kp->tkc", Y, self._draws, optimize=True) + known[:, None]
        uses = limits.effort_uses(efforts)                       # (T, K, a)
        worst = uses.argmax(axis=1)                              # (T, a)
        excess = np.maximum(np.take_along_axis(uses, worst[:, None], 1)[:, 0] - AIM, 0.0)
        scale = PENALTY / len(Y)
        D = np.zeros_like(Y)
        for a in np.flatnonzero(excess.any(axis=0)).tolist():
            t = np.flatnonzero(excess[:, a])
            k = worst[t, a]
            D[t] += np.einsum("t,tc,tp->tcp", 2 * scale * excess[t, a],
                              self._by_effort(a, efforts[t, k]), self._draws[k])
        return float(scale * (excess ** 2).sum()), D

    def _by_effort(self, a: int, efforts: np.ndarray) -> np.ndarray:
        """(T, C) gradient by the efforts (T, C) of the share that actuator a uses."""
        limits, found = self._limits, np.zeros_like(efforts)
        if a < len(limits.mixer):
            thrust = efforts[:, :6] @ limits.mixer[a]
            bound = np.where(thrust > 0, limits.thrust_high[a], limits.thrust_low[a])
            found[:, :6] = limits.mixer[a] / bound[:, None]
        else:
            c = efforts.shape[1] - len(limits.joints) + a - len(limits.mixer)
            found[:, c] = np.sign(efforts[:, c]) / limits.torque[a - len(limits.mixer)]
        return found

    def _motion_penalty(self, coordinates: np.ndarray) -> tuple[float, np.ndarray]:
        """(cost, gradient (3, T, d)) of positions and rates beyond the limits. Body rates are taken
        as angle rates here; the final check treats them exactly."""
        limits, slope = self._limits, np.zeros_like(coordinates)
        n, scale, cost = len(limits.joints), PENALTY / coordinates.shape[1], 0.0
        groups = [(0, [k], limits.middle[k], limits.reach[k])
                  for k in (0, 1, 2, 5, *range(6, 6 + n))]
        groups += [(0, [3, 4], 0.0, limits.tilt), (1, [0, 1, 2], 0.0, limits.speed),
                   (1, [3, 4, 5], 0.0, limits.rate)]
        groups += [(1, [6 + j], 0.0, limits.joint_speed[j]) for j in range(n)]
        for order, places, middle, limit in groups:
            if not self._moves[places].any():
                continue
            away = (coordinates[order][:, places] - middle) / limit
            length = np.linalg.norm(away, axis=1)
            excess = np.maximum(length - AIM, 0.0)
            cost += scale * float((excess ** 2).sum())
            slope[order][:, places] += (2 * scale * excess / np.maximum(length, AIM))[
                :, None] * away / limit
        return cost, slope
