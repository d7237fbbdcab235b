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

"""Read recordings that were cut off by a kill or a power failure as if they were finished.

An mcap file gets its missing index after the last complete record (records: mcap.dev/spec), an
sqlite3 file the content of its journal. The files themselves stay unchanged.
"""
from __future__ import annotations

import io
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

MAGIC = b"\x89MCAP0\r\n"
FOOTER, CHUNK, MESSAGE_INDEX, CHUNK_INDEX, STATISTICS, DATA_END = 0x02, 0x06, 0x07, 0x08, 0x0B, 0x0F
JOURNALS = ("-wal", "-journal")


def storage_file(path: Path) -> Path:
    """The only file of a folder without metadata.yaml (which is written last); otherwise the path
    itself."""
    if not path.is_dir() or (path / "metadata.yaml").exists():
        return path
    files = [file for file in path.iterdir() if file.suffix in (".mcap", ".db3")]
    return files[0] if len(files) == 1 else path


def is_cut_off(path: Path) -> bool:
    """Whether the recording was cut off."""
    file = storage_file(path)
    if file != path:
        return True
    if file.suffix == ".mcap" and file.is_file():
        with open(file, "rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC and not _is_finished(stream)
    return file.suffix == ".db3" and bool(_journals(file))


@contextmanager
def readable(path: Path) -> Iterator[Any]:
    """What rosbags reads instead of the path: the path itself, or a completed recording."""
    file = storage_file(path)
    if file.suffix == ".mcap" and is_cut_off(file):
        yield _Whole(file)
    elif file.suffix == ".db3" and _journals(file):
        with TemporaryDirectory() as folder:
            copy = Path(folder) / file.name
            for part in (file, *_journals(file)):
                shutil.copy(part, copy.with_name(part.name))
            # Opening merges the journal; closing leaves a single file.
            with sqlite3.connect(copy) as database:
                database.execute("PRAGMA journal_mode=DELETE")
            database.close()
            yield copy
    else:
        yield file


def _journals(file: Path) -> list[Path]:
    found = [file.with_name(file.name + ending) for ending in JOURNALS]
    return [journal for journal in found if journal.is_file() and journal.stat().st_size]


def _is_finished(stream: BinaryIO) -> bool:
    stream.seek(0, io.SEEK_END)
    if stream.tell() < 2 * len(MAGIC):
        return False
    stream.seek(-len(MAGIC), io.SEEK_END)
    return stream.read() == MAGIC


class _Whole:
    """An mcap file with an appended index, imitating the parts of Path that rosbags uses."""

    def __init__(self, path: Path):
        self._path, self.suffix, self.name = path, path.suffix, path.name

    def __str__(self) -> str:
        return str(self._path)

    def exists(self) -> bool:
        return True

    def is_dir(self) -> bool:
        return False

    def open(self, mode: str = "rb") -> BinaryIO:
        """The file up to its last complete record, followed by the index."""
        stream = open(self._path, "rb")  # noqa: SIM115 (the reader closes it)
        try:
            end, chunks = _whole_records(stream)
        except BaseException:
            stream.close()
            raise
        return io.BufferedReader(_Joined(stream, end, _index(end, chunks)))


class _Joined(io.RawIOBase):
    """The first `end` bytes of a file, followed by `tail`."""

    def __init__(self, stream: BinaryIO, end: int, tail: bytes):
        self._stream, self._end, self._tail, self._at = stream, end, tail, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        size = self._end + len(self._tail)
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        if self._at < self._end:
            self._stream.seek(self._at)
            data = self._stream.read(min(len(buffer), self._end - self._at))
        else:
            start = self._at - self._end
            data = self._tail[start:start + len(buffer)]
        buffer[:len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _whole_records(stream: BinaryIO) -> tuple[int, list[bytes]]:
    """(end of the last complete record, content of an index record for each chunk)."""
    size = stream.seek(0, io.SEEK_END)
    at, chunks = len(MAGIC), []
    while at + 9 <= size:
        stream.seek(at)
        kind, length = struct.unpack("<BQ", stream.read(9))
        if kind in (0, FOOTER, DATA_END) or at + 9 + length > size:   # 0: unwritten disk blocks
            break
        if kind == CHUNK:
            index = _chunk_index(stream, at, length, size)
            if index is None:
                break
            content, at = index
            chunks.append(content)
        else:
            at += 9 + length
    return at, chunks


def _chunk_index(stream: BinaryIO, at: int, length: int, size: int) -> tuple[bytes, int] | None:
    """(content of the index record for the chunk at `at`, end of the message indices after it);
    None if these, and with them the order within the chunk, were cut off."""
    first, last, uncompressed, _, letters = struct.unpack("<QQQII", stream.read(32))
    compression = stream.read(letters)
    compressed, = struct.unpack("<Q", stream.read(8))
    behind = begin = at + 9 + length
    offsets = b""
    while behind + 11 <= size:
        stream.seek(behind)
        kind, extent, channel = struct.unpack("<BQH", stream.read(11))
        if kind != MESSAGE_INDEX or behind + 9 + extent > size:
            break
        offsets += struct.pack("<HQ", channel, behind)
        behind += 9 + extent
    if not offsets:
        return None
    content = (struct.pack("<QQQQI", first, last, at, 9 + length, len(offsets)) + offsets
               + struct.pack("<QI", behind - begin, letters) + compression
               + struct.pack("<QQ", compressed, uncompressed))
    return content, behind


def _index(end: int, chunks: list[bytes]) -> bytes:
    """End of data, chunk index, empty statistics, footer."""
    data_end = _record(DATA_END, struct.pack("<I", 0))
    summary = b"".join(_record(CHUNK_INDEX, chunk) for chunk in chunks)
    # Without schemas in the summary, rosbags counts messages itself.
    summary += _record(STATISTICS, struct.pack("<QHIIIIQQI", *[0] * 9))
    footer = _record(FOOTER, struct.pack("<QQI", end + len(data_end), 0, 0))
    return data_end + summary + footer + MAGIC


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack("<BQ", kind, len(content)) + content
