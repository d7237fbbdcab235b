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

"""Run the tasks of a batch or take stored results, and write the result files."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...config import Config
from ...disk.writing import attempt_all, write_file
from ..run_files import jsonable, write_json
from .content import digest_of
from .executors import Ended
from .page import batch_page
from .plan import Task
from .store import BATCH_SCHEMA, Store
from .table import figure, results_csv, times_csv
from .task import run_task

Execute = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Ended]]


def outcomes_of(tasks: Sequence[Task], store: Store, execute: Execute,
                say: Callable[[str], None]) -> list[dict[str, Any]]:
    """{"result", "times"} or {"error"} of each task, in order. Stored outcomes are reused; others
    are stored as soon as their task ends. `say` receives a line for each."""
    by_key = {task.key: task for task in tasks}
    found = {key: outcome for key in by_key if (outcome := store.find(key)) is not None}
    waiting = [task for key, task in by_key.items() if key not in found]
    if len(found):
        say(f"{len(found)} of {len(by_key)} tasks are already done.")
    begin = time.monotonic()
    for number, ended in enumerate(execute(run_task, waiting), 1):
        task = waiting[ended.place]
        if ended.error:
            found[task.key] = {"error": ended.error}
        else:
            found[task.key] = ended.value
            store.keep(task.key, ended.value)
        left = (time.monotonic() - begin) / number * (len(waiting) - number)
        say(f"[{number + len(by_key) - len(waiting)}/{len(by_key)}] {task.variant}, {task.split}: "
            f"{ended.error.rstrip('.') or _judged(ended.value)}; {_duration(left)} left")
    return [found[task.key] for task in tasks]


def write_results(folder: Path, tasks: Sequence[Task], outcomes: Sequence[Mapping[str, Any]],
                  configs: Mapping[str, Config], held_out: str) -> dict[str, Any]:
    """Write batch.json, results.csv, batch.html (identical for identical results) and times.csv;
    returns the content of batch.json."""
    entries = [{"variant": task.variant, "split": task.split,
                "learn": [recording.name for recording in task.learn],
                "judged": [recording.name for recording in task.judged],
                "result": outcome.get("result"), "error": outcome.get("error", "")}
               for task, outcome in zip(tasks, outcomes, strict=True)]
    content: dict[str, Any] = {
        "schema": BATCH_SCHEMA, "digest": digest_of(entries), "held_out": held_out,
        "recordings": {recording.name: recording.digest for task in tasks
                       for recording in (*task.learn, *task.test)},
        "variants": {name: jsonable(config.changed()) for name, config in configs.items()},
        "tasks": entries}
    times = [outcome.get("times") for outcome in outcomes]
    attempt_all(partial(write_json, folder / "batch.json", content),
                partial(write_file, folder / "results.csv", results_csv(entries)),
                partial(write_file, folder / "times.csv", times_csv(entries, times)),
                lambda: write_file(folder / "batch.html", batch_page(content)))
    return content


def _judged(outcome: Mapping[str, Any]) -> str:
    """Range of R^2 of a result, and the time it took."""
    r2 = [c["r2"] for channels in outcome["result"]["recordings"] for c in channels.values()
          if c["r2"] is not None]
    return (f"R^2 {_range(r2)}, " if r2 else "no row counts, ") + (
        f"{outcome['times']['wall_s']:.1f} s")


def _range(values: Iterable[float]) -> str:
    values = sorted(values)
    return f"{figure(values[0], '.3f')} to {figure(values[-1], '.3f')}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
