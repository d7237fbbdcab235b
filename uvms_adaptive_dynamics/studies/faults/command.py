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

"""`faults`: inject one fault at a time into a clean recording and judge the result.

The clean recording and each faulty one go through front end and estimator. Messages and their time,
rows lost and wrong, and the estimate's fit to another clean recording are compared with the limits
in docs/faults.md.
"""
from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from ... import options
from ...disk.writing import output_folder
from ...model.robot import RobotModel
from .bench import Bench
from .case import Case
from .judge import CaseResult
from .recordings import LONG_SCENE, SHORT_SCENE
from .report import head, line, summary, write
from .table import CASE_KINDS, chosen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand, with their units."""
    parser.description = ("Inject one fault at a time into a clean recording and judge the "
                          "messages, the rows lost or wrong, and the estimate.")
    parser.add_argument("bag", nargs="?", metavar="BAG", type=options.bag,
                        help=f"a clean recording of at least {LONG_SCENE.learnt / .7:.0f} s; "
                             "default: the simulated robot's")
    parser.add_argument("--kinds", nargs="+", choices=CASE_KINDS, default=[], metavar="KIND",
                        help=f"kinds of faults: {', '.join(CASE_KINDS)}; default all")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help="run only faults whose name contains one of these")
    parser.add_argument("--short", action="store_true",
                        help=f"the short form: {SHORT_SCENE.learnt:g} s of data, one fault of each "
                             "sort")
    parser.add_argument("--jobs", type=options.count, default=1, metavar="N",
                        help="number of parallel processes; default 1")
    parser.add_argument("--output", type=options.folder, metavar="DIR",
                        help="folder for faults.json and the simulated bags, which are reused")
    options.add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run the bench and return 0 if every fault meets its requirements, else 1; raises UvmsError
    for unusable input."""
    scene, config = SHORT_SCENE if args.short else LONG_SCENE, options.config_of(args)
    choose = partial(chosen, scene.onset, args.kinds, args.only, args.short)
    choose()        # raises for an impossible choice before anything is computed
    robot = RobotModel.from_config(config)
    output = None if args.output is None else output_folder(args.output)
    place = tempfile.TemporaryDirectory() if output is None else nullcontext(output)
    with place as folder:
        make = partial(Bench.of, args.bag, Path(folder), scene, config)
        results: list[CaseResult] = []
        print(head(), flush=True)
        for result in _results(make, choose, args.jobs):
            print(line(result, robot), flush=True)
            results.append(result)
            if output is not None:      # after every fault: an interrupted bench keeps its results
                write(output / "faults.json", results, robot)
    print(f"\n{summary(results)}")
    return 0 if all(result.ok for result in results) else 1


def _results(make: Callable[[], Bench], choose: Callable[[], list[Case]],
             jobs: int) -> Iterator[CaseResult]:
    bench = make()
    cases = [case for case in choose() if bench.concerns(case)]
    if jobs == 1:
        yield from map(bench.result, cases)
        return
    # Each process builds its own cases, since faults cannot be pickled.
    with ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (make, choose)) as pool:
        yield from pool.map(_numbered, range(len(cases)))


_own: list = []     # in each process: its bench and cases


def _begin(make: Callable[[], Bench], choose: Callable[[], list[Case]]) -> None:
    bench = make()
    _own[:] = bench, [case for case in choose() if bench.concerns(case)]


def _numbered(number: int) -> CaseResult:
    bench, cases = _own
    result = bench.result(cases[number])
    # Without its faults: they hold functions, which cannot be pickled.
    return replace(result, case=replace(result.case, faults=(), given=()))
