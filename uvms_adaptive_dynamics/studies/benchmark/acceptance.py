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

"""Required against measured figures (issue "A solver that keeps up", section Accept)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def verdicts(entries: Sequence[dict[str, Any]]) -> list[str]:
    """One line for each requirement of the issue on the acceptance cases."""
    by_group: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        by_group.setdefault(entry["case"]["group"], []).append(entry)
    found = [text for entry in by_group.get("acceptance", []) for text in _setting(entry["result"])]
    for group, key, low, high, factor in (("horizon", "horizon", 50, 2000, 1.5),
                                          ("joints", "joints", 4, 12, 4.0)):
        cost = {e["case"][key]: e["result"] for e in by_group.get(group, [])}
        if low in cost and high in cost:
            wall, cpu = (cost[high][clock]["median"] / cost[low][clock]["median"]
                         for clock in ("update_ms", "update_cpu_ms"))
            found.append(_line(f"{key} {high} against {low}, update", f"<= {factor}",
                               f"{wall:.2f} (processor time {cpu:.2f})", wall <= factor))
    found += [text for entry in by_group.get("comparison", [])
              for text in _agreement(entry["result"], entry["label"])]
    return found


def _setting(result: dict[str, Any]) -> list[str]:
    update, cpu, solve = result["update_ms"], result["update_cpu_ms"], result["solve_cpu_ms"]
    lines = [
        _line("ticks", ">= 2000", str(result["ticks"]), result["ticks"] >= 2000),
        _line(
            "update, median",
            "<= 2 ms",
            f"{update['median']:.2f} ms (processor {cpu['median']:.2f}, of which solve "
            f"{solve['median']:.2f})",
            update["median"] <= 2,
        ),
        _line("update, p99", "<= 6 ms",
              f"{update['p99']:.2f} ms (processor {cpu['p99']:.2f}, maximum {update['max']:.2f})",
              update["p99"] <= 6),
    ]
    for key, what in (("cvxpy_compiled_once", "compiled once"),
                      ("cvxpy_compiled_each_tick", "compiled at each tick")):
        if other := result[key]:
            lines.append(
                _line(
                    f"faster than with CVXPY and Clarabel, {what}",
                    ">= 25 times",
                    f"{other['speedup']:.1f} times (processor {other['speedup_cpu']:.1f}; "
                    f"{other['update_ms']['median']:.0f} ms)",
                    other["speedup"] >= 25,
                )
            )
    return lines + [_line("failed solves", "0", str(result["failures"]), result["failures"] == 0),
                    *_agreement(result, "")]


def _agreement(result: dict[str, Any], label: str) -> list[str]:
    if not result["objective_excess"]:
        return []
    low, high = result["objective_excess"]
    statuses = ", ".join(f"{count} {status}" for status, count in result["oracle_statuses"].items())
    head = f"{label}: " if label else ""
    return [
        _line(f"{head}objective - oracle's, relative, {result['compared']} ticks", "<= 1e-6",
              f"{low:+.1e} to {high:+.1e} (oracle: {statuses})",
              high <= 1e-6 and (low >= -1e-6 or "near-optimal" in result["oracle_statuses"])),
        _line(f"{head}Y pi, of its RMS", "<= 1e-5", f"{result['prediction_difference']:.1e}",
              result["prediction_difference"] <= 1e-5),
        _line(f"{head}constraints, scaled", "<= 1e-8",
              f"{result['worst_violation']:.1e} (oracle's own {result['oracle_violation']:.1e})",
              result["worst_violation"] <= 1e-8),
    ]


def _line(what: str, asked: str, measured: str, met: bool) -> str:
    return f"{'met    ' if met else 'NOT MET'}  {what}: asked {asked}, measured {measured}"
