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

"""One writer per folder: a lock that is released when the process ends, however it ends."""
from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

LOCK = ".lock"
# Errors of file systems without locks, such as some network shares: no exclusion is possible.
WITHOUT_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


class FolderLock:
    """A lock held from `take` to `release`, or until the process ends."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        """Whether this process is the folder's writer."""
        return self._handle is not None

    def take(self) -> bool:
        """Try to become the folder's writer; returns whether this process is.

        A lock whose file was removed, with the folder perhaps, excludes nobody and is taken again.
        Raises OSError if the folder cannot be created or written.
        """
        if self._handle is not None and os.fstat(self._handle).st_nlink:
            return True
        self.release()
        self._folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in WITHOUT_LOCKS:
                os.close(handle)
                if error.errno == errno.EWOULDBLOCK:
                    return False
                raise
        self._handle = handle
        return True

    def release(self) -> None:
        """Release the lock for another process."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
