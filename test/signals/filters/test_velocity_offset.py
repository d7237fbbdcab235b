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

"""The offset between DVL and integrated IMU."""

import numpy as np
import pytest
from campaign_cases import first

from uvms_adaptive_dynamics.signals.filters.dvl_fusion import (
    DVL_FLOOR,
    DVL_LARGEST,
    DVL_PATIENCE,
)
from uvms_adaptive_dynamics.signals.filters.velocity_offset import (
    BIAS_STDDEV,
    BIAS_WALKS,
    LARGEST_FORCE_BIAS,
    VelocityOffset,
)
from uvms_adaptive_dynamics.signals.filters.velocity_use import DVL_WANDER
from uvms_adaptive_dynamics.signals.gates.innovations import InnovationGate


def test_the_offset_of_a_frozen_dvl_is_forgotten_and_learnt_again():
    """After dropping all values the offset is unknown until there are new ones; a bias of -0.02
    m/s^2, subtracted as far as it is known, is found."""
    offset, level = VelocityOffset(1.0, 0.01), (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    for k in range(5):
        offset.add(0.1 * k, [0.5, 0.0, 0.0], level)
    offset.discard_after(-1.0)
    assert offset.at(0.2) is None
    value = 0.5
    for k in range(300):
        value += 0.1 * (offset.bias[0] + 0.02)
        offset.add(3.0 + 0.1 * k, [value, 0.0, 0.0], level)
    found, slope, _ = offset.at(3.0 + 0.1 * k)
    assert (
        abs(offset.bias[0] + 0.02) < 0.002
        and abs(found[0] - value) < 0.001
        and abs(slope[0]) < 0.002
    )


LEVEL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def test_unknown_with_too_few_values():
    """Two values around a tick are too few."""
    offset = VelocityOffset(1.0, 0.01)
    offset.add(0.0, [0.1, 0.0, 0.0], LEVEL)
    offset.add(0.1, [0.1, 0.0, 0.0], LEVEL)
    assert offset.at(0.05) is None
    offset.add(0.2, [0.1, 0.0, 0.0], LEVEL)
    assert offset.at(0.05)[0] == pytest.approx([0.1, 0.0, 0.0])


def test_noise_is_averaged_below_that_of_one_value():
    """DVL noise of 1 cm/s: the offset is known to 5 mm/s, its slope to 5 mm/s^2, and the reported
    standard deviation is at least the true one and less than twice that."""
    rng, offset, errors, slopes = np.random.default_rng(0), VelocityOffset(1.0, 0.01), [], []
    for k in range(1200):
        offset.add(0.1 * k, (0.3 + rng.normal(0, 0.01, 3)).tolist(), LEVEL)
        if k > 600:
            value, slope, said = offset.at(0.1 * k - 1.0)
            errors.append(np.array(value) - 0.3)
            slopes.append(slope)
    assert np.std(errors) < 5e-3 and np.std(slopes) < 5e-3
    # of an offset that walks, which this one does not
    assert np.std(errors) < said < 2 * np.std(errors)


def test_restart_keeps_the_bias_and_reset_does_not():
    """After a gap in the IMU the bias is still that of the sensor."""
    offset, value = VelocityOffset(1.0, 0.01), 0.0
    for k in range(300):
        value += 0.1 * (offset.bias[0] + 0.03)
        offset.add(0.1 * k, [value, 0.0, 0.0], LEVEL)
    known = offset.bias
    offset.restart()
    assert known[0] == pytest.approx(-0.03, abs=2e-3) and offset.bias == known
    assert offset.at(29.0) is None
    offset.reset()
    assert offset.bias == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("jump", [0.0, 0.05, 0.3])
def test_a_bias_that_jumps_is_told_from_one_that_walks(jump):
    """At 30 s, by less than is worth telling or by .3 m/s^2, which is told within 3 s and
    contradicts the values until then."""
    rng, offset, value, told = np.random.default_rng(3), VelocityOffset(1.0, 0.015), 0.0, []
    learnt, bias = [], np.cumsum(np.r_[-0.03, rng.normal(0.0, 0.002 * 0.1 ** 0.5, 599)])
    bias[300:] += jump
    for k in range(600):
        value += 0.1 * (offset.bias[0] - bias[k])
        offset.add(0.1 * k, [value + rng.normal(0.0, 0.015), 0.0, 0.0], LEVEL)
        told += [0.1 * k] if offset.jumped else []
        learnt += [0.1 * k] if offset.jumped and abs(offset.bias[0] - bias[k]) < 0.02 else []
    if jump < BIAS_STDDEV:
        assert not told and not offset.contradictions.cover(0.0, 29.9)
        return
    assert 30.0 < told[0] < 33.0
    assert offset.jumped.t == pytest.approx(30.2, abs=0.3)
    assert offset.contradictions.cover(30.4, 30.4) and offset.contradictions.cover(31.5, 31.5)
    assert not offset.contradictions.cover(0.0, 29.9)
    assert not offset.contradictions.cover(told[0], 60.0)
    assert offset.bias[0] - offset.jumped.value[0] == pytest.approx(jump, abs=0.02)
    assert learnt[0] < told[0] + 2.0        # (as certain as before, it would take 4 s more)


def wandering(seed, stddev, lasting=0.0, seconds=240.0):
    """(VelocityOffset after so many seconds, standard deviation [m/s^2] of its bias's error after
    30 s) of velocities at 6 Hz with 1 cm/s of noise, and `lasting` [m/s] that changes within .4 s.
    The bias wanders by `stddev` [m/s^2] within 8 s, as an attitude of 6 `stddev` degrees does."""
    rng, offset, period, errors = np.random.default_rng(seed), VelocityOffset(1.0, 0.01), 0.16, []
    value, slow, bias = np.zeros(3), np.zeros(3), rng.normal(0.0, stddev, 3)
    for k in range(round(seconds / period)):
        kept, slow_kept = np.exp(-period / 8.0), np.exp(-period / 0.4)
        bias = kept * bias + stddev * np.sqrt(1.0 - kept ** 2) * rng.normal(size=3)
        slow = slow_kept * slow + lasting * np.sqrt(1.0 - slow_kept ** 2) * rng.normal(size=3)
        value = value + period * (np.array(offset.bias) - bias)
        offset.add(period * k, (value + slow + rng.normal(0.0, 0.01, 3)).tolist(), LEVEL)
        errors += [np.array(offset.bias) - bias] if k * period > 30.0 else []
    return offset, np.std(errors)


@pytest.mark.parametrize("lasting", [0.0, 0.008])
@pytest.mark.parametrize("seed", range(3))
def test_a_bias_that_wanders_is_followed_as_fast_as_it_does(seed, lasting):
    """.35 degrees of attitude, .06 m/s^2, of which the slowest walk leaves .043. It is no jump, not
    even what was found before the walk was known."""
    offset, error = wandering(seed, 0.06, lasting)
    assert error < 0.025 and 0.01 < offset.walk < 0.07 and offset.change is None


@pytest.mark.parametrize("lasting", [0.0, 0.008])
@pytest.mark.parametrize("seed", range(3))
def test_noise_is_not_taken_for_a_bias_that_walks(seed, lasting):
    """White or not, it is not followed."""
    offset, error = wandering(seed, 0.0, lasting)
    assert offset.walk == BIAS_WALKS[0] and error < 0.003


def test_a_bias_that_is_given_with_its_variance_keeps_it():
    """Known to .004 m/s^2 ten seconds ago, it keeps the noise of half a second's values from
    becoming slope; ages add what the bias may have walked."""
    rng, offset = np.random.default_rng(1), VelocityOffset(1.0, 0.01)
    offset.reset((0.05, 0.0, 0.0), 0.004 ** 2, age=10.0)
    assert offset.bias == (0.05, 0.0, 0.0)
    assert offset.bias_variance == pytest.approx(0.004 ** 2 + 10.0 * 0.002 ** 2)
    slopes = []
    for _ in range(50):
        offset.reset((0.05, 0.0, 0.0), 0.004 ** 2)
        for k in range(6):
            offset.add(0.1 * k, rng.normal(0.0, 0.01, 3).tolist(), LEVEL)
        slopes.append(offset.at(0.5)[1])
    assert np.std(slopes) < 0.004


@pytest.mark.parametrize("period, noise", first(2, [(0.25, 0.05), (0.2, 0.1), (0.1, 0.01)]))
def test_no_bias_is_made_of_the_first_velocities_noise(period, noise):
    """Sixty starts: the offset moves with any bias subtracted by mistake, yet neither gate nor
    filter restarts; the bias is never off by more than three of its initial standard deviations,
    nor by half of one after 12 s."""
    for seed in range(60):
        rng, offset, value = np.random.default_rng(seed), VelocityOffset(1.0, 0.01), np.zeros(3)
        gate = InnovationGate(DVL_FLOOR, DVL_LARGEST, BIAS_STDDEV, DVL_WANDER, DVL_PATIENCE,
                              LARGEST_FORCE_BIAS)
        waiting, worst = [], 0.0
        for k in range(round(12.0 / period)):
            value = value + period * (np.array(offset.bias) - 0.02)
            waiting.append((period * k, value + noise * rng.normal(size=3)))
            for _, accepted in gate.gate(*waiting[-1], np.eye(3)):
                t, velocity = waiting.pop(0)
                if accepted:
                    offset.note_stddev(max(0.01, gate.noise))
                    offset.add(t, velocity.tolist(), LEVEL)
            assert gate.drift is None and gate.restarts == 0
            error = float(np.abs(np.array(offset.bias) - 0.02).max())
            worst = max(worst, error)
        assert worst < 3 * BIAS_STDDEV and error < 0.5 * BIAS_STDDEV


@pytest.mark.parametrize("scale, lag", [(0.15, 0.0), (0.0, 0.1)])
def test_a_dvl_that_is_slightly_off_does_not_contradict_the_filter(scale, lag):
    """15 % of .3 m/s, or .1 s: the gate takes such an error for noise and widens the scale."""
    rng, offset = np.random.default_rng(4), VelocityOffset(1.0, 0.03)
    for t in np.arange(0.0, 120.0, 0.1):
        truth, late = (0.3 * np.sin([0.9 * at, 0.6 * at, 0.4 * at]) for at in (t, t - lag))
        value = (1.0 + scale) * late - truth + 0.013 * rng.standard_normal(3)
        offset.add(t, value.tolist(), LEVEL)
    assert not offset.contradictions.cover(0.0, 120.0) and not offset.jumped
