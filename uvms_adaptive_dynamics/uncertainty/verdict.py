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

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..model.metrics import STILL_SHARE
from ..model.sample import VEHICLE_CHANNELS
from ..model.term_sets import TERM_SETS
from .advisories import LEAST_COVERAGE, block_warnings
from .evidence import MATTERING_SHARE, MOST_MASKED, ChannelEvidence, Evidence, ReportedFinding
from .trust import BLOCK_TIME, MIN_BLOCKS, UNEXPLAINED_BY_STATE

GOOD, USABLE, NOT_USABLE = VERDICTS = ("good", "usable", "not usable")

# [s] of rows in motion needed to judge a channel; trust needs as many.
JUDGED_SECONDS = MIN_BLOCKS * BLOCK_TIME
# Unexplained share of the effort's power above which a channel is not usable: that at which trust
# enters its state.
UNEXPLAINED_SHARE = UNEXPLAINED_BY_STATE[0]
# Possible causes when nothing points to one, beside what the model lacks.
UNEXPLAINED = "a wrong sensor, sign, order or scale; a robot that differs from its configuration"
LITTLE_LEFT = "too little motion on this axis"
# Coverage of 95 % intervals over a recording: no run of docs/uncertainty.md was below.
GOOD_COVERAGE = 0.90
# Mean width over that of a constant interval for Gaussian residuals of the same RMSE.
WIDEST = 2.0
INPUT_CODES = ("imu", "dvl", "depth", "joint_states", "thrusters", "battery", "wrench")
# Codes of findings that other questions answer, or that concern the past.
JUDGED_ELSEWHERE = ("trust", "residual", "masked rows", "robot.dry_mass")


class Answer(NamedTuple):
    """A question, its verdict, the answer in a sentence, and the reasons against `good`, each with
    what to do about it."""

    question: str
    verdict: str
    sentence: str
    reasons: tuple[str, ...] = ()


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

    def document(self) -> dict[str, Any]:
        """As in metrics.json."""
        return {"word": self.word, "reasons": list(self.reasons),
                "answers": [{**answer._asdict(), "reasons": list(answer.reasons)}
                            for answer in self.answers]}


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
    """The answer that follows from (verdict, reason) pairs: worst verdict, worst reason first."""
    order = sorted(found, key=lambda one: -VERDICTS.index(one[0]))
    return Answer(question, _worst(word for word, _ in found), sentence,
                  tuple(reason for _, reason in order))


def _judged(evidence: Evidence) -> dict[str, ChannelEvidence]:
    return {name: channel for name, channel in evidence.channels.items()
            if channel.seconds >= JUDGED_SECONDS and channel.figures["r2"] is not None
            and not channel.left_out and not channel.idle}


def _fits(evidence: Evidence) -> Answer:
    judged, found = _judged(evidence), []
    wanted = [name for name, channel in evidence.channels.items() if not channel.left_out]
    silent = [name for name in wanted if name not in judged]
    if not wanted:
        found.append((NOT_USABLE, f"no channel is judged{_left_out(evidence)}"))
    elif not judged or 2 * sum(not evidence.channels[name].idle for name in silent) > len(wanted):
        found.append((NOT_USABLE, "most channels could not be judged: "
                                  f"{_not_judged(evidence, silent)}"))
    elif silent:
        found.append((USABLE, f"not judged: {_not_judged(evidence, silent)}"))
    if evidence.failed:
        found.append((NOT_USABLE, f"the estimator fails: {evidence.failed}; see the diagnostics "
                                  "and call ~/reset"))
    misset = bool(_misset(evidence))
    of_channels = []
    for name, channel in judged.items():
        unexplained = 1 - channel.figures["r2"]
        hardly = not (channel.moved or misset or channel.trust == "wrong")
        share = _share(unexplained)
        if unexplained > UNEXPLAINED_SHARE and hardly:
            of_channels.append((USABLE, name, share, "hardly moved, and {} of the effort's power "
                                "is unexplained; move it more, or do not rely on it"))
        elif channel.trust == "wrong" or unexplained > UNEXPLAINED_SHARE:
            beyond = ", more than noise can explain" if channel.trust == "wrong" else ""
            of_channels.append((NOT_USABLE, name, share, "{} of the effort's power is "
                                f"unexplained{beyond}; "
                                + _why_unexplained(evidence, name, UNEXPLAINED)))
        elif unexplained > MATTERING_SHARE:
            of_channels.append((USABLE, name, share, "{} of the effort's power is unexplained; "
                                + _why_unexplained(evidence, name, LITTLE_LEFT)))
        elif channel.trust == "doubtful" and not misset:
            found.append((USABLE, f"{name}: doubtful at the end; check its residuals and move it "
                                  "more"))
    found = _of_channels(of_channels) + found
    least = min(judged, key=lambda name: judged[name].figures["r2"], default=None)
    sentence = "nothing could be judged" if least is None else (
        f"R^2 is at least {judged[least].figures['r2']:.3f} ({least}) on {len(judged)} of "
        f"{len(evidence.channels)} channels{_left_out(evidence)}, judged on {evidence.which}")
    return _answer("Does it fit?", found, sentence)


def _why_unexplained(evidence: Evidence, channel: str, others: str) -> str:
    """What explains a channel's remaining effort, or possible causes: others, and what the model
    lacks."""
    if channel in evidence.explained:
        return evidence.explained[channel]
    joint = channel not in VEHICLE_CHANNELS
    effects = [] if joint else ["a tether", "a current", "waves"]
    effects += [TERM_SETS[name].meaning for name in evidence.table.lacking
                if not joint or TERM_SETS[name].part == "joints"]
    named = f" ({', '.join(effects)})" if effects else ""
    return (f"possible causes: {others}; an effect that the model lacks{named}; the command "
            "terms tries some")


def _left_out(evidence: Evidence) -> str:
    """The channels that are left out, grouped by reason, in brackets."""
    found = _by_reason((name, channel.left_out) for name, channel in evidence.channels.items()
                       if channel.left_out)
    said = "; ".join(f"{', '.join(names)}: {why}" for why, names in found.items())
    return f" ({said})" if said else ""


def _not_judged(evidence: Evidence, names: Sequence[str]) -> str:
    """The channels that are not judged, grouped by reason."""
    return "; ".join(f"{', '.join(found)} ({why})" for why, found in _by_reason(
        (name, _why_not_judged(evidence.channels[name])) for name in names).items())


def _by_reason(channels: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Reason -> names, from (name, reason) pairs."""
    found: dict[str, list[str]] = {}
    for name, why in channels:
        found.setdefault(why, []).append(name)
    return found


def _why_not_judged(channel: ChannelEvidence) -> str:
    """Why a channel is not judged: what removes most of its rows, or what its rows lack."""
    if channel.seconds >= JUDGED_SECONDS and channel.idle:
        return (f"effort and errors below {channel.negligible:.2g} {channel.figures['unit']}, too "
                "little to judge: move it more")
    if channel.seconds >= JUDGED_SECONDS:
        return f"effort varies by less than {STILL_SHARE:.0%} of its predicted deviation"
    masked = channel.masked
    if channel.lost > MOST_MASKED * channel.rows:
        if sum(masked.values()) > MOST_MASKED * channel.lost:
            return f"masked for '{max(masked, key=lambda reason: masked[reason])}'"
        return ("most rows are implausible (check limits.*, robot.dry_mass) or next to masked "
                "rows")
    return f"less than {JUDGED_SECONDS:g} s of " + ("motion" if channel.moved else "rows to judge")


def _calibrated(evidence: Evidence) -> Answer:
    judged, missing, of_channels = _judged(evidence), [], []
    coverage: list[float] = []
    for name, channel in judged.items():
        held, ratio, share = _interval(channel)
        if held is None:
            missing.append((USABLE, f"{name}: no intervals"))
            continue
        coverage.append(held)
        if held < GOOD_COVERAGE:
            of_channels.append((USABLE if held >= LEAST_COVERAGE else NOT_USABLE, name,
                                f"{held:.0%}", "the 95 % intervals cover only {} of the rows; do "
                                f"not use them as bounds. {_how_to_widen(evidence, name)}"))
        elif ratio > WIDEST and share > MATTERING_SHARE:
            of_channels.append((USABLE, name, f"{ratio:.1f}", "the 95 % intervals are {} times as "
                                "wide as the errors require"
                                + ("; more motion narrows them" if evidence.learnt else "")))
    found = missing + _of_channels(of_channels)
    if not judged:      # `_fits` says why
        return Answer("Is it calibrated?", USABLE, "nothing could be judged")
    sentence = (f"95 % intervals cover {min(coverage):.1%} to {max(coverage):.1%} of the rows"
                if coverage else "there are no intervals")
    return _answer("Is it calibrated?", found, sentence)


def _how_to_widen(evidence: Evidence, name: str) -> str:
    """What widens the intervals of channel `name`, which are too narrow, or reduces its errors."""
    if evidence.learnt:
        return "They widen with more and livelier motion"
    unexplained = 1 - evidence.channels[name].figures["r2"]
    if name in evidence.explained and unexplained <= MATTERING_SHARE:   # else `_fits` says so
        return (f"{_share(unexplained)} of the effort's power is unexplained; "
                f"{evidence.explained[name]}")
    if name in VEHICLE_CHANNELS and evidence.channels[name].narrow_by_factor:
        return ("Without a constant factor on the thrust, as of a battery that empties, they would "
                "be wide enough: give its voltage (battery.enabled, thrusters.voltage), or learn "
                "from this recording too")
    return ("Frozen intervals do not widen: the robot or its motion differs from what was learnt; "
            "learn from this recording too")


def _interval(channel: ChannelEvidence) -> tuple[float | None, float, float]:
    """(coverage, `width_ratio`, share of the effort's power that the interval admits); coverage is
    None without intervals."""
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
            found.append((USABLE, f"{name}: masked {_share(share)} of the time, mostly for "
                                  f"'{reason}'{': ' + behind if behind else ''}"))
    problems = _merged(found)
    return _answer("Are sensors and settings right?", problems,
                   f"problems found: {len(problems)}" if found else
                   "; ".join([_nothing_misset(evidence), *evidence.facts]))


def _nothing_misset(evidence: Evidence) -> str:
    sensors = sorted({each.code for each in evidence.findings if each.code in INPUT_CODES})
    if not sensors:
        return "no check found a fault"
    return (f"no setting is wrong; the findings on {', '.join(sensors)} cost no more than the rows "
            "masked for them")


def _misset(evidence: Evidence) -> list[ReportedFinding]:
    """Findings on settings, units and calibrations. A finding on the sensor itself (a corrected
    clock, for example) is not a wrong setting; its cost shows in the rows that it masks."""
    return [each for each in evidence.findings
            if each.code not in (*JUDGED_ELSEWHERE, *INPUT_CODES)]


def _merged(found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Merge sentences that differ only in the channel."""
    channels: dict[tuple[str, str], list[str]] = {}
    for word, sentence in found:
        name, _, rest = sentence.partition(": ")
        channels.setdefault((word, rest), []).append(name)
    return [(word, f"{', '.join(names)}: {rest}") for (word, rest), names in channels.items()]


def _of_channels(found: Iterable[tuple[str, str, str, str]]) -> list[tuple[str, str]]:
    """(verdict, reason) pairs from (verdict, channel, figure, sentence with {} for the figure):
    channels with the same sentence share one."""
    channels: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for word, name, figure, sentence in found:
        channels.setdefault((word, sentence), []).append((name, figure))
    return [(word, f"{', '.join(name for name, _ in own)}: "
                   + sentence.replace("{}", ", ".join(figure for _, figure in own)))
            for (word, sentence), own in channels.items()]


def _physical(evidence: Evidence) -> Answer:
    found = []
    if evidence.violations:
        found.append((NOT_USABLE, f"{evidence.violations} estimates were outside the physical set; "
                                  "report this, with the recording"))
    found += [(USABLE, each.sentence) for each in evidence.findings
              if each.code == "robot.dry_mass"]
    return _answer("Is it physical?", found,
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
    return _answer("Is it fast?", late, f"{'few' if late else 'most'} updates finish within a tick "
                                        f"of {period:g} ms")


def _identified(evidence: Evidence) -> Answer:
    if not evidence.known_from:
        return Answer("What is not identified?", USABLE, "unknown",
                      ("the parameter file does not say which parameters were measured; save them "
                       "again",))
    # Channels without rows have their reason in the answers above, and motion does not help them.
    left_out = tuple(f"{name} " for name, channel in evidence.channels.items()
                     if channel.left_out or channel.faulty)
    warned = [sentence for sentence in block_warnings(evidence.table, evidence.known_from)
              if not sentence.startswith(left_out)]
    measured = sum(word == "measured" for word in evidence.known_from)
    free = sum(word != "frozen" for word in evidence.known_from)
    return _answer("What is not identified?", [(USABLE, sentence) for sentence in warned],
                   f"{measured} of {free} parameters are measured individually, "
                   + ("at least half of every vehicle and friction part" if not warned else
                      f"with {len(warned)} part{'s' if len(warned) > 1 else ''} known mostly from "
                      "the prior"))


def _share(value: float) -> str:
    return f"{min(value, 1.0):.0%}"
