"""A function in a process of its own, wherever it is called: a crash costs one call, and libraries
keep to one thread.

`python -m uvms_adaptive_dynamics.evaluation.batch.processes` is that process: it gets a function
and its argument by stdin, and ends when its parent does.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import UvmsError, brief

# Characters of what a process that died has said last.
MOST_SAID = 300


class Isolated:
    """Calls functions in processes of their own; `stop` ends those that run."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen] = set()
        self._stopped = False

    def call(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """function(argument), both importable in a new process; raises UvmsError with the sentence
        of whatever ended it."""
        question = pickle.dumps((function, argument))
        with tempfile.TemporaryFile() as said:
            with subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=said,
                                  env=_environment()) as process:
                self._running.add(process)
                try:
                    answer = self._ask(process, question)
                finally:
                    self._running.discard(process)
            if answer:
                worked, value = pickle.loads(answer)
                if worked:
                    return value
                raise UvmsError(value)
            said.seek(0)
            raise UvmsError(_ended(process.returncode, said.read()))

    def _ask(self, process: subprocess.Popen, question: bytes) -> bytes:
        assert process.stdin is not None and process.stdout is not None
        if self._stopped:
            process.kill()
        try:
            # Left open meanwhile: its end tells the process that its parent is gone.
            process.stdin.write(question)
            process.stdin.flush()
        except BrokenPipeError:      # it died at once; what it said tells why
            pass
        return process.stdout.read()

    def stop(self) -> None:
        """Kill what runs, and whatever starts later."""
        self._stopped = True
        for process in tuple(self._running):
            process.kill()


def call_isolated(function: Callable[[Any], Any], argument: Any) -> Any:
    """As `Isolated.call`, for a caller that never stops it."""
    return Isolated().call(function, argument)


def _environment() -> dict[str, str]:
    """This process's own, with this package first and BLAS on one thread: sums over several threads
    have other last digits."""
    root = str(Path(__file__).parents[3])
    path = os.environ.get("PYTHONPATH")
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(threads, "1"),
            "PYTHONPATH": os.pathsep.join([root, *([path] if path else [])])}


def _ended(status: int, said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    last = f": {lines[-1][:MOST_SAID]}" if lines else ""
    if status >= 0:
        return f"its process ended with status {status}{last}."
    name = signal.Signals(-status).name
    memory = " (the machine may have run out of memory)" if name == "SIGKILL" else ""
    return f"its process was ended by {name}{memory}{last}."


def _main() -> None:
    # Answers go out by the real stdout; what anybody prints goes to stderr.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    function, argument = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        answer = True, function(argument)
    except UvmsError as error:
        answer = False, str(error)
    except Exception as error:      # a task that fails in any way is a row of the table
        traceback.print_exc()
        answer = False, f"{type(error).__name__}: {brief(str(error), MOST_SAID)}"
    answers.write(pickle.dumps(answer))
    answers.flush()
    # Not sys.exit: the thread below still reads stdin.
    os._exit(0)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    _main()
