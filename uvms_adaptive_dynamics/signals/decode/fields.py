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

"""Access to fields of messages: sequences and vectors, with checks of their values."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...errors import MessageError


def pose_of(message: Any) -> Any:
    """The pose of a PoseStamped, PoseWithCovarianceStamped or Odometry."""
    return getattr(message.pose, "pose", message.pose)


def finite_vector(xyz: Any, what: str) -> tuple[float, float, float]:
    """(x, y, z) of a vector; raises MessageError for NaN and infinity."""
    x, y, z = xyz.x, xyz.y, xyz.z
    if not math.isfinite(x + y + z):      # cheaper than three tests: NaN and infinity propagate
        raise MessageError(f"{what} is not finite")
    return x, y, z


def check_finite(values: list[float], what: str) -> list[float]:
    """The values; raises MessageError for NaN and infinity."""
    if not math.isfinite(sum(values)):
        raise MessageError(f"{what} is not finite")
    return values


def check_limit(values: Sequence[float], largest: float, what: str, unit: str) -> None:
    """Raise MessageError for values that no sensor can measure; NaN passes."""
    if any(abs(value) > largest for value in values):
        raise MessageError(f"{what} is beyond what a sensor can measure "
                           f"({max(values, key=abs):.3g}, at most {largest:g} {unit})")


def dynamic_joint_state(message: Any) -> tuple[Sequence[str], Any, Any, Any]:
    """(names, positions, velocities, efforts) of a control_msgs/DynamicJointState."""
    names = list(message.joint_names)
    columns = {}
    for field in ("position", "velocity", "effort"):
        values = [dict(zip(entry.interface_names, entry.values)).get(field)
                  for entry in message.interface_values]
        columns[field] = [] if any(v is None for v in values) else values
    return names, columns["position"], columns["velocity"], columns["effort"]


def floats(values: Any) -> list[float]:
    """A message's sequence (numpy or Python array, list, tuple) as a list of floats."""
    return [float(v) for v in (values.tolist() if hasattr(values, "tolist") else values)]
