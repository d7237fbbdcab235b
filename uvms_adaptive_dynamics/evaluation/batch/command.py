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

"""`batch`: evaluate many recordings with many settings in parallel, with results cached by content.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ... import options
from ...config import SOLVER_NAMES, Config, load_config
from ...disk.folder_lock import FolderLock
from ...disk.kinds import reason_of
from ...disk.writing import output_folder, write_file
from ...errors import ConfigError, UvmsError
from .plan import Split, load_plan, recordings_in, splits_of, variants_of

DEFAULTS = "defaults"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand."""
    parser.description = ("Evaluate many recordings with many settings, or compare two results. "
                          "An interrupted batch resumes where it stopped.")
    parser.add_argument("bags", nargs="*", metavar="BAG", type=options.bag,
                        help="recordings, and folders of recordings at any depth")
    parser.add_argument("--output", type=options.folder, metavar="DIR", required=True,
                        help="folder for batch.html, results.csv, times.csv, batch.json and the "
                             "finished tasks, which do not run again")
    parser.add_argument("--plan", type=options.file, metavar="YAML",
                        help="settings to vary and recordings to hold out (docs/batch.md)")
    parser.add_argument("--config", type=options.file, nargs="+", default=[], metavar="YAML",
                        help="ROS parameter files; if there are several, each is a variant")
    parser.add_argument("--solver", metavar="S", help=f"{SOLVER_NAMES} (estimation.solver)")
    parser.add_argument("--set", action="append", type=options.setting, default=[],
                        metavar="NAME=VALUE", dest="settings",
                        help="change a setting of all variants (may be repeated)")
    parser.add_argument("--vary", action="append", type=options.setting, default=[],
                        metavar="NAME=[VALUE,...]",
                        help="vary a setting, such as estimation.horizon=[50,100]; several are "
                             "combined (may be repeated)")
    parser.add_argument("--held-out", choices=("none", "one"),
                        help="none: each recording by itself, every row predicted before it is "
                             "learnt from (default); one: test each recording after learning from "
                             "all others")
    parser.add_argument("--pair", nargs=2, action="append", default=[], metavar=("LEARN", "TEST"),
                        help="names of recordings, with * as a wildcard: learn from the first, "
                             "test the second (may be repeated)")
    parser.add_argument("--parameters", type=options.file, metavar="YAML",
                        help="parameters to start from")
    parser.add_argument("--frozen", action="store_true",
                        help="learn nothing: test --parameters on every recording")
    parser.add_argument("--jobs", type=options.count, default=1, metavar="N",
                        help="parallel tasks on this machine; default 1")
    parser.add_argument("--dask", metavar="ADDRESS",
                        help="scheduler of a Dask cluster that sees the same paths, such as "
                             "tcp://10.0.0.2:8786; instead of --jobs")
    parser.add_argument("--compare", type=options.folder, nargs=2, metavar=("OLD", "NEW"),
                        help="instead of recordings: compare two results, worst changes first; "
                             "writes comparison.html")


def run(args: argparse.Namespace) -> int:
    """Run or compare; returns 0, or 1 if a task failed. Raises UvmsError if something cannot be
    used."""
    if args.compare:
        if args.bags:
            raise ConfigError("--compare: got recordings as well; expected only two results.")
        old, new = args.compare
        return _compare(old, new, output_folder(args.output))
    if not args.bags:
        raise ConfigError("got no recording; expected BAG, or --compare OLD NEW.")
    if args.frozen and args.parameters is None:
        raise ConfigError("--frozen: got no parameters to predict with, expected --parameters YAML "
                          "as well.")
    return _run(args)


def _run(args: argparse.Namespace) -> int:
    recordings = recordings_in(args.bags)
    variants, splits, held_out = _planned(args, list(recordings))
    folder = output_folder(args.output)
    lock = FolderLock(folder)
    try:
        alone = lock.take()
    except OSError as error:
        raise UvmsError(f"output folder '{folder}' cannot be used: {reason_of(error)}.") from None
    if not alone:
        raise UvmsError(f"another batch is running in '{folder}'; wait until it ends, or choose "
                        "another --output.")
    try:
        return _run_in(folder, args, recordings, variants, splits, held_out)
    finally:
        lock.release()


def _planned(args: argparse.Namespace,
             names: Sequence[str]) -> tuple[dict[str, Config], list[Split], str]:
    """Variants, splits, and in a word how they are tested."""
    named, grid, held_out = load_plan(args.plan) if args.plan else ({}, {}, None)
    for name, values in args.vary:
        if not isinstance(values, (list, tuple)) or not values:
            raise ConfigError(f"--vary: got {name}={values}, expected NAME=[VALUE,...]")
        grid[name] = list(values)
    changes = dict(args.settings)
    if args.solver is not None:
        changes["estimation.solver"] = args.solver
    configs = {path.stem: path for path in args.config}
    if len(configs) < len(args.config):
        raise ConfigError("--config: got two files of the same name, expected different names.")
    loaded = {name: load_config(path).with_values(changes) for name, path in configs.items()}
    variants = variants_of(loaded or {DEFAULTS: Config().with_values(changes)}, named, grid)
    pairs = [Split(f"{learn} -> {test}", (learn,), (test,)) for learn, test in args.pair]
    ways = [way for way in (held_out, args.held_out, pairs or None,
                            "frozen" if args.frozen else None) if way is not None]
    if len(ways) > 1:
        raise ConfigError("got several of --held-out, --pair, --frozen and the plan's held_out; "
                          "expected one of them.")
    how = ways[0] if ways else "none"
    return variants, splits_of(how, names), how if isinstance(how, str) else "as given"


def _run_in(folder: Path, args: argparse.Namespace, recordings: dict[str, Path],
            variants: dict[str, Config], splits: list[Split], held_out: str) -> int:
    # Imported here: solvers and the arm's model take a second to load, and wrong arguments are
    # reported first.
    from .compare import judged_by_variant
    from .content import code_digest, file_digest, pinned
    from .executors import in_processes, on_dask
    from .plan import KeyedRecording, Task
    from .results import outcomes_of, write_results
    from .store import Store
    from .table import summary_table, verdict_table, verdicts_of
    used = {name for split in splits for name in (*split.learn, *split.test)}
    known = {name: KeyedRecording(name, str(path.resolve()), file_digest(path))
             for name, path in recordings.items() if name in used}
    start = None if args.parameters is None else (
        str(args.parameters.resolve()), file_digest(args.parameters))
    configs = {name: pinned(config) for name, config in variants.items()}
    tasks = [Task(name, split.name, config, tuple(known[name] for name in split.learn),
                  tuple(known[name] for name in split.test), start, code_digest())
             for name, config in configs.items() for split in splits]
    execute = (partial(on_dask, address=args.dask) if args.dask
               else partial(in_processes, jobs=args.jobs))
    outcomes = outcomes_of(tasks, Store(folder / "tasks"), execute, _say)
    content = write_results(folder, tasks, outcomes, configs, held_out)
    for name, judged in judged_by_variant(content["tasks"]).items():
        print(f"\n{name}, {len(judged)} judged\n{summary_table(judged)}\n\n"
              f"{verdict_table(verdicts_of(content['tasks'], name))}")
    failed = [task for task in content["tasks"] if task["result"] is None]
    if failed:
        print(f"\n{len(failed)} of {len(tasks)} tasks failed; the next run retries them:")
        for task in failed:
            print(f"  {task['variant']}, {task['split']}: {task['error']}")
    print(f"\n{folder / 'batch.html'}")
    return 1 if failed else 0


def _compare(old: Path, new: Path, folder: Path) -> int:
    from .compare import compared, judged_by_variant, other_recordings, paired_variants
    from .page import comparison_page
    from .store import load_results
    from .table import comparison_table
    contents = [load_results(path) for path in (old, new)]
    if len(ways := {content["held_out"]: path for content, path in zip(contents, (old, new))}) > 1:
        raise UvmsError("the results were judged in different ways ("
                        + ", ".join(f"'{path}': {way}" for way, path in ways.items())
                        + "), which alone changes every figure; expected the same held_out.")
    others = other_recordings(*(content["recordings"] for content in contents))
    if others:
        _say(f"left out: {', '.join(others)}, which in the other result is another recording of "
             "that name")
    before, after = (judged_by_variant(content["tasks"], others) for content in contents)
    found = {name if name == other else f"{other} against {name}":
             compared(before[name], after[other])
             for name, other in paired_variants(before, after)}
    if not any(found.values()):
        raise UvmsError(f"'{old}' ({', '.join(before)}) and '{new}' ({', '.join(after)}) have no "
                        "variant of the same name that judged the same recording; expected one.")
    write_file(folder / "comparison.html", comparison_page(str(old), str(new), found))
    for name, differences in found.items():
        print(f"\n{name}\n{comparison_table(differences)}")
    print(f"\n{folder / 'comparison.html'}")
    return 0


def _say(sentence: str) -> None:
    print(f"batch: {sentence}", file=sys.stderr, flush=True)
