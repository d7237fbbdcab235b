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

"""The node's /diagnostics: inputs, rows, solver, estimate, recording.

Built from counters of the front end and snapshots of the worker; never accesses the estimator.
"""
from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..config import Config
from ..estimation.snapshot import EstimatorSnapshot
from ..estimation.validity import FAILED, Validity
from ..model.metrics import timing
from ..model.parameters import ParameterTable
from ..model.sample import JOINT_AT_REST, LEFT_OUT
from ..uncertainty.advisories import block_warnings, channel_warnings, link_note
from ..uncertainty.evidence import ReportedFinding
from .memory import Memory
from .recent_fit import RecentFit
from .recorder import Recorder
from .status import ERROR, OK, REPORTS, WARN, Status
from .unused_data import UnusedData
from .worker import Worker

# Fewer rows are too few to judge a channel.
MIN_ROWS = 100

# Share of masked ticks above which an operator should look at the reasons; rows of a parked arm do
# not count.
MASKED_WARN = 0.9
SETTLED_REPORTS = 4     # before, filters may still be filling

# [s] after the first report during which a silent input is not yet an error.
STARTUP_S = 5.0
# [s] of samples during which high uncertainty is normal: a robot that moves on all axes has
# identified its parameters after 40 s.
LEARNING_S = 120.0
# Share of late solves over REPORTS reports above which someone should act; below it, parameters
# follow hardly more slowly.
LATE_SHARE = 0.25

KNOWN_FROM = ("measured", "weak", "prior", "frozen")


class Diagnostics:
    """Builds the diagnostic statuses.

    Keeps the counters of the last report, so that each report covers its own period, and the time
    at which a status left OK. `late`: message about late solves in this report, or ''.
    """

    def __init__(self, config: Config, table: ParameterTable, worker: Worker, fit: RecentFit,
                 validity: Callable[[], Validity],
                 reviews: Callable[[], Sequence[ReportedFinding] | None] = lambda: None):
        """validity: as published on ~/status; reviews: returns the last review's findings, None
        before the first."""
        self._horizon, self._table, self._worker = config.estimation.horizon, table, worker
        self._fit, self._validity, self._reviews = fit, validity, reviews
        self._before: Counter = Counter()
        self._masked: deque = deque(maxlen=REPORTS)
        self._solves: deque = deque(maxlen=REPORTS)
        self._unused = UnusedData()
        self._begin: float | None = None
        self._bad_since: dict[str, float] = {}
        self.late = ""

    def statuses(self, front_end: Any, now_s: float, samples: int, dropped: Mapping[str, int],
                 recorder: Recorder | None, topics: Mapping[str, Any],
                 memory: Memory | None = None, namesakes: str = "") -> list[Status]:
        """All statuses, the overall one first; `now_s` [s] on the node's clock, `topics` by role,
        `namesakes`: a warning of other nodes of this name."""
        state = self._worker.snapshot
        self._worker.request_knowledge()     # for the next report
        self._begin = now_s if self._begin is None else min(self._begin, now_s)
        self._learning = state.learn and state.progress.age < LEARNING_S
        found = [self._input(Status(*status), now_s, topics) for status in front_end.status(now_s)]
        found += [self._rows(front_end), self._solver(state, samples),
                  self._estimate(state), self._predictions(state), self._trust(state),
                  self._review(),
                  *self._unused.statuses(front_end, state, samples, dropped)]
        if recorder is not None:
            found.append(Status(ERROR if recorder.error else OK, "recorder",
                                recorder.error or f"recording into {recorder.path}",
                                {"messages": recorder.messages}))
        if memory is not None:
            found.append(Status(WARN if memory.error else OK, "memory",
                                memory.error or f"the state is saved in '{memory.folder}'",
                                {"saves": memory.saves}))
        found.append(Status(WARN if namesakes else OK, "node name",
                            namesakes or "no other node has this name", {}))
        found = [self._with_duration(status, now_s) for status in found]
        return [self._overall(found, state, samples)] + found

    def _since(self, name: str, total: int) -> int:
        """Growth of a counter since the last report; after a counter reset, its value."""
        before, self._before[name] = self._before[name], total
        return total - before if total >= before else total

    def _with_duration(self, status: Status, now_s: float) -> Status:
        """The status, with the time for which it has not been OK."""
        if status.level == OK:
            self._bad_since.pop(status.name, None)
            return status
        begin = self._bad_since.setdefault(status.name, now_s)
        return status._replace(values={**status.values, "lasts [s]": max(0.0, now_s - begin)})

    def _input(self, status: Status, now_s: float, topics: Mapping[str, Any]) -> Status:
        """The status of an input, with what the ROS graph knows about its topic."""
        topic = topics.get(status.name.removeprefix("input "))
        if topic is None:
            return status
        status = status._replace(values={**status.values, **topic.figures()})
        assert self._begin is not None
        if status.values["received"] == "0" and now_s - self._begin < STARTUP_S:
            return status._replace(level=OK,
                                   message=f"waiting for the first message on '{topic.topic}'")
        if status.level == ERROR:
            return status._replace(message=f"{status.message}: {topic.why_silent}")
        if topic.several:
            said = topic.several if status.level == OK else f"{status.message}; {topic.several}"
            return status._replace(level=WARN, message=said)
        return status

    def _overall(self, found: list[Status], state: EstimatorSnapshot, samples: int) -> Status:
        worst = max(found, key=lambda status: status.level)
        fresh = self._since("samples", samples)
        if worst.level:
            message = f"{worst.name}: {worst.message}"
            if worst.values["lasts [s]"] >= 1.0:
                message += f" (for {worst.values['lasts [s]']:.0f} s)"
        elif not samples:
            message = "no sample yet: waiting for the inputs"
        elif state.learn:
            message = "estimating"
        else:
            message = "predicting only, parameters are frozen; call ~/enable with true to resume"
        return Status(worst.level, "overall", message, {
            "enabled": state.learn, "samples": samples, "samples since the last report": fresh})

    def _rows(self, front_end: Any) -> Status:
        # Of all ticks: a tick whose sensors are too silent for a sample is masked too.
        now = front_end.ticks, {channel: Counter(front_end.masked.get(channel, {}))
                            for channel in self._fit.channels}
        before = self._masked[0] if self._masked else (0, {})
        self._masked.append(now)
        ticks, values = max(1, now[0] - before[0]), {}
        masked_by: dict[str, list[str]] = {}
        for channel, counts in now[1].items():
            grown = counts - before[1].get(channel, Counter())
            reasons = ", ".join(f"{reason} {count}" for reason, count in grown.most_common())
            share = f"{grown.total() / ticks:.0%}"
            values[channel] = f"{share} ({reasons})" if reasons else share
            if grown.total() - grown[JOINT_AT_REST] > MASKED_WARN * ticks:
                masked_by.setdefault(grown.most_common(1)[0][0], []).append(channel)
        if masked_by and len(self._masked) >= SETTLED_REPORTS:
            said = "; ".join(
                f"{reason} ({', '.join(channels) if len(channels) < len(values) else 'all'})"
                for reason, channels in masked_by.items())
            return Status(WARN, "masked rows", "nearly all ticks are masked, so nothing is learnt "
                          f"on these channels: {said}. Check that input", values)
        return Status(OK, "masked rows", "share of ticks that are masked, over "
                      f"{len(self._masked)} reports, with reasons", values)

    def _solver(self, state: EstimatorSnapshot, samples: int) -> Status:
        worker = self._worker
        failed = self._since("failures", state.failures)
        self._solves.append((samples, worker.skipped, worker.out_of_time))
        ticks, skipped, cut = (new - old for new, old in zip(self._solves[-1], self._solves[0]))
        crashed = self._since("exceptions", worker.exceptions)
        values = {
            "solver": state.solver, **_times("solve", worker.solve_ms),
            **_times("update", worker.update_ms), **state.solver_counts,
            "failures": state.failures, "skipped solves": worker.skipped,
            "solves out of time": worker.out_of_time, "exceptions": worker.exceptions,
            "samples waiting": worker.backlog}
        if worker.last_error:
            values["last exception"] = worker.last_error
        late = skipped + cut > LATE_SHARE * max(ticks, 1)
        self.late = _late_solves(skipped, cut, ticks) if late else ""
        if crashed:
            return Status(ERROR, "solver", f"{crashed} samples lost to an internal error "
                          f"({worker.last_error}). Please report it with a recording", values)
        if failed:
            return Status(ERROR, "solver", f"{failed} solves failed since the last report; the "
                          "last good estimate stays in use. If this persists, check for "
                          "masked or refused inputs, then call ~/reset", values)
        if self.late:
            return Status(WARN, "solver", self.late, values)
        return Status(OK, "solver", state.solver, values)

    def _estimate(self, state: EstimatorSnapshot) -> Status:
        validity = self._validity()
        values = {"state": validity.state, "trusted": validity.trusted,
                  "parameters": self._table.size, **self._knowledge(),
                  "window filled": state.window_filled, "horizon": self._horizon,
                  "started from a saved estimate": state.started_from_file}
        if state.changes:
            values |= {"changes of the robot": state.changes, "last change": state.last_change}
        if validity.state == FAILED:
            return Status(ERROR, "estimate", validity.reason, values)
        if self._since("changes", state.changes):
            return Status(WARN, "estimate", state.last_change, values)
        if self._since("recoveries", state.recoveries):
            return Status(WARN, "estimate", "several solves in a row failed, so old data were "
                                            f"dropped; re-estimating ({state.recoveries} times so "
                                            "far). If this repeats, check the inputs",
                          {**values, "recoveries": state.recoveries})
        if not state.status:
            return Status(OK, "estimate", "no estimate yet: the prior is in use", values)
        # After loading a file, known_from does not reflect the file's knowledge.
        if self._worker.knowledge is not None and not state.started_from_file:
            words, limited = (self._worker.knowledge.known_from, self._worker.knowledge.limited)
            if note := link_note(self._table, words):
                values["links"] = note
            if warnings := block_warnings(self._table, words, limited):
                said = "; ".join(warnings)
                return Status(OK if self._learning else WARN, "estimate",
                              f"learning: {said}" if self._learning else said, values)
        return Status(OK, "estimate", f"last solve: {state.status}", values)

    def _knowledge(self) -> dict[str, object]:
        """Identifiable rank, and parameter names by source of knowledge."""
        knowledge = self._worker.knowledge
        if knowledge is None:
            return {"identifiable rank": "-"}
        found: dict[str, object] = {"identifiable rank": knowledge.identifiable_rank}
        for source in KNOWN_FROM:
            names = [name for name, word in zip(self._table.names, knowledge.known_from)
                     if word == source]
            if names:
                found[f"known from: {source}"] = f"{len(names)}: {', '.join(names)}"
        return found

    def _predictions(self, state: EstimatorSnapshot) -> Status:
        values: dict[str, object] = {}
        fits = self._fit.metrics()
        for channel, fit in fits.items():
            if fit["r2"] is not None and fit["n"] >= MIN_ROWS:
                values |= {f"{channel} R^2": fit["r2"], f"{channel} coverage": fit["coverage95"],
                           f"{channel} width [{fit['unit']}]": fit["interval_width"],
                           f"{channel} NLL [nats]": fit["nll"]}
        judged = {channel: fit for (channel, fit), trust in zip(fits.items(), state.trust)
                  if trust not in LEFT_OUT}
        if warnings := channel_warnings(judged, self._fit.seconds, MIN_ROWS):
            said = "; ".join(warnings)
            return Status(OK if self._learning else WARN, "predictions",
                          f"learning: {said}" if self._learning else said, values)
        return Status(OK, "predictions", "one-step predictions (each row before it was used), last "
                                         f"{self._fit.seconds:g} s", values)

    def _trust(self, state: EstimatorSnapshot) -> Status:
        """Trust in each channel, the likely cause of distrust, and implausible values."""
        knowledge = self._worker.knowledge
        findings = () if knowledge is None else knowledge.findings
        values = dict(zip(self._fit.channels, state.trust))
        said = "; ".join([state.trust_cause, *findings] if state.trust_cause else findings)
        if not said:
            return Status(OK, "trust", "the noise explains the residuals", values)
        if self._learning and "wrong" not in state.trust:
            return Status(OK, "trust", f"learning: {said}", values)
        return Status(ERROR if "wrong" in state.trust else WARN, "trust", said, values)

    def _review(self) -> Status:
        """What the last review found in the last minutes."""
        findings = self._reviews()
        if not findings:
            return Status(OK, "review", "none yet" if findings is None else "no fault found", {})
        return Status(WARN, "review", "; ".join(one.sentence for one in findings), {
            one.code: one.sentence for one in findings})


def _late_solves(skipped: int, cut: int, ticks: int) -> str:
    """Message about late solves among `ticks` samples."""
    parts = [f"{skipped} solves skipped because newer samples were waiting"] if skipped else []
    parts += [f"{cut} solves stopped by estimation.deadline"] if cut else []
    return (f"{' and '.join(parts)}, out of the last {ticks} samples; all samples are still used, "
            "but parameters follow more slowly. Reduce the load on the computer, or shorten "
            "estimation.horizon")


def _times(name: str, milliseconds) -> dict[str, object]:
    found = timing(list(milliseconds))   # a copy, since the worker appends concurrently
    if found["median"] is None:
        return {}
    return {f"{name} median [ms]": found["median"], f"{name} 99th percentile [ms]": found["p99"]}
