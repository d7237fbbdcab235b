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

"""Progress and colours on a terminal with rich; the same text, plain, elsewhere."""
import io
import sys

import pytest

from uvms_adaptive_dynamics import terminal


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        return True


def test_text_for_a_file_has_no_colours():
    """Whether or not rich is installed."""
    assert terminal.coloured("[set] a: 1", "bold red", io.StringIO()) == "[set] a: 1"


def test_text_for_a_terminal_without_rich_is_plain(monkeypatch):
    """A station's computer may not have it."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert terminal.coloured("x", "bold red", Terminal()) == "x"


def test_text_for_a_terminal_is_coloured(monkeypatch):
    """Brackets are text, not rich's markup."""
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = terminal.coloured("[bold]x[/]", "bold red", Terminal())
    assert "[bold]x[/]" in shown and shown.startswith("\x1b[")


@pytest.mark.parametrize("rich", [True, False])
def test_progress_ends_at_a_hundred_per_cent(monkeypatch, rich):
    """On a terminal, with and without rich, for several recordings in a row."""
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    else:
        pytest.importorskip("rich")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    show = terminal.progress_on_terminal()
    for name in ("first", "second"):
        show(name, 0.2)
        show(name, 1.0)
    assert "100" in stream.getvalue() and "second" in stream.getvalue()


def test_progress_is_silent_without_a_terminal(monkeypatch):
    """Nothing in log files."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    terminal.progress_on_terminal()("x", 1.0)
    assert stream.getvalue() == ""
