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

"""Persistently exciting motion of vehicle and arm, and the controllers that follow it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pinocchio as pin

from ..model.thrust_curve import ThrustCurve
from .physics import Physics
from .true_robot import MEAN_DEPTH

LOWEST_HZ, HIGHEST_HZ = 0.05, 0.7
TONES_PER_AXIS = 6
NORMALIZED_OVER = 180.0  # [s] over which the peaks below are normalized
TOP_SPEED = 0.55  # [m/s] of the reference; the vehicle does not quite reach it
TOP_TILT = np.radians(18.0)  # combined roll and pitch, 20 deg with tracking errors
TOP_YAW_RATE = 0.7  # [rad/s]
JOINT_MARGIN = 0.25  # [rad or m] to the position limits, if the joint has the room for it
MARGIN_SHARE = 0.25  # largest share of the way to a position limit that is left as a margin


class Reference(NamedTuple):
    """Wanted pose (6 + n,), its rate and acceleration: NED [m], roll-pitch-yaw, joints [rad]."""

    value: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray


class Motion(Protocol):
    """A reference motion about `centre` (6 + n,), its resting pose."""

    centre: np.ndarray

    def at(self, t: float) -> Reference:
        """The reference at t [s] from the start."""


class ExcitingMotion:
    """Sum of tones between 0.05 and 0.7 Hz on every axis, of similar rate; phases by seed.

    No two axes share a tone. `lower`, `upper` (n,) [rad or m] are the joint limits, `top_speed`
    (n,) [per s] the joints' largest speeds, `posture` (n,) their mean positions, the middle of the
    limits if empty, `depth` [m] the vehicle's mean one. Peaks are normalized over the first three
    minutes; a longer run may exceed them.
    """

    def __init__(self, rng: np.random.Generator, lower: np.ndarray, upper: np.ndarray,
                 top_speed: Sequence[float] | np.ndarray, posture: Sequence[float] = (),
                 depth: float = MEAN_DEPTH):
        n = lower.size
        axes = 6 + n
        centre = np.array(posture) if len(posture) else (lower + upper) / 2
        tones = TONES_PER_AXIS
        slots = np.tile((np.arange(axes) + 0.5) / axes, (tones, 1))
        place = (np.arange(tones) + rng.permuted(slots, axis=1).T) / tones
        self._omega = 2 * np.pi * LOWEST_HZ * (HIGHEST_HZ / LOWEST_HZ) ** place
        self._phase = rng.uniform(0, 2 * np.pi, (axes, tones))
        self._rate = rng.uniform(0.7, 1.3, (axes, tones))
        heading = rng.uniform(-np.pi, np.pi)
        self.centre = np.concatenate([[0.0, 0.0, depth, 0.0, 0.0, heading], centre])
        value, rate = self._history(np.arange(0.0, NORMALIZED_OVER, 0.05))
        swing = np.abs(value)
        tilt = np.hypot(value[3], value[4]).max()
        room = np.minimum(centre - lower, upper - centre)
        room -= np.minimum(JOINT_MARGIN, MARGIN_SHARE * room)
        scale = np.empty(axes)
        scale[:3] = TOP_SPEED / np.linalg.norm(rate[:3], axis=0).max()
        scale[3:5] = TOP_TILT / tilt
        scale[5] = TOP_YAW_RATE / np.abs(rate[5]).max()
        scale[6:] = np.minimum(np.array(top_speed) / np.abs(rate[6:]).max(axis=1),
                               room / swing[6:].max(axis=1))
        self._rate *= scale[:, None]
        self._amplitude, self._bend = self._rate / self._omega, self._rate * self._omega

    def _history(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(values, rates) (axes, k) at times t (k,) without the offset."""
        value, rate = np.zeros((2, self._omega.shape[0], t.size))
        for omega, phase, amplitude in zip(self._omega.T, self._phase.T, self._rate.T):
            angle = omega[:, None] * t + phase[:, None]
            value += (amplitude / omega)[:, None] * np.sin(angle)
            rate += amplitude[:, None] * np.cos(angle)
        return value, rate

    def at(self, t: float) -> Reference:
        """Reference at time t [s] from the start."""
        angle = self._omega * t + self._phase
        sine, cosine = np.sin(angle), np.cos(angle)
        return Reference(self.centre + np.add.reduce(self._amplitude * sine, axis=1),
                         np.add.reduce(self._rate * cosine, axis=1),
                         -np.add.reduce(self._bend * sine, axis=1))


class ScaledMotion:
    """A motion with each axis and joint scaled by a share (6 + n,) of its excursion; an axis with
    zero stays at its centre."""

    def __init__(self, motion: Motion, share: Sequence[float] | np.ndarray):
        self._motion, self._share, self.centre = motion, np.array(share, float), motion.centre

    def at(self, t: float) -> Reference:
        """The reference at t [s] from the start."""
        whole, share = self._motion.at(t), self._share
        return Reference(self.centre + share * (whole.value - self.centre), share * whole.rate,
                         share * whole.acceleration)


def body_rate(rpy: np.ndarray, rpy_rate: np.ndarray) -> np.ndarray:
    """(3,) body rates [rad/s] from roll-pitch-yaw (3,) [rad] and its rates (Fossen's T^-1)."""
    (sr, sp), (cr, cp) = np.sin(rpy[:2]), np.cos(rpy[:2])
    return np.array([rpy_rate[0] - sp * rpy_rate[2],
                     cr * rpy_rate[1] + cp * sr * rpy_rate[2],
                     -sr * rpy_rate[1] + cp * cr * rpy_rate[2]])


def body_velocity(reference: Reference, R_nb: np.ndarray) -> np.ndarray:
    """(6,) reference velocity [m/s, rad/s] in the axes of a body at `R_nb` (3, 3)."""
    rates = body_rate(reference.value[3:6], reference.rate[3:6])
    return np.concatenate([R_nb.T @ reference.rate[:3], rates])


class VehicleController:
    """Follows the reference pose with the thrusters; outputs PWM in whole microseconds.

    Its model is as rough as an autopilot's: round numbers, a constant 16 V. It knows the true
    state, since navigation is not simulated.
    """

    MASS = np.array([19.0, 23.0, 29.0, 0.40, 0.47, 0.47])
    DAMPING = np.array([14.0, 20.0, 30.0, 0.5, 0.6, 0.5])
    TILT_STIFFNESS = 4.0  # [N m/rad]
    KV, KP, KI = 3.0, 2.5, 0.6  # [1/s], [1/s^2], [1/s^3]
    ASSUMED_VOLTAGE = 16.0

    def __init__(self, motion: Motion, curve: ThrustCurve, allocation: np.ndarray,
                 period: float, lead: float):
        self._motion, self._curve, self._period, self._lead = motion, curve, period, lead
        self._share = np.linalg.pinv(allocation)
        self._integral = np.zeros(6)

    def command(self, t: float, position: np.ndarray, R_nb: np.ndarray,
                nu: np.ndarray) -> np.ndarray:
        """(8,) PWM [us] at t [s] for a vehicle at `position` (3,) NED, R_nb (3, 3), nu (6,)."""
        now, ahead = self._motion.at(t), self._motion.at(t + self._lead)
        error = np.concatenate([R_nb.T @ (now.value[:3] - position),
                                pin.log3(R_nb.T @ pin.rpy.rpyToMatrix(*now.value[3:6]))])
        self._integral = np.clip(self._integral + self._period * error, -1.0, 1.0)
        feedback = (self.KV * (body_velocity(now, R_nb) - nu) + self.KP * error
                    + self.KI * self._integral)
        # Rotors lag their command, so the feedforward is commanded early.
        turning = body_rate(ahead.value[3:6], ahead.acceleration[3:6])
        early = np.concatenate([R_nb.T @ ahead.acceleration[:3], turning])
        wrench = self.MASS * (early + feedback) + self.DAMPING * body_velocity(ahead, R_nb)
        wrench[3:5] += self.TILT_STIFFNESS * ahead.value[3:5]
        return self.pwm(wrench)

    def pwm(self, wrench: np.ndarray) -> np.ndarray:
        """(8,) PWM [us] for a wrench (6,), as an autopilot's mixer computes it."""
        return np.round(self._curve.command(self._share @ wrench, self.ASSUMED_VOLTAGE))


class JointServo:
    """Position servo of the joints with friction feedforward and the motors' torque limits."""

    def __init__(self, physics: Physics):
        self._stiffness = np.array(physics.robot.servo_stiffness)
        self._viscous = 0.9 * np.asarray(physics.robot.viscous)
        self._limit = physics.torque_limit

    def torque(self, reference: Reference, mu: np.ndarray) -> np.ndarray:
        """(n,) motor torque [N m] for joint angles (n,) [rad]; friction provides the damping."""
        wanted = (self._stiffness * (reference.value[6:] - mu)
                  + self._viscous * reference.rate[6:])
        return np.minimum(np.maximum(wanted, -self._limit), self._limit)
