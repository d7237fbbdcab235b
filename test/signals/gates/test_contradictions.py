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

"""Spans in which a sensor contradicted itself."""

from uvms_adaptive_dynamics.signals.gates.contradictions import Contradictions


def test_a_span_lasts_until_it_is_closed_and_ends_with_the_last_contradiction():
    """Open: everything after its begin. Closed: from its begin to the last one noted."""
    found = Contradictions()
    assert not found.cover(0.0, 1e9) and not found.is_open
    found.add(1.0, 1.1)
    found.add(1.2, 1.3)
    assert found.is_open and found.begin == 1.0
    assert found.cover(5.0, 6.0) and not found.cover(0.0, 0.9)
    found.close()
    assert found.cover(1.2, 1.4) and not found.cover(1.31, 6.0) and not found.is_open
    found.add(9.0, 9.1)
    assert found.cover(1.2, 1.25) and found.cover(20.0, 21.0) and not found.cover(2.0, 8.9)
