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

"""report.html: the findings of a run on one self-contained page.

Text and style are in `page/report.html.jinja` and `page/report.css`, the plots in `page/report.js`
(with uPlot, MIT licence, next to it); `report_tables` makes the table cells, `page_data` and
`parity` the data of the plots.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..disk.writing import write_file
from ..model.kernel import pass_band
from ..uncertainty.advisories import block_warnings, link_note
from ..uncertainty.evidence import ReportedFinding
from ..uncertainty.parameter_flags import MEASURED_SHARE, WEAK_SHARE
from ..uncertainty.statement import Statement
from . import report_tables as tables
from .page_data import page_data
from .parity import parity
from .run_record import Run
from .scene import Scene, parameter_groups

PAGE = Path(__file__).parent / "page"
REPORT_TEMPLATE = "report.html.jinja"
# Files that are part of every page, by their name in the template.
PAGE_PARTS = {"plot_style": "uPlot.min.css", "style": "report.css",
              "plot_script": "uPlot.iife.min.js", "script": "report.js"}

FINDING_KINDS = ("bad", "warn", "note")  # worst first; classes in report.css


class Notice(NamedTuple):
    """A finding as shown: one of FINDING_KINDS, a label (what and when), and the sentence."""

    kind: str
    label: str
    sentence: str


def write_report(folder: Path, run: Run, metrics: dict[str, Any], said: Statement) -> Path:
    """Write report.html into `folder` and return its path. The page begins with the verdict of the
    run's statement. Raises UvmsError if it cannot be written."""
    words = _words(run)
    rows = run.log.rows()
    page = template().render(
        {name: (PAGE / file).read_text() for name, file in PAGE_PARTS.items()},
        recordings=", ".join(bag.title for bag in run.bags), frozen=run.frozen,
        held_out="held_out/report.html" if "held_out" in metrics else "",
        subtitle=_subtitle(run, metrics), findings=_findings(run),
        verdict=said.verdict, next_steps=said.next, missing=said.missing,
        channels=tables.channel_rows(metrics), errors=tables.all_errors(run, metrics),
        over_time=tables.over_time_table(run), regimes=tables.regimes_table(run),
        saved=run.saved_noise is not None,
        groups=Scene(run).groups, parity=[
            (name, c["unit"], c, parity(rows, k, c))
            for k, (name, c) in enumerate(metrics["channels"].items())],
        comparison=None if run.frozen else _comparison(metrics),
        blocks=_blocks(run, words) if run.log.updates > 1 else [], eigenvalues=run.log.updates > 1,
        parameters=tables.parameters_table(run), solver=metrics["solver"],
        inputs=tables.inputs_table(run), stages=tables.stages_table(metrics), notes=_notes(run),
        facts=_facts(run, metrics),
        measured=f"{MEASURED_SHARE:.0%}", weak=f"{WEAK_SHARE:.0%}", data=page_data(run, words))
    return write_file(folder / "report.html", page)


def template() -> Any:
    """The page's template: text is typeset and escaped, and a missing variable is an error."""
    environment = Environment(loader=FileSystemLoader(PAGE), autoescape=True,
                              undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
                              keep_trailing_newline=True, finalize=_typeset)
    return environment.get_template(REPORT_TEMPLATE)


def _typeset(value: Any) -> Any:
    """Plain text with the signs of a page, where a terminal has R^2 and +-."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return re.sub(r"\^(-?\d+)", lambda power: power[1].translate(raised),
                  value).replace("+-", "±")


def _subtitle(run: Run, metrics: dict[str, Any]) -> list[str]:
    """Duration, updates or frozen parameters, and solver speed."""
    solver = metrics["solver"]
    seconds = f"{run.duration:.0f} s in {len(run.bags)} recording{'s' * (len(run.bags) > 1)}"
    if solver is None:
        return [seconds, "parameters frozen: held-out test"]
    return [seconds, f"{metrics['updates']:,} updates",
            f"solver {solver['name']}, median {tables.number(solver['median_ms'])} ms"]


def _findings(run: Run) -> list[Notice]:
    """Failures, findings, changes and what not to rely on, worst first."""
    found = [Notice("bad", "failure", failure.line()) for failure in run.failures]
    found += [Notice("bad" if "wrong" in each.sentence else "warn", _label(each, each.code),
                     each.sentence) for each in run.findings]
    found += [Notice("note", _label(change, "change"), change.sentence) for change in run.changes]
    found += [Notice("warn", "recording", warning) for bag in run.bags for warning in bag.warnings]
    found += [Notice("note", "do not rely on", sentence) for sentence in _advisories(run)]
    return sorted(found, key=lambda each: FINDING_KINDS.index(each.kind))


def _label(found: ReportedFinding, name: str) -> str:
    return name if found.t_s is None else f"{name} at {found.t_s:.1f} s"


def _notes(run: Run) -> list[str]:
    """Notes that are not already findings."""
    said = {found.sentence for found in run.findings}
    return [note for note in run.notes if note not in said]


def _advisories(run: Run) -> list[str]:
    """Warnings on parameters that a controller should not rely on after this run."""
    if run.frozen or run.final.covariance is None or not run.final.known_from:
        return []
    note = link_note(run.robot.table, run.final.known_from)
    warnings = block_warnings(run.robot.table, run.final.known_from, run.final.limited)
    return [*warnings, *([note] if note else [])]


def _words(run: Run) -> Mapping[str, str]:
    """What each parameter is known from; empty if nothing was learnt."""
    if run.frozen or run.final.stddev is None or not run.final.known_from:
        return {}
    return dict(zip(run.final.names, run.final.known_from, strict=True))


def _blocks(run: Run, words: Mapping[str, str]) -> list[tuple[str, list[str], str]]:
    """(title, parameters, counts by what they are known from) of each block of parameters."""
    found = []
    for _, title, names in parameter_groups(run):
        known = [words[name] for name in names if name in words]
        count = ", ".join(f"{known.count(word)} {word}" for word in dict.fromkeys(known))
        found.append((title, names, count))
    return found


def _comparison(metrics: dict[str, Any]) -> list[dict[str, Any]]:
    """Per channel with rows: errors of the fixed prior, the running estimate and the last estimate,
    each as (name, text, share of the largest)."""
    blocks = (("prior", metrics["prior"]["channels"]), ("running", metrics["channels"]),
              ("last", metrics["final"]["channels"]))
    found = []
    for name, channel in metrics["channels"].items():
        if channel["n"]:
            bars = {}
            for key in ("rmse", "mae"):
                values = [(kind, float(block[name][key])) for kind, block in blocks]
                most = max(value for _, value in values) or 1.0
                bars[key.upper()] = [(kind, tables.number(value), round(100 * value / most, 1))
                                     for kind, value in values]
            found.append({"name": name, "unit": channel["unit"], "bars": bars})
    return found


def _facts(run: Run, metrics: dict[str, Any]) -> list[tuple[str, str]]:
    """Recordings, solver, low-pass, rank, and settings that differ from their defaults."""
    solver, physical, number = metrics["solver"], metrics["physical"], tables.number
    rank, names = (metrics["parameters"][key] for key in ("identifiable_rank", "names"))
    rows = [("recordings", ", ".join(f"{bag.path} ({bag.end - bag.start:.1f} s)"
                                     for bag in run.bags))]
    if solver is None:
        rows.append(("estimate", "none: parameters frozen, held-out test"))
    else:
        rows += [
            ("estimate", f"{metrics['updates']} updates, {metrics['skipped']} rows without a new "
                         "estimate; every row was predicted before it was learnt from"),
            ("solver", f"{solver['name']}: median {number(solver['median_ms'])} ms, 99 % "
                       f"{number(solver['p99_ms'])} ms, longest {number(solver['max_ms'])} ms, "
                       f"{solver['failures']} failures")]
    rows += [
        ("low-pass", tables.lowpass(pass_band(run.config.filter))),
        ("determined", "unknown" if rank is None else
         f"{rank} of {len(names)} parameter directions"),
        ("physical", f"{physical['violations']} estimates outside the physical set; smallest "
                     f"eigenvalue of M {number(physical['min_eig_M'])}, of scaled pseudo-inertias "
                     f"{', '.join(number(x) for x in physical['min_eig_J']) or '–'}"),
        ("longest gaps", "; ".join(f"no {what.replace('_', ' ')} for {seconds:.1f} s" for
                                   what, seconds in run.longest_gap.items()
                                   if seconds is not None)),
        ("version", run.version)]
    return rows + [(name, f"{value} (default {default})")
                   for name, (default, value) in run.config.changed_settings().items()]
