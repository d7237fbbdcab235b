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

"""Read text from external files: bounded length, regular files only.

A device or FIFO may never end, and a file of gigabytes is not a settings file: both are refused
before they cost time or memory.
"""
from __future__ import annotations

import os
from pathlib import Path

from ..errors import UvmsError
from .kinds import reason_of, special_kind


def _where(path: str | Path, error: Exception) -> str:
    """Where a missing file with a relative path was looked for; '' otherwise."""
    if not isinstance(error, FileNotFoundError) or Path(path).is_absolute():
        return ""
    try:
        return f" (looked for in '{Path.cwd()}'; give an absolute path)"
    except OSError:     # the folder of this process was removed
        return ""


def read_text(path: str | Path, what: str, limit: int, refused: type[UvmsError],
              expected: str) -> str:
    """Text of a file (UTF-8, with or without a byte order mark).

    limit [bytes]. Raises `refused` if it is not a regular file, cannot be read, exceeds the limit
    or is not UTF-8; the message starts with `what` (such as "configuration 'x.yaml'") and ends with
    `expected`.
    """
    try:
        path = Path(path).expanduser()
        kind = special_kind(path)
        if kind:
            raise refused(f"{what} cannot be read: it is {kind}; expected {expected}.")
        # Non-blocking, in case a FIFO has replaced the file since the check above.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)
                  ) as stream:
            data = stream.read(limit + 1)
    except (OSError, RuntimeError, ValueError) as error:  # no home folder; a NUL in the name
        raise refused(f"{what} cannot be read: {reason_of(error)}{_where(path, error)}; "
                      f"expected {expected}.") from None
    if len(data) > limit:
        raise refused(f"{what} is longer than {limit / 1e6:g} MB; expected {expected}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refused(f"{what} is not text in UTF-8 ({error.reason} at byte {error.start}); "
                      f"expected {expected}.") from None
