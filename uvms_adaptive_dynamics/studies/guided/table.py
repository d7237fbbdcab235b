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

"""The results of guided runs as a table."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def markdown(content: Mapping[str, Any]) -> str:
    """A row for each seed, and one for what any parameters could reach; the worst seed, and the
    best prior."""
    seeds = content["seeds"]
    channels = list(next(iter(seeds.values()))["held_out"])
    lines = ["| seed | robot time [s] | end | motions | broken off | nearest limit | "
             + " | ".join(channels) + " |", "|---|---|---|---|---|---|" + "---|" * len(channels)]
    for seed, found in seeds.items():
        name = max(found["uses"], key=lambda each: found["uses"][each])
        r2 = " | ".join(_figure(found["held_out"][channel]["r2"]) for channel in channels)
        lines.append(f"| {seed} | {found['seconds']:.0f} | {found['cause']} | {found['motions']} | "
                     f"{found['broken_off']} | {name} {found['uses'][name]:.0%} | {r2} |")
        most = " | ".join(_figure(found["attainable"][channel]) for channel in channels)
        lines.append(f"| {seed}, best fit to the tested rows themselves | | | | | | {most} |")
    worst = " | ".join(_figure(min((found["held_out"][channel]["r2"] for found in seeds.values()
                                    if found["held_out"][channel]["r2"] is not None),
                                   default=None)) for channel in channels)
    prior = " | ".join(_figure(max((found["prior"][channel]["r2"] for found in seeds.values()
                                    if found["prior"][channel]["r2"] is not None),
                                   default=None)) for channel in channels)
    return "\n".join([*lines, f"| worst | | | | | | {worst} |",
                      f"| best of the priors | | | | | | {prior} |"]) + "\n"


def _figure(r2: float | None) -> str:
    if r2 is None:
        return "-"
    return "< -9" if r2 < -9 else f"{r2:.3f}"
