"""Keeps what is learned: the state is saved at intervals and at exit, off all other threads.

The worker copies the state between two ticks; a thread of its own writes it. docs/memory.md.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any, Protocol

from ..config import AUTO, NODE_NAME, Config
from ..disk.folder_lock import FolderLock
from ..disk.kinds import reason_of
from ..disk.writing import remove_partials
from ..errors import UvmsError
from ..estimation.saved_state import SavedState, known_rows, measuring_settings
from ..model.parameter_file import ParameterSet
from ..model.robot import RobotModel

# Stands where others have their namespace; no ROS name has a hyphen.
WITHOUT_NAMESPACE = "no-namespace"
COPY_TIMEOUT_S = 10.0     # of the worker, as for a service


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


class Memory:
    """Starts an estimator from its saved state, and saves it while it runs.

    `start`, then `run` when the worker runs; `begin_anew` before the estimate starts again from
    something else; `stop` asks for the last copy and writes it.
    """

    def __init__(self, config: Config, robot: RobotModel, folder: Path, log: Log):
        self._config, self._log = config, log
        self._state = SavedState(folder, robot.table, measuring_settings(config))
        self._lock = FolderLock(folder)
        self._stopped, self._woken = False, threading.Event()     # by an end, or other settings
        self._writing = threading.Lock()      # the thread and the services
        self._thread: threading.Thread | None = None
        self._saved_rows = 0
        self._request: Callable[[Callable[[Any], Any]], Future] | None = None
        self.saves = 0
        self.error = ""

    @property
    def folder(self) -> Path:
        """The robot's folder."""
        return self._state.folder

    def start(self, estimator: Any) -> str:
        """Restart the estimator from the saved state where `prior.file` is AUTO and one fits; what
        was done, in a sentence."""
        file = self._config.prior.file
        if file != AUTO:
            return f"prior file '{file}'" if file else "built-in prior"
        start = self._state.start()
        if start.refused:
            self._log.warning(start.sentence)
        if start.parameters is not None:
            estimator.restart(start.parameters)
            self._saved_rows = known_rows(start.parameters)
        return start.sentence

    def run(self, request: Callable[[Callable[[Any], Any]], Future]) -> None:
        """Save every `output.save_period`; `request(action)` has the action run on the estimator
        by whoever owns it."""
        self._request = request
        if not self._config.output.save_period:
            return
        try:
            if not self._lock.take():
                self.error = (f"another node saves in '{self.folder}': nothing is saved here. Give "
                              "this node a namespace, a name or an output.directory of its own")
            else:
                remove_partials(self.folder)
        except OSError as error:
            self.error = (f"nothing is saved: '{self.folder}' cannot be written, "
                          f"{reason_of(error)}. Correct output.directory or its permissions")
        if self.error:
            self._log.warning(self.error)
            return
        self._thread = threading.Thread(target=self._run, name="memory")
        self._thread.start()

    def change_settings(self, config: Config) -> None:
        """Save at other intervals from now on, also where nothing was saved until now."""
        self._config = config
        self._woken.set()
        if self._thread is None and self._request is not None and not self._stopped:
            self.run(self._request)

    def begin_anew(self) -> None:
        """Save what is known now; what is saved later does not go on from it."""
        self.save()
        with self._writing:
            self._state.begin_anew()
            self._saved_rows = 0

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
                copied = self._request(lambda estimator: self._copy(estimator, described)).result(
                    COPY_TIMEOUT_S)
                if copied is not None:
                    self._state.save(copied)
                    self._saved_rows = known_rows(copied)
                    self.saves += 1
                self.error = ""
            except (FutureTimeoutError, TimeoutError, CancelledError):
                self._failed("the estimator did not answer within "
                             f"{COPY_TIMEOUT_S:g} s; is the computer overloaded?")
            except (UvmsError, OSError) as error:
                self._failed(str(error))

    def _run(self) -> None:
        while not self._stopped:
            # Without a period until something changes.
            if self._woken.wait(self._config.output.save_period or None):
                self._woken.clear()
            else:
                self.save()

    def _copy(self, estimator: Any, described: bool) -> ParameterSet | None:
        """The state, on the thread that owns the estimator; None where nothing is new: an untouched
        prior is never saved."""
        learned = estimator.information.rows_learned
        rows = known_rows(estimator.prior) + learned
        if not learned or rows == self._saved_rows:
            return None
        return estimator.parameter_set(described)

    def _failed(self, reason: str) -> None:
        self.error = f"the state was not saved: {reason}"
        self._log.warning(self.error)
