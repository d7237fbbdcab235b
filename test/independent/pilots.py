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

"""What is flown: wanted wrenches and joint motions of a joystick, controllers, and excitation.

Kinds:
    excite      tones on all axes that the thrusters reach, and on all joints, about a place
    joystick    steps of a human hand in surge, sway, heave, yaw; one joint at a time
    station     position and heading held, while the arm works
    transect    straight legs at constant speed and depth, arm folded
    survey      lawn mower with changes of depth, arm moved on each leg
SI, body FRD, world NED.
"""
from __future__ import annotations

import numpy as np
from fleet import Individual, largest_wrench, robot_mass

KINDS = ("excite", "joystick", "station", "transect", "survey")
DEPTH = 6.0


class Pilot:
    """A kind's commands: `wrench(t, p, R, v)` (6,) [N, N m], and `arm(t)`, positions and rates."""

    def __init__(self, kind: str, robot: Individual, rng, duration: float):
        self.kind, self.robot, self.rng = kind, robot, rng
        self.limit = largest_wrench(robot)
        m, size = robot_mass(robot), robot.size
        added = np.diag(robot.tree.added[0])
        self.M = np.r_[[m] * 3, m / 12 * np.array([size[1] ** 2 + size[2] ** 2,
                                                   size[0] ** 2 + size[2] ** 2,
                                                   size[0] ** 2 + size[1] ** 2])] + added
        self.sum, self.last, self.hand = np.zeros(6), 0.0, np.zeros(6)
        self.stick, self.until = np.zeros(6), 0.0
        self.rates = 2 * np.pi * np.exp(rng.uniform(np.log(0.04), np.log(0.5), (6, 6)))
        self.phases = rng.uniform(0, 2 * np.pi, (6, 6))
        self.noise = 0.002
        self.plan = _arm_plan(kind, robot, rng, duration)

    def wrench(self, t: float, p: np.ndarray, R: np.ndarray, v: np.ndarray) -> np.ndarray:
        h, self.last = t - self.last, t
        v = v + self.noise * self.rng.normal(size=6)
        place, heading, speed = self._wanted(t)
        error = np.zeros(6)
        error[:3] = R.T @ (place - p)
        error[3] = -np.arctan2(R[2, 1], R[2, 2])
        error[4] = np.arcsin(np.clip(R[2, 0], -1, 1))
        yaw = np.arctan2(R[1, 0], R[0, 0])
        error[5] = np.arctan2(np.sin(heading - yaw), np.cos(heading - yaw))
        wanted = np.r_[R.T @ speed, 0.0, 0.0, 0.0]
        rate = np.r_[0.7, 0.7, 0.7, 1.8, 1.8, 1.2]
        if self.kind == "excite":
            tones = np.sin(self.rates * t + self.phases).sum(1) / 2
            rate = rate * np.r_[0.35, 0.35, 0.35, 0.8, 0.8, 0.35]
            forward = np.r_[[0.28] * 3, 0.1, 0.1, 0.28] * self.limit * tones * min(t / 5, 1)
        elif self.kind == "joystick":
            forward = self._joystick(t, h)
            error[[0, 1, 5]] = 0.0
            error[2] *= 0.5 * (abs(self.stick[2]) < 0.05)
            wanted[:] = 0.0
            rate = np.r_[0, 0, 0.5, 1.2, 1.2, 0]
        else:
            forward = np.zeros(6)
            error[:3] *= min(1.0, 1.5 / (np.linalg.norm(error[:3]) + 1e-9))
            self.sum = np.clip(self.sum + h * 0.15 * error, -0.5, 0.5)
        raw = forward + self.M * (rate ** 2 * (error + self.sum) + 1.6 * rate * (wanted - v))
        return np.clip(raw, -self.limit, self.limit)

    def _joystick(self, t: float, h: float) -> np.ndarray:
        if t >= self.until:
            self.until = t + self.rng.exponential(2.5) + 0.4
            self.stick = np.zeros(6)
            chosen = self.rng.random(4) < (0.45, 0.3, 0.25, 0.4)
            self.stick[[0, 1, 2, 5]] = chosen * self.rng.uniform(-0.7, 0.7, 4)
        self.hand += (1 - np.exp(-h / 0.15)) * (self.stick - self.hand)
        return self.hand * self.limit * np.r_[0.7, 0.7, 0.5, 0, 0, 0.4]

    def _wanted(self, t: float):
        place, speed, heading = np.array([0.0, 0.0, DEPTH]), np.zeros(3), 0.3
        if self.kind == "transect":
            leg, part = divmod(t, 60.0)
            run = 0.35 * min(part, 50.0)
            back = leg % 2
            place[0] = run if not back else 17.5 - run
            speed[0] = 0.0 if part > 50 else 0.35 * (1 - 2 * back)
            heading = 0.0 if not back else np.pi
            if part > 52 and leg % 2 == 0:
                heading = np.pi
            elif part > 52:
                heading = 0.0
        elif self.kind == "survey":
            leg, part = divmod(t, 24.0)
            along = np.clip(part / 16.0, 0, 1)
            back = leg % 2
            place[0] = 5.6 * (along if not back else 1 - along)
            place[1] = 0.9 * (leg + np.clip((part - 17) / 6, 0, 1)) - 2
            place[2] = DEPTH + 0.5 * np.sin(0.11 * t)
            speed[0] = (5.6 / 16 if part < 16 else 0.0) * (1 - 2 * back)
            speed[1] = 0.15 if 17 < part < 23 else 0.0
            heading = 0.6 * np.sin(0.25 * t) + (0.0 if not back else 0.5)
        return place, heading, speed

    def arm(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        times, places = self.plan
        k = min(int(np.searchsorted(times, t, side="right")), len(times) - 1)
        a, b, span = places[k - 1], places[k], times[k] - times[k - 1]
        x = np.clip((t - times[k - 1]) / span, 0.0, 1.0)
        return (a + (b - a) * (x * x * (3 - 2 * x)),
                (b - a) * 6 * x * (1 - x) / span * (x < 1.0))


def _arm_plan(kind: str, robot: Individual, rng, duration: float):
    """Times (k,) and joint positions (k, n), joined by smooth steps."""
    n, q = len(robot.limits), robot.home.copy()
    times, places = [0.0], [q.copy()]
    while times[-1] < duration + 20:
        new = q.copy()
        if kind == "transect":
            pause, which = 0.0, []
            new = q
            span = duration + 30
        else:
            which = range(n) if kind in ("excite", "survey") else [rng.integers(n)]
            pause = 0.0 if kind == "excite" else rng.exponential(2.0 if kind == "station" else 5.0)
            for j in which:
                low, high = robot.limits[j]
                new[j] = rng.uniform(low + 0.15, high - 0.15)
            span = max(1.0, float(np.max(1.5 * np.abs(new - q) / (0.8 * robot.speed))))
        if pause > 0.05:
            times.append(times[-1] + pause)
            places.append(q.copy())
        times.append(times[-1] + span)
        places.append(new.copy())
        q = new
    return np.array(times), np.array(places)
