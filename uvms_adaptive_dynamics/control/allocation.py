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

"""From a wanted wrench to thruster commands: pseudoinverse, limits, inverse thrust curve."""
from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ..config import Config, Thrusters
from ..errors import ConfigError


class Curve(Protocol):
    """A thruster's curve (signals/filters/thrust_curve.py)."""

    def command(self, thrust_n, voltage):
        """PWM [us] that gives a thrust [N] at a voltage [V]."""

    def limits(self, voltage: float) -> tuple[float, float]:
        """Largest backward (negative) and forward thrust [N] at a voltage [V]."""

    def turning(self, pwm_us, signs):
        """PWM [us] of motors that turn by signs (+1 or -1): mirrored about neutral."""


class Allocation(Protocol):
    """What turns a wanted wrench into what the vehicle gets."""

    def allocate(self, wrench: np.ndarray) -> Allocated:
        """Commands for a wrench (6,) FRD; one that cannot be given is scaled down as a whole."""


class Allocated(NamedTuple):
    """pwm (k,) [us]; wrench (6,) [N, N m] that it gives by the settings; whether that is less than
    was asked for."""

    pwm: np.ndarray
    wrench: np.ndarray
    limited: bool


class Mixing(NamedTuple):
    """matrix (6, k): wrench of each curve's thrust, efficiency included; its pseudoinverse (k, 6);
    least (negative) and largest thrust [N]: beyond, the estimator calls a thruster saturated, and
    its rows no longer count."""

    matrix: np.ndarray
    inverse: np.ndarray
    low: float
    high: float


def mixing(settings: Thrusters, curve: Curve, voltage: float) -> Mixing:
    """Of the thrusters in the settings at a voltage [V]."""
    count = len(settings.signs)
    matrix = np.reshape(settings.allocation, (6, count)) * np.array(
        settings.efficiency or (1.0,) * count)
    backward, forward = curve.limits(voltage)
    return Mixing(matrix, np.linalg.pinv(matrix), settings.saturation * backward,
                  settings.saturation * forward)


class ThrusterAllocation:
    """Thrusters as the settings have them: allocation, signs, efficiency, voltage, saturation."""

    def __init__(self, settings: Thrusters, curve: Curve):
        """Raises ConfigError where the thrusters do not take PWM."""
        if settings.unit != "pwm":
            raise ConfigError(f"setting 'thrusters.unit' is '{settings.unit}'; the example "
                              "controller commands PWM alone: expected 'pwm'.")
        self._signs = np.array(settings.signs)
        self._curve, self._voltage = curve, settings.voltage
        self._mixing = mixing(settings, curve, settings.voltage)

    def allocate(self, wrench: np.ndarray) -> Allocated:
        """Commands for a wrench (6,) FRD; one beyond the thrusters is scaled down as a whole, so
        that its direction stays."""
        matrix, inverse, low, high = self._mixing
        thrust = inverse @ wrench
        excess = max(float(np.max(thrust / high)), float(np.max(thrust / low)), 1.0)
        thrust = thrust / excess
        pwm = self._curve.turning(self._curve.command(thrust, self._voltage), self._signs)
        return Allocated(pwm, matrix @ thrust, excess > 1.0)


class WrenchAllocation:
    """A vehicle that takes wrenches and has its own allocation, within feedforward.wrench_limits;
    there are no PWM then."""

    def __init__(self, limits: np.ndarray):
        """limits (6,) [N, N m], either way."""
        self._limits = limits

    def allocate(self, wrench: np.ndarray) -> Allocated:
        """The wrench (6,) itself; one beyond a limit is scaled down as a whole."""
        excess = max(float(np.max(np.abs(wrench) / self._limits)), 1.0)
        return Allocated(np.zeros(0), wrench / excess, excess > 1.0)


def allocation_of(config: Config, curve: Curve) -> Allocation:
    """Thrusters that take PWM, or a vehicle that takes wrenches; raises ConfigError for others."""
    if config.identification.thruster_output in ("wrench", "none"):
        return WrenchAllocation(np.array(config.feedforward.wrench_limits))
    return ThrusterAllocation(config.thrusters, curve)
