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

"""Safe YAML: no duplicate keys, no aliases, limited nesting and number length.

ROS 2's own parameter file reader refuses aliases too. Without them a document cannot contain
itself, nor expand to a billion values.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from ..errors import UvmsError
from .kinds import reason_of

# libyaml's parser if PyYAML has it: 16 times as fast on our own files (20 kB: 1.5 ms, not 25 ms).
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# libyaml's emitter blocks the other threads of a node for a third of the time.
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
# Our files nest 4 deep. PyYAML composes recursively: Python's recursion limit is reached below a
# depth of 1000, and libyaml's wrapper crashes the process somewhere below 5000.
DEEPEST = 100
# A float written out in full needs less than half of this: 309 digits before the point, or 324
# zeros after it and 17 significant digits. Converting integers takes quadratic time.
LONGEST_NUMBER = 1000
LONGEST_REPR = 24   # of a float: sign, 17 digits, point, e, sign, three digits
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def number_list(values: Iterable[float], width: int) -> str:
    """Numbers as a YAML list, exact to the last bit, in lines of at most `width` characters."""
    # YAML 1.1 reads 1e-05 as a string and 1.0e-05 as a number.
    words = [text if "." in text or "e" not in text else text.replace("e", ".0e")
             for text in map(repr, map(float, values))]
    # The same count on every line: textwrap would dominate the time to write a state.
    count = max(1, (width - 3) // (LONGEST_REPR + 2))
    lines = [", ".join(words[k:k + count]) for k in range(0, len(words), count)]
    return f"[{(',' + chr(10) + '  ').join(lines)}]"


def parse_yaml(text: str, what: str, refused: type[UvmsError], advice: str = "") -> Any:
    """Parse a YAML text into plain types.

    Raises `refused` for any defect; the message starts with `what` and ends with `advice`.
    """
    try:
        _check_events(text)
        loader = LOADER(text)
        try:
            root = loader.get_single_node()
            if root is None:
                return None
            _check_nodes(root)
            return loader.construct_document(root)
        finally:
            loader.dispose()
    except Exception as error:  # YAMLError, and whatever int() and date() raise in constructors
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or reason_of(error)
        raise refused(" ".join(
            f"{what} is not valid YAML{place}: {reason}. {advice}".split())) from None


def key_comments(text: str) -> dict[str, str]:
    """The comment above each key, or else the one on the line where its value ends, by the dotted
    path of the key; keys without one are left out. `text` is one that `parse_yaml` accepts."""
    lines, found = text.splitlines(), {}
    root = yaml.compose(text, Loader=LOADER)
    waiting = [("", root)] if root is not None else []
    while waiting:
        path, node = waiting.pop()
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            name = f"{path}.{key.value}" if path else str(key.value)
            waiting.append((name, value))
            comment = _above(lines, key.start_mark.line)
            if not comment and getattr(value, "flow_style", True):
                behind = lines[value.end_mark.line][value.end_mark.column:].strip()
                comment = behind.lstrip("#").strip() if behind.startswith("#") else ""
            if comment:
                found[name] = comment
    return found


def _above(lines: list[str], line: int) -> str:
    """The text of the lines of nothing but a comment that end above the line."""
    first = line
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return " ".join(" ".join(each.lstrip("# ") for each in lines[first:line]).split())


def _check_events(text: str) -> None:
    """Refuse aliases and deep nesting before anything is built from the text."""
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise _problem(f"alias '*{str(event.anchor)[:60]}', which ROS parameter files do not "
                           "allow either; write out its value", event)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise _problem(f"nested more than {DEEPEST} levels deep", event)


def _check_nodes(root: Any) -> None:
    """Refuse duplicate keys and excessively long numbers."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
            waiting += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif node.tag in NUMBERS and len(node.value) > LONGEST_NUMBER:
            raise _problem(f"a number of {len(node.value)} characters", node)


def _check_keys(mapping: Any) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in mapping.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        line = key.start_mark.line + 1
        if (key.tag, key.value) in lines:
            raise _problem(f"duplicate key '{key.value[:60]}', also at line "
                           f"{lines[key.tag, key.value]}; delete one of them", key)
        lines[key.tag, key.value] = line


def _problem(sentence: str, place: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=sentence, problem_mark=place.start_mark)
