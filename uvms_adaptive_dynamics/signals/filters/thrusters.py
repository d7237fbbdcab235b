"""Thruster commands to the wrench on the vehicle: curve, rotor lag, allocation, saturation (DESIGN sections 5, 11)."""
from __future__ import annotations

import math
from collections import deque
from typing import Callable, Iterable, Sequence

import numpy as np

from ...config import Config
from ..gates.spikes import Judged, SpikeGate
from .thrust_curve import ThrustCurve

PWM_NEUTRAL, PWM_SPAN = 1500.0, 400.0
THRUST_FLOOR = 0.4   # [N] the smallest scale that the gate believes


class ThrusterModel:
    """Keeps the rotors' state between commands; times increase from call to call. `refuse(role, reason)` counts rejections."""

    def __init__(self, config: Config, refuse: Callable[[str, str], None] = lambda role, reason: None,
                 note_saturation: Callable[[bool], None] = lambda yes: None):
        self._refuse, self._note_saturation = refuse, note_saturation
        s = config.thrusters
        self._settings = s
        self.count = len(s.signs)
        self.allocation = np.array(s.allocation).reshape(6, self.count)
        self._sense = np.array(s.signs) * np.array(s.efficiency or (1.0,) * self.count)
        self._curve = ThrustCurve.t200() if s.curve == "t200" else ThrustCurve.from_csv(s.curve)
        # In thrust, not in PWM: a command that hops over the dead band is no spike.
        self._gate = SpikeGate([THRUST_FLOOR] * self.count)
        self.voltage = s.voltage
        self.reset()

    @property
    def voltage(self) -> float:
        """Battery voltage [V] for the curve."""
        return self._voltage

    @voltage.setter
    def voltage(self, value: float) -> None:
        self._voltage = value
        self._column = self._curve.thrust(self._curve.pwm_us, value)
        share = self._settings.saturation
        self._low, self._high = share * float(self._column.min()), share * float(self._column.max())

    def reset(self) -> None:
        """Rotors at rest, no command known."""
        self._pending: deque[tuple[float, np.ndarray, bool]] = deque()
        self._gate.reset()
        self._t, self._last_command = -math.inf, -math.inf
        self._target = np.zeros(self.count)
        self._thrust = np.zeros(self.count)
        self._given = np.zeros(self.count)       # [N s] integral of all targets before this one
        self._since = 0.0                        # [s] the time at which this target began
        self._saturated = False
        self._settled = False

    @property
    def impulse(self) -> np.ndarray:
        """Integral (N,) [N s] of each thruster's thrust up to the last wrench, but for a constant: that of the target
        less what the lag withholds."""
        if math.isinf(self._t):
            return self._given
        return self._given + (self._t - self._since) * self._target - self._settings.time_constant * self._thrust

    def command(self, t: float, values: Sequence[float]) -> None:
        """A command (N,) that reaches the motors at time t [s], in the configured unit."""
        self._take(self._gate.push(t, self._steady(values)))

    def finish(self) -> None:
        """Take in what the gate still holds, at the end of a recording."""
        self._take(self._gate.drain())

    def _take(self, decided: Iterable[Judged]) -> None:
        for judged in decided:
            if judged.spikes is not None:
                self._refuse("thrusters", "command spike")
            saturated = max(judged.row) >= self._high or min(judged.row) <= self._low
            self._note_saturation(saturated)
            self._pending.append((judged.t, self._sense * judged.row, saturated))

    def wrench(self, t: float) -> tuple[np.ndarray, str]:
        """(wrench (6,) [N, N m] about the body origin in FRD, why it is not to be used or '') at time t."""
        while self._pending and self._pending[0][0] <= t:
            self._follow(*self._pending.popleft())
        self._advance(t)
        wrench = self.allocation @ self._thrust
        if t - self._last_command > self._settings.timeout:
            return wrench, "no thruster command"
        return wrench, "thruster saturated" if self._saturated else ""

    def _follow(self, at: float, target: np.ndarray, saturated: bool) -> None:
        """A new target (N,) [N] at a time."""
        self._advance(at)
        if self._settled:
            self._given = self._given + (at - self._since) * self._target
        else:
            self._thrust, self._settled = target, True
        if self._settings.time_constant == 0:
            self._thrust = target
        self._target, self._saturated, self._since, self._last_command = target, saturated, at, at

    def _advance(self, t: float) -> None:
        """First-order lag towards the target, exact between commands."""
        dt, lag = t - self._t, self._settings.time_constant
        if dt > 0:
            self._thrust = self._target if lag == 0 else self._target + math.exp(-dt / lag) * (self._thrust - self._target)
            self._t = t

    def _steady(self, values: Sequence[float]) -> Sequence[float]:
        """Thrust (N,) [N] of each propeller after the transient, before its direction and efficiency."""
        unit = self._settings.unit
        if unit == "newton":
            return values
        pwm = values if unit == "pwm" else [PWM_NEUTRAL + PWM_SPAN * value for value in values]
        return np.interp(pwm, self._curve.pwm_us, self._column).tolist()
