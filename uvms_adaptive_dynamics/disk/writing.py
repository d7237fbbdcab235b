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

"""Write results: check outputs before a run, write atomically, never lose a result.

Links are followed, as by a shell or an editor: `latest.yaml -> /data/today.yaml` stays a link, and
the file it points to is replaced. Devices, FIFOs and folders are never replaced by a file.
"""
from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ..errors import UvmsError
from .kinds import reason_of, special_kind

# [bytes] Written to test whether a folder is writable; one file system block.
PROBE = 4096


def output_folder(path: str | Path, needed: int = 0) -> Path:
    """Create the folder if needed and check that it is writable with `needed` [bytes] free.

    Raises UvmsError.
    """
    try:
        path = Path(path).expanduser()
        path.mkdir(parents=True, exist_ok=True)
        probe = path / _partial_name()
        try:
            _write_new(probe, bytes(PROBE))
        finally:
            probe.unlink(missing_ok=True)
        free = shutil.disk_usage(path).free
    except (OSError, RuntimeError, ValueError) as error:
        raise UvmsError(f"output folder '{path}' cannot be written: {_why_not(path, error)}. Give "
                        "another folder, or free space in it.") from None
    if free < needed:
        raise UvmsError(f"output folder '{path}' has {_size(free)} of free space; expected at "
                        f"least {_size(needed)} for these results. Free space, or give another "
                        "folder.")
    return path


def output_file(path: str | Path, needed: int = PROBE) -> Path:
    """Check that the file can be created or replaced, with `needed` [bytes] free in its folder.

    Creates the folder if needed. Raises UvmsError.
    """
    try:
        path = Path(path).expanduser()
        target = Path(os.path.realpath(path))
        kind = special_kind(target)
    except (OSError, RuntimeError, ValueError) as error:
        raise UvmsError(f"output '{path}' cannot be written: {_why_not(path, error)}.") from None
    if kind:
        raise UvmsError(f"output '{path}' is {kind}, which is never replaced; expected a file. "
                        "Give another path.")
    output_folder(target.parent, needed)
    return path


class WriteError(UvmsError):
    """A result could not be written: path, reason, and the file it is kept in instead (or None)."""

    def __init__(self, path: Path, reason: str, kept: Path | None):
        super().__init__(path, reason, kept)
        self.path, self.reason, self.kept = path, reason, kept

    def __str__(self) -> str:
        return f"'{self.path}' cannot be written: {self.reason}. " + (
            f"It could not be kept in '{tempfile.gettempdir()}' either." if self.kept is None else
            f"It is kept as '{self.kept}'; copy it to a disk with free space.")


def write_file(path: str | Path, content: str | bytes, keep: bool = True) -> Path:
    """Replace the file atomically: even after a power cut it is either the old or the new one.

    Permissions follow the umask. If writing fails the content is kept in a temporary folder, which
    the WriteError names; with `keep` False, for files that are rewritten soon, it is dropped.
    """
    path = Path(path).expanduser()
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        if not keep:
            raise UvmsError(f"'{path}' cannot be written: {reason_of(error)}.") from None
        raise WriteError(path, reason_of(error), _keep(path.name, data)) from None
    return path


def remove_partials(folder: Path) -> None:
    """Remove leftovers of killed writes; the folder must have no other writer."""
    for partial in folder.glob(_partial_name("*")):
        with contextlib.suppress(OSError):
            partial.unlink()


def attempt_all(*writes: Callable[[], object]) -> None:
    """Run every write even if others fail, then raise all failures as one UvmsError."""
    failures = []
    for write in writes:
        try:
            write()
        except Failures as error:
            failures += error.all
        except UvmsError as error:
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise Failures(failures)


class Failures(UvmsError):
    """Several failures of one run; the message has one sentence per folder that keeps results."""

    def __init__(self, failures: list[UvmsError]):
        super().__init__(failures)
        self.all = failures

    def __str__(self) -> str:
        kept: dict[tuple[str, Path], list[str]] = {}
        sentences = []
        for error in self.all:
            if isinstance(error, WriteError) and error.kept is not None:
                kept.setdefault((error.reason, error.kept.parent), []).append(error.kept.name)
            else:
                sentences.append(str(error))
        for (reason, folder), names in kept.items():
            sentences.append(f"{', '.join(names)} cannot be written to the output: {reason}. "
                             f"They are kept in '{folder}'; copy them to a disk with free space.")
        return " ".join(sentences)


def _replace(target: Path, data: bytes) -> None:
    kind = special_kind(target)
    if kind:
        raise OSError(errno.EINVAL, f"it is {kind}, which is never replaced")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(_partial_name())
    try:
        _write_new(partial, data)
        if target.exists():
            with contextlib.suppress(OSError):  # refused by file systems without permissions
                partial.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _write_new(path: Path, data: bytes) -> None:
    with open(path, "xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, if the file system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _keep(name: str, data: bytes) -> Path | None:
    """The temporary file that keeps the content; None if that fails too."""
    try:
        folder, number = _kept_folder(tempfile.gettempdir()), 1
        folder.mkdir(mode=0o700, exist_ok=True)     # systems remove old temporary folders
        kept = folder / name
        while kept.exists():
            number += 1
            kept = folder / f"{number}_{name}"
        _write_new(kept, data)
        return kept
    except OSError:
        return None


@cache
def _kept_folder(temporary: str) -> Path:
    """A private temporary folder for all results of this process."""
    return Path(tempfile.mkdtemp(prefix="uvms_kept_", dir=temporary))


def _partial_name(which: str = "") -> str:
    # Not the target's name with a suffix: that could be too long for the file system.
    return f".uvms_{which or secrets.token_hex(6)}.partial"


def _why_not(path: str | Path, error: Exception) -> str:
    """The part of the path that prevents writing, or else the error's reason."""
    there = next((part for part in (Path(path), *Path(path).parents) if os.path.lexists(part)),
                 None)
    if there is None or there.is_dir():
        return reason_of(error)
    if there.is_file():
        return f"'{there}' is a file, not a folder"
    return f"'{there}' is {special_kind(there) if there.exists() else 'a broken link'}"


def _size(count: int) -> str:
    return f"{count / 1e6:.3g} MB"
