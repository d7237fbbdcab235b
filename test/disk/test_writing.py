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

"""Writing results: problems are found before a run, and no result is lost after it."""
import errno
import os
import pickle
import shutil
import stat
from collections import namedtuple
from pathlib import Path

import pytest

from uvms_adaptive_dynamics.disk import writing
from uvms_adaptive_dynamics.disk.writing import (
    attempt_all,
    output_file,
    output_folder,
    remove_partials,
    write_file,
)
from uvms_adaptive_dynamics.errors import UvmsError


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The temporary folder for results that cannot be written to their path."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.setattr(writing.tempfile, "tempdir", str(folder))
    return folder


def refusal(write, *arguments):
    with pytest.raises(UvmsError) as caught:
        write(*arguments)
    return str(caught.value)


def fail(monkeypatch, below):
    """Make every fsync of a file below the folder fail with a full disk."""
    def full(handle):
        if Path(os.readlink(f"/proc/self/fd/{handle}")).is_relative_to(below):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(writing.os, "fsync", full)


def test_a_file_is_replaced_whole_and_keeps_its_permissions(tmp_path):
    """A new file gets the usual permissions; no other file remains in the folder."""
    path = tmp_path / "new" / "a.txt"
    assert write_file(path, "one") == path and path.read_text() == "one"
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0o077 & ~_umask() & 0o666
    path.chmod(0o640)
    write_file(path, b"two")
    assert path.read_bytes() == b"two" and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent) == ["a.txt"]


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_links_stay_links(tmp_path):
    """The target of the link is written, even if it does not exist yet."""
    (tmp_path / "far").mkdir()
    for name in ("there", "absent"):
        link, target = tmp_path / name, tmp_path / "far" / name
        link.symlink_to(target)
        if name == "there":
            target.write_text("old")
        assert output_file(link) == link
        write_file(link, "new")
        assert link.is_symlink() and target.read_text() == "new" and not target.is_symlink()


@pytest.mark.parametrize("kind, word", [
    ("null", "a device"), ("link to null", "a device"), ("fifo", "a FIFO"), ("folder", "a folder")])
def test_what_is_no_file_is_never_replaced(tmp_path, elsewhere, kind, word):
    """It is refused before a run and not replaced after one; the content is kept elsewhere."""
    path = tmp_path / "out"
    if kind == "null":
        path = Path("/dev/null")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/null")
    before = os.stat(path)
    assert f"is {word}, which is never replaced" in refusal(output_file, path)
    assert f"it is {word}, which is never replaced. It is kept as '{elsewhere}" in refusal(
        write_file, path, "x")
    assert os.stat(path).st_mode == before.st_mode and os.stat(path).st_ino == before.st_ino
    assert [file.read_text() for file in elsewhere.glob("*/*")] == ["x"]


def test_a_full_disk_loses_nothing(tmp_path, elsewhere, monkeypatch):
    """The old file stays, no partial file remains, the new content is where the message says."""
    path = tmp_path / "out" / "a.yaml"
    write_file(path, "old")
    fail(monkeypatch, path.parent)
    said = refusal(write_file, path, "new")
    kept = Path(said.partition("kept as '")[2].partition("'")[0])
    assert f"'{path}' cannot be written: No space left on device." in said
    assert kept.name == "a.yaml" and kept.read_text() == "new"
    assert path.read_text() == "old" and os.listdir(path.parent) == ["a.yaml"]
    fail(monkeypatch, tmp_path)
    assert "It could not be kept" in refusal(write_file, path, "new")


def test_every_result_is_tried(tmp_path, elsewhere):
    """One message lists all failures, including those of nested attempts."""
    bad, good = tmp_path / "bad", tmp_path / "good"
    bad.mkdir()

    def inner():
        attempt_all(lambda: write_file(bad, "3"), lambda: write_file(bad, "4"))

    def refuse():
        raise UvmsError("No figures.")
    said = refusal(attempt_all, lambda: write_file(bad, "1"), refuse,
                   lambda: write_file(good, "2"), inner)
    folder, = elsewhere.iterdir()
    assert good.read_text() == "2"
    assert {f.name: f.read_text() for f in folder.iterdir()} == {
        "bad": "1", "2_bad": "3", "3_bad": "4"}
    assert said == ("No figures. bad, 2_bad, 3_bad cannot be written to the output: it is a "
                    f"folder, which is never replaced. They are kept in '{folder}'; copy them to "
                    "a disk with free space.")
    assert "It is kept as" in refusal(attempt_all, lambda: write_file(bad, "5"))
    attempt_all()


def test_a_kept_folder_that_the_system_has_removed_is_made_again(tmp_path, elsewhere):
    """As systems do with old temporary folders during a long run."""
    for _ in range(2):
        assert "It is kept as" in refusal(write_file, tmp_path, "1")
        folder, = elsewhere.iterdir()
        shutil.rmtree(folder)


def test_failures_come_out_of_other_processes(tmp_path, elsewhere):
    """Campaigns run in several processes: exceptions must survive pickling with their message."""
    def two():
        attempt_all(lambda: write_file(tmp_path, "1"), lambda: write_file(tmp_path, "2"))
    for write in (lambda: write_file(tmp_path, "1"), two):
        with pytest.raises(UvmsError) as caught:
            write()
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_space_is_looked_for_before_a_run(tmp_path, monkeypatch):
    """The message contains both numbers."""
    assert output_folder(tmp_path / "a" / "b", 1000) == tmp_path / "a" / "b"
    assert os.listdir(tmp_path / "a" / "b") == []
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9, 5 * 10**6))
    assert "has 5 MB of free space; expected at least 6 MB" in refusal(
        output_folder, tmp_path, 6 * 10**6)
    assert "5 MB of free space" in refusal(output_file, tmp_path / "p.yaml", 6 * 10**6)
    fail(monkeypatch, tmp_path)
    assert "No space left on device" in refusal(output_folder, tmp_path)


def test_what_stands_in_the_way_is_named(tmp_path):
    """A file, a device or a broken link, at the end of the path or within it."""
    (tmp_path / "file").write_text("")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere" / "at all")
    for path, words in ((tmp_path / "file", f"'{tmp_path}/file' is a file"),
                        (tmp_path / "file" / "a" / "b", f"'{tmp_path}/file' is a file"),
                        (tmp_path / "gone", f"'{tmp_path}/gone' is a broken link"),
                        ("/dev/null/x", "'/dev/null' is a device"), ("/proc/x", "No such file"),
                        ("~nobody-of-this-name", "home directory"), ("a\0b", "null byte")):
        said = refusal(output_folder, path)
        assert words in said and said.endswith("Give another folder, or free space in it.")


@pytest.mark.parametrize("umask, mode", [(0o022, 0o644), (0o027, 0o640), (0o002, 0o664)])
def test_others_may_read_whom_the_umask_allows(tmp_path, umask, mode):
    """The mode follows the umask, not that of a temporary file."""
    before = os.umask(umask)
    try:
        path = write_file(tmp_path / "p.yaml", "x")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode


def test_what_is_written_again_soon_is_not_kept(tmp_path, elsewhere):
    """So that a full disk does not fill the temporary folder too."""
    (tmp_path / "file").touch()
    with pytest.raises(UvmsError, match="cannot be written"):
        write_file(tmp_path / "file" / "p.yaml", "x", keep=False)
    assert list(elsewhere.iterdir()) == []


def test_what_a_killed_write_left_is_removed(tmp_path):
    """Other files stay."""
    (tmp_path / ".uvms_0123456789ab.partial").touch()
    (tmp_path / "other.partial").touch()
    remove_partials(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["other.partial"]
