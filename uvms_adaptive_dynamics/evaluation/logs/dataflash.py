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

"""Read ArduPilot's own log (.BIN, "DataFlash") with pymavlink.

pymavlink locates the messages; their numbers are then read all at once. Fields and units are those
of ArduPilot's libraries/AP_Logger/LogStructure.h and ardupilot.org/sub/docs/logmessages.html.
"""
from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BagError
from ..recording import kept_while_unchanged, reason
from .autopilot import LoggedSeries, Quantities, tracks_of, warnings_of
from .tracks import TrackLog

# numpy types of pymavlink's struct codes; texts keep their length.
DTYPES = {"b": "i1", "B": "u1", "e": "<f2", "h": "<i2", "H": "<u2", "i": "<i4", "I": "<u4",
          "f": "<f4", "d": "<f8", "q": "<i8", "Q": "<u8"}
# [s] Unix time at GPS week zero, leap seconds that GPS time is ahead by since 2017, and a week.
GPS_EPOCH, LEAP_SECONDS, WEEK = 315_964_800, 18, 604_800
NEEDS_PYMAVLINK = ("'{}' needs the package pymavlink, which is not installed; run: pip install "
                   "pymavlink (or install this package with the extra [logs]).")


@kept_while_unchanged(2)
def read_dataflash(path: Path) -> TrackLog:
    """The log's topics; raises BagError."""
    try:
        from pymavlink.DFReader import DFReader_binary
    except ImportError:
        raise BagError(NEEDS_PYMAVLINK.format(path)) from None

    class Index(DFReader_binary):
        """Index of the messages. Skips pymavlink's clock, which would read the whole log."""

        def init_clock(self) -> None:
            self.clock = None

    try:
        with _silence():
            log = _Columns(Index(str(path)))
        found = _quantities(log)
    except Exception as error:   # a damaged file raises anything from struct.error to KeyError
        raise BagError(f"log '{path}' cannot be read as an ArduPilot log ({reason(error)}); "
                       "expected a .BIN file as written by the autopilot.") from None
    return TrackLog(path, tracks_of(found), warnings_of(found))


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Keep the terminal silent: pymavlink prints what it skips, in Python and in C."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), \
            open(os.devnull, "wb") as nowhere:
        kept = {stream: os.dup(stream) for stream in (1, 2)}
        try:
            for stream in kept:
                os.dup2(nowhere.fileno(), stream)
            yield
        finally:
            for stream, copy in kept.items():
                os.dup2(copy, stream)
                os.close(copy)


class _Columns:
    """Numbers of a log by message and field, in SI where the log gives a multiplier."""

    def __init__(self, index: Any):
        self._index = index
        self._bytes = np.frombuffer(index.data_map, np.uint8)
        self.base = self._time_base()

    def table(self, name: str) -> dict[str, np.ndarray]:
        """Columns (k,) of all messages of that name; {} without messages."""
        kind = self._index.name_to_id.get(name)
        offsets = np.array(self._index.offsets[kind] if kind is not None else [], np.int64)
        if not len(offsets):
            return {}
        form = self._index.formats[kind]
        codes = re.findall(r"\d*[a-zA-Z]", form.msg_struct)
        dtype = np.dtype([(column, DTYPES.get(code, f"S{code[:-1] or 1}"))
                          for column, code in zip(form.columns, codes)])
        offsets = offsets[offsets + 3 + dtype.itemsize <= len(self._bytes)]
        rows = self._bytes[offsets[:, None] + 3 + np.arange(dtype.itemsize)]
        records = np.ascontiguousarray(rows).view(dtype)[:, 0]
        return {column: _scaled(records[column], factor)
                for column, factor in zip(form.columns, form.msg_mults)}

    def series(self, table: dict[str, np.ndarray], fields: list[str]) -> LoggedSeries | None:
        """These fields of a table over its TimeUS; None if a field is missing."""
        if any(field not in table for field in ("TimeUS", *fields)):
            return None
        t = self.base + 1e-6 * table["TimeUS"].astype(float)
        values = np.column_stack([table[field].astype(float) for field in fields])
        return LoggedSeries(t, t, values) if len(t) else None

    def _time_base(self) -> float:
        """Time [s since the epoch] of TimeUS zero, from the first GPS fix; 0 without one."""
        gps = self.table("GPS")
        if not {"TimeUS", "GWk", "GMS"} <= set(gps) or not (gps["GWk"] > 0).any():
            return 0.0
        k = int(np.argmax(gps["GWk"] > 0))
        since_week = 1e-3 * float(gps["GMS"][k]) - 1e-6 * float(gps["TimeUS"][k])
        return GPS_EPOCH - LEAP_SECONDS + WEEK * int(gps["GWk"][k]) + since_week


def _scaled(values: np.ndarray, factor: float | None) -> np.ndarray:
    return values if factor in (None, 0) else values.astype(float) * factor


def _quantities(log: _Columns) -> Quantities:
    found = Quantities()
    attitude = log.series(log.table("ATT"), ["Roll", "Pitch", "Yaw"])
    if attitude is not None:
        found.attitude = attitude._replace(values=np.radians(attitude.values))
    found.imu = log.series(_of_instance(log.table("IMU"), "I", 0),
                           ["GyrX", "GyrY", "GyrZ", "AccX", "AccY", "AccZ"])
    found.outputs = log.series(outputs := log.table("RCOU"),
                               [name for name in outputs if re.fullmatch(r"C\d+", name)] or ["C1"])
    barometers = log.table("BARO")
    found.pressure = {
        number: series for number in range(3)
        if (series := log.series(_of_instance(barometers, "I", number), ["Press"])) is not None}
    batteries = log.table("BAT")
    found.voltage = log.series(
        _of_instance(batteries, "Inst" if "Inst" in batteries else "I", 0), ["Volt"])
    found.body_velocity = _of_displacements(log)
    found.ned_velocity = log.series(log.table("VISV"), ["VX", "VY", "VZ"])
    return found


def _of_instance(table: dict[str, np.ndarray], column: str, number: int) -> dict[str, np.ndarray]:
    """The rows of one of several equal sensors. Without numbered sensors all rows are of number 0.
    """
    if column not in table:
        return table if number == 0 else {}
    mine = table[column] == number
    return {name: values[mine] for name, values in table.items()}


def _of_displacements(log: _Columns) -> LoggedSeries | None:
    """Velocities in FRD from VISO: displacement in body axes [m] during `dt` [us]."""
    series = log.series(log.table("VISO"), ["dt", "PosDX", "PosDY", "PosDZ"])
    return None if series is None else of_displacements(series)


def of_displacements(series: LoggedSeries) -> LoggedSeries:
    """Mean velocities from (duration [us], displacement (3,) [m]), stamped at mid-interval."""
    seconds = 1e-6 * series.values[:, 0]
    used = seconds > 0.0
    return LoggedSeries(series.received[used], series.stamps[used] - 0.5 * seconds[used],
                        series.values[used, 1:] / seconds[used, None])
