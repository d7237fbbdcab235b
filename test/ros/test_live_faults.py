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

"""Driver faults over real ROS 2: a selection from test/live_faults.py, one after the other, each
until it is reported.

To run all of them, each with its own node: `python test/live_faults.py`.
"""
import os
import time

import pytest
from campaign_cases import also
from live_faults import FAULTS, first, robot_and_node, spent

# [s] from a fault until it is reported on an idle machine (UVMS_LIVE=all): a timeout of 1 s, ten
# messages, or two checks, plus a second. Alongside other tests: while the fault lasts. The second
# publisher stays, so it comes last.
WITHIN = {"silence": 2.5, "NaN": 1.5, "two publishers": 2.5}
LASTS = 5.0     # [s]
PATIENCE = 20.0     # [s] for events without their own limit: first samples, a diagnostic, an end


@pytest.fixture(scope="module")
def live():
    """(driver, log and diagnostics) of a node that has produced samples."""
    with robot_and_node() as (driver, heard):
        spent(driver, heard, time.monotonic(), PATIENCE, lambda: heard.samples > 100)
        yield driver, heard


@pytest.mark.parametrize("name", ["silence", *map(also, ("NaN", "two publishers"))])
def test_a_fault_is_said_and_so_is_its_end(live, name):
    """The fault is logged in time; the input's diagnostic leaves OK and returns with the end;
    samples continue."""
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
