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

"""Sets of parameters beyond the paper's, chosen by the setting `robot.terms` (docs/terms.md;
equations: docs/mathematics.md, "Further terms").

`TERM_SETS` has them by name in the order of the parameter table: vehicle, then joints."""
from __future__ import annotations

from .declaration import Inequality, Parameter, Sizes, TermInput, TermSet
from .joint_sets import DeadBand, FrictionByDirection, JointOffsets, Rotor
from .link_drag import LinkDrag
from .vehicle_sets import (
    Current,
    OffAxisDamping,
    OffAxisInertia,
    ThrustByDirection,
    VehicleOffsets,
)

__all__ = ["TERM_SETS", "Inequality", "Parameter", "Sizes", "TermInput", "TermSet"]

TERM_SETS: dict[str, TermSet] = {one.name: one for one in (
    VehicleOffsets(), OffAxisInertia(), OffAxisDamping(), ThrustByDirection(), Current(), Rotor(),
    JointOffsets(), FrictionByDirection(), DeadBand(), LinkDrag())}
