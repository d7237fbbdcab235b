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

"""Whether an estimate is good, usable or not usable, and why: the one verdict that terminal,
metrics.json, report and statement begin with (docs/statement.md)."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..model.metrics import STILL_SHARE
from ..model.normal import Z95
from ..model.parameters import ParameterTable
from ..model.sample import BY_SETTING, JOINT_AT_REST
from .advisories import LEAST_COVERAGE, block_warnings
from .trust import BLOCK_TIME, MATTERS_BY_STATE, MIN_BLOCKS, UNEXPLAINED_BY_STATE

GOOD, USABLE, NOT_USABLE = VERDICTS = ("good", "usable", "not usable")

# [s] of rows in motion from which a channel is judged, as long as its trust takes.
JUDGED_SECONDS = MIN_BLOCKS * BLOCK_TIME
# Shares of the effort's power, those on entering a state of trust: left unexplained, they make a
# channel not usable and usable.
UNEXPLAINED_SHARE, MATTERING_SHARE = UNEXPLAINED_BY_STATE[0], MATTERS_BY_STATE[0]
# What it may be where nothing tells.
UNEXPLAINED = ("a sensor, a sign, an order or a scale is wrong, or the robot is not the one that "
               "is configured, or something acts on it that the model lacks (current, tether, drag "
               "of the arm)")
LITTLE_LEFT = ("the model lacks something that acts on this axis (tether, current, drag of the "
               "arm), or it moved too little")
# Coverage of 95 % intervals over a recording: no run of docs/uncertainty.md was below.
GOOD_COVERAGE = 0.90
# Mean width over that of a constant interval for Gaussian residuals of the same RMSE.
WIDEST = 2.0
# Share of rows that may be masked for what is wrong with sensors.
MOST_MASKED = 0.5
# Reasons of masks that are no fault: nothing moves, or somebody wanted it so.
NO_FAULTS = (JOINT_AT_REST, BY_SETTING)
INPUT_CODES = ("imu", "dvl", "depth", "joint_states", "thrusters", "battery", "wrench")
# Codes of findings that have their own place in the verdict, or are of the past.
JUDGED_ELSEWHERE = ("trust", "residual", "masked rows", "robot.dry_mass")


class Finding(NamedTuple):
    """What was found wrong: code (a setting, or a kind of finding) and sentence."""

    code: str
    sentence: str


def finding_of(sentence: str) -> Finding:
    """A sentence that begins with its code."""
    return Finding(sentence.partition(":")[0], sentence)


class ChannelEvidence(NamedTuple):
    """What is known of a channel's predictions.

    figures: `channel_metrics` of the rows that are judged; seconds [s] of them; masked: reason of
    masks -> rows; rows: how many there were, masked ones included; trust: its state now; moved:
    whether the judged rows are in motion, and not what else there is; counted: rows that counted in
    the end, None where only the masks are known; by_setting: whether a setting leaves it out.
    """

    figures: Mapping[str, Any]
    seconds: float
    masked: Mapping[str, int]
    rows: int
    trust: str
    moved: bool = True
    counted: int | None = None
    by_setting: bool = False

    @property
    def lost(self) -> int:
        """Rows that did not count."""
        masked = sum(self.masked.values())
        return masked if self.counted is None else self.rows - self.counted

    @property
    def width_ratio(self) -> float | None:
        """Mean width of the 95 % intervals over that of a constant one for Gaussian residuals of
        this RMSE; None where there is neither."""
        width, rmse = self.figures["interval_width"], self.figures["rmse"]
        return None if width is None or not rmse else width / (2 * Z95 * rmse)

    @property
    def left_out(self) -> bool:
        """Whether a setting leaves it out."""
        return self.by_setting or self.masked.get(BY_SETTING, 0) > MOST_MASKED * max(self.rows, 1)

    @property
    def faults(self) -> dict[str, int]:
        """Rows that are masked for what is wrong, by reason."""
        return {reason: rows for reason, rows in self.masked.items() if reason not in NO_FAULTS}

    @property
    def faulty(self) -> bool:
        """Whether most rows are masked for what is wrong."""
        return sum(self.faults.values()) > MOST_MASKED * max(self.rows, 1)


@dataclass(frozen=True)
class Evidence:
    """What a verdict follows from.

    channels by name; which: rows are judged, in words; learnt: whether parameters were estimated on
    them (else they were held out); known_from (p,): empty where unknown; findings: of sensors,
    settings and masses; violations: estimates outside P; update_ms: median of an update (of a
    recording in processor time, since it shares a computer with others), None where none was timed;
    period_ms: of ticks; remedies: of masks by their reason, what is behind it; explained: by
    channel, what explains the effort that is left, in words.
    """

    channels: Mapping[str, ChannelEvidence]
    which: str
    learnt: bool
    table: ParameterTable
    known_from: Sequence[str]
    findings: Sequence[Finding]
    violations: int
    update_ms: float | None
    period_ms: float
    remedies: Mapping[str, str] = field(default_factory=dict)
    explained: Mapping[str, str] = field(default_factory=dict)


# Which rows are judged where parameters were held out.
HELD_OUT = "rows that were never learnt"


class Answer(NamedTuple):
    """A question, its verdict, the answer in a sentence, and what speaks against `good`, each with
    what to do about it."""

    question: str
    verdict: str
    sentence: str
    reasons: tuple[str, ...] = ()


class Verdict(NamedTuple):
    """word: of VERDICTS, the worst of the answers; answers: in the order in which they matter;
    causes: of their reasons those that name a wrong setting, from which others may follow."""

    word: str
    answers: tuple[Answer, ...]
    causes: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """What speaks against `good`: the causes, then the worst first."""
        order = sorted(self.answers, key=lambda answer: -VERDICTS.index(answer.verdict))
        reasons = [reason for answer in order for reason in answer.reasons]
        return tuple(sorted(reasons, key=lambda reason: reason not in self.causes))

    def document(self) -> dict[str, Any]:
        """As in metrics.json."""
        return {"word": self.word, "reasons": list(self.reasons),
                "answers": [{**answer._asdict(), "reasons": list(answer.reasons)}
                            for answer in self.answers]}


def telling(table: ParameterTable, moves: np.ndarray) -> np.ndarray:
    """(..., C) rows that tell whether a model fits, of those that are valid: the vehicle's in
    motion (moves (..., C)); all of a joint's, which are masked at rest. A joint's motion is not
    asked of the model: with an effort of the wrong sign it predicts none."""
    found = np.array(moves, bool)
    found[..., table.channels - table.n:] = True
    return found


def verdict(evidence: Evidence) -> Verdict:
    """The verdict on an estimate."""
    answers = (_fits(evidence), _calibrated(evidence), _inputs(evidence), _physical(evidence),
               _fast(evidence), _identified(evidence))
    causes = tuple(sentence for _, sentence in _merged(
        [(USABLE, each.sentence) for each in _misset(evidence)]))
    return Verdict(_worst(answer.verdict for answer in answers), answers, causes)


def _worst(words: Iterable[str]) -> str:
    return max(words, key=VERDICTS.index, default=GOOD)


def _answer(question: str, found: Sequence[tuple[str, str]], sentence: str) -> Answer:
    """An answer of what was found, each with its own verdict."""
    order = sorted(found, key=lambda one: -VERDICTS.index(one[0]))
    return Answer(question, _worst(word for word, _ in found), sentence,
                  tuple(reason for _, reason in order))


def _judged(evidence: Evidence) -> dict[str, ChannelEvidence]:
    return {name: channel for name, channel in evidence.channels.items()
            if channel.seconds >= JUDGED_SECONDS and channel.figures["r2"] is not None}


def _fits(evidence: Evidence) -> Answer:
    judged, found = _judged(evidence), []
    wanted = [name for name, channel in evidence.channels.items() if not channel.left_out]
    silent = [name for name in wanted if name not in judged]
    if 2 * len(silent) > len(wanted) or not judged:
        found.append((NOT_USABLE, f"most channels cannot be judged: {_of_silence(evidence, silent)}"
                      ))
    elif silent:
        found.append((USABLE, f"not judged: {_of_silence(evidence, silent)}"))
    misset = bool(_misset(evidence))
    for name, channel in judged.items():
        unexplained = 1 - channel.figures["r2"]
        hardly = not (channel.moved or misset or channel.trust == "wrong")
        if unexplained > UNEXPLAINED_SHARE and hardly:
            found.append((USABLE, f"{name}: hardly moved, and {_share(unexplained)} of its "
                                  "effort's power is not explained; move it, or do not rely on "
                                  "it"))
        elif channel.trust == "wrong" or unexplained > UNEXPLAINED_SHARE:
            found.append((NOT_USABLE, f"{name}: {_share(unexplained)} of the effort's power is not "
                                      f"explained{_by_trust(channel)}; "
                                      f"{evidence.explained.get(name, UNEXPLAINED)}"))
        elif unexplained > MATTERING_SHARE:
            found.append((USABLE, f"{name}: {_share(unexplained)} of the effort's power is not "
                                  f"explained; {evidence.explained.get(name, LITTLE_LEFT)}"))
        elif channel.trust == "doubtful" and not misset:
            found.append((USABLE, f"{name}: doubtful at the end; see its residuals, move it more"))
    least = min(judged, key=lambda name: judged[name].figures["r2"], default=None)
    sentence = "nothing could be judged" if least is None else (
        f"R^2 of {judged[least].figures['r2']:.3f} ({least}) and more, on {len(judged)} of "
        f"{len(evidence.channels)} channels{_left_out(evidence)}, over {evidence.which}")
    return _answer("Does it fit?", found, sentence)


def _left_out(evidence: Evidence) -> str:
    count = sum(channel.left_out for channel in evidence.channels.values())
    return f" ({count} left out by setting)" if count else ""


def _by_trust(channel: ChannelEvidence) -> str:
    return ", beyond what its noise explains" if channel.trust == "wrong" else ""


def _of_silence(evidence: Evidence, names: Sequence[str]) -> str:
    """Why channels are not judged, in words."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        by_reason.setdefault(_why_silent(evidence.channels[name]), []).append(name)
    return "; ".join(f"{', '.join(found)} ({why})" for why, found in by_reason.items())


def _why_silent(channel: ChannelEvidence) -> str:
    """Why a channel is not judged: what costs it most of its rows, or what its rows lack."""
    if channel.seconds >= JUDGED_SECONDS:
        return f"its effort varies by less than {STILL_SHARE:.0%} of the deviation stated for it"
    masked = channel.masked
    if channel.lost > MOST_MASKED * channel.rows:
        if sum(masked.values()) > MOST_MASKED * channel.lost:
            return f"masked for '{max(masked, key=lambda reason: masked[reason])}'"
        return "most rows are implausible, or beside masked ones"
    return f"less than {JUDGED_SECONDS:g} s of " + ("motion" if channel.moved else "rows to judge")


def _calibrated(evidence: Evidence) -> Answer:
    judged, found = _judged(evidence), []
    coverage: list[float] = []
    for name, channel in judged.items():
        held, ratio, share = _interval(channel)
        if held is None:
            found.append((USABLE, f"{name}: has no intervals"))
            continue
        coverage.append(held)
        if held < GOOD_COVERAGE:
            found.append((USABLE if held >= LEAST_COVERAGE else NOT_USABLE,
                          f"{name}: the 95 % intervals hold {held:.0%} of the rows; do not take "
                          f"them for bounds. {_how_to_grow(evidence)}"))
        elif ratio > WIDEST and share > MATTERING_SHARE:
            found.append((USABLE, f"{name}: the intervals are {ratio:.1f} times as wide as the "
                                  f"errors ask for ({held:.0%} inside)"
                                  + ("; more motion narrows them" if evidence.learnt else "")))
    if not judged:      # why, the answer to whether it fits says
        return Answer("Is it calibrated?", USABLE, "nothing could be judged")
    sentence = (f"95 % intervals hold {min(coverage):.1%} to {max(coverage):.1%} of the rows"
                if coverage else "there are no intervals")
    return _answer("Is it calibrated?", found, sentence)


def _how_to_grow(evidence: Evidence) -> str:
    """How intervals come to hold."""
    return ("More and livelier motion lets them grow" if evidence.learnt else
            "Frozen ones do not grow: the robot is not the one that was learnt, or not in this "
            "motion; learn from this one too")


def _interval(channel: ChannelEvidence) -> tuple[float | None, float, float]:
    """(coverage, width over that which the RMSE asks for, share of the effort's power that the
    interval admits); None where there are no intervals."""
    held, ratio = channel.figures["coverage95"], channel.width_ratio
    if held is None or ratio is None:
        return None, 0.0, 0.0
    return held, ratio, ratio ** 2 * (1 - channel.figures["r2"])


def _inputs(evidence: Evidence) -> Answer:
    found = [(USABLE, each.sentence) for each in _misset(evidence)]
    wanted = {name: one for name, one in evidence.channels.items() if not one.left_out}
    for name, channel in wanted.items():
        if channel.faulty:
            faults = channel.faults
            share = sum(faults.values()) / max(channel.rows, 1)
            reason = max(faults, key=lambda each: faults[each])
            behind = evidence.remedies.get(reason)
            found.append((USABLE, f"{name}: {_share(share)} of its rows are masked, mostly for "
                                  f"'{reason}'{': ' + behind if behind else ''}"))
    return _answer("Are sensors and settings right?", _merged(found),
                   f"{len(found)} found wrong" if found else "nothing speaks against them")


def _misset(evidence: Evidence) -> list[Finding]:
    """Findings of settings, units and calibrations. What is said of a sensor as such (a clock that
    is corrected) is no setting's fault, and what it costs shows in its rows."""
    return [each for each in evidence.findings
            if each.code not in (*JUDGED_ELSEWHERE, *INPUT_CODES)]


def _merged(found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Sentences that differ in the channel alone as one."""
    channels: dict[tuple[str, str], list[str]] = {}
    for word, sentence in found:
        name, _, rest = sentence.partition(": ")
        channels.setdefault((word, rest), []).append(name)
    return [(word, f"{', '.join(names)}: {rest}") for (word, rest), names in channels.items()]


def _physical(evidence: Evidence) -> Answer:
    found = []
    if evidence.violations:
        found.append((NOT_USABLE, f"{evidence.violations} estimates were outside the physical set; "
                                  "report it with the recording"))
    found += [(USABLE, each.sentence) for each in evidence.findings
              if each.code == "robot.dry_mass"]
    return _answer("Is it physical?", found,
                   "masses positive, damping and friction dissipate" if not found else
                   "not in everything")


def _fast(evidence: Evidence) -> Answer:
    if evidence.update_ms is None:
        return Answer("Is it fast?", GOOD, "nothing was estimated here")
    median, period = evidence.update_ms, evidence.period_ms
    # Single late updates are left out by the node; what other programs on the computer cost is
    # no fault of the estimate.
    late = [] if median <= period else [
        (USABLE, f"an update takes {median:.1f} ms (median), a tick {period:g} ms: most updates "
                 "come too late. Take a faster computer, or a longer filter.period")]
    return _answer("Is it fast?", late, f"{'few' if late else 'most'} updates end within a tick of "
                                        f"{period:g} ms")


def _identified(evidence: Evidence) -> Answer:
    if not evidence.known_from:
        return Answer("What is not identified?", USABLE, "the parameters do not say",
                      ("the parameters come without a word on what they are known from; save them "
                       "again",))
    # Of channels without rows the answers above say why: no motion mends it.
    left_out = tuple(f"{name} " for name, channel in evidence.channels.items()
                     if channel.left_out or channel.faulty)
    warned = [sentence for sentence in block_warnings(evidence.table, evidence.known_from)
              if not sentence.startswith(left_out)]
    measured = sum(word == "measured" for word in evidence.known_from)
    free = sum(word != "frozen" for word in evidence.known_from)
    return _answer("What is not identified?", [(USABLE, sentence) for sentence in warned],
                   f"{measured} of {free} parameters are measured one by one, "
                   + ("every part of vehicle and friction by most of its own" if not warned else
                      f"{len(warned)} part{'s' if len(warned) > 1 else ''} mostly the prior's"))


def _share(value: float) -> str:
    return f"{min(value, 1.0):.0%}"
