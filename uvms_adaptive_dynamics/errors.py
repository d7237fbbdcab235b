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

from typing import Any

# Longest value in a message [characters]: fits the six numbers of an allocation row. Paths are
# longer, since they should be shown in full.
BRIEF, PATH = 80, 300


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


def in_words(error: Exception) -> str:
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
