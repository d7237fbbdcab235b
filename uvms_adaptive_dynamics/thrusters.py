"""Thruster commands to the wrench on the vehicle: curve, rotor lag, allocation, saturation (DESIGN sections 5, 11)."""
from __future__ import annotations

import math

import numpy as np

from .config import Config
from .thrust_curve import ThrustCurve

PWM_NEUTRAL, PWM_SPAN = 1500.0, 400.0


class ThrusterModel:
    """Keeps the rotors' state between commands; times increase from call to call."""

    def __init__(self, config: Config):
        s = config.thrusters
        self._settings = s
        self.count = len(s.signs)
        self.allocation = np.array(s.allocation).reshape(6, self.count)
        self._signs = np.array(s.signs)
        self._efficiency = np.array(s.efficiency or (1.0,) * self.count)
        self._curve = ThrustCurve.t200() if s.curve == "t200" else ThrustCurve.from_csv(s.curve)
        self.voltage = s.voltage
        self.reset()

    def reset(self) -> None:
        """Rotors at rest, no command known."""
        self._pending: list[tuple[float, np.ndarray]] = []
        self._t, self._last_command = -math.inf, -math.inf
        self._target = np.zeros(self.count)
        self._thrust = np.zeros(self.count)
        self._saturated = False
        self._settled = False

    def command(self, t: float, values: np.ndarray) -> None:
        """A command (N,) that reaches the motors at time t [s], in the configured unit."""
        self._pending.append((t, values))

    def wrench(self, t: float) -> tuple[np.ndarray, str]:
        """(wrench (6,) [N, N m] about the body origin in FRD, why it is not to be used or '') at time t."""
        while self._pending and self._pending[0][0] <= t:
            at, values = self._pending.pop(0)
            self._advance(at)
            self._target, self._saturated = self._steady(values)
            if not self._settled:
                self._thrust, self._settled = self._target, True
            self._last_command = at
        self._advance(t)
        wrench = self.allocation @ self._thrust
        if t - self._last_command > self._settings.timeout:
            return wrench, "no thruster command"
        return wrench, "thruster saturated" if self._saturated else ""

    def _advance(self, t: float) -> None:
        """First-order lag towards the target, exact between commands."""
        if self._settings.time_constant > 0 and t > self._t:
            decay = math.exp(-(t - self._t) / self._settings.time_constant) if math.isfinite(self._t) else 0.0
            self._thrust = self._target + decay * (self._thrust - self._target)
        elif self._settings.time_constant == 0:
            self._thrust = self._target
        self._t = max(t, self._t)

    def _steady(self, values: np.ndarray) -> tuple[np.ndarray, bool]:
        """(thrust (N,) [N] after the transient, whether any thruster is saturated)."""
        unit, low, high = self._settings.unit, *self._curve.limits(self.voltage)
        if unit == "newton":
            thrust = np.asarray(values, float)
        else:
            pwm = values if unit == "pwm" else PWM_NEUTRAL + PWM_SPAN * values
            thrust = self._curve.thrust(pwm, self.voltage)
        share = self._settings.saturation
        saturated = bool(np.any((thrust >= share * high) | (thrust <= share * low)))
        return self._signs * self._efficiency * thrust, saturated
