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

"""The verdict on an estimate: good, usable or not usable, and why. Terminal, metrics.json, report
and statement all begin with it (docs/statement.md)."""
from __future__ import annotations

from typing import Any, NamedTuple

from .advisories import block_warnings
from .answer import GOOD, NOT_USABLE, USABLE, VERDICTS, Answer, answered, merged, share_text, worst
from .channel_answers import calibrated, fits
from .evidence import INPUT_CODES, Evidence


class Verdict(NamedTuple):
    """word: one of VERDICTS, the worst of the answers; answers: in order of importance; causes:
    reasons that name a wrong setting, from which other reasons may follow."""

    word: str
    answers: tuple[Answer, ...]
    causes: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons against `good`: causes first, then worst first."""
        order = sorted(self.answers, key=lambda answer: -VERDICTS.index(answer.verdict))
        reasons = [reason for answer in order for reason in answer.reasons]
        return tuple(sorted(reasons, key=lambda reason: reason not in self.causes))

    def with_held_out(self, tested: Verdict, where: str) -> Verdict:
        """The verdict on an estimate whose predictions of data held out have a verdict of their
        own, which it cannot exceed; where: what holds the rest of it, in words."""
        fit, calibration = tested.answers[:2]
        against = tested.reasons
        answer = Answer("Does it hold on what was held out?", tested.word,
                        f"{fit.sentence}; {calibration.sentence}", () if not against else (
                            f"held out: {against[0]} ("
                            + (f"and {len(against) - 1} more " if len(against) > 1 else "")
                            + f"in {where})",))
        answers = (self.answers[0], self.answers[1], answer, *self.answers[2:])
        return self._replace(word=worst(each.verdict for each in answers), answers=answers)

    def document(self) -> dict[str, Any]:
        """As in metrics.json."""
        return {"word": self.word, "reasons": list(self.reasons),
                "answers": [{**answer._asdict(), "reasons": list(answer.reasons)}
                            for answer in self.answers]}


def verdict(evidence: Evidence) -> Verdict:
    """The verdict on an estimate."""
    answers = (fits(evidence), calibrated(evidence), _inputs(evidence), _physical(evidence),
               _fast(evidence), _identified(evidence))
    causes = tuple(sentence for _, sentence in merged(
        [(USABLE, each.sentence) for each in evidence.misset]))
    return Verdict(worst(answer.verdict for answer in answers), answers, causes)


def _inputs(evidence: Evidence) -> Answer:
    found = [(USABLE, each.sentence) for each in evidence.misset]
    named = [each.code for each in evidence.misset]
    wanted = {name: one for name, one in evidence.channels.items() if not one.left_out}
    for name, channel in wanted.items():
        if channel.faulty:
            faults = channel.faults
            share = sum(faults.values()) / max(channel.rows, 1)
            reason = max(faults, key=lambda each: faults[each])
            named.append(f"'{reason}'")
            behind = evidence.remedies.get(reason)
            found.append((USABLE, f"{name}: masked {share_text(share)} of the time, mostly for "
                                  f"'{reason}'{': ' + behind if behind else ''}"))
    problems = merged(found)
    if evidence.uncompared and not found:
        return Answer("Are sensors and settings right?", USABLE, "they were not compared",
                      (evidence.uncompared,))
    return answered("Are sensors and settings right?", problems,
                    f"problems found: {', '.join(dict.fromkeys(named))}" if found else
                    "; ".join([_nothing_misset(evidence), *evidence.facts]))


def _nothing_misset(evidence: Evidence) -> str:
    sensors = sorted({each.code for each in evidence.findings if each.code in INPUT_CODES})
    if not sensors:
        return "no check found a fault"
    return (f"no setting is wrong; what was found on {', '.join(sensors)} has cost rows at most, "
            "which are masked")


def _physical(evidence: Evidence) -> Answer:
    found = []
    if evidence.violations:
        found.append((NOT_USABLE, f"{evidence.violations} estimates were outside the physical set; "
                                  "report this, with the recording"))
    found += [(USABLE, each.sentence) for each in evidence.findings
              if each.code == "robot.dry_mass"]
    return answered("Is it physical?", found,
                    "masses are positive, damping and friction dissipate energy" if not found else
                    "not entirely")


def _fast(evidence: Evidence) -> Answer:
    if evidence.update_ms is None:
        return Answer("Is it fast?", GOOD, "nothing was estimated")
    median, period = evidence.update_ms, evidence.period_ms
    # The median: the node skips single late updates, and load from other programs is not the
    # estimate's fault.
    late = [] if median <= period else [
        (USABLE, f"an update takes {median:.1f} ms (median) but a tick only {period:g} ms, so most "
                 "updates are late; use a faster computer or a longer filter.period")]
    return answered("Is it fast?", late, f"{'few' if late else 'most'} updates finish within a "
                                         f"tick of {period:g} ms")


def _identified(evidence: Evidence) -> Answer:
    if not evidence.known_from:
        return Answer("Is it identified?", USABLE, "unknown",
                      ("the parameter file does not say which parameters were measured; save them "
                       "again",))
    # Channels without rows have their reason in the answers above, and motion does not help them.
    left_out = tuple(f"{name} " for name, channel in evidence.channels.items()
                     if channel.left_out or channel.faulty)
    warned = [sentence for sentence in block_warnings(evidence.table, evidence.known_from,
                                                      evidence.limited)
              if not sentence.startswith(left_out)]
    measured = sum(word == "measured" for word in evidence.known_from)
    free = sum(word != "frozen" for word in evidence.known_from)
    limited = sum(evidence.limited)
    further = f", {limited} more but for what the model lacks" if limited else ""
    return answered("Is it identified?", [(USABLE, sentence) for sentence in warned],
                    f"{measured} of {free} parameters are measured individually{further}, "
                    + ("at least half of every vehicle and friction part" if not warned else
                       f"with {len(warned)} part{'s' if len(warned) > 1 else ''} known mostly from "
                       "the prior"))
