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

"""Fault kinds of `simulate --faults`; times [s] count from the first message."""
from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pinocchio as pin

from .clocks import Clock
from .delivery import Frozen, Lost
from .outliers import command_spikes, effort_outliers, noise, velocity_outliers
from .stream import Fault, Received
from .values import Rewritten, altered, field_of, reordered, times, with_field

BURST_LENGTH, BURST_SPEED = 1.0, 0.7      # [s], standard deviation [m/s] of DVL garbage


def bursts(*begins: float) -> tuple[Fault, ...]:
    """One second of DVL noise starting at each of the times [s]."""
    return tuple(altered("velocity", noise(BURST_SPEED), begin, begin + BURST_LENGTH)
                 for begin in begins)


def turned_imu(message: Any, mount: np.ndarray) -> None:
    """Change an Imu message in place to that of an IMU mounted with the rotation `mount` (3, 3),
    sensor to body."""
    attitude = pin.Quaternion(field_of(message, "orientation")).matrix() @ mount
    changed = with_field(message, "orientation", pin.Quaternion(attitude).coeffs())
    for field in ("gyro", "accelerometer"):
        changed = with_field(changed, field, mount.T @ field_of(message, field))
    vars(message).update(vars(changed))


@dataclass(frozen=True)
class TurnedImu:
    """`turned_imu` by roll, pitch and yaw [rad], applied in this order (x, y, z)."""

    roll: float = 0.0
    pitch: float = 0.0
    yaw: float = 0.0

    def __call__(self, message: Any) -> None:
        turned_imu(message, pin.rpy.rpyToMatrix(self.roll, self.pitch, self.yaw))


@dataclass(frozen=True)
class Slipping(Fault):
    """An IMU whose mount rolls by `roll` [rad] in `within` [s]; its gyro measures the rotation."""

    roll: float = 0.0
    within: float = 0.5

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        done = min(1.0, (elapsed - self.begin) / self.within)
        message = copy.deepcopy(item.message)
        TurnedImu(roll=self.roll * done)(message)
        if done < 1.0:
            rates = field_of(message, "gyro") + [self.roll / self.within, 0.0, 0.0]
            message = with_field(message, "gyro", rates)
        yield item._replace(message=message)


@dataclass(frozen=True)
class WithAltitude(Fault):
    """Velocities arrive as dvl_msgs/DVL, `altitude` [m] over the bottom."""

    altitude: float = 2.0

    def spoiled(self, item: Received, elapsed: float, rng: np.random.Generator,
                memory: dict[str, Any]) -> Iterable[Received]:
        yield item._replace(message=SimpleNamespace(
            header=item.message.header, velocity=item.message.twist.twist.linear,
            velocity_valid=True, fom=0.0, altitude=self.altitude))


FAULT_KINDS: dict[str, tuple[Fault, ...]] = {
    "outliers": (altered("effort", effort_outliers(0.05)),
                 altered("velocity", velocity_outliers(0.05))),
    "bursts": bursts(20.0, 45.0, 70.0, 95.0),
    "spikes": (altered("commands", command_spikes(0.01)),),
    "dropouts": (Lost("dvl", 30.0, 33.0), Lost("joint_states", 50.0, 50.5),
                 Lost("thrusters", 75.0, 76.0), Lost("imu", 85.0, 85.2)),
    "frozen": (Frozen("dvl", 25.0, 28.0), Frozen("joint_states", 40.0, 42.0),
               Frozen("imu", 60.0, 61.0), Frozen("depth", 80.0, 95.0)),
    "clock-jump": (Clock(begin=65.0, offset=100.0),),
    "effort-scale": (altered("effort", times(2.0)),),
    "dvl-scale": (altered("velocity", times(1.3)),),
    "imu-turned": (Rewritten("imu", change=TurnedImu(pitch=np.radians(10.0))),),
    "thruster-order": (altered("commands", reordered(0, 2, 1, 3, 4, 5, 6, 7)),),
}
ACCEPTANCE = ("outliers", "bursts", "spikes")     # an estimate must tolerate these without loss


def combined(kinds: Iterable[str]) -> tuple[Fault, ...]:
    """The faults of several kinds; raises KeyError for a name that is not in FAULT_KINDS."""
    return tuple(fault for kind in kinds for fault in FAULT_KINDS[kind])
