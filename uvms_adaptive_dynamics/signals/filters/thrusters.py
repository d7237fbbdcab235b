"""From thruster commands to the thruster wrench: curve, rotor lag, allocation, saturation."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ...config import Config
from ..gates.choose import spike_gate
from ..gates.spikes import GatedRow
from .thrust_curve import NEUTRAL_PWM_US, ThrustCurve
from .wrench import BodyWrench

PWM_SPAN_US = 400.0     # of a normalized command of one
THRUST_FLOOR = 0.4      # [N] smallest scale of the gate


class ThrusterModel:
    """Follows the rotors between commands; times [s] increase from call to call.

    `on_reject(role, reason)` counts rejections, `on_command(saturated)` hears of every command
    whether it lies at the end of the thrust curve.
    """

    def __init__(self, config: Config,
                 on_reject: Callable[[str, str], None] = lambda role, reason: None,
                 on_command: Callable[[bool], None] = lambda saturated: None):
        self._on_reject, self._on_command = on_reject, on_command
        settings = config.thrusters
        self._settings = settings
        self.count = len(settings.signs)
        self.allocation = np.array(settings.allocation).reshape(6, self.count)
        self._sign = np.array(settings.signs) * np.array(settings.efficiency or (1.0,) * self.count)
        self._curve = (ThrustCurve.t200() if settings.curve == "t200"
                       else ThrustCurve.from_csv(settings.curve))
        # In thrust, not in PWM: a command that crosses the dead band is no spike.
        self._gate = spike_gate(config.filter.gates, [THRUST_FLOOR] * self.count)
        self.voltage = settings.voltage
        self.reset()

    @property
    def voltage(self) -> float:
        """Battery voltage [V] at which the curve is evaluated."""
        return self._voltage

    @voltage.setter
    def voltage(self, value: float) -> None:
        self._voltage = value
        self._thrust_of_pwm = self._curve.thrust(self._curve.pwm_us, value)
        share = self._settings.saturation
        self._low = share * float(self._thrust_of_pwm.min())
        self._high = share * float(self._thrust_of_pwm.max())

    def reset(self) -> None:
        """Rotors at rest, no command known; the voltage stays."""
        self._pending: deque[tuple[float, np.ndarray, bool]] = deque()
        self._gate.reset()
        self._t, self._last_command = -math.inf, -math.inf
        self._target = np.zeros(self.count)             # [N] after the transient
        self._target_since = 0.0                        # [s]
        self._thrust = np.zeros(self.count)             # [N] at _t
        self._target_impulse = np.zeros(self.count)     # [N s] of all targets before this one
        self._saturated = False
        self._started = False

    @property
    def impulse(self) -> np.ndarray:
        """Integral (N,) [N s] of each thruster's thrust up to the last wrench, but for a constant.

        It is the integral of the targets less what the lag withholds.
        """
        if math.isinf(self._t):
            return self._target_impulse
        return (self._target_impulse + (self._t - self._target_since) * self._target
                - self._settings.time_constant * self._thrust)

    def add_command(self, t: float, values: Sequence[float]) -> None:
        """Add a command (N,) in the configured unit that reaches the motors at time t."""
        self._queue(self._gate.gate(t, self._steady_thrust(values)))

    def add_voltage(self, t: float, reading: Sequence[float]) -> None:
        """Use the battery voltage (1,) from now on."""
        self.voltage = reading[0]

    def flush(self) -> None:
        """Add what the gate still holds, at the end of a recording."""
        self._queue(self._gate.flush())

    def _queue(self, rows: Iterable[GatedRow]) -> None:
        for gated in rows:
            if gated.spikes is not None:
                self._on_reject("thrusters", "command spike")
            saturated = max(gated.row) >= self._high or min(gated.row) <= self._low
            self._on_command(saturated)
            self._pending.append((gated.t, self._sign * gated.row, saturated))

    def wrench(self, t: float) -> BodyWrench:
        """The thruster wrench at time t, not before that of the last call."""
        while self._pending and self._pending[0][0] <= t:
            self._set_target(*self._pending.popleft())
        self._advance(t)
        wrench = self.allocation @ self._thrust
        if t - self._last_command > self._settings.timeout:
            return BodyWrench(wrench, "no thruster command")
        return BodyWrench(wrench, "thruster saturated" if self._saturated else "")

    def _set_target(self, t: float, target: np.ndarray, saturated: bool) -> None:
        """Follow a new target (N,) [N] from time t on."""
        self._advance(t)
        if self._started:
            self._target_impulse = (self._target_impulse
                                    + (t - self._target_since) * self._target)
        else:
            self._thrust, self._started = target, True
        if self._settings.time_constant == 0:
            self._thrust = target
        self._target, self._saturated = target, saturated
        self._target_since = self._last_command = t

    def _advance(self, t: float) -> None:
        """First-order lag towards the target, exact between commands."""
        dt, lag = t - self._t, self._settings.time_constant
        if dt > 0:
            self._t = t
            if lag == 0:
                self._thrust = self._target
            else:
                decay = math.exp(-dt / lag)
                self._thrust = self._target + decay * (self._thrust - self._target)

    def _steady_thrust(self, values: Sequence[float]) -> Sequence[float]:
        """Thrust (N,) [N] of each propeller after the transient, before sign and efficiency."""
        unit = self._settings.unit
        if unit == "newton":
            return values
        pwm = (values if unit == "pwm"
               else [NEUTRAL_PWM_US + PWM_SPAN_US * value for value in values])
        return np.interp(pwm, self._curve.pwm_us, self._thrust_of_pwm).tolist()
