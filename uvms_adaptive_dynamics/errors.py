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

"""Errors that a person can act on: each message names the thing, what was got, what was expected
and what to do."""
from __future__ import annotations

from typing import Any

# Characters of a value in a message: the six numbers of a row of the allocation fit.
# A path is wanted whole, if it can be one at all.
BRIEF, PATH = 80, 300


class UvmsError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(UvmsError):
    """A setting is unknown, has the wrong type, or contradicts another one."""


class RobotError(UvmsError):
    """The robot's description (URDF, joints, mount, allocation) cannot be used."""


class ParameterError(UvmsError):
    """A parameter vector or parameter file does not fit the robot."""


class MessageError(UvmsError):
    """A sensor message cannot be used: wrong length, not finite, unknown joint, unusable type."""


class OtherJointsError(MessageError):
    """A joint message has none of the joints that are asked for."""


class BagError(UvmsError):
    """A recording cannot be read or does not hold what is needed."""


class SolverError(UvmsError):
    """No usable solver, or a solve without a usable answer; carries the solver's status."""

    def __init__(self, message: str, status: str = "error"):
        super().__init__(message)
        self.status = status


def in_words(error: Exception) -> str:
    """What an error says: the sentence of one of ours; of any other its type as well, without which
    the text may be a bare key or number."""
    return str(error) if isinstance(error, UvmsError) else f"{type(error).__name__}: {error}"


def brief(value: Any, most: int = BRIEF) -> str:
    """A value as it was given, on one line of at most so many characters; never raises."""
    try:
        text = " ".join(repr(value).split())
    except Exception:     # whole numbers beyond Python's limit of digits; nesting without end
        return f"a value of type {type(value).__name__} that is too large to print"
    return text if len(text) <= most else f"{text[:most - 3]}..."
