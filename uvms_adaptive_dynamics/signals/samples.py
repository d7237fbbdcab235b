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

"""The samples of a whole recording, from its messages through a front end."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..model.sample import Sample
from .front_end import SignalFrontEnd


def samples_of(front_end: SignalFrontEnd,
               messages: Iterable[tuple[str, Any, float]]) -> list[Sample]:
    """All samples of the messages (role, message, time of reception [s since the epoch])."""
    samples = []
    for role, message, receive_time in messages:
        front_end.add_message(role, message, receive_time)
        samples += front_end.samples()
    return samples + front_end.flush()
