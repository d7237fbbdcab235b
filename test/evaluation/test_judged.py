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

"""Which rows a verdict judges."""
import numpy as np

from uvms_adaptive_dynamics.evaluation.judged import _judged

ROWS = np.ones(1000, bool)


def test_the_later_half_is_judged_where_it_was_learnt_and_all_of_what_was_held_out():
    """While learning, earlier rows were predicted with the prior."""
    assert _judged(ROWS, False, 0, 150).tolist() == list(range(500, 1000))
    assert _judged(ROWS, True, 0, 150).size == 1000


def test_rows_from_before_a_change_of_the_robot_are_not_held_against_what_was_learnt_since():
    """Provided that enough rows are left; a change in the earlier half affects no judged row."""
    assert _judged(ROWS, False, 700, 150).tolist() == list(range(701, 1000))
    assert _judged(ROWS, False, 900, 150).tolist() == list(range(500, 1000))
    assert _judged(ROWS, False, 200, 150).tolist() == list(range(500, 1000))
