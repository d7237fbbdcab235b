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

"""A gyro's bias is found, and told from a step of the attitude and from a disturbed heading."""

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.filters.gyro_bias import (
    BIAS_SPAN,
    COMPARISONS,
    HEADING,
    HEADING_PATIENCE,
    RATES,
    GyroBias,
)

DOWN = np.array([0.3, 0.0, np.sqrt(1 - 0.09)])
ONSET = 30.0


def looked(error, seconds=60.0, stddev=0.004):
    """(gyro, [(t, what is wrong)]) with noisy attitudes and rates off by error(t) (3,) less the
    bias found, over windows of a span."""
    gyro, rng, wrong = GyroBias(), np.random.default_rng(1), []
    for t in np.arange(0.0, seconds, BIAS_SPAN / COMPARISONS):
        past = np.linspace(t - BIAS_SPAN, t, 21)
        b = np.mean([error(at) for at in past], axis=0) - gyro.bias
        turn = BIAS_SPAN * np.array([*np.cross(b, DOWN), -(b @ DOWN)])
        turn = turn + stddev * rng.standard_normal(4)
        assert gyro.is_due(t)
        found = gyro.compare(t, turn, DOWN.tolist())
        if found:
            wrong.append((t, found))
    return gyro, wrong


def from_onset(*bias):
    return lambda t: np.array(bias) * (t > ONSET)


@pytest.mark.parametrize("bias", [(0.05, -0.03, 0.02), (0.0, 0.06, 0.0), (-0.1, 0.0, 0.3)])
def test_a_bias_that_begins_is_found_within_two_spans_and_taken_off(bias):
    """Reported with its values to .005 rad/s, once, and never before it begins."""
    gyro, ((t, what),) = looked(from_onset(*bias))
    assert what == RATES and ONSET < t < ONSET + 2.6 * BIAS_SPAN
    assert np.allclose(gyro.bias, bias, atol=0.005)
    (said,) = gyro.sentences()
    assert said.startswith("imu angular velocity") and f"since {t - 2 * BIAS_SPAN:.0f} s" in said


def test_what_is_too_large_for_a_bias_is_told_and_not_taken_off():
    """A gyro with reversed axes while the attitude turns."""
    gyro, wrong = looked(from_onset(-0.5, 0.0, 0.3))
    assert len(wrong) > 20 and {what for _, what in wrong} == {RATES}
    assert not any(gyro.bias) and gyro.sentences() == []


def test_what_grows_too_large_for_a_bias_is_none():
    """A turn by reversed axes that grows: a bias was found, then another beside it, of .4 rad/s in
    all."""
    gyro, wrong = looked(lambda t: (t > ONSET) * np.array([0.2 + 0.25 * (t > ONSET + 5.0), 0, 0]),
                         seconds=40.0)
    assert wrong[0][0] < ONSET + 2.6 * BIAS_SPAN and wrong[-1] == (39.75, RATES)
    assert not any(gyro.bias) and gyro.sentences() == []


def test_an_error_about_the_vertical_is_the_headings_until_it_has_lasted():
    """Steel disturbs a heading for seconds; only a lasting error is the gyro's."""
    yaw = 0.06 * DOWN
    gyro, wrong = looked(lambda t: yaw * (ONSET < t < ONSET + 8.0))
    assert {what for _, what in wrong} == {HEADING} and not any(gyro.bias)
    assert gyro.sentences() == []
    gyro, wrong = looked(from_onset(*yaw))
    assert wrong[-1][1] == RATES and wrong[-1][0] < ONSET + HEADING_PATIENCE + 2.6 * BIAS_SPAN
    assert np.allclose(gyro.bias, yaw, atol=0.005)


@pytest.mark.parametrize(
    "error",
    [
        lambda t: np.zeros(3),
        lambda t: np.array([0.5, 0.0, 0.0]) * (ONSET < t < ONSET + 0.1),  # a step by 3 degrees
        lambda t: 0.05 * np.sin([2.0 * t, 1.7 * t, 1.3 * t]),  # an orientation that comes late
        lambda t: np.array([0.01, -0.01, 0.01]),  # as cheap gyros have
    ],
)
def test_what_is_no_bias_is_none(error):
    """Noise, a step of the attitude, a lag, and what is too small to matter."""
    gyro, wrong = looked(error)
    assert wrong == [] and not any(gyro.bias) and gyro.sentences() == []
