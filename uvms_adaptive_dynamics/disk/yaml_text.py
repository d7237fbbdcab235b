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

"""YAML as data: every key once, no aliases, nesting and numbers of a sane length.

ROS 2's own reader of parameter files refuses aliases too. Without them a text cannot contain
itself, nor be a billion values on a page.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from ..errors import UvmsError
from .kinds import reason_of

# libyaml's parser where PyYAML has it: 16 times as fast on our own files (20 kB: 1.5 ms for 25).
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Its emitter: it holds up the other threads of a node a third as long.
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
# Our files nest 4 deep. PyYAML composes by recursion: Python's ends below 1000, and that of
# libyaml's wrapper in a crash of the process somewhere below 5000.
DEEPEST = 100
# No float needs half as many characters, written out in full: 309 digits before the point, or 324
# behind it and 17 that count. Whole numbers take quadratic time to convert.
LONGEST_NUMBER = 1000
LONGEST_REPR = 24   # of a float: sign, 17 digits, point, e, sign, three digits
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def number_list(values: Iterable[float], width: int) -> str:
    """A list of numbers as YAML text in lines of at most `width` characters, exact to the last bit.
    """
    # YAML 1.1 reads 1e-05 as text and 1.0e-05 as a number.
    words = [text if "." in text or "e" not in text else text.replace("e", ".0e")
             for text in map(repr, map(float, values))]
    # Lines of equally many: filling each takes textwrap most of what a state takes as text.
    count = max(1, (width - 3) // (LONGEST_REPR + 2))
    lines = [", ".join(words[k:k + count]) for k in range(0, len(words), count)]
    return f"[{(',' + chr(10) + '  ').join(lines)}]"


def parse_yaml(text: str, what: str, refused: type[UvmsError], advice: str = "") -> Any:
    """The value of a YAML text in plain types; `refused`, in a sentence that starts with `what` and
    ends with `advice`, for whatever is wrong with it."""
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
    except Exception as error:  # beside YAMLError, constructors raise what int() and date() raise
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or reason_of(error)
        raise refused(" ".join(
            f"{what} is not valid YAML{place}: {reason}. {advice}".split())) from None


def _check_events(text: str) -> None:
    """Refuse aliases and endless nesting, before anything is built of the text."""
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise _problem(f"alias '*{str(event.anchor)[:60]}', which ROS parameter files cannot "
                           "have either; write its value out", event)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise _problem(f"nested more than {DEEPEST} deep", event)


def _check_nodes(root: Any) -> None:
    """Refuse keys that stand twice, and numbers without end."""
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
            raise _problem(f"key '{key.value[:60]}' stands there and at line "
                           f"{lines[key.tag, key.value]}; delete one of them", key)
        lines[key.tag, key.value] = line


def _problem(sentence: str, place: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=sentence, problem_mark=place.start_mark)
