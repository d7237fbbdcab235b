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

"""Which of earlier samples are learnt from again: as they came until a sensor became wrong, put
right from then on."""
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.estimation.onset import ONSET_BLOCK, onset, to_learn

BLOCKS, CHANNELS = 60, 3
RIGHT = np.arange(BLOCKS) < 20


def residuals(begin, off=8.0, error=1.0):
    """(as they came, put right): noise of one; on two channels `off` where they are wrong."""
    noise = error * np.random.default_rng(0).normal(size=(BLOCKS, CHANNELS))
    before, after = noise.copy(), noise.copy()
    before[begin:, :2] += off
    after[:begin, :2] -= off
    return before, after


@pytest.mark.parametrize("begin", [20, 33, 55])
def test_the_block_since_which_a_sensor_is_wrong_is_found(begin):
    """By what the model predicts, whatever the scale of its error."""
    for size in (1e-3, 1e3):
        before, after = residuals(begin)
        assert onset(size * before, size * after, RIGHT) == (begin, begin)


def test_what_the_model_hardly_sees_is_not_dated_to_a_block():
    """The true block lies between the two that are returned."""
    found = onset(*residuals(33, off=2.0), RIGHT)
    assert found is not None
    first, last = found
    assert first < last and first <= 33 <= last


def test_no_onset_is_found_where_the_readings_as_they_came_fit():
    """Nor where they are as wrong as those put right."""
    before, after = residuals(BLOCKS)
    assert onset(before, after, RIGHT) is None
    assert onset(before, before, RIGHT) is None


def test_rows_that_do_not_count_are_no_evidence_of_their_own():
    """Those put right count alone where the gates refused the readings as they came; the onset is
    open by some blocks then."""
    before, after = residuals(33)
    before[33:, :2], after[:33, :2] = np.nan, np.nan
    first, last = onset(before, after, RIGHT)
    assert 33 - 10 < first <= 33 <= last < 33 + 10
    assert onset(np.full_like(before, np.nan), after, RIGHT) is None


def pairs_of(before, after):
    """Samples of one second each whose residuals are those of their block."""
    def sample(t, values):
        return SimpleNamespace(t=t, values=values, valid=np.isfinite(values))
    return [(sample(float(k), before[k // ONSET_BLOCK]), sample(float(k), after[k // ONSET_BLOCK]))
            for k in range(ONSET_BLOCK * BLOCKS)]


def chosen(before, after, monkeypatch):
    monkeypatch.setattr("uvms_adaptive_dynamics.estimation.onset.replace",
                        lambda sample, valid: SimpleNamespace(**{**vars(sample), "valid": valid}))
    pairs = pairs_of(before, after)
    found = to_learn(pairs, 20 * ONSET_BLOCK - 1.0, lambda sample: sample.values)
    assert [one.t for one in found] == [pair[0].t for pair in pairs]
    return pairs, found


def test_samples_are_learnt_as_they_came_until_the_onset(monkeypatch):
    pairs, found = chosen(*residuals(33), monkeypatch)
    for k, (one, pair) in enumerate(zip(found, pairs)):
        assert one is pair[k >= 33 * ONSET_BLOCK]


def test_rows_that_a_fault_does_not_touch_count_while_its_onset_is_open(monkeypatch):
    """They are the same in both; without any evidence, that is since the last time that all was
    right."""
    before, after = residuals(BLOCKS)
    after[20:, :2] = np.nan         # cannot be put right
    _, found = chosen(before, after, monkeypatch)
    assert all(one.valid.all() for one in found[:20 * ONSET_BLOCK])
    assert all(one.valid.tolist() == [False, False, True] for one in found[20 * ONSET_BLOCK:])
