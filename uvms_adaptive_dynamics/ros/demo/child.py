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

"""Processes of the demonstration: nodes in the background, package commands in the foreground."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ... import PACKAGE
from ...errors import UvmsError

ROOT = Path(__file__).resolve().parents[3]
START_TIMEOUT_S, STOP_TIMEOUT_S = 30.0, 20.0
LAST_LINES = 15


class Child:
    """A module of the package in its own process; its output goes to a file, and to the terminal if
    it fails."""

    def __init__(self, name: str, log: Path, *arguments: str):
        self.name, self.log = name, log
        with log.open("w") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *arguments], env=environment(), stdout=stream,
                stderr=subprocess.STDOUT, start_new_session=True)

    def check(self) -> None:
        """Raise UvmsError with its last lines if it has failed."""
        if self.process.poll() not in (None, 0):
            raise UvmsError(f"the {self.name} ended with status {self.process.returncode}. Its "
                            f"last lines ({self.log}):\n{self.last_lines()}")

    def wait_for_estimator(self, is_up: Callable[[], bool]) -> None:
        """Wait until the estimator is up; raises UvmsError if the process fails or takes too
        long."""
        end = time.monotonic() + START_TIMEOUT_S
        while not is_up():
            self.check()
            if time.monotonic() > end:
                raise UvmsError(f"waited {START_TIMEOUT_S:g} s for the estimator to subscribe. Its "
                                f"last lines ({self.log}):\n{self.last_lines()}")

    def last_lines(self) -> str:
        """The last lines of its output."""
        lines = self.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return "\n".join(f"  | {line}" for line in lines)

    def stop(self) -> None:
        """Ask it to end; kill it if it does not."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def run_command(*arguments: str | Path, quiet: bool = False) -> None:
    """Run `python -m uvms_adaptive_dynamics ...` to its end; raises UvmsError if it fails."""
    words = [str(argument) for argument in arguments]
    done = subprocess.run([sys.executable, "-m", PACKAGE, *words], env=environment(), check=False,
                          stdout=subprocess.DEVNULL if quiet else None)
    if done.returncode:
        raise UvmsError(f"'{PACKAGE} {' '.join(words)}' ended with status {done.returncode}; see "
                        "the reason above.")


def environment() -> dict[str, str]:
    """Environment for a child that may import rclpy."""
    # Remove both or neither: with only one of them, rclpy from wheels does not find its libraries.
    bootstrapped = "_ROS_WHEELS_BOOTSTRAP_COMPLETE"
    left_out = {bootstrapped, "LD_LIBRARY_PATH"} if bootstrapped in os.environ else set()
    found = {key: value for key, value in os.environ.items() if key not in left_out}
    paths = filter(None, [str(ROOT), found.get("PYTHONPATH")])
    return {**found, "PYTHONPATH": os.pathsep.join(paths)}
