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

"""Files that grow, brought to the disk at intervals: a power cut costs what came since."""
from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path


class FolderSync:
    """Syncs the files of a folder on a thread of its own, since a disk may take a second for it."""

    def __init__(self, folder: Path, period: float):
        """period [s]"""
        self._folder, self._period = folder, period
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sync", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Sync for the last time and join the thread."""
        if not self._stopped.is_set():
            self._stopped.set()
            self._thread.join()
            self._sync()

    def _run(self) -> None:
        while not self._stopped.wait(self._period):
            self._sync()

    def _sync(self) -> None:
        # Where the folder is gone or the disk full, the writer itself fails, and says so.
        with contextlib.suppress(OSError):
            for path in (*self._folder.iterdir(), self._folder):
                handle = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
