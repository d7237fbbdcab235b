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

"""What instruments measure and drivers publish.

IMU: mean rate and specific force between two readings at its own place (Titterton & Weston 2004,
ch. 4), with bias that walks, noise that is white and noise that rises with the thrust; attitude by
a complementary filter (Mahony et al. 2008) that accelerations and a magnetometer beside thrusters
mislead. DVL: four beams at 30 degrees with noise, losses and latency. Depth: pressure at its place,
waves included. Joints: encoder steps, a velocity that the driver differentiates and filters,
efforts from a quantized motor current. Drivers: jitter, latency, batches, losses, stamps of the
measurement or of the arrival. SI; vectors FRD and NED here, message axes are made by `make_bag`.
"""
from __future__ import annotations

import numpy as np
from fleet import Individual
from rigid_tree import cross, turn

BEAMS = np.array([[np.sin(np.pi / 6) * c, np.sin(np.pi / 6) * s, np.cos(np.pi / 6)]
                  for c, s in ((.7071, .7071), (.7071, -.7071), (-.7071, .7071), (-.7071, -.7071))])
GAUSS = np.array([0.6, 0.1, 0.8])       # magnetic field, NED


class Driver:
    """Times of one sensor: `due` says whether it samples now; `times` gives stamp and reception."""

    def __init__(self, rng, period, latency, jitter, at_arrival=False, batch=1, loss=0.0):
        self.rng, self.period, self.next = rng, period, rng.uniform(0, period)
        self.latency, self.jitter, self.at_arrival = latency, jitter, at_arrival
        self.batch, self.loss, self.last, self.silent = batch, loss, 0.0, []
        self._held = []

    def due(self, t: float) -> bool:
        if t < self.next - 1e-9:
            return False
        self.next += self.period * (1 + 0.002 * self.rng.normal())
        return True

    def messages(self, t: float, content) -> list[tuple[float, float, object]]:
        """(stamp, reception, content) of those that leave now."""
        if any(a <= t < b for a, b in self.silent) or self.rng.random() < self.loss:
            return []
        self._held.append((t, content))
        if len(self._held) < self.batch:
            return []
        received = max(self.last + 1e-5, t + self.latency + self.jitter * self.rng.exponential())
        found = []
        for k, (measured, what) in enumerate(self._held):
            at = received + 2e-4 * k
            found.append((at if self.at_arrival else measured, at, what))
        self._held, self.last = [], found[-1][1]
        return found


class Imu:
    def __init__(self, robot: Individual, rng):
        self.of, self.rng = robot.sensing, rng
        self.gyro_bias, self.acc_bias = 0.001 * rng.normal(size=3), 0.02 * rng.normal(size=3)
        self.R_hat = np.eye(3)
        self.integral = np.zeros(3)
        self.rate_sum, self.force_sum, self.count = np.zeros(3), np.zeros(3), 0
        self.shake, self.iron = np.zeros(3), 0.03 * rng.normal(size=3)
        self.iron_current = 0.0004 * rng.normal(size=3)

    def gather(self, R, v, v_dot, g):
        """One step of motion: (6,) velocity and its derivative."""
        w, w_dot, r = v[3:], v_dot[3:], self.of.imu_place
        a = v_dot[:3] + cross(w, v[:3]) + cross(w_dot, r) + cross(w, cross(w, r))
        self.rate_sum += w
        self.force_sum += a - R.T @ np.array([0, 0, g])
        self.count += 1

    def read(self, R, h, amperes):
        """(attitude (3, 3), rate, specific force) over the time h since the last reading."""
        n, rng = max(self.count, 1), self.rng
        rate, force = self.rate_sum / n, self.force_sum / n
        self.rate_sum, self.force_sum, self.count = np.zeros(3), np.zeros(3), 0
        self.gyro_bias += 2e-5 * np.sqrt(h) * rng.normal(size=3)
        self.acc_bias += 5e-4 * np.sqrt(h) * rng.normal(size=3)
        keep = np.exp(-h / 0.05)
        size = 0.02 + 0.1 * min(amperes / 60.0, 1.0)
        self.shake = keep * self.shake + size * np.sqrt(1 - keep ** 2) * rng.normal(size=3)
        M = self.of.imu_axes.T
        rate = M @ rate + self.gyro_bias + 0.0015 * np.sqrt(0.01 / h) * rng.normal(size=3)
        force = M @ force + self.acc_bias + self.shake + 0.02 * rng.normal(size=3)
        # complementary filter
        up, down = force / np.linalg.norm(force), self.R_hat.T @ np.array([0, 0, -1.0])
        error = cross(up, down)
        field = M @ R.T @ GAUSS + self.iron + self.iron_current * amperes
        level = self.R_hat @ field
        yaw = np.arctan2(level[1], level[0]) - np.arctan2(GAUSS[1], GAUSS[0])
        error = 0.15 * error + 0.1 * np.arctan2(np.sin(-yaw), np.cos(yaw)) * self.R_hat[2]
        self.integral += 0.01 * h * error
        self.R_hat = self.R_hat @ turn(h * (rate + error + self.integral))
        return self.R_hat @ turn(4e-4 * rng.normal(size=3)), rate, force


def start_attitude(imu: Imu, R) -> None:
    imu.R_hat = R @ turn(0.004 * imu.rng.normal(size=3))


class Dvl:
    def __init__(self, robot: Individual, rng):
        self.of, self.rng = robot.sensing, rng
        self.scale, self.unlocked = 1 + 0.003 * rng.normal(), 0.0
        self.lose_lock: list[tuple[float, float]] = []

    def read(self, t, R, v):
        """Velocity (3,) FRD and its standard deviation, or None without bottom lock."""
        if any(a <= t < b for a, b in self.lose_lock) or R[2, 2] < np.cos(0.45):
            return None
        if self.rng.random() < self.of.dvl_loss:
            return None
        u = self.scale * self.of.dvl_axes.T @ (v[:3] + cross(v[3:], self.of.dvl_place))
        noise = self.of.dvl_noise * np.sin(np.pi / 6) * 2
        beams = BEAMS @ u + noise * self.rng.normal(size=4) * (1 + 1.5 * abs(u[0]))
        good = np.ones(4, bool)
        if self.rng.random() < 0.08:        # one beam lost, three suffice
            good[self.rng.integers(4)] = False
        found = np.linalg.lstsq(BEAMS[good], beams[good], rcond=None)[0]
        return found, noise


class Joints:
    def __init__(self, robot: Individual, rng):
        self.of, self.rng, self.robot = robot.sensing, rng, robot
        n = len(robot.limits)
        self.last, self.velocity = None, np.zeros(n)
        self.zero = 0.003 * rng.normal(size=n)
        self.offset = 0.004 * robot.drives.torque * rng.normal(size=n)

    def read(self, q, h):
        drives = self.robot.drives
        position = q + drives.lead + self.zero
        position = np.round(position / 5e-4) * 5e-4 + 1e-4 * self.rng.normal(size=len(q))
        if self.last is not None:
            raw = (position - self.last) / h
            self.velocity += (1 - np.exp(-h / 0.03)) * (raw - self.velocity)
        self.last = position
        step = self.of.effort_step * drives.torque
        noisy = (drives.effort / self.of.effort_error + self.offset
                 + 0.4 * step * self.rng.normal(size=len(q)))
        return position, self.velocity.copy(), np.round(noisy / step) * step / self.of.effort_scale


def pressure(robot: Individual, rng, R, p, t) -> float:
    """[Pa] absolute at the sensor's place."""
    place = p + R @ robot.sensing.depth_place
    wave = robot.waves.at(t, place)[2]
    return float(101325.0 + robot.tree.rho * robot.tree.g * (place[2] + wave) + 25 * rng.normal())
