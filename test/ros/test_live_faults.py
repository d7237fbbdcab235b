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

"""Faults of drivers over real ROS 2: some of those of test/live_faults.py, one after the other and
each no longer than it takes to be said.

All of them, each with a node of its own: `python test/live_faults.py`.
"""
import os
import time

import pytest
from live_faults import FAULTS, first, robot_and_node, spent

# [s] from the fault until it is said on a machine at rest (UVMS_LIVE=all): a timeout of 1 s, ten
# messages, or two looks, and a second. Beside other tests: while the fault lasts. The second
# publisher stays, and so comes last.
WITHIN = {"silence": 2.5, "NaN": 1.5, "two publishers": 2.5}
LASTS = 5.0     # [s]
PATIENCE = 20.0     # [s] for what has no time of its own: the first samples, a diagnostic, an end


@pytest.fixture(scope="module")
def live():
    """(driver, what is heard) of a node that has made samples."""
    with robot_and_node() as (driver, heard):
        spent(driver, heard, time.monotonic(), PATIENCE, lambda: heard.samples > 100)
        yield driver, heard


@pytest.mark.parametrize("name", WITHIN)
def test_a_fault_is_said_and_so_is_its_end(live, name):
    """In the log, in time; the input's diagnostic leaves OK, and comes back where the end is said;
    samples go on."""
    (driver, heard), fault = live, FAULTS[name]
    heard.log.clear()
    heard.diagnostics.clear()

    def levels():
        return [text.split()[2] for _, text in heard.diagnostics if text.startswith("input imu: ")]

    def is_said():
        return first(heard.log, fault.said) is not None and levels()[-1:] in (["WARN:"], ["ERROR:"])

    since = time.monotonic()
    fault.begin(driver)
    spent(driver, heard, since, PATIENCE, is_said)
    assert is_said(), (heard.log, heard.diagnostics)
    within = WITHIN[name] if os.environ.get("UVMS_LIVE") == "all" else LASTS
    assert first(heard.log, fault.said) < within
    fault.end(driver)
    spent(driver, heard, since, PATIENCE, lambda: not fault.after or (
        first(heard.log, fault.after) is not None and levels()[-1] == "OK:"))
    assert not fault.after or first(heard.log, fault.after) is not None, heard.log
    before = heard.samples
    assert spent(driver, heard, since, 3.0, lambda: heard.samples > before + 50) > 50
