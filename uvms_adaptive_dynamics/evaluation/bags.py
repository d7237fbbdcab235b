"""Messages of a rosbag2 recording (mcap or sqlite3) in the order of their reception.

The only place that knows `rosbags`. Definitions that the bag carries decode its messages, those of
ROS 2 Jazzy stand in for missing ones. Whatever is wrong with a recording becomes one BagError that
names the thing and says what to do.
"""
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection, MessageDefinitionFormat
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from ..config import Config
from ..disk.kinds import special_kind
from ..errors import BagError
from ..signals.topics import Input, topic_setting
from .unfinished import is_cut_off, readable, storage_file

# Inputs that the run can do without: what is lost then.
OPTIONAL = {"battery": "the constant thrusters.voltage is used",
            "depth": "rows at the surface and on the floor cannot be told apart and masked"}

# Characters of what a library says of a damaged file; some repeat a whole message definition.
MOST_REASON = 200


@dataclass(frozen=True)
class BagContents:
    """What a checked recording holds: the bag's topic of each role, times of reception [s since the
    epoch], warnings."""

    path: Path
    topics: dict[str, str]
    start: float
    end: float
    warnings: tuple[str, ...]


def check_bag(path: str | Path, inputs: Sequence[Input]) -> BagContents:
    """Open the recording and match its topics to `inputs`; raises BagError where a needed one is
    missing or another type."""
    with _opened(path) as reader:
        chosen, warnings = _match(path, reader, inputs)
        if is_cut_off(Path(path).expanduser()):
            warnings.insert(0, f"bag '{path}' was cut off while recording; read up to there, "
                               f"{reader.message_count} messages over "
                               f"{reader.duration * 1e-9:.1f} s.")
        return BagContents(Path(path), {role: found[0].topic for role, found in chosen.items()},
                           reader.start_time * 1e-9, reader.end_time * 1e-9, tuple(warnings))


def read_messages(path: str | Path, inputs: Sequence[Input],
                  refused: Counter | None = None) -> Iterator[tuple[str, Any, float]]:
    """Yield `(role, message, receive_time)` [s since the epoch] in order of reception.

    Single messages that cannot be decoded are left out and counted in `refused` under `"<role>: not
    decodable"`. Raises BagError as `check_bag` does, and where the file turns out to be damaged on
    the way.
    """
    with _opened(path) as reader:
        chosen, _ = _match(path, reader, inputs)
        roles: dict[int, list[str]] = {}      # a topic may serve several
        for role, found in chosen.items():
            for connection in found:
                roles.setdefault(connection.id, []).append(role)
        connections = [c for c in reader.connections if c.id in roles]
        store = _type_store(path, connections)
        for connection, stamp, raw in reader.messages(connections=connections):
            try:
                message = store.deserialize_cdr(raw, connection.msgtype)
            # a payload of garbage raises anything from struct.error to UnicodeDecodeError
            except Exception:
                if refused is not None:
                    refused.update(f"{role}: not decodable" for role in roles[connection.id])
                continue
            for role in roles[connection.id]:
                yield role, message, stamp * 1e-9


@contextmanager
def _opened(path: str | Path) -> Iterator[Reader]:
    """An open reader; every failure of opening or reading inside the block leaves as a BagError."""
    path = Path(path).expanduser()
    _refuse_foreign(path)
    try:
        with readable(path) as source, Reader(source) as reader:
            if reader.message_count == 0:
                raise BagError(f"bag '{path}' holds no messages.")
            yield reader
    except BagError:
        raise
    # rosbags, sqlite and the decompressors raise many kinds on damaged files
    except Exception as error:
        raise BagError(
            f"bag '{path}' cannot be read, it is damaged or was cut off while recording "
            f"({_reason(error)}); try 'ros2 bag reindex' (sqlite3) or 'mcap recover' "
            "(mcap).") from None


def _refuse_foreign(path: Path) -> None:
    if not os.path.exists(path):     # false, too, for a name that no file can have
        raise BagError(f"bag '{path}' does not exist.")
    for file in path.iterdir() if path.is_dir() else (path,):
        kind = special_kind(file)
        if kind not in ("", "a folder"):     # reading it would wait for ever
            raise BagError(f"'{file}' is {kind}; expected a rosbag2 recording of regular files.")
    if path.is_dir() and storage_file(path) == path and not (path / "metadata.yaml").is_file():
        files = sorted(file.name for file in path.iterdir() if file.suffix in (".mcap", ".db3"))
        hint = f"; give one of its files instead: {', '.join(files)}" if files else ""
        raise BagError(
            f"'{path}' is not a rosbag2 recording: the folder holds no metadata.yaml{hint}.")
    if path.is_file() and path.suffix not in (".mcap", ".db3"):
        ros1 = " It looks like a ROS 1 bag; convert it with 'rosbags-convert'."
        hint = ros1 if path.suffix == ".bag" else ""
        raise BagError(
            f"'{path}' is not a rosbag2 recording; expected a folder with metadata.yaml, or a "
            f".mcap or .db3 file.{hint}"
        )


def _match(path: str | Path, reader: Reader,
           inputs: Sequence[Input]) -> tuple[dict[str, list[Connection]], list[str]]:
    """The connections of each role, and warnings; raises BagError where a needed topic cannot be
    used."""
    chosen: dict[str, list[Connection]] = {}
    warnings = []
    there: dict[str, list[Connection]] = {}
    for connection in sorted(reader.connections, key=lambda c: c.topic):
        there.setdefault(connection.topic, []).append(connection)
    for needed in inputs:
        topic = _find(path, there, needed)
        if topic is None or not any(c.msgcount for c in there[topic]):
            lack = (f"has no topic '{needed.topic}'" if topic is None
                    else f"has no messages on '{topic}'")
            sentence = (f"bag '{path}' {lack} ({needed.type}), "
                        f"which {_setting(needed.role, 'topic')} asks for")
            if needed.role not in OPTIONAL:
                raise BagError(f"{sentence}; it has {_listing(there)}.")
            warnings.append(f"{sentence}: {OPTIONAL[needed.role]}.")
            continue
        types = {c.msgtype for c in there[topic]}
        if types != {needed.type}:
            raise BagError(_other_type(path, topic, sorted(types), needed))
        chosen[needed.role] = there[topic]
    return chosen, warnings


def _find(path: str | Path, there: dict[str, list[Connection]], needed: Input) -> str | None:
    """The bag's topic of an input: its own name, else (relative names) the only one that ends in
    it."""
    exact = needed.topic if needed.topic.startswith("/") else f"/{needed.topic}"
    if exact in there or needed.topic.startswith("/"):
        return exact if exact in there else None
    matching = [topic for topic in there if topic.endswith(exact)]
    if len(matching) > 1:
        raise BagError(
            f"bag '{path}' has several topics for '{needed.topic}': {', '.join(matching)}; "
            f"set {_setting(needed.role, 'topic')} to the whole name of the one to use.")
    return matching[0] if matching else None


def _other_type(path: str | Path, topic: str, types: list[str], needed: Input) -> str:
    sentence = f"topic '{topic}' in bag '{path}' is {' and '.join(types)}, expected {needed.type}"
    section = getattr(Config(), needed.role, None)
    allowed = {f.name: f.metadata["choices"]
               for f in fields(section)}.get("type", ()) if section else ()
    if len(types) == 1 and types[0] in allowed:
        return f"{sentence}; set {_setting(needed.role, 'type')} to '{types[0]}'."
    return f"{sentence}; set {_setting(needed.role, 'topic')} to a topic of that type" + (
        f", or {_setting(needed.role, 'type')} to one of {', '.join(allowed)}."
        if len(allowed) > 1 else ".")


def _setting(role: str, what: str) -> str:
    return f"setting {topic_setting(role, what)}"


def _listing(there: dict[str, list[Connection]]) -> str:
    return ", ".join(f"'{topic}' ({found[0].msgtype}, {sum(c.msgcount for c in found)} messages)"
                     for topic, found in there.items())


def _type_store(path: str | Path, connections: list[Connection]) -> Typestore:
    """Jazzy's definitions, overridden by those that the bag carries for the topics that are read.
    """
    types = dict(get_typestore(Stores.ROS2_JAZZY).fielddefs)
    for connection in connections:
        definition = connection.msgdef
        if definition.format == MessageDefinitionFormat.MSG:
            types.update(get_types_from_msg(definition.data, connection.msgtype))
        elif definition.format == MessageDefinitionFormat.IDL:
            for part in definition.data.split("=" * 80 + "\n"):
                # Several definitions in one text, each under a line 'IDL: <type>'.
                text = part.split("\n", 1)[1] if part.startswith("IDL: ") else part
                types.update(get_types_from_idl(text))
    unknown = sorted({c.msgtype for c in connections} - set(types))
    if unknown:
        raise BagError(
            f"bag '{path}' does not carry the definition of {', '.join(unknown)}, and ROS 2 Jazzy "
            "has none; record it again as mcap, or with the message's package installed.")
    store = get_typestore(Stores.EMPTY)
    store.register(types)
    return store


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= MOST_REASON else f"{text[:MOST_REASON]}..."
