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

"""One synchronous sample of the robot: the estimator's input at a tick."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

VEHICLE_CHANNELS = ("surge", "sway", "heave", "roll", "pitch", "yaw")
VEHICLE_UNITS = ("N", "N", "N", "N m", "N m", "N m")


# Mask reason of a joint that the operator excludes (joint_states.effort_masked).
BY_SETTING = "effort masked by setting"
# Of a vehicle axis: its effort is always zero, so that its predictions cannot be judged.
NO_THRUSTER = "no thruster acts on it"
# Trust words of channels that are neither judged nor mentioned in advice.
LEFT_OUT = (BY_SETTING, NO_THRUSTER)
# Mask reason of a joint at rest, whose friction is undetermined; not a fault.
JOINT_AT_REST = "joint at rest"
# Mask reason of ticks before a sensor's filter has its first window; not a fault.
FILTERS_START = "filters start"
# Setting for a thruster that delivers less thrust than commanded.
WEAK_THRUSTER = "thrusters.efficiency"


class Misread(NamedTuple):
    """A setting or sensor found wrong, and the channels (places) whose parameters absorb the
    error."""

    setting: str
    places: tuple[int, ...]


@dataclass(frozen=True)
class Sample:
    """State and efforts at data time `t` [s since the epoch]; SI, body FRD, world NED.

    R_nb (3, 3) maps body FRD to NED; nu, nu_dot (6,) [m/s, rad/s; per s] body velocity [u v w p q
    r] and its derivative in the body frame; mu, mu_dot, mu_ddot (n,) joint positions [rad or m] and
    derivatives; wrench (6,) thruster wrench [N, N m] about the body origin; joint_torque (n,) [N m
    or N]; valid (6 + n,), or (n,) without a vehicle: the rows (channels) that may be compared with
    the model.

    right_until [s], on the clock of t: the sensors are confirmed correct up to then; minus infinity
    before the first such verdict. found_wrong: whether a sensor confirmed earlier is now faulty.

    down_covariance (3, 3): of the down vector in body axes (R_nb's third row), if the attitude is
    not measured and R_nb is an expected one; None if it is measured.

    misread: faults found in sensors and settings at present.

    by_thruster (6, N): each thruster's contribution to the wrench; None if unknown.

    velocity_stddev [m/s]: of the linear velocities, if the filter knows it; else 0.

    again: earlier samples, oldest first, each as it was and as it is with readings put right, of a
    sensor that was found wrong; empty at all other times.
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
    down_covariance: np.ndarray | None = None
    right_until: float = -math.inf
    found_wrong: bool = False
    misread: tuple[Misread, ...] = ()
    by_thruster: np.ndarray | None = None
    velocity_stddev: float = 0.0
    again: tuple[tuple[Sample, Sample], ...] = ()


def channel_names(vehicle: bool, joints: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the rows in order; a joint with a vehicle channel's name becomes `joint.<name>`."""
    head = VEHICLE_CHANNELS if vehicle else ()
    return head + tuple(f"joint.{j}" if j in VEHICLE_CHANNELS else j for j in joints)
