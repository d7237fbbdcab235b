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

"""Starts of the programs, and what Ctrl-C does before one has begun.

Imports take a second or more. A KeyboardInterrupt in them ends in a traceback, or in another error
of the C extension that it meets.
"""
from __future__ import annotations

import os
import signal
from functools import partial
from importlib import import_module
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT     # exit status, as a shell's


def begin_imports() -> None:
    """Let Ctrl-C end this process at once, without a word, until `end_imports`.

    For a process's main thread, before anything is imported that takes time.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:   # else it may be ignored
        signal.signal(signal.SIGINT, _end)


def end_imports() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)       # nothing has begun that would have to be ended


def _run(module: str) -> int:
    begin_imports()
    return int(import_module(f".{module}", __package__).main())


# Entry points in setup.py. (With `python -m` the modules themselves begin.)
estimator = partial(_run, "ros.node")
feedforward = partial(_run, "ros.feedforward_node")
twin = partial(_run, "ros.twin_node")
identify = partial(_run, "ros.identification_node")
simulated_robot = partial(_run, "ros.demo.simulated_robot")
closed_loop_controller = partial(_run, "ros.demo.controller")
