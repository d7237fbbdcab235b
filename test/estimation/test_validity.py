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

"""State, trust and reason, as they follow from what is learnt, solved and judged."""
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import uvms_adaptive_dynamics as library
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import RECOVER_AFTER, Estimator
from uvms_adaptive_dynamics.estimation.progress import ProgressRecord
from uvms_adaptive_dynamics.estimation.validity import (
    FAILED_IN_A_ROW,
    NONE_FOR,
    VALIDITY_STATES,
    Situation,
    validity,
)

NONE, LATE = np.inf, NONE_FOR + 0.1
HEALTHY = Situation(("surge", "axis_e"), np.array([0.0, 0.02]), tick_age=0.0, solve_age=0.0)
STILL = np.array([LATE, LATE])


@pytest.mark.parametrize("change, state, trusted, words", [
    ({}, "learning", True, "all channels learn"),
    ({"row_age": np.array([LATE, 0.0])}, "learning", True, "nothing learnt lately on surge"),
    ({"row_age": np.array([NONE, 0.0])}, "learning", True, "lately on surge"),
    ({"judged": False}, "learning", False, "not been judged"),
    ({"wrong": ("surge",)}, "learning", False, "wrong on surge"),
    ({"row_age": STILL}, "holding", True, f"any channel for {LATE:.1f} s"),
    ({"row_age": STILL, "wrong": ("axis_e",)}, "holding", False, "wrong on axis_e"),
    ({"row_age": np.full(2, NONE)}, "holding", True, "on any channel yet"),
    ({"row_age": STILL, "tick_age": LATE}, "holding", False,
     f"no sample for {LATE:.1f} s"),
    ({"learn": False, "row_age": STILL, "solve_age": LATE}, "frozen", True, "learning is off"),
    ({"learn": False, "failed_solves": FAILED_IN_A_ROW}, "frozen", True, "learning is off"),
    ({"learn": False, "tick_age": LATE}, "frozen", False, "nothing shows"),
    ({"learn": False, "solve_age": NONE}, "frozen", False, "the prior's"),
    ({"learn": False, "solve_age": NONE, "saved": True}, "frozen", True, "learning is off"),
    ({"solve_age": NONE}, "waiting", False, "the prior"),
    ({"solve_age": NONE, "saved": True}, "waiting", False, "the saved estimate"),
    ({"solve_age": NONE, "tick_age": NONE}, "waiting", False, "no estimate yet"),
    ({"failed_solves": FAILED_IN_A_ROW - 1}, "learning", True, "all channels learn"),
    ({"failed_solves": FAILED_IN_A_ROW}, "failed", False, "solves failed"),
    ({"failed_solves": FAILED_IN_A_ROW, "solve_age": NONE}, "failed", False, "solves failed"),
    ({"lost_samples": FAILED_IN_A_ROW}, "failed", False, "internal error"),
    ({"solve_age": LATE}, "failed", False, "no solve has succeeded"),
    ({"alive": False}, "failed", False, "restart the node"),
    ({"alive": False, "learn": False}, "failed", False, "restart the node"),
    ({"finite": False}, "failed", False, "not finite"),
    ({"stuck": LATE, "tick_age": LATE}, "failed", False, "worked on one sample"),
    ({"stuck": LATE, "tick_age": LATE, "again": True}, "holding", False, "learnt again"),
    ({"solve_age": LATE, "again": True}, "failed", False, "no solve has succeeded"),
    ({"tick_age": LATE, "stuck": 0.1}, "holding", False, "no sample for"),
])
def test_state_and_trust(change, state, trusted, words):
    """The table of docs/validity.md, row by row."""
    found = validity(replace(HEALTHY, **change))
    assert (found.state, found.trusted) == (state, trusted)
    assert words in found.reason


AGES = st.one_of(st.just(np.inf), st.floats(0, 1e6))


@given(row_age=st.lists(AGES, min_size=2, max_size=2), tick_age=AGES, solve_age=AGES,
       flags=st.fixed_dictionaries({name: st.booleans() for name in (
           "alive", "learn", "finite", "saved", "judged", "again")}),
       stuck=AGES, failed_solves=st.integers(0, 20), lost_samples=st.integers(0, 20),
       wrong=st.sets(st.sampled_from(HEALTHY.channels)))
def test_nothing_is_trusted_that_speaks_against_itself(row_age, flags, **others):
    """Any combination gives a state and a reason, and trust only if nothing forbids it."""
    now = Situation(HEALTHY.channels, np.array(row_age), **flags, **others)
    found = validity(now)
    assert found.state in VALIDITY_STATES and found.reason
    if found.trusted:
        assert found.state not in ("waiting", "failed")
        assert now.alive and now.finite and now.judged and not now.wrong
        assert max(now.tick_age, now.stuck) <= NONE_FOR and now.lost_samples < FAILED_IN_A_ROW
        assert now.failed_solves < FAILED_IN_A_ROW or not now.learn
        assert now.saved or np.isfinite(now.solve_age)


def test_solves_fail_as_often_as_the_estimator_bears():
    """Failure is published when the estimator itself drops the data."""
    assert FAILED_IN_A_ROW == RECOVER_AFTER


def test_the_situation_of_an_estimator():
    """From its snapshot alone: a fresh estimator waits; afterwards its verdicts, learnt rows and
    the time since its newest tick decide, as in the node."""
    estimator = Estimator(Config(), learn=False)
    assert (library.Situation, library.validity) == (Situation, validity)
    channels, fresh = estimator.robot.channels, replace(estimator.snapshot(), learn=True)
    assert validity(Situation.of(fresh, channels, np.inf)).state == "waiting"
    working = replace(fresh, judged=True, trust=("ok",) * 10, progress=ProgressRecord(
        np.array([0.5, *[0.0] * 9]), 0.0))
    now = Situation.of(working, channels, 0.2)
    assert validity(now).trusted and now.row_age[0] == 0.7
    for change, tick_age, word in (
            ({"judged": False}, 0.2, "not been judged"),
            ({"trust": ("ok",) * 9 + ("wrong",)}, 0.2, "wrong on axis_b"),
            ({"progress": ProgressRecord(np.zeros(10), 0.0, FAILED_IN_A_ROW)}, 0.2, "failed"),
            ({"parameters": replace(working.parameters, pi=np.full(75, np.nan))}, 0.2, "finite"),
            ({}, LATE, "no sample")):
        found = validity(Situation.of(replace(working, **change), channels, tick_age))
        assert not found.trusted and word in found.reason
