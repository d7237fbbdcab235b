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

"""Checks keys and values of a stage in a schedule file, independent of the robot."""
from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError, brief

SCHEDULE_FORM = ("a schedule such as 'stages: [{name: arm, title: the arm, free: [\"*.*\"], move: "
                 "[axis_d]}]'")
STAGE_KINDS = ("motion", "tilt")
REQUIRED_KEYS = ("name", "title", "free")
OPTIONAL_KEYS = ("move", "keep", "kind", "at_least", "at_most", "left", "intervals",
                 "for_each_joint")
# allowed values: [s], [s], share of a prior's standard deviation
RANGES = {"at_least": (0.0, 3600.0), "at_most": (1.0, 36000.0), "left": (1e-3, 0.99)}


def checked_entry(what: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry with defaults filled in and lists as tuples; what: name of the file for messages.
    Raises ConfigError."""
    known = (*REQUIRED_KEYS, *OPTIONAL_KEYS)
    stage = brief(entry.get("name", "?"))
    for key in entry:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            expected = f"'{near[0]}'" if near else f"any of {', '.join(known)}"
            raise ConfigError(f"{what}: stage {stage} has the key {brief(key)}; expected "
                              f"{expected}.")
    for key in REQUIRED_KEYS:
        if key not in entry:
            raise ConfigError(f"{what}: stage {stage} has no '{key}'; expected {SCHEDULE_FORM}.")
    given = {"move": [], "keep": False, "intervals": {}, **entry}
    for key in given:
        if expected := _expected(key, given[key]):
            raise refusal(what, entry, key, given[key], expected)
    if not given["free"]:
        raise refusal(what, entry, "free", [], "at least one parameter to free")
    return {key: tuple(value) if isinstance(value, list) else value
            for key, value in given.items()}


def refusal(what: str, entry: Mapping[str, Any], key: str, got: Any, expected: str) -> ConfigError:
    """The error for an unusable value of a stage."""
    return ConfigError(f"{what}: '{key}' of stage {brief(entry.get('name', '?'))} is {brief(got)}; "
                       f"expected {expected}.")


def with_joint(value: Any, joint: str) -> Any:
    """A stage's template with {joint} replaced everywhere."""
    if isinstance(value, str):
        return value.replace("{joint}", joint)
    if isinstance(value, list):
        return [with_joint(one, joint) for one in value]
    if isinstance(value, Mapping):
        return {with_joint(key, joint): with_joint(one, joint) for key, one in value.items()}
    return value


def _expected(key: str, value: Any) -> str:
    """What a key's value must be, '' if it is valid."""
    if key in ("name", "title"):
        return "" if isinstance(value, str) and value.strip() else "a text"
    if key in ("free", "move"):
        texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
        return "" if texts else "a list of names and patterns"
    if key in RANGES:
        low, high = RANGES[key]
        return "" if _within(value, low, high) else f"a number from {low:g} to {high:g}"
    if key == "kind":
        return "" if value in STAGE_KINDS else f"one of {', '.join(STAGE_KINDS)}"
    if key == "keep":
        return "" if isinstance(value, bool) else "true or false"
    widths = isinstance(value, Mapping) and all(
        isinstance(name, str) and _within(width, 1e-12, 1e12) for name, width in value.items())
    return "" if widths else "widths above 0 by parameter"


def _within(value: Any, low: float, high: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
