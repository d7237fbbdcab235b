"""Schedules of staged identification: which parameters are free when, which channels are to move
for them, and when a stage is done. Data alone (docs/identification.md, "Schedules").

Paper, the staged identification in "Experimental Setup": arm from its tip to its base, vehicle from
the least to the most coupled degrees of freedom, restoring by quasi-static tilts.
"""
from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..disk.reading import read_text
from ..disk.yaml_text import parse_yaml
from ..errors import ConfigError, brief
from ..model.parameters import ParameterTable
from ..model.sample import VEHICLE_CHANNELS, channel_names
from ..uncertainty.identifiability import MEASURED

FOLDER = Path(__file__).resolve().parent.parent / "schedules"
KINDS = ("motion", "tilt")
ORDERS = ("distal_first", "base_first")
# [bytes] a hundred times the longest one that is shipped
LIMIT = 500_000
MOST_STAGES = 200
FORM = ("a schedule such as 'stages: [{name: arm, title: the arm, free: [\"*.*\"], move: "
        "[axis_d]}]'")


@dataclass(frozen=True)
class Stage:
    """A stage for one robot: names instead of patterns.

    name; title: in plain words; free: parameters that it is there for; kept: those of earlier
    stages that stay free beside them; move: channels that are to move; kind: 'motion' or 'tilt'
    (quasi-static: rows count where they come to a new place); at_least [s] in motion on each of
    these channels; at_most [s] altogether. Done when of each direction of `free` no more than the
    share `left` of a fresh prior's deviation is left, or the motion would not bring it there within
    at_most; and when half the 95 % interval of each parameter in `intervals` is no wider than said
    [SI]."""

    name: str
    title: str
    free: tuple[str, ...]
    move: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    kind: str = "motion"
    at_least: float = 8.0
    at_most: float = 120.0
    left: float = MEASURED
    intervals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Schedule:
    """Stages in order; notes: sentences on what does not apply to this robot and was left out."""

    name: str
    stages: tuple[Stage, ...]
    notes: tuple[str, ...] = ()


def shipped() -> tuple[str, ...]:
    """Names of the schedules that come with the package."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def load_schedule(wanted: str | Path, table: ParameterTable,
                  frozen: Iterable[str] = ()) -> Schedule:
    """The schedule of that name or in that file (.yaml), for the robot of this table; frozen: names
    and patterns of parameters that the settings freeze (estimation.frozen).

    What the robot does not have is left out, with a note. Raises ConfigError for a schedule that
    does not exist or cannot be used."""
    path = Path(wanted)
    if path.suffix not in (".yaml", ".yml"):
        if str(wanted) not in shipped():
            raise ConfigError(f"schedule {brief(str(wanted))} does not exist; expected one of "
                              f"{', '.join(shipped())}, or the path of a .yaml file.")
        path = FOLDER / f"{wanted}.yaml"
    what = f"schedule '{wanted}'"
    tree = parse_yaml(read_text(path, what, LIMIT, ConfigError, FORM), what, ConfigError)
    if not isinstance(tree, Mapping) or set(tree) != {"stages"} or not isinstance(
            tree["stages"], list):
        raise ConfigError(f"{what} is not a list of stages under 'stages' alone; expected {FORM}.")
    reader = _Reader(what, table, frozen)
    for entry in tree["stages"]:
        reader.add(entry)
    return reader.schedule(path.stem)


class _Reader:
    """Stages of a file, one after another, for one robot."""

    def __init__(self, what: str, table: ParameterTable, frozen: Iterable[str]):
        self._what, self._table = what, table
        self._channels = channel_names(table.vehicle, table.joints)
        self._allowed = ~table.match(frozen)
        self._stages: list[Stage] = []
        self._notes: list[str] = []
        self._before = np.zeros(table.size, bool)

    def add(self, entry: Any) -> None:
        """A stage, or one of each joint."""
        if not isinstance(entry, Mapping):
            raise ConfigError(f"{self._what}: a stage is {brief(entry)}; expected {FORM}.")
        entry = dict(entry)
        order = entry.pop("for_each_joint", None)
        if order is None:
            return self._add_one(entry)
        if order not in ORDERS:
            raise self._refusal(entry, "for_each_joint", order, f"one of {', '.join(ORDERS)}")
        joints = self._table.joints if order == "base_first" else self._table.joints[::-1]
        if not joints:
            self._notes.append(f"stage '{entry.get('name')}' is left out: the robot has no arm")
        channels = dict(zip(self._table.joints, self._channels[-len(joints):]))
        for joint in joints:
            one = {key: _with_joint(value, channels[joint] if key == "move" else joint)
                   for key, value in entry.items()}
            self._add_one(one)
        return None

    def schedule(self, name: str) -> Schedule:
        """What was read."""
        if not self._stages:
            raise ConfigError(f"{self._what} has no stage for this robot"
                              + (f": {'; '.join(self._notes)}" if self._notes else "") + ".")
        names = [stage.name for stage in self._stages]
        twice = next((one for one in names if names.count(one) > 1), None)
        if twice is not None:
            raise ConfigError(f"{self._what}: two stages have the name {brief(twice)}; expected a "
                              "name of its own for each.")
        if len(names) > MOST_STAGES:
            raise ConfigError(f"{self._what} has {len(names)} stages; expected {MOST_STAGES} at "
                              "most.")
        return Schedule(name, tuple(self._stages), tuple(self._notes))

    def _add_one(self, entry: Mapping[str, Any]) -> None:
        stage, keep = self._checked(entry)
        mask = self._fitting(stage)
        if mask is None:
            return
        if not (mask & self._allowed).any():
            self._notes.append(f"stage '{stage.name}' is left out: estimation.frozen freezes all "
                               "of its parameters")
            return
        mask &= self._allowed
        kept = self._before & ~mask if keep else np.zeros_like(mask)
        self._before = mask | kept
        names = np.array(self._table.names)
        self._stages.append(replace(
            stage, free=tuple(names[mask].tolist()), kept=tuple(names[kept].tolist()),
            move=self._moving(stage), intervals=self._widths(stage)))

    def _checked(self, entry: Mapping[str, Any]) -> tuple[Stage, bool]:
        """The stage as it is written, and whether earlier parameters stay free."""
        known = {f.name for f in fields(Stage)} - {"kept"} | {"keep", "for_each_joint"}
        for key in entry:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, 1)
                raise ConfigError(
                    f"{self._what}: stage {brief(entry.get('name', '?'))} has {brief(key)}; "
                    + (f"expected '{near[0]}'?" if near else
                       f"expected some of {', '.join(sorted(known))}."))
        for key in (f.name for f in fields(Stage) if f.default is MISSING
                    and f.default_factory is MISSING):
            if key not in entry:
                raise ConfigError(f"{self._what}: stage {brief(entry.get('name', '?'))} has no "
                                  f"'{key}'; expected {FORM}.")
        for key in ("name", "title"):
            if not isinstance(entry[key], str) or not entry[key].strip():
                raise self._refusal(entry, key, entry[key], "a text")
        for key in ("free", "move"):
            given = entry.get(key, [])
            if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
                raise self._refusal(entry, key, given, "a list of names and patterns")
        if not entry["free"]:
            raise self._refusal(entry, "free", [], "parameters to free; a stage that frees none "
                                "does nothing")
        for key, low, high in (("at_least", 0.0, 3600.0), ("at_most", 1.0, 36000.0),
                               ("left", 1e-3, 0.99)):
            if key in entry and not _within(entry[key], low, high):
                raise self._refusal(entry, key, entry[key], f"a number from {low:g} to {high:g}")
        if entry.get("kind", KINDS[0]) not in KINDS:
            raise self._refusal(entry, "kind", entry["kind"], f"one of {', '.join(KINDS)}")
        keep = entry.get("keep", False)
        if not isinstance(keep, bool):
            raise self._refusal(entry, "keep", keep, "true or false")
        widths = entry.get("intervals", {})
        if not isinstance(widths, Mapping) or not all(
                isinstance(name, str) and _within(width, 1e-12, 1e12)
                for name, width in widths.items()):
            raise self._refusal(entry, "intervals", widths, "widths above 0 by parameter")
        given = {key: tuple(value) if isinstance(value, list) else value
                 for key, value in entry.items() if key != "keep"}
        stage = Stage(**given)
        if stage.at_most <= stage.at_least:
            raise self._refusal(entry, "at_most", stage.at_most,
                                f"more than at_least, {stage.at_least:g} s")
        return stage, keep

    def _fitting(self, stage: Stage) -> np.ndarray | None:
        """(p,) bool of the parameters that the stage is there for; None, with a note, where the
        robot has none of them."""
        mask, lost = np.zeros(self._table.size, bool), []
        for pattern in stage.free:
            excluded = pattern.startswith("!")
            fits = _fits(self._table.names, pattern.removeprefix("!"))
            if not fits.any():
                self._require_known(stage, pattern)
                if not excluded:
                    lost.append(pattern)
            mask = mask & ~fits if excluded else mask | fits
        if mask.any():
            return mask
        if not lost:
            raise ConfigError(f"{self._what}: stage {brief(stage.name)} frees nothing, since its "
                              f"patterns {brief(list(stage.free))} exclude all that they fit.")
        self._notes.append(f"stage '{stage.name}' is left out: the robot has no parameter "
                           f"{', '.join(lost)}")
        return None

    def _require_known(self, stage: Stage, pattern: str) -> None:
        """Refuse what is no parameter of any robot with these joints."""
        names = _every_name(self._table)
        plain = pattern.removeprefix("!")
        # Of an arm that this robot does not have no joint is known.
        other_arm = not self._table.joints and "." in plain
        if not other_arm and not _fits(names, plain).any():
            near = difflib.get_close_matches(plain, names, 1, 0.5)
            raise ConfigError(
                f"{self._what}: stage {brief(stage.name)} frees {brief(pattern)}, which fits no "
                "parameter; expected names such as " + (f"'{near[0]}'." if near
                                                        else "'X_u' or 'axis_b.*'."))

    def _moving(self, stage: Stage) -> tuple[str, ...]:
        """Channels of this robot that are to move."""
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
            self._notes.append(f"stage '{stage.name}' asks for no motion: the robot has no channel "
                               f"{', '.join(stage.move)}")
        return tuple(found)

    def _widths(self, stage: Stage) -> dict[str, float]:
        """Half widths by parameter of this robot."""
        found: dict[str, float] = {}
        for pattern, width in stage.intervals.items():
            fits = _fits(self._table.names, pattern)
            if not fits.any():
                self._require_known(stage, pattern)
            found |= {self._table.names[i]: float(width) for i in np.flatnonzero(fits)}
        return found

    def _refusal(self, entry: Mapping[str, Any], key: str, got: Any, expected: str) -> ConfigError:
        return ConfigError(f"{self._what}: '{key}' of stage {brief(entry.get('name', '?'))} is "
                           f"{brief(got)}; expected {expected}.")


def _fits(names: Sequence[str], pattern: str) -> np.ndarray:
    return np.array([fnmatch.fnmatchcase(name, pattern) for name in names], bool)


def _within(value: Any, low: float, high: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high


def _every_name(table: ParameterTable) -> tuple[str, ...]:
    """Names of a robot with these joints that has a vehicle and every option."""
    options: dict[str, Any] = {f.name: True for f in fields(table) if f.type in ("bool", bool)}
    return replace(table, **options).names


def _with_joint(value: Any, joint: str) -> Any:
    """A stage's template with {joint} replaced everywhere."""
    if isinstance(value, str):
        return value.replace("{joint}", joint)
    if isinstance(value, list):
        return [_with_joint(one, joint) for one in value]
    if isinstance(value, Mapping):
        return {_with_joint(key, joint): _with_joint(one, joint) for key, one in value.items()}
    return value
