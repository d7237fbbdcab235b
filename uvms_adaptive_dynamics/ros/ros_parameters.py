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

"""ROS parameters generated from the settings (types, descriptions, ranges), and read into a
Config."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import ParameterNotDeclaredException
from rclpy.node import Node
from rclpy.parameter import Parameter

from ..config import ROS_OWN, Config, FixedSettings, fixed_in
from ..errors import ConfigError

PARAMETER_TYPES = {"bool": Parameter.Type.BOOL, "int": Parameter.Type.INTEGER,
                   "float": Parameter.Type.DOUBLE, "string": Parameter.Type.STRING,
                   "floats": Parameter.Type.DOUBLE_ARRAY, "strings": Parameter.Type.STRING_ARRAY}

INT_MAX = 2**63 - 1

ESTIMATORS = fixed_in("estimator")


def config_from_parameters(node: Node, fixed: FixedSettings = ESTIMATORS) -> Config:
    """Declare every setting on `node`; returns the settings with its overrides (YAML, command
    line). fixed: as in `watch_changes`.

    An integer is accepted for a float and `[]` for an empty list. Raises ConfigError with setting,
    got and expected for an unknown name or a bad value.
    """
    config = Config().with_values(overrides(node))
    for name, entry, value in config.settings():
        _declare(node, entry, value, descriptor(name, entry, fixed))
    return config


def overrides(node: Node) -> dict[str, Any]:
    """Settings from parameter files and the command line, by dotted name, without ROS's own
    parameters."""
    # rclpy has no public access to overrides of undeclared names, such as misspelt ones.
    given = node._parameter_overrides
    return {name: [] if parameter.type_ is Parameter.Type.NOT_SET else parameter.value
            for name, parameter in given.items() if name.split(".")[0] not in ROS_OWN}


def changes_sentence(config: Config) -> str:
    """Message that lists the settings that differ from the defaults."""
    return ": ".join(filter(None, [config.counted_changes(), ", ".join(config.changed())]))


def watch_changes(node: Node, get_config: Callable[[], Config],
                  set_config: Callable[[Config], None], fixed: FixedSettings = ESTIMATORS) -> None:
    """Check changes of settings at run time as at start; calls `set_config(new)` after a valid
    change.

    fixed: the settings that this node refuses to change. Settings that are set together change all
    or none.
    """
    kinds = {name: entry.metadata["kind"] for name, entry, _ in get_config().settings()}

    def changed(parameters: Iterable[Parameter]) -> Config:
        now = get_config()
        new = now.with_values({p.name: p.value for p in parameters if p.name in kinds})
        for name, (_, value) in now.differences(new).items():
            if refusal := fixed(name, value):
                raise ConfigError(f"setting '{name}' cannot change while the node runs, since "
                                  f"{refusal.why}. {refusal.instead}")
        return new

    def check(parameters: list[Parameter]) -> SetParametersResult:
        try:
            changed(parameters)
        except ConfigError as error:
            node.get_logger().warning(f"nothing was changed: {error}")
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def declared(parameters: list[Parameter]) -> list[Parameter]:
        unknown = {p.name: p.value for p in parameters if not node.has_parameter(p.name)}
        try:
            get_config().with_values(unknown)
        except ConfigError as error:
            raise UndeclaredError(str(error)) from None
        return [_as_declared(p, kinds.get(p.name)) for p in parameters]

    node.add_pre_set_parameters_callback(declared)
    node.add_on_set_parameters_callback(check)
    node.add_post_set_parameters_callback(lambda parameters: set_config(changed(parameters)))


class UndeclaredError(ParameterNotDeclaredException):
    """A parameter that the node does not have; rclpy's own sentence lacks its name."""

    def __init__(self, said: str):
        Exception.__init__(self, said)


def _as_declared(parameter: Parameter, kind: str | None) -> Parameter:
    """Convert integers for a float, and `[]` without a type, to the setting's type, as at start."""
    given, value = parameter.type_, parameter.value
    if kind == "float" and given is Parameter.Type.INTEGER:
        return Parameter(parameter.name, PARAMETER_TYPES[kind], float(value))
    if kind == "floats" and given is Parameter.Type.INTEGER_ARRAY:
        return Parameter(parameter.name, PARAMETER_TYPES[kind], [float(each) for each in value])
    if kind in ("floats", "strings") and (given is Parameter.Type.NOT_SET or value is not None
                                          and not isinstance(value, str) and len(value) == 0):
        return Parameter(parameter.name, PARAMETER_TYPES[kind], [])
    return parameter


def descriptor(name: str, entry: Any, fixed: FixedSettings = ESTIMATORS) -> ParameterDescriptor:
    """Description, unit and range of a setting, as `ros2 param describe` shows them."""
    meta = entry.metadata
    # Fixed settings are not read-only, since ROS would then refuse a change without the reason.
    made = ParameterDescriptor(name=name, type=PARAMETER_TYPES[meta["kind"]].value,
                               description=meta["doc"] + (f" [{meta['unit']}]" if meta["unit"]
                                                          else ""))
    low, high = meta["low"], meta["high"]
    bounded = low is not None or high is not None
    constraints = []
    if meta["choices"]:
        constraints.append("One of " + ", ".join(meta["choices"]) + ".")
    if bounded and meta["kind"] == "float":
        made.floating_point_range = [FloatingPointRange(
            from_value=float(-sys.float_info.max if low is None else low),
            to_value=float(sys.float_info.max if high is None else high), step=0.0)]
    elif bounded and meta["kind"] == "int":
        made.integer_range = [IntegerRange(from_value=int(-INT_MAX if low is None else low),
                                           to_value=int(INT_MAX if high is None else high), step=1)]
    elif bounded:  # ROS has ranges for scalars only
        constraints.append("Every element" + (f" at least {low:g}" if low is not None else "")
                           + (" and" if low is not None and high is not None else "")
                           + (f" at most {high:g}" if high is not None else "") + ".")
    constraints.append(_while_it_runs(name, meta["kind"], fixed))
    made.additional_constraints = " ".join(constraints)
    return made


def _while_it_runs(name: str, kind: str, fixed: FixedSettings) -> str:
    """Whether a setting may change while the node runs, as a sentence."""
    refusals = [fixed(name, value) for value in ((False, True) if kind == "bool" else (None,))]
    if refusals[0] and all(refusals):
        return f"Fixed at start: {refusals[0].why}."
    only = f" to {str(bool(refusals[0])).lower()}" if any(refusals) else ""
    return f"May change{only} while the node runs."


def _declare(node: Node, entry: Any, value: Any, made: ParameterDescriptor) -> None:
    name = made.name
    if isinstance(value, tuple) and not value:
        # rclpy infers BYTE_ARRAY from an empty list: declare the type, set the value, then the
        # description.
        kind = PARAMETER_TYPES[entry.metadata["kind"]]
        node.declare_parameter(name, kind, ParameterDescriptor(name=name), ignore_override=True)
        node.set_parameters([Parameter(name, kind, [])])
        node.set_descriptor(name, made)
    else:
        node.declare_parameter(name, list(value) if isinstance(value, tuple) else value, made,
                               ignore_override=True)
