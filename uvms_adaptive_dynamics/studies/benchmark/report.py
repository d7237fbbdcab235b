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

"""The benchmark's figures as lines on the terminal, as JSON and as a plot."""

from __future__ import annotations

import io
import json
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from ... import __version__
from ...disk.writing import write_file

# Panels of the plot: group of cases, key of the varied quantity, label.
PANELS = (("horizon", "horizon", "horizon [samples]"), ("joints", "joints", "joints of the chain"),
          ("outliers", "outliers", "share of outliers"))


def machine() -> dict[str, Any]:
    """The machine and software on which the figures were measured."""
    model = next((line.split(":", 1)[1].strip()
                  for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.processor())
    packages = {
        name: metadata.version(name)
        for name in ("numpy", "scipy", "clarabel", "cvxpy", "mosek")
        if _installed(name)
    }
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "python": platform.python_version(),
        "packages": packages,
        "version": __version__,
    }


def _installed(name: str) -> bool:
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False


def line(entry: dict[str, Any]) -> str:
    """One case in one line (or two)."""
    result = entry["result"]
    if "skipped" in result:
        return f"{entry['label']}\n    not run: {result['skipped']}"
    update, cpu = result["update_ms"], result["update_cpu_ms"]
    text = (
        f"{entry['label']}\n    update median {update['median']:.2f}, p99 {update['p99']:.2f}, max "
        f"{update['max']:.2f} ms (processor: {cpu['median']:.2f}, {cpu['p99']:.2f}, "
        f"{cpu['max']:.2f}); "
    )
    text += (
        "" if result["solve_ms"] is None else
        f"solve {result['solve_ms']['median']:.2f} ({result['solve_cpu_ms']['median']:.2f}) ms; ")
    for key, word in (("cvxpy_compiled_once", "once"), ("cvxpy_compiled_each_tick", "each tick")):
        if result[key]:
            other = result[key]
            text += (f"CVXPY compiled {word} {other['solve_ms']['median']:.0f} ms (update x "
                     f"{other['speedup']:.0f}, processor x {other['speedup_cpu']:.0f}); ")
    if result["objective_excess"]:
        low, high = result["objective_excess"]
        text += (f"objective {low:+.0e} to {high:+.0e}, Y pi {result['prediction_difference']:.0e} "
                 f"on {result['compared']} ticks; ")
    return (text + f"violation {result['worst_violation']:.0e}; {result['peak_mb']:.0f} MB; "
            f"{result['failures']} failures")


def write_json(path: Path, entries: Sequence[dict[str, Any]]) -> None:
    """{"schema": 1, "machine": .., "cases": [{"label", "case", "result"}]}."""
    write_file(path,
               json.dumps({"schema": 1, "machine": machine(), "cases": list(entries)}, indent=1,
                          allow_nan=False) + "\n")


def write_plot(path: Path, entries: Sequence[dict[str, Any]]) -> None:
    """Plot median (line), p99 and maximum of the update, and CVXPY's median, over the quantity that
    each group of cases varies."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    groups = [(panel, found) for panel in PANELS
              if (found := [e for e in entries
                            if e["case"]["group"] == panel[0] and "skipped" not in e["result"]])]
    bars = [e for e in entries
            if e["case"]["group"] not in {panel[0] for panel in PANELS}
            and "skipped" not in e["result"]]
    count = len(groups) + bool(bars)
    if not count:
        return
    figure = Figure(figsize=(4.2 * count, 3.8), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False, sharey=True)[0]
    for ax, ((_, key, label), found) in zip(axes, groups):
        found = sorted(found, key=lambda e: e["case"][key])
        x = [e["case"][key] for e in found]
        _lines(ax, x, [e["result"] for e in found])
        ax.set_xlabel(label)
        if key == "horizon":
            ax.set_xscale("log")
        ax.set_xticks(x, [f"{value:g}" for value in x])
        ax.minorticks_off()
    if bars:
        _bars(axes[-1], bars)
        axes[-1].set_xlabel("light: p99, dark: median")
    for ax in axes:
        ax.set_yscale("log")
        ax.grid(alpha=0.3)
        ax.set_axisbelow(True)
    axes[0].set_ylabel("sample to estimate [ms]")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=5,
                  fontsize=8)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    write_file(path, picture.getvalue())


def _lines(ax, x: list, results: list[dict[str, Any]]) -> None:
    for key, style, name in (("median", "o-", "median"), ("p99", "v--", "p99"),
                             ("max", "^:", "maximum")):
        ax.plot(x, [r["update_ms"][key] for r in results], style, color="#2f6f9f", label=name,
                markersize=4)
    for key, style, name in (("cvxpy_compiled_once", "s-", "with CVXPY, compiled once"),
                             ("cvxpy_compiled_each_tick", "d--", "with CVXPY, each tick")):
        known = [(a, r[key]["update_ms"]["median"]) for a, r in zip(x, results) if r[key]]
        if known:
            ax.plot(*zip(*known), style, color="#b9772f", label=name, markersize=4)


def _bars(ax, entries: Sequence[dict[str, Any]]) -> None:
    names = [", ".join(filter(None,
                              (e["case"]["grouping"], e["result"]["solver"],
                               f"{e['case']['outliers']:.0%}",
                               "frozen" if e["case"]["frozen"] else "",
                               e["case"]["arrival"] if e["case"]["arrival"] == "relative" else "")))
             for e in entries]
    medians, tails = ([e["result"]["update_ms"][key] for e in entries] for key in ("median", "p99"))
    ax.bar(range(len(names)), tails, color="#2f6f9f", alpha=0.3, label="p99 (bar)")
    ax.bar(range(len(names)), medians, color="#2f6f9f", label="median (bar)")
    ax.set_xticks(range(len(names)), names, rotation=75, fontsize=7)
