"""The results of guided runs in words."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def markdown(content: Mapping[str, Any]) -> str:
    """A row for each seed, and the worst of all."""
    seeds = content["seeds"]
    channels = list(next(iter(seeds.values()))["held_out"])
    lines = ["| seed | robot time [s] | end | motions | broken off | nearest limit | "
             + " | ".join(channels) + " |", "|---|---|---|---|---|---|" + "---|" * len(channels)]
    for seed, found in seeds.items():
        name = max(found["uses"], key=lambda each: found["uses"][each])
        r2 = " | ".join(_figure(found["held_out"][channel]["r2"]) for channel in channels)
        lines.append(f"| {seed} | {found['seconds']:.0f} | {found['cause']} | {found['motions']} | "
                     f"{found['broken_off']} | {name} {found['uses'][name]:.0%} | {r2} |")
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
