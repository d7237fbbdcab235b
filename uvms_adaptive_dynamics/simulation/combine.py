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

"""Combine options that can be switched on one by one, from a table of frozen dataclasses."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

T = TypeVar("T")


def combined(kinds: Iterable[str], table: Mapping[str, T], none: T) -> T:
    """`none` with every field in which any of the kinds differs from it; the last kind wins.

    Raises KeyError for a kind that is not in the table.
    """
    whole: Any = none
    for kind in kinds:
        part: Any = table[kind]
        whole = replace(whole, **{
            f.name: getattr(part, f.name) for f in fields(part)
            if getattr(part, f.name) != getattr(none, f.name)})
    return whole
