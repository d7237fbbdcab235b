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

"""Static thrust of one thruster against PWM and voltage, and its inverse."""
from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..config.thrusters import ZONE_CUT, Thrusters
from ..disk.reading import read_text
from ..errors import PATH, ConfigError, brief
from .t200_table import T200_KNOTS

NEUTRAL_PWM_US = 1500.0
DEFAULT_CURVE = "t200"
# Share of a dead zone over which thrust sets in, so that a table can hold it.
DEAD_ZONE_EDGE = 1e-6
PWM_SPAN_US = 400.0     # PWM of a normalized command of one
# [bytes] 100 times the published table of the T200, which has a row for every 4 us.
LARGEST_CURVE_FILE = 1_000_000
# Standard deviation of a thrust near its dead zone, as a share of the largest thrust. A T200's sets
# in at 8 to 11 % of the full command, depending on the voltage, with .8 % of its largest thrust.
LOW_THRUST_SHARE = 0.01
# [N] Ten times the thrust of the largest ships' thrusters.
MOST_THRUST = 1e7


class _Outward(NamedTuple):
    """Thrust [N] against PWM [us] from neutral outward, and its running maximum, (k,) each."""

    pwm_us: np.ndarray
    thrust: np.ndarray
    peak: np.ndarray

    @classmethod
    def of(cls, pwm_us: np.ndarray, thrust: np.ndarray) -> _Outward:
        """The curve with neutral, which gives no thrust, prepended."""
        pwm_us, thrust = np.r_[NEUTRAL_PWM_US, pwm_us], np.r_[0.0, thrust]
        return cls(pwm_us, thrust, np.maximum.accumulate(thrust))

    def first_reached(self, wanted: np.ndarray) -> np.ndarray:
        """PWM [us] where the curve, followed outward, first reaches `wanted` > 0.

        The running maximum makes the search valid on a curve that is not monotone: the first value
        whose running maximum reaches `wanted` is itself that maximum, and the one before it is
        still below `wanted`.
        """
        pwm, thrust, peak = self
        wanted = np.minimum(wanted, peak[-1])
        right = np.maximum(np.searchsorted(peak, wanted, side="left"), 1)
        if not peak[-1] > 0.0:
            return np.full(wanted.shape, NEUTRAL_PWM_US)
        part = (wanted - thrust[right - 1]) / (thrust[right] - thrust[right - 1])
        return pwm[right - 1] + part * (pwm[right] - pwm[right - 1])


def neutral_command(unit: str) -> float:
    """The command without thrust, in the unit `thrusters.unit`."""
    return NEUTRAL_PWM_US if unit == "pwm" else 0.0


def acting(command: np.ndarray, zone: np.ndarray | float, kind: str) -> np.ndarray:
    """The part of commands about neutral that acts, given a dead zone in the same unit: beyond it
    all of a command (ZONE_CUT), or only what exceeds it (ZONE_SHIFT)."""
    size = np.abs(command)
    if kind == ZONE_CUT:
        return np.where(size < zone, 0.0, command)
    return np.sign(command) * np.maximum(size - zone, 0.0)


class ThrustCurve:
    """Static thrust map of one thruster: a table over PWM and voltage, interpolated linearly.

    `pwm_us` (p,) PWM [us], `voltages` (k,) battery voltage [V], `thrust_n` (p, k) thrust [N],
    positive forward. The dead band is that of the table; beyond its ends, the end values hold.
    Raises ConfigError for a table that is not finite, not increasing in PWM and voltage, or without
    zero thrust at neutral.
    """

    def __init__(self, pwm_us, voltages, thrust_n):
        self.pwm_us = np.array(pwm_us, dtype=float)
        self.voltages = np.array(voltages, dtype=float)
        self.thrust_n = np.array(thrust_n, dtype=float)
        self._check()
        # Cache for the last voltage: most callers use the same one at every command.
        self._outward: tuple[float, _Outward, _Outward] | None = None
        for table in (self.pwm_us, self.voltages, self.thrust_n):
            table.setflags(write=False)

    @staticmethod
    def turning(pwm_us: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """PWM (n,) [us] of motors with directions signs (n,), +1 or -1: mirrored about neutral for
        -1, as an ESC or autopilot reverses a motor (ArduSub's MOT_n_DIRECTION)."""
        return NEUTRAL_PWM_US + signs * (pwm_us - NEUTRAL_PWM_US)

    def _check(self) -> None:
        shape = (self.pwm_us.size, self.voltages.size)
        if self.thrust_n.shape != shape or shape[0] < 3 or shape[1] < 1:
            raise ConfigError(
                f"thrust table: got shape {self.thrust_n.shape}, expected {shape} (PWM values, "
                "voltages) with at least 3 PWM values and 1 voltage; give one row per PWM value "
                "and one column per voltage")
        for name, axis in (("PWM", self.pwm_us), ("voltage", self.voltages)):
            if not np.all(np.isfinite(axis)) or np.any(np.diff(axis) <= 0):
                raise ConfigError(f"thrust table: {name} values {brief(axis.tolist())} must be "
                                  "finite and increasing; sort the table")
        if not np.all(np.abs(self.thrust_n) <= MOST_THRUST):      # false for NaN
            raise ConfigError("thrust table: some thrust is not finite, or beyond "
                              f"{MOST_THRUST:g} N; correct or remove the row")
        if not np.any(self.thrust_n):
            raise ConfigError("thrust table: thrust is 0 at every PWM; expected a thruster's curve")
        if not self.pwm_us[0] < NEUTRAL_PWM_US < self.pwm_us[-1]:
            raise ConfigError(
                f"thrust table: PWM runs from {self.pwm_us[0]} to {self.pwm_us[-1]} us, expected "
                f"to enclose neutral {NEUTRAL_PWM_US} us")
        neutral = self.thrust(NEUTRAL_PWM_US, self.voltages)
        if np.any(np.abs(neutral) > 1e-9):
            raise ConfigError(
                f"thrust table: thrust at {NEUTRAL_PWM_US} us is {brief(neutral.tolist())} N, "
                "expected 0 at every voltage; shift the PWM column so that 1500 us is neutral")

    @classmethod
    def t200(cls) -> ThrustCurve:
        """The curve of the Blue Robotics T200 at 10, 12, 14, 16, 18 and 20 V, 1100-1900 us."""
        pwm = np.arange(1100.0, 1900.5, 4.0)
        columns = [np.interp(pwm, list(knots), np.array(list(knots.values())) / 100.0)
                   for knots in T200_KNOTS.values()]
        return cls(pwm, list(T200_KNOTS), np.column_stack(columns))

    @classmethod
    def of_setting(cls, curve: str) -> ThrustCurve:
        """The curve of the setting thrusters.curve: 't200', or the path of a CSV."""
        return cls.t200() if curve == DEFAULT_CURVE else cls.from_csv(curve)

    @classmethod
    def of_settings(cls, settings: Thrusters) -> ThrustCurve:
        """The curve of the settings, with their dead zone."""
        curve, zone = cls.of_setting(settings.curve), PWM_SPAN_US * settings.dead_zone
        if not zone:
            return curve
        knots = curve.pwm_us - NEUTRAL_PWM_US
        ends = zone * np.array([-1.0, -1.0 + DEAD_ZONE_EDGE, 1.0 - DEAD_ZONE_EDGE, 1.0])
        u = np.unique(np.concatenate([knots, knots + np.sign(knots) * zone, ends]))
        u = u[(u >= knots[0]) & (u <= knots[-1])]
        acts = NEUTRAL_PWM_US + acting(u, zone, settings.dead_zone_kind)
        return cls(NEUTRAL_PWM_US + u, curve.voltages,
                   curve.thrust(acts[:, None], curve.voltages))

    @classmethod
    def from_csv(cls, path: str | Path) -> ThrustCurve:
        """Read a table with header `pwm_us,thrust_10V_N,thrust_12V_N,...`.

        PWM [us], and one thrust column [N] per voltage. Raises ConfigError if the file is missing
        or does not have this form.
        """
        what = f"thrust table {brief(str(path), PATH)}"
        header, *rows = read_text(path, what, LARGEST_CURVE_FILE, ConfigError,
                                  "a CSV file with PWM and thrust").split() or [""]
        first, *names = header.split(",")
        try:
            if first != "pwm_us" or not all(name.startswith("thrust_") and name.endswith("V_N")
                                            for name in names):
                raise ValueError(f"header {brief(header)}")
            table = np.array([[float(x) for x in row.split(",")] for row in rows])
            voltages = [float(name[len("thrust_"):-len("V_N")]) for name in names]
            return cls(table[:, 0], voltages, table[:, 1:])
        except ConfigError as error:
            raise ConfigError(str(error).replace("thrust table", what, 1)) from None
        except (ValueError, IndexError) as error:
            raise ConfigError(f"{what}: got {brief(str(error))}, expected a header "
                              "pwm_us,thrust_10V_N,.. and as many numbers in every row") from error

    def thrust(self, pwm_us, voltage):
        """Thrust [N] at PWM [us] and voltage [V], which broadcast; NaN stays NaN."""
        pwm, volt = np.broadcast_arrays(np.asarray(pwm_us, float), np.asarray(voltage, float))
        row, right = self._cell(self.pwm_us, pwm)
        column, high = self._cell(self.voltages, volt)
        beside = np.minimum(column + 1, self.voltages.size - 1)
        low_v = (1 - right) * self.thrust_n[row, column] + right * self.thrust_n[row + 1, column]
        high_v = (1 - right) * self.thrust_n[row, beside] + right * self.thrust_n[row + 1, beside]
        return ((1 - high) * low_v + high * high_v)[()]

    @staticmethod
    def _cell(axis: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Index of the table cell that contains `value`, and the position within it, 0 to 1."""
        if axis.size == 1:
            return np.zeros(value.shape, dtype=int), 0.0 * value
        inside = np.minimum(np.maximum(value, axis[0]), axis[-1])   # np.clip takes twice as long
        index = np.minimum(np.searchsorted(axis, inside, side="right") - 1, axis.size - 2)
        return index, (inside - axis[index]) / (axis[index + 1] - axis[index])

    def command(self, thrust_n, voltage):
        """PWM [us] closest to neutral that gives thrust [N] at voltage [V]; both broadcast.

        Zero thrust gives neutral; more than the largest thrust gives the command of the largest.
        """
        wanted, volt = np.broadcast_arrays(np.asarray(thrust_n, float), np.asarray(voltage, float))
        result = np.where(np.isnan(wanted) | np.isnan(volt), np.nan, NEUTRAL_PWM_US)
        for v in np.unique(volt[~np.isnan(volt)]):
            ahead, astern = self._outward_at(float(v))
            forward, backward = (volt == v) & (wanted > 0), (volt == v) & (wanted < 0)
            result[forward] = ahead.first_reached(wanted[forward])
            result[backward] = astern.first_reached(-wanted[backward])
        return result[()]

    def _outward_at(self, voltage: float) -> tuple[_Outward, _Outward]:
        """The curve from neutral forward and backward at a voltage [V], thrust positive in both."""
        kept = self._outward
        if kept is None or kept[0] != voltage:
            column = self.thrust(self.pwm_us, voltage)
            up, down = self.pwm_us > NEUTRAL_PWM_US, self.pwm_us < NEUTRAL_PWM_US
            kept = self._outward = (
                voltage, _Outward.of(self.pwm_us[up], column[up]),
                _Outward.of(self.pwm_us[down][::-1], -column[down][::-1]))
        return kept[1:]

    def limits(self, voltage: float) -> tuple[float, float]:
        """Largest backward (negative) and forward thrust [N] at a voltage [V]."""
        column = self.thrust(self.pwm_us, float(voltage))
        return float(column.min()), float(column.max())
