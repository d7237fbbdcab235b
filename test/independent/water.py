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

"""Water around the robot: current, waves, drag of hull and links, tether.

Current wanders as a sum of slow tones; waves are linear and of deep water (Fossen 2011, sec. 8.2).
The hull's drag has full 6 x 6 linear and quadratic matrices (eq. 6.71), the links' is cross flow
over strips (Morison). World NED, depth from the still surface, SI.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rigid_tree import Motion, skew


@dataclass(frozen=True)
class Tones:
    """A vector that wanders: sum over tones of amplitude (k, 3) sin(rate (k,) t + phase (k, 3))."""

    mean: np.ndarray
    amplitude: np.ndarray
    rate: np.ndarray
    phase: np.ndarray

    @classmethod
    def drawn(cls, rng, mean, deviation, periods=(30.0, 400.0), count=5) -> Tones:
        rate = 2 * np.pi / np.exp(rng.uniform(*np.log(periods), count))
        amplitude = rng.normal(size=(count, 3)) * np.asarray(deviation) / np.sqrt(count / 2)
        return cls(np.asarray(mean, float), amplitude, rate, rng.uniform(0, 2 * np.pi, (count, 3)))

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """The vector and its derivative."""
        angle = self.rate[:, None] * t + self.phase
        return (self.mean + (self.amplitude * np.sin(angle)).sum(0),
                (self.rate[:, None] * self.amplitude * np.cos(angle)).sum(0))


@dataclass(frozen=True)
class Waves:
    """Long-crested waves: amplitude (k,) [m], rate (k,) [rad/s], phase (k,), heading [rad]."""

    amplitude: np.ndarray
    rate: np.ndarray
    phase: np.ndarray
    heading: float

    @classmethod
    def drawn(cls, rng, height: float, count: int = 6) -> Waves:
        """Significant height [m]; periods of 3 to 8 s."""
        amplitude = rng.uniform(0.3, 1.0, count)
        amplitude *= height / 4 * np.sqrt(2 / (amplitude @ amplitude))
        return cls(amplitude, 2 * np.pi / rng.uniform(3.0, 8.0, count),
                   rng.uniform(0, 2 * np.pi, count), rng.uniform(0, 2 * np.pi))

    def at(self, t: float, p: np.ndarray, g: float = 9.80665):
        """Velocity and acceleration (3,) of the water at p (3,), and the height [m] of water that
        the wave's pressure amounts to there."""
        along = np.array([np.cos(self.heading), np.sin(self.heading), 0.0])
        k = self.rate ** 2 / g
        a = self.amplitude * np.exp(-k * max(p[2], 0.0))
        angle = self.rate * t - k * (along @ p) + self.phase
        c, s = a * np.cos(angle), a * np.sin(angle)
        down = np.array([0.0, 0.0, 1.0])
        return ((self.rate @ c) * along + (self.rate @ s) * down,
                -(self.rate ** 2 @ s) * along + (self.rate ** 2 @ c) * down, float(c.sum()))


@dataclass(frozen=True)
class Hull:
    """Drag of the hull: -(linear v + quadratic |v| v), matrices (6, 6)."""

    linear: np.ndarray
    quadratic: np.ndarray

    def drag(self, relative: np.ndarray) -> np.ndarray:
        return -self.linear @ relative - self.quadratic @ (np.abs(relative) * relative)


class Strips:
    """Cross flow over cylinders: each link from a to b (3,) in its frame, diameter d, divided into
    strips; coefficient of drag across 1.1, along .02 of the wetted surface."""

    ACROSS, ALONG, COUNT = 1.1, 0.02, 4

    def __init__(self, ends: list[tuple[np.ndarray, np.ndarray, float]], rho: float):
        n, part = len(ends), (np.arange(self.COUNT) + 0.5) / self.COUNT
        # velocity of each strip from that of its link
        self.J = np.zeros((n, self.COUNT, 3, 6))
        self.axis, self.across, self.along = np.zeros((n, 1, 3)), np.zeros(n), np.zeros(n)
        for i, (a, b, d) in enumerate(ends):
            length = np.linalg.norm(b - a)
            self.J[i, :, :, :3] = np.eye(3)
            self.J[i, :, :, 3:] = [-skew(a + x * (b - a)) for x in part]
            self.axis[i] = (b - a) / length
            self.across[i] = 0.5 * rho * self.ACROSS * d * length / self.COUNT
            self.along[i] = 0.5 * rho * self.ALONG * np.pi * d * length / self.COUNT
        self.J = self.J.reshape(n, 3 * self.COUNT, 6)

    @staticmethod
    def added(a: np.ndarray, b: np.ndarray, d: float, rho: float) -> np.ndarray:
        """(6, 6) added mass of a cylinder about the origin: rho pi d^2 / 4 per length, across."""
        length = np.linalg.norm(b - a)
        axis, A = (b - a) / length, np.zeros((6, 6))
        weight = rho * np.pi * d ** 2 / 4 * length
        points, weights = np.polynomial.legendre.leggauss(3)
        for x, w in zip(points, weights):
            r = a + (x + 1) / 2 * (b - a)
            N = np.eye(3) - np.outer(axis, axis)
            J = np.hstack([np.eye(3), -skew(r)])
            A += w / 2 * weight * J.T @ N @ J
        return A

    def drag(self, relative: np.ndarray) -> np.ndarray:
        """(n, 6) on the links, which move with `relative` (n, 6) through the water."""
        n = len(relative)
        v = (self.J @ relative[:, :, None]).reshape(n, self.COUNT, 3)
        u = (v * self.axis).sum(2, keepdims=True)
        normal = v - u * self.axis
        speed = np.sqrt((normal * normal).sum(2, keepdims=True))
        f = (-self.across[:, None, None] * speed * normal
             - self.along[:, None, None] * np.abs(u) * u * self.axis)
        return (f.reshape(n, 1, -1) @ self.J)[:, 0]


@dataclass
class Tether:
    """A tether as two springs with a mass between: from the anchor (3,) in the world to `place`
    (3,) on the body; length and drag [kg/m] of the whole, tight beyond its length."""

    anchor: np.ndarray
    place: np.ndarray
    length: float
    stiffness: float
    drag: float
    node: np.ndarray
    speed: np.ndarray
    mass: float = 0.6
    damping: float = 3.0

    def pull(self, a: np.ndarray, va: np.ndarray) -> np.ndarray:
        """(3,) force on the end at a, from the mass between."""
        d = self.node - a
        distance = float(np.sqrt(d @ d)) + 1e-9
        excess = distance - self.length / 2
        if excess <= 0:
            return np.zeros(3)
        e = d / distance
        return e * max(2 * self.stiffness * excess + self.damping * (e @ (self.speed - va)), 0.0)

    def step(self, h: float, end: np.ndarray, end_speed: np.ndarray,
             water: np.ndarray) -> np.ndarray:
        """Move the mass by h [s]; returns the force (3,) on the robot, in the world."""
        force = self.pull(end, end_speed)
        v = self.speed - water
        size = float(np.sqrt(v @ v))
        f = -force - self.pull(self.anchor, np.zeros(3))
        # Drag is implicit, since it is stiff for a light mass.
        self.speed = water + (v + h * f / self.mass) / (1 + h * self.drag * size / self.mass)
        self.node = self.node + h * self.speed
        quarter = end_speed - water
        return force - 0.25 * self.drag * float(np.sqrt(quarter @ quarter)) * quarter


def relative_to(water: np.ndarray, at: Motion) -> np.ndarray:
    """(k, 6) velocities of the bodies through water that moves with `water` (3,) in the world."""
    v = at.v.copy()
    v[:, :3] -= water @ at.R
    return v


def sphere_like(volume: float, size: np.ndarray, rho: float, rng) -> np.ndarray:
    """(6, 6) added mass of a hull of the given size (3,) [m]: of an ellipsoid by its slenderness
    (factors .4 to 1.4), coupled off its diagonal by up to 15 % of the geometric mean."""
    area = np.array([size[1] * size[2], size[0] * size[2], size[0] * size[1]])
    share = area / area.mean() * rng.uniform(0.7, 1.1, 3)
    lever = np.array([size[1] ** 2 + size[2] ** 2, size[0] ** 2 + size[2] ** 2,
                      size[0] ** 2 + size[1] ** 2]) / 20
    root = np.sqrt(np.concatenate([rho * volume * share, rho * volume * share.mean() * lever]))
    C = np.eye(6)
    for i in range(6):
        for j in range(i):
            C[i, j] = C[j, i] = rng.uniform(-0.03, 0.03)
    # surge with pitch and sway with roll, as hulls have them
    C[0, 4] = C[4, 0] = rng.uniform(-0.15, 0.15)
    C[1, 3] = C[3, 1] = rng.uniform(-0.15, 0.15)
    return root[:, None] * C * root[None, :]


def hull_drag(size: np.ndarray, rho: float, rng) -> Hull:
    """Drag of a hull of the given size (3,) [m]: coefficients .6 to 1.2 on its faces, the linear
    part worth .06 to .2 m/s of it, off-diagonal terms up to 10 %."""
    area = np.array([size[1] * size[2], size[0] * size[2], size[0] * size[1]])
    q = 0.5 * rho * area * rng.uniform(0.6, 1.2, 3)
    reach = np.array([max(size[1], size[2]), max(size[0], size[2]), max(size[0], size[1])]) / 2
    q = np.concatenate([q, 0.5 * rho * area.mean() * reach ** 3 * rng.uniform(0.6, 1.2, 3)])
    speed = np.concatenate([rng.uniform(0.06, 0.2, 3), rng.uniform(0.15, 0.4, 3)])
    root = np.sqrt(q)
    C = np.eye(6) + 0.1 * rng.uniform(-1, 1, (6, 6)) * (1 - np.eye(6))
    Q = root[:, None] * C * root[None, :]
    linear = np.sqrt(q * speed)
    L = linear[:, None] * (np.eye(6) + 0.05 * rng.uniform(-1, 1, (6, 6)) * (1 - np.eye(6)))
    return Hull(L * linear[None, :], Q)
