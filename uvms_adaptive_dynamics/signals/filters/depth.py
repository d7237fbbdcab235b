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

"""Gated depth, and the masks for a robot at the surface or on the floor."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...config import Config
from ..gates.choose import spike_gate
from ..gates.spikes import GatedRow
from .series import Series

AT_SURFACE = "at the surface"
DEPTH_FLOOR = 0.05        # [m] smallest scale of the gate
# [m] Above any water in any weather: a pressure of half an atmosphere.
ABOVE_ALL_WATER = -5.0
DEPTH_LOOKAHEAD = 0.25    # [s] of the gate: depth sensors are slow


class DepthFilter:
    """Gated depth [m]; `on_reject(role, reason)` counts rejections, `log` feeds the frame checks.
    """

    def __init__(self, config: Config,
                 on_reject: Callable[[str, str], None] = lambda role, reason: None,
                 log: Callable[..., None] = lambda name, t, *values: None):
        self._settings, self._on_reject, self._log = config.depth, on_reject, log
        self._gate = spike_gate(config.filter.gates, [DEPTH_FLOOR], DEPTH_LOOKAHEAD)
        self._series = Series(1)
        self._speed = config.limits.speed
        self._last: tuple[float, float] | None = None     # time and depth of the last possible one

    def change_settings(self, config: Config, gates_change: bool) -> None:
        """Use new settings from now on; gates_change: `filter.gates` has changed."""
        self._settings, self._speed = config.depth, config.limits.speed
        if gates_change:
            self.flush()
            self._gate = spike_gate(config.filter.gates, [DEPTH_FLOOR], DEPTH_LOOKAHEAD)

    def reset(self) -> None:
        """Forget all depths."""
        self._gate.reset()
        self._series.clear()
        self._last = None

    def add(self, t: float, reading: Sequence[float]) -> None:
        """Add a depth (1,) at time t; it is used once the gate has decided. A depth that the
        vehicle cannot have reached since the last possible one is refused; after a wrong first
        value, or a reset of the sensor, until enough time has passed."""
        if self._last is not None:
            reach = self._speed * (t - self._last[0]) + DEPTH_FLOOR
            if abs(reading[0] - self._last[1]) > reach:
                self._on_reject("depth", "implausible step")
                return
        self._last = t, reading[0]
        self._append(self._gate.gate(t, reading))

    def flush(self) -> None:
        """Add what the gate still holds, at the end of a recording."""
        self._append(self._gate.flush())

    def discard_after(self, t: float) -> None:
        """Remove the depths after t, from a frozen sensor."""
        self._series.discard_after(t)

    def _append(self, rows: Iterable[GatedRow]) -> None:
        for gated in rows:
            if gated.spikes is not None:
                self._on_reject("depth", "spike")
            self._series.append(gated.t, gated.row)
            self._log("depth", gated.t, gated.row)

    def sentences(self) -> list[str]:
        """Warnings for the operator about the depth."""
        if not len(self._series) or self._series.last_row[0] > ABOVE_ALL_WATER:
            return []
        return [f"depth: {self._series.last_row[0]:.1f} m is above any water; either the unit is "
                "wrong (correct depth.unit), or the pressure is relative to the surface (set "
                "robot.surface_pressure to 0)"]

    def mask_reason(self, t: float) -> str:
        """Why the vehicle's rows are masked at t because of its depth, '' if they are not."""
        depth = self._at(t)
        if depth is None:
            return ""
        if depth < self._settings.minimum:
            return AT_SURFACE
        return "on the floor" if depth > self._settings.maximum else ""

    def arm_mask_reason(self, t: float) -> str:
        """Why the arm's rows are masked at t: at the surface the robot may be on deck, where the
        arm weighs more than in water by all that it displaces. A depth above any water is a wrong
        unit, and says nothing of where the arm is."""
        depth = self._at(t)
        shallow = depth is not None and ABOVE_ALL_WATER < depth < self._settings.minimum
        return AT_SURFACE if shallow else ""

    def _at(self, t: float) -> float | None:
        """The latest depth [m] at t, None if it is too old."""
        latest = self._series.latest(t)
        if latest is None or t - latest[0] > self._settings.timeout:
            return None
        return float(latest[1][0])
