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

"""Keeps what is learned: the state is saved at intervals and at exit, off all other threads.

The worker copies the state between two ticks; a thread of its own writes it. docs/memory.md.
"""
from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..config import AUTO, NODE_NAME, Config
from ..disk.folder_lock import FolderLock
from ..disk.kinds import reason_of
from ..disk.writing import remove_partials
from ..errors import UvmsError, in_words
from ..estimation.learned import known_rows, measuring_settings
from ..estimation.saved_state import SavedState, Start
from ..model.parameter_file import ParameterSet
from ..model.robot import RobotModel

# Stands where others have their namespace; no ROS name has a hyphen.
WITHOUT_NAMESPACE = "no-namespace"
COPY_TIMEOUT_S = 10.0     # of the worker, as for a service
# At exit: `ros2 launch` sends SIGTERM 5 s after its SIGINT, and SIGKILL after that.
EXIT_TIMEOUT_S = 3.0
# That a start waits for another node of the folder: one that is just ending takes at most so long.
LOCK_TIMEOUT_S = 2.0


class Log(Protocol):
    """What a ROS logger and a test's have in common."""

    def info(self, message: str) -> Any: ...
    def warning(self, message: str) -> Any: ...


def robot_folder(directory: Path, namespace: str, name: str, robot: RobotModel) -> Path:
    """The folder of a node's robot in `output.directory`: <namespace>/<robot>.

    Levels of a namespace are joined by dots; a node of another name than NODE_NAME has it behind a
    plus. Neither can stand in a ROS name, so that no two nodes share a folder.
    """
    place = ".".join(filter(None, namespace.split("/"))) or WITHOUT_NAMESPACE
    if name != NODE_NAME:
        place = f"{place}+{name}"
    return directory / place / robot.identity


class _Copy(NamedTuple):
    """The state of an estimate, None where nothing is new; line: what the estimate began from."""

    parameters: ParameterSet | None
    line: ParameterSet


class Memory:
    """Finds the saved state that an estimator starts from, and saves it while it runs.

    `start`, then `run` when the worker runs; `keep` just before the estimate starts again from
    something else; `stop` asks for the last copy and writes it.
    """

    def __init__(self, config: Config, robot: RobotModel, folder: Path, log: Log):
        self._config, self._log = config, log
        self._state = SavedState(folder, robot.table, measuring_settings(config))
        self._lock = FolderLock(folder)
        self._stopped, self._woken = False, threading.Event()     # by an end, or something to do
        self._writing = threading.Lock()      # the thread and the one that stops
        self._thread: threading.Thread | None = None
        self._kept: deque[_Copy] = deque()    # to be written before anything else
        self._line: ParameterSet | None = None        # that the file is of, once written
        self._saved_rows = 0
        self._request: Callable[[Callable[[Any], Any]], Future] | None = None
        self._failed: Callable[[], bool] = lambda: False
        self.saves = 0
        self.error = ""

    @property
    def folder(self) -> Path:
        """The robot's folder."""
        return self._state.folder

    @property
    def saving(self) -> bool:
        """Whether the state is saved here, by this node."""
        return self._thread is not None

    def start(self) -> Start:
        """What an estimate starts from: the saved state where `prior.file` is AUTO and one fits,
        else the prior (None)."""
        if self._config.output.save_period:
            self._take_lock(LOCK_TIMEOUT_S)      # before reading: who still holds it may yet save
        file = self._config.prior.file
        if file != AUTO:
            return Start(None, f"prior file '{file}'" if file else "built-in prior")
        start = self._state.start()
        if start.refused:
            self._log.warning(start.sentence)
        if start.parameters is not None:
            self._saved_rows = known_rows(start.parameters)
        return start

    def run(self, request: Callable[[Callable[[Any], Any]], Future],
            failed: Callable[[], bool] = lambda: False) -> None:
        """Save every `output.save_period`; `request(action)` has the action run on the estimator
        by whoever owns it. failed: whether the estimator has, so that nothing is worth saving."""
        self._request, self._failed = request, failed
        held = self._lock.held
        if not self._config.output.save_period or not self._take_lock():
            return
        if not held:
            self._state.begin_anew()      # whoever held it may have saved since the start
        remove_partials(self.folder)
        self._thread = threading.Thread(target=self._run, name="memory")
        self._thread.start()

    def change_settings(self, config: Config) -> None:
        """Save at other intervals from now on, also where nothing was saved until now."""
        before, self._config = self._config.output.save_period, config
        if config.output.save_period == before:
            return
        self._woken.set()
        if self._thread is None and self._request is not None and not self._stopped:
            self.run(self._request, self._failed)

    def keep(self, estimator: Any) -> None:
        """Copy what is known now, to be saved soon; what is saved later does not go on from it.

        Call it on the thread that owns the estimator, just before a restart: no row in between is
        lost, and nobody waits for the disk.
        """
        if self._thread is not None and not self._failed():
            self._kept.append(self._copy(estimator, False))
            self._woken.set()

    def stop(self) -> None:
        """Save for the last time and end the thread; the estimator must still answer."""
        self._stopped = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
            self.save(described=True)
        self._lock.release()

    def save(self, described: bool = False) -> None:
        """Save the state if something was learned since; a failure is logged, and tried again at
        the next interval. described: with what people want to read, which takes half a tick."""
        if self._thread is None or self._request is None:
            return
        with self._writing:
            try:
                self._write_kept()
                # The file has the last good estimate, and a failed one may not even answer.
                copied = None if self._failed() else self._copied(self._request, described)
                if copied is not None:
                    self._write(copied)
                self._say("")
            except Exception as error:  # whatever it is, saving must go on
                self._say(f"the state was not saved: {in_words(error)}")

    def _run(self) -> None:
        due = time.monotonic() + self._config.output.save_period / 2
        while not self._stopped:
            period = self._config.output.save_period
            due = min(due, time.monotonic() + period / 2)
            # Without a period until something changes.
            if self._woken.wait(max(due - time.monotonic(), 0.0) if period else None):
                self._woken.clear()
                if self._kept:
                    self.save()
            else:
                begin = time.monotonic()
                self.save()
                # A kill just before the next file is there costs all since the copy in this one:
                # half an interval and what the next save takes, for which the other half is left.
                # A disk that is slower than that is used half of the time.
                end = time.monotonic()
                due = max(begin + period / 2, end + (end - begin))

    def _take_lock(self, timeout: float = 0.0) -> bool:
        """Whether the folder is ours now, within `timeout` [s]; why not is said."""
        reason, end = "", time.monotonic() + timeout
        try:
            while not self._lock.take():
                if time.monotonic() >= end:
                    reason = (f"another node saves in '{self.folder}': nothing is saved here. Give "
                              "this node a namespace, a name or an output.directory of its own")
                    break
                time.sleep(0.05)
        except OSError as error:
            reason = (f"nothing is saved: '{self.folder}' cannot be written, {reason_of(error)}. "
                      "Correct output.directory or its permissions")
        self._say(reason)
        return not reason

    def _copied(self, request: Callable[[Callable[[Any], Any]], Future],
                described: bool) -> _Copy | None:
        """A copy from the estimator's own thread, None where nobody wants it any more; raises
        UvmsError where it does not come."""
        answer = request(lambda estimator: self._copy(estimator, described))
        limit = EXIT_TIMEOUT_S if described else COPY_TIMEOUT_S
        end = time.monotonic() + limit
        while not wait([answer], 0.1).done:
            if self._stopped and not described:      # an end asks for a copy itself
                answer.cancel()
                return None
            if time.monotonic() > end:
                answer.cancel()
                raise UvmsError(f"the estimator did not answer within {limit:g} s; is the computer "
                                "overloaded?")
        return answer.result()

    def _copy(self, estimator: Any, described: bool) -> _Copy:
        """The state, on the thread that owns the estimator: an untouched prior is never saved."""
        learned, line = estimator.information.rows_learned, estimator.prior
        known = line is self._line or self._line is None
        if not learned or known and known_rows(line) + learned == self._saved_rows:
            return _Copy(None, line)
        return _Copy(estimator.parameter_set(described), line)

    def _write_kept(self) -> None:
        while self._kept:
            self._write(self._kept[0])
            self._kept.popleft()

    def _write(self, copied: _Copy) -> None:
        if self._line is not None and copied.line is not self._line:
            self._state.begin_anew()
        self._line = copied.line
        if copied.parameters is not None:
            self._state.save(copied.parameters)
            self._saved_rows = known_rows(copied.parameters)
            self.saves += 1

    def _say(self, error: str) -> None:
        """Log what is wrong, and that it is over, once."""
        before, self.error = self.error, error
        if error and error != before:
            self._log.warning(error)
        elif before and not error:
            self._log.info(f"the state is saved again, in '{self.folder}'")
