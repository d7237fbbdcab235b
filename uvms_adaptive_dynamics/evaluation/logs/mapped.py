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

"""Read CSV files through a mapping of their columns, alone or joined with other logs
(docs/recordings.md).

    file: dive.csv
    time: {column: t, unit: s}
    topics:
      joint_states:
        type: sensor_msgs/msg/JointState
        name: [axis_e, axis_d, axis_c, axis_b]
        position: [q1, q2, q3, q4]

or `files:` with a list of such entries, or names, and of other logs, each with an `offset` of its
clock.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...disk.reading import read_text
from ...disk.yaml_text import parse_yaml
from ...errors import BagError, brief
from .csv_columns import read_columns
from .fields import maker
from .tracks import Track, TrackLog

LARGEST_MAPPING_FILE = 1_000_000  # [bytes] 100 times a mapping for all inputs
MAPPING_FORM = "a mapping of columns to topics as docs/recordings.md describes"
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
MOST_FILES = 100
LATEST_TIME = 2.0 ** 31             # [s] of a ROS stamp, an int32
EARLIEST_STAMP = 1e-9               # [s] since a stamp of zero means that there is none
ENTRY = ("file", "offset", "time", "topics", "scale")


def read_mapped(path: Path, read_other: Callable[[Path], TrackLog]) -> TrackLog:
    """The log of a mapping, or of a CSV file with its mapping next to it (same name, .yaml);
    `read_other` reads files other than CSV. Raises BagError."""
    mapping = path if path.suffix.lower() != ".csv" else path.with_suffix(".yaml")
    if not mapping.exists():
        raise BagError(f"'{path}' needs a mapping of its columns in a file "
                       f"'{mapping.name}' beside it; docs/recordings.md has one to copy.")
    what = f"mapping '{mapping}'"
    tree = parse_yaml(read_text(mapping, what, LARGEST_MAPPING_FILE, BagError, MAPPING_FORM), what,
                      BagError)
    if not isinstance(tree, Mapping):
        raise BagError(f"{what} is {brief(tree)}; expected {MAPPING_FORM}.")
    entries = tree.get("files", [tree])
    if not isinstance(entries, list) or not 0 < len(entries) <= MOST_FILES:
        raise BagError(f"{what}: files is {brief(entries)}; expected a list of 1 to {MOST_FILES} "
                       "entries, each with 'file'.")
    tracks: list[Track] = []
    warnings: list[str] = []
    common = {key: value for key, value in tree.items() if "files" in tree and key != "files"}
    for entry in entries:
        if isinstance(entry, str):
            entry = {"file": entry}
        if not isinstance(entry, Mapping):
            raise BagError(f"{what}: files has {brief(entry)}; expected a file's name, or an entry "
                           "with 'file' and its own 'time', 'topics', 'scale' or 'offset'.")
        found, said = _entry({**common, **entry}, mapping, what, read_other)
        tracks += found
        warnings += said
    return TrackLog(mapping, tracks, warnings)


def _entry(entry: Mapping[str, Any], mapping: Path, what: str,
           read_other: Callable[[Path], TrackLog]) -> tuple[list[Track], list[str]]:
    """(tracks, warnings) of one file."""
    unknown = [key for key in entry if key not in ENTRY]
    if unknown:
        raise BagError(f"{what}: got {brief(unknown[0])}, expected one of {', '.join(ENTRY)}.")
    name = entry.get("file", mapping.with_suffix(".csv").name)
    if not isinstance(name, str) or not name or "\0" in name:
        raise BagError(f"{what}: file is {brief(name)}; expected a path relative to the mapping's "
                       "folder.")
    path = mapping.parent / name
    offset = _number(entry.get("offset", 0.0), f"{what}: offset", "seconds to add to the times")
    try:
        there = path.is_file()
    except OSError:      # not a valid file name
        there = False
    if not there:
        raise BagError(f"{what}: there is no file {brief(str(path))}.")
    if path.suffix.lower() == ".csv":
        return _csv(path, entry, offset, what)
    if path.suffix.lower() in (".yaml", ".yml"):
        raise BagError(f"{what}: {brief(name)} is another mapping; expected a log.")
    log = read_other(path)
    return [track.moved(offset) for track in log.tracks], log.warnings


def _csv(path: Path, entry: Mapping[str, Any], offset: float,
         what: str) -> tuple[list[Track], list[str]]:
    time = entry.get("time")
    if not isinstance(time, Mapping) or set(time) - {"column", "unit"} or "column" not in time:
        raise BagError(f"{what}: time is {brief(time)}; expected {{column: NAME, unit: s}}, the "
                       f"unit one of {', '.join(UNITS)}.")
    unit = time.get("unit", "s")
    if not isinstance(unit, str) or unit not in UNITS:
        raise BagError(f"{what}: the time's unit is {brief(unit)}; expected one of "
                       f"{', '.join(UNITS)}.")
    topics, scale = entry.get("topics"), entry.get("scale", {})
    if not isinstance(topics, Mapping) or not topics:
        raise BagError(f"{what}: topics is {brief(topics)}; expected at least one topic with its "
                       "type and fields.")
    if not isinstance(scale, Mapping):
        raise BagError(f"{what}: scale is {brief(scale)}; expected {{column: factor}}.")
    makers = {str(topic): maker(str(topic), fields, what) for topic, fields in topics.items()}
    clock = str(time["column"])
    wanted = {clock, *(column for made in makers.values() for column in made.columns)}
    columns, bad = read_columns(path, wanted)
    if unused := [column for column in scale if column not in wanted]:
        raise BagError(f"{what}: scale names {brief(unused[0])}, which no topic uses; expected "
                       f"columns that are used: {', '.join(sorted(wanted))}.")
    columns = {column: values * _number(scale.get(column, 1.0), f"{what}: scale of {brief(column)}",
                                        "a factor")
               for column, values in columns.items()}
    t = columns[clock] * UNITS[unit] + offset
    warnings = [f"'{path}': skipped {bad} cells that are not numbers."] if bad else []
    impossible = np.abs(t) > LATEST_TIME
    if impossible.any():
        warnings.append(f"'{path}': skipped {impossible.sum()} rows whose time, such as "
                        f"{t[impossible][0]:.3g} s, no clock can show.")
        t[impossible] = np.nan
    tracks = []
    for topic, made in makers.items():
        values = np.column_stack([columns[column] for column in made.columns])
        # Logs with several rates leave cells empty when a sensor has nothing new.
        rows = np.isfinite(t) & np.isfinite(values).any(axis=1)
        name = topic if topic.startswith("/") else f"/{topic}"
        stamps = np.where(np.abs(t) < EARLIEST_STAMP, EARLIEST_STAMP, t)
        tracks.append(Track(name, made.type, t[rows], stamps[rows], values[rows], made.make))
    return tracks, warnings


def _number(value: Any, what: str, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e12:
        raise BagError(f"{what} is {brief(value)}; expected {expected}, a number.")
    return float(value)
