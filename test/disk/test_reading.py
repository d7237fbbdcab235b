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

"""Reading external text: bounded, from regular files only, with a clear error otherwise."""
import os
import socket

import pytest

from uvms_adaptive_dynamics.disk.reading import read_text
from uvms_adaptive_dynamics.errors import ConfigError


def refusal(path, limit=100):
    with pytest.raises(ConfigError) as caught:
        read_text(path, "notes 'x'", limit, ConfigError, "a page of notes")
    said = str(caught.value)
    assert said.startswith("notes 'x' ") and said.endswith("expected a page of notes.")
    assert "\n" not in said and "[Errno" not in said
    return said


def test_text_comes_back_without_its_byte_order_mark(tmp_path):
    """Windows editors write one. The limit is inclusive."""
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeff\u00e4b".encode())
    assert read_text(path, "x", 6, ConfigError, "y") == "\u00e4b"
    assert "longer than 5e-06 MB" in refusal(path, 5)


def test_what_never_ends_is_refused_at_once(tmp_path):
    """Devices, a FIFO without a writer, a socket, and a link to one."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for path, kind in (("/dev/zero", "a device"), (tmp_path / "link", "a device"),
                           (tmp_path / "fifo", "a FIFO"), (tmp_path / "socket", "a socket"),
                           (tmp_path, "a folder")):
            assert f"cannot be read: it is {kind}" in refusal(path)


def test_what_is_no_text_is_refused(tmp_path):
    """Other encodings, impossible file names, missing files."""
    (tmp_path / "latin").write_bytes(b"ab\xe4b")
    assert "not text in UTF-8 (invalid continuation byte at byte 2)" in refusal(tmp_path / "latin")
    assert "No such file" in refusal(tmp_path / "none")
    assert "Not a directory" in refusal(tmp_path / "latin" / "x")
    assert "cannot be read" in refusal("a\0b")
    assert "cannot be read" in refusal("~nobody-of-this-name/x")


def test_a_relative_path_that_does_not_exist_is_said_with_the_folder(tmp_path, monkeypatch):
    """A node's settings do not know the folder of their file."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        read_text("arm.urdf", "URDF 'arm.urdf'", 100, ConfigError, "an arm")
    said = str(caught.value)
    assert f"in '{tmp_path}'" in said and "give an absolute path" in said
    with pytest.raises(ConfigError) as caught:
        read_text(tmp_path / "arm.urdf", "URDF", 100, ConfigError, "an arm")
    assert "looked for" not in str(caught.value)
