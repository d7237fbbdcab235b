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

"""Check parameter files on the command line before rcl reads them, and against the node's name.

rcl blocks on a FIFO, silently takes the last of duplicate keys, and silently ignores a file whose
parameters are only for nodes of other names.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..config import flatten
from ..config.files import fits_node, parameter_nodes, unreached
from ..errors import ConfigError

# Path of a file -> (node name or pattern, its parameters).
ParameterFiles = dict[str, list[tuple[str, Mapping[str, Any]]]]


def read_parameter_files(arguments: Sequence[str]) -> ParameterFiles:
    """Read the `--params-file` files among the ROS arguments.

    Raises ConfigError if one is not a ROS parameter file.
    """
    paths, ros, before = [], False, ""
    for argument in arguments:
        if argument == "--ros-args":
            ros = True
        elif argument == "--":
            ros = False
        elif ros and before == "--params-file":
            paths.append(argument)
        before = argument
    return {path: parameter_nodes(path) for path in paths}


def check_reached(files: ParameterFiles, node: str) -> None:
    """Raise ConfigError if a file has no parameters for the node of this fully qualified name, or
    gives it a setting twice."""
    for path, nodes in files.items():
        reaching = [parameters for name, parameters in nodes if fits_node(name, node)]
        if not reaching:
            raise ConfigError(unreached(path, nodes, node))
        try:
            for parameters in reaching:
                flatten(parameters)
        except ConfigError as error:
            raise ConfigError(f"configuration '{path}': {error}") from None
