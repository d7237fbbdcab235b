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

"""`kill -9` at random instants while an estimator runs and saves: what does each restart recover?

    python test/kill_campaign.py --kills 500

A process starts from 20 s of learning (earlier, one interval is a large part of all that was
learned), steps an estimator through simulated samples with the node's own memory, which saves every
`--interval`, and is killed. The next process starts from what is left, at the sample where the last
one died. Every restart must start from the saved state, without a damaged file; must have lost at
most one interval, plus the duration of one save; and its R^2 of the next 5 s of samples must be
within .02 of what the killed process would have had. Temporary files must not pile up.
"""
from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
# One thread: a fork of the server below would wait for threads that were not forked.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from uvms_adaptive_dynamics.config import Config  # noqa: E402
from uvms_adaptive_dynamics.estimation.estimator import Estimator  # noqa: E402
from uvms_adaptive_dynamics.estimation.learned import known_rows  # noqa: E402
from uvms_adaptive_dynamics.model.parameter_file import save_parameters  # noqa: E402
from uvms_adaptive_dynamics.model.robot import RobotModel  # noqa: E402
from uvms_adaptive_dynamics.ros.memory import Memory  # noqa: E402
from uvms_adaptive_dynamics.ros.worker import Worker  # noqa: E402
from uvms_adaptive_dynamics.studies.benchmark.samples import simulated_samples  # noqa: E402

CONFIG = Config().with_values({"prior.file": "auto"})
AFTER_S, WITHIN = 5.0, 0.02      # [s] over which R^2 is compared; largest difference
LEARNED_S = 20.0    # before the first kill
# The state, the lock, five backups, a damaged one, and a file that was being written.
MOST_FILES = 9
START_S = 60.0      # until a process has started, on a loaded machine


# Fork a process that has only imported all this: this process has solver threads, which a fork
# would lack, and a new process takes seconds to import.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload([
    f"uvms_adaptive_dynamics.{name}" for name in (
        "estimation.estimator", "ros.memory", "ros.worker", "studies.benchmark.samples")])
# Python 3.11's server does not have this process's path.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(ROOT), str(ROOT / "test"), os.environ.get("PYTHONPATH")]))


class Silent:
    """A log that nobody reads."""

    def info(self, message: str) -> None: ...
    def warning(self, message: str) -> None: ...


class Progress:
    """Progress of one process, in a file that outlives it: rows behind the estimate and time after
    each sample, and what the process started from."""

    def __init__(self, folder: Path, samples: int):
        self.said = folder / "said"
        self._table = np.memmap(folder / "progress", np.float64, "r+" if self.said.exists() else
                                "w+", shape=(samples + 1, 2))

    def begin(self, words: str) -> None:
        self.said.write_text(words)

    def add(self, k: int, rows: int) -> None:
        self._table[k + 1] = rows, time.monotonic()

    @property
    def rows(self) -> np.ndarray:
        return self._table[:, 0]

    @property
    def times(self) -> np.ndarray:
        return self._table[:, 1]

    @property
    def at(self) -> int:
        """The next sample; 0 before the first."""
        return int(np.max(np.flatnonzero(self.times), initial=0))


class Restart(NamedTuple):
    """The cost of one kill."""

    rows_lost: int
    seconds_lost: float
    r2: float
    r2_spared: float
    files: int


def run_until_killed(folder: Path, seconds: float, interval: float, first: int) -> None:
    """The process that is killed: like the node, but without ROS."""
    samples = simulated_samples(seconds, 1)
    config = CONFIG.with_values({"output.save_period": interval})
    robot = RobotModel.from_config(config)
    memory = Memory(config, robot, folder / "robot", Silent())
    start = memory.start()
    estimator = Estimator(config, robot=robot, start=start.parameters)
    done = Progress(folder, len(samples))
    done.begin(start.sentence)
    worker = Worker(estimator, config.filter.period, lambda p: None, lambda e: None, report)
    worker.start()
    memory.run(worker.request)

    def step(one, sample):
        one.step(sample)
        return known_rows(one.prior) + one.information.rows_learned

    for k in range(first, len(samples)):
        done.add(k, worker.call(partial(step, sample=samples[k])))
    signal.pause()


def report(error: Exception) -> None:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)


def r2(predictions) -> float:
    """R^2 over all channels, each in units of its spread over the whole recording."""
    residual = np.array([(p.measured - p.predicted) * p.valid for p in predictions])
    measured = np.array([p.measured * p.valid for p in predictions])
    spread = measured.std(axis=0)
    spread[spread == 0] = 1.0
    return 1.0 - np.sum((residual / spread) ** 2) / np.sum(
        ((measured - measured.mean(axis=0)) / spread) ** 2)


class Started(NamedTuple):
    """An estimator started from the folder's content, its rows, and the sentence about its
    start."""

    estimator: Estimator
    rows: int
    said: str


def started(folder: Path) -> Started:
    robot = RobotModel.from_config(CONFIG)
    memory = Memory(CONFIG.with_values({"output.save_period": 0.0}), robot, folder, Silent())
    start = memory.start()      # saves nothing, so it does not take the folder's lock
    estimator = Estimator(CONFIG, robot=robot, start=start.parameters)
    return Started(estimator, known_rows(estimator.prior), start.sentence)


def predictions(estimator: Estimator, samples) -> list:
    """Predictions sample by sample while learning; None while the low-pass fills."""
    found = []
    for sample in samples:
        found.append(estimator.add(sample))
        estimator.solve()
    return found


def kill_once(folder: Path, samples, recording: float, interval: float, first: int,
              wait: float, after: int) -> tuple[Restart | None, int]:
    """Run, kill after `wait` [s], restart; returns (its cost, the sample to continue with)."""
    for name in ("said", "progress"):
        (folder / name).unlink(missing_ok=True)
    expected = (folder / "robot" / "state.yaml").exists()
    spared = started(folder / "robot").estimator     # the same, but not killed
    child = SERVER.Process(target=run_until_killed, args=(folder, recording, interval, first))
    child.start()
    done = Progress(folder, len(samples)) if wait_for(folder / "said", child) else None
    time.sleep(wait)
    killed = time.monotonic()
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    if done is None or not done.at:
        return None, first
    if done.at + max(after, 1) > len(samples):
        return None, done.at   # at the recording's end, or too close to it to compare
    at, said = done.at, done.said.read_text()
    if expected and "started from" not in said:
        raise AssertionError(f"a restart did not go on from the saved state: {said}")
    if not (folder / "robot" / "state.yaml").exists():
        return None, at        # killed before the first save was due
    again = started(folder / "robot")
    if "started from" not in again.said or "instead" in again.said:
        raise AssertionError(f"the state was not usable after a kill: {again.said}")
    saved = int(np.searchsorted(done.rows[first + 1:at + 1], again.rows))
    lost = killed - done.times[first + 1 + saved] if saved < at - first else 0.0
    files = len(list((folder / "robot").iterdir()))
    cost = Restart(int(done.rows[at]) - again.rows, lost, 0.0, 0.0, files)
    if after:
        ours = predictions(again.estimator, samples[at:at + after])
        theirs = predictions(spared, samples[first:at + after])[at - first:]
        both = [pair for pair in zip(ours, theirs) if None not in pair]
        cost = cost._replace(r2=r2([one for one, _ in both]),
                             r2_spared=r2([one for _, one in both]))
    return cost, at


def wait_for(path: Path, child) -> bool:
    """Whether a process made a file before it died."""
    end = time.monotonic() + START_S
    while not path.exists():
        if not child.is_alive() or time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def campaign(kills: int, interval: float, seconds: float, seed: int = 0,
             say=lambda line: None, learned_s: float = LEARNED_S,
             after_s: float = AFTER_S) -> list[Restart]:
    """Costs of `kills` kills over recordings of `seconds`; AssertionError if one is too high.

    after_s [s]: over which R^2 is compared; 0: no comparison.
    """
    begin, after = (round(t / CONFIG.filter.period) for t in (learned_s, after_s))
    chance, found = random.Random(seed), []
    samples = simulated_samples(seconds, 1)
    learned = started(Path("nowhere")).estimator
    predictions(learned, samples[:begin])
    while len(found) < kills:
        with tempfile.TemporaryDirectory() as temporary:
            (Path(temporary) / "robot").mkdir()
            save_parameters(Path(temporary) / "robot" / "state.yaml", learned.parameter_set())
            first = begin
            while len(found) < kills and first < len(samples) - after - 1:
                cost, first = kill_once(Path(temporary), samples, seconds, interval, first,
                                        chance.uniform(0.0, 4 * interval), after)
                if cost is not None:
                    found.append(cost)
                    check(cost, interval)
                    say(f"{len(found):4d}  sample {first:5d}  lost {cost.rows_lost:4d} rows, "
                        f"{cost.seconds_lost:.2f} s  R^2 {cost.r2:.4f} "
                        f"({cost.r2_spared:.4f})  {cost.files} files")
    return found


def check(cost: Restart, interval: float) -> None:
    """AssertionError if a restart lost more than allowed."""
    # A save takes its time: the copy waits for a tick, the file for the disk.
    assert cost.seconds_lost <= interval + SAVE_S, cost
    assert cost.rows_lost >= 0, cost
    assert abs(cost.r2 - cost.r2_spared) <= WITHIN, cost
    assert cost.files <= MOST_FILES, cost


# [s] Between the copy of the state and the file's new name, on a loaded machine with a slow disk.
SAVE_S = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--interval", type=float, default=1.0, help="output.save_period [s]")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each recording [s]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--after", type=float, default=AFTER_S,
                        help="over which R^2 is compared [s]; 0: it is not, in a third of the time")
    given = parser.parse_args()
    begin = time.monotonic()
    found = campaign(given.kills, given.interval, given.seconds, given.seed,
                     lambda line: print(line, flush=True), after_s=given.after)
    worst = max(abs(one.r2 - one.r2_spared) for one in found)
    print(f"{len(found)} kills in {time.monotonic() - begin:.0f} s: at most "
          f"{max(one.seconds_lost for one in found):.2f} s lost with an interval of "
          f"{given.interval:g} s; R^2 within {worst:.4f} of that without the kill; at most "
          f"{max(one.files for one in found)} files in the folder.")
    return 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
