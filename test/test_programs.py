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

"""Ctrl-C while a program is still importing ends it without a traceback."""
import importlib.util
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from launch_prefix import EXECUTABLES, environment

from uvms_adaptive_dynamics import programs

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = programs.__package__
needs_ros = pytest.mark.skipif(importlib.util.find_spec("rclpy") is None,
                               reason="rclpy is not installed")


def interrupted(*arguments):
    """(status, stderr) of Python with these arguments, interrupted while it imports numpy."""
    child = subprocess.Popen([sys.executable, "-X", "importtime", *arguments], text=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=ROOT,
                             env=environment())
    for line in child.stderr:
        if "numpy." in line:
            break
    child.send_signal(signal.SIGINT)
    said = child.stderr.read()
    return child.wait(60), said


@needs_ros
@pytest.mark.parametrize("name", EXECUTABLES)
def test_a_node_interrupted_in_its_imports_ends_without_a_word(name):
    """Whether it was started as an executable or by `python -m`."""
    for arguments in (["-m", f"{PACKAGE}.{EXECUTABLES[name]}"],
                      ["-c", f"import sys; from {PACKAGE}.programs import {name}; "
                             f"sys.exit({name}())"]):
        status, said = interrupted(*arguments)
        assert status == programs.INTERRUPTED
        assert "Traceback" not in said and "Error" not in said


def test_a_command_interrupted_in_its_imports_ends_without_a_word():
    status, said = interrupted("-m", PACKAGE, "campaign", "--help")
    assert status == programs.INTERRUPTED
    assert "Traceback" not in said and "Error" not in said


def test_every_node_is_installed():
    """The console scripts of setup.py are the functions of `programs`, one per node."""
    scripts = re.findall(r'"(\w+) = {package_name}\.programs:(\w+)"',
                         (ROOT / "setup.py").read_text())
    assert {name for name, _ in scripts} == set(EXECUTABLES)
    for name, function in scripts:
        assert name == function and callable(getattr(programs, function))


def test_an_ignored_ctrl_c_stays_ignored(monkeypatch):
    """As in a shell's background process; otherwise imports begin and end as they were."""
    handler = [signal.SIG_IGN]
    monkeypatch.setattr(signal, "getsignal", lambda number: handler[0])
    monkeypatch.setattr(signal, "signal", lambda number, new: handler.__setitem__(0, new))
    programs.begin_imports()
    programs.end_imports()
    assert handler == [signal.SIG_IGN]
    handler[0] = signal.default_int_handler
    programs.begin_imports()
    assert handler != [signal.default_int_handler]
    programs.end_imports()
    assert handler == [signal.default_int_handler]
