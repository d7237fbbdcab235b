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

"""The input thread of a node: what it logs when signals restart."""
from collections import Counter
from types import SimpleNamespace

import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel

pytest.importorskip("rclpy")
from uvms_adaptive_dynamics.ros.inputs import NodeInputs  # noqa: E402


@pytest.mark.parametrize("kept, said", [("estimate", "signals restarted, estimate kept: "),
                                        ("", "signals restarted: ")])
def test_a_restart_names_what_is_kept(monkeypatch, kept, said):
    """The estimate at the estimator; nothing at the twin, which has none."""
    monkeypatch.setattr("uvms_adaptive_dynamics.ros.inputs.by_topic", lambda inputs: [])
    lines, config = [], Config()
    log = SimpleNamespace(warning=lambda line, **_: lines.append(line))
    read = NodeInputs(SimpleNamespace(get_logger=lambda: log), config,
                      RobotModel.from_config(config), None, None, kept=kept)
    read.front_end.resets = Counter({"a clock jumped": 1})
    read._check_resets()
    assert len(lines) == 1 and lines[0].startswith(said + "a clock jumped, 1 times so far")
