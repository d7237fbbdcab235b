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

"""A few kills; `python test/kill_campaign.py` runs any number, and compares R^2."""
from kill_campaign import campaign


def test_a_kill_costs_one_interval_and_no_file():
    """Every restart continues from an intact state that is at most one interval old."""
    found = campaign(5, 0.2, 10.0, learned_s=1.0, after_s=0.0)
    assert len(found) == 5
