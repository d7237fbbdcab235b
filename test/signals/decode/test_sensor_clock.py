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

"""One sensor's stamps compared with their times of reception."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.signals.decode.sensor_clock import (
    STEP_TIME,
    SensorClock,
    StampStatus,
    clock_sentence,
)

GOOD, AHEAD, LATE, STEPPED = (
    StampStatus.GOOD, StampStatus.AHEAD, StampStatus.LATE, StampStatus.STEPPED)
START = 1000.0


def begun(delays, period=0.1, ahead=0.0):
    """A clock after messages with these transport delays [s], `ahead` [s] of the receiver's."""
    clock = SensorClock()
    for k, delay in enumerate(delays):
        stamp = START + period * k
        clock.add(stamp + ahead, stamp + delay)
        if k == 4:
            clock.begin()
    return clock


def add(clock, stamps, receives):
    return [clock.add(s, r) for s, r in zip(stamps, receives)]


@given(st.lists(st.floats(0.01, 0.09), min_size=20, max_size=120), st.floats(-1e3, 1e3))
def test_offset_is_a_low_quantile_of_the_delays(delays, ahead):
    """Whatever the clock, the messages that travel fast reveal it."""
    clock = begun(delays, ahead=ahead)
    low, high = np.quantile(delays[-100:], [0.0, 0.2])
    assert low - 1e-6 <= clock.offset + ahead <= high + 1e-6
    assert clock.period == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("wrong", [0.9, 5.0, -5.0])
def test_one_wrong_stamp_is_found_and_changes_nothing(wrong):
    """Even if it is the very first."""
    clock = begun([0.01] * 30)
    assert clock.add(1003.0 + wrong, 1003.01) is (AHEAD if wrong > 0 else LATE)
    assert clock.add(1003.1, 1003.11) is GOOD and clock.offset == pytest.approx(0.01)
    clock = SensorClock()
    for k in range(3):
        clock.add(START + 0.1 * k + (wrong if k == 0 else 0.0), START + 0.1 * k + 0.01)
    clock.begin()
    assert clock.offset == pytest.approx(0.01)


@pytest.mark.parametrize("step", [-30.0, -0.3, 0.3, 2.0])
def test_a_step_of_the_clock_is_confirmed_in_half_a_second(step):
    """Messages come as regularly as before while the stamps jump: the clock has stepped."""
    clock = begun([0.01] * 30)
    stamps = START + 3.0 + 0.1 * np.arange(20)
    found = add(clock, stamps + step, stamps + 0.01)
    at = found.index(STEPPED)
    assert GOOD not in found[:at] and set(found[at + 1:]) == {GOOD}
    assert at * 0.1 == pytest.approx(STEP_TIME, abs=0.11)
    assert clock.offset == pytest.approx(0.01 - step)


def test_a_stall_of_the_network_is_no_step():
    """Stamps stay regular while reception stalls and catches up: the offset stays, and messages
    that are not too late are used."""
    clock = begun([0.01] * 30)
    stamps = START + 3.0 + 0.1 * np.arange(30)
    receives = np.maximum(stamps + 0.01, START + 3.8)
    found = add(clock, stamps, receives)
    assert set(found) == {GOOD} and clock.offset == pytest.approx(0.01)


def in_bursts(every, seconds, period=0.01, lost=0.0, first=0.0, clock=None):
    """(clock, statuses) of regular stamps that arrive together every so many seconds."""
    rng, clock, found = np.random.default_rng(7), clock or SensorClock(), []
    for k in np.flatnonzero(rng.random(int(seconds / period)) >= lost):
        t = first + period * k
        arrival = every * math.ceil(t / every + 1e-9) + 1e-5 * k % 0.01
        found.append(clock.add(START + t, START + arrival))
        if clock.can_begin and arrival > first + 0.5 + every:
            clock.begin()
    return clock, found


@pytest.mark.parametrize("every, period, lost", [
    (0.3, 0.01, 0.0), (1.0, 0.01, 0.0), (1.0, 0.01, 0.2), (1.0, 0.1, 0.0), (1.0, 0.1, 0.3)])
def test_bursts_are_used_by_their_stamps(every, period, lost):
    """Transport can only delay: the offset is that of the newest message of each burst, none is
    ahead of it, and the lateness says how long the oldest has waited."""
    clock, found = in_bursts(every, 30.0, period, lost)
    assert set(found) == {StampStatus.NEW, GOOD}
    assert -0.02 < clock.offset < period + 0.02
    assert clock.lateness == pytest.approx(every, abs=period + 0.04)
    assert clock.delay >= clock.lateness


def test_bursts_longer_than_any_open_tick_are_waited_for_once_they_are_known():
    """The first ones are too late; nothing is ahead, and no step is found."""
    clock = begun([0.01] * 30)
    _, found = in_bursts(2.0, 30.0, period=0.1, first=4.0, clock=clock)
    assert set(found) == {GOOD, LATE} and set(found[-160:]) == {GOOD}
    assert clock.lateness == pytest.approx(2.0, abs=0.2)


def test_a_message_faster_than_the_first_ones_lowers_the_offset():
    """All had waited for .3 s; then the queue is empty. One message that was stamped ahead in
    between is refused, and no other."""
    clock = begun([0.31] * 10)
    stamps = START + 1.0 + 0.1 * np.arange(60)
    receives = np.maximum(stamps + 0.01, START + 1.3)
    stamps[20] += 0.9
    found = add(clock, stamps, receives)
    assert found[20] is AHEAD and set(found[:20] + found[21:]) <= {GOOD, STEPPED}
    assert clock.offset == pytest.approx(0.01)


def test_a_receiver_whose_clock_was_set_is_followed_in_half_a_second():
    """Reception alone has stepped, by .3 s: used as they are meanwhile."""
    clock = begun([0.01] * 100)
    stamps = START + 10.0 + 0.1 * np.arange(20)
    found = add(clock, stamps, stamps + 0.31)
    assert set(found[:5]) == {GOOD} and STEPPED in found[:8]
    assert clock.offset == pytest.approx(0.31)


def test_one_odd_message_makes_none_after_it_odd():
    """A stamp .9 s ahead within a burst."""
    clock, _ = in_bursts(1.0, 10.0)
    stamps = START + 10.0 + 0.01 * np.arange(100)
    receives = START + 11.0 + 1e-5 * np.arange(100)
    stamps[30] += 1.5
    found = add(clock, stamps, receives)
    assert found[30] is AHEAD and found.count(GOOD) == 99


def test_a_drift_is_followed():
    """100 ppm over ten minutes."""
    clock = begun([0.02 + 1e-4 * 0.1 * k for k in range(6000)])
    assert clock.offset == pytest.approx(0.02 + 1e-4 * 600, abs=2e-3)
    assert clock.drift == pytest.approx(-1e-4, rel=0.02)     # it loses
    assert begun([0.02 + 0.02 * (k % 3) for k in range(600)]).drift == 0.0


def test_a_small_change_of_the_correction_is_spread_over_seconds():
    """.04 s at one per cent, so that joints keep their speed; .5 s are a step."""
    clock = begun([0.01] * 30)
    assert clock.corrected(START) == START
    clock.correction = 0.04
    found = [clock.corrected(START + 0.1 * k) - START - 0.1 * k for k in range(1, 60)]
    np.testing.assert_allclose(found[:10], 0.001 * np.arange(1, 11), atol=1e-6)
    np.testing.assert_allclose(found[-15:], 0.04, atol=1e-6)
    clock.correction = 0.54
    assert clock.corrected(START + 6.0) == pytest.approx(START + 6.54)


def test_without_stamps_only_the_rate_is_known():
    """Messages without a header tell nothing about a clock."""
    clock = SensorClock()
    assert {clock.add(None, START + 0.02 * k) for k in range(20)} == {GOOD}
    assert clock.offset is None and clock.rate == pytest.approx(50.0)


def test_the_sentence_names_sensor_side_seconds_and_remedy():
    """Transport is offered as a cause only if the stamps could be as old as they look."""
    clock = begun([0.1] * 10)
    clock.correction, clock.latency = -0.3, 0.1
    said = clock_sentence(clock)
    assert said.startswith("its clock is 0.30 s ahead of") and "Synchronize" in said
    clock.correction = 0.8
    said = clock_sentence(clock)
    assert "0.80 s behind" in said and "0.90 s late" in said


def stamped(stamps, period=0.1):
    """A clock after messages with these stamps, received 10 ms later."""
    clock = SensorClock()
    for k, stamp in enumerate(sorted(stamps)):
        clock.add(stamp, stamp + 0.01)
        if k == 4:
            clock.begin()
    return clock


@pytest.mark.parametrize("most", [0.2, 0.4, 1.0])
def test_stamps_given_at_reception_are_irregular(most):
    """They contain a network's jitter, part of which the order of reception hides: reported."""
    rng = np.random.default_rng(2)
    clock = stamped(START + 0.1 * k + rng.uniform(0.0, most) for k in range(300))
    assert clock.intervals.jitter is not None and 0.03 < clock.intervals.jitter < most / 12**0.5
    assert "given at reception" in clock_sentence(clock)


@pytest.mark.parametrize("kept", [1.0, 0.5, 0.3])
def test_stamps_of_a_sensor_that_measures_regularly_are_not(kept):
    """However many messages are lost, with 2 ms of jitter, after an outage, and with a pinger that
    follows the altitude."""
    rng = np.random.default_rng(3)
    k = np.flatnonzero(rng.random(900) < kept)
    period = 0.1 * (1.0 + 0.3 * np.sin(0.02 * k))
    for stamps in (0.1 * k, np.cumsum(period), np.where(k < 500, 0.1 * k, 0.1 * k + 7.0)):
        clock = stamped(START + stamps + 0.002 * rng.standard_normal(len(k)))
        assert clock.intervals.jitter is None and clock_sentence(clock) == ""


def in_batches(size, period=0.02, regularly=True):
    """A clock after measurements over 20 s that wait until there are `size` of them and are stamped
    when they are read; errors [s] of the times given to those after the first three seconds."""
    rng = np.random.default_rng(4)
    clock, errors = SensorClock(regularly), []
    for k in range(1000):
        t = period * k
        read = period * (math.ceil((k // size + 1) * size) - 1) + 0.001 * rng.random()
        stamp = max(START + read, clock._stamp + 5e-5)
        clock.add(stamp, stamp + 0.01)
        if k == 4:
            clock.begin()
        given = clock.intervals.spread(stamp)
        if t > 3.0:
            errors.append(given - START - t)
    return clock, np.array(errors)


@pytest.mark.parametrize("size", [2, 3, 2.5, 5, 7, 10])
def test_messages_in_batches_get_the_times_of_a_regular_sensor(size):
    clock, errors = in_batches(size)
    assert clock.rate == pytest.approx(50.0, rel=0.02)
    assert clock.intervals.batches is not None
    assert clock.intervals.batches.interval == pytest.approx(0.02 * math.ceil(size), rel=0.06)
    assert np.abs(errors).max() < 0.025 and abs(errors.mean()) < 0.012
    assert "at a time" in clock_sentence(clock)
    assert clock.delay >= clock.intervals.batches.interval


def test_a_second_publisher_is_no_batch():
    """Pairs look like batches, but a sensor measures no faster because it is read in batches: where
    the rate has doubled, no stamp is moved."""
    both = [START + 0.1 * k for k in range(150)]
    both += [START + 15.0 + 0.1 * k + after for k in range(150) for after in (0.0, 0.02)]
    clock = stamped(both)
    assert clock.intervals.batches is None
    assert clock.intervals.spread(both[-1] + 0.08) == both[-1] + 0.08
    assert clock.intervals.crowded and "a second node" in clock_sentence(clock)
    after = both[-1] + 0.08 + 0.1 * np.arange(150)
    assert not stamped([*both, *after]).intervals.crowded     # the second node has stopped


def test_pairs_from_the_start_are_a_batch_unless_their_values_alternate():
    """The intervals alone cannot tell; the front end does."""
    pairs = [START + 0.1 * k + after for k in range(150) for after in (0.0, 0.005)]
    clock = stamped(pairs)
    assert clock.intervals.batches is not None and not clock.intervals.were_even
    clock.intervals.note_values(alternate=True)
    for stamp in (pairs[-1] + 0.08, pairs[-1] + 0.1, pairs[-1] + 0.3):
        clock.add(stamp, stamp + 0.01)
    assert clock.intervals.batches is None and clock_sentence(clock) == ""


@pytest.mark.parametrize("times", [2, 4, 8])
def test_a_sensor_that_is_set_to_a_higher_rate_is_no_second_publisher(times):
    """Nor a batch, also while half of the last intervals are those of the old rate."""
    slow, fast = START + 0.1 * np.arange(150), START + 15.0 + 0.1 / times * np.arange(300)
    for count in range(5, 300, 5):
        clock = stamped([*slow, *fast[:count]])
        assert not clock.intervals.crowded and clock.intervals.batches is None, count
    assert clock_sentence(clock) == ""


def test_commands_are_not_spread():
    """A pilot's commands come many at once, and then none, without being late."""
    clock, errors = in_batches(5, regularly=False)
    assert clock.intervals.batches is None and errors.max() > 0.07


@pytest.mark.parametrize("most", [0.05, 0.4])
def test_stamps_at_random_instants_are_no_batches(most):
    rng = np.random.default_rng(2)
    clock = stamped(START + 0.02 * k + rng.uniform(0.0, most) for k in range(600))
    assert clock.intervals.batches is None
    assert clock.intervals.spread(START + 20.0) == START + 20.0


def test_a_batch_after_an_outage_is_not_dated_before_it():
    clock, _ = in_batches(5)
    newest = clock._stamp
    for k in range(5):
        stamp = newest + 4.0 + 5e-5 * k
        clock.add(stamp, stamp + 0.01)
        assert newest + 3.85 < clock.intervals.spread(stamp) <= stamp
