"""Parameters on disk: names, values, covariance, noise scales, robot and version in one YAML file (DESIGN section 12)."""
from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping

import numpy as np
import yaml

from .. import __version__
from ..errors import ParameterError
from .parameters import ParameterTable

SCHEMA = 1


@dataclass(frozen=True)
class ParameterSet:
    """An estimate that can be kept: everything that predictions with intervals need.

    values (p,) in the order of `names`; covariance (p, p) or None; noise_stddev (C,) per channel or None;
    robot: what it belongs to (joints, channels), for people and for checks; known_from: 'measured', 'weak', 'prior' or
    'frozen' for each, and identifiability: rank, conditioning, combinations and warnings (docs/uncertainty.md), both for people.
    """

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray | None = None
    noise_stddev: np.ndarray | None = None
    robot: Mapping = field(default_factory=dict)
    version: str = __version__
    known_from: tuple[str, ...] = ()
    identifiability: Mapping = field(default_factory=dict)

    def for_table(self, table: ParameterTable, what: str = "parameters") -> "ParameterSet":
        """The same values in the order of `table`; raises ParameterError for missing, unknown or non-finite ones."""
        unknown = [name for name in self.names if name not in table.index]
        missing = [name for name in table.names if name not in self.names]
        if unknown or missing:
            parts = [f"unknown to this robot: {', '.join(unknown[:3])}"] if unknown else []
            parts += [f"missing: {', '.join(missing[:3])}"] if missing else []
            raise ParameterError(f"{what}: got {len(self.names)} parameters, expected the {table.size} of this robot "
                                 f"({'; '.join(parts)}).")
        order = np.array([self.names.index(name) for name in table.names])
        values = table.vector(self.values[order], what)
        covariance = None if self.covariance is None else self.covariance[np.ix_(order, order)]
        return ParameterSet(table.names, values, covariance, self.noise_stddev, self.robot, self.version)


def save_parameters(path: str | Path, parameters: ParameterSet) -> Path:
    """Write atomically: the file is either the old one or the whole new one, also when the power fails."""
    path = Path(path).expanduser()
    document = {
        "schema": SCHEMA, "package": "uvms_adaptive_dynamics", "version": parameters.version, "robot": dict(parameters.robot),
        "parameters": {name: float(value) for name, value in zip(parameters.names, parameters.values)}}
    if parameters.known_from:
        document["known_from"] = dict(zip(parameters.names, parameters.known_from))
    if parameters.identifiability:
        document["identifiability"] = dict(parameters.identifiability)
    if parameters.noise_stddev is not None:
        document["noise_stddev"] = [float(x) for x in parameters.noise_stddev]
    if parameters.covariance is not None:
        lower = parameters.covariance[np.tril_indices(len(parameters.names))]
        document["covariance_lower_triangle"] = [float(x) for x in lower]
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as stream:
            yaml.safe_dump(document, stream, sort_keys=False, default_flow_style=None, width=110)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def load_parameters(path: str | Path) -> ParameterSet:
    """Read a file of `save_parameters`; a hand-written file needs only the mapping `parameters`.

    Raises ParameterError with the reason where it is missing, malformed or not finite.
    """
    path = Path(path).expanduser()
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ParameterError(f"parameter file '{path}' cannot be read: {error.strerror or error}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ParameterError(f"parameter file '{path}' is not valid YAML: {getattr(error, 'problem', error)}.") from None
    if not isinstance(document, dict) or not isinstance(document.get("parameters"), dict):
        raise ParameterError(f"parameter file '{path}' holds no mapping 'parameters'; expected 'parameters: {{W: 112.8, ...}}'.")
    names = tuple(str(name) for name in document["parameters"])
    try:
        values = np.array([float(value) for value in document["parameters"].values()])
        noise = document.get("noise_stddev")
        noise = None if noise is None else np.array(noise, float)
        lower = document.get("covariance_lower_triangle")
        covariance = None if lower is None else _symmetric(np.array(lower, float), len(names))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"parameter file '{path}': {error}; expected numbers.") from None
    if not np.isfinite(values).all():
        raise ParameterError(f"parameter file '{path}': '{names[int(np.argmin(np.isfinite(values)))]}' is not finite.")
    return ParameterSet(names, values, covariance, noise, document.get("robot") or {}, str(document.get("version", "")))


def _symmetric(lower: np.ndarray, size: int) -> np.ndarray:
    if lower.size != size * (size + 1) // 2:
        raise ValueError(f"covariance has {lower.size} entries, expected {size * (size + 1) // 2} for {size} parameters")
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = lower
    return matrix + np.tril(matrix, -1).T
