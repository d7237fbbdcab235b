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

"""Terminal output: progress and colours on a terminal, plain text elsewhere.

Drawn by `rich`; without it the text is the same but plain.
"""
from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

INSTALLED_PROGRAM = "uvms"  # name of the installed script
REFRESH = 0.2       # [s] between plain progress lines


def progress_on_terminal() -> Callable[[str, float], None]:
    """A function of (name, fraction done) that shows progress on stderr; silent if that is no
    terminal."""
    if not sys.stderr.isatty():
        return lambda name, share: None
    rich_progress = _rich("rich.progress")
    return _plain_progress() if rich_progress is None else _bar(rich_progress)


def coloured(text: str, style: str, stream: TextIO | None = None) -> str:
    """The text in a rich style ('bold red') if the stream (default stdout) is a terminal with
    colours; otherwise unchanged."""
    stream = stream or sys.stdout
    console = _rich("rich.console") if stream.isatty() else None
    if console is None:
        return text
    terminal = console.Console(file=stream, highlight=False, soft_wrap=True)
    with terminal.capture() as capture:
        terminal.print(text, style=style, markup=False, end="")
    return str(capture.get())


def _rich(module: str) -> Any:
    """A module of rich; None if it is not installed."""
    try:
        return __import__(module, fromlist=["x"])
    except ImportError:
        return None


def _bar(rich_progress: Any) -> Callable[[str, float], None]:
    from rich.console import Console
    bar = rich_progress.Progress(console=Console(stderr=True), transient=True)
    tasks: dict[str, Any] = {}

    def show(name: str, share: float) -> None:
        if name not in tasks:
            bar.start()
            tasks[name] = bar.add_task(name, total=1.0)
        bar.update(tasks[name], completed=share)
        if share >= 1.0:
            bar.refresh()
            bar.stop()
            del tasks[name]
    return show


def _plain_progress() -> Callable[[str, float], None]:
    last = 0.0

    def show(name: str, share: float) -> None:
        nonlocal last
        if time.monotonic() - last > REFRESH or share >= 1.0:
            last = time.monotonic()
            sys.stderr.write(f"\r{name}: {100 * share:5.1f} %" + ("\n" if share >= 1.0 else ""))
            sys.stderr.flush()
    return show
