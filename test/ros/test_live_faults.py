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

"""Faults of drivers over real ROS 2: some of those of test/live_faults.py, each for a few seconds.

All of them: `python test/live_faults.py`.
"""
import os

import pytest
from live_faults import FAULTS, first, run, verdict

# [s] from the fault until it is said on a machine at rest (UVMS_LIVE=all): a timeout of 1 s, ten
# messages, or two looks, and a second. Beside other tests: while the fault lasts.
WITHIN = {"silence": 2.5, "NaN": 1.5, "two publishers": 2.5}
LASTS = 5.0     # [s]


@pytest.mark.parametrize("name", WITHIN)
def test_a_fault_is_said_and_so_is_its_end(name):
    """In the log, in time; the input's diagnostic leaves OK; samples go on."""
    fault = FAULTS[name]._replace(duration=LASTS)
    heard, samples = run(fault, healthy=3.0, recovery=3.0)
    good, sentence = verdict(fault, heard)
    assert good, (sentence, heard.log)
    within = WITHIN[name] if os.environ.get("UVMS_LIVE") == "all" else LASTS
    assert 0.0 < first(heard.log, fault.said) < within
    assert any(at > 0.0 and text.startswith(("input imu: WARN", "input imu: ERROR"))
               for at, text in heard.diagnostics)
    assert samples[2] > 50, samples
