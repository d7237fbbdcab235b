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

"""Why rows or samples are missing, and which setting or driver to fix."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ..model.kernel import gaussian_kernel
from ..model.sample import BY_SETTING, FILTERS_START, JOINT_AT_REST
from ..signals.decode.decoder import NO_LOCK, NO_LOCK_BY_COVARIANCE, NO_PULSE
from ..signals.decode.input_state import MAX_REJECTED_SHARE, InputState
from ..signals.decode.joint_parts import NOT_LATER
from ..signals.filters.altitude import NEAR_FLOOR
from ..signals.filters.body_motion import CONTRADICTS, DVL_CONTRADICTS, NO_DVL
from ..signals.filters.depth import AT_SURFACE
from ..signals.filters.dvl_fusion import OUTLIER
from ..signals.filters.joints import CONTRADICT, ERRATIC, MISPLACED, NO_EFFORT
from ..signals.filters.thrusters import SETTLING
from ..signals.front_end import SignalFrontEnd
from ..signals.gates.clipped import AT_LIMIT, LARGER_RANGE
from ..signals.gates.joint_gates import (
    DO_NOT_FIT,
    IMPOSSIBLE_EFFORT,
    NO_EFFORTS,
    SPIKES,
    STANDS_STILL,
)
from ..signals.masks import FOUND_WRONG, SILENT_ROLES
from ..signals.topics import topic_setting
from ..uncertainty.evidence import NO_FAULTS
from .bags import BagContents
from .mask_spans import Span

# The input behind each mask reason.
ROLE_OF_REASON = {**SILENT_ROLES, CONTRADICTS: "imu", DVL_CONTRADICTS: "dvl",
                  CONTRADICT: "joint_states", MISPLACED: "joint_states",
                  ERRATIC: "joint_states", NO_EFFORT: "joint_states",
                  SETTLING: "thrusters"}
# Reasons that a pause in the messages, or a stretch of refused ones, gives.
SILENCES = *SILENT_ROLES, SETTLING
ADVICE_FOR_REFUSAL = {
    **dict.fromkeys((NO_LOCK, NO_LOCK_BY_COVARIANCE),
                    "keep the DVL within its range of the bottom"),
    NO_PULSE: "arm the vehicle; if it was, check thrusters.channels and thrusters.unit"}
# First words of the doubts on an input that lead to each mask.
DOUBTS = {CONTRADICT: (DO_NOT_FIT, STANDS_STILL), ERRATIC: SPIKES,
          DVL_CONTRADICTS: (OUTLIER,), NO_DVL: (AT_LIMIT,), NO_EFFORT: ("effort", NO_EFFORTS)}
# What to do about the other mask reasons.
ADVICE_FOR_REASON = {
    "no source of velocity": "set dvl.enabled to true and dvl.topic to a velocity",
    AT_SURFACE: "if it was in the water, lower depth.minimum, correct robot.surface_pressure, or "
                "set depth.enabled to false; on deck nothing can be learnt",
    "on the floor": "check depth.maximum and robot.surface_pressure, or set depth.enabled to false",
    NEAR_FLOOR: "lower dvl.minimum_altitude, or keep the vehicle off the bottom",
    "thruster saturated": "commands reach the end of thrusters.curve; check thrusters.unit, "
                          "thrusters.curve and thrusters.saturation",
    BY_SETTING: "take the joint out of joint_states.effort_masked",
    FOUND_WRONG: "fix what the findings name",
    "joint at its stop": "check joint_states.limits_low, joint_states.limits_high and "
                         "joint_states.position_offset",
    FILTERS_START: "record for longer",
    JOINT_AT_REST: "move the joint faster than joint_states.rest_velocity",
    # The effort of a drive at its limit does not tell a load from a jam.
    "joint stalled": "its drive is at its limit and does not move it, held by a payload, a contact "
                     "or a jam: take off the load or free the joint, or check "
                     "joint_states.effort_scale",
}


def nothing_usable(bags: Sequence[BagContents], front: SignalFrontEnd,
                   undecodable: Mapping[str, int]) -> str:
    """The error for recordings without a usable row: which input is the cause, and what to set."""
    names = " ".join(str(bag.path) for bag in bags)
    seconds = sum(bag.end - bag.start for bag in bags)
    causes = [f"{name} ({count} messages); record that topic again"
              for name, count in undecodable.items()]
    causes += [said for state in front.inputs.values() if (said := missing_messages(state))]
    if not causes:
        reasons = sorted({reason for counts in front.masked.values() for reason in counts})
        causes = [f"'{reason}': {remedy(reason, front.inputs)}" for reason in reasons]
        causes += [f"{reason} ({count} times)" for reason, count in front.resets.items()]
    # filter.latency until the first sample, then the length of the low-pass
    period, kernel = front.config.filter.period, gaussian_kernel(front.config.filter)
    shortest = front.latency + len(kernel) * period
    why = "; ".join(causes) or f"expected more than {shortest:.1f} s with all sensors running"
    return f"{names}: {seconds:.1f} s of recording gave no usable sample; {why}."


def missing_messages(state: InputState) -> str:
    """Why an input gave no or few readings, and what to set; '' if most messages were used."""
    role, topic = state.role, f"'{state.topic}'"
    if not state.received:
        lock = "check its bottom lock, " if role == "dvl" else ""    # many publish none without
        return (f"{role}: no message on {topic}; start its driver, {lock}or set "
                f"{topic_setting(role)} to the right topic")
    if 2 * _wrong(state).total() <= state.received:
        return ""
    return f"{role}: {_refusals(state)}, or set {topic_setting(role)} to another topic"


def _wrong(state: InputState) -> Counter[str]:
    """The refused messages by reason, without copies of others, whose content was used."""
    return Counter({reason: count for reason, count in state.rejected.items()
                    if reason != NOT_LATER})


def _refusals(state: InputState) -> str:
    """How many messages were refused, for which main reason, and what to do."""
    wrong = _wrong(state)
    reason, count = wrong.most_common(1)[0]
    last = state.last_error.removeprefix(f"{state.role}: ")
    last = "" if last in ("", reason) else f" (last one: {last})"
    return (f"{wrong.total()} of {state.received} messages on '{state.topic}' were refused, "
            f"{count} of them for '{reason}'{last}; "
            + ADVICE_FOR_REFUSAL.get(reason, "fix the driver"))


def refused_inputs(states: Mapping[str, InputState]) -> dict[str, str]:
    """A sentence, by role, on each input of which more is refused than may be without a warning. Of
    messages without bottom lock or pulse, the rows that they cost tell."""
    return {role: f"{role}: {_refusals(state)}" for role, state in states.items()
            if sum(count for reason, count in _wrong(state).items()
                   if reason not in ADVICE_FOR_REFUSAL) > MAX_REJECTED_SHARE * state.received}


def masked_rows(masked: Mapping[str, Mapping[str, int]], channels: list[str],
                states: Mapping[str, InputState], restarts: int = 0) -> list[str]:
    """A sentence for each reason that masks most rows of `channels`, none of whose rows count.

    restarts: of all signals, after each of which the filters start again."""
    by_reason: dict[str, list[str]] = {}
    for channel in channels:
        if counts := Counter(masked.get(channel, {})):
            by_reason.setdefault(counts.most_common(1)[0][0], []).append(channel)
    again = (f"all signals restarted {restarts} times, since a clock jumped or no sensor was "
             "received for seconds; receive or record them without such pauses")
    return [f"no row of {', '.join(found)} counts, mostly for '{reason}': "
            + (again if restarts and reason == FILTERS_START else remedy(reason, states, found))
            for reason, found in by_reason.items()]


def partly_masked(masked: Mapping[str, Mapping[str, int]], channels: Sequence[str], ticks: int,
                  since: Callable[[str, str], float | None],
                  states: Mapping[str, InputState]) -> list[str]:
    """A sentence for each reason that masks channels for a large share of the ticks, except rest,
    settings and the filters' start.

    since(channel, reason): time [s] at which it began. The limit is the share of an input's
    messages that may be refused without a warning."""
    found: dict[str, list[tuple[str, float]]] = {}
    for channel in channels:
        for reason, count in masked.get(channel, {}).items():
            share = count / max(ticks, 1)
            if share > MAX_REJECTED_SHARE and reason not in NO_FAULTS:
                found.setdefault(reason, []).append((channel, share))
    said = []
    for reason, one in found.items():
        begin = since(one[0][0], reason)
        when = "" if begin is None else f", from {begin:.1f} s after the start"
        names, share = ", ".join(name for name, _ in one), max(share for _, share in one)
        said.append(f"rows of {names} do not count {share:.0%} of the time{when}, for '{reason}': "
                    f"{remedy(reason, states, [name for name, _ in one])}")
    return said


def first_time(spans: Sequence[Span], reason: str, bags: Sequence[BagContents]) -> float | None:
    """Start [s] of the first span with this reason, since the start of its recording, or None."""
    return next((span.start - bags[span.bag].start for span in spans if span.reason == reason),
                None)


def remedies(masked: Mapping[str, Mapping[str, int]], states: Mapping[str, InputState]
             ) -> dict[str, str]:
    """What to do about each mask reason that occurred."""
    channels: dict[str, list[str]] = {reason: [] for counts in masked.values() for reason in counts}
    for name, counts in masked.items():
        if counts:
            channels[max(counts, key=lambda reason: counts[reason])].append(name)
    return {reason: remedy(reason, states, names) for reason, names in channels.items()}


def remedy(reason: str, states: Mapping[str, InputState], channels: Sequence[str] = ()) -> str:
    """What to do about a mask reason; channels: those for which it is the main reason."""
    role = ROLE_OF_REASON.get(reason)
    if role is None or role not in states:
        return ADVICE_FOR_REASON.get(reason, "see docs/signals.md")
    state = states[role]
    if said := missing_messages(state):
        return said
    if reason in SILENCES and _wrong(state).total() > MAX_REJECTED_SHARE * state.received:
        return _refusals(state)
    if reason in SILENCES and state.clock.intervals.bursts:
        return f"{role}: {state.clock.intervals.sentence()}"
    rate = "" if state.clock.rate is None else f" at {state.clock.rate:.3g} Hz"
    doubts = Counter({doubt: count for doubt, count in state.doubted.items()
                      if doubt.startswith(DOUBTS.get(reason, ()))}).most_common(1)
    but = "".join(f", {count} times with '{doubt}'" for doubt, count in doubts)
    if (old := state.rejected[NOT_LATER]) > MAX_REJECTED_SHARE * state.received:
        but += f", {old} came after later ones or were copies"
    return (f"{state.used} of {state.received} messages on '{state.topic}' arrived and were used"
            f"{rate}{but}; {_check(reason, state, doubts, channels)}")


def _check(reason: str, state: InputState, doubts: Sequence[tuple[str, int]],
           channels: Sequence[str]) -> str:
    """What to do about a mask reason whose messages arrived; doubts: the main one with its count,
    if any."""
    if any(doubt.startswith(IMPOSSIBLE_EFFORT) for doubt, _ in doubts):
        return "set joint_states.effort_scale"
    if any(doubt == NO_EFFORTS and count < state.used for doubt, count in doubts):
        return "make the driver fill in the efforts of every message"
    if any(doubt == AT_LIMIT for doubt, _ in doubts):
        return LARGER_RANGE
    if any(doubt.startswith(STANDS_STILL) for doubt, _ in doubts):
        return "check that joint's encoder and its connection"
    if reason == NO_EFFORT and channels:
        return ("if the driver measures none, set joint_states.effort_masked: "
                f"[{', '.join(channels)}]")
    if reason == ERRATIC:
        return "check that sensor and its wiring"
    if reason == DVL_CONTRADICTS:
        return "check its bottom lock, and the attitude of the IMU"
    if state.role == "thrusters":
        return ("check its driver for pauses; while a command holds it has to be repeated, a "
                "neutral one within thrusters.timeout")
    timeout = "thrusters.timeout" if state.role == "wrench" else f"{state.role}.timeout"
    # (most DVL drivers send nothing without bottom lock)
    lock = "its bottom lock, " if state.role == "dvl" else ""
    return (f"check {lock}its driver for pauses, its stamps and {timeout}" if reason in SILENCES
            else f"check its stamps, its unit and {timeout}")
