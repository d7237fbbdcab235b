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

"""The figures of forecasts as a text table."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TWIN_TABLE_HEAD = ("quantity", "ahead", "n", "in the band", "error / deviation", "median error",
                   "95 % error", "half width")


def table(found: Mapping[str, Mapping[str, Any]], whole: bool = True) -> str:
    """Table of `pooled` figures of one model: a line per quantity (or only the first) and time
    ahead."""
    rows: list[tuple[str, ...]] = [TWIN_TABLE_HEAD]
    for ahead, by_name in found.items():
        for name, cell in list(by_name.items())[:None if whole else 1]:
            error = cell["standard_error"]
            inside = f"{100 * cell['coverage']:.1f}" + (
                "" if error is None else f" ± {100 * error:.1f}")
            rows.append((name, f"{ahead} s", str(cell["n"]), f"{inside} %",
                         f"{cell['rms_in_deviations']:.2f}",
                         *(f"{cell[key]:.3g} {cell['unit']}"
                           for key in ("median_error", "p95_error", "median_half_width"))))
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(text.ljust(width) if k == 0 else text.rjust(width)
                               for k, (text, width) in enumerate(zip(row, widths)))
                     for row in rows)
