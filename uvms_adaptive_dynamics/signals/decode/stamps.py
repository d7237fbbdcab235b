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

"""The stamp of a message's header."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...errors import MessageError


class Stamp(NamedTuple):
    """t [s since the epoch]: of a message's header, None if it has none; unstamped: whether the
    message has a header without a time."""

    t: float | None
    unstamped: bool


def read_stamp(message: Any) -> Stamp:
    """A message's stamp; raises MessageError if it is not a valid time."""
    t = stamp_of(message)
    return Stamp(t, t is None and getattr(message, "header", None) is not None)


def stamp_of(message: Any) -> float | None:
    """The header's stamp [s since the epoch]; None without a header or with a stamp of zero.

    Raises MessageError if it is not a valid time.
    """
    header = getattr(message, "header", None)
    try:
        if header is None or (header.stamp.sec == 0 and header.stamp.nanosec == 0):
            return None
        stamp = float(header.stamp.sec + 1e-9 * header.stamp.nanosec)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise MessageError(f"header has no stamp ({error})") from None
    if not math.isfinite(stamp):
        raise MessageError("stamp is not finite")
    return stamp
