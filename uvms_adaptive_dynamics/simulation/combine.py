"""Parts that can be switched on one by one, from a table of frozen dataclasses."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

T = TypeVar("T")


def combined(kinds: Iterable[str], table: Mapping[str, T], none: T) -> T:
    """What differs from `none` in any of the kinds, together; the last one wins.

    A kind that is not in the table raises KeyError.
    """
    whole: Any = none
    for kind in kinds:
        part: Any = table[kind]
        whole = replace(whole, **{
            f.name: getattr(part, f.name) for f in fields(part)
            if getattr(part, f.name) != getattr(none, f.name)})
    return whole
