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

"""The summary of a run that `evaluate` prints."""
from __future__ import annotations

from typing import Any

from ..model.metrics import shown
from ..uncertainty.statement import first_lines


def summary(metrics: dict[str, Any]) -> str:
    """The summary printed at the end of a run."""
    wide = 2 + max(len("channel"), *map(len, metrics["channels"]))
    lines = [first_lines(metrics["verdict"], metrics["next"]), "",
             "All rows that count, from the first one:",
             f"{'channel':<{wide}}{'unit':<5}{'rows':>7}{'masked':>8}{'R^2':>10}{'slope':>8}"
             f"{'RMSE':>9}{'cover':>8}{'width':>9}{'prior RMSE':>12}{'final RMSE':>12}"]
    for name, c in metrics["channels"].items():
        before, after = (metrics[block]["channels"][name]["rmse"] for block in ("prior", "final"))
        lines.append(
            f"{name:<{wide}}{c['unit']:<5}{c['n']:>7}{c['masked']:>8}"
            f" {shown(c['r2'], '.3f' if (c['r2'] or 0.0) > -99.0 else '.1e'):>9}"
            f"{shown(c['slope'], '.3f'):>8}{shown(c['rmse'], '.4g'):>9}"
            f"{shown(c['coverage95'], '.1%'):>8}{shown(c['interval_width'], '.4g'):>9}"
            f"{shown(before, '.4g'):>12}{shown(after, '.4g'):>12}")
    lines += ["", *_inputs(metrics["inputs"]), ""]
    solver = metrics["solver"]
    done = "frozen: nothing estimated" if solver is None else (
        f"{metrics['updates']} updates, {metrics['skipped']} skipped, {solver['name']}: median "
        f"{shown(solver['median_ms'], '.2f')} ms, 99 % {shown(solver['p99_ms'], '.2f')} ms, "
        f"{solver['failures']} failures")
    lines += [*_stages(metrics["stages"]), ""] if metrics["stages"] else []
    gap = metrics["longest_gap_s"]["sample"]
    return "\n".join([*lines, f"{metrics['duration_s']:.1f} s, longest gap without a sample "
                              f"{gap:.1f} s, {done}"])


def _stages(stages: list[dict[str, Any]]) -> list[str]:
    """The table of stages."""
    wide = 2 + max(len("stage"), *(len(stage["name"]) for stage in stages))
    lines = [f"{'stage':<{wide}}{'from [s]':>9}{'to [s]':>9}  {'ended':<15}missing"]
    for stage in stages:
        begin, end = (shown(stage[key], ".1f") for key in ("begin_s", "end_s"))
        lines.append(f"{stage['name']:<{wide}}{begin:>9}{end:>9}  {stage['why_ended']:<15}"
                     f"{'; '.join(stage['missing'])}".rstrip())
    return lines


def _inputs(inputs: dict[str, Any]) -> list[str]:
    """The table of inputs."""
    wide = 2 + max(len("input"), *map(len, inputs))
    lines = [f"{'input':<{wide}}{'received':>9}{'used':>9}{'refused':>9}{'doubted':>9}{'Hz':>8}"
             f"{'clock ahead':>13}{'latency':>9}  main reason for refusal"]
    for role, f in inputs.items():
        refused, doubted = (sum(f[key].values()) for key in ("refused", "doubted"))
        why = max(f["refused"], key=f["refused"].get) if f["refused"] else ""
        lines.append(
            f"{role:<{wide}}{f['received']:>9}{f['used']:>9}{refused:>9}{doubted:>9}"
            f"{shown(f['rate_hz'], '.1f'):>8}{shown(f['clock_offset_s'], '.2f'):>13}"
            f"{shown(f['latency_s'], '.3f'):>9}  {why}".rstrip())
    return lines
