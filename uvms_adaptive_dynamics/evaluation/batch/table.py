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

"""Tables of a batch: results.csv, times.csv, and those on the terminal."""
from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten
from typing import Any, NamedTuple

from .compare import ChannelComparison, Difference

BATCH_COLUMNS = ("variant", "split", "recording", "channel", "unit", "n", "masked", "r2", "slope",
                 "bias", "mae", "rmse", "coverage95", "interval_width", "nll", "verdict", "error")
FIGURES = BATCH_COLUMNS[4:-2]
LONGEST_REASON = 120    # characters of a reason on the terminal


class Summary(NamedTuple):
    """A channel of a variant over all recordings: median and worst R^2, name of the worst
    recording, smallest and largest coverage, pooled RMSE; NaN if no recording has the figure."""

    unit: str
    median_r2: float
    worst_r2: float
    worst: str
    coverage: tuple[float, float]
    rmse: float


def results_csv(tasks: Sequence[Mapping[str, Any]]) -> str:
    """A line for each variant, recording and channel, or one with the error of a failed task.
    Figures have all their digits, so equal results give equal files."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(BATCH_COLUMNS)
    for task in tasks:
        if task["result"] is None:
            lines.writerow([task["variant"], task["split"], " ".join(task["judged"]),
                            *[""] * (len(BATCH_COLUMNS) - 4), task["error"]])
            continue
        for name, channels in zip(task["judged"], task["result"]["recordings"], strict=True):
            for channel, c in channels.items():
                figures = ["" if c[key] is None else c[key] for key in FIGURES]
                lines.writerow([task["variant"], task["split"], name, channel, *figures,
                                task["result"]["verdict"]["word"], ""])
    return text.getvalue()


def times_csv(tasks: Sequence[Mapping[str, Any]],
              times: Sequence[Mapping[str, Any] | None]) -> str:
    """The time each task took; for a reused outcome, the time when it ran."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("variant", "split", "wall_s", "update_median_ms", "update_p99_ms"))
    for task, took in zip(tasks, times, strict=True):
        if took is not None:
            update = took["update_ms"] or {"median": "", "p99": ""}
            lines.writerow((task["variant"], task["split"], took["wall_s"], update["median"],
                            update["p99"]))
    return text.getvalue()


def summaries(judged: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[str, Summary]:
    """Summary by channel of one variant's recordings."""
    channels: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for (_, recording), found in judged.items():
        for name, c in found.items():
            channels.setdefault(name, []).append((recording, c))
    return {name: _summary(found) for name, found in channels.items()}


def _summary(found: Iterable[tuple[str, Mapping[str, Any]]]) -> Summary:
    found = list(found)
    r2 = sorted((c["r2"], name) for name, c in found if c["r2"] is not None)
    worst_r2, worst = r2[0] if r2 else (math.nan, "-")
    inside = [c["coverage95"] for _, c in found if c["coverage95"] is not None]
    rows = sum(c["n"] for _, c in found)
    squared = sum(sum(c["pieces"]["squared"]) for _, c in found)
    middle = len(r2) // 2
    median = (math.nan if not r2 else r2[middle][0] if len(r2) % 2
              else (r2[middle - 1][0] + r2[middle][0]) / 2)
    return Summary(found[0][1]["unit"], median, worst_r2, worst,
                   (min(inside, default=math.nan), max(inside, default=math.nan)),
                   math.sqrt(squared / rows) if rows else math.nan)


def summary_table(judged: Mapping[tuple[str, str], Mapping[str, Any]]) -> str:
    """The terminal's table of one variant."""
    lines = [f"{'channel':<12}{'median R^2':>11}{'worst R^2':>11}{'coverage':>18}{'RMSE':>10} "
             f"{'unit':<5} worst in"]
    for name, s in summaries(judged).items():
        coverage = f"{percent(s.coverage[0])} .. {percent(s.coverage[1])}"
        lines.append(f"{name:<12}{figure(s.median_r2, '.3f'):>11}{figure(s.worst_r2, '.3f'):>11}"
                     f"{coverage:>18}{figure(s.rmse, '.4g'):>10} {s.unit:<5} {s.worst}")
    return "\n".join(lines)


def verdicts_of(tasks: Iterable[Mapping[str, Any]], variant: str) -> list[tuple[str, str, str]]:
    """(split, verdict, first reason or '') of each task of a variant with a result."""
    return [(task["split"], found["word"], next(iter(found["reasons"]), ""))
            for task in tasks if task["variant"] == variant and task["result"] is not None
            for found in [task["result"]["verdict"]]]


def verdict_table(found: Sequence[tuple[str, str, str]]) -> str:
    """The terminal's table of one variant's verdicts."""
    wide = 2 + max(len("judged"), *(len(name) for name, _, _ in found))
    return "\n".join([f"{'judged':<{wide}}{'verdict':<12}first reason", *(
        f"{name:<{wide}}{word:<12}{shorten(reason, LONGEST_REASON, placeholder=' ...')}".rstrip()
        for name, word, reason in found)])


def comparison_table(found: Sequence[ChannelComparison]) -> str:
    """The terminal's table of differences."""
    lines = [f"{'channel':<12}{'':<11}{'RMSE old':>10}{'new':>10}{'change':>22}{'coverage':>22}"
             f"{'NLL':>22}  most in"]
    lines += [f"{c.channel:<12}{c.word:<11}{figure(c.old_rmse, '.4g'):>10}"
              f"{figure(c.new_rmse, '.4g'):>10}  {relative(c.log_rmse):>20}"
              f"  {points(c.coverage):>20}  {nats(c.nll):>20}  {c.worst}" for c in found]
    if found:
        lines.append(f"± is half of a 95 % interval, from {found[0].clusters} {found[0].kind}; one "
                     "channel in twenty exceeds it by chance.")
    return "\n".join(lines)


def relative(d: Difference) -> str:
    """A change of a logarithm, in percent."""
    return _with_interval(100 * math.expm1(d.value), 100 * math.exp(d.value) * d.half_width, " %")


def points(d: Difference) -> str:
    """A change of a share, in percentage points."""
    return _with_interval(100 * d.value, 100 * d.half_width, " pt")


def nats(d: Difference) -> str:
    """A change of the NLL."""
    return _with_interval(d.value, d.half_width, "")


def _with_interval(value: float, half_width: float, unit: str) -> str:
    known = f" ± {half_width:.2g}" if math.isfinite(half_width) else ""
    return f"{value:+.2g}{known}{unit}"


def figure(value: float | None, form: str) -> str:
    """A formatted figure; '-' if missing."""
    return "-" if value is None or not math.isfinite(value) else format(value, form)


def percent(value: float | None) -> str:
    """A share, in percent."""
    return figure(value, ".1%")
