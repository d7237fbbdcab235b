"""report.html: one self-contained page with a run's tables and figures, and the figures as PNG
files.

The page's text and style are in `report.html.jinja`; here its cells are made.
"""
from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..disk.writing import attempt_all, write_file
from ..model.metrics import all_channels
from ..uncertainty.advisories import block_warnings, link_note
from ..uncertainty.identifiability import MEASURED, WEAK
from .figures import Drawn, draw
from .regimes import Regime, regimes
from .run_record import Run

TEMPLATE = "report.html.jinja"
# Intervals are shown over this many pieces of time at most, each of at least SHORTEST [s].
PIECES, SHORTEST = 6, 10.0

Row = tuple[str, ...]


class Table(NamedTuple):
    """Cells as they are read, row by row."""

    head: Row
    rows: list[Row]


class Picture(NamedTuple):
    """A figure as the page holds it: `png` in base64."""

    title: str
    caption: str
    png: str


def write_report(folder: Path, run: Run, metrics: dict[str, Any]) -> Path:
    """Write report.html and its PNG files into `folder`; returns the page's path.

    Raises UvmsError where a file cannot be written, after each has been tried.
    """
    files: dict[str, str | bytes] = {}
    page = _template().render(
        recordings=", ".join(bag.path.resolve().name for bag in run.bags), frozen=run.frozen,
        facts=_facts(run, metrics), inputs=_inputs(run), stages=_stages(metrics),
        errors=_errors(run, metrics), over_time=_over_time(run),
        regimes=_regimes(run), saved=run.saved_noise is not None,
        figures=_pictures(files, draw(run, metrics)), parameters=_parameters(run),
        measured=f"{MEASURED:.0%}", weak=f"{WEAK:.0%}")
    files["report.html"] = page
    attempt_all(*(partial(write_file, folder / name, text) for name, text in files.items()))
    return folder / "report.html"


def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, keep_trailing_newline=True)
    return environment.get_template(TEMPLATE)


def _pictures(files: dict[str, str | bytes], figures: Iterator[Drawn]) -> Iterator[Picture]:
    """Each figure for the page, and as a PNG file among `files`."""
    for drawn in figures:
        buffer = io.BytesIO()
        drawn.figure.savefig(buffer, format="png")
        files[f"{drawn.stem}.png"] = buffer.getvalue()
        yield Picture(drawn.title, drawn.caption, base64.b64encode(buffer.getvalue()).decode())


def _facts(run: Run, metrics: dict[str, Any]) -> list[Row]:
    """Recordings, solver, masked rows, warnings, and settings that differ from the defaults."""
    solver, physical = metrics["solver"], metrics["physical"]
    rank, names = (metrics["parameters"][key] for key in ("identifiable_rank", "names"))
    recordings = ", ".join(f"{bag.path} ({bag.end - bag.start:.1f} s)" for bag in run.bags)
    rows: list[Row] = [("recordings", recordings)]
    if solver is None:
        rows.append(("estimate", "none: parameters frozen, the held-out test"))
    else:
        rows += [
            ("estimate", f"{metrics['updates']} updates, {metrics['skipped']} rows without a new "
                         "estimate; every row predicted before it was learnt"),
            ("solver", f"{solver['name']}: median {_number(solver['median_ms'])} ms, "
                       f"99 % {_number(solver['p99_ms'])} ms, longest {_number(solver['max_ms'])} "
                       f"ms, {solver['failures']} failures")]
    rows += [
        ("low-pass", _lowpass(run.config.filter.lowpass)),
        ("determined", "unknown" if rank is None else
         f"{rank} of {len(names)} directions of the parameters"),
        ("physical", f"{physical['violations']} estimates outside the physical set; smallest "
                     f"eigenvalue of M {_number(physical['min_eig_M'])}, of scaled pseudo-inertias "
                     f"{', '.join(_number(x) for x in physical['min_eig_J']) or '–'}"),
        ("longest gaps", "; ".join(f"no {what.replace('_', ' ')} for {seconds:.1f} s" for
                                   what, seconds in run.longest_gap.items()
                                   if seconds is not None)),
        ("masked rows", "; ".join(f"{channel}: {_counted(why)}" for channel, why in
                                  run.masked.items() if _counted(why)) or "none"),
        ("version", run.version)]
    rows += [("warning", warning) for bag in run.bags for warning in bag.warnings]
    rows += [("note", note) for note in run.notes]
    rows += [("finding", found.sentence) for found in run.findings
             if found.sentence not in run.notes]
    rows += [("failure", failure.line()) for failure in run.failures]
    rows += [("not to rely on", sentence) for sentence in _advisories(run)]
    rows += [(name, f"{value} (default {default})")
             for name, (default, value) in run.config.changed_settings().items()]
    return rows


def _lowpass(sigma: float) -> str:
    """The Gaussian low-pass of standard deviation sigma [s] in time, as frequencies."""
    if sigma == 0:
        return "none"
    edge = math.sqrt(math.log(2)) / (2 * math.pi * sigma)
    gain = math.exp(-0.5 * (2 * math.pi * sigma) ** 2)
    return f"-3 dB at {edge:.2f} Hz, gain {gain:.2f} at 1 Hz, on measured and predicted alike"


def _counted(reasons: Mapping[str, int]) -> str:
    ordered = sorted(reasons.items(), key=lambda x: -x[1])
    return ", ".join(f"{reason} {count}" for reason, count in ordered if count)


def _inputs(run: Run) -> Table:
    """What became of the messages of each input, and its clock."""
    head = ("input", "topic", "received", "used", "refused", "doubted values", "rate [Hz]",
            "clock ahead [s]", "latency [s]")
    return Table(head, [
        (role, f.topic, str(f.received), str(f.used), _counted(f.refused) or "0",
         _counted(f.doubted) or "0", _number(f.rate_hz), _number(f.clock_offset_s),
         _number(f.latency_s)) for role, f in run.inputs.items()])


def _stages(metrics: dict[str, Any]) -> Table:
    """The stages of a schedule: when, why they ended, and what is left of the deviations."""
    rows: list[Row] = []
    for stage in metrics["stages"]:
        ratios = [one["end"] / one["begin"] for one in stage["stddev"].values()
                  if one["begin"] > 0 and one["end"] > 0]
        left = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
        rows.append((stage["name"], _number(stage["begin_s"]), _number(stage["end_s"]),
                     stage["why_ended"], _percent(left), "; ".join(stage["missing"]) or "nothing"))
    return Table(("stage", "from [s]", "to [s]", "ended", "deviations left", "missing"), rows)


def _errors(run: Run, metrics: dict[str, Any]) -> Table:
    """The paper's table of metrics; beside it intervals, masked share, and other parameters."""
    head: Row = ("channel", "R²", "slope", "MSE", "MAE", "RMSE", "in 95 % interval", "its width",
                 "in saved interval", "its width", "NLL [nats]", "rows", "masked", "trust",
                 "ok / doubtful / wrong")
    if not run.frozen:
        head += ("R², prior", "RMSE, prior", "R², last", "RMSE, last")
    rows = []
    for name, c in metrics["channels"].items():
        every = c["n"] + c["masked"]
        row: Row = (
            f"{name} [{c['unit']}]", _fixed(c["r2"], 3), _fixed(c["slope"], 2),
            *(_number(c[key]) for key in ("mse", "mae", "rmse")), _percent(c["coverage95"]),
            _number(c["interval_width"]), _percent(c["coverage95_saved"]),
            _number(c["width_saved"]), _fixed(c["nll"], 2), str(c["n"]),
            _percent(c["masked"] / every if every else None), c["trust"] or "–",
            " / ".join(_percent(share) for share in c["trust_share"].values()))
        if not run.frozen:
            for block in ("prior", "final"):
                other = metrics[block]["channels"][name]
                row += (_fixed(other["r2"], 3), _number(other["rmse"]))
        rows.append(row)
    return Table(head, rows)


def _over_time(run: Run) -> Table:
    """Coverage, mean width and NLL of each channel in pieces of the recorded time."""
    rows, period = run.log.rows(), run.config.filter.period
    count = max(1, min(PIECES, int(len(rows.t) * period / SHORTEST)))
    pieces = np.array_split(np.arange(len(rows.t)), count)
    names, units = run.robot.channels, run.robot.units
    found = [all_channels(names, units, rows.measured[piece], rows.predicted[piece],
                          rows.stddev[piece], rows.valid[piece]) for piece in pieces]
    head = ("channel", *(f"to {(piece[-1] + 1) * period:.0f} s" for piece in pieces))
    return Table(head, [(f"{name} [{unit}]", *(_interval(f[name]) for f in found))
                        for name, unit in zip(names, units, strict=True)])


def _regimes(run: Run) -> Table:
    """Coverage and number of rows of each channel in each regime, with nothing adapted."""
    found = regimes(run)
    head = ("channel", *(regime.name for regime in found))
    return Table(head, [(f"{name} [{unit}]", *(_held(regime, c) for regime in found))
                        for c, (name, unit) in enumerate(zip(run.robot.channels, run.robot.units,
                                                             strict=True))])


def _held(regime: Regime, c: int) -> str:
    n = int(regime.rows[c])
    return f"{_percent(regime.inside[c] / n)} of {n}" if n else "–"


def _interval(channel: dict[str, Any]) -> str:
    return " · ".join((_percent(channel["coverage95"]), _number(channel["interval_width"]),
                       _fixed(channel["nll"], 2)))


def _advisories(run: Run) -> list[str]:
    """What a controller should not rely on after this run."""
    if run.frozen or run.final.covariance is None or not run.final.known_from:
        return []
    note = link_note(run.robot.table, run.final.known_from)
    warnings = block_warnings(run.robot.table, run.final.known_from)
    return [*warnings, *([note] if note else [])]


def _parameters(run: Run) -> Table:
    """Every parameter: prior, last estimate, standard deviation, and what it is known from."""
    table, spread = run.robot.table, run.final.stddev
    known = not run.frozen and spread is not None
    spread = np.full(table.size, np.nan) if spread is None else spread
    words = run.final.known_from if known else ("",) * table.size
    rows = [(f"{name} [{unit.replace('^2', '²')}]", *map(_number, figures), word)
            for name, unit, word, *figures in zip(
                table.names, table.units, words, run.prior.values, run.final.values, spread,
                strict=True)]
    return Table(("parameter", "prior", "last", "stddev", "known from"), rows)


def _number(value: float | None) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.4g}"


def _fixed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"
