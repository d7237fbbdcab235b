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

"""Command line options: one validator per kind of value, shared by all subcommands.

A validator is an argparse `type`. An invalid value ends the command with one sentence: option, got,
expected. Nothing is written or created before all options are read.
"""
from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from .config import SOLVER_NAMES, Config, load_config
from .disk.kinds import reason_of, special_kind
from .disk.yaml_text import parse_yaml
from .errors import ConfigError

MOST_GOT = 200     # characters of an argument shown in an error message
BAG_SUFFIXES = (".mcap", ".db3")
# Other logs of one file each; a CSV also needs its mapping.
LOG_SUFFIXES = (".bin", ".tlog")


class Parser(argparse.ArgumentParser):
    """A parser that raises ConfigErrors, so that a program can report them in its own way."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message.removeprefix('argument ').rstrip('.')}. See --help.")


# --- kinds of values ------------------------------------------------------------------------------

def number(low: float = -math.inf, high: float = math.inf, unit: str = "",
           above: float | None = None, below: float | None = None) -> Callable[[str], float]:
    """A finite number from `low` to `high` (inclusive), above `above` and below `below`."""
    parts = [f"above {above:g}" if above is not None else "",
             f"of at least {low:g}" if low > -math.inf else "",
             f"of at most {high:g}" if high < math.inf else "",
             f"below {below:g}" if below is not None else ""]
    bounds = " and ".join(part for part in parts if part)
    expected = " ".join(part for part in ("a number", bounds, f"[{unit}]" if unit else "") if part)

    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise _refused(text, expected) from None
        if not (math.isfinite(value) and low <= value <= high
                and (above is None or value > above) and (below is None or value < below)):
            raise _refused(text, expected)
        return value
    return convert


def seconds(low: float | None = None, high: float = math.inf) -> Callable[[str], float]:
    """A time [s] above zero, or of at least `low`, up to `high`."""
    if low is None:
        return number(above=0.0, high=high, unit="s")
    return number(low, high, "s")


def whole(low: int, also: int | None = None) -> Callable[[str], int]:
    """A whole number of at least `low`, or the single value `also`."""
    expected = f"a whole number of at least {low}" + ("" if also is None else f", or {also}")

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise _refused(text, expected) from None
        if value < low and value != also:
            raise _refused(text, expected)
        return value
    return convert


seed = whole(0)
count = whole(1)
factor = number(above=0.0)


def bag(text: str) -> Path:
    """Path of an existing recording; its content is checked when it is opened."""
    expected = "a rosbag2 folder, a .mcap or .db3 file, or another log (.BIN, .tlog, .csv, .yaml)"
    path, kind = _path(text, expected)
    if not path.exists():
        raise _refused(text, f"{expected}; this path does not exist")
    if kind not in ("", "a folder"):
        raise _refused(text, f"{expected}; this is {kind}")
    return path


def new_path(text: str) -> Path:
    """A path that does not exist yet, not even as a broken link."""
    path, _ = _path(text, "a path")
    if os.path.lexists(path):
        raise _refused(text,
                       "a path that does not exist yet; remove what is there, or give another")
    return path


def file(text: str) -> Path:
    """An existing file that can be opened."""
    path, kind = _path(text, "a file")
    if kind:
        raise _refused(text, f"a file; this is {kind}")
    try:
        path.open("rb").close()
    except OSError as error:
        raise _refused(text, f"a file; this one cannot be read ({error.strerror})") from None
    return path


def new_file(text: str) -> Path:
    """A file that may be created or replaced; links are followed."""
    path, kind = _path(text, "a file")
    if kind:
        raise _refused(text, f"a file; this is {kind}, which is never replaced")
    return path


def folder(text: str) -> Path:
    """A folder that exists or can be created."""
    path, kind = _path(text, "a folder")
    if kind != "a folder" and os.path.lexists(path):
        it = kind or ("a file" if path.exists() else "a broken link")
        raise _refused(text, f"a folder; this is {it}")
    return path


def _path(text: str, expected: str) -> tuple[Path, str]:
    """The path, and its kind if it is not a regular file."""
    try:
        path = Path(text).expanduser()
        return path, special_kind(path)
    except (OSError, RuntimeError, ValueError) as error:  # path below a file, no such home, a NUL
        raise _refused(text, f"{expected}; this cannot be one ({reason_of(error)})") from None


def setting(text: str) -> tuple[str, Any]:
    """`name=value` as (name, value), the value as YAML reads it, nothing as the empty text."""
    name, found, value = text.partition("=")
    if not found:
        raise _refused(text, "name=value, such as estimation.horizon=200")
    try:
        return name.strip(), (_numeric(parse_yaml(value, text, ConfigError)) if value.strip()
                              else "")
    except ConfigError:
        raise _refused(text, "a number, a text or [a, list] after the '='") from None


def _numeric(value: Any) -> Any:
    """YAML 1.1 reads 1e-3 as a string; convert it to the number that is meant."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _refused(got: str, expected: str) -> argparse.ArgumentTypeError:
    got = got if len(got) <= MOST_GOT else f"{got[:MOST_GOT]}..."
    return argparse.ArgumentTypeError(f"got '{got}', expected {expected}")


# --- options shared by several commands -----------------------------------------------------------

def add_settings(parser: argparse.ArgumentParser) -> None:
    """--config, --solver and --set: settings of a run, read by `config_of`."""
    parser.add_argument("--config", type=file, metavar="YAML",
                        help="ROS parameter file with the settings that differ from the defaults")
    parser.add_argument("--solver", metavar="S",
                        help=f"{SOLVER_NAMES} (setting estimation.solver)")
    parser.add_argument("--set", action="append", type=setting, default=[], metavar="NAME=VALUE",
                        dest="settings",
                        help="change one setting, such as estimation.horizon=200 (may be repeated)")


def add_piece(parser: argparse.ArgumentParser, begin: str, end: str) -> None:
    """--begin S and --end S: part of a recording to use, checked by `check_piece`.

    begin, end: help texts of the command.
    """
    parser.add_argument("--begin", type=seconds(0.0), default=0.0, metavar="S", help=begin)
    parser.add_argument("--end", type=seconds(), metavar="S", help=end)


def check_piece(args: argparse.Namespace) -> None:
    """Refuse an --end before --begin."""
    if args.end is not None and args.end <= args.begin:
        raise ConfigError(f"--end: got {args.end:g}, expected more than --begin ({args.begin:g}).")


def add_output(parser: argparse.ArgumentParser, content: str) -> None:
    """--output DIR."""
    parser.add_argument("--output", type=folder, metavar="DIR", required=True,
                        help=f"folder for {content}")


def add_prior_factor(parser: argparse.ArgumentParser) -> None:
    """--prior-factor K: deliberate error of the prior."""
    parser.add_argument("--prior-factor", type=factor, default=2.0, metavar="K",
                        help="multiply every non-zero prior parameter by K or 1/K; default 2")


def add_solve_every(parser: argparse.ArgumentParser, default: int) -> None:
    """--solve-every N: how often a study solves."""
    parser.add_argument("--solve-every", type=count, default=default, metavar="N",
                        help="solve the problem at every N-th row (all rows are predicted and "
                             f"learnt); default {default}; the node uses 1")


def config_of(args: argparse.Namespace) -> Config:
    """Settings from --config, --solver and --set; raises ConfigError for unknown ones."""
    changes = dict(args.settings)
    if args.solver is not None:
        changes["estimation.solver"] = args.solver
    return load_config(args.config).with_values(changes)
