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

"""Physical quantities as a table for people, as JSON and as CSV."""
from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from pathlib import Path

from .identified import ExportError
from .physical_quantities import Quantity

QUANTITY_SCHEMA = 1
SUFFIXES = (".json", ".csv")


def shown(quantities: Iterable[Quantity]) -> str:
    """Lines of name, value, deviation, unit, flag and meaning."""
    lines = [f"{'quantity':<34}{'value':>12}{'stddev':>11}  {'unit':<8}{'known':<10}meaning"]
    for q in quantities:
        spread = "-" if q.stddev is None else f"{q.stddev:.2g}"
        lines.append(f"{q.name:<34}{q.value:>12.4g}{spread:>11}  {q.unit:<8}"
                     f"{q.known_from or '-':<10}{q.meaning}")
    return "\n".join(lines)


def saved(quantities: Iterable[Quantity], path: Path) -> str:
    """The text for a .json or .csv file; raises ExportError for any other suffix."""
    if path.suffix not in SUFFIXES:
        raise ExportError(f"--output: got '{path}', expected a file ending in "
                          f"{' or '.join(SUFFIXES)} for the table.")
    rows = [{**q._asdict(), "value": _finite(q.value), "stddev": _finite(q.stddev)}
            for q in quantities]
    if path.suffix == ".json":
        return json.dumps({"schema": QUANTITY_SCHEMA, "quantities": rows}, indent=1,
                          allow_nan=False) + "\n"
    text = io.StringIO()
    writer = csv.DictWriter(text, Quantity._fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
