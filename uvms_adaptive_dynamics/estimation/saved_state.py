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

"""The saved state of an estimate: one file that is replaced at each save, and backups of earlier
states (docs/memory.md).

A folder holds one robot's `state.yaml` and some `state.<time>.yaml`, all of them parameter files.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ..disk.writing import write_file
from ..errors import ParameterError, UvmsError
from ..model.parameter_file import load_parameters, save_parameters
from ..model.parameter_set import ParameterSet
from ..model.parameters import ParameterTable
from .learned import known_rows, saved_count, wrong_channels

STATE = "state.yaml"
BACKUPS = "state.*.yaml"
DAMAGED = "state.damaged"
# Backups kept: the one with the most knowledge, and the last four others; 220 kB each.
BACKUPS_KEPT = 5

# UTC, since the station computer on a boat changes its time zone.
TIME_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


def dated(parameters: ParameterSet) -> ParameterSet:
    """The parameters with the present time as their time of saving."""
    return replace(parameters, learned={**parameters.learned, "saved": _now()})


class Worth(NamedTuple):
    """Value of a state, compared in this order: a state contradicted by its data is worth less than
    any other, and directions count more than rows, since an hour at rest has many rows."""

    right: bool
    directions: int
    rows: int


UNREADABLE = Worth(False, -1, -1)     # or missing


class Start(NamedTuple):
    """Start of an estimate: a saved state, or None; the reason, in a sentence; refused: whether
    there was a file that could not be used."""

    parameters: ParameterSet | None
    sentence: str
    refused: bool = False


class SavedState:
    """The state of one robot in a folder, and its backups.

    The file is backed up before it is replaced by a state that does not continue it, that has fewer
    rows or directions, or that its own data contradict while the file was not contradicted.
    """

    def __init__(self, folder: Path, table: ParameterTable, settings: Mapping[str, Any]):
        """settings: the present `measuring_settings`."""
        self.folder, self._table, self._settings = folder, table, dict(settings)
        self.path = folder / STATE
        self._there: Worth | None = None      # worth of the file, None if unknown
        self._continued = False
        self._spared = -1     # most directions in a backup of this run
        self._worths: dict[str, Worth] = {}   # of backups, by name

    def start(self) -> Start:
        """The newest usable state, which `save` then continues; a state contradicted by its data is
        used only if there is no other."""
        candidates = [path for path in (self.path, *reversed(self.backups())) if path.is_file()]
        if not candidates:
            return Start(None, f"no saved state in '{self.folder}'{self._others()}; starting from "
                               "the built-in prior")
        refusals: dict[Path, str] = {}
        doubted: dict[Path, ParameterSet] = {}
        for path in candidates:
            try:
                found = self._fitting(path)
            except UvmsError as error:
                refusals[path] = str(error).rstrip(".")
                continue
            if not (wrong := wrong_channels(found)):
                return self._started(path, found, refusals)
            doubted[path] = found
            refusals[path] = (f"'{path}' of {_date(found)} was contradicted by its data on "
                              f"{', '.join(wrong)}; to use it, call ~/load_from with "
                              f"'{path.stem}'")
        if doubted:
            path, found = next(iter(doubted.items()))
            del refusals[path]
            return self._started(path, found, refusals, wrong_channels(found))
        return Start(None, "starting from the built-in prior, since "
                           f"{'; '.join(refusals.values())}", True)

    def _started(self, path: Path, found: ParameterSet, refusals: Mapping[Path, str],
                 wrong: Sequence[str] = ()) -> Start:
        """The start from a file after those refused; wrong: channels on which it was contradicted.
        """
        if path == self.path:
            self.continue_from(found)
        others = "; ".join(refusals.values())
        if wrong:
            why = (f", although its data contradicted it on {', '.join(wrong)}: there is no other"
                   + (f" ({others})" if others else ""))
        else:
            why = f" instead, since {others}" if others else ""
        return Start(found, f"started from '{path}' of {_date(found)} with {known_rows(found)} "
                            f"rows{why}", bool(refusals or wrong))

    def load(self, name: str) -> ParameterSet:
        """The checked parameters of a whole state in the folder; raises ParameterError."""
        path = self.folder / name
        found = load_parameters(path).for_table(self._table, f"parameter file '{path}'")
        if found.covariance is None:     # cut off between two entries, which is still valid YAML
            raise ParameterError(f"'{path}' has lost its end, with the covariance.")
        return found

    def continue_from(self, parameters: ParameterSet) -> None:
        """Later saves continue these parameters, which are those in the file."""
        self._there, self._continued = _measure(parameters), True

    def begin_again(self) -> None:
        """Later saves do not continue the file, after a reset or a load."""
        self._continued, self._spared = False, -1

    def save(self, parameters: ParameterSet) -> Path:
        """Replace the file, with a backup first if one is due; raises UvmsError."""
        new = _measure(parameters)
        if self.path.is_file() and self._backup_is_due(new):
            self._back_up()
        save_parameters(self.path, dated(parameters), keep=False)
        self._there, self._continued = new, True
        return self.path

    def backups(self) -> list[Path]:
        """Backups, oldest first."""
        return sorted(self.folder.glob(BACKUPS))

    def _backup_is_due(self, new: Worth) -> bool:
        there = self._there
        if not self._continued or there is None:
            return True
        # The count of directions fluctuates: keep one backup of the most that this run has known.
        return (new.right < there.right or new.rows < there.rows
                or new.directions < there.directions > self._spared)

    def _back_up(self) -> None:
        """Copy the file to a backup, and delete surplus ones."""
        content = self.path.read_bytes()
        try:
            found = self.load(STATE)
        except UvmsError:
            # kept for inspection; one is enough
            write_file(self.folder / DAMAGED, content, keep=False)
            return
        worth = _measure(found)
        self._spared = max(self._spared, worth.directions)
        name = self._backup_name(found, content)
        write_file(self.folder / name, content, keep=False)
        self._worths[name] = worth
        there = self.backups()
        richest = max(there, key=self._worth)
        for path in [path for path in there if path != richest][:max(len(there) - BACKUPS_KEPT, 0)]:
            path.unlink(missing_ok=True)

    def _backup_name(self, found: ParameterSet, content: bytes) -> str:
        """Name of a new backup, which sorts it after the others: a computer without a clock battery
        saves in 1970, and its states must not be deleted as the oldest."""
        name = f"state.{_digits(found)}.yaml"
        newest = self.backups()[-1:]
        if not newest or name > newest[0].name or _content(self.folder / name) == content:
            return name
        stem, _, number = newest[0].stem.partition("_")
        return f"{stem}_{int(number or 0) + 1:04d}.yaml"

    def _worth(self, path: Path) -> Worth:
        if path.name not in self._worths:
            try:
                self._worths[path.name] = _measure(self.load(path.name))
            except UvmsError:
                self._worths[path.name] = UNREADABLE
        return self._worths[path.name]

    def _fitting(self, path: Path) -> ParameterSet:
        """The state in a file; raises ParameterError if it belongs to another robot or was learnt
        with other settings."""
        found = self.load(path.name)
        was = found.learned.get("settings")
        if isinstance(was, Mapping):
            other = [name for name, value in self._settings.items()
                     if name in was and was[name] != value]
            if other:
                raise ParameterError(
                    f"'{path}' of {_date(found)} was learnt with other settings "
                    f"({', '.join(other)}); to use it anyway, call ~/load_from with "
                    f"'{path.stem}'")
        return found

    def _others(self) -> str:
        """Other robots that have a state, for a person who expected one."""
        there = sorted(path.parent.name for path in self.folder.parent.glob(f"*/{STATE}"))
        return f" (but there is one of {', '.join(there[:3])})" if there else ""


def set_aside(path: Path, new: ParameterSet) -> Path | None:
    """Copy a file that is worth more than `new`, which is about to replace it, to
    <name>.before.yaml, or <name>.before2.yaml and so on if there are other contents in it. Returns
    the copy, None if the file is not worth more."""
    if _worth_of(path) <= _measure(new):
        return None
    content = path.read_bytes()
    copies = (path.with_suffix(f".before{number if number > 1 else ''}.yaml")
              for number in count(1))
    copy = next(one for one in copies if _content(one) in (None, content))
    write_file(copy, content, keep=False)
    return copy


def _content(path: Path) -> bytes | None:
    """Of a file, None if there is none."""
    return path.read_bytes() if path.is_file() else None


def _worth_of(path: Path) -> Worth:
    try:
        return _measure(load_parameters(path))
    except UvmsError:
        return UNREADABLE


def _measure(parameters: ParameterSet) -> Worth:
    return Worth(not wrong_channels(parameters), saved_count(parameters, "directions"),
                 known_rows(parameters))


def _date(parameters: ParameterSet) -> str:
    """When a state was saved, as stated in it."""
    return str(parameters.learned.get("saved", "unknown date"))[:len("2026-01-01T00:00:00.000000Z")]


def _digits(parameters: ParameterSet) -> str:
    """The date as in a file's name, which sorts backups; a state without one sorts as oldest."""
    try:
        return datetime.strptime(_date(parameters), TIME_FORMAT).strftime("%Y%m%dT%H%M%S%fZ")
    except ValueError:
        return "0undated"


def _now() -> str:
    return datetime.now(timezone.utc).strftime(TIME_FORMAT)
