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

"""Spinning of a node that has to wind down, without a context."""
import importlib.util
from types import SimpleNamespace

import pytest

if importlib.util.find_spec("rclpy") is None:
    pytest.skip("rclpy is not installed", allow_module_level=True)

from uvms_adaptive_dynamics.ros import process  # noqa: E402


class Node:
    """Winds down in three spins; the first of them fails."""

    context = SimpleNamespace(ok=lambda: True)
    spins, asked, wound_down, ever = 0, 0, False, True

    def wind_down(self):
        self.asked += 1

    def spin_once(self, timeout_sec):
        self.spins += 1
        if self.spins in (2, 3):
            raise ZeroDivisionError(self.spins)
        self.wound_down = self.ever and self.asked > 0 and self.spins > 5


def test_commands_go_to_neutral_before_an_error_ends_the_node():
    """It is asked to wind down once, goes on spinning until it has, and the first error is
    raised."""
    node = Node()
    with pytest.raises(ZeroDivisionError, match="2"):
        process._spin_and_wind_down(node, node)
    assert node.asked == 1 and node.wound_down and node.spins == 6


def test_a_node_that_does_not_wind_down_ends_all_the_same(monkeypatch):
    """After a limited time."""
    monkeypatch.setattr(process, "WIND_DOWN_S", 0.05)
    node = Node()
    node.ever = False
    with pytest.raises(ZeroDivisionError):
        process._spin_and_wind_down(node, node)
