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

"""Self-describing settings: dataclass fields with unit, range and choices, checked on construction.

ROS parameters with their descriptions and ranges, the YAML reader and the README's table are all
generated from these fields; settings are declared nowhere else.
"""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

from ..errors import ConfigError, brief


def setting(default: Any, doc: str, unit: str = "", low: float | None = None,
            high: float | None = None, choices: tuple[str, ...] = (), kind: str = "") -> Any:
    """A dataclass field with description, unit and range.

    `low` and `high` are inclusive and apply to every element of an array; `kind` is only needed for
    empty arrays.
    """
    if not kind:
        kind = _kind_of(default)
    return dataclasses.field(default=default, metadata={
        "doc": doc, "unit": unit, "low": low, "high": high, "choices": choices, "kind": kind})


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str):
        return "string"
    return "strings" if value and isinstance(value[0], str) else "floats"


def checked(section: str, field: dataclasses.Field[Any], value: Any) -> Any:
    """Convert `value` to the field's kind; raises ConfigError with setting, got and expected."""
    name, meta = f"{section}.{field.name}", field.metadata
    try:
        value = _convert(meta["kind"], value)
    except (TypeError, ValueError, OverflowError):
        raise _refusal(name, value, meta) from None
    for element in value if isinstance(value, tuple) else (value,):
        if not _allowed(meta, element):
            raise _refusal(name, value, meta)
    return value


def _refusal(name: str, value: Any, meta: Mapping[str, Any]) -> ConfigError:
    return ConfigError(
        f"setting '{name}' is {brief(value)}; expected {_expected(meta)}. {meta['doc']}")


def _convert(kind: str, value: Any) -> Any:
    if kind == "bool":
        if not isinstance(value, bool):
            raise TypeError
        return value
    if kind == "int":
        if isinstance(value, bool) or int(value) != value:
            raise TypeError
        return int(value)
    if kind == "float":
        if isinstance(value, (bool, str)):
            raise TypeError
        return float(value)
    if kind == "string":
        if not isinstance(value, str):
            raise TypeError
        return value
    if isinstance(value, (str, bytes)):
        raise TypeError
    scalar = "string" if kind == "strings" else "float"
    return tuple(_convert(scalar, element) for element in (value if value is not None else ()))


def _allowed(meta: Mapping[str, Any], value: Any) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if meta["choices"] and value not in meta["choices"]:
        return False
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if meta["low"] is not None and value < meta["low"]:
            return False
        if meta["high"] is not None and value > meta["high"]:
            return False
    return True


def _expected(meta: Mapping[str, Any]) -> str:
    words = {"bool": "true or false", "int": "a whole number", "float": "a number",
             "string": "a text", "floats": "a list of numbers",
             "strings": "a list of texts"}[meta["kind"]]
    if meta["choices"]:
        words = "one of " + ", ".join(repr(c) for c in meta["choices"])
    if meta["low"] is not None and meta["high"] is not None:
        words += f" from {meta['low']:g} to {meta['high']:g}"
    elif meta["low"] is not None:
        words += f" of at least {meta['low']:g}"
    elif meta["high"] is not None:
        words += f" of at most {meta['high']:g}"
    return words + (f" [{meta['unit']}]" if meta["unit"] else "")


@dataclasses.dataclass(frozen=True)
class Section:
    """Base of a group of settings, a frozen dataclass; converts and checks fields on
    construction."""

    NAME: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = checked(self.NAME, field, getattr(self, field.name))
            object.__setattr__(self, field.name, value)
        self.validate()

    def validate(self) -> None:
        """Check fields of one section against each other; does nothing by default."""

    def refuse(self, field: str, got: Any, expected: str) -> NoReturn:
        """Raise a ConfigError for a field of this section."""
        raise ConfigError(
            f"setting '{self.NAME}.{field}' is {brief(got)}; expected {expected}.")
