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

"""One writer per folder; the lock ends with the process."""
import os
import signal
import subprocess
import sys

import pytest

from uvms_adaptive_dynamics.disk.folder_lock import FolderLock

HOLD = ("import sys; from pathlib import Path; from uvms_adaptive_dynamics.disk.folder_lock import "
        "FolderLock; print(FolderLock(Path(sys.argv[1])).take(), flush=True); sys.stdin.read()")


def test_a_second_writer_waits_for_nothing(tmp_path):
    """It is refused at once, and succeeds after `release`."""
    one, other = FolderLock(tmp_path), FolderLock(tmp_path)
    assert one.take() and not other.take()
    one.release()
    assert other.take()


def test_a_killed_process_holds_nothing(tmp_path):
    """kill -9 leaves no lock behind."""
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == "True\n"
    assert not FolderLock(tmp_path).take()
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    assert FolderLock(tmp_path).take()


def test_a_place_where_no_folder_can_be_is_an_error(tmp_path):
    """Raises OSError, as for any other file."""
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        FolderLock(tmp_path / "file" / "folder").take()
