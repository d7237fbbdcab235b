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

"""Make messages from rows of numbers, by a mapping from message fields to columns."""
from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import BagError, brief
from ...model.rotations import from_rpy, to_quaternion
from .ros_messages import finite, header, make, type_store
from .tracks import Make

QUATERNION = "geometry_msgs/msg/Quaternion"
# Kinds of fields in rosbags' definitions.
BASE_KIND, NAME_KIND = 1, 2


@dataclass(frozen=True)
class Maker:
    """Makes messages of a type from a row of the named columns."""

    type: str
    columns: tuple[str, ...]
    make: Make


def maker(topic: str, fields: Any, what: str) -> Maker:
    """The maker of a topic's entry `{type: ..., field: column or [columns], ...}`; raises BagError.

    A field may be nested ('twist.twist.linear'). A vector takes columns for x, y, z, a quaternion
    for x, y, z, w or roll, pitch, yaw [rad], an array any number of columns. Text fields (`name` of
    joint states) take the given texts themselves.
    """
    where = f"{what}: topic {brief(topic)}"
    store = type_store()
    got = fields.get("type") if isinstance(fields, Mapping) else fields
    if not isinstance(fields, Mapping) or not isinstance(got, str) or got not in store.fielddefs:
        raise BagError(f"{where} has type {brief(got)}; expected one such as "
                       "sensor_msgs/msg/JointState.")
    kind = got
    columns: list[str] = []
    constants: dict[str, list[str]] = {}
    setters: list[tuple[str, Callable[[np.ndarray], Any], slice]] = []
    for field, given in fields.items():
        if field == "type":
            continue
        definition = _definition(kind, str(field), where)
        names = [str(name) for name in (given if isinstance(given, list) else [given])]
        if not names or any(isinstance(name, (dict, list)) or name is None for name in
                            (given if isinstance(given, list) else [given])):
            raise BagError(f"{where}: {brief(field)} is {brief(given)}; expected a column or a "
                           "list of columns.")
        if _is_text(definition):
            constants[str(field)] = names
            continue
        place = slice(len(columns), len(columns) + len(names))
        columns += names
        setters.append((str(field), _converter(definition, len(names), f"{where}: {field}"), place))
    if not columns:
        raise BagError(f"{where} has no columns; expected fields of {kind} such as "
                       f"{', '.join(name for name, _ in store.fielddefs[kind][1][1:4])}.")
    stamped = any(name == "header" for name, _ in store.fielddefs[kind][1])

    def made(stamp: float, row: np.ndarray) -> Any:
        message = make(kind)
        if stamped:
            message.header = header(stamp)
        for name, texts in constants.items():
            _set(message, name, texts)
        for name, convert, place in setters:
            _set(message, name, convert(row[place]))
        return message
    return Maker(kind, tuple(columns), made)


def _set(message: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        message = getattr(message, parent)
    setattr(message, last, value)


def _definition(kind: str, path: str, where: str) -> tuple[int, Any]:
    """rosbags' definition of a field, which may be nested."""
    store = type_store()
    *parents, last = path.split(".")
    for depth, name in enumerate([*parents, last]):
        fields = dict(store.fielddefs[kind][1])
        if name not in fields:
            near = difflib.get_close_matches(name, fields, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise BagError(f"{where}: {kind} has no field {brief(name)}; it has "
                           f"{', '.join(fields)}.{hint}")
        number, detail = fields[name]
        if depth < len(parents):
            if int(number) != NAME_KIND:
                raise BagError(f"{where}: {brief(path)} is not a field of {kind}.")
            kind = detail
    return int(number), detail


def _is_text(definition: tuple[int, Any]) -> bool:
    number, detail = definition
    base = detail if number == BASE_KIND else detail[0][1] if number > NAME_KIND else None
    return isinstance(base, tuple) and base[0] == "string"


def _converter(definition: tuple[int, Any], count: int,
               where: str) -> Callable[[np.ndarray], Any]:
    """A function from (count,) numbers to the field's value."""
    number, detail = definition
    if number == BASE_KIND:
        if count != 1:
            raise BagError(f"{where} has {count} columns; expected one.")
        whole = not detail[0].startswith("float")
        return lambda row: (int(finite(row)[0]) if whole else float(finite(row)[0]))
    if number == NAME_KIND:
        return _message_converter(detail, count, where)
    (inner, inner_detail), size = detail
    if int(inner) != BASE_KIND or (number == 3 and size != count):
        raise BagError(f"{where} has {count} columns; expected {size} numbers.")
    dtype = np.dtype(inner_detail[0].replace("octet", "uint8").replace("byte", "uint8"))
    if dtype.kind in "iu":
        return lambda row: finite(row).astype(dtype)
    return lambda row: row.astype(dtype)


def _message_converter(kind: str, count: int, where: str) -> Callable[[np.ndarray], Any]:
    """The converter for a message of plain numbers: a vector, a point, a quaternion."""
    store = type_store()
    names = [name for name, (inner, _) in store.fielddefs[kind][1] if int(inner) == BASE_KIND]
    if kind == QUATERNION and count == 3:
        return lambda row: store.types[kind](*to_quaternion(from_rpy(*finite(row))))
    if len(names) != len(store.fielddefs[kind][1]) or len(names) != count:
        turns = ", or roll, pitch, yaw" if kind == QUATERNION else ""
        raise BagError(f"{where} has {count} columns; expected those of {', '.join(names)}{turns}.")
    return lambda row: store.types[kind](*(float(x) for x in finite(row)))
