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

"""Run a function in a process of its own, so that a crash costs only one call and libraries use one
thread; or a generator, which makes items ahead while earlier ones are used.

`python -m uvms_adaptive_dynamics.processes [MODULE]` is that process: it imports the module, reads
a function and its argument from stdin, and ends with its parent.
"""
from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import UvmsError, brief

# Characters kept of a dead process's last words.
MOST_SAID = 300
# Kinds of answers: an item, the end, or a sentence on why there are no more items.
ITEM, END, REFUSAL = range(3)


class Started:
    """A process that has been started for a `Stream`, which it waits for, and ends with this
    context or with that of the stream."""

    def __init__(self, module: str = "", environment: dict[str, str] | None = None):
        """module: what it imports while it waits; environment: its variables (None: this
        process's)."""
        self.said = tempfile.TemporaryFile()    # noqa: SIM115 (closed by __exit__)
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, *([module] if module else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said,
            env=_with_package(environment or dict(os.environ)))

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *raised: object) -> None:
        if self.said.closed:        # by the stream that it was started for
            return
        self.process.kill()
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):     # if the process never read its input
            self.process.stdin.close()
        with self.said, self.process:       # closes the other pipe and waits for the process
            pass


class Stream:
    """The items of the iterator function(argument), made in a separate process. It starts at once,
    waits while nobody takes its items, and ends with this context.

    Iterating raises UvmsError with the reason if the process ends before the last item.
    """

    def __init__(self, function: Callable[[Any], Iterator[Any]], argument: Any,
                 environment: dict[str, str] | None = None, owner: str = "its",
                 started: Started | None = None):
        """function and argument must be importable in a new process; environment: its variables
        (None: this process's); owner: whose process it is, for error messages; started: a process
        that has been started for it."""
        self._owner, self._started = owner, started or Started(environment=environment)
        self.process = self._started.process
        assert self.process.stdin is not None
        try:
            # Stays open: when it closes, the process knows that its parent is gone.
            self.process.stdin.write(pickle.dumps((function, argument)))
            self.process.stdin.flush()
        except BrokenPipeError:      # it died at once; its stderr says why
            pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *raised: object) -> None:
        self._started.__exit__(*raised)

    def __iter__(self) -> Iterator[Any]:
        assert self.process.stdout is not None
        while True:
            try:
                kind, value = pickle.load(self.process.stdout)
            except (EOFError, pickle.UnpicklingError):      # also in the middle of an answer
                raise UvmsError(self._ended()) from None
            if kind == END:
                return
            if kind == REFUSAL:
                raise UvmsError(value)
            yield value

    def _ended(self) -> str:
        status = self.process.wait()
        said = self._started.said
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
        last = f": {lines[-1][:MOST_SAID]}" if lines else ""
        if status >= 0:
            return f"{self._owner} process ended with status {status}{last}."
        name = signal.Signals(-status).name
        memory = " (the machine may have run out of memory)" if name == "SIGKILL" else ""
        return f"{self._owner} process was ended by {name}{memory}{last}."


class Isolated:
    """Calls functions in separate processes; `stop` kills those that run."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen] = set()
        self.stopped = False

    def call(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """function(argument), both importable in a new process; raises UvmsError with the reason if
        it fails."""
        with Stream(_once, (function, argument), _one_thread()) as stream:
            self._running.add(stream.process)
            try:
                if self.stopped:
                    stream.process.kill()
                (value,) = stream
            finally:
                self._running.discard(stream.process)
        return value

    def stop(self) -> None:
        """Kill all running processes, and any that start later."""
        self.stopped = True
        for process in tuple(self._running):
            process.kill()


def call_isolated(function: Callable[[Any], Any], argument: Any) -> Any:
    """Like `Isolated.call`, for callers that never stop it."""
    return Isolated().call(function, argument)


def _once(call: tuple[Callable[[Any], Any], Any]) -> Iterator[Any]:
    function, argument = call
    yield function(argument)


def _one_thread() -> dict[str, str]:
    """This process's variables, with BLAS on one thread: sums over several threads differ in their
    last digits."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(threads, "1")}


def _with_package(environment: dict[str, str]) -> dict[str, str]:
    """The variables, with this package first in PYTHONPATH."""
    root, path = str(Path(__file__).parents[1]), environment.get("PYTHONPATH")
    return {**environment, "PYTHONPATH": os.pathsep.join([root, *([path] if path else [])])}


def _main() -> None:
    # Ctrl-C reaches every process of a terminal, but only the parent decides about this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The real stdout carries the answers; anything printed goes to stderr.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def answer(kind: int, value: Any = None) -> None:
        answers.write(pickle.dumps((kind, value)))
        answers.flush()
    for module in sys.argv[1:]:
        import_module(module)
    function, argument = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        for item in function(argument):
            answer(ITEM, item)
        answer(END)
    except UvmsError as error:
        answer(REFUSAL, str(error))
    except Exception as error:      # any failure of a task becomes a row of the table
        traceback.print_exc()
        answer(REFUSAL, f"{type(error).__name__}: {brief(str(error), MOST_SAID)}")
    # Not sys.exit: the other thread still reads stdin.
    os._exit(0)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    _main()
