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

"""XML text of an export: written with all digits and a leading comment, read without entities."""
from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping

from ..errors import brief
from ..model.urdf import LARGEST_URDF
from .identified import ExportError

DECLARATION = '<?xml version="1.0"?>\n'


def number(value: float) -> str:
    """A number with all digits, so that reading it back is exact. No negative zero, and a decimal
    point before any exponent, which SDF's schema requires."""
    mantissa, exponent, power = repr(float(value) + 0.0).partition("e")
    return mantissa + (".0" if exponent and "." not in mantissa else "") + exponent + power


def numbers(values: Iterable[float]) -> str:
    """Numbers separated by blanks."""
    return " ".join(map(number, values))


def element(parent: ET.Element, tag: str, text: str | float | None = None,
            **attributes: object) -> ET.Element:
    """Add a child with a text or number; numbers and float attributes get all digits."""
    child = ET.SubElement(parent, tag, {
        key: number(value) if isinstance(value, float) else str(value)
        for key, value in attributes.items()})
    if text is not None:
        child.text = number(text) if isinstance(text, float) else text
    return child


def written(root: ET.Element) -> str:
    """The document's text, indented."""
    ET.indent(root)
    return DECLARATION + ET.tostring(root, "unicode") + "\n"


def commented(text: str, lines: Iterable[str]) -> str:
    """The text with a comment after the declaration; '--', which XML forbids in it, is broken up.
    """
    comment = re.sub("-(?=-)", "- ", "\n".join(f"  {line}" for line in lines))
    return text.replace(DECLARATION, f"{DECLARATION}<!--\n{comment}\n-->\n", 1)


def parsed(text: str, root: str, what: str) -> ET.Element:
    """The root element; raises ExportError if the text is not XML or has another root."""
    if len(text) > LARGEST_URDF:
        raise ExportError(f"{what} is longer than {LARGEST_URDF / 1e6:g} MB; expected an export.")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ExportError(f"{what} declares entities (<!DOCTYPE ...>), which no export has.")
    try:
        found = ET.fromstring(text)
    except ET.ParseError as error:
        raise ExportError(f"{what} is not well-formed XML ({error}); export it again.") from None
    if found.tag != root:
        raise ExportError(f"{what} has the root element <{brief(found.tag)[1:-1]}>; expected "
                          f"<{root}>.")
    return found


def find(parent: ET.Element, path: str, what: str) -> ET.Element:
    """The element at a path below `parent`; raises ExportError if it is missing."""
    found = parent.find(path)
    if found is None:
        raise ExportError(f"{what} has no <{path.replace('/', '> <')}> in <{parent.tag}>; expected "
                          "one. Export it again.")
    return found


def value_of(text: str | None, what: str) -> float:
    """A number; raises ExportError for anything else."""
    return values_of(text, 1, what)[0]


def values_of(text: str | None, count: int, what: str) -> list[float]:
    """`count` numbers separated by blanks; raises ExportError for anything else."""
    try:
        found = [float(word) for word in (text or "").split()]
    except ValueError:
        found = []
    if len(found) != count or not all(abs(value) < float("inf") for value in found):
        raise ExportError(f"{what} is {brief(text)}; expected {count} "
                          f"finite number{'s' if count > 1 else ''}.")
    return found


def attributes(found: Mapping[str, str] | ET.Element, keys: Iterable[str],
               what: str) -> list[float]:
    """The numbers of these attributes; raises ExportError for a missing or unusable one."""
    return [value_of(found.get(key), f"{what}: {key}") for key in keys]
