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

"""The statement, for a reader with one minute: what is known about the robot, how well it predicts
unseen motion, what is missing and which motion would show it (docs/statement.md).

The node and `evaluate` share it; it comes as text (Markdown) and as a document (JSON)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..model.metrics import shown
from ..model.normal import Z95
from ..model.parameter_set import ParameterSet
from .advisories import (
    FURTHER_TERMS,
    block_warnings,
    is_link,
    link_note,
    measured_blocks,
    motion_for,
)
from .answer import GOOD
from .evidence import Evidence
from .verdict import Verdict, verdict

CONFIRM = ("Confirm it on a recording of another motion: save it with --save-parameters FILE, then "
           "evaluate BAG --frozen --parameters FILE --output DIR, with the same --config")


class KnownValue(NamedTuple):
    """A parameter or combination: value, ends of its 95 % interval within P (None if unknown), and
    what it is known from ('' for a combination, which the data determine)."""

    name: str
    unit: str
    value: float
    low: float | None
    high: float | None
    known_from: str


class Predicted(NamedTuple):
    """How well a channel is predicted: judged rows [s], R^2, RMSE, coverage and mean width of the
    95 % intervals, and that width relative to the one that the RMSE requires. None: not judged."""

    channel: str
    unit: str
    seconds: float
    r2: float | None
    rmse: float | None
    coverage: float | None
    width: float | None
    width_ratio: float | None
    trust: str


class Missing(NamedTuple):
    """A part of the model that is less than half measured, and the motion that would show it."""

    part: str
    motion: str


@dataclass(frozen=True)
class Statement:
    """What is known about a robot.

    what: the subject, in words; verdict; which: the judged rows, in words; next: what to do, in
    order; channels, parameters, combinations, missing: see their types; notes: other findings;
    file: parameter file for the next dive, None if none was written; stages: stage of the schedule
    -> how it went, None without a schedule.
    """

    what: str
    verdict: Verdict
    which: str
    next: tuple[str, ...]
    channels: tuple[Predicted, ...]
    parameters: tuple[KnownValue, ...]
    combinations: tuple[KnownValue, ...]
    missing: tuple[Missing, ...]
    notes: tuple[str, ...]
    file: str | None
    stages: Mapping[str, str] | None

    def with_held_out(self, tested: Statement, where: str) -> Statement:
        """This statement with that on data held out, which are predicted with its parameters;
        where: what holds it."""
        judged = self.verdict.with_held_out(tested.verdict, where)
        if judged.word == self.verdict.word == GOOD:
            return replace(self, verdict=judged)
        kept = [step for step in self.next if step != CONFIRM]
        new = [reason for reason in judged.reasons if reason not in self.verdict.reasons]
        return replace(self, verdict=judged, next=(*new, *kept))

    def document(self) -> dict[str, Any]:
        """The statement in plain types, for JSON."""
        return {"what": self.what, "verdict": self.verdict.document(), "judged": self.which,
                "next": list(self.next), "next_dive": self.file,
                "channels": {one.channel: one._asdict() for one in self.channels},
                "missing": [one._asdict() for one in self.missing],
                "combinations": [one._asdict() for one in self.combinations],
                "parameters": [one._asdict() for one in self.parameters],
                "notes": list(self.notes),
                "stages": None if self.stages is None else dict(self.stages)}

    def first_lines(self) -> str:
        """Verdict, answers and what to do next, for a terminal."""
        return first_lines(self.verdict.document(), self.next)

    def text(self) -> str:
        """The whole statement as Markdown."""
        title = f"# {self.verdict.word.capitalize()}: {self.what}"
        answers = _table(("question", "verdict", "answer"), [
            (answer.question, answer.verdict, answer.sentence) for answer in self.verdict.answers])
        parts = [title, f"Judged: predictions of {self.which}.", answers]
        if self.stages is not None:
            parts.append("## Stages\n\n" + _table(("stage", "how it went"),
                                                 list(self.stages.items())))
        if self.next:
            parts.append("## What to do next\n\n" + "\n".join(
                f"{k}. {each}" for k, each in enumerate(self.next, 1)))
        parts.append("## How well unseen motion is predicted\n\n" + _table(
            ("channel", "unit", "rows [s]", "R²", "RMSE", "in 95 %", "width",
             "width / required", "trust"),
            [(one.channel, one.unit, f"{one.seconds:.0f}", shown(one.r2, ".3f"),
              shown(one.rmse), shown(one.coverage, ".1%"), shown(one.width),
              shown(one.width_ratio, ".2f"), one.trust) for one in self.channels]))
        if self.missing:
            parts.append("## What is missing, and which motion shows it\n\n" + _table(
                ("part", "motion"), list(self.missing)))
        if self.combinations:
            parts.append("## Known only in combination\n\n" + _known(self.combinations))
        parts.append("## Parameters\n\n95 % intervals, cut at physical limits.\n\n"
                     + _known(self.parameters))
        if self.notes:
            parts.append("## Notes\n\n" + "\n".join(f"- {note}" for note in self.notes))
        if self.file is not None:
            parts.append(f"To start the next dive from it, set `prior.file: {self.file}` or pass "
                         f"`--parameters {self.file}`.")
        return "\n\n".join(parts) + "\n"


def first_lines(verdict: Mapping[str, Any], next_steps: Sequence[str]) -> str:
    """A verdict's document and the next steps, as text for a terminal."""
    wide = max(len(answer["question"]) for answer in verdict["answers"])
    lines = [verdict["word"].upper()]
    lines += [f"  {answer['question']:<{wide}}  {answer['verdict']:<10}  {answer['sentence']}"
              for answer in verdict["answers"]]
    if next_steps:
        lines += ["What to do next:", *(f"  {k}. {each}" for k, each in enumerate(next_steps, 1))]
    return "\n".join(lines)


def statement(evidence: Evidence, parameters: ParameterSet, what: str, file: str | None = None,
              notes: Sequence[str] = (), stages: Mapping[str, str] | None = None,
              change: str = "") -> Statement:
    """The statement on `parameters`, given the evidence.

    what: its subject, in words; file: where the parameters are saved; stages: stage of the schedule
    -> how it went; change: sentence on a change of the robot that was accepted and not withdrawn.
    """
    judged, table = verdict(evidence), evidence.table
    words = parameters.known_from or ("",) * table.size
    low, high = ((None,) * table.size,) * 2 if parameters.intervals is None else (
        [float(x) for x in end] for end in parameters.intervals)
    known = tuple(map(KnownValue, table.names, table.units, map(float, parameters.values), low,
                      high, words))
    note = link_note(table, words) if parameters.known_from else None
    return Statement(
        what, judged, evidence.which, next=_next(evidence, judged, change),
        channels=_channels(evidence), parameters=known, combinations=_combinations(parameters),
        missing=_missing(evidence), notes=(*notes, *([note] if note else [])), file=file,
        stages=stages)


def _next(evidence: Evidence, judged: Verdict, change: str) -> tuple[str, ...]:
    """What to do: address the reasons against the estimate, or confirm it."""
    changed = (f"{change}. The estimate describes the robot since then; if nobody changed it, "
               "check for damage and for outside forces (tether, current)",) if change else ()
    if judged.reasons:
        return (*changed, *judged.reasons)
    if evidence.learnt:
        return (*changed, CONFIRM)
    return changed


def _channels(evidence: Evidence) -> tuple[Predicted, ...]:
    found = []
    for name, channel in evidence.channels.items():
        f = channel.figures
        found.append(Predicted(name, f["unit"], channel.seconds, f["r2"], f["rmse"],
                               f["coverage95"], f["interval_width"], channel.width_ratio,
                               channel.left_out or channel.trust))
    return tuple(found)


def _combinations(parameters: ParameterSet) -> tuple[KnownValue, ...]:
    found = parameters.identifiability.get("combinations")
    found = found if isinstance(found, Mapping) else {}
    return tuple(KnownValue(text, "", one["value"], one["value"] - Z95 * one["stddev"],
                       one["value"] + Z95 * one["stddev"], "") for text, one in found.items())


def _missing(evidence: Evidence) -> tuple[Missing, ...]:
    if not evidence.known_from:
        return ()
    warned = {sentence.partition(":")[0] for sentence in block_warnings(
        evidence.table, evidence.known_from, evidence.limited)}
    known = measured_blocks(evidence.table, evidence.known_from)
    return tuple(Missing(part if part in warned else f"{part} (single values)",
                         motion_for(part) if part in warned or is_link(part) else FURTHER_TERMS)
                 for part, places in evidence.table.parts.items()
                 if part not in known and any(evidence.known_from[k] != "frozen" for k in places))


def _known(rows: Sequence[KnownValue]) -> str:
    return _table(("parameter", "unit", "value", "95 % from", "to", "known from"),
                  [(one.name, one.unit, shown(one.value), shown(one.low), shown(one.high),
                    one.known_from) for one in rows])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |"
                     for line in lines)
