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

"""A case for the verdicts: a robot, what is wrong with it, and whether `good` is right."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...simulation.faults.stream import Fault
from ...simulation.rough import Roughness


@dataclass(frozen=True)
class Setup:
    """A simulated recording and the settings for its evaluation.

    good: `good` is the right verdict; duration [s]; individual: which robot of its kind; rough:
    effects that the model lacks; robot: changed parameters of the true robot; motion (6 + n,):
    share of each axis's and joint's excursion, empty for the full motion; faults: of the messages;
    publish: settings of robot and messages, shared by the evaluation; settings: further settings of
    the evaluation only.
    """

    name: str
    good: bool
    duration: float = 50.0
    individual: int = 0
    rough: Roughness = Roughness()
    robot: Mapping[str, Any] = field(default_factory=dict)
    motion: tuple[float, ...] = ()
    faults: tuple[Fault, ...] = ()
    publish: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
