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

"""Motion of a floating body with a chain of links in ideal fluid: Newton-Euler and Kirchhoff.

Shares no code with the package. Every body has a rigid 6 x 6 inertia and a full added one, both at
the origin of its own frame; forces on a body follow from Kirchhoff's equations,
F = I v' + v x* (I v) (Fossen 2011, ch. 6), and pass through the joints as in Featherstone (2008),
ch. 5 and 6. Vectors of six are [linear, angular] in the body's own axes; the first body is the
vehicle (FRD), the world is NED. SI units and radians.
"""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


def skew(a: np.ndarray) -> np.ndarray:
    """(3, 3) matrix of the cross product with a."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross product along the last axis; np.cross takes several times as long."""
    a, b = a.T, b.T
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                     a[0] * b[1] - a[1] * b[0]]).T


def turn(w: np.ndarray) -> np.ndarray:
    """Rotation matrix of the rotation vector w [rad] (Rodrigues)."""
    angle = float(np.sqrt(w @ w))
    if angle < 1e-12:
        return np.eye(3) + skew(w)
    K = skew(w / angle)
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll), as in URDF."""
    return (turn(np.array([0.0, 0.0, yaw])) @ turn(np.array([0.0, pitch, 0.0]))
            @ turn(np.array([roll, 0.0, 0.0])))


def rigid_inertia(m: float, com: np.ndarray, I: np.ndarray) -> np.ndarray:
    """(6, 6) inertia about the origin of a body with mass m, centre `com`, and I about the
    centre (Fossen 2011, eq. 3.44)."""
    S = skew(com)
    return np.block([[m * np.eye(3), -m * S], [m * S, I - m * S @ S]])


def moved(A: np.ndarray, r: np.ndarray) -> np.ndarray:
    """(6, 6) inertia A given about the point r, about the origin."""
    H = np.block([[np.eye(3), -skew(r)], [np.zeros((3, 3)), np.eye(3)]])
    return H.T @ A @ H


def cross_motion(v: np.ndarray, m: np.ndarray) -> np.ndarray:
    return np.concatenate([cross(v[3:], m[:3]) + cross(v[:3], m[3:]), cross(v[3:], m[3:])])


def cross_force(v: np.ndarray, f: np.ndarray) -> np.ndarray:
    """v x* f for each of k bodies, both (k, 6)."""
    w = v[:, 3:]
    return np.hstack([cross(w, f[:, :3]), cross(w, f[:, 3:]) + cross(v[:, :3], f[:, :3])])


@dataclass
class Body:
    """A body; of the vehicle, `place`, `rest` and `axis` are not used.

    place, rest     origin (3,) [m] and axes (3, 3) in the frame before it, at joint position 0
    axis            (3,) of the joint, in the body's own frame
    """

    mass: float
    com: np.ndarray
    inertia: np.ndarray                 # (3, 3) about com
    volume: float
    buoyancy_centre: np.ndarray
    added: np.ndarray                   # (6, 6) about the origin
    place: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rest: np.ndarray = field(default_factory=lambda: np.eye(3))
    axis: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    rotor: float = 0.0                  # [kg m^2] reflected inertia of the joint's motor

    def rigid(self) -> np.ndarray:
        return rigid_inertia(self.mass, self.com, self.inertia)


class Motion:
    """Positions and velocities of all k bodies at an instant.

    R (k, 3, 3)     axes in the world
    X (k, 6, 6)     velocity of a body from that of the body before it
    v (k, 6)        velocities
    c (k, 6)        accelerations when v' of the vehicle and q'' are zero
    """

    def __init__(self, tree: Tree, R: np.ndarray, q: np.ndarray, velocity: np.ndarray):
        k = len(tree.bodies)
        self.R, self.X = np.empty((k, 3, 3)), np.zeros((k, 6, 6))
        self.v, self.c = np.empty((k, 6)), np.zeros((k, 6))
        self.R[0], self.v[0] = R, velocity[:6]
        for i, (body, S) in enumerate(zip(tree.bodies[1:], tree.S), start=1):
            own = body.rest @ turn(body.axis * q[i - 1])
            X = self.X[i]
            X[:3, :3] = X[3:, 3:] = own.T
            X[:3, 3:] = -own.T @ tree.lever[i - 1]
            spin = S * velocity[5 + i]
            self.R[i] = self.R[i - 1] @ own
            self.v[i] = X @ self.v[i - 1] + spin
            self.c[i] = X @ self.c[i - 1] + cross_motion(self.v[i], spin)


class Tree:
    """The vehicle, bodies[0], and its links from base to tip."""

    def __init__(self, bodies: list[Body], water_density: float = 1000.0, gravity: float = 9.80665):
        self.bodies, self.rho, self.g = bodies, water_density, gravity
        self.S = [np.concatenate([np.zeros(3), body.axis]) for body in bodies[1:]]
        self.lever = [skew(body.place) for body in bodies[1:]]
        self.renew()

    def renew(self) -> None:
        """Read the bodies again, after one of them has changed."""
        self.rigid = np.array([body.rigid() for body in self.bodies])
        self.added = np.array([body.added for body in self.bodies])
        self.total = self.rigid + self.added
        self.mass = np.array([body.mass for body in self.bodies])
        self.displaced = self.rho * np.array([body.volume for body in self.bodies])
        self.com = np.array([body.com for body in self.bodies])
        self.cob = np.array([body.buoyancy_centre for body in self.bodies])
        self.rotors = np.array([body.rotor for body in self.bodies[1:]])

    def mass_matrix(self, at: Motion) -> np.ndarray:
        """(6+n, 6+n), by composite bodies (Featherstone 2008, sec. 6.2)."""
        n = len(self.S)
        H = np.zeros((6 + n, 6 + n))
        I = list(self.total)
        for k in range(n, 0, -1):
            I[k - 1] = I[k - 1] + at.X[k].T @ I[k] @ at.X[k]
            F = I[k] @ self.S[k - 1]
            H[5 + k, 5 + k] = self.S[k - 1] @ F + self.rotors[k - 1]
            for j in range(k, 0, -1):
                F = at.X[j].T @ F
                if j > 1:
                    H[5 + k, 4 + j] = H[4 + j, 5 + k] = self.S[j - 2] @ F
            H[:6, 5 + k] = H[5 + k, :6] = F
        H[:6, :6] = I[0]
        return H

    def bias(self, at: Motion, water: np.ndarray, water_dot: np.ndarray,
             outside: np.ndarray) -> np.ndarray:
        """(6+n,) efforts that keep v' and q'' at zero.

        water, water_dot    (3,) velocity and acceleration of the water in the world [m/s, m/s^2]
        outside             (1+n, 6) other force on each body
        """
        down = np.array([0.0, 0.0, self.g])
        apply = lambda I, x: (I @ x[:, :, None])[:, :, 0]
        flow = water @ at.R             # (k, 3), in each body's axes
        relative, accelerated = at.v.copy(), at.c.copy()
        relative[:, :3] -= flow
        accelerated[:, :3] -= water_dot @ at.R - cross(at.v[:, 3:], flow)
        weight = self.mass[:, None] * (down @ at.R)
        # buoyancy, and the pressure gradient of accelerated water (Froude-Krylov)
        lift = self.displaced[:, None] * ((water_dot - down) @ at.R)
        forces = (apply(self.rigid, at.c) + cross_force(at.v, apply(self.rigid, at.v))
                  + apply(self.added, accelerated)
                  + cross_force(relative, apply(self.added, relative)) - outside)
        forces[:, :3] -= weight + lift
        forces[:, 3:] -= cross(self.com, weight) + cross(self.cob, lift)
        h = np.zeros(6 + len(self.S))
        for k in range(len(self.S), 0, -1):
            h[5 + k] = self.S[k - 1] @ forces[k]
            forces[k - 1] += at.X[k].T @ forces[k]
        h[:6] = forces[0]
        return h

    def energy(self, at: Motion, position: np.ndarray, velocity: np.ndarray) -> float:
        """[J] kinetic, with the energy of the fluid, and potential of weight and buoyancy; the
        body origin is at `position` (3,) NED."""
        potential, origin = 0.0, position
        for k, body in enumerate(self.bodies):
            if k:
                origin = origin + at.R[k - 1] @ body.place
            height_m = -(origin + at.R[k] @ body.com)[2]
            height_b = -(origin + at.R[k] @ body.buoyancy_centre)[2]
            potential += self.g * (body.mass * height_m - self.rho * body.volume * height_b)
        return 0.5 * velocity @ self.mass_matrix(at) @ velocity + potential

    def momentum(self, at: Motion, position: np.ndarray) -> np.ndarray:
        """(6,) linear and angular momentum of bodies and fluid in the world, about its origin."""
        found, origin = np.zeros(6), position
        for k, body in enumerate(self.bodies):
            if k:
                origin = origin + at.R[k - 1] @ body.place
            P = self.total[k] @ at.v[k]
            p = at.R[k] @ P[:3]
            found += np.concatenate([p, at.R[k] @ P[3:] + cross(origin, p)])
        return found
