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

"""Files of a run: metrics.json and samples.csv, each written completely or not at all."""
from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..disk.writing import write_file
from .run_log import Rows

# [bytes] Parts of a row of samples.csv: time; three figures and a flag per channel; the arm's part
# of a vehicle channel. A figure of 9 digits has at most 15 characters and a comma.
TIME_BYTES, CHANNEL_BYTES, ARM_BYTES = 18, 3 * 16 + 2, 16
# [bytes] All other files of a run: the report is below 3 MB, the figures take 2 MB.
OTHER_BYTES = 10_000_000


def needed_bytes(rows: int, channels: int) -> int:
    """Most space [bytes] that the files of a run can take, for any number of joints."""
    return OTHER_BYTES + rows * (TIME_BYTES + channels * (CHANNEL_BYTES + ARM_BYTES))


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Write strict JSON, with null for numbers that are not finite."""
    write_file(path, json.dumps(jsonable(content), indent=1, allow_nan=False) + "\n")


def jsonable(value: object) -> object:
    """`value` in plain types for JSON, with None for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, np.ndarray):
        return jsonable(value.tolist())
    if isinstance(value, np.generic):
        return jsonable(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_samples(path: Path, channels: Sequence[str], rows: Rows) -> None:
    """Write samples.csv: t [s since the epoch], then per channel measured, predicted, stddev, valid
    (0 or 1) and, for vehicle channels, arm: the part of the prediction that carries the arm.
    Missing figures are empty."""
    names, columns = ["t"], [np.char.mod("%.6f", rows.t)]
    for c, channel in enumerate(channels):
        for what in ("measured", "predicted", "stddev"):
            names.append(f"{channel}.{what}")
            values = getattr(rows, what)[:, c]
            columns.append(np.where(np.isfinite(values), np.char.mod("%.9g", values), ""))
        names.append(f"{channel}.valid")
        columns.append(np.where(rows.valid[:, c], "1", "0"))
        if c < rows.arm.shape[1]:
            names.append(f"{channel}.arm")
            columns.append(
                np.where(np.isfinite(rows.arm[:, c]), np.char.mod("%.9g", rows.arm[:, c]), ""))
    lines = [",".join(names)] + [",".join(row) for row in zip(*columns)]
    write_file(path, "\n".join(lines) + "\n")
