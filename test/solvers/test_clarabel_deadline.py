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

"""Clarabel gets the remaining time of a deadline as its time limit."""
import clarabel
import numpy as np
import pytest
from problems import make_problem, make_table

from uvms_adaptive_dynamics.solvers import clarabel_solver


@pytest.mark.parametrize("deadline", [None, 30.0])
def test_the_time_limit_is_what_is_left_of_the_deadline(deadline, monkeypatch):
    """In every round; without a deadline there is no limit."""
    limits, solver = [], clarabel.DefaultSolver

    def recording(*arguments):
        limits.append(arguments[-1].time_limit)
        return solver(*arguments)

    monkeypatch.setattr(clarabel_solver.clarabel, "DefaultSolver", recording)
    problem = make_problem(make_table(1), np.random.default_rng(0))
    clarabel_solver.ClarabelSolver().solve(problem, deadline)
    assert limits and sorted(limits, reverse=True) == limits
    if deadline is None:
        assert min(limits) > 1e9
    else:
        assert 0 < limits[-1] <= limits[0] < deadline
