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

"""Kind of file at a path: only regular files are finite and can be replaced."""
from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"),
          (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"))


def special_kind(path: str | Path) -> str:
    """'a folder', 'a FIFO', 'a device' or 'a socket'; '' for a regular file or none.

    Links are followed. Raises OSError or ValueError if the path itself is impossible.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return ""
    return next((word for fits, word in _KINDS if fits(mode)), "")


def reason_of(error: Exception) -> str:
    """Text of an OSError without number and path; the first line of any other error."""
    text = getattr(error, "strerror", None) or str(error)
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")
