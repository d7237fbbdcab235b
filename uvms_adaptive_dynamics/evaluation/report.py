"""report.html: one self-contained page with the paper's table and figures for a run, and the figures as PNG files beside it."""
from __future__ import annotations

import base64
import io
import math
from html import escape
from pathlib import Path
from typing import Any, Iterable

import numpy as np

from ..config import Config
from ..errors import UvmsError
from ..uncertainty.identifiability import MEASURED, WEAK
from ..uncertainty.advisories import block_warnings, link_note
from ..uncertainty.parameter_covariance import deviations
from .figures import draw
from .files import write_text
from .metrics import all_channels
from .run import Run

PIECES, SHORTEST = 6, 10.0   # in how many pieces of time intervals are shown at most; and the length [s] of a piece at least

CSS = """
body { font: 15px/1.5 system-ui, sans-serif; color: #333; max-width: 1160px; margin: 2em auto; padding: 0 1.5em; }
h1, h2 { font-size: inherit; font-weight: 650; margin: 2.2em 0 .5em; } h1 { margin-top: 0; }
p { margin: .3em 0; max-width: 80ch; } figure { margin: 0 0 1.5em; } img { width: 100%; }
figcaption { max-width: 90ch; color: #666; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15em .75em; white-space: nowrap; border-bottom: 1px solid #e6e6e6; }
th { font-weight: 600; border-bottom-color: #999; } th:first-child, td:first-child { text-align: left; padding-left: 0; }
table.facts td { text-align: left; white-space: normal; } summary { cursor: pointer; }
"""


def write_report(folder: Path, run: Run, metrics: dict[str, Any]) -> Path:
    """Write report.html and its PNG files into `folder`; returns the page's path. Raises UvmsError where it cannot."""
    parts = [_section("What was measured", _facts(run, metrics)), _section("Prediction errors and intervals", _metrics_table(run, metrics)),
             _section("Intervals over time", _over_time(run))]
    for drawn in draw(run, metrics):
        buffer = io.BytesIO()
        drawn.figure.savefig(buffer, format="png")
        try:
            (folder / f"{drawn.stem}.png").write_bytes(buffer.getvalue())
        except OSError as error:
            raise UvmsError(f"'{folder / drawn.stem}.png' cannot be written: {error.strerror or error}.") from None
        image = base64.b64encode(buffer.getvalue()).decode()
        parts.append(_section(drawn.title, f'<figure><img alt="{escape(drawn.title)}" src="data:image/png;base64,{image}">'
                                           f"<figcaption>{escape(drawn.caption)}</figcaption></figure>"))
    parts.append(_section("Parameters", _parameter_table(run)))
    page = (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{escape(_names(run))}</title><style>{CSS}</style></head><body>"
            f"<h1>Dynamics of the robot in {escape(_names(run))}</h1>{''.join(parts)}</body></html>\n")
    write_text(folder / "report.html", page)
    return folder / "report.html"


def _names(run: Run) -> str:
    return ", ".join(bag.path.resolve().name for bag in run.bags)


def _section(title: str, content: str) -> str:
    return f"<h2>{escape(title)}</h2>{content}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> str:
    cells = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    return f'<div class="wide"><table class="{kind}">{f"<tr>{titles}</tr>" if titles else ""}{cells}</table></div>'


def _facts(run: Run, metrics: dict[str, Any]) -> str:
    """Bags, duration, solver, counters of rejected data, warnings, settings that differ from the defaults."""
    solver, physical, sigma = metrics["solver"], metrics["physical"], run.config.filter.lowpass
    rank = metrics["parameters"]["identifiable_rank"]
    rows = [("recordings", ", ".join(f"{bag.path} ({bag.end - bag.start:.1f} s)" for bag in run.bags)),
            ("estimate", "none: parameters frozen, the held-out test" if solver is None else
             f"{metrics['updates']} updates, {metrics['skipped']} rows without a new estimate; every row predicted before it was learnt")]
    if solver is not None:
        rows.append(("solver", f"{solver['name']}: median {_number(solver['median_ms'])} ms, 99 % {_number(solver['p99_ms'])} ms, longest "
                               f"{_number(solver['max_ms'])} ms, {solver['failures']} failures"))
    rows += [("low-pass", "none" if sigma == 0 else
              f"-3 dB at {math.sqrt(math.log(2)) / (2 * math.pi * sigma):.2f} Hz, gain "
              f"{math.exp(-0.5 * (2 * math.pi * sigma) ** 2):.2f} at 1 Hz, on measured and predicted alike"),
             ("determined", "unknown" if rank is None else f"{rank} of {len(metrics['parameters']['names'])} directions of the parameters"),
             ("physical", f"{physical['violations']} estimates outside the physical set; smallest eigenvalue of M "
                          f"{_number(physical['min_eig_M'])}, "
                          f"of scaled pseudo-inertias {', '.join(_number(x) for x in physical['min_eig_J']) or '–'}"),
             ("rejected data", _counted(run.counters) or "none"),
             ("masked rows", "; ".join(f"{channel}: {_counted(why)}" for channel, why in run.masked.items() if _counted(why)) or "none"),
             ("version", run.version)]
    rows += [("warning", warning) for bag in run.bags for warning in bag.warnings] + [("note", note) for note in run.notes]
    rows += [("not to rely on", sentence) for sentence in _doubts(run)]
    default = {name: value for name, _, value in Config().settings()}
    rows += [(name, str(value)) for name, _, value in run.config.settings() if value != default[name]]
    return _table((), rows, "facts")


def _counted(reasons: dict[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items(), key=lambda x: -x[1]) if count)


def _metrics_table(run: Run, metrics: dict[str, Any]) -> str:
    """The paper's table of metrics, and beside it what it does not say: intervals, masked share, other parameters."""
    head = ("channel", "R²", "slope", "MSE", "MAE", "RMSE", "in 95 % interval", "its width", "NLL [nats]", "rows", "masked",
            *(() if run.frozen else ("R², prior", "RMSE, prior", "R², last", "RMSE, last")))
    rows = []
    for name, c in metrics["channels"].items():
        prior, final = metrics["prior"]["channels"][name], metrics["final"]["channels"][name]
        share = c["masked"] / (c["n"] + c["masked"]) if c["n"] + c["masked"] else None
        rows.append((f"{name} [{c['unit']}]", _fixed(c["r2"], 3), _fixed(c["slope"], 2), *(_number(c[k]) for k in ("mse", "mae", "rmse")),
                     _percent(c["coverage95"]), _number(c["interval_width"]), _fixed(c["nll"], 2), str(c["n"]), _percent(share),
                     *(() if run.frozen else (_fixed(prior["r2"], 3), _number(prior["rmse"]),
                                              _fixed(final["r2"], 3), _number(final["rmse"])))))
    note = ("Measured is the thruster wrench and the joint effort, predicted is Y&nbsp;&pi;, both after the same low-pass. " + (
        "The parameters are frozen: these rows are a held-out test." if run.frozen else
        "A short memory predicts well without knowing the robot: only a held-out run (--frozen) shows that parameters were identified. "
        "&ldquo;Last&rdquo; is the last estimate on the rows it was learnt from."))
    return f"{_table(head, rows)}<p>{note}</p>"


def _over_time(run: Run) -> str:
    """Coverage, mean width and NLL of each channel in pieces of the recorded time: intervals should hold in all of them."""
    rows = run.log.rows()
    count = max(1, min(PIECES, int(len(rows.t) * run.config.filter.period / SHORTEST)))
    pieces = np.array_split(np.arange(len(rows.t)), count)
    found = [all_channels(run.robot.channels, run.robot.units, *(column[piece] for column in (
        rows.measured, rows.predicted, rows.stddev, rows.valid))) for piece in pieces]
    ends = [f"to {(piece[-1] + 1) * run.config.filter.period:.0f} s" for piece in pieces]
    table = [(f"{channel} [{unit}]", *(f"{_percent(f[channel]['coverage95'])} · {_number(f[channel]['interval_width'])} · {_fixed(f[channel]['nll'], 2)}"
                                        for f in found)) for channel, unit in zip(run.robot.channels, run.robot.units)]
    return (f"{_table(('channel', *ends), table)}<p>Share of rows in the 95&nbsp;% interval &middot; its mean width &middot; NLL [nats], "
            "every row judged with what was known before it.</p>")


def _doubts(run: Run) -> list[str]:
    """What a controller should not rely on after this run."""
    if run.frozen or run.final.covariance is None or not run.final.known_from:
        return []
    note = link_note(run.robot.table, run.final.known_from)
    return block_warnings(run.robot.table, run.final.known_from) + ([note] if note else [])


def _parameter_table(run: Run) -> str:
    """Every parameter: prior, last estimate, standard deviation, and how much of the prior's spread is left."""
    table = run.robot.table
    spread = None if run.final.covariance is None else deviations(run.final.covariance)
    words = [""] * table.size if run.frozen or spread is None else run.final.known_from
    rows = [(f"{name} [{unit.replace('^2', '²')}]", _number(run.prior.values[k]), _number(run.final.values[k]),
             _number(None if spread is None else spread[k]), words[k]) for k, (name, unit) in enumerate(zip(table.names, table.units))]
    return (f"<details><summary>all values; a parameter counts as measured where less than {MEASURED:.0%} of the prior's standard deviation is left "
            f"and a wrong prior hardly matters, "
            f"as only the prior above {WEAK:.0%}</summary>{_table(('parameter', 'prior', 'last', 'stddev', 'known from'), rows)}</details>")


def _number(value: float | None) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.4g}"


def _fixed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"
