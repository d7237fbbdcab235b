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

"""The shell script, run by bash itself, completes commands, options, choices and files."""
import shutil
import subprocess

import pytest

from uvms_adaptive_dynamics.__main__ import COMMANDS
from uvms_adaptive_dynamics.completion import script

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
TRY = """
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMPREPLY=(); _uvms; echo "${COMPREPLY[*]}"; }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The script in a file, next to a file to complete."""
    folder = tmp_path_factory.mktemp("shell")
    (folder / "script").write_text(script(COMMANDS) + TRY)
    (folder / "dive.BIN").write_text("")
    return folder


@pytest.mark.parametrize("words, expected", [
    ("uvms ev", {"evaluate"}), ("uvms evaluate --spl", {"--split"}),
    ("uvms simulate --storage ''", {"mcap", "sqlite3"}), ("uvms completion z", {"zsh"}),
    ("uvms inspect di", {"dive.BIN"}), ("uvms evaluate --config di", {"dive.BIN"})])
def test_words_are_completed(made, words, expected):
    """The words that bash would offer."""
    done = subprocess.run(["bash", "-c", f"source ./script; try {words}"], cwd=made, text=True,
                          capture_output=True, check=True, timeout=30)
    assert set(done.stdout.split()) == expected


def test_every_command_is_offered(made):
    """If nothing has been typed yet."""
    done = subprocess.run(["bash", "-c", "source ./script; try uvms ''"], cwd=made, text=True,
                          capture_output=True, check=True, timeout=30)
    assert set(done.stdout.split()) == set(COMMANDS)
