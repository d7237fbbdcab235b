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

"""Readers of frequent sensor messages from their bytes.

rclpy imports five classes and builds nine objects for each Imu; with the cold caches of a process
that wakes up a hundred times a second, that takes three to four times as long as reading the same
fields from the bytes. Other types and encodings and damaged bytes are left to the middleware.
"""
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from types import SimpleNamespace
from typing import Any

from .prepared import LITTLE_ENDIAN

STAMP_FIELDS, LENGTH = Struct("<iI"), Struct("<I")
IMU_NUMBERS = Struct("<37d")


class _NotRead(Exception):
    """Bytes to be left to the middleware."""


def reader(kind: str, decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """A function from bytes to a message of type `kind`: the fast one if there is one, with
    `decode` for what it does not read."""
    fast: Callable[[bytes], Any]
    if kind == "sensor_msgs/msg/Imu":
        fast = _imu
    elif kind == "sensor_msgs/msg/JointState":
        fast = _JointStates()
    else:
        return decode

    def read(data: bytes) -> Any:
        try:
            return fast(data)
        except Exception:       # whatever it is, the middleware's error is the one to report
            return decode(data)
    return read


def _imu(data: bytes) -> Any:
    header, at = _header(data)
    values = IMU_NUMBERS.unpack_from(data, _aligned(at, 8))
    x, y, z, w = values[:4]
    return SimpleNamespace(
        header=header, orientation=SimpleNamespace(x=x, y=y, z=z, w=w),
        orientation_covariance=values[4:13], angular_velocity=_vector(*values[13:16]),
        angular_velocity_covariance=values[16:25], linear_acceleration=_vector(*values[25:28]),
        linear_acceleration_covariance=values[28:])


def _vector(x: float, y: float, z: float) -> Any:
    return SimpleNamespace(x=x, y=y, z=z)


class _JointStates:
    """Reads JointState; the names are compared as bytes, since they hardly ever change."""

    def __init__(self) -> None:
        self._bytes, self._names, self._begin = b"", [""], -1

    def __call__(self, data: bytes) -> Any:
        header, at = _header(data)
        names, at = self._read_names(data, _aligned(at, 4))
        position, at = _doubles(data, at)
        velocity, at = _doubles(data, at)
        effort, _ = _doubles(data, at)
        return SimpleNamespace(header=header, name=names, position=position, velocity=velocity,
                               effort=effort)

    def _read_names(self, data: bytes, begin: int) -> tuple[list[str], int]:
        end = begin + len(self._bytes)
        if begin != self._begin or data[begin:end] != self._bytes:
            names, (count,), end = [], LENGTH.unpack_from(data, begin), begin + LENGTH.size
            for _ in range(count):
                name, end = _string(data, _aligned(end, 4))
                names.append(name)
            self._bytes, self._names, self._begin = data[begin:end], names, begin
        return self._names, end


def _header(data: bytes) -> tuple[Any, int]:
    """(header, where it ends)."""
    if not data.startswith(LITTLE_ENDIAN):
        raise _NotRead
    begin = len(LITTLE_ENDIAN)
    sec, nanosec = STAMP_FIELDS.unpack_from(data, begin)
    frame_id, at = _string(data, begin + STAMP_FIELDS.size)
    return SimpleNamespace(stamp=SimpleNamespace(sec=sec, nanosec=nanosec), frame_id=frame_id), at


def _string(data: bytes, at: int) -> tuple[str, int]:
    """(string with its closing zero, where it ends)."""
    size, = LENGTH.unpack_from(data, at)
    end = at + LENGTH.size + size
    if size == 0 or end > len(data) or data[end - 1] != 0:
        raise _NotRead
    return data[at + LENGTH.size:end - 1].decode(), end


def _doubles(data: bytes, at: int) -> tuple[list[float], int]:
    """(numbers, where they end)."""
    at = _aligned(at, 4)
    count, = LENGTH.unpack_from(data, at)
    at += LENGTH.size
    if count == 0:
        return [], at
    at = _aligned(at, 8)
    values = Struct(f"<{count}d")
    return list(values.unpack_from(data, at)), at + values.size


def _aligned(at: int, size: int) -> int:
    """The next multiple of `size`, counted from the message's body."""
    return at + (len(LITTLE_ENDIAN) - at) % size
