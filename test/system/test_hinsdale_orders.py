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

"""examples/hinsdale_orders.py: the content of its orders; measuring them takes minutes."""
import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "examples"))

import hinsdale_orders  # noqa: E402

NAMES = [f"baseline{k}" for k in (1, 3)] + [f"traj{k:03d}-0" for k in range(29)]


def test_each_run_is_either_learnt_from_or_tested():
    """No order omits a run or uses it twice; halves differ by at most the quiet runs."""
    for order in hinsdale_orders.orders(NAMES, 10):
        assert sorted(order.learnt + order.tested) == NAMES
        assert 0 <= len(order.learnt) - len(order.tested) <= 3


def test_the_quiet_runs_come_first_and_last():
    """The first order begins with them, the second ends with them, both with the same halves."""
    first, last, *random = hinsdale_orders.orders(NAMES, 10)
    assert first.learnt[:2] == last.learnt[-2:] == ["baseline1", "baseline3"]
    assert sorted(first.learnt) == sorted(last.learnt) and first.tested == last.tested
    assert len({tuple(order.learnt) for order in random}) == len(random) == 10
