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

"""`python -m uvms_adaptive_dynamics benchmark`: run the cases, each in a separate process, and
write benchmark.json and .png."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pstats
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ... import options
from ...disk.writing import output_folder
from ...errors import UvmsError

# One thread, as in the acceptance setting; set before a child imports numpy.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
PROFILE_LINES = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Time the complete update, from sample to estimate, over horizons, joints, outliers, "
        "groupings and solvers, compared with the CVXPY formulation on the same ticks (default: "
        "about 10 minutes)."
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--quick", action="store_true", help="a one-minute version")
    which.add_argument(
        "--acceptance",
        action="store_true",
        help="the acceptance setting over 2,000 ticks: required against measured (about 5 "
        "minutes)",
    )
    which.add_argument(
        "--compare",
        action="store_true",
        help="500 ticks against the oracle for every grouping, with 20 %% outliers, frozen "
        "parameters and little data (about half an hour)",
    )
    which.add_argument("--endurance", type=options.count, metavar="TICKS",
                       help="times and resident memory over TICKS ticks, such as 30000")
    parser.add_argument("--profile", action="store_true",
                        help="profile the first case's ticks with cProfile (which slows them down)")
    parser.add_argument("--output", type=options.folder, metavar="DIR",
                        default=Path("benchmark_output"), help="default benchmark_output")


def run(args: argparse.Namespace) -> int:
    """Run and return 0, or 1 if the acceptance is not met."""
    for name in THREADS:
        os.environ[name] = "1"
    from . import cases
    from .acceptance import verdicts
    from .report import line, write_json, write_plot

    if args.endurance is not None:
        return _endure(args.endurance)
    chosen = (cases.quick_grid() if args.quick else cases.acceptance_cases() if args.acceptance
              else cases.comparison_cases() if args.compare else cases.default_grid())
    output_folder(args.output)
    begin, entries = time.monotonic(), []
    for number, case in enumerate(chosen, 1):
        profile = str(args.output / "profile.pstats") if args.profile and number == 1 else None
        result = _in_a_process(case, f"[{number}/{len(chosen)}] {case.label}", profile)
        entries.append({"label": case.label, "case": asdict(case), "result": result})
        print(f"[{number}/{len(chosen)}] {line(entries[-1])}", flush=True)
        if profile and "skipped" not in result:
            pstats.Stats(profile).sort_stats("tottime").print_stats(PROFILE_LINES)
    write_json(args.output / "benchmark.json", entries)
    write_plot(args.output / "benchmark.png", entries)
    asked = verdicts(entries) if args.acceptance or args.compare else []
    print("\n".join(asked))
    print(
        f"\n{args.output / 'benchmark.json'}, {args.output / 'benchmark.png'}; "
        f"{time.monotonic() - begin:.0f} s, load average {os.getloadavg()[0]:.1f} (above 1, other "
        "processes shared the machine and wall-clock times are too long)"
    )
    return int(any(text.startswith("NOT MET") for text in asked))


def _endure(ticks: int) -> int:
    from .endurance import endured
    from .times import spread

    memory, update, late = endured(ticks, _progress(f"{ticks} ticks"))
    for done, megabytes in memory:
        print(f"{done:>9} ticks {megabytes:8.1f} MB")
    print(f"growth from {memory[0][0]} ticks on: {memory[-1][1] - memory[0][1]:+.1f} MB")
    for name, figures in spread("update", update).items():
        if figures is not None:
            print(f"{name}: median {figures['median']:.2f}, 99 % {figures['p99']:.2f}, "
                  f"worst {figures['max']:.2f}")
    print(f"solves deferred by a tick or ended at the deadline: {late} of {ticks}")
    return 0


def _in_a_process(case, label: str, profile: str | None) -> dict[str, Any]:
    """The case's result from a fresh process, so that peak memory is its own and no case warms
    another's caches."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(case, label, profile, there))
    process.start()
    there.close()
    try:
        result = here.recv()
    except EOFError:
        process.join()
        raise UvmsError(
            f"case '{case.label}' ended with status {process.exitcode}; its message is above."
        ) from None
    process.join()
    return result


def _child(case, label: str, profile: str | None, pipe) -> None:
    from .measure import measure

    pipe.send(measure(case, _progress(label), profile))


def _progress(label: str):
    """A callback that shows a share on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        return lambda share: None
    last = 0.0

    def show(share: float) -> None:
        nonlocal last
        if time.monotonic() - last > 0.2:
            last = time.monotonic()
            sys.stderr.write(f"\r{label} {100 * share:3.0f} %\033[K\r")
            sys.stderr.flush()

    return show
