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

"""Thruster wrench from thruster commands: thrust curve, rotor lag, allocation, saturation
(docs/signals.md, "Thrusters")."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ...config import Config
from ...model.thrust_curve import (
    DEFAULT_CURVE,
    NEUTRAL_PWM_US,
    PWM_SPAN_US,
    ThrustCurve,
    acting,
    neutral_command,
)
from ..decode.decoder import RC_HIGH, RC_LOW
from ..gates.choose import spike_gate
from ..gates.spikes import GatedRow
from .command_response import Response, TriedResponses, TriedRotors
from .wrench import BodyWrench

THRUST_FLOOR = 0.4      # [N] smallest scale of the gate
# Regular commands count as missing after twice the longest of their last intervals; commands that
# are sent only when they change, after thrusters.timeout.
COMMAND_INTERVALS, LATE_INTERVALS = 25, 2.0
SATURATED, NO_COMMAND = "thruster saturated", "no thruster command"
SETTLING = "rotors settle after a gap in the commands"
# Called with every command: whether it is at the end of the thrust curve, or pulse widths are taken
# for newtons; and whether command and thrust differ from the last ones.
OnCommand = Callable[[bool, bool], None]
SETTLED_TIME_CONSTANTS = 3.0  # time constants after which a rotor follows its command to 5 %


class ThrusterModel:
    """Simulates the rotors between commands; times [s] increase from call to call.

    The wrench of a tick is the mean over the tick's period: a command acts until the next one, and
    the instant of a tick may fall on either side of the change.

    `on_reject(role, reason)` counts rejections; `on_command(saturated, changed)`: see OnCommand.
    `tried`: K other responses to the commands, whose impulses are logged too. `impulse`: integral
    (N,) [N s] of each thruster's thrust up to `time`.
    """

    def __init__(self, config: Config,
                 on_reject: Callable[[str, str], None] = lambda role, reason: None,
                 on_command: OnCommand = lambda saturated, changed: None,
                 tried: Sequence[Response] = ()):
        self._on_reject, self._on_command = on_reject, on_command
        settings = config.thrusters
        self._settings, self._half_tick = settings, 0.5 * config.filter.period
        self.count = len(settings.signs)
        self._tried = TriedResponses(tuple(tried))
        self._tried_rotors = TriedRotors(len(tried), self.count)
        self.allocation = np.array(settings.allocation).reshape(6, self.count)
        self._signs = np.array(settings.signs)
        self._efficiency = self._as_set = np.array(settings.efficiency or (1.0,) * self.count)
        self._shares: tuple[float, ...] = ()
        self._curve = ThrustCurve.of_setting(settings.curve)
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
        share = self._settings.saturation if self._has_range else math.inf
        self._low = share * float(self._thrust_of_pwm.min())
        self._high = share * float(self._thrust_of_pwm.max())

    @property
    def _has_range(self) -> bool:
        """Whether the largest thrust is known: commands in newtons pass no curve, and the default
        one is that of another thruster."""
        return self._settings.unit != "newton" or self._settings.curve != DEFAULT_CURVE

    @staticmethod
    def _are_pulses(thrust: Sequence[float]) -> bool:
        """Whether thrusts (N,) in newtons all look like pulse widths."""
        return all(RC_LOW <= abs(one) <= RC_HIGH for one in thrust)

    def change_settings(self, config: Config, gates_change: bool) -> None:
        """Use new settings from now on; gates_change: `filter.gates` has changed."""
        self._simulate_tried()
        self._settings = config.thrusters
        self.voltage = self._voltage            # (updates the limits of saturation)
        if gates_change:
            self.flush()
            self._gate = spike_gate(config.filter.gates, [THRUST_FLOOR] * self.count)

    def reset(self) -> None:
        """Rotors at rest, no command known; the voltage stays."""
        self._pending: deque[tuple[float, np.ndarray, bool, np.ndarray]] = deque()
        self._gate.reset()
        # (N,) commands about neutral that the gate holds, and the last one that has left it
        self._held: deque[np.ndarray] = deque()
        self._command = np.zeros(self.count)
        self._row: Sequence[float] | None = None    # [N] thrust of the last one
        self._tried_rotors.reset()
        self._tried_times: list[float] = []
        self._tried_rows: list[np.ndarray] = []
        self._t, self._last_command = -math.inf, -math.inf
        self._target = np.zeros(self.count)     # [N] after the transient
        self._thrust = np.zeros(self.count)     # [N] at _t
        self.impulse = np.zeros(self.count)
        self._saturated = self._was_saturated = False
        self._started = False
        self._intervals: deque[float] = deque(maxlen=COMMAND_INTERVALS)
        self._settled = -math.inf                       # [s] when the rotors have settled

    def add_command(self, t: float, values: Sequence[float]) -> None:
        """Add a command (N,) in the configured unit that reaches the motors at time t."""
        command = self._about_neutral(values)
        self._held.append(command)
        self._queue(self._gate.gate(t, self._steady_thrust(self._acting(command)).tolist()))

    def use_shares(self, shares: tuple[float, ...]) -> None:
        """From now on each thruster gives this share (N,) of its thrust, of all if empty."""
        if shares != self._shares:
            self._simulate_tried()
            self._shares = shares
            self._efficiency = self._as_set * (shares or 1.0)

    def static_thrust(self, values: Sequence[float]) -> list[float]:
        """Thrust (N,) [N] along the allocation of a command (N,), in the configured unit, after the
        transient."""
        return self._steady_thrust(self._acting(self._about_neutral(values))).tolist()

    def add_voltage(self, t: float, reading: Sequence[float]) -> None:
        """Use the battery voltage (1,) from now on."""
        self._simulate_tried()
        self.voltage = reading[0]

    def flush(self) -> None:
        """Add what the gate still holds, at the end of a recording."""
        self._queue(self._gate.flush())

    def discard_after(self, t: float) -> None:
        """Forget the commands after t: the thrust is unknown from then on."""
        self._gate.reset()
        self._held.clear()
        while self._pending and self._pending[-1][0] > t:
            self._pending.pop()
        self._last_command = min(self._last_command, t)

    def _queue(self, rows: Iterable[GatedRow]) -> None:
        for gated in rows:
            if gated.spikes is not None:
                self._on_reject("thrusters", "command spike")
            saturated = max(gated.row) >= self._high or min(gated.row) <= self._low
            command = self._held.popleft()
            if gated.spikes is not None:
                command = np.where(gated.spikes, self._command, command)
            # (thrust alone changes with the voltage, a command alone within the dead zone)
            changed = self._row is not None and any(
                here != before and now != then for here, before, now, then
                in zip(command, self._command, gated.row, self._row))
            pulses = not self._has_range and self._are_pulses(gated.row)
            self._on_command(saturated or pulses, changed)
            self._command, self._row = command, gated.row
            self._pending.append((gated.t, self._efficiency * gated.row, saturated, command))

    def log_tried(self) -> None:
        """Log `time` and, for the responses that are tried, `impulse`: for `tried_log`."""
        self._tried_times.append(self._t)

    def tried_log(self) -> list[np.ndarray]:
        """The rows logged since the last call: time [s] and K impulses of all N thrusters
        [N s]."""
        self._simulate_tried()
        rows, self._tried_rows = self._tried_rows, []
        return rows

    def _simulate_tried(self) -> None:
        """Simulate the tried responses up to now, with the present settings."""
        if not self._tried.count:
            return
        times, self._tried_times = np.array([*self._tried_times, self._t]), []
        impulses = self._tried_rotors.impulses(times, self._settings.time_constant,
                                               self._tried_thrust)
        rows = np.column_stack([times, impulses.reshape(len(times), -1)])
        self._tried_rows += list(rows[:-1])

    def _tried_thrust(self, commands: np.ndarray) -> np.ndarray:
        """Thrust (m, K, N) [N] of the responses that are tried to commands (m, N) about neutral,
        after the transient."""
        acts = self._tried.acting(commands, self._full_command, self._acting(commands))
        return self._efficiency * self._tried.bent(self._steady_thrust(acts))

    @property
    def time(self) -> float:
        """The time [s] up to which the rotors have been simulated."""
        return self._t

    def wrench(self, t: float) -> BodyWrench:
        """The mean thruster wrench over the period about the tick t; ticks increase."""
        end = t + self._half_tick
        # A command acts at once, even if the next one, by which it is judged, is long in coming.
        self._queue(self._gate.until(end))
        self._was_saturated = False
        self._follow(t - self._half_tick)
        impulse, begin = self.impulse, self._t
        self._follow(end)
        # A repeated tick has no period left.
        moved = self._started and end > begin
        thrust = (self.impulse - impulse) / (end - begin) if moved else self._thrust
        reason = SATURATED if self._was_saturated else ""
        if t - self._last_command > self._patience():
            reason = NO_COMMAND
        elif t < self._settled:
            reason = SETTLING
        return BodyWrench(self.allocation @ thrust, reason, self.allocation * thrust)

    def _follow(self, t: float) -> None:
        """Follow the commands until t."""
        while self._pending and self._pending[0][0] <= t:
            self._set_target(*self._pending.popleft())
        self._advance(t)
        self._was_saturated |= self._saturated

    def _patience(self) -> float:
        """[s] without a command after which the thrust is unknown. After a neutral command there
        is none, whether the motors hold it or stop for lack of commands."""
        timeout = self._settings.timeout
        if len(self._intervals) < COMMAND_INTERVALS or not self._target.any():
            return timeout
        return min(timeout, LATE_INTERVALS * max(self._intervals))

    def _set_target(self, t: float, target: np.ndarray, saturated: bool,
                    command: np.ndarray) -> None:
        """Follow a new target (N,) [N], that of the command (N,), from t on."""
        self._advance(t)
        interval = t - self._last_command
        if self._started and interval > self._patience():
            self._settled = t + SETTLED_TIME_CONSTANTS * self._settings.time_constant
        if self._started and 0.0 < interval <= self._settings.timeout:
            self._intervals.append(interval)
        if not self._started:   # the thrust is unknown until then
            self._thrust, self._started, self._settled = target, True, t + self._half_tick
        if self._settings.time_constant == 0:
            self._thrust = target
        self._target, self._saturated = target, saturated
        self._last_command = t
        if self._tried.count:
            self._tried_rotors.add(t, command)

    def _advance(self, t: float) -> None:
        """First-order lag towards the target, exact between commands."""
        dt, lag = t - self._t, self._settings.time_constant
        if dt > 0:
            before, self._t = self._thrust, t
            decay = math.exp(-dt / lag) if lag else 0.0
            self._thrust = self._target + decay * (before - self._target)
            if self._started:
                self.impulse = self.impulse + dt * self._target - lag * (self._thrust - before)

    @property
    def _full_command(self) -> float:
        """A full command about neutral, in the configured unit."""
        if self._settings.unit == "newton":
            return float(self._thrust_of_pwm.max())
        return PWM_SPAN_US if self._settings.unit == "pwm" else 1.0

    def _about_neutral(self, values: Sequence[float]) -> np.ndarray:
        """Commands (N,) about neutral, positive where a thruster pushes along the allocation.

        For a motor that turns the other way, the command is mirrored about neutral, not the thrust:
        its propeller is as strong along the allocation as the others.
        """
        return self._signs * (np.array(values) - neutral_command(self._settings.unit))

    def _acting(self, command: np.ndarray) -> np.ndarray:
        """The part of commands (..., N) about neutral that acts, given the configured dead zone."""
        zone = self._settings.dead_zone
        return (acting(command, zone * self._full_command, self._settings.dead_zone_kind)
                if zone else command)

    def _steady_thrust(self, command: np.ndarray) -> np.ndarray:
        """Thrust (..., N) [N] of commands about neutral after the transient, before efficiency."""
        unit = self._settings.unit
        if unit == "newton":
            return command
        pwm = NEUTRAL_PWM_US + (command if unit == "pwm" else PWM_SPAN_US * command)
        return np.interp(pwm, self._curve.pwm_us, self._thrust_of_pwm)
