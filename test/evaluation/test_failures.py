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

"""Repeated failures become one line each, with a count."""
import logging

from uvms_adaptive_dynamics.evaluation.failures import MOST_KINDS, FailureLog

LOG = logging.getLogger("uvms_adaptive_dynamics.estimation.estimator")


def test_failures_that_differ_in_numbers_are_one_line(capsys):
    """The line has the first sentence, count and times; nothing is printed meanwhile."""
    times = iter([3.2, 4.0, 5.0])
    with FailureLog(lambda: next(times)) as log:
        LOG.warning("solve at t = %.2f s failed: %s", 103.2, "singular")
        LOG.warning("solve at t = %.2f s failed: %s", 104.0, "singular")
        LOG.info("no failure")
        LOG.warning("old data cannot be forgotten")
    assert [failure.count for failure in log.failures] == [2, 1]
    assert log.failures[0].line() == ("solve at t = 103.20 s failed: singular (2 times, "
                                      "from 3.2 to 4.0 s)")
    assert log.failures[1].line() == "old data cannot be forgotten"
    assert capsys.readouterr().err == ""


def test_kinds_are_bounded_and_nothing_is_kept_afterwards():
    """The number of kinds is limited; after the run the logger is as before."""
    before = list(logging.getLogger("uvms_adaptive_dynamics").handlers)
    with FailureLog(lambda: 0.0) as log:
        for k in range(2 * MOST_KINDS):
            LOG.warning("failed %s", "x" * k)
    assert len(log.failures) == MOST_KINDS
    assert logging.getLogger("uvms_adaptive_dynamics").handlers == before
