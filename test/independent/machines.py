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

"""What moves the robot: thrusters, their battery, and the drives of the joints.

A thruster is a rotor of second order with dead time behind its ESC; its thrust is quadratic in the
speed and falls with the speed of advance (Fossen 2011, sec. 9.1, bilinear model); neighbours
disturb each other. The battery sags with charge and current. A joint has a reflected rotor,
friction of the Stribeck kind (Armstrong-Helouvry 1994) and backlash. SI, body FRD.
"""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

NEUTRAL, FULL = 1500.0, 400.0       # [us]
NOMINAL_VOLTAGE = 16.0              # [V]
ASTERN = 0.78                       # thrust astern, share of that ahead


def curve(pwm: np.ndarray, voltage: float, dead: float = 32.0, power: float = 1.35) -> np.ndarray:
    """Speed of the rotor as a share of the full one at 16 V. With a largest thrust of 51.4 N this
    is within 1 N of the published bollard test of a T200."""
    u = np.asarray(pwm) - NEUTRAL
    share = np.clip((np.abs(u) - dead) / (FULL - dead), 0.0, 1.0)
    return np.sign(u) * np.sqrt(share ** power * (voltage / NOMINAL_VOLTAGE) ** 1.2)


def thrust_of(speed: np.ndarray) -> np.ndarray:
    """Share of the largest thrust, of a rotor that turns at a share of the full speed, at rest."""
    return np.where(speed < 0, ASTERN, 1.0) * speed * np.abs(speed)


def pwm_for(share: np.ndarray, dead: float = 32.0, power: float = 1.35) -> np.ndarray:
    """PWM [us] for a share of the largest thrust, at 16 V: what a mixer's table holds."""
    share = np.asarray(share, float)
    size = np.clip(np.where(share < 0, -share / ASTERN, share), 0.0, 1.0) ** (1 / power)
    return np.where(np.abs(share) < 1e-3, NEUTRAL,
                    NEUTRAL + np.sign(share) * (dead + (FULL - dead) * size))


def allocation(place: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """(6, N) wrench per newton of thrusters at places (N, 3) in directions (N, 3)."""
    return np.vstack([direction.T, np.cross(place, direction).T])


@dataclass
class Thrusters:
    """N thrusters: places and directions (N, 3) in the body, largest thrust (N,) [N]."""

    place: np.ndarray
    direction: np.ndarray
    largest: np.ndarray
    power: float = 1.35
    rate: float = 22.0          # [rad/s] of the rotor with its ESC
    damping: float = 0.9
    dead_time: float = 0.02     # [s]
    advance: float = 0.12       # thrust lost per m/s of advance at full speed, share
    influence: np.ndarray | float = 0.0     # (N, N) share of thrust lost to a neighbour's jet
    health: np.ndarray | float = 1.0        # (N,) share of thrust, for events
    speed: np.ndarray = field(init=False)
    speed_dot: np.ndarray = field(init=False)

    def __post_init__(self):
        self.allocation = allocation(self.place, self.direction)
        self.speed = np.zeros(len(self.place))
        self.speed_dot = np.zeros(len(self.place))
        self._waiting: deque = deque()
        self._pwm = np.full(len(self.place), NEUTRAL)

    def command(self, t: float, pwm: np.ndarray) -> None:
        self._waiting.append((t + self.dead_time, pwm))

    def step(self, t: float, h: float, voltage: float, relative: np.ndarray):
        """(6,) on the body which moves with `relative` (6,) through the water, and the current
        [A] that it takes."""
        while self._waiting and self._waiting[0][0] <= t:
            self._pwm = self._waiting.popleft()[1]
        wanted = curve(self._pwm, voltage, power=self.power)
        # Backward Euler, which is stable for any step.
        k, c = self.rate ** 2, 2 * self.damping * self.rate
        self.speed_dot = ((self.speed_dot + h * k * (wanted - self.speed))
                          / (1 + h * c + h * h * k))
        self.speed = self.speed + h * self.speed_dot
        n = self.speed
        advance = relative @ self.allocation
        share = thrust_of(n) - self.advance * np.abs(n) * advance
        share = share * (1 - np.asarray(self.influence) @ n ** 2
                         if np.ndim(self.influence) else 1.0) * self.health
        amperes = float((np.abs(n) ** 3 * self.largest).sum()) * 0.45
        return self.allocation @ (self.largest * share), amperes


@dataclass
class Battery:
    """A lithium battery: charge [As], voltage at rest linear in the charge, resistance [ohm]."""

    charge: float = 18 * 3600.0
    full: float = 16.6
    fall: float = 2.4           # [V] from full to empty
    resistance: float = 0.025
    used: float = 0.0

    def step(self, h: float, amperes: float) -> float:
        self.used += h * (amperes + 1.5)
        return self.full - self.fall * min(self.used / self.charge, 1.0) - self.resistance * amperes


@dataclass
class Drives:
    """Drives of n joints, (n,) each: PD with integral on a wanted position, within a torque.

    Friction: viscous [N m s/rad], Coulomb and static [N m], `stribeck` [rad/s], and a share of the
    load. Backlash `gap` [rad]: the encoder, on the motor's side, leads the link by up to gap / 2
    towards the effort.
    """

    viscous: np.ndarray
    coulomb: np.ndarray
    static: np.ndarray
    stribeck: np.ndarray
    load: np.ndarray
    gap: np.ndarray
    torque: np.ndarray
    stiffness: np.ndarray
    EDGE = 0.004        # [rad/s] over which Coulomb friction sets in

    def __post_init__(self):
        n = len(self.viscous)
        self.sum, self.lead, self.effort = np.zeros(n), np.zeros(n), np.zeros(n)

    def control(self, h: float, q: np.ndarray, rate: np.ndarray, wanted: np.ndarray,
                wanted_rate: np.ndarray) -> None:
        """New efforts [N m] from encoder position and rate, held until the next call."""
        error = wanted - q
        raw = (self.stiffness * (error + self.sum) + 0.15 * self.stiffness * (wanted_rate - rate)
               + self.viscous * wanted_rate)
        self.effort = np.clip(raw, -self.torque, self.torque)
        self.sum = np.where(raw == self.effort, self.sum + h * 1.5 * error, self.sum)

    def friction(self, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Friction (n,) [N m] at `rate`, and its slope (n,) [N m s/rad]."""
        size = (self.coulomb + (self.static - self.coulomb) * np.exp(-(rate / self.stribeck) ** 2)
                + self.load * np.abs(self.effort))
        edge = np.tanh(rate / self.EDGE)
        return size * edge + self.viscous * rate, size * (1 - edge ** 2) / self.EDGE + self.viscous

    def backlash(self, h: float) -> None:
        side = np.tanh(self.effort / (0.1 * self.torque))
        self.lead = self.lead + (1 - np.exp(-h / 0.04)) * (side * self.gap / 2 - self.lead)
