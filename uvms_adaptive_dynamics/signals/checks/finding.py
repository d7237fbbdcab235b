"""What a frame check says: mismatches found, and whether it has seen enough motion to say so."""
from __future__ import annotations

from typing import NamedTuple

WINDOW = 1.0      # [s] over which changes are compared
SURE = 0.12       # standard error up to which an entry of a fit is judged


class Finding(NamedTuple):
    """A mismatch: the setting that probably causes it, and a sentence."""

    setting: str
    sentence: str


class Verdict(NamedTuple):
    """The mismatches that one check finds; `complete` where there was motion enough to judge all of it."""

    findings: list[Finding]
    complete: bool
