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

"""Messages decoded immediately, each with its time on the common clock: for users that, unlike
`MessageReader`, cannot wait until the clock of every message is known."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...config import Config
from .clocks import Clocks, Handling, delays
from .decoder import Decoder
from .joint_parts import LatestJoints
from .stamps import read_stamp


class TimedDecoder:
    """Decodes the messages of some roles; those received before the clocks are known are dropped.
    `jumped()` is called when the common clock jumps, and must call `reset`."""

    def __init__(self, config: Config, roles: Iterable[str], jumped: Callable[[], None],
                 prismatic: Sequence[bool] = ()):
        """prismatic (n,): see `Decoder`."""
        self._decoder, self._jumped = Decoder(config, prismatic), jumped
        self._clocks = Clocks(roles, delays(config))
        self._joints = LatestJoints(config.joint_states.names or config.robot.joints)

    def change_settings(self, config: Config) -> None:
        """See `Decoder.change_settings`."""
        self._decoder.change_settings(config)

    def reset(self) -> None:
        """Forget all clocks."""
        self._clocks.reset()
        self._decoder.turns.restart()
        self._joints.reset()

    def now(self, receive: float) -> float | None:
        """The time `receive` [s] of the receiver's clock on the common one; None until known."""
        reference = self._clocks.reference
        return None if reference is None else receive - reference

    def decode(self, role: str, message: Any, receive: float) -> tuple[float, list[float]] | None:
        """(time [s] on the common clock, values as listed in `decoder`) of a message received at
        `receive` [s]; for joints, the newest state of each and the time of the oldest. None if the
        time is not known, or a joint has not appeared yet. Raises MessageError for an unusable
        message."""
        values, (stamp, unstamped) = self._decoder.decode(role, message), read_stamp(message)
        handling = self._clocks.observe(role, stamp, receive, unstamped)
        if handling is Handling.JUMPED:
            self._jumped()
            handling = self._clocks.observe(role, stamp, receive, unstamped)
        if handling not in (Handling.USE, Handling.RELEASE):
            return None
        t = self._clocks.data_time(role, stamp, receive)
        return self._joints.add(t, values) if role == "joint_states" else (t, values)
