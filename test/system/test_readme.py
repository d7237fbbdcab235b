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

"""The README's steps after the set-up: its commands and its script run as written."""
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHANNELS = ("surge", "sway", "heave", "roll", "pitch", "yaw", "axis_e", "axis_d", "axis_c",
            "axis_b")
SECONDS = "4"     # of the recording, in place of the README's minute


@pytest.fixture(scope="module")
def section():
    """(shell lines, script)."""
    text = (ROOT / "README.md").read_text().partition("## After the set-up\n")[2]
    shell, script = re.findall(r"^```(?:python)?\n(.*?)^```$", text.partition("\n## ")[0],
                               re.MULTILINE | re.DOTALL)
    return shell.splitlines(), script


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A writable folder like the checkout."""
    if not Path(sys.prefix, "bin/activate").is_file():
        pytest.skip(f"{sys.prefix} is no virtual environment; run by bootstrap.py to run this test")
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("uvms_adaptive_dynamics", "config"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def shell(lines, folder, **options):
    return subprocess.Popen(["bash", "-ec", "\n".join(lines)], cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            start_new_session=True, **options)


def test_the_commands_and_the_script_run(section, checkout):
    """Up to an interval for every channel of a wanted motion."""
    lines, script = section
    commands = [line.replace("--duration 60", f"--duration {SECONDS}") for line in lines[:-1]]
    assert len(commands) == 4 and SECONDS in commands[2]
    (checkout / "motion.py").write_text(script)
    process = shell([*commands, "python motion.py"], checkout)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    told = re.findall(r"^(\w+) +(-?[\d.]+) \+- ([\d.]+) N", output, re.MULTILINE)
    assert [name for name, _, _ in told] == list(CHANNELS)
    assert all(float(half) > 0.0 for _, _, half in told)


def test_the_node_starts_without_ros2_and_ends_by_ctrl_c(section, checkout):
    """It reports that it is ready; SIGINT goes to the whole group, as from a terminal."""
    lines, _ = section
    process = shell([*lines[:2], f"exec {lines[-1]}"], checkout,
                    env={**os.environ, "PYTHONUNBUFFERED": "1"})
    said = []
    for line in process.stdout:
        said.append(line)
        if "waiting" in line or "inputs" in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0, "".join(said) + rest
