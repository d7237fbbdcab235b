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

"""Schedules of staged identification: which parameters each stage frees, which channels should
move, and when the stage is done. Data only (docs/identification.md, "Schedules").

Paper, staged identification in "Experimental Setup": arm from its tip to its base, vehicle from the
least to the most coupled degrees of freedom, restoring by quasi-static tilts.
"""
from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..disk.reading import read_text
from ..disk.yaml_text import parse_yaml
from ..errors import ConfigError, brief
from ..model.parameters import ParameterTable
from ..model.sample import VEHICLE_CHANNELS, channel_names
from ..model.term_sets import TERM_SETS
from ..uncertainty.parameter_flags import MEASURED_SHARE
from .stage_entry import SCHEDULE_FORM, checked_entry, refusal, with_joint

FOLDER = Path(__file__).resolve().parent.parent / "schedules"
ORDERS = ("distal_first", "base_first")
# [bytes] a hundred times the longest schedule shipped
LARGEST_SCHEDULE_FILE = 500_000
MOST_STAGES = 200


@dataclass(frozen=True)
class Stage:
    """A stage for one robot, with names instead of patterns.

    name; title: in plain words; free: the parameters to identify; kept: parameters of earlier
    stages that stay free as well; move: channels that should move; kind: 'motion' or 'tilt'
    (quasi-static: only rows at a new attitude or posture count); at_least [s] in motion on each of
    these channels; at_most [s] altogether. The stage is done when in each direction of `free` at
    most the share `left` of a fresh prior's standard deviation remains, or the motion would not get
    it there within at_most; and when half the 95 % interval of each parameter in `intervals` is no
    wider than given [SI]."""

    name: str
    title: str
    free: tuple[str, ...]
    move: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    kind: str = "motion"
    at_least: float = 8.0
    at_most: float = 120.0
    left: float = MEASURED_SHARE
    intervals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Schedule:
    """Stages in order; notes: sentences on what was left out as not applicable to this robot."""

    name: str
    stages: tuple[Stage, ...]
    notes: tuple[str, ...] = ()


def shipped() -> tuple[str, ...]:
    """Names of the schedules shipped with the package."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def load_schedule(wanted: str | Path, table: ParameterTable,
                  frozen: Iterable[str] = ()) -> Schedule:
    """Load a schedule by name or from a .yaml file, for the robot of this table; frozen: names and
    patterns of parameters that the settings freeze (estimation.frozen).

    Leaves out what the robot does not have, with a note. Raises ConfigError for a missing or
    unusable schedule."""
    path = Path(wanted)
    if path.suffix not in (".yaml", ".yml"):
        if str(wanted) not in shipped():
            raise ConfigError(f"schedule {brief(str(wanted))} does not exist; expected one of "
                              f"{', '.join(shipped())}, or the path of a .yaml file.")
        path = FOLDER / f"{wanted}.yaml"
    what = f"schedule '{wanted}'"
    text = read_text(path, what, LARGEST_SCHEDULE_FILE, ConfigError, SCHEDULE_FORM)
    tree = parse_yaml(text, what, ConfigError)
    if not isinstance(tree, Mapping) or set(tree) != {"stages"} or not isinstance(
            tree["stages"], list):
        raise ConfigError(f"{what} must have one key, 'stages', with a list of stages; expected "
                          f"{SCHEDULE_FORM}.")
    if len(tree["stages"]) > MOST_STAGES:
        raise ConfigError(f"{what} has {len(tree['stages'])} stages; expected {MOST_STAGES} at "
                          "most.")
    reader = _Reader(what, table, frozen)
    for entry in tree["stages"]:
        reader.add(entry)
    return reader.schedule(path.stem)


class _Reader:
    """Reads the stages of a file, one after another, for one robot."""

    def __init__(self, what: str, table: ParameterTable, frozen: Iterable[str]):
        self._what, self._table = what, table
        self._channels = channel_names(table.vehicle, table.joints)
        self._allowed = ~table.match(frozen)
        self._stages: list[Stage] = []
        self._notes: list[str] = []
        self._before = np.zeros(table.size, bool)

    def add(self, entry: Any) -> None:
        """Add a stage, or one for each joint."""
        if not isinstance(entry, Mapping):
            raise ConfigError(f"{self._what}: a stage is {brief(entry)}; expected {SCHEDULE_FORM}.")
        entry = dict(entry)
        order = entry.pop("for_each_joint", None)
        if order is None:
            return self._add_one(entry)
        if order not in ORDERS:
            raise refusal(self._what, entry, "for_each_joint", order,
                          f"one of {', '.join(ORDERS)}")
        joints = self._table.joints if order == "base_first" else self._table.joints[::-1]
        if not joints:
            self._notes.append(f"stage '{entry.get('name')}' is left out: the robot has no arm")
        channels = dict(zip(self._table.joints, self._channels[-len(joints):]))
        for joint in joints:
            one = {key: with_joint(value, channels[joint] if key == "move" else joint)
                   for key, value in entry.items()}
            self._add_one(one)
        return None

    def schedule(self, name: str) -> Schedule:
        """The schedule of the stages added so far; raises ConfigError if it is unusable."""
        if not self._stages:
            raise ConfigError(f"{self._what} has no stage for this robot"
                              + (f": {'; '.join(self._notes)}" if self._notes else "") + ".")
        names = [stage.name for stage in self._stages]
        twice = next((one for one in names if names.count(one) > 1), None)
        if twice is not None:
            raise ConfigError(f"{self._what}: two stages have the name {brief(twice)}; expected "
                              "unique names.")
        freed = {one for stage in self._stages for one in stage.free}
        left = [one for one, allowed in zip(self._table.names, self._allowed)
                if allowed and one not in freed]
        if left:
            few = ", ".join(left[:4]) + (", .." if len(left) > 4 else "")
            self._notes.append(f"no stage frees {few} ({len(left)} of {self._table.size} "
                               "parameters); they keep their initial values")
        return Schedule(name, tuple(self._stages), tuple(self._notes))

    def _add_one(self, entry: Mapping[str, Any]) -> None:
        given = checked_entry(self._what, entry)
        keep, stage = given.pop("keep"), Stage(**given)
        if stage.at_most <= stage.at_least:
            raise refusal(self._what, entry, "at_most", stage.at_most,
                          f"more than at_least, {stage.at_least:g} s")
        mask = self._fitting(stage)
        if mask is None:
            return
        if not (mask & self._allowed).any():
            self._notes.append(f"stage '{stage.name}' is left out: estimation.frozen freezes all "
                               "its parameters")
            return
        mask &= self._allowed
        kept = self._before & ~mask if keep else np.zeros_like(mask)
        self._before = mask | kept
        names = np.array(self._table.names)
        self._stages.append(replace(
            stage, free=tuple(names[mask].tolist()), kept=tuple(names[kept].tolist()),
            move=self._moving(stage), intervals=self._widths(stage)))

    def _fitting(self, stage: Stage) -> np.ndarray | None:
        """(p,) bool of the stage's own parameters; None, with a note, if the robot has none of
        them."""
        for pattern in stage.free:
            if not _fits(self._table.names, pattern.removeprefix("!")).any():
                self._require_known(stage, pattern)
        mask = _chosen(self._table.names, stage.free)
        if mask.any():
            return mask
        patterns = ", ".join(stage.free)
        if self._table.vehicle and self._table.joints and not _chosen(
                _every_name(self._table), stage.free).any():
            raise ConfigError(f"{self._what}: stage {brief(stage.name)} frees nothing: its "
                              f"patterns {brief(patterns)} exclude everything that they match.")
        self._notes.append(f"stage '{stage.name}' is left out: the robot has no parameter "
                           f"'{patterns}'")
        return None

    def _require_known(self, stage: Stage, pattern: str) -> None:
        """Raise ConfigError unless some robot with these joints has a matching parameter."""
        names = _every_name(self._table)
        plain = pattern.removeprefix("!")
        # Without an arm, joint names in the pattern cannot be checked.
        other_arm = not self._table.joints and "." in plain
        if not other_arm and not _fits(names, plain).any():
            near = difflib.get_close_matches(plain, names, 1, 0.5)
            raise ConfigError(
                f"{self._what}: stage {brief(stage.name)} frees {brief(pattern)}, which fits no "
                "parameter; expected names such as " + (f"'{near[0]}'." if near
                                                        else "'X_u' or 'axis_b.*'."))

    def _moving(self, stage: Stage) -> tuple[str, ...]:
        """Channels of this robot that should move."""
        head = 6 if self._table.vehicle else 0
        groups = {"vehicle": self._channels[:head], "joints": self._channels[head:]}
        found: list[str] = []
        for pattern in stage.move:
            fits = groups.get(pattern) or tuple(
                name for name in self._channels if fnmatch.fnmatchcase(name, pattern))
            if not (fits or pattern in (*VEHICLE_CHANNELS, *groups)) and self._table.joints:
                raise ConfigError(f"{self._what}: stage {brief(stage.name)} moves "
                                  f"{brief(pattern)}, which is no channel; expected 'vehicle', "
                                  f"'joints', or some of {', '.join(self._channels)}.")
            found += [name for name in fits if name not in found]
        if stage.move and not found:
            self._notes.append(f"stage '{stage.name}' needs no motion: the robot has no channel "
                               f"{', '.join(stage.move)}")
        return tuple(found)

    def _widths(self, stage: Stage) -> dict[str, float]:
        """Half-widths by parameter of this robot."""
        found: dict[str, float] = {}
        for pattern, width in stage.intervals.items():
            fits = _fits(self._table.names, pattern)
            if not fits.any():
                self._require_known(stage, pattern)
            found |= {self._table.names[i]: float(width) for i in np.flatnonzero(fits)}
        return found


def _fits(names: Sequence[str], pattern: str) -> np.ndarray:
    return np.array([fnmatch.fnmatchcase(name, pattern) for name in names], bool)


def _chosen(names: Sequence[str], patterns: Iterable[str]) -> np.ndarray:
    """(len(names),) bool: names that match the patterns, applied in order; '!' removes matches."""
    mask = np.zeros(len(names), bool)
    for pattern in patterns:
        fits = _fits(names, pattern.removeprefix("!"))
        mask = mask & ~fits if pattern.startswith("!") else mask | fits
    return mask


def _every_name(table: ParameterTable) -> tuple[str, ...]:
    """Parameter names of a robot with these joints, a vehicle and every optional term."""
    return replace(table, vehicle=True, terms=tuple(TERM_SETS)).names
