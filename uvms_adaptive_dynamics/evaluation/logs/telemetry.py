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

"""Read a ground station's telemetry log (.tlog): MAVLink packets, each after its time of reception.

pymavlink decodes the packets; fields and units are those of mavlink.io/en/messages/ardupilotmega.
"""
from __future__ import annotations

import mmap
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...config.robot import STANDARD_GRAVITY
from ...errors import BagError
from ...signals.decode.sensor_clock import LONGEST_LATENCY, RIGHT_CLOCK
from ..recording import kept_while_unchanged, reason
from .autopilot import LoggedSeries, Quantities, tracks_of, warnings_of
from .dataflash import NEEDS_PYMAVLINK, of_displacements
from .tracks import TrackLog

MAGIC_1, MAGIC_2 = 0xFE, 0xFD        # of MAVLink 1 and 2
OVERHEAD_1, OVERHEAD_2, SIGNATURE = 8, 12, 13      # [bytes] of a packet besides its payload
MILLI_G = 1e-3 * STANDARD_GRAVITY     # [m/s^2]
AUTOPILOT = 1                        # MAV_COMP_ID_AUTOPILOT1
UNKNOWN_VOLTAGE = 65535
FAST_QUANTILE = 0.02                 # of reception minus stamp: the packets that travelled fast
WRAP_US = 2 ** 32                    # overflow of a time that is a uint32 [us]

# From a message to its stamp [s] (None without one) and its values.
_Take = Callable[[Any], "tuple[float | None, list[float]]"]


def _imu(m: Any) -> tuple[float | None, list[float]]:
    stamp = 1e-6 * m.time_usec if m.get_type() == "RAW_IMU" else 1e-3 * m.time_boot_ms
    return stamp, [1e-3 * m.xgyro, 1e-3 * m.ygyro, 1e-3 * m.zgyro,
                   MILLI_G * m.xacc, MILLI_G * m.yacc, MILLI_G * m.zacc]


def _fine_imu(m: Any) -> tuple[float | None, list[float]]:
    return 1e-6 * m.time_usec, [m.xgyro, m.ygyro, m.zgyro, m.xacc, m.yacc, m.zacc]


def _outputs(m: Any) -> tuple[float | None, list[float]]:
    # The second eight outputs are zero in MAVLink 1.
    return 1e-6 * m.time_usec, [getattr(m, f"servo{k}_raw", 0) for k in range(1, 17)]


def _pressure(m: Any) -> tuple[float | None, list[float]]:
    return 1e-3 * m.time_boot_ms, [100.0 * m.press_abs]


TAKEN: dict[str, _Take] = {
    "ATTITUDE": lambda m: (1e-3 * m.time_boot_ms, [m.roll, m.pitch, m.yaw]),
    "HIGHRES_IMU": _fine_imu, "RAW_IMU": _imu, "SCALED_IMU": _imu, "SCALED_IMU2": _imu,
    "SERVO_OUTPUT_RAW": _outputs,
    "SCALED_PRESSURE": _pressure, "SCALED_PRESSURE2": _pressure, "SCALED_PRESSURE3": _pressure,
    "SYS_STATUS": lambda m: (None, [1e-3 * m.voltage_battery
                                    if m.voltage_battery != UNKNOWN_VOLTAGE else np.nan]),
    "VISION_POSITION_DELTA": lambda m: (
        1e-6 * m.time_usec, [float(m.time_delta_usec), *m.position_delta]),
    "VISION_SPEED_ESTIMATE": lambda m: (1e-6 * m.usec, [m.x, m.y, m.z])}
# Messages from a companion computer, with its own clock; all others are the autopilot's.
COMPANION = ("VISION_POSITION_DELTA", "VISION_SPEED_ESTIMATE")
IMUS = ("HIGHRES_IMU", "RAW_IMU", "SCALED_IMU", "SCALED_IMU2")     # finest resolution first


@kept_while_unchanged(2)
def read_telemetry(path: Path) -> TrackLog:
    """The log's topics; raises BagError."""
    try:
        from pymavlink.dialects.v20 import ardupilotmega as mavlink
    except ImportError:
        raise BagError(NEEDS_PYMAVLINK.format(path)) from None
    if not path.stat().st_size:
        raise BagError(f"log '{path}' is empty; expected MAVLink packets with times of reception.")
    rows: dict[str, list[tuple[float, float | None, list[float]]]] = {name: [] for name in TAKEN}
    damaged = 0
    try:
        decoder = mavlink.MAVLink(None)
        numbers = {kind.id: kind.msgname for kind in mavlink.mavlink_map.values()
                   if kind.msgname in TAKEN}
        with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0,
                                                   access=mmap.ACCESS_READ) as data:
            vehicle = _vehicle(data, numbers)
            for received, number, sender, packet in _packets(data):
                name = numbers.get(number)
                if name is None or sender[0] != vehicle or (
                        name not in COMPANION and sender[1] != AUTOPILOT):
                    continue
                try:
                    message = decoder.decode(bytearray(packet))
                    rows[name].append((received, *TAKEN[name](message)))
                except (mavlink.MAVError, struct.error):     # a damaged packet
                    damaged += 1
    except (OSError, ValueError) as error:
        raise BagError(f"log '{path}' cannot be read as a telemetry log ({reason(error)}).") \
            from None
    found = _quantities(rows)
    warnings = warnings_of(found)
    if damaged:
        warnings.append(f"log '{path}': skipped {damaged} damaged packets.")
    return TrackLog(path, tracks_of(found), warnings)


def _vehicle(data: mmap.mmap, numbers: dict[int, str]) -> int:
    """The system that sends most of the messages read here; the log also has ground stations."""
    senders = Counter(sender[0] for _, number, sender, _ in _packets(data)
                      if number in numbers and sender[1] == AUTOPILOT)
    return senders.most_common(1)[0][0] if senders else 1


def _packets(data: mmap.mmap) -> Iterator[tuple[float, int, tuple[int, int], bytes]]:
    """Yield (time of reception [s since the epoch], message number, (system, component), packet),
    skipping bytes between packets."""
    at, size = 0, len(data)
    while at + 8 + OVERHEAD_1 <= size:
        begin = at + 8
        magic, length = data[begin], data[begin + 1]
        if magic == MAGIC_2 and begin + OVERHEAD_2 <= size:
            end = begin + OVERHEAD_2 + length + (SIGNATURE if data[begin + 2] & 1 else 0)
            number = int.from_bytes(data[begin + 7:begin + 10], "little")
            sender = data[begin + 5], data[begin + 6]
        elif magic == MAGIC_1:
            end = begin + OVERHEAD_1 + length
            number, sender = data[begin + 5], (data[begin + 3], data[begin + 4])
        else:
            end = size + 1
        # A valid packet is followed by another one, or by the end of the file.
        if end > size or (end + 8 < size and data[end + 8] not in (MAGIC_1, MAGIC_2)):
            following = [found for magic in (MAGIC_1, MAGIC_2)
                         if (found := data.find(bytes([magic]), begin + 1)) >= 0]
            if not following:
                return
            at = min(following) - 8
            continue
        micros, = struct.unpack(">Q", data[at:begin])
        yield 1e-6 * micros, number, sender, data[begin:end]
        at = end


def _quantities(rows: dict[str, list[tuple[float, float | None, list[float]]]]) -> Quantities:
    autopilot = _offset([row for name in TAKEN if name not in COMPANION for row in rows[name]])
    series = {name: _series(found, _shared(_offset(found), autopilot) if name in COMPANION
                            else autopilot)
              for name, found in rows.items() if found}
    pressures = ("SCALED_PRESSURE", "SCALED_PRESSURE2", "SCALED_PRESSURE3")
    displacements = series.get("VISION_POSITION_DELTA")
    return Quantities(
        series.get("ATTITUDE"),
        next((series[name] for name in IMUS if name in series), None),
        series.get("SERVO_OUTPUT_RAW"),
        {number: series[name] for number, name in enumerate(pressures) if name in series},
        series.get("SYS_STATUS"),
        None if displacements is None else of_displacements(displacements),
        series.get("VISION_SPEED_ESTIMATE"))


def _offset(rows: list[tuple[float, float | None, list[float]]]) -> float | None:
    """Offset [s] from the sender's clock to that of reception, from the packets that travelled
    fast; None if stamps never change, as with a driver that sets none."""
    stamped = [(received, stamp) for received, stamp, _ in rows if stamp is not None]
    if len(stamped) < 2 or max(s for _, s in stamped) - min(s for _, s in stamped) <= 0.0:
        return None
    difference = np.array([received - stamp for received, stamp in stamped])
    return float(np.quantile(difference, FAST_QUANTILE))


def _shared(offset: float | None, autopilot: float | None) -> float | None:
    """The offset of a companion's clock: that of the autopilot's clock, or zero (the ground
    station's clock), if it may share one of these, which preserves its transport delay; else its
    own."""
    for other in (autopilot, 0.0):
        if (offset is not None and other is not None
                and -RIGHT_CLOCK < offset - other < LONGEST_LATENCY):
            return other
    return offset


def _series(rows: list[tuple[float, float | None, list[float]]],
            offset: float | None) -> LoggedSeries:
    received = np.array([row[0] for row in rows])
    values = np.array([row[2] for row in rows], float)
    if offset is None or rows[0][1] is None:
        return LoggedSeries(received, received, values)
    stamps = np.array([row[1] for row in rows], float) + offset
    # A uint32 [us] wraps after 71.6 minutes.
    stamps += 1e-6 * WRAP_US * np.round((received - stamps) / (1e-6 * WRAP_US))
    return LoggedSeries(received, stamps, values)
