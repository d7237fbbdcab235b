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

"""Read columns of numbers from a CSV file."""
from __future__ import annotations

import csv
import math
from collections.abc import Collection
from pathlib import Path

import numpy as np

from ...disk.kinds import reason_of, special_kind
from ...errors import BagError, brief
from ..recording import kept_while_unchanged

SNIFFED = 65536           # most characters of the first line, searched for the separator
SEPARATORS = ",;\t|"
MOST_NAMES = 400          # characters of column names in an error message


def read_columns(path: Path, wanted: Collection[str]) -> tuple[dict[str, np.ndarray], int]:
    """(columns (k,) by name, number of cells that are not numbers); NaN for these and empty cells.

    Raises BagError if the file is not a regular text file or lacks a column.
    """
    kind = special_kind(path)
    if kind:
        raise BagError(f"'{path}' is {kind}; expected a CSV file with column names in its first "
                       "line.")
    return _read(path, frozenset(wanted))


@kept_while_unchanged(4)
def _read(path: Path, wanted: frozenset[str]) -> tuple[dict[str, np.ndarray], int]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            first = stream.readline(SNIFFED)
            stream.seek(0)
            separator = max(SEPARATORS, key=first.count)
            rows = csv.reader(stream, delimiter=separator)
            names = [name.strip() for name in next(rows, [])]
            missing = sorted(wanted - set(names))
            if missing:
                there = brief(names, MOST_NAMES) if names else "no names"
                raise BagError(f"'{path}' has no column {brief(missing[0])}; its first line has "
                               f"{there}.")
            places = {name: names.index(name) for name in sorted(wanted)}
            values, bad = _numbers(rows, list(places.values()))
    except (OSError, csv.Error) as error:
        raise BagError(f"'{path}' cannot be read as CSV: {_why(error)}.") from None
    except UnicodeDecodeError as error:
        raise BagError(f"'{path}' is not UTF-8 text ({error.reason}).") from None
    if not len(values):
        raise BagError(f"'{path}' has no rows below its column names.")
    return dict(zip(places, values.T)), bad


def _numbers(rows, places: list[int]) -> tuple[np.ndarray, int]:
    """((k, m) values of the columns with these indices, number of cells that are not numbers)."""
    values, bad = [], 0
    for row in rows:
        if not row:
            continue
        found = []
        for place in places:
            text = row[place] if place < len(row) else ""
            try:
                found.append(float(text) if text.strip() else math.nan)
            except ValueError:
                found.append(math.nan)
                bad += 1
        values.append(found)
    return np.array(values, float).reshape(-1, len(places)), bad


def _why(error: Exception) -> str:
    return reason_of(error) if isinstance(error, OSError) else str(error)
