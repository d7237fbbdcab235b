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
"""Joint states in parts, as when the drivers of an arm and of its torso or gripper each publish
their own joints on one topic.

Each part has its own stamps. Whole readings are made at the stamps of the part with the most
joints, by interpolating the others between their neighbouring readings. While a part is silent
there are none, since every joint of an arm carries, or is carried by, the others.
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from ...config import Config
from ...errors import MessageError

# [s] after the first part within which every joint must appear: as long as silence is no error.
GRACE = 1.0
NOT_LATER = "stamp not later than the last"
READINGS_KEPT = 400  # readings of a part: half a second at 800 Hz


class _State(NamedTuple):
    """Values (3 n,) of a message at t [s], NaN for joints that it does not contain."""

    t: float
    values: Sequence[float]


def joints_in(values: Sequence[float]) -> tuple[int, ...]:
    """Indices of the joints that a message's values (3 n,) contain."""
    return tuple(j for j in range(len(values) // 3) if not math.isnan(values[j]))


class JointParts:
    """Combines messages with parts of the joints into whole readings.

    Whole messages pass unchanged, and while they come, parts are refused. `names` of the joints;
    `timeout` [s]: how long a part may pause."""

    def __init__(self, names: Sequence[str], timeout: float):
        self._names, self.timeout = tuple(names), timeout
        self.reset()

    def change_settings(self, config: Config) -> None:
        """Adopt another `joint_states.timeout`."""
        self.timeout = config.joint_states.timeout

    def reset(self) -> None:
        """Forget all readings."""
        self._parts: dict[tuple[int, ...], deque[_State]] = {}     # by their joints
        self._lead: tuple[int, ...] = ()
        self._waiting: deque[_State] = deque()     # of the leading part
        self._begin = self._whole = self._made = -math.inf      # [s]

    def add(self, t: float, values: Sequence[float]) -> list[tuple[float, list[float]]]:
        """(time [s], values (3 n,)) of the whole readings that a message at t [s] completes. Raises
        MessageError if it is not later than the last, or if a joint is missing."""
        joints = joints_in(values)
        if len(joints) == len(self._names):
            if t <= self._made:
                raise MessageError(NOT_LATER)
            self._whole = self._made = t
            return [(t, list(values))]
        if t - self._whole <= self.timeout:
            raise self._missing([name for j, name in enumerate(self._names) if j not in joints])
        part = self._parts.setdefault(joints, deque(maxlen=READINGS_KEPT))
        if part and t <= part[-1].t:
            raise MessageError(NOT_LATER)
        if math.isinf(self._begin):
            self._begin = t
        part.append(_State(t, values))
        self._require_all(t)
        self._forget_silent(t)
        lead = max(self._parts, key=len)
        if lead != self._lead:
            self._lead = lead
            self._waiting.clear()
        if joints == lead:
            self._waiting.append(part[-1])
        return self._completed(lead, t)

    def _require_all(self, t: float) -> None:
        """Raise MessageError if a joint has never appeared in time, or has fallen silent."""
        newest = [max((part[-1].t for joints, part in self._parts.items() if j in joints),
                      default=-math.inf) for j in range(len(self._names))]
        missing = [name for name, at in zip(self._names, newest) if math.isinf(at)]
        if missing and t - self._begin > GRACE:
            raise self._missing(missing)
        silent = [name for name, at in zip(self._names, newest)
                  if not math.isinf(at) and t - at > max(self.timeout, GRACE)]
        if silent:
            self._waiting.clear()
            raise MessageError(f"joint '{silent[0]}' is silent, while other joints' messages come; "
                               "check its driver, or raise joint_states.timeout")

    def _forget_silent(self, t: float) -> None:
        """Forget the parts that no longer come, since the joints come grouped otherwise (all of
        them do: `_require_all`)."""
        self._parts = {joints: part for joints, part in self._parts.items()
                       if t - part[-1].t <= max(self.timeout, GRACE)}

    def _missing(self, missing: Sequence[str]) -> MessageError:
        found = ", ".join(name for name in self._names if name not in missing)
        return MessageError(f"joint '{missing[0]}' is missing; the messages have {found} "
                            "(check robot.joints, or set joint_states.names if the messages use "
                            "other names)")

    def _completed(self, lead: tuple[int, ...], t: float) -> list[tuple[float, list[float]]]:
        """The waiting readings that the other parts enclose by now (t [s])."""
        made = []
        while self._waiting:
            state = self._waiting[0]
            values, waits = self._whole_at(state, lead)
            if waits and t - state.t <= self.timeout:
                break
            self._waiting.popleft()
            if values is not None and state.t > self._made:
                self._made = state.t
                made.append((state.t, values))
        return made

    def _whole_at(self, state: _State,
                  lead: tuple[int, ...]) -> tuple[list[float] | None, bool]:
        """(whole reading at a state's time or None, whether another part is still to come)."""
        n, whole = len(self._names), list(state.values)
        for j in sorted(set(range(n)) - set(lead)):
            part = next((part for joints, part in self._parts.items() if j in joints), None)
            if part is None or part[-1].t < state.t:
                return None, True
            after = next(each for each in part if each.t >= state.t)
            before = next((each for each in reversed(part) if each.t <= state.t), None)
            if before is None or after.t - before.t > self.timeout:
                return None, False
            whole[j], whole[n + j], whole[2 * n + j] = _between(before, after, state.t, j, n)
        return whole, False


def _between(before: _State, after: _State, t: float, j: int,
             n: int) -> tuple[float, float, float]:
    """Position, velocity and effort of joint j at t [s], interpolated between two states: cubic
    through positions and velocities, or linear if velocities are missing."""
    a, b, span = before.values, after.values, after.t - before.t
    if span <= 0.0:
        return a[j], a[n + j], a[2 * n + j]
    s = (t - before.t) / span
    position = a[j] + s * (b[j] - a[j])
    velocity = a[n + j] + s * (b[n + j] - a[n + j])
    if math.isfinite(velocity):
        way = b[j] - a[j]
        u, v = span * a[n + j] - way, span * b[n + j] - way
        position += s * (1.0 - s) * (u * (1.0 - s) - v * s)
    return position, velocity, a[2 * n + j] + s * (b[2 * n + j] - a[2 * n + j])


class LatestJoints:
    """The newest state of each joint, for users that cannot wait; as old as the oldest of them."""

    def __init__(self, names: Sequence[str]):
        self._names = tuple(names)
        self.reset()

    def reset(self) -> None:
        """Forget all states."""
        self._begin = math.inf
        self._times = [-math.inf for _ in self._names]
        self._values = [math.nan] * (3 * len(self._names))

    def add(self, t: float, values: Sequence[float]) -> tuple[float, list[float]] | None:
        """(time [s], values (3 n,)), None until every joint has appeared. Raises MessageError if
        one does not appear."""
        n, self._begin = len(self._names), min(self._begin, t)
        for j in joints_in(values):
            if t > self._times[j]:
                self._times[j] = t
                self._values[j::n] = values[j::n]
        oldest = min(self._times)
        if math.isinf(oldest):
            if t - self._begin > GRACE:
                name = self._names[self._times.index(oldest)]
                raise MessageError(f"joint '{name}' is missing (check robot.joints, or set "
                                   "joint_states.names if the messages use other names)")
            return None
        return oldest, list(self._values)
