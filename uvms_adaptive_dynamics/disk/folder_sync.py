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

"""Periodic sync of growing files: a power cut loses only the data since the last sync."""
from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path


class FolderSync:
    """Syncs the files of a folder on its own thread, since a sync may take a second."""

    def __init__(self, folder: Path, period: float):
        """period [s]"""
        self._folder, self._period = folder, period
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sync", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Sync one last time and join the thread."""
        if not self._stopped.is_set():
            self._stopped.set()
            self._thread.join()
            self._sync()

    def _run(self) -> None:
        while not self._stopped.wait(self._period):
            self._sync()

    def _sync(self) -> None:
        # If the folder is gone or the disk is full, the writer itself fails and reports it.
        with contextlib.suppress(OSError):
            for path in (*self._folder.iterdir(), self._folder):
                handle = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
