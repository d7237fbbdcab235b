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

"""Figures of intervals: of one run, pooled over runs, and as tables with requirements."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..model.metrics import negative_log_likelihood
from ..model.normal import Z95

# Requirements: share of rows inside, pooled over runs and in every single run; width relative to
# the ideal one.
POOLED_COVERAGE, SINGLE_COVERAGE, LARGEST_WIDTH = (0.93, 0.97), (0.88, 0.99), 1.3
# The same on another motion, with the saved noise; and pooled, with adapting noise.
SAVED_NOISE, ADAPTED_NOISE = "saved", "adapted"
HELD_OUT_POOLED, HELD_OUT_SINGLE, HELD_OUT_WIDTH = (0.92, 0.98), 0.85, 1.5
ADAPTED_POOLED = (0.94, 0.96)


def channel_figures(residual: np.ndarray, stddev: np.ndarray,
                    reference: np.ndarray) -> dict[str, Any]:
    """Figures of one channel and run, from arrays (n,): coverage95, width and nll as in
    metrics.json; ideal_width from the quantiles of `reference`. None without rows.
    """
    if not residual.size:
        return {"n": 0, "coverage95": None, "width": None, "nll": None, "ideal_width": None}
    low, high = np.quantile(reference, [0.025, 0.975])
    return {
        "n": int(residual.size), "coverage95": float(np.mean(np.abs(residual) <= Z95 * stddev)),
        "width": float(2 * Z95 * np.mean(stddev)),
        "nll": float(np.mean(negative_log_likelihood(residual, stddev))),
        "ideal_width": float(high - low)
    }


def pooled(outcomes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """{"nominal", "all": {method: {channel: figures}}}: means over all rows of all runs, and the
    lowest and highest coverage of a run."""
    return {
        which: {
            method: {
                channel: _pooled_channel(
                    [outcome["rows"][which][method][channel]
                     for outcome in outcomes])
                for channel in channels
            }
            for method, channels in methods.items()
        }
        for which, methods in outcomes[0]["rows"].items()
    }


def _pooled_channel(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    runs = [run for run in runs if run["n"]]
    if not runs:
        return {
            "n": 0, "coverage95": None, "lowest": None, "highest": None, "width": None, "nll": None,
            "ideal_width": None
        }
    n = np.array([run["n"] for run in runs])
    mean = {key: float(np.average([run[key] for run in runs], weights=n))
            for key in ("coverage95", "width", "nll", "ideal_width")}
    every = [run["coverage95"] for run in runs]
    return {"n": int(n.sum()), "lowest": min(every), "highest": max(every), **mean}


def kind_table(figures: dict[str, Any], method: str) -> str:
    """Table of coverage, width and NLL per channel, with the requirements that are not met."""
    lines = [f"{'channel':<10}{'rows':>9}{'coverage':>10}{'single runs':>18}{'width':>9}"
             f"{'ideal':>9}{'ratio':>7}{'NLL':>8}{'all rows':>10}{'  asked'}"]
    for channel, c in figures["nominal"][method].items():
        if not c["n"]:
            lines.append(f"{channel:<10}{0:>9}")
            continue
        ratio = c["width"] / c["ideal_width"]
        single = f"{c['lowest']:.1%} .. {c['highest']:.1%}"
        holds = {"pooled": POOLED_COVERAGE[0] <= c["coverage95"] <= POOLED_COVERAGE[1],
                 "single": SINGLE_COVERAGE[0] <= c["lowest"] and c["highest"] <= SINGLE_COVERAGE[1],
                 "width": ratio <= LARGEST_WIDTH}
        missed = [name for name, held in holds.items() if not held]
        lines.append(
            f"{channel:<10}{c['n']:>9}{c['coverage95']:>10.1%}{single:>18}{c['width']:>9.3g}"
            f"{c['ideal_width']:>9.3g}{ratio:>7.2f}{c['nll']:>8.2f}"
            f"{figures['all'][method][channel]['coverage95']:>10.1%}"
            f"  {'holds' if not missed else 'not ' + ', '.join(missed)}")
    return "\n".join(lines)


def held_out_table(figures: dict[str, Any]) -> str:
    """Table of coverage and width per channel on another motion, with saved and with adapting
    noise, and the requirements that are not met."""
    lines = [f"{'channel':<10}{'rows':>9}{'saved':>8}{'worst run':>11}{'width':>9}{'ideal':>9}"
             f"{'ratio':>7}{'adapted':>9}{'ratio':>7}  asked"]
    for channel, c in figures["held_out"][SAVED_NOISE].items():
        other = figures["held_out"][ADAPTED_NOISE][channel]
        if not c["n"]:
            lines.append(f"{channel:<10}{0:>9}")
            continue
        ratio, adapted = (x["width"] / x["ideal_width"] for x in (c, other))
        holds = {"pooled": HELD_OUT_POOLED[0] <= c["coverage95"] <= HELD_OUT_POOLED[1],
                 "single": c["lowest"] >= HELD_OUT_SINGLE, "width": ratio <= HELD_OUT_WIDTH,
                 "adapted": ADAPTED_POOLED[0] <= other["coverage95"] <= ADAPTED_POOLED[1]}
        missed = [name for name, held in holds.items() if not held]
        lines.append(
            f"{channel:<10}{c['n']:>9}{c['coverage95']:>8.1%}{c['lowest']:>11.1%}{c['width']:>9.3g}"
            f"{c['ideal_width']:>9.3g}{ratio:>7.2f}{other['coverage95']:>9.1%}{adapted:>7.2f}"
            f"  {'holds' if not missed else 'not ' + ', '.join(missed)}")
    return "\n".join(lines)


def comparison(figures: dict[str, Any], methods: Sequence[str]) -> str:
    """Table of coverage, mean width and NLL of several methods on the same rows, per channel."""
    lines = ["| | " + " | ".join(f"{method}: coverage | width | NLL" for method in methods) + " |",
             "|---" * (1 + 3 * len(methods)) + "|"]
    for channel in figures["all"][methods[0]]:
        cells = (figures["all"][method][channel] for method in methods)
        lines.append(f"| {channel} | "
                     + " | ".join(f"{c['coverage95']:.1%} | {c['width']:.3g} | {c['nll']:.2f}"
                                  for c in cells) + " |")
    return "\n".join(lines)
