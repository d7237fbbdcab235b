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

"""`verdicts`: evaluate recordings that are good, or spoilt in a known way, and count verdicts."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ... import options
from ...disk.writing import output_folder
from ...errors import ConfigError, UvmsError
from ...evaluation.batch.executors import in_processes
from ...evaluation.run_files import write_json
from ...uncertainty.answer import GOOD
from .table import TABLES
from .trial import Trial, judged

VERDICTS_SCHEMA = 1
SEEDS = list(range(200, 230))
LONGEST_PRINTED_REASON = 150  # characters of a reason on the terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = ("Simulate recordings that are good or spoilt in a known way, evaluate "
                          "them, and count right verdicts: only good recordings should be called "
                          "good (docs/statement.md).")
    parser.add_argument("--table", choices=TABLES, default="final",
                        help="'development': the recordings used to develop the rules; 'final': "
                             "others (default)")
    parser.add_argument("--seeds", type=options.seed, nargs="+", default=SEEDS, metavar="N",
                        help="seeds of the recordings in order, reused if there are too few; "
                             "default 200 to 229")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help="run only recordings whose name contains one of these, with their "
                             "usual seeds")
    parser.add_argument("--recording", nargs=2, action="append", default=[],
                        metavar=("BAG", "YAML"),
                        help="a further recording that should be called good, with its settings "
                             "(may be repeated)")
    parser.add_argument("--jobs", type=options.count, default=1, metavar="N",
                        help="number of recordings in parallel; default 1")
    options.add_output(parser, "verdicts.json")


def run(args: argparse.Namespace) -> int:
    """Count verdicts; returns 0 if all are right, else 1. Raises UvmsError for unusable input."""
    folder, found = output_folder(args.output), []
    trials = _trials(args)
    for ended in in_processes(judged, trials, args.jobs):
        if ended.error:
            raise UvmsError(f"recording {ended.place + 1}: {ended.error}")
        found.append((ended.place, ended.value))
        print(line(ended.value), flush=True)
        # Written after every recording, so that an interrupted count keeps its results.
        write_json(folder / "verdicts.json", {
            "schema": VERDICTS_SCHEMA, "table": args.table, "recordings": [
                value for _, value in sorted(found, key=lambda one: one[0])]})
    values = [value for _, value in found]
    print(f"\n{summary(values)}\n{folder / 'verdicts.json'}")
    return 0 if all(value["right"] for value in values) else 1


def _trials(args: argparse.Namespace) -> list[Trial]:
    cases, seeds = TABLES[args.table], args.seeds
    trials = [Trial(args.table, place, seeds[place % len(seeds)])
              for place, case in enumerate(cases)
              if not args.only or any(part in case.name for part in args.only)]
    for bag, config in args.recording:
        trials.append(Trial(recording=options.bag(bag), config=Path(config)))
    if not trials:
        raise ConfigError(f"--only: got {' '.join(args.only)}, expected a part of one of: "
                          + ", ".join(case.name for case in cases))
    return trials


def line(value: dict[str, Any]) -> str:
    """The terminal line of a recording."""
    seed = "-" if value["seed"] is None else value["seed"]
    first = value["reasons"][0][:LONGEST_PRINTED_REASON] if value["reasons"] else ""
    return (f"{'right' if value['right'] else 'WRONG':<7}{value['name']:<36}{seed:>5}  asked "
            f"{value['asked']:<9} {value['verdict']:<11} {first}").rstrip()


def summary(values: Sequence[dict[str, Any]]) -> str:
    """The count of right verdicts in words."""
    parts = []
    for asked, what in ((GOOD, "good"), (f"not {GOOD}", "spoilt")):
        own = [value for value in values if value["asked"] == asked]
        parts.append(f"{sum(value['right'] for value in own)} of {len(own)} {what} recordings")
    return f"verdicts right on {' and '.join(parts)}"
