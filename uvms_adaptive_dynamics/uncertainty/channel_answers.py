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

"""The answers on the predictions of each channel: do they fit, and are their intervals calibrated
(docs/statement.md)?"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..model.metrics import STILL_SHARE
from ..model.sample import FILTERS_START, VEHICLE_CHANNELS
from ..model.term_sets import TERM_SETS
from .advisories import LEAST_COVERAGE
from .answer import NOT_USABLE, USABLE, Answer, answered, reasons_of_channels, share_text
from .evidence import MATTERING_SHARE, MOST_MASKED, ChannelEvidence, Evidence
from .trust import BLOCK_TIME, MIN_BLOCKS, UNEXPLAINED_BY_STATE

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


def fits(evidence: Evidence) -> Answer:
    """How much of the efforts the predictions explain, where enough rows tell."""
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
    misset = bool(evidence.misset)
    of_channels = []
    for name, channel in judged.items():
        unexplained = 1 - channel.figures["r2"]
        hardly = not (channel.moved or misset or channel.trust == "wrong")
        share = share_text(unexplained)
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
    found = reasons_of_channels(of_channels) + found
    least = min(judged, key=lambda name: judged[name].figures["r2"], default=None)
    sentence = "nothing could be judged" if least is None else (
        f"R^2 is at least {judged[least].figures['r2']:.3f} ({least}) on {len(judged)} of "
        f"{len(evidence.channels)} channels{_left_out(evidence)}, judged on {evidence.which}")
    return answered("Does it fit?", found, sentence)


def calibrated(evidence: Evidence) -> Answer:
    """Whether the 95 % intervals cover as many rows as they should, and no wider than needed."""
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
    found = missing + reasons_of_channels(of_channels)
    if not judged:      # `fits` says why
        return Answer("Is it calibrated?", USABLE, "nothing could be judged")
    sentence = (f"95 % intervals cover {min(coverage):.1%} to {max(coverage):.1%} of the rows"
                if coverage else "there are no intervals")
    return answered("Is it calibrated?", found, sentence)


def _how_to_widen(evidence: Evidence, name: str) -> str:
    """What widens the intervals of channel `name`, which are too narrow, or reduces its errors."""
    if evidence.learnt:
        return "They widen with more and livelier motion"
    unexplained = 1 - evidence.channels[name].figures["r2"]
    if name in evidence.explained and unexplained <= MATTERING_SHARE:   # else `fits` says so
        return (f"{share_text(unexplained)} of the effort's power is unexplained; "
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


def _judged(evidence: Evidence) -> dict[str, ChannelEvidence]:
    return {name: channel for name, channel in evidence.channels.items()
            if channel.seconds >= JUDGED_SECONDS and channel.figures["r2"] is not None
            and not channel.left_out and not channel.idle}


def _why_unexplained(evidence: Evidence, channel: str, others: str) -> str:
    """What explains a channel's remaining effort, or possible causes: what the model lacks, and
    others."""
    if channel in evidence.explained:
        return evidence.explained[channel]
    joint = channel not in VEHICLE_CHANNELS
    effects = [] if joint else ["a tether", "a current", "waves"]
    effects += [TERM_SETS[name].meaning for name in evidence.table.lacking
                if not joint or TERM_SETS[name].part == "joints"]
    named = f" ({', '.join(effects)})" if effects else ""
    unfound = "" if evidence.misset or others != UNEXPLAINED else "though no check found it, "
    return (f"possible causes: an effect that the model lacks{named}, some of which the command "
            f"terms tries; {unfound}{others}")


def _left_out(evidence: Evidence) -> str:
    """The channels that are left out, grouped by reason, in brackets."""
    found = _by_reason((name, channel.left_out) for name, channel in evidence.channels.items()
                       if channel.left_out)
    said = "; ".join(f"{', '.join(names)}: {why}" for why, names in found.items())
    return f" ({said})" if said else ""


def _not_judged(evidence: Evidence, names: Sequence[str]) -> str:
    """The channels that are not judged, grouped by reason."""
    return "; ".join(f"{', '.join(found)} ({why})" for why, found in _by_reason(
        (name, _too_short(evidence, evidence.channels[name])
         or _why_not_judged(evidence.channels[name])) for name in names).items())


def _too_short(evidence: Evidence, channel: ChannelEvidence) -> str:
    """That the recording is too short to judge the channel, whatever its rows; '' if it is not."""
    seconds = 1e-3 * evidence.period_ms * (channel.rows - channel.masked.get(FILTERS_START, 0))
    needed = (2.0 if evidence.learnt else 1.0) * JUDGED_SECONDS     # (half of them are judged)
    return "" if seconds >= needed else (
        f"too short: {needed:g} s after the filters' start are needed, and there are "
        f"{seconds:.1f} s; record for longer")


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
        return (f"most rows are implausible: {channel.beyond}" if channel.beyond else
                "most rows are outliers or next to masked rows")
    return f"less than {JUDGED_SECONDS:g} s of " + ("motion" if channel.moved else "rows to judge")
