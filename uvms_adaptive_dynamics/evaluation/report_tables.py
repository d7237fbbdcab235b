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

"""The tables of report.html, with formatted cells."""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..model.kernel import PassBand
from ..model.metrics import all_channels
from .regimes import Regime, regimes
from .run_record import Run

# Intervals over time: at most this many pieces, each at least SHORTEST_PIECE [s] long.
PIECES, SHORTEST_PIECE = 6, 10.0

Cells = tuple[str, ...]


class Table(NamedTuple):
    """Formatted cells, row by row."""

    head: Cells
    rows: list[Cells]


class ChannelRow(NamedTuple):
    """A channel in the first table of the page; `cells`: (title, text), empty if no row counts;
    `masked`: mask reasons with their counts."""

    name: str
    unit: str
    trust: str
    cells: list[tuple[str, str]]
    share: str
    masked: str


def channel_rows(metrics: dict[str, Any]) -> list[ChannelRow]:
    """Fit, bias, intervals and trust of each channel, and why rows are masked."""
    found = []
    for name, c in metrics["channels"].items():
        every = c["n"] + c["masked"]
        cells = [
            ("R²", fixed(c["r2"], 3)), ("slope", fixed(c["slope"], 2)),
            ("bias", beside(c["bias"], c["rmse"])),
            ("RMSE", number(c["rmse"])), ("in 95 % interval", percent(c["coverage95"])),
            ("width", number(c["interval_width"])), ("width for this RMSE",
                                                     number(c["width_expected"])),
            ("rows", f"{c['n']:,}")] if c["n"] else []
        found.append(ChannelRow(name, c["unit"], c["trust"] or "–", cells,
                                percent(c["masked"] / every if every else None),
                                counted(c["masked_by"])))
    return found


def stages_table(metrics: dict[str, Any]) -> Table:
    """The stages of a schedule: times, why they ended, and the remaining share of the deviations.
    """
    rows: list[Cells] = []
    for stage in metrics["stages"]:
        ratios = [one["end"] / one["begin"] for one in stage["stddev"].values()
                  if one["begin"] > 0 and one["end"] > 0]
        left = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
        rows.append((stage["name"], number(stage["begin_s"]), number(stage["end_s"]),
                     stage["why_ended"], percent(left), "; ".join(stage["missing"]) or "nothing"))
    return Table(("stage", "from [s]", "to [s]", "ended", "deviations left", "missing"), rows)


def inputs_table(run: Run) -> Table:
    """Messages of each input (used, refused, doubted) and its clock."""
    head = ("input", "topic", "received", "used", "refused", "doubted values", "rate [Hz]",
            "clock ahead [s]", "latency [s]")
    return Table(head, [
        (role, f.topic, str(f.received), str(f.used), counted(f.refused) or "0",
         counted(f.doubted) or "0", number(f.rate_hz), number(f.clock_offset_s),
         number(f.latency_s)) for role, f in run.inputs.items()])


def all_errors(run: Run, metrics: dict[str, Any]) -> Table:
    """The paper's table of metrics, plus intervals, masked share, and other parameters' errors."""
    head: Cells = ("channel", "R²", "slope", "MSE", "MAE", "RMSE", "in 95 % interval", "its width",
                   "in saved interval", "its width", "NLL [nats]", "rows", "masked", "trust",
                   "ok / doubtful / wrong")
    if not run.frozen:
        head += ("R², prior", "RMSE, prior", "R², last", "RMSE, last")
    rows = []
    for name, c in metrics["channels"].items():
        every = c["n"] + c["masked"]
        row: Cells = (
            f"{name} [{c['unit']}]", fixed(c["r2"], 3), fixed(c["slope"], 2),
            *(number(c[key]) for key in ("mse", "mae", "rmse")), percent(c["coverage95"]),
            number(c["interval_width"]), percent(c["coverage95_saved"]),
            number(c["width_saved"]), fixed(c["nll"], 2), str(c["n"]),
            percent(c["masked"] / every if every else None), c["trust"] or "–",
            " / ".join(percent(share) for share in c["trust_share"].values()))
        if not run.frozen:
            for block in ("prior", "final"):
                other = metrics[block]["channels"][name]
                row += (fixed(other["r2"], 3), number(other["rmse"]))
        rows.append(row)
    return Table(head, rows)


def over_time_table(run: Run) -> Table:
    """Coverage, mean width and NLL of each channel in pieces of the recorded time."""
    rows, period = run.log.rows(), run.config.filter.period
    count = max(1, min(PIECES, int(len(rows.t) * period / SHORTEST_PIECE)))
    pieces = np.array_split(np.arange(len(rows.t)), count)
    names, units = run.robot.channels, run.robot.units
    found = [all_channels(names, units, rows.measured[piece], rows.predicted[piece],
                          rows.stddev[piece], rows.valid[piece]) for piece in pieces]
    # (recordings one after the other; a time that goes back within one does not count)
    steps = np.maximum(np.diff(rows.t, prepend=rows.t[0] - period), 0.0)
    steps[1:][np.diff(rows.bag) != 0] = period
    at = np.cumsum(steps)
    head = ("channel", *(f"to {at[piece[-1]]:.0f} s" for piece in pieces))
    return Table(head, [(f"{name} [{unit}]", *(_interval(f[name]) for f in found))
                        for name, unit in zip(names, units, strict=True)])


def regimes_table(run: Run) -> Table:
    """Coverage and number of rows of each channel in each regime, without adaptation."""
    found = regimes(run)
    head = ("channel", *(regime.name for regime in found))
    return Table(head, [(f"{name} [{unit}]", *(_held(regime, c) for regime in found))
                        for c, (name, unit) in enumerate(zip(run.robot.channels, run.robot.units,
                                                             strict=True))])


def _held(regime: Regime, c: int) -> str:
    n = int(regime.rows[c])
    return f"{percent(regime.inside[c] / n)} of {n}" if n else "–"


def _interval(channel: dict[str, Any]) -> str:
    return " · ".join((percent(channel["coverage95"]), number(channel["interval_width"]),
                       fixed(channel["nll"], 2)))


def parameters_table(run: Run) -> Table:
    """All parameters: prior, last estimate, deviation, interval, and what they are known from."""
    table, spread = run.robot.table, run.final.stddev
    known = not run.frozen and spread is not None
    spread = np.full(table.size, np.nan) if spread is None else spread
    words = run.final.known_from if known else ("",) * table.size
    low, high = (np.full((2, table.size), np.nan) if run.final.intervals is None
                 else run.final.intervals)
    rows = [(f"{name} [{unit.replace('^2', '²')}]", *map(number, figures), word)
            for name, unit, word, *figures in zip(
                table.names, table.units, words, run.prior.values, run.final.values, spread,
                low, high, strict=True)]
    return Table(("parameter", "prior", "last", "stddev", "95 % from", "to", "known from"), rows)


def number(value: float | None) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.4g}"


def fixed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def beside(value: float | None, other: float | None) -> str:
    """`value` with as many decimals as `other` has in four significant digits."""
    if value is None or not other or not math.isfinite(other):
        return number(value)
    return fixed(value, max(0, 3 - math.floor(math.log10(abs(other)))))


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def lowpass(band: PassBand | None) -> str:
    """The low-pass of the rows, as frequencies."""
    if band is None:
        return "none"
    return (f"-3 dB at {band.bandwidth_hz:.2f} Hz, gain {band.gain_at_1_hz:.2f} at 1 Hz, for "
            "measured and predicted efforts")


def counted(reasons: Mapping[str, int]) -> str:
    ordered = sorted(reasons.items(), key=lambda x: -x[1])
    return ", ".join(f"{reason} {count}" for reason, count in ordered if count)
