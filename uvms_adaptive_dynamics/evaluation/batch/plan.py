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

"""What a batch runs: recordings, variants of the settings, and splits to learn and test."""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ...config import Config, flatten
from ...disk.reading import read_text
from ...disk.yaml_text import parse_yaml
from ...errors import ConfigError, brief
from ...options import BAG_SUFFIXES, LOG_SUFFIXES
from .content import digest_of, settings_digest

# [bytes] Enough for a thousand splits that each name a hundred recordings.
LARGEST_PLAN_FILE = 10_000_000
# More are a mistake, such as two lists of a hundred values; each variant is checked at the start.
MOST_VARIANTS = 1000
PLAN_FORM = ("a plan: 'settings:' (a setting with a list of values, or a name with settings) and "
             "'held_out:' ('none', 'one', or a list of {learn: [...], test: [...]})")


class KeyedRecording(NamedTuple):
    """A recording: name in tables, absolute path, digest of its content."""

    name: str
    path: str
    digest: str


class Split(NamedTuple):
    """Recordings to learn from, in order, and recordings to test afterwards with the frozen
    estimate. Without `test`, the recordings to learn from are judged, each row before it is learnt.
    """

    name: str
    learn: tuple[str, ...]
    test: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """One run: settings, recordings, and a file of parameters to start from (path, digest)."""

    variant: str
    split: str
    config: Config
    learn: tuple[KeyedRecording, ...]
    test: tuple[KeyedRecording, ...]
    parameters: tuple[str, str] | None
    code: str

    @property
    def judged(self) -> tuple[KeyedRecording, ...]:
        """The recordings whose predictions are judged."""
        return self.test or self.learn

    @cached_property
    def key(self) -> str:
        """Key by content, without names: equal for tasks that must give the same result."""
        return digest_of([self.code, settings_digest(self.config),
                          *([recording.digest for recording in part]
                            for part in (self.learn, self.test)),
                          self.parameters and self.parameters[1]])


# --- recordings -----------------------------------------------------------------------------------

def recordings_in(paths: Sequence[Path]) -> dict[str, Path]:
    """Recordings by name: paths that are recordings, and all recordings inside other folders.

    A name is the path relative to the given folder. Raises ConfigError if there is no recording, or
    if two have the same name.
    """
    found: dict[str, Path] = {}
    for path in paths:
        inside = {path.name or str(path): path} if _is_recording(path) else {
            str(one.relative_to(path)): one for one in _inside(path)}
        if not inside:
            raise ConfigError(f"'{path}' holds no recording; expected a rosbag2 folder, a "
                              f"{', '.join(BAG_SUFFIXES)}, .BIN or .tlog file, or a folder of "
                              "them. Convert a CSV first (command convert).")
        for name, one in inside.items():
            if name in found and found[name].resolve() != one.resolve():
                raise ConfigError(f"two recordings have the name '{name}': '{found[name]}' and "
                                  f"'{one}'. Give a folder above both instead.")
            found[name] = one
    return found


def _is_recording(path: Path) -> bool:
    if path.is_file():
        return _is_file_of_one(path)
    if (path / "metadata.yaml").is_file():
        return True
    # A recording that was cut off has no metadata, which are written last.
    inside = [file for file in path.iterdir() if not file.name.startswith(".")]
    return not any(file.is_dir() for file in inside) and sum(
        file.suffix in BAG_SUFFIXES for file in inside) == 1


def _is_file_of_one(path: Path) -> bool:
    return path.suffix in BAG_SUFFIXES or path.suffix.lower() in LOG_SUFFIXES


def _inside(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not (path.is_dir() or _is_file_of_one(path)):
            continue
        if _is_recording(path):
            yield path
        elif path.is_dir() and not path.is_symlink():     # a link may lead to a parent
            yield from _inside(path)


# --- settings -------------------------------------------------------------------------------------

def variants_of(configs: Mapping[str, Config], named: Mapping[str, Mapping[str, Any]],
                grid: Mapping[str, Sequence[Any]]) -> dict[str, Config]:
    """Every configuration with every named change and every combination of the grid's values.

    Names say what differs between variants. Raises ConfigError with the name of an invalid one.
    """
    count = len(configs) * max(len(named), 1) * math.prod(map(len, grid.values()))
    if count > MOST_VARIANTS:
        raise ConfigError(f"got {count} combinations of settings, expected at most "
                          f"{MOST_VARIANTS}; vary fewer settings at once.")
    made: dict[str, Config] = {}
    for (stem, config), (name, changes) in itertools.product(
            configs.items(), named.items() or [("", {})]):
        for values in itertools.product(*grid.values()):
            chosen = dict(zip(grid, values))
            parts = [stem] * (len(configs) > 1) + [name] * bool(name) + [
                f"{setting.rpartition('.')[2]}={_short(value)}"
                for setting, value in chosen.items()]
            variant = ", ".join(parts) or stem
            try:
                # With a deadline, results would depend on the machine.
                own = config.with_values({**changes, **chosen, "estimation.deadline": 0.0})
            except ConfigError as error:
                raise ConfigError(f"variant '{variant}': {error}") from None
            if made.setdefault(variant, own) != own:
                raise ConfigError(f"two variants have the name '{variant}'; name them in a plan's "
                                  "'settings'.")
    return made


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else brief(value, 40).strip("'")


# --- splits ---------------------------------------------------------------------------------------

def splits_of(held_out: str | Sequence[Split], names: Sequence[str]) -> list[Split]:
    """The splits: 'none' judges each recording by itself, 'one' after learning from all others,
    'frozen' without learning; in given splits, patterns are replaced by names."""
    if held_out == "none":
        return [Split(name, (name,), ()) for name in names]
    if held_out == "frozen":
        return [Split(name, (), (name,)) for name in names]
    if held_out == "one":
        if len(names) < 2:
            raise ConfigError("--held-out one: got one recording, expected at least two: each is "
                              "tested after learning from the others.")
        return [Split(name, tuple(other for other in names if other != name), (name,))
                for name in names]
    splits = [split._replace(learn=_matching(split.learn, names), test=_matching(split.test, names))
              for split in held_out if not isinstance(split, str)]
    for split in splits:
        both = set(split.learn) & set(split.test)
        if both:
            raise ConfigError(f"split '{split.name}' both learns from and tests '{min(both)}'; "
                              "expected each recording in only one of the two.")
    return splits


def _matching(patterns: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for pattern in patterns:
        matching = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        if not matching:
            raise ConfigError(f"no recording is called '{pattern}'; got "
                              f"{brief(list(names), 300)}.")
        found.update(dict.fromkeys(matching))
    return tuple(found)


# --- the plan's file ------------------------------------------------------------------------------

def load_plan(path: Path) -> tuple[dict[str, dict[str, Any]], dict[str, list[Any]], Any]:
    """(named changes, grid, held_out or None) from a plan's YAML; raises ConfigError."""
    what = f"plan '{path}'"
    content = parse_yaml(read_text(path, what, LARGEST_PLAN_FILE, ConfigError, PLAN_FORM), what,
                         ConfigError) or {}
    if not isinstance(content, Mapping) or set(content) - {"settings", "held_out"}:
        raise ConfigError(f"{what} has {brief(content)}; expected {PLAN_FORM}.")
    settings = content.get("settings") or {}
    if not isinstance(settings, Mapping):
        raise ConfigError(f"{what}: settings is {brief(settings)}; expected {PLAN_FORM}.")
    named: dict[str, dict[str, Any]] = {}
    grid: dict[str, list[Any]] = {}
    for name, value in settings.items():
        if isinstance(value, list) and value:
            grid[str(name)] = value
        elif isinstance(value, Mapping):
            named[str(name)] = flatten(value)
        else:
            raise ConfigError(f"{what}: '{name}' is {brief(value)}; expected a list of values for "
                              "a setting, or settings for a variant of that name.")
    return named, grid, _held_out(content.get("held_out"), what)


def _held_out(value: Any, what: str) -> Any:
    if value in (None, "none", "one"):
        return value
    if not isinstance(value, list) or not value:
        raise ConfigError(f"{what}: held_out is {brief(value)}; expected {PLAN_FORM}.")
    splits = []
    for number, entry in enumerate(value, 1):
        if not isinstance(entry, Mapping) or set(entry) - {"name", "learn", "test"}:
            raise ConfigError(f"{what}: split {number} is {brief(entry)}; expected "
                              "{learn: [...], test: [...]} and optionally a name.")
        learn, test = (_names(entry.get(key), f"{what}: {key} of split {number}")
                       for key in ("learn", "test"))
        splits.append(Split(str(entry.get("name", number)), learn, test))
    twice = [split.name for split in splits]
    if len(set(twice)) < len(twice):
        raise ConfigError(f"{what}: two splits have the same name; expected different names.")
    return splits


def _names(value: Any, what: str) -> tuple[str, ...]:
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
        raise ConfigError(f"{what} is {brief(value)}; expected names of recordings, with * as a "
                          "wildcard.")
    return tuple(value)
