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

"""Rows leave the window with the robust weight of their group."""
import numpy as np
import pytest
from information_cases import add, state_of
from problems import make_table

from uvms_adaptive_dynamics.solvers.problem import huber_threshold

FAR = 50.0      # deviations


@pytest.mark.parametrize("grouping, valid, weight", [
    ("sample", [True] * 4, huber_threshold(4, .95) / (2 * FAR)),
    ("sample", [True, False, True, False], huber_threshold(2, .95) / (np.sqrt(2) * FAR)),
    ("channel", [True] * 4, huber_threshold(1, .95) / FAR)])
def test_the_threshold_is_that_of_the_groups_rows(grouping, valid, weight):
    """An instant with residuals of 50 deviations in each of four channels, or in those that count:
    its information is that of an inlier times rho / |r| of its group."""
    table, valid = make_table(4, vehicle=False), np.array(valid)
    pi = np.zeros(table.size)
    state = state_of(table, pi, np.ones(table.size), horizon=2, forgetting=1.0, grouping=grouping)
    Y = np.random.default_rng(0).normal(size=(4, table.size)) * valid[:, None]
    add(state, Y, FAR * valid, pi, learnt=valid)
    for _ in range(2):
        add(state, np.zeros_like(Y), np.zeros(4), pi)
    H = state.problem(pi, np.ones(table.size, bool)).arrival.H
    np.testing.assert_allclose(H - np.eye(table.size), weight * Y.T @ Y, rtol=1e-6, atol=1e-12)


def test_rows_of_a_stack_leave_with_the_weight_of_the_stack():
    """Grouping 'horizon' has one norm: rho / |r| of the whole window at the last solution."""
    table = make_table(4, vehicle=False)
    pi = np.zeros(table.size)
    state = state_of(table, pi, np.ones(table.size), horizon=2, forgetting=1.0, grouping="horizon")
    Y = np.random.default_rng(0).normal(size=(4, table.size))
    for _ in range(2):
        add(state, Y, np.full(4, FAR), pi)
    state.note_solution(state.problem(pi, np.ones(table.size, bool)), pi)
    for _ in range(2):
        add(state, np.zeros_like(Y), np.zeros(4), pi)
    H = state.problem(pi, np.ones(table.size, bool)).arrival.H
    weight = huber_threshold(8, .95) / (np.sqrt(8) * FAR)
    np.testing.assert_allclose(H - np.eye(table.size), 2 * weight * Y.T @ Y, rtol=1e-6, atol=1e-12)
