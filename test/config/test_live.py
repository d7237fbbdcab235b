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

"""Which settings may change while the node runs."""
import re
from pathlib import Path

from uvms_adaptive_dynamics.config import LIVE, LIVE_BY_NODE, Config, fixed_in


def test_every_setting_may_change_or_has_a_reason():
    """LIVE contains only existing settings."""
    names = {name for name, _, _ in Config().settings()}
    assert names >= LIVE
    for node, used in LIVE_BY_NODE.items():
        for name in names:
            assert (fixed_in(node)(name) is None) == (name in used)
    fixed = fixed_in("estimator")
    assert fixed("dvl.topic").why == "topics are subscribed at start"
    assert "restart" in fixed("dvl.topic").instead
    assert "~/load" in fixed("prior.file").why


def test_a_node_refuses_what_only_others_use():
    """A change without effect would be worse than none."""
    assert fixed_in("estimator")("feedforward.timeout") == (
        "only the node feedforward uses it", "Change it there.")
    assert fixed_in("feedforward")("imu.timeout").why == (
        "only the nodes estimator and twin use it")
    assert fixed_in("twin")("dvl.timeout") is None


def test_all_of_a_kind_are_alike():
    """All timeouts, plausibility limits and output periods may change."""
    for name, _, _ in Config().settings():
        if name.endswith(".timeout") or name.startswith("limits.") or (
                name.startswith("output.") and name.endswith("_period")):
            assert name in LIVE, name


def test_the_documentation_lists_them_all():
    """The table in docs/ros_interface.md lists exactly these settings."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "ros_interface.md").read_text()
    table = text.split("## Settings that change while the node runs")[1].split("\n\nEach node")[0]
    listed = set(re.findall(r"`([a-z_]+\.[a-z_*]+)`", table))
    found = {name for name in LIVE if name in listed or f"{name.split('.')[0]}.*" in listed}
    assert found == LIVE
    assert {name for name in listed if not name.endswith("*")} <= LIVE
