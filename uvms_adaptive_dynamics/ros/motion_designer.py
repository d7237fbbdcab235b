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

"""Design motions in a separate process, one at a time, in a folder that keeps them."""
from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..config import Config
from ..control.excitation.trajectory import Trajectory
from ..control.guide import Request
from ..errors import ParameterError, in_words
from ..model.parameter_set import ParameterSet
from .design_process import UNDER_WAY, read_answer, write_question, write_request

MODULE = f"{__package__}.design_process"
# Give up a design after PATIENCE times its processor time, for a busy machine, plus START_S.
PATIENCE, START_S = 5.0, 20.0


class MotionDesigner:
    """`start` begins a design, `restate` updates the promise of the current motion, `poll` returns
    the result.

    Call all of them on one thread, since a process must not be cancelled while it is polled.
    """

    def __init__(self, config: Config, description: str | None, folder: Path):
        """folder: an existing folder, which keeps the last motion and the input of its design."""
        self._config, self._description, self.folder = config, description, folder
        self._process: subprocess.Popen | None = None
        self._until = 0.0

    @property
    def busy(self) -> bool:
        """Whether a design is in progress."""
        return self._process is not None

    def start(self, known: ParameterSet, free: Sequence[str], request: Request,
              depth: float) -> None:
        """Begin a design; raises UvmsError if the folder cannot be written or no process begins.
        """
        write_request(self.folder, self._config, self._description, known, free, request, depth)
        self._begin()

    def restate(self, trajectory: Trajectory, known: str, at: float) -> None:
        """Begin to update the promise of a motion flown for `at` [s].

        known: present knowledge, text of a parameter file. Raises UvmsError as `start`.
        """
        write_question(self.folder, self._config, self._description, trajectory, known)
        self._begin(UNDER_WAY, str(at))

    def _begin(self, *options: str) -> None:
        # At lower priority than the control loop and the estimator on the same machine.
        try:
            self._process = subprocess.Popen(
                ["nice", "-n", "10", sys.executable, "-m", MODULE, str(self.folder), *options],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                start_new_session=True)
        except OSError as error:
            raise ParameterError(f"no process for the design can begin: {in_words(error)}."
                                 ) from None
        self._until = (time.monotonic() + START_S
                       + PATIENCE * self._config.identification.design_time)

    def poll(self) -> Trajectory | None:
        """The motion, once it is ready, else None; raises UvmsError if the design failed."""
        if self._process is None:
            return None
        if self._process.poll() is None:
            if time.monotonic() > self._until:
                self.cancel()
                raise ParameterError("the design took too long on this machine; reduce "
                                     "excitation.iterations, .starts or .duration.")
            return None
        process, self._process = self._process, None
        said = process.communicate()[1].strip()
        if process.returncode:
            last = said.splitlines()[-1] if said else f"status {process.returncode}"
            raise ParameterError(f"the design ended with an error: {last}")
        return read_answer(self.folder)

    def cancel(self) -> None:
        """Cancel a design in progress."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
