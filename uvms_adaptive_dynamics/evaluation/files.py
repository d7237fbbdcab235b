"""Files of a run: metrics.json and samples.csv, written whole or not at all."""
from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import UvmsError
from .log import Rows


def output_folder(path: str | Path) -> Path:
    """The folder, made if need be and tried for writing; raises UvmsError."""
    path = Path(path).expanduser()
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / f".write_test.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UvmsError(
            f"output folder '{path}' cannot be written: {error.strerror or error}.") from None
    return path


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Write strict JSON (null for every figure that is not finite)."""
    write_text(path, json.dumps(jsonable(content), indent=1, allow_nan=False) + "\n")


def jsonable(value: object) -> object:
    """`value` in plain types for JSON, with None in place of every number that is not finite."""
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
    """samples.csv: t [s since the epoch], then per channel measured, predicted, stddev, valid (0 or
    1) and, for the vehicle's channels, arm: the part of the prediction that carries the arm.
    Figures that do not exist are empty."""
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
    write_text(path, "\n".join(lines) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replace the file in one step; raises UvmsError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UvmsError(f"'{path}' cannot be written: {error.strerror or error}.") from None
