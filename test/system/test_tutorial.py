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

"""The tutorial's commands, run one after the other as by a reader."""
import json
import re
from pathlib import Path

import pytest

from uvms_adaptive_dynamics.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
SHORTER = {"--duration 60": "--duration 18"}


def tutorial_commands():
    """The commands of part 2, with shorter recordings."""
    text = (ROOT / "docs/tutorial.md").read_text()
    part = text[text.index("## 2."):text.index("## 3.")]
    for block in re.findall(r"^```\n(.*?)^```", part, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            for long, short in SHORTER.items():
                line = line.replace(long, short)
            yield line


@pytest.mark.campaign
def test_the_tutorial_ends_with_a_held_out_test(tmp_path, monkeypatch):
    """Every command of its second part succeeds; the model predicts the second recording."""
    monkeypatch.chdir(tmp_path)
    for line in tutorial_commands():
        *start, command = line.split(" ", 3)
        assert start == ["python", "-m", "uvms_adaptive_dynamics"], line
        assert main(command.split()) == 0, line
    channels = json.loads((tmp_path / "held_out/metrics.json").read_text())["channels"]
    assert all(channel["r2"] > 0.8 for channel in channels.values())
