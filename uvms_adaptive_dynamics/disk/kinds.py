"""What stands at a path, in a word: only a regular file ends, and can be replaced."""
from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"),
          (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"))


def special_kind(path: str | Path) -> str:
    """'a folder', 'a FIFO', 'a device', 'a socket'; '' for a regular file or for nothing.

    Links are followed. Raises OSError or ValueError where the path itself is impossible.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return ""
    return next((word for fits, word in _KINDS if fits(mode)), "")


def reason_of(error: Exception) -> str:
    """An OSError's words without number and path, any other error's first line."""
    text = getattr(error, "strerror", None) or str(error)
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")
