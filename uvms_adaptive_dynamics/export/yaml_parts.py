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

"""YAML text of an export: numbers with all digits, a leading comment, read as data."""
from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from ..disk.yaml_text import parse_yaml
from ..errors import brief
from .identified import ExportError


def written(content: Mapping[str, Any]) -> str:
    """YAML of nested mappings; lists of numbers on one line."""
    return yaml.safe_dump(dict(content), sort_keys=False, default_flow_style=None, width=100)


def commented(text: str, lines: Iterable[str]) -> str:
    """The text with a leading comment, as in YAML and Python."""
    return "".join(f"# {line}".rstrip() + "\n" for line in lines) + text


def parsed(text: str, what: str) -> Any:
    """The content; raises ExportError if it is not YAML."""
    return parse_yaml(text, what, ExportError, "Export it again.")


def numbers_at(content: Any, path: Sequence[str], count: int, what: str) -> list[float]:
    """`count` finite numbers at a path of keys; a single one may be a scalar. Raises ExportError
    for anything else."""
    found = content
    for key in path:
        if not isinstance(found, dict) or key not in found:
            raise ExportError(f"{what} has no '{'.'.join(path)}'; expected one. Export it again.")
        found = found[key]
    found = [found] if count == 1 and not isinstance(found, Sequence) else found
    if not isinstance(found, list) or len(found) != count or not all(
            type(x) in (int, float) and abs(x) <= sys.float_info.max for x in found):
        raise ExportError(f"{what}: '{'.'.join(path)}' is {brief(found)}; expected {count} finite "
                          f"number{'s' if count > 1 else ''}.")
    return [float(x) for x in found]
