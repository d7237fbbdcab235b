"""What the node says about itself on /diagnostics: inputs, rows, solver, estimate, recording (DESIGN section 10)."""
from __future__ import annotations

from collections import Counter, deque
from concurrent.futures import Future
from typing import Any, Mapping, NamedTuple

import numpy as np

from ..config import Config
from ..uncertainty.advisories import block_warnings, channel_warnings, link_note
from .recent_fit import RecentFit
from .recorder import Recorder
from .worker import Worker

OK, WARN, ERROR = 0, 1, 2

# Fewer rows say nothing of a channel.
MIN_ROWS = 100

# From this share on, over so many reports, an operator should look at the reasons; an arm that is parked is none.
MASKED_WARN, REPORTS = 0.9, 10
AT_REST = "joint at rest"


class Status(NamedTuple):
    """One diagnostic: level, name, sentence, values."""

    level: int
    name: str
    message: str
    values: Mapping[str, object]


class Diagnostics:
    """Makes the statuses of a moment; keeps the counts of the last time, so that each report speaks of its own period."""

    def __init__(self, config: Config, worker: Worker, estimator: Any, fit: RecentFit):
        self._config, self._worker, self._estimator, self._fit = config, worker, estimator, fit
        self._before: Counter = Counter()
        self._masked: deque = deque(maxlen=REPORTS)
        self._rank: Future | None = None
        self._last_rank: tuple[int, tuple[str, ...]] | None = None

    def statuses(self, front_end: Any, now_s: float, samples: int, dropped: Mapping[str, int],
                 recorder: Recorder | None) -> list[Status]:
        """All statuses, the overall one first."""
        found = [Status(*status) for status in front_end.status(now_s)]
        found += [self._rows(front_end, samples), self._solver(), self._estimate(), self._predictions(),
                  self._messages(front_end, dropped)]
        if recorder is not None:
            found.append(Status(ERROR if recorder.error else OK, "recorder", recorder.error or f"recording into {recorder.path}",
                                {"messages": recorder.messages}))
        return [self._overall(found, samples)] + found

    def _since(self, name: str, total: int) -> int:
        """Growth of a counter since the last call with this name; a counter that was reset counts from zero."""
        before, self._before[name] = self._before[name], total
        return total - before if total >= before else total

    def _overall(self, found: list[Status], samples: int) -> Status:
        worst = max(found, key=lambda status: status.level)
        fresh = self._since("samples", samples)
        if worst.level:
            message = f"{worst.name}: {worst.message}"
        elif not samples:
            message = "no sample yet"
        else:
            message = "estimating" if self._estimator.learn else "predicting only (disabled by ~/enable)"
        return Status(worst.level, "overall", message, {
            "enabled": self._estimator.learn, "samples": samples, "samples since the last report": fresh})

    def _rows(self, front_end: Any, samples: int) -> Status:
        now = samples, {channel: Counter(front_end.masked.get(channel, {})) for channel in self._fit.channels}
        before = self._masked[0] if self._masked else (0, {})
        self._masked.append(now)
        fresh, values, much = max(1, samples - before[0]), {}, []
        for channel, counts in now[1].items():
            grown = counts - before[1].get(channel, Counter())
            reasons = ", ".join(f"{reason} {count}" for reason, count in grown.most_common())
            values[channel] = f"{min(1.0, grown.total() / fresh):.0%}" + (f" ({reasons})" if reasons else "")
            if grown.total() - grown[AT_REST] > MASKED_WARN * fresh:
                much.append(channel)
        if much:
            return Status(WARN, "masked rows", f"nearly all rows masked on {', '.join(much)}: nothing is learnt there", values)
        return Status(OK, "masked rows", f"share of masked rows over {len(self._masked)} reports, with reasons", values)

    def _solver(self) -> Status:
        worker, estimator = self._worker, self._estimator
        failed = self._since("failures", estimator.solver_failures)
        skipped = self._since("skipped", worker.skipped)
        crashed = self._since("exceptions", worker.exceptions)
        values = {"solver": estimator.solver_name, **_times("solve", worker.solve_ms), **_times("update", worker.update_ms),
                  **estimator.solver_counts, "skipped solves": worker.skipped, "exceptions": worker.exceptions,
                  "samples waiting": worker.backlog}
        if worker.last_error:
            values["last exception"] = worker.last_error
        if crashed:
            return Status(ERROR, "solver", f"{crashed} samples ended in an exception: {worker.last_error}", values)
        if failed:
            return Status(ERROR, "solver", f"{failed} solves failed; the last good estimate is kept", values)
        if skipped:
            return Status(WARN, "solver", f"{skipped} solves skipped, being late; every sample still counts. A shorter "
                          "estimation.horizon or another estimation.solver is faster", values)
        return Status(OK, "solver", estimator.solver_name, values)

    def _knowledge(self) -> dict[str, object]:
        """Rank and what is known from where, as of the last report: asked for here, found on the worker's thread, which owns the data."""
        if self._rank is not None and self._rank.done():
            self._last_rank = None if self._rank.exception() else self._rank.result()
            self._rank = None
        if self._rank is None:
            self._rank = self._worker.request(lambda estimator: (estimator.identifiable_rank(), estimator.known_from()))
        if self._last_rank is None:
            return {"identifiable rank": "-"}
        rank, words = self._last_rank
        by_word = {word: [name for name, w in zip(self._estimator.table.names, words) if w == word] for word in ("measured", "weak", "prior", "frozen")}
        return {"identifiable rank": rank, **{f"known from: {word}": f"{len(names)}: {', '.join(names)}" for word, names in by_word.items() if names}}

    def _estimate(self) -> Status:
        estimator = self._estimator
        values = {"parameters": estimator.table.size, **self._knowledge(),
                  "horizon filled": estimator.horizon_filled, "horizon": self._config.estimation.horizon}
        if estimator.changes:
            values |= {"changes of the robot": estimator.changes, "last change": estimator.last_change}
        if self._since("changes", estimator.changes):
            return Status(WARN, "estimate", estimator.last_change, values)
        if estimator.estimate is None:
            return Status(OK, "estimate", "no estimate yet: the prior stands", values)
        # What a loaded file knew does not show in how much of its deviation is left.
        if self._last_rank is not None and estimator.prior.covariance is None:
            _, words = self._last_rank
            if note := link_note(estimator.table, words):
                values["links"] = note
            if warnings := block_warnings(estimator.table, words):
                return Status(WARN, "estimate", "; ".join(warnings), values)
        return Status(OK, "estimate", f"status of the last solve: {estimator.estimate.status}", values)

    def _predictions(self) -> Status:
        values: dict[str, object] = {}
        fits = self._fit.metrics()
        for channel, fit in fits.items():
            if fit["r2"] is not None and fit["n"] >= MIN_ROWS:
                values |= {f"{channel} R^2": fit["r2"], f"{channel} coverage": fit["coverage95"],
                           f"{channel} width [{fit['unit']}]": fit["interval_width"], f"{channel} NLL [nats]": fit["nll"]}
        if warnings := channel_warnings(fits, self._fit.seconds, MIN_ROWS):
            return Status(WARN, "predictions", "; ".join(warnings), values)
        return Status(OK, "predictions", f"each row before it was used, last {self._fit.seconds:g} s", values)

    def _messages(self, front_end: Any, dropped: Mapping[str, int]) -> Status:
        counts = {**front_end.counters, **{reason: count for reason, count in dropped.items() if count}}
        fresh = {reason: grown for reason, count in counts.items() if (grown := self._since(f"message/{reason}", count))}
        if fresh:
            said = ", ".join(f"{reason} {count}" for reason, count in fresh.items())
            return Status(WARN, "refused messages", f"since the last report: {said}", counts)
        return Status(OK, "refused messages", "none since the last report", counts)


def _times(name: str, values) -> dict[str, object]:
    times = list(values)  # a copy: the worker appends meanwhile
    if not times:
        return {}
    return {f"{name} median [ms]": float(np.median(times)), f"{name} 99th percentile [ms]": float(np.percentile(times, 99))}

