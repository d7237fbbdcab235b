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

"""Choose the reader for a log by its file name."""
from __future__ import annotations

from pathlib import Path

from ...disk.kinds import special_kind
from ...errors import BagError
from .tracks import TrackLog

# [bytes] A day of a fast .BIN log; the numbers are held in memory.
LARGEST_LOG_FILE = 4_000_000_000
EXPECTED_LOG = ("a rosbag2 folder, a .mcap or .db3 file, an ArduPilot log (.BIN), a telemetry log "
                "(.tlog), a .csv with its mapping next to it, or a mapping (.yaml)")


def read_log(path: Path) -> TrackLog:
    """Read the log; raises BagError if it is not one, is damaged, or needs a missing package."""
    kind = special_kind(path)
    if kind:
        raise BagError(f"'{path}' is {kind}; expected {EXPECTED_LOG}.")
    suffix = path.suffix.lower()
    if suffix not in (".bin", ".tlog", ".csv", ".yaml", ".yml"):
        ros1 = " It looks like a ROS 1 bag; convert it with 'rosbags-convert'."
        raise BagError(f"'{path}' is not a rosbag2 recording or another known log; expected "
                       f"{EXPECTED_LOG}.{ros1 if suffix == '.bag' else ''}")
    if path.stat().st_size > LARGEST_LOG_FILE:
        raise BagError(f"log '{path}' is larger than {LARGEST_LOG_FILE / 1e9:g} GB; split it into "
                       "pieces.")
    if suffix == ".bin":
        from .dataflash import read_dataflash
        return read_dataflash(path)
    if suffix == ".tlog":
        from .telemetry import read_telemetry
        return read_telemetry(path)
    from .mapped import read_mapped
    return read_mapped(path, read_log)
