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

"""How thrusters respond to commands near neutral: dead zones, and laws that resemble them."""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...config.thrusters import ZONE_CUT, ZONE_SHIFT
from ...model.thrust_curve import acting

POWER = "power"     # thrust is a power of the thrust that is expected


class Response(NamedTuple):
    """A response that is tried besides the configured one.

    kind: ZONE_CUT or ZONE_SHIFT, with a dead zone of `value` [share of full command] in place of
    the configured one; POWER, with exponent `value`."""

    kind: str
    value: float


class TriedResponses:
    """The thrust that each of K responses gives."""

    def __init__(self, tried: tuple[Response, ...]):
        self._kinds = [(kind, np.array([one.value for one in tried if one.kind == kind])[:, None],
                        [k for k, one in enumerate(tried) if one.kind == kind])
                       for kind in (ZONE_CUT, ZONE_SHIFT, POWER)]
        self.count = len(tried)

    def acting(self, command: np.ndarray, full: float, expected: np.ndarray) -> np.ndarray:
        """(..., K, N) commands about neutral that act where (..., N) are given; `expected`
        (..., N) for POWER. full: the full command."""
        found = np.empty((*command.shape[:-1], self.count, command.shape[-1]))
        for kind, values, places in self._kinds:
            found[..., places, :] = (
                expected[..., None, :] if kind == POWER
                else acting(command[..., None, :], full * values, kind))
        return found

    def bent(self, thrust: np.ndarray) -> np.ndarray:
        """Thrust (..., K, N) with the exponents applied."""
        for kind, values, places in self._kinds:
            if kind == POWER:
                one = thrust[..., places, :]
                thrust[..., places, :] = np.sign(one) * np.abs(one) ** values
        return thrust


class TriedRotors:
    """N rotors that follow their commands with a lag, under each of K responses. They are simulated
    on demand, through all commands since the last time at once."""

    def __init__(self, responses: int, thrusters: int):
        self._zero = np.zeros((responses, thrusters))
        self.reset()

    def reset(self) -> None:
        """Rotors without a command."""
        # the command in force at the time up to which the rotors have been simulated, and later
        # ones: the time from which each acts [s], command (N,)
        self._commands: list[tuple[float, np.ndarray]] = []
        self._thrust: np.ndarray | None = None      # (K, N) [N] at the first of these times
        self._impulse = self._zero                  # (K, N) [N s] up to there

    def add(self, t: float, command: np.ndarray) -> None:
        """Add a command (N,) that acts from t [s] on, not before the last one."""
        self._commands.append((t, command))

    def impulses(self, times: np.ndarray, lag: float,
                 thrust_of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """[N s] Integrals (k, K, N) of the thrust up to the times (k,) [s], which increase, also
        from call to call. lag [s]: the rotors' time constant; thrust_of: gives the thrust (m, K, N)
        of commands (m, N)."""
        if not self._commands:
            return np.zeros((len(times), *self._zero.shape))
        begin, commands = (np.array(each) for each in zip(*self._commands))
        target, at = thrust_of(commands), times[:, None]
        start = target[0] if self._thrust is None else self._thrust
        # (k, m) what is left at each time of the thrust with which each command began
        left = (np.exp(np.minimum(begin - at, 0.0) / lag) if lag
                else (begin > at).astype(float))
        share = np.diff(left, append=1.0)
        thrust = left[:, :1, None] * start + np.tensordot(share, target, 1)
        spans = np.diff(np.minimum(begin, at), append=at)
        impulses = self._impulse + np.tensordot(spans, target, 1) - lag * (thrust - start)
        last = int(np.searchsorted(begin, times[-1], side="right")) - 1
        self._commands = [(times[-1], commands[last]), *self._commands[last + 1:]]
        self._thrust, self._impulse = thrust[-1], impulses[-1]
        return impulses
