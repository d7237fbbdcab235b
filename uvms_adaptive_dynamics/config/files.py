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

"""ROS parameter files: the format in which nodes, launch files and evaluation read settings."""
from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..disk.reading import read_text
from ..disk.yaml_text import key_comments, parse_yaml
from ..errors import ConfigError, brief, require_path
from .whole import Config

NODE_NAME = "uvms_estimator"
# Parameters of any ROS node; a parameter file may contain them, but they are not our settings.
ROS_OWN = ("use_sim_time", "qos_overrides", "start_type_description_service")
# Settings that hold a path.
PATHS = ("robot.urdf", "prior.file", "thrusters.curve", "estimation.schedule")
# [bytes] 50 times the file with every setting; leaves room for all other nodes of a robot.
LARGEST_SETTINGS_FILE = 1_000_000
# Begins the comment on a line that a person has to complete in a file of settings.
TO_DO = "MISSING"
SECTIONS = {section.name for section in fields(Config)}
SETTINGS_FORM = ("a ROS parameter file ('/**: ros__parameters: ...' or "
                 f"'{NODE_NAME}: ros__parameters: ...')")


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested mappings to dotted names, as ROS does.

    Raises ConfigError for a setting given twice, nested and dotted.
    """
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        found = (flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) and value
                 else {f"{prefix}{key}": value})
        twice = next((name for name in found if name in flat), None)
        if twice is not None:
            raise ConfigError(f"setting {brief(twice)} is given twice, nested and with its dotted "
                              "name; expected once. Delete one of them.")
        flat.update(found)
    return flat


def load_config(path: str | Path | None = None) -> Config:
    """Read settings from a ROS 2 parameter file, or the defaults if there is none.

    The top level of the file is `/**: ros__parameters:` or the node's name, in any namespace; or
    the settings themselves, as lines that a message gives to paste.
    Raises ConfigError for a missing or malformed file, a file for other nodes only, an unknown
    setting or a bad value.
    """
    if path is None:
        return Config()
    require_path(path, ConfigError)
    path = Path(path).expanduser()
    nodes = parameter_nodes(path, bare=True)
    ours = [values for name, values in nodes if name.rsplit("/", 1)[-1] in (NODE_NAME, "*", "**")]
    if not ours:
        raise ConfigError(unreached(path, nodes, NODE_NAME))
    values: dict[str, Any] = {}
    try:
        for parameters in ours:
            values.update(flatten(parameters))
        config = Config().with_values(
            {k: v for k, v in values.items() if k.split(".")[0] not in ROS_OWN})
    except ConfigError as error:
        raise ConfigError(f"configuration '{path}': {error}") from None
    return _with_paths_beside(config, path.parent)


def reasons_in(path: str | Path) -> dict[str, str]:
    """The comments beside the settings of a file that `load_config` accepts, by dotted name: the
    evidence that the command inspect wrote there, or a person's own remark."""
    text = read_text(path, f"configuration '{path}'", LARGEST_SETTINGS_FILE, ConfigError,
                     SETTINGS_FORM)
    named = {name.rpartition("ros__parameters.")[2]: comment
             for name, comment in key_comments(text).items()}
    return {name: comment for name, comment in named.items() if not comment.startswith(TO_DO)}


def parameter_nodes(path: str | Path, bare: bool = False) -> list[tuple[str, Mapping[str, Any]]]:
    """`(node name or pattern, its parameters)` of a ROS parameter file, in order.

    A namespace may be part of the name or nested around it. With `bare`, a file of nothing but
    settings is one for any node. Raises ConfigError.
    """
    what = f"configuration '{path}'"
    text = read_text(path, what, LARGEST_SETTINGS_FILE, ConfigError, SETTINGS_FORM)
    tree = parse_yaml(text, what, ConfigError)
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{what} is not a ROS parameter file; expected {SETTINGS_FORM}.")
    if (bare and tree and "ros__parameters" not in text
            and {str(name).partition(".")[0] for name in tree} <= SECTIONS):
        return [("/**", tree)]
    found = list(_nodes(tree, what))
    if not found:
        raise ConfigError(f"{what} is not a ROS parameter file: it has no ros__parameters; "
                          f"expected {SETTINGS_FORM}.")
    return found


def fits_node(name: str, node: str) -> bool:
    """Whether parameters under `name` apply to the node with the fully qualified name `node`.

    As in rcl, '*' matches one part of a name and '**' any number of parts.
    """
    pattern = re.escape("/" + name.lstrip("/"))
    pattern = pattern.replace(r"/\*\*", r"(/\w+)*").replace(r"/\*", r"/\w+")
    return re.fullmatch(pattern, node) is not None


def unreached(path: str | Path, nodes: list[tuple[str, Mapping[str, Any]]], node: str) -> str:
    """Error message for a file whose parameters do not reach `node`; gives both names."""
    names = list(dict.fromkeys(name for name, _ in nodes))
    said = ", ".join(map(brief, names[:3])) + (", ..." if len(names) > 3 else "")
    return (f"configuration '{path}' has parameters only for {said}; none of them reaches this "
            f"node, '{node}'; expected that name, or '/**' for any node. Correct the name in the "
            "file, or start the node under the name and namespace in the file.")


def _nodes(tree: Mapping[Any, Any], what: str,
           above: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, content in tree.items():
        name = f"{above}/{key}" if above else str(key)
        if content is None:
            continue
        if not isinstance(content, Mapping):
            raise ConfigError(f"{what} is not a ROS parameter file: {brief(name)} is "
                              f"{brief(content)}; expected {SETTINGS_FORM}.")
        if "ros__parameters" in content:
            parameters = content["ros__parameters"]
            if not isinstance(parameters or {}, Mapping):
                raise ConfigError(f"{what}: ros__parameters is {brief(parameters)}; expected "
                                  "sections such as 'estimation: {horizon: 200}'.")
            yield name, parameters or {}
        yield from _nodes({k: v for k, v in content.items() if k != "ros__parameters"}, what, name)


def _with_paths_beside(config: Config, folder: Path) -> Config:
    """Resolve relative paths against the configuration's folder if the file exists there."""
    changes = {}
    for name in PATHS:
        section, key = name.split(".")
        value = getattr(getattr(config, section), key)
        if (value and "://" not in value and not Path(value).is_absolute()
                and os.path.isfile(folder / value)):   # false for names that are too long
            changes[name] = str((folder / value).resolve())
    return config.with_values(changes) if changes else config
