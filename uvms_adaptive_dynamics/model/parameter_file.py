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

"""Parameters on disk: names, values, covariance, noise, robot and version in one YAML file.

Format and rules: docs/ros_interface.md, "Parameter files".
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from .. import PACKAGE, __version__
from ..disk.reading import read_text
from ..disk.writing import write_file
from ..disk.yaml_text import DUMPER, number_list, parse_yaml
from ..errors import ParameterError, brief, require, require_path
from .parameter_checks import check_numbers, check_robot
from .parameter_kinds import check_kinds
from .parameters import ParameterTable

PARAMETER_SCHEMA = 1
# rows of `ParameterSet.systematic`: delay and scale of the wrench, delay and scale of the joints'
# efforts, noise of the vehicle's measured motion
CAUSES = 5
# [bytes] The file of a robot with 30 joints has 3.3 MB, mostly covariance and information.
LARGEST_PARAMETER_FILE = 4_000_000
PARAMETER_LINE_WIDTH = 110  # of a line in the file [characters]


class _Dumper(DUMPER):
    """Writes no aliases, since the reader accepts none."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Numbers(list):
    """A long list of numbers, written without PyYAML, which would take a quarter of a second for a
    covariance and block the node's other threads meanwhile."""


@dataclass(frozen=True)
class ParameterSet:
    """An estimate that can be saved: everything that predictions with intervals need.

    Unknown arrays are None, unknown mappings and tuples are empty.

    For predictions: values (p,) in the order of `names`; covariance (p, p); noise_stddev (C,) per
    channel; systematic (CAUSES, p): shift of the values per standard deviation of each error that
    residuals do not show. robot: the robot it belongs to ('joints', 'vehicle', 'channels').

    To resume an estimation as if it had not been interrupted: information (p, p) and gradient (p,):
    half the Hessian and half the gradient, at the values, of the minimized cost;
    gradient_covariance (p, p): covariance of that gradient at the true parameters, caused by noise
    and prior; row_noise_stddev (C,): the noise that weighs rows in that cost; residual_products (2,
    L, C): sums of products of residuals at L lags, and of their weights (`ResidualAutocovariance`).

    For people: known_from: 'measured', 'weak', 'prior' or 'frozen' for each name; identifiability:
    rank, conditioning, combinations and warnings (docs/uncertainty.md); learned: the amount of data
    behind the estimate and factors on measurements (`estimation/learned.py`, `scales.py`);
    intervals (2, p): lower and upper ends of the values' 95 % intervals within P, None in a set
    that was read from a file; source: the file it was read from, for messages.
    """

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray | None = None
    noise_stddev: np.ndarray | None = None
    robot: Mapping = field(default_factory=dict)
    version: str = __version__
    known_from: tuple[str, ...] = ()
    identifiability: Mapping = field(default_factory=dict)
    source: str = ""
    row_noise_stddev: np.ndarray | None = None
    residual_products: np.ndarray | None = None
    information: np.ndarray | None = None
    gradient: np.ndarray | None = None
    gradient_covariance: np.ndarray | None = None
    systematic: np.ndarray | None = None
    learned: Mapping = field(default_factory=dict)
    intervals: np.ndarray | None = None

    @property
    def stddev(self) -> np.ndarray | None:
        """(p,) standard deviations of the values, including the `systematic` errors of timing and
        calibration; None without a covariance."""
        if self.covariance is None:
            return None
        off = 0.0 if self.systematic is None else np.sum(self.systematic ** 2, axis=0)
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0) + off)

    def stddev_of(self, J: np.ndarray) -> np.ndarray | None:
        """(k,) standard deviations of the sums J @ values, J (k, p), as `stddev`."""
        if self.covariance is None:
            return None
        off = 0.0 if self.systematic is None else np.sum((J @ self.systematic.T) ** 2, axis=1)
        return np.sqrt(np.maximum(np.einsum("kp,pq,kq->k", J, self.covariance, J), 0.0) + off)

    def for_table(self, table: ParameterTable, what: str = "parameters") -> ParameterSet:
        """The same set in the order of `table`.

        Raises ParameterError if it belongs to another robot (joints, vehicle, channels, names) or
        if a number cannot be used; the message starts with `what` and the source.
        """
        check_kinds(self, what)
        what = f"{what} ({self.source})" if self.source and self.source not in what else what
        check_robot(self, table, what)
        check_numbers(self, what, table.channels)
        order = np.array([self.names.index(name) for name in table.names], int)
        return replace(
            self, names=table.names, values=table.vector(np.asarray(self.values)[order], what),
            covariance=None if self.covariance is None else self.covariance[np.ix_(order, order)],
            information=(None if self.information is None
                         else self.information[np.ix_(order, order)]),
            gradient=None if self.gradient is None else self.gradient[order],
            gradient_covariance=(None if self.gradient_covariance is None
                                 else self.gradient_covariance[np.ix_(order, order)]),
            systematic=None if self.systematic is None else self.systematic[:, order],
            intervals=None if self.intervals is None else self.intervals[:, order],
            known_from=tuple(self.known_from[i] for i in order) if self.known_from else ())


def as_prior(given: ParameterSet | Any, table: ParameterTable) -> ParameterSet:
    """A ParameterSet itself, or one without a covariance of the vector `given` (p,) in the order of
    `table`. Raises ParameterError for anything else."""
    if isinstance(given, ParameterSet):
        return given
    try:
        values = np.asarray(given, float)
    except (TypeError, ValueError):
        values = np.zeros(())
    if values.ndim != 1 or np.iscomplexobj(given):
        raise ParameterError(
            f"prior: got {brief(given)}, expected a ParameterSet or {table.size} values in the "
            "order of the parameter table; use load_parameters(path) or prior_from_config(config).")
    return ParameterSet(table.names, table.vector(values, "prior"))


def save_parameters(path: str | Path, parameters: ParameterSet, keep: bool = True) -> Path:
    """Write atomically: even after a power cut the file is the old one or the complete new one.

    Raises ParameterError for a set that `load_parameters` would refuse (the file stays as it was),
    and UvmsError if the file cannot be written; with `keep` the set is kept elsewhere and the
    message says where.
    """
    require_path(path)
    require("parameters", parameters, ParameterSet)
    check_numbers(parameters, f"parameters for '{path}', not saved")
    return write_file(path, _text(_document(parameters)), keep)


def parameter_text(parameters: ParameterSet) -> str:
    """The text that `save_parameters` writes. Raises ParameterError for a set that
    `load_parameters` would refuse."""
    check_numbers(parameters, "current parameters")
    return _text(_document(parameters))


def load_parameters(path: str | Path) -> ParameterSet:
    """Read a file written by `save_parameters`; a hand-written one needs only the mapping
    `parameters`.

    Raises ParameterError naming the file, what was found, what is expected and what to do.
    `ParameterSet.for_table` checks that it belongs to a certain robot.
    """
    require_path(path)
    path = Path(path)
    what = f"parameter file '{path}'"
    document = _read(path, what)
    if not isinstance(document, dict) or not isinstance(document.get("parameters"), dict):
        raise ParameterError(f"{what} holds no mapping 'parameters'; expected "
                             "'parameters: {W: 112.8, ...}'.")
    _check_origin(document, what)
    names = tuple(str(name) for name in document["parameters"])
    values = _numbers(document["parameters"].values(), f"{what}: parameters")
    noise, gradient = document.get("noise_stddev"), document.get("gradient")
    row_noise = document.get("row_noise_stddev")
    loaded = ParameterSet(
        names, values,
        covariance=_symmetric(document, "covariance_lower_triangle", len(names), what),
        information=_symmetric(document, "information_lower_triangle", len(names), what),
        gradient=None if gradient is None else _numbers(gradient, f"{what}: gradient"),
        gradient_covariance=_symmetric(document, "gradient_covariance_lower_triangle", len(names),
                                       what),
        row_noise_stddev=(None if row_noise is None
                          else _numbers(row_noise, f"{what}: row_noise_stddev")),
        noise_stddev=None if noise is None else _numbers(noise, f"{what}: noise_stddev"),
        residual_products=_residual_products(document, what),
        systematic=_systematic(document, len(names), what),
        robot=_mapping(document, "robot", what), version=str(document.get("version", "")),
        known_from=_known_from(_mapping(document, "known_from", what), names, what),
        identifiability=_mapping(document, "identifiability", what),
        learned=_mapping(document, "learned", what), source=what)
    check_numbers(loaded, what)
    return loaded


# --- the document -------------------------------------------------------------------------------

def _document(parameters: ParameterSet) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schema": PARAMETER_SCHEMA, "package": PACKAGE, "version": parameters.version,
        "robot": dict(parameters.robot),
        **({"learned": dict(parameters.learned)} if parameters.learned else {}),
        "parameters": dict(zip(parameters.names, map(float, parameters.values)))}
    if parameters.known_from:
        document["known_from"] = dict(zip(parameters.names, parameters.known_from))
    if parameters.identifiability:
        document["identifiability"] = dict(parameters.identifiability)
    if parameters.noise_stddev is not None:
        document["noise_stddev"] = [float(x) for x in parameters.noise_stddev]
    if parameters.covariance is not None:
        lower = parameters.covariance[np.tril_indices(len(parameters.names))]
        document["covariance_lower_triangle"] = _Numbers(lower)
    if parameters.systematic is not None:
        document["systematic"] = [[float(x) for x in row] for row in parameters.systematic]
    if parameters.stddev is not None:
        document["stddev"] = dict(zip(parameters.names, map(float, parameters.stddev)))
    if parameters.intervals is not None:
        document["interval95"] = {name: [float(low), float(high)] for name, low, high in zip(
            parameters.names, *parameters.intervals)}
    if parameters.row_noise_stddev is not None:
        document["row_noise_stddev"] = [float(x) for x in parameters.row_noise_stddev]
    if parameters.residual_products is not None:
        document["residual_products"] = [
            row.tolist() for part in parameters.residual_products for row in part]
    if parameters.information is not None and parameters.gradient is not None:
        lower = parameters.information[np.tril_indices(len(parameters.names))]
        document["information_lower_triangle"] = _Numbers(lower)
        document["gradient"] = _Numbers(parameters.gradient)
    if parameters.gradient_covariance is not None:
        lower = parameters.gradient_covariance[np.tril_indices(len(parameters.names))]
        document["gradient_covariance_lower_triangle"] = _Numbers(lower)
    return document


def _text(document: Mapping[str, Any]) -> str:
    """The document as YAML, keys in order."""
    lines = []
    for key, value in document.items():
        if isinstance(value, _Numbers):
            lines.append(f"{key}: {number_list(value, PARAMETER_LINE_WIDTH)}\n")
        else:   # None: collections of scalars on one line; False: scalar entries
            flow = None if isinstance(value, (list, dict)) else False
            lines.append(yaml.dump({key: value}, Dumper=_Dumper, sort_keys=False,
                                   default_flow_style=flow, width=PARAMETER_LINE_WIDTH))
    return "".join(lines)


def _read(path: Path, what: str) -> Any:
    text = read_text(path, what, LARGEST_PARAMETER_FILE, ParameterError,
                     "a parameter file as ~/save or --save-parameters write it")
    return parse_yaml(text, what, ParameterError, "Correct it, or save the parameters again.")


def _check_origin(document: Mapping, what: str) -> None:
    """Refuse files of another schema or program; hand-written ones state neither."""
    schema = document.get("schema", PARAMETER_SCHEMA)
    if type(schema) is not int or schema != PARAMETER_SCHEMA:
        raise ParameterError(f"{what} has schema {brief(schema)}; expected {PARAMETER_SCHEMA}. "
                             f"Save the parameters again with version {__version__} of this "
                             "package.")
    package = document.get("package", PACKAGE)
    if package != PACKAGE:
        raise ParameterError(f"{what} was written by {brief(package)}; expected '{PACKAGE}'. Give "
                             "a file written by ~/save or --save-parameters.")


def _mapping(document: Mapping, key: str, what: str) -> Mapping:
    found = document.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ParameterError(f"{what}: '{key}' is {brief(found)}; expected a mapping. Correct it "
                             "or delete it.")
    return found


def _known_from(found: Mapping, names: tuple[str, ...], what: str) -> tuple[str, ...]:
    if not found:
        return ()
    words = {str(name): word for name, word in found.items()}
    if set(words) != set(names) or not all(isinstance(word, str) for word in words.values()):
        raise ParameterError(f"{what}: 'known_from' has {len(words)} entries; expected one word "
                             f"for each of the {len(names)} parameters. Correct it or delete it.")
    return tuple(words[name] for name in names)


def _numbers(found: Any, what: str) -> np.ndarray:
    if isinstance(found, (str, bytes, Mapping)) or not hasattr(found, "__iter__"):
        raise ParameterError(f"{what} is {brief(found)}; expected a list of numbers.")
    return np.array([_number(value, what) for value in found], float)


def _number(value: Any, what: str) -> float:
    # YAML 1.1 reads 1e-3 as text, where people mean the number, and `yes` as true.
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise ParameterError(f"{what} has the entry {brief(value)}; expected a number.")


def _systematic(document: Mapping, size: int, what: str) -> np.ndarray | None:
    found = document.get("systematic")
    if found is None:
        return None
    rows = [] if not isinstance(found, list) else [
        _numbers(row, f"{what}: systematic") for row in found]
    if len(rows) == CAUSES - 1:     # saved by a version without the last cause
        rows.append(np.zeros(size))
    if len(rows) != CAUSES or any(row.size != size for row in rows):
        raise ParameterError(f"{what}: systematic is {brief(found)}; expected {CAUSES} lists of "
                             f"{size} numbers. Save the parameters again, or delete it.")
    return np.array(rows)


def _residual_products(document: Mapping, what: str) -> np.ndarray | None:
    """(2, L, C) from 2 L lists of C numbers."""
    found = document.get("residual_products")
    if found is None:
        return None
    rows = [] if not isinstance(found, list) else [
        _numbers(row, f"{what}: residual_products") for row in found]
    if not rows or len(rows) % 2 or len({row.size for row in rows}) > 1:
        raise ParameterError(f"{what}: residual_products is {brief(found)}; expected two lists for "
                             "each lag, with one number for each channel. Save the parameters "
                             "again, or delete it.")
    return np.array(rows).reshape(2, len(rows) // 2, -1)


def _symmetric(document: Mapping, key: str, size: int, what: str) -> np.ndarray | None:
    if document.get(key) is None:
        return None
    entries = _numbers(document[key], f"{what}: {key}")
    if entries.size != size * (size + 1) // 2:
        raise ParameterError(
            f"{what}: {key} has {entries.size} entries, expected {size * (size + 1) // 2} for "
            f"{size} parameters. Save the parameters again, or delete the entry to start from "
            "estimation.prior_stddev.")
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = entries
    return matrix + np.tril(matrix, -1).T
