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

"""Allocate a wanted wrench to thrusters: pseudoinverse, limits, inverse thrust curve."""
from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import linprog

from ..config import Config, Thrusters
from ..errors import ConfigError
from ..model.thrust_curve import ThrustCurve

# Share of a unit wrench that the thrusters cannot produce above which they do not act on that axis.
# (0 or nearly 1 on real vehicles.)
PASSIVE = 0.5


class Curve(Protocol):
    """A thruster's curve (model/thrust_curve.py)."""

    def command(self, thrust_n, voltage):
        """PWM [us] that gives a thrust [N] at a voltage [V]."""

    def limits(self, voltage: float) -> tuple[float, float]:
        """Largest backward (negative) and forward thrust [N] at a voltage [V]."""

    def turning(self, pwm_us, signs):
        """PWM [us] with the motors' signs (+1 or -1) applied, mirrored about neutral."""


class Allocation(Protocol):
    """Turns a wanted wrench into commands."""

    def allocate(self, wrench: np.ndarray) -> Allocated:
        """Commands for a wrench (6,) FRD; an infeasible wrench is scaled down as a whole."""


class Allocated(NamedTuple):
    """pwm (k,) [us]; wrench (6,) [N, N m] that it produces according to the settings; limited:
    True if that is less than requested."""

    pwm: np.ndarray
    wrench: np.ndarray
    limited: bool


class Mixing(NamedTuple):
    """matrix (6, k): wrench per unit of each thruster's thrust, efficiency included; inverse
    (k, 6): its pseudoinverse; low (negative) and high [N]: thrust beyond which the estimator calls
    a thruster saturated and masks its rows."""

    matrix: np.ndarray
    inverse: np.ndarray
    low: float
    high: float


def mixing(settings: Thrusters, curve: Curve, voltage: float) -> Mixing:
    """The `Mixing` of the configured thrusters at a voltage [V]."""
    count = len(settings.signs)
    matrix = np.reshape(settings.allocation, (6, count)) * np.array(
        settings.efficiency or (1.0,) * count)
    backward, forward = curve.limits(voltage)
    return Mixing(matrix, np.linalg.pinv(matrix), settings.saturation * backward,
                  settings.saturation * forward)


def wrench_limits(config: Config) -> np.ndarray:
    """(6,) largest wrench [N, N m] along each axis of the body, in either direction: as set, or
    what the thrusters of the settings can produce while the components on the other axes that they
    act on are zero; 0 on an axis that they do not act on."""
    if config.feedforward.wrench_limits:
        return np.array(config.feedforward.wrench_limits)
    thrusters = config.thrusters
    curve = ThrustCurve.of_settings(thrusters)
    reach = curve.limits(thrusters.voltage)
    matrix, inverse, *_ = mixing(thrusters, curve, thrusters.voltage)
    produced = np.diagonal(matrix @ inverse)
    driven = np.flatnonzero(produced >= 1.0 - PASSIVE)
    most = np.zeros(6)
    for k in driven:
        others = driven[driven != k]
        found = [linprog(-sign * matrix[k], A_eq=matrix[others], b_eq=np.zeros(len(others)),
                         bounds=reach) for sign in (1.0, -1.0)]
        most[k] = min(-one.fun for one in found)
    return np.round(most, 6) + 0.0      # (coarser than the programs' tolerance; no -0)


class ThrusterAllocation:
    """Allocation to the configured thrusters: signs, efficiency, voltage, saturation."""

    def __init__(self, settings: Thrusters, curve: Curve):
        """Raises ConfigError if the thrusters do not take PWM."""
        if settings.unit != "pwm":
            raise ConfigError(f"setting 'thrusters.unit' is '{settings.unit}'; expected 'pwm', "
                              "the only unit that the example controller commands.")
        self._signs = np.array(settings.signs)
        self._curve, self._voltage = curve, settings.voltage
        self._mixing = mixing(settings, curve, settings.voltage)

    def allocate(self, wrench: np.ndarray) -> Allocated:
        """Commands for a wrench (6,) FRD; a wrench that saturates a thruster is scaled down as a
        whole, which keeps its direction."""
        matrix, inverse, low, high = self._mixing
        thrust = inverse @ wrench
        excess = max(float(np.max(thrust / high)), float(np.max(thrust / low)), 1.0)
        thrust = thrust / excess
        pwm = self._curve.turning(self._curve.command(thrust, self._voltage), self._signs)
        return Allocated(pwm, matrix @ thrust, excess > 1.0)


class WrenchAllocation:
    """For a vehicle that takes wrenches and allocates them itself: limits them, without PWM."""

    def __init__(self, limits: np.ndarray):
        """limits (6,) [N, N m], in both directions; 0 on an axis without thrust."""
        self._limits = limits
        self._driven = limits > 0

    def allocate(self, wrench: np.ndarray) -> Allocated:
        """The wrench (6,) on the axes with thrust, scaled down as a whole if it exceeds a limit."""
        asked, limits = wrench[self._driven], self._limits[self._driven]
        excess = max(float(np.max(np.abs(asked) / limits, initial=0.0)), 1.0)
        given = np.where(self._driven, wrench, 0.0) / excess
        return Allocated(np.zeros(0), given, bool(np.any(given != wrench)))


def allocation_of(config: Config, curve: Curve) -> Allocation:
    """The allocation for the configured output: PWM or wrenches; raises ConfigError for others."""
    if config.identification.thruster_output in ("wrench", "none"):
        return WrenchAllocation(wrench_limits(config))
    return ThrusterAllocation(config.thrusters, curve)
