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

"""A `ParameterSet` in a YAML file, and its checks when it is read.

Format and rules: docs/ros_interface.md, "Parameter files".
"""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from .. import PACKAGE, __version__
from ..disk.reading import read_text
from ..disk.writing import write_file
from ..disk.yaml_text import DUMPER, number_list, parse_yaml
from ..errors import ParameterError, brief, require, require_path
from .parameter_checks import check_numbers
from .parameter_set import CAUSES, ParameterSet

PARAMETER_SCHEMA = 1
OLDER_CAUSES = 4, 5     # rows of `systematic` in files of earlier versions
# [bytes] The file of a robot with 40 joints has 9.1 MB, mostly covariance and information.
LARGEST_PARAMETER_FILE = 10_000_000
PARAMETER_LINE_WIDTH = 110  # of a line in the file [characters]


class _Dumper(DUMPER):
    """Writes no aliases, since the reader accepts none."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Numbers(list):
    """A long list of numbers, written without PyYAML, which would take a quarter of a second for a
    covariance and block the node's other threads meanwhile."""


def save_parameters(path: str | Path, parameters: ParameterSet, keep: bool = True) -> Path:
    """Write atomically: even after a power cut the file is the old one or the complete new one.

    Raises ParameterError for a set that `load_parameters` would refuse (the file stays as it was),
    and UvmsError if the file cannot be written; with `keep` the set is kept elsewhere and the
    message says where.
    """
    require_path(path)
    require("parameters", parameters, ParameterSet)
    what = f"parameters for '{path}', not saved"
    check_numbers(parameters, what)
    text = _text(_document(parameters))
    if len(text.encode()) > LARGEST_PARAMETER_FILE:
        raise ParameterError(f"{what}: {len(parameters.names)} parameters with their covariance "
                             f"take {len(text) / 1e6:.1f} MB; expected at most "
                             f"{LARGEST_PARAMETER_FILE / 1e6:.0f} MB, which can be read again. "
                             "Estimate fewer joints.")
    return write_file(path, text, keep)


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
    if len(rows) in OLDER_CAUSES:
        rows += [np.zeros(size)] * (CAUSES - len(rows))
    if len(rows) < CAUSES or any(row.size != size for row in rows):
        raise ParameterError(f"{what}: systematic is {brief(found)}; expected {CAUSES} or more "
                             f"lists of {size} numbers. Save the parameters again, or delete it.")
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
