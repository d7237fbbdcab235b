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

"""One synchronous sample of the robot: what the estimator sees at a tick."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

VEHICLE_CHANNELS = ("surge", "sway", "heave", "roll", "pitch", "yaw")
VEHICLE_UNITS = ("N", "N", "N", "N m", "N m", "N m")


# Why a joint's rows do not count that an operator leaves out (joint_states.effort_masked).
BY_SETTING = "effort masked by setting"
# Or while the joint stands still, where friction may have any size: no fault.
JOINT_AT_REST = "joint at rest"
# The setting of a thruster that gives less than what its command says.
WEAK_THRUSTER = "thrusters.efficiency"


class Misread(NamedTuple):
    """What stands between the robot and its readings: a setting, or a sensor, that is found wrong,
    and the places of the channels whose parameters take it in."""

    setting: str
    places: tuple[int, ...]


@dataclass(frozen=True)
class Sample:
    """State and efforts at data time `t` [s since the epoch]; SI, body FRD, world NED.

    R_nb (3, 3) maps body FRD to NED; nu, nu_dot (6,) [m/s, rad/s; per s] body velocity [u v w p q
    r] and its derivative in the body frame; mu, mu_dot, mu_ddot (n,) joint positions [rad or m] and
    derivatives; wrench (6,) thruster wrench [N, N m] about the body origin; joint_torque (n,) [N m
    or N]; valid (6 + n,) marks the rows (channels) of this instant that the model may be held
    against. A robot without a vehicle has valid of n rows.

    right_until [s], on the clock of t: up to then the sensors were found right, minus infinity
    before the first such judgement; found_wrong: whether one that was right is not any more.

    down_doubt (3, 3): where nobody has measured the attitude and R_nb is an expected one, the
    covariance of its down vector in body axes, of R_nb's third row; None where it is measured.

    misread: what is found wrong with sensors and settings at present.

    by_thruster (6, N): what each thruster adds to the wrench, None where that is not known.

    velocity_stddev [m/s]: of the linear velocities, as far as the filter knows it; 0 elsewhere.
    """

    t: float
    R_nb: np.ndarray
    nu: np.ndarray
    nu_dot: np.ndarray
    mu: np.ndarray
    mu_dot: np.ndarray
    mu_ddot: np.ndarray
    wrench: np.ndarray
    joint_torque: np.ndarray
    valid: np.ndarray
    down_doubt: np.ndarray | None = None
    right_until: float = -math.inf
    found_wrong: bool = False
    misread: tuple[Misread, ...] = ()
    by_thruster: np.ndarray | None = None
    velocity_stddev: float = 0.0


def channel_names(vehicle: bool, joints: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the rows in order; a joint that bears a vehicle channel's name is written
    `joint.<name>`."""
    head = VEHICLE_CHANNELS if vehicle else ()
    return head + tuple(f"joint.{j}" if j in VEHICLE_CHANNELS else j for j in joints)
