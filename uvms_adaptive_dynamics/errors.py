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

"""Errors that a person can act on: each message names the item, the value got, the value expected
and what to do."""
from __future__ import annotations

from os import PathLike
from typing import Any

# Longest value in a message [characters]: fits the six numbers of an allocation row. Paths are
# longer, since they should be shown in full.
BRIEF, PATH = 80, 300
# How users of the library get what its functions expect.
MADE_BY = {"Config": "load_config(path)", "RobotModel": "RobotModel.from_config(config)",
           "ParameterSet": "load_parameters(path)",
           "Identified": "Identified.of(config, parameters)",
           "Disturbance": "Disturbance(covariance, time)",
           "Mount": "Mount(xyz=(x, y, z), rpy=(roll, pitch, yaw)), in FLU axes [m, rad]"}


class UvmsError(Exception):
    """Base class of all errors that this package raises on purpose."""


class ConfigError(UvmsError):
    """A setting is unknown, has the wrong type, or contradicts another one."""


class RobotError(UvmsError):
    """The robot's description (URDF, joints, mount, allocation) cannot be used."""


class ParameterError(UvmsError):
    """A parameter vector or parameter file does not fit the robot."""


class MessageError(UvmsError):
    """A sensor message cannot be used: wrong length, not finite, unknown joint, unusable type."""


class OtherJointsError(MessageError):
    """A joint message contains none of the configured joints."""


class BagError(UvmsError):
    """A recording cannot be read or lacks required data."""


class SolverError(UvmsError):
    """No usable solver, or no usable solution; carries the solver's status."""

    def __init__(self, message: str, status: str = "error"):
        super().__init__(message)
        self.status = status


def in_words(error: BaseException) -> str:
    """Text of an error. Other errors than ours are prefixed with their type, since their text may
    be a bare key or number."""
    return str(error) if isinstance(error, UvmsError) else f"{type(error).__name__}: {error}"


def brief(value: Any, most: int = BRIEF) -> str:
    """repr of a value on one line, cut to `most` characters; never raises."""
    try:
        text = " ".join(repr(value).split())
    except Exception:     # integers beyond Python's digit limit; endless nesting
        return f"a value of type {type(value).__name__} that is too large to print"
    return text if len(text) <= most else f"{text[:most - 3]}..."


def require_path(path: Any, error: type[UvmsError] = ParameterError) -> None:
    """Refuse what is not a path."""
    require("path", path, (str, PathLike), error, "a path")


def require(name: str, value: Any, kind: type | tuple[type, ...],
            error: type[UvmsError] = ParameterError, expected: str = "") -> None:
    """Refuse an argument that is not of this kind; `expected`: what to say instead of its name."""
    if not isinstance(value, kind):
        raise error(f"{name}: got {brief(value)}, expected {expected or _kind_in_words(kind)}.")


def _kind_in_words(kind: Any) -> str:
    name = kind.__name__
    made = f"; use {MADE_BY[name]}" if name in MADE_BY else ""
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}{made}"
