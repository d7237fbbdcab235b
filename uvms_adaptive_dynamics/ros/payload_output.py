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

"""Publish the payload in the gripper on ~/payload (docs/payload.md)."""
from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from ..estimation.payload import Payload
from . import messages
from .status import OK

PERIOD_S = 1.0      # between messages while a payload is held


class PayloadOutput:
    """Requests the payload every PERIOD_S and publishes the answer at the next `check`,
    without waiting. Call `check` on one thread at a time.
    """

    def __init__(self, publish: Callable[[str, Any], None],
                 request: Callable[[Callable[[Any], Any]], Future], node_name: str):
        self._publish, self._request, self._node_name = publish, request, node_name
        self._asked: Future | None = None
        self._said_empty = False

    def check(self) -> None:
        """Publish an answer received since the last call, and request again."""
        if (self._asked is not None and self._asked.done() and not self._asked.cancelled()
                and self._asked.exception() is None):
            t, held = self._asked.result()
            if held is not None or not self._said_empty:
                self._publish("payload", payload_message(t, self._node_name, held))
            self._said_empty = held is None
        if self._asked is None or self._asked.done():
            self._asked = self._request(
                lambda estimator: (estimator.last_t or 0.0, estimator.payload.payload()))


def payload_message(t: float, node: str, held: Payload | None) -> Any:
    """Status of the payload (None: nothing held) at stamp t [s]; unknown values have no key."""
    if held is None:
        return messages.status_array(t, node, "payload", OK, "nothing is held", {"held": "false"})
    low, high = held.mass_interval
    values: dict[str, object] = {
        "held": "true", "name": held.name, "joint": held.joint, "since": f"{held.since:.3f}",
        "seconds": held.seconds, "mass": held.mass, "mass stddev": held.mass_stddev,
        "mass low": low, "mass high": high}
    if np.isfinite(held.place).all():
        for axis, place, stddev in zip("xyz", held.place, held.place_stddev):
            values |= {axis: float(place), f"{axis} stddev": float(stddev)}
    return messages.status_array(t, node, "payload", OK, held.sentence(), values)
