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

"""Coverage of parameters over seeds: pooled figures, and a table for the terminal."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.normal import Z95

FEW = 20  # seeds in which a parameter must be measured to be listed by itself


@dataclass(frozen=True)
class SeedResult:
    """Result of one seed: names; error = estimate less truth (p,); standard deviations (p,) of both
    covariances; flags (p,)."""

    names: tuple[str, ...]
    error: np.ndarray
    stddev: dict[str, np.ndarray]
    known_from: tuple[str, ...]


def summary(outcomes: Sequence[SeedResult]) -> dict[str, Any]:
    """Content of coverage.json: for either covariance, coverage pooled over measured parameters and
    for each parameter, and `width`, the median interval width relative to that of the information
    covariance."""
    names, error = outcomes[0].names, np.array([o.error for o in outcomes])
    measured = np.array([[word == "measured" for word in o.known_from] for o in outcomes])
    content: dict[str, Any] = {
        "schema": 1, "seeds": len(outcomes),
        "measured_per_seed": float(measured.sum(axis=1).mean()), "covariance": {}
    }
    narrow = np.array([o.stddev["information"] for o in outcomes])
    for kind in outcomes[0].stddev:
        stddev = np.array([o.stddev[kind] for o in outcomes])
        inside, wider = np.abs(error) <= Z95 * stddev, stddev / np.maximum(narrow, 1e-300)
        each = {name: {"seeds": int(counted.sum()), "coverage": float(held[counted].mean())}
                for name, counted, held in zip(names, measured.T, inside.T) if counted.any()}
        listed = {name: found for name, found in each.items()
                  if found["seeds"] >= min(FEW, len(outcomes))}
        lowest = min(listed, key=lambda name: listed[name]["coverage"]) if listed else None
        content["covariance"][kind] = {
            "pooled": float(inside[measured].mean()) if measured.any() else None,
            "width": float(np.median(wider[measured])) if measured.any() else None,
            "lowest": lowest, "lowest_coverage": listed[lowest]["coverage"] if lowest else None,
            "parameters": each
        }
    return content


def table(found: dict[str, Any]) -> str:
    """The summary as a table for the terminal."""
    information, increments = found["covariance"]["information"], found["covariance"]["increments"]
    lines = [
        f"{found['seeds']} seeds, {found['measured_per_seed']:.1f} parameters measured per seed; "
        "share of true parameters inside their 95 % interval",
        f"{'parameter':<14}{'seeds':>7}{'information':>14}{'increments (paper)':>21}"
    ]
    for name, own in information["parameters"].items():
        lines.append(f"{name:<14}{own['seeds']:>7}{own['coverage']:>14.1%}"
                     f"{increments['parameters'][name]['coverage']:>21.1%}")
    lines.append(f"{'pooled':<14}{'':>7}{information['pooled']:>14.1%}{increments['pooled']:>21.1%}"
                 if information["pooled"] is not None else "nothing is measured")
    if increments["width"] is not None:
        lines.append(f"{'median width':<14}{'':>7}{1:>14.2f}{increments['width']:>21.2f}")
    if information["lowest"]:
        lines.append(f"lowest of those measured in at least {min(FEW, found['seeds'])} seeds: "
                     f"{information['lowest']} {information['lowest_coverage']:.1%}")
    if "flags" in found:
        flags = found["flags"]
        lines.append(
            f"flags right for {flags['right']:.1%} of parameters over {flags['draws']} draws of "
            f"prior and noise (without the statistical tolerance of {flags['tolerance'] - 1:.0%}: "
            f"{flags['strictly']:.1%}); needlessly cautious: {flags['cautious']:.1%}"
            + "".join(f"\n  wrong: {text}" for text in flags["wrong"]))
    return "\n".join(lines)
