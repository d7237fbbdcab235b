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

"""Messages of the real ROS 2 types, made from numbers."""
from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from ...signals.topics import DEFINITIONS

IMU, TWIST = "sensor_msgs/msg/Imu", "geometry_msgs/msg/TwistWithCovarianceStamped"
PRESSURE_TYPE, BATTERY_TYPE = "sensor_msgs/msg/FluidPressure", "sensor_msgs/msg/BatteryState"
RC_OUT = "mavros_msgs/msg/RCOut"


@cache
def type_store() -> Typestore:
    """Jazzy's types plus those of DEFINITIONS."""
    store = get_typestore(Stores.ROS2_JAZZY)
    for name, definition in DEFINITIONS.items():
        store.register(get_types_from_msg(definition, name))
    return store


def make(name: str, /, **fields: Any) -> Any:
    """A message of type `name`, such as 'sensor_msgs/msg/Imu', with these fields, others empty."""
    message = _empty(name)
    for field, value in fields.items():
        setattr(message, field, value)
    return message


def header(stamp: float, frame: str = "") -> Any:
    """A Header with this stamp [s since the epoch]."""
    ns = round(stamp * 1e9)
    types = type_store().types
    return types["std_msgs/msg/Header"](
        types["builtin_interfaces/msg/Time"](ns // 10**9, ns % 10**9), frame)


def vector(xyz: np.ndarray) -> Any:
    """A Vector3 from (3,) x y z."""
    return type_store().types["geometry_msgs/msg/Vector3"](*(float(x) for x in xyz))


def quaternion(xyzw: np.ndarray) -> Any:
    """A Quaternion from (4,) x y z w."""
    return type_store().types["geometry_msgs/msg/Quaternion"](*(float(x) for x in xyzw))


def _empty(name: str) -> Any:
    """A message with all numbers zero and all texts and lists empty."""
    store = type_store()
    values = {}
    for field, (kind, detail) in store.fielddefs[name][1]:
        values[field] = _zero(int(kind), detail)
    return store.types[name](**values)


def _zero(kind: int, detail: Any) -> Any:
    """The empty value of a field; rosbags' kinds are 1 base, 2 name, 3 array, 4 sequence."""
    if kind == 1:
        return "" if detail[0] == "string" else False if detail[0] == "bool" else (
            0.0 if detail[0].startswith("float") else 0)
    if kind == 2:
        return _empty(detail)
    (inner, inner_detail), size = detail
    if int(inner) == 1 and inner_detail[0] != "string":
        dtype = inner_detail[0].replace("octet", "uint8").replace("byte", "uint8")
        return np.zeros(size if kind == 3 else 0, dtype)
    return [_zero(int(inner), inner_detail) for _ in range(size)] if kind == 3 else []


def finite(row: np.ndarray) -> np.ndarray:
    """The row itself; raises ValueError if a value is missing."""
    if not math.isfinite(float(np.sum(row))):
        raise ValueError("a value is missing")
    return row
