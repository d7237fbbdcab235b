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


class ThrusterAllocation:
    """Thrusters as the settings have them: allocation, signs, efficiency, voltage, saturation."""

    def __init__(self, settings: Thrusters, curve: Curve):
        """Raises ConfigError where the thrusters do not take PWM."""
        if settings.unit != "pwm":
            raise ConfigError(f"setting 'thrusters.unit' is '{settings.unit}'; the example "
                              "controller commands PWM alone: expected 'pwm'.")
        count = len(settings.signs)
        factor = np.array(settings.efficiency or (1.0,) * count)
        self._signs = np.array(settings.signs)
        # of the thrust that each curve gives
        self._matrix = np.reshape(settings.allocation, (6, count)) * factor
        self._share = np.linalg.pinv(self._matrix)
        self._curve, self._voltage = curve, settings.voltage
        # Where the estimator would call a thruster saturated, its rows no longer count.
        backward, forward = curve.limits(settings.voltage)
        self._low, self._high = settings.saturation * backward, settings.saturation * forward

    def allocate(self, wrench: np.ndarray) -> Allocated:
        """Commands for a wrench (6,) FRD; one beyond the thrusters is scaled down as a whole, so
        that its direction stays."""
        thrust = self._share @ wrench
        excess = max(float(np.max(thrust / self._high)), float(np.max(thrust / self._low)), 1.0)
        thrust = thrust / excess
        pwm = self._curve.turning(self._curve.command(thrust, self._voltage), self._signs)
        return Allocated(pwm, self._matrix @ thrust, excess > 1.0)


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
