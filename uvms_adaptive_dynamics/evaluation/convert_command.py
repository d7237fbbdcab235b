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

"""`convert`: write another kind of log as a rosbag2 recording, for every ROS 2 tool."""
from __future__ import annotations

import argparse
import math
import sqlite3
from pathlib import Path

from .. import options
from ..disk.kinds import reason_of
from ..disk.writing import output_folder
from ..errors import BagError
from ..terminal import progress_on_terminal
from .logs.tracks import TrackLog

# [bytes] Size of a message without its numbers, and of a number.
MESSAGE_BYTES, NUMBER_BYTES = 500, 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.description = ("Write an ArduPilot log (.BIN), a telemetry log (.tlog) or a CSV with "
                          "its mapping as a rosbag2 recording (docs/recordings.md). evaluate and "
                          "inspect also read these logs directly.")
    parser.add_argument("log", metavar="LOG", type=options.bag,
                        help="a .BIN, a .tlog, a .csv with its mapping next to it, or a mapping "
                             "(.yaml) that joins several")
    parser.add_argument("--output", type=options.new_path, required=True, metavar="BAG",
                        help="directory of the new recording")
    parser.add_argument("--storage", choices=("mcap", "sqlite3"), default="mcap",
                        help="default mcap")


def run(args: argparse.Namespace) -> int:
    """Write the bag and return 0; raises UvmsError if something cannot be used."""
    from .logs.kinds import read_log
    if args.log.is_dir() or args.log.suffix in options.BAG_SUFFIXES:
        raise BagError(f"'{args.log}' is already a rosbag2 recording; expected another log.")
    log = read_log(args.log)
    count = _write(log, args.log, args.output, args.storage)
    for warning in log.warnings:
        print(f"convert: {warning}")
    for name, topic in log.topics.items():
        print(f"{name:<36} {topic.types[0]:<50} {topic.messages:>8} messages")
    print(f"{args.output}: {count} messages over {log.end - log.start:.1f} s")
    return 0


def _write(log: TrackLog, source: Path, path: Path, storage: str) -> int:
    """Write the messages; returns their number."""
    from rosbags.rosbag2 import StoragePlugin, Writer

    from .logs.ros_messages import type_store
    output_folder(path.parent, sum(len(track.received) * (
        MESSAGE_BYTES + NUMBER_BYTES * track.values.shape[1]) for track in log.tracks))
    show, store, written, span = progress_on_terminal(), type_store(), 0, log.end - log.start
    plugin = StoragePlugin.MCAP if storage == "mcap" else StoragePlugin.SQLITE3
    try:
        with Writer(path, version=9, storage_plugin=plugin) as bag:
            connections = {
                name: bag.add_connection(name, topic.types[0], typestore=store)
                for name, topic in log.topics.items()}
            for name, message, t in log.messages(log.topics, -math.inf, math.inf):
                if message is None:
                    continue
                kind = log.topics[name].types[0]
                bag.write(connections[name], max(round(t * 1e9), 0),
                          store.serialize_cdr(message, kind))
                written += 1
                if written % 1000 == 0:
                    show(source.name, min(0.999, (t - log.start) / max(span, 1e-9)))
    except (OSError, sqlite3.Error) as error:
        raise BagError(f"bag '{path}' could not be completed: {reason_of(error)}. Remove the "
                       "incomplete bag, free some space, and run again.") from None
    show(source.name, 1.0)
    return written
