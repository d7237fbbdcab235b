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

"""Figures of the comparison: per seed, over all seeds, and against the requirements."""
from __future__ import annotations

from typing import Any

import numpy as np

from .runs import BACK_FACTOR, ERRORS, VARIANTS

# Requirements on an adapted feedforward: largest error relative to the fixed prior's and to that
# with true parameters.
OF_PRIOR, OF_TRUE = 0.4, 1.1
WINDOWS = ("before", "payload", "after", "all")
SCALE = {"mm": 1e3, "mrad": 1e3}


def summary(seeds: dict[str, Any]) -> dict[str, Any]:
    """Errors (root mean square over the seeds), ratios of these errors, and the worst seed's ratio.
    """
    variants = [name for name in VARIANTS if name in next(iter(seeds.values()))["errors"]]
    errors = {variant: {kind: {window: _rms([seed["errors"][variant][kind][window]
                                             for seed in seeds.values()])
                               for window in WINDOWS} for kind in (*ERRORS, "true position")}
              for variant in variants}
    found: dict[str, Any] = {"errors": errors}
    for other in ("prior", "true"):
        if other in variants and "adapted" in variants:
            found[f"adapted of {other}"] = {
                kind: {window: errors["adapted"][kind][window] / errors[other][kind][window]
                       for window in WINDOWS}
                | {"worst seed": max(seed["errors"]["adapted"][kind]["all"]
                                     / seed["errors"][other][kind]["all"]
                                     for seed in seeds.values())}
                for kind in ERRORS}
    return found


def _rms(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def markdown(seeds: dict[str, Any]) -> str:
    """The comparison as markdown tables."""
    found = summary(seeds)
    count = f"{len(seeds)} seeds" if len(seeds) > 1 else "one seed"
    lines = [f"RMS tracking error, {count}; `all` is over the three windows together:", "",
             "| feedforward | error | before the payload | with it | after it | all |",
             "|---|---|---|---|---|---|"]
    for variant, errors in found["errors"].items():
        for kind, unit in ERRORS.items():
            cells = " | ".join(f"{SCALE[unit] * errors[kind][window]:.2f}" for window in WINDOWS)
            lines.append(f"| {VARIANTS[variant]} | {kind} [{unit}] | {cells} |")
    if "adapted of prior" not in found or "adapted of true" not in found:
        return "\n".join(lines) + "\n"
    lines += ["", "Adapted, as a share of the others:", "",
              "| of | error | before | with payload | after | all | worst seed | asked for |",
              "|---|---|---|---|---|---|---|---|"]
    for other, asked in (("prior", OF_PRIOR), ("true", OF_TRUE)):
        for kind, shares in found[f"adapted of {other}"].items():
            cells = " | ".join(f"{shares[window]:.2f}" for window in (*WINDOWS, "worst seed"))
            lines.append(f"| {VARIANTS[other]} | {kind} | {cells} | at most {asked:g} |")
    lines += ["",
              f"Seconds from the pick-up until the error stays within {BACK_FACTOR:g} of that with "
              "true parameters:", "", f"| seed | {' | '.join(ERRORS)} |",
              "|---|" + "---|" * len(ERRORS)]
    for seed, content in seeds.items():
        cells = " | ".join("not" if content["back_s"][kind] is None
                           else f"{content['back_s'][kind]:.1f}" for kind in ERRORS)
        lines.append(f"| {seed} | {cells} |")
    return "\n".join(lines) + "\n"
