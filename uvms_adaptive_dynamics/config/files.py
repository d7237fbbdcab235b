"""ROS parameter files: the one form in which node, launch files and evaluation read settings."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ..errors import ConfigError
from .whole import Config

NODE_NAME = "uvms_estimator"
# Parameters of every ROS node that a parameter file may hold and that are not ours.
ROS_OWN = ("use_sim_time", "qos_overrides", "start_type_description_service")
# Settings that hold a path.
PATHS = ("robot.urdf", "prior.file", "thrusters.curve")


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings to dotted names, as ROS does."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def load_config(path: str | Path | None = None, base: Config | None = None) -> Config:
    """Settings from a ROS 2 parameter file, on top of `base` (default: the defaults).

    The file has `/**: ros__parameters:` or the node's name on top. Raises ConfigError for a missing
    or malformed file, an unknown setting or a bad value.
    """
    base = base or Config()
    if path is None:
        return base
    path = Path(path).expanduser()
    values: dict[str, Any] = {}
    for node, content in _tree(path).items():
        if node == "/**" or str(node).rsplit("/", 1)[-1] == NODE_NAME:
            values.update(flatten(_parameters(path, content)))
    values = {k: v for k, v in values.items() if k.split(".")[0] not in ROS_OWN}
    try:
        config = base.with_values(values)
    except ConfigError as error:
        raise ConfigError(f"configuration '{path}': {error}") from None
    return _with_paths_beside(config, path.parent)


def _tree(path: Path) -> Mapping[str, Any]:
    """The file's content by node name."""
    try:
        tree = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(f"configuration '{path}' cannot be read: "
                          f"{error.strerror or error}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        place = getattr(error, "problem_mark", None)
        where = f" at line {place.line + 1}" if place else ""
        raise ConfigError(f"configuration '{path}' is not valid YAML{where}: "
                          f"{getattr(error, 'problem', error)}.") from None
    if not isinstance(tree, Mapping) or not any(
            isinstance(node, Mapping) and "ros__parameters" in node for node in tree.values()):
        raise ConfigError(f"configuration '{path}' is not a ROS parameter file; expected "
                          f"'/**: ros__parameters: ...' or '{NODE_NAME}: ros__parameters: ...'.")
    return tree


def _parameters(path: Path, content: Any) -> Mapping[str, Any]:
    """What stands under `ros__parameters` of one node; nothing counts as no parameters."""
    found = content.get("ros__parameters") if isinstance(content, Mapping) else None
    if not isinstance(found or {}, Mapping):
        raise ConfigError(
            f"configuration '{path}': ros__parameters is {found!r}; expected sections "
            "such as 'estimation: {horizon: 200}'.")
    return found or {}


def _with_paths_beside(config: Config, folder: Path) -> Config:
    """Relative paths of files count from the configuration's own folder when they exist there."""
    changes = {}
    for name in PATHS:
        section, key = name.split(".")
        value = getattr(getattr(config, section), key)
        if (value and "://" not in value and not Path(value).is_absolute()
                and (folder / value).is_file()):
            changes[name] = str((folder / value).resolve())
    return config.with_values(changes) if changes else config
