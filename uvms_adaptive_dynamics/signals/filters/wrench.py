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

"""The thruster wrench at a tick, and its sources without a thruster model."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...config import Config
from ..gates.choose import spike_gate
from ..gates.spikes import GatedRow, SpikeGate
from .series import Series

NO_WRENCH = "no wrench"
FORCE_FLOOR = 0.4         # [N] smallest scale of the gate
TORQUE_FLOOR = 0.2 * FORCE_FLOOR      # [N m] thrusters act about 0.2 m from the origin


class BodyWrench(NamedTuple):
    """Wrench (6,) [N, N m] about the body origin, FRD; mask_reason: why its rows are masked, or '';
    by_thruster (6, N): each thruster's contribution, None if unknown."""

    wrench: np.ndarray
    mask_reason: str
    by_thruster: np.ndarray | None = None


class MeasuredWrench:
    """A measured or commanded body wrench topic, gated and interpolated.

    Gaps longer than `timeout` [s] mask the rows; `on_reject(role, reason)` counts rejections;
    gates: `filter.gates`.
    """

    def __init__(self, timeout: float, on_reject: Callable[[str, str], None], gates: bool = True):
        self._timeout, self._on_reject = timeout, on_reject
        self._gate = _gate(gates)
        self._series = Series(6)

    def change_settings(self, config: Config, gates_change: bool) -> None:
        """Use new settings from now on; gates_change: `filter.gates` has changed."""
        self._timeout = config.thrusters.timeout
        if gates_change:
            self.flush()
            self._gate = _gate(config.filter.gates)

    def reset(self) -> None:
        """Forget all messages."""
        self._gate.reset()
        self._series.clear()

    def add(self, t: float, reading: Sequence[float]) -> None:
        """Add a wrench (6,) at time t; it is used once the gate has decided."""
        self._append(self._gate.gate(t, reading))

    def flush(self) -> None:
        """Add what the gate still holds, at the end of a recording."""
        self._append(self._gate.flush())

    def discard_after(self, t: float) -> None:
        """Forget the wrenches after t."""
        self._gate.reset()
        self._series.discard_after(t)

    def _append(self, rows: Iterable[GatedRow]) -> None:
        for gated in rows:
            if gated.spikes is not None:
                self._on_reject("wrench", "spike")
            self._series.append(gated.t, gated.row)

    def wrench(self, t: float) -> BodyWrench:
        """The wrench at time t."""
        wrench = self._series.interpolate(t)
        if wrench is None or self._series.gap_around(t) > self._timeout:
            return BodyWrench(np.zeros(6), NO_WRENCH)
        return BodyWrench(wrench, "")


def _gate(gates: bool) -> SpikeGate:
    return spike_gate(gates, [FORCE_FLOOR] * 3 + [TORQUE_FLOOR] * 3)


class NoWrench:
    """The zero wrench of a robot without thrusters."""

    def change_settings(self, config: Config, gates_change: bool) -> None:
        """Do nothing."""

    def reset(self) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""

    def wrench(self, t: float) -> BodyWrench:
        """The zero wrench, at any time."""
        return BodyWrench(np.zeros(6), "")
