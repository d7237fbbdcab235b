"""The result of a frame check: mismatches, and whether there was enough motion to judge."""
from __future__ import annotations

from typing import NamedTuple

from ...model.normal import Z999

CHANGE_WINDOW = 1.0       # [s] over which changes of two signals are compared
MAX_STANDARD_ERROR = 0.12      # of an entry of a fit that is judged


class Finding(NamedTuple):
    """A mismatch: the setting that probably causes it, or, without a dot, what is wrong with a
    sensor or its driver; and a sentence."""

    setting: str
    sentence: str


class CheckResult(NamedTuple):
    """The mismatches of one check; `complete` if there was enough motion to judge all of it."""

    findings: list[Finding]
    complete: bool


CONSISTENT = CheckResult([], True)
UNDECIDED = CheckResult([], False)


def mismatch(setting: str, sentence: str) -> CheckResult:
    """A complete result with one finding."""
    return CheckResult([Finding(setting, sentence)], True)


def outside(low: float, high: float, error: float, bounds: tuple[float, float]) -> bool:
    """Whether a figure between `low` and `high`, of standard error `error`, is outside `bounds`
    with 99.9 % certainty."""
    return high + Z999 * error < bounds[0] or low - Z999 * error > bounds[1]
