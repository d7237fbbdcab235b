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

"""config/uvms_estimator.service: valid for systemd, and it starts what exists."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "config" / "uvms_estimator.service"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_has_nothing_to_say_of_it():
    """An unknown directive is only a warning, so nothing may be printed."""
    checked = subprocess.run(["systemd-analyze", "verify", str(UNIT)], capture_output=True,
                             text=True, check=False, timeout=60)
    about = [line for line in checked.stderr.splitlines() if UNIT.name in line]
    assert checked.returncode == 0 and not about, about


def test_its_launch_file_has_its_arguments():
    """As it names them."""
    command = re.search(r"exec ros2 launch (\w+) ([\w.]+)((?:\s|\\|\w+:=[\w/.]+)*)'",
                        UNIT.read_text())
    assert command and command[1] == "uvms_adaptive_dynamics"
    launch_file = (ROOT / "launch" / command[2]).read_text()
    given = re.findall(r"(\w+):=", command[3])
    assert given and all(f'("{name}", ' in launch_file for name in given)
