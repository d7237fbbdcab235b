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

"""Sensor input of a controller on the simulated robot, whose sensors share one clock."""
from __future__ import annotations

from ..control.state_filter import StateFilter
from ..errors import MessageError
from ..signals.decode.decoder import Decoder
from ..signals.decode.stamps import stamp_of
from ..simulation.faults.stream import Received


def sense(filter_: StateFilter, decoder: Decoder, message: Received) -> list[float] | None:
    """Give the filter a message at its own timestamp; returns its values as listed in `decoder`,
    None if it is unusable, which counts as missing."""
    try:
        stamp = stamp_of(message.message)
        if stamp is None:
            return None
        values = decoder.decode(message.role, message.message)
    except MessageError:
        return None
    filter_.add(message.role, stamp, values)
    return values
