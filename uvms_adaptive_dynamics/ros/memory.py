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

"""Save what is learnt, at intervals and at exit, on a thread of its own.

The worker copies the state between two ticks; the memory thread writes it. See docs/memory.md.
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
from ..errors import ParameterError, UvmsError, in_words
from ..estimation.learned import known_rows, measuring_settings
from ..estimation.saved_state import SavedState, Start
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from ..model.robot_identity import robot_identity

# Folder name for nodes without a namespace; no ROS name contains a hyphen.
WITHOUT_NAMESPACE = "no-namespace"
COPY_TIMEOUT_S = 10.0     # for an answer of the worker, as for a service
# At exit: `ros2 launch` sends SIGTERM 5 s after SIGINT, then SIGKILL.
EXIT_TIMEOUT_S = 3.0
# How long a start waits for another node to release the folder; an ending node needs no longer.
LOCK_TIMEOUT_S = 2.0


class Log(Protocol):
    """Common interface of ROS loggers and test loggers."""

    def info(self, message: str) -> Any: ...
    def warning(self, message: str) -> Any: ...


def robot_folder(directory: Path, namespace: str, name: str, robot: RobotModel) -> Path:
    """The robot's folder in `output.directory`: <namespace>/<robot>.

    Namespace levels are joined by dots; a node name other than NODE_NAME is appended after a plus.
    ROS names contain neither, so no two nodes share a folder.
    """
    place = ".".join(filter(None, namespace.split("/"))) or WITHOUT_NAMESPACE
    if name != NODE_NAME:
        place = f"{place}+{name}"
    return directory / place / robot_identity(robot)


def next_save(begin: float, end: float, period: float) -> float:
    """When the next save begins after one from `begin` to `end` [s]; period: `output.save_period`.

    A kill just before the next save completes loses all data since `begin`: half a period plus the
    duration of that save, for which the other half remains. A disk that needs longer gets a rest.
    """
    due = begin + period / 2
    return due if end <= due else end + period / 2


class _Copy(NamedTuple):
    """State of an estimate, None if nothing is new; origin: what the estimate started from."""

    parameters: ParameterSet | None
    origin: ParameterSet


class Memory:
    """Finds the saved state that an estimator starts from, and saves the state while it runs.

    Call `start`, then `run` when the worker runs; `keep` just before the estimate restarts from
    something else; `stop` to write the last copy.
    """

    def __init__(self, config: Config, robot: RobotModel, folder: Path, log: Log):
        self._config, self._log = config, log
        self._state = SavedState(folder, robot.table, measuring_settings(config))
        self._lock = FolderLock(folder)
        self._stopped, self._woken = False, threading.Event()     # at the end, or for work
        self._writing = threading.Lock()      # memory thread versus the stopping thread
        self._thread: threading.Thread | None = None
        self._kept: deque[_Copy] = deque()    # copies to write first
        self._origin: ParameterSet | None = None      # of the saved estimate, once written
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
        """Whether this node saves the state in this folder."""
        return self._thread is not None and self._config.output.save_period > 0

    def start(self) -> Start:
        """Start of the estimate: the saved state if `prior.file` is AUTO and a state fits,
        otherwise the prior (None)."""
        if self._config.output.save_period:
            self._take_lock(LOCK_TIMEOUT_S)      # before reading: another holder may still save
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
        """Start saving, twice per `output.save_period`.

        `request(action)` runs the action on the estimator's own thread; failed: whether the
        estimator has failed, so that there is nothing worth saving.
        """
        self._request, self._failed = request, failed
        held = self._lock.held
        if not self._config.output.save_period or not self._take_lock():
            return
        if not held:
            self._state.begin_again()      # the previous holder may have saved since the start
        remove_partials(self.folder)
        self._thread = threading.Thread(target=self._run, name="memory")
        self._thread.start()

    def change_settings(self, config: Config) -> None:
        """Change the save interval; starts saving if it was off."""
        before, self._config = self._config.output.save_period, config
        if config.output.save_period == before:
            return
        self._woken.set()
        if self._thread is None and self._request is not None and not self._stopped:
            self.run(self._request, self._failed)

    def keep(self, estimator: Any) -> None:
        """Copy the present state for saving; later saves begin a new file.

        Call it on the estimator's own thread just before a restart: no row is lost in between, and
        nothing waits for the disk.
        """
        if self.saving and not self._failed():
            self._kept.append(self._copy(estimator, False))
            self._woken.set()

    def stop(self) -> None:
        """Save one last time and end the thread; the estimator must still answer requests."""
        self._stopped = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
            self.save(described=True)
        self._lock.release()

    def save(self, described: bool = False) -> None:
        """Save the state if something was learnt; a failure is logged and retried at the next
        interval.

        described: include the human-readable description, which takes half a tick.
        """
        if not self.saving or self._request is None:
            return
        with self._writing:
            try:
                if not self._lock.take():     # the folder was removed, and another node came
                    raise UvmsError(f"another node saves in '{self.folder}' since it was removed")
                self._write_kept()
                # The file has the last good estimate, and a failed estimator may not even answer.
                copied = None if self._failed() else self._copied(self._request, described)
                if copied is not None:
                    self._write(copied)
                self._log_error("")
            except Exception as error:  # whatever the error, saving must continue
                self._log_error(f"the state was not saved: {in_words(error)}")

    def _run(self) -> None:
        due = time.monotonic() + self._config.output.save_period / 2
        while not self._stopped:
            period = self._config.output.save_period
            due = min(due, time.monotonic() + period / 2)
            # Without a save period, wait until something changes.
            if self._woken.wait(max(due - time.monotonic(), 0.0) if period else None):
                self._woken.clear()
                if self._kept:
                    self.save()
            else:
                begin = time.monotonic()
                self.save()
                due = next_save(begin, time.monotonic(), period)

    def _take_lock(self, timeout: float = 0.0) -> bool:
        """Try to lock the folder within `timeout` [s]; logs the reason on failure."""
        reason, end = "", time.monotonic() + timeout
        try:
            while not self._lock.take():
                if time.monotonic() >= end:
                    reason = (f"another node saves in '{self.folder}', so this node saves nothing. "
                              "Give it a namespace, a name or an output.directory of its own")
                    break
                time.sleep(0.05)
        except OSError as error:
            reason = (f"nothing is saved: '{self.folder}' cannot be written, {reason_of(error)}. "
                      "Correct output.directory or its permissions")
        self._log_error(reason)
        return not reason

    def _copied(self, request: Callable[[Callable[[Any], Any]], Future],
                described: bool) -> _Copy | None:
        """A copy made on the estimator's own thread, None if it is no longer needed.

        Raises UvmsError if the estimator does not answer in time.
        """
        answer = request(lambda estimator: self._copy(estimator, described))
        limit = EXIT_TIMEOUT_S if described else COPY_TIMEOUT_S
        end = time.monotonic() + limit
        while not wait([answer], 0.1).done:
            if self._stopped and not described:      # `stop` requests its own copy
                answer.cancel()
                return None
            if time.monotonic() > end:
                answer.cancel()
                raise UvmsError(f"the estimator did not answer within {limit:g} s; is the computer "
                                "overloaded?")
        return answer.result()

    def _copy(self, estimator: Any, described: bool) -> _Copy:
        """Copy the state on the estimator's thread; an unchanged prior is never saved."""
        learned, origin = estimator.information.rows_learned, estimator.prior
        known = origin is self._origin or self._origin is None
        if not learned or known and known_rows(origin) + learned == self._saved_rows:
            return _Copy(None, origin)
        return _Copy(estimator.parameter_set(described), origin)

    def _write_kept(self) -> None:
        while self._kept:
            try:
                self._write(self._kept[0])
            except ParameterError as error:     # nor could it be written later
                self._log.warning(f"an earlier state was not saved: {error}")
            self._kept.popleft()

    def _write(self, copied: _Copy) -> None:
        if self._origin is not None and copied.origin is not self._origin:
            self._state.begin_again()
        self._origin = copied.origin
        if copied.parameters is not None:
            self._state.save(copied.parameters)
            self._saved_rows = known_rows(copied.parameters)
            self.saves += 1

    def _log_error(self, error: str) -> None:
        """Log an error once, and its end once."""
        before, self.error = self.error, error
        if error and error != before:
            self._log.warning(error)
        elif before and not error:
            self._log.info(f"the state is saved again, in '{self.folder}'")
