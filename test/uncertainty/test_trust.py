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

"""Trust of channels: a wrong model becomes `wrong` in time, a right one is hardly ever `doubtful`.
"""
import numpy as np
import pytest
from low_passed_noise import KERNEL, PERIOD
from low_passed_noise import noise as low_passed

from uvms_adaptive_dynamics.uncertainty.trust import (
    EFFORT_MEMORY,
    TRUST_DOUBTFUL,
    TRUST_OK,
    TRUST_WRONG,
    ChannelTrust,
)

LENGTH = KERNEL.sum() ** 2 / (KERNEL @ KERNEL)
ALL = np.ones(1, bool)


def effort(seconds, seed=0):
    """A motion of several slow sines, each with power one half."""
    t = PERIOD * np.arange(round(seconds / PERIOD))
    phase = np.random.default_rng(seed).uniform(0, 6.28, 3)
    return sum(np.sin(2 * np.pi * f * t + p) for f, p in zip((0.11, 0.23, 0.52), phase))


def judged(measured, predicted, reference=0.1, assumed=False, known=True, excused=0.0, valid=None):
    """The level of one channel after each row."""
    trust = ChannelTrust(1, PERIOD, LENGTH)
    trust.restart(None if reference is None else np.array([reference]), assumed, known)
    found = []
    for k in range(len(measured)):
        trust.add_row(measured[k:k + 1], predicted[k:k + 1],
                      ALL if valid is None else valid[k:k + 1], ALL, np.full(1, excused),
                      np.full(1, 0.1))
        found.append(trust.levels[0])
    return np.array(found)


def noise(rows, seed, stddev=0.1):
    return stddev * low_passed(np.random.default_rng(seed), rows, 0.0)[0]


def test_a_right_model_is_ok():
    """With noise as saved, low-passed like the rows, an hour of rows is `ok`."""
    share = []
    for seed in range(12):
        y = effort(300, seed)
        share.append(np.mean(judged(y + noise(y.size, seed), y) == TRUST_OK))
    assert np.mean(share) > 0.999


@pytest.mark.parametrize("ratio", [1.2, 1.36])
def test_a_noise_saved_a_little_too_small_is_no_wrong_model(ratio):
    """Intervals that cover 85 % instead of 95 %, with R^2 of .98."""
    y = effort(300)
    assert np.mean(judged(y + noise(y.size, 1, 0.1 * ratio), y) == TRUST_OK) > 0.99


@pytest.mark.parametrize("factor", [0.2, 1.9, -1.0])
def test_a_wrong_model_is_wrong_within_ten_seconds_and_ok_when_it_fits_again(factor):
    """R^2 below .5 is `wrong` in time; with right predictions it is `ok` after a full window."""
    y = effort(60)
    predicted = np.where(np.arange(y.size) < 1000, factor * y, y)
    levels = judged(y + noise(y.size, 2), predicted)
    assert levels[500:1000].min() == TRUST_WRONG and levels[1500:].max() == TRUST_OK


def test_a_model_off_by_a_third_is_doubtful():
    """R^2 of .9 and residuals of many deviations."""
    y = effort(30)
    levels = judged(1.3 * y + noise(y.size, 3), y)
    assert levels[-1] == TRUST_DOUBTFUL and TRUST_WRONG not in levels


def test_predictions_that_explain_less_than_half_are_not_ok():
    """Residuals of 1.4 deviations, which alone are no finding, and an interval that admits a third
    of the effort's power: R^2 of .35."""
    y = effort(60)
    reference = 0.97 * y.std()
    levels = judged(y + noise(y.size, 7, 1.4 * reference), y, reference)
    assert levels[-1] == TRUST_DOUBTFUL and TRUST_WRONG not in levels


def test_a_burst_is_no_wrong_model():
    """Half a second of garbage does not change the state."""
    y, garbage = effort(30), np.zeros(1500)
    garbage[700:725] = 20.0
    assert judged(y + noise(y.size, 4) + garbage, y).max() == TRUST_OK


def test_without_saved_noise_half_of_the_effort_is_enough():
    """With an assumed noise larger than the effort, a channel is doubtful by its width, and still
    wrong if R^2 is below .5, unless residuals are far below the noise."""
    y = effort(30)
    assert judged(y, 0.1 * y, 5.0, assumed=True, known=False)[-1] == TRUST_DOUBTFUL
    assert judged(y, 0.1 * y, 2.0, assumed=True, known=False)[-1] == TRUST_WRONG
    assert judged(y, 0.9 * y, 2.0, assumed=True, known=False)[-1] == TRUST_DOUBTFUL


def test_a_wide_interval_is_doubtful_until_it_is_narrow():
    """While learning, parameter uncertainty excuses residuals but makes the channel doubtful."""
    y = effort(30)
    assert judged(y, 0.5 * y, None, known=False, excused=1.0).tolist() == [TRUST_DOUBTFUL] * y.size
    assert judged(y + noise(y.size, 5), y, None, known=False)[-1] == TRUST_OK


def test_a_pause_does_not_make_the_effort_small():
    """Masked or resting rows keep the state."""
    y = effort(60)
    y[1500:] = y[1500]
    valid = np.arange(y.size) < 2000
    assert judged(y + noise(y.size, 6), y, valid=valid).max() == TRUST_OK


@pytest.mark.parametrize("factor, level", [(1.0, TRUST_OK), (0.0, TRUST_WRONG)])
def test_recordings_too_short_to_judge_by_do_so_together(factor, level):
    """Five of two seconds, each of which has fewer batches than a judgement needs."""
    trust, y = ChannelTrust(1, PERIOD, LENGTH), effort(10.0)
    measured = y + noise(y.size, 0)
    trust.restart(np.array([0.1]))
    for k, one in enumerate(measured):
        if k % round(2.0 / PERIOD) == 0:
            trust.break_off()
        trust.add_row(one[None], factor * y[k:k + 1], ALL, ALL, np.zeros(1), np.full(1, 0.1))
    assert trust.judged and trust.levels[0] == level


def test_a_channel_saved_as_wrong_is_wrong_until_its_residuals_say_otherwise():
    """It stays so while it has no rows; other channels are not affected."""
    trust = ChannelTrust(2, PERIOD, LENGTH)
    trust.restart(np.full(2, 0.1), known=True, wrong=[1])
    assert trust.levels.tolist() == [TRUST_OK, TRUST_WRONG]
    y = effort(20)
    for valid, expected in (([True, False], TRUST_WRONG), ([True, True], TRUST_OK)):
        for k, error in enumerate(noise(y.size, 4)):
            trust.add_row(np.full(2, y[k] + error), np.full(2, y[k]), np.array(valid),
                          np.ones(2, bool), np.zeros(2), np.full(2, 0.1))
        assert trust.levels.tolist() == [TRUST_OK, expected]


def test_a_channel_whose_readings_are_found_wrong_is_doubtful_at_best():
    """However well the parameters explain them, and through restarts, until the readings are right
    again; other channels are not affected."""
    trust = ChannelTrust(2, PERIOD, LENGTH)
    trust.restart(np.full(2, 0.1), known=True)
    trust.misread([1])
    assert trust.levels.tolist() == [TRUST_OK, TRUST_DOUBTFUL]
    y = effort(20)
    for k, error in enumerate(noise(y.size, 4)):
        trust.add_row(np.full(2, y[k] + error), np.full(2, y[k]), np.ones(2, bool),
                      np.ones(2, bool), np.zeros(2), np.full(2, 0.1))
    assert trust.levels.tolist() == [TRUST_OK, TRUST_DOUBTFUL]
    trust.restart(np.full(2, 0.1), known=True)
    assert trust.levels.tolist() == [TRUST_OK, TRUST_DOUBTFUL]
    trust.misread([])
    assert trust.levels.tolist() == [TRUST_OK, TRUST_OK]


def test_the_power_of_the_effort_is_that_of_rows_in_motion():
    """Batches of any share in motion give the recursion that adds one row at a time: all rows of
    the memory count alike, then older ones fade; a channel that never moved shows its rows."""
    rng = np.random.default_rng(6)
    rows = round(1.6 * EFFORT_MEMORY / 25) * 25
    measured = np.cumsum(rng.normal(size=(rows, 2)), axis=0)
    in_motion = np.stack([rng.random(rows) < np.linspace(0.2, 1.0, rows) ** 0.2,
                          np.zeros(rows, bool)], axis=1)
    trust, both = ChannelTrust(2, PERIOD, LENGTH), np.ones(2, bool)
    mean = square = count = 0
    for row, moving in zip(measured, in_motion):
        trust.add_row(row, row, both, moving, np.zeros(2), np.ones(2))
        if moving[0]:
            count += 1
            rate = max(1 / count, 1 / EFFORT_MEMORY)
            mean, square = mean + rate * (row[0] - mean), square + rate * (row[0] ** 2 - square)
    recent = np.var(measured[-400:, 1])     # sixteen batches
    np.testing.assert_allclose(trust.effort_power, [square - mean ** 2, recent], rtol=1e-9)
