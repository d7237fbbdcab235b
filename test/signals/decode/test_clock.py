"""The clock offset, estimated from stamps and times of reception."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.signals.decode.clock import (
    MAX_IMPLAUSIBLE,
    OFFSET_WINDOW,
    StampStatus,
    TimeBase,
)

PLAUSIBLE, IMPLAUSIBLE, JUMPED = (
    StampStatus.PLAUSIBLE,
    StampStatus.IMPLAUSIBLE,
    StampStatus.CLOCK_JUMPED,
)


def observed(delays, period=0.1, start=1000.0):
    """A time base after messages with these transport delays [s], and the last status."""
    time, status = TimeBase(), None
    for k, delay in enumerate(delays):
        stamp = start + period * k
        status = time.observe(stamp, stamp + delay)
    return time, status


@given(st.lists(st.floats(0.0, 0.5), min_size=1, max_size=50), st.floats(-100, 100))
def test_offset_is_the_smallest_delay(delays, difference):
    """With clocks `difference` apart the offset is that plus the smallest transport delay."""
    time, status = observed([difference + delay for delay in delays])
    assert status is PLAUSIBLE
    assert time.offset == pytest.approx(difference + min(delays), abs=1e-6)
    assert time.to_stamp_clock(5000.0) == pytest.approx(5000.0 - time.offset)


def test_one_bad_stamp_is_rejected_and_changes_nothing():
    """A stamp a minute off is implausible; the next good one counts."""
    time, _ = observed([0.01] * 20)
    assert time.observe(900.0, 1003.0) is IMPLAUSIBLE
    assert time.offset == pytest.approx(0.01)
    assert time.observe(1003.1, 1003.11) is PLAUSIBLE


def test_many_bad_stamps_are_a_jump_of_the_clock():
    """When most stamps disagree, the clock itself has jumped."""
    time, _ = observed([0.01] * 20)
    statuses = [time.observe(900.0 + 0.1 * k, 1003.0 + 0.1 * k) for k in range(MAX_IMPLAUSIBLE)]
    assert statuses == [IMPLAUSIBLE] * (MAX_IMPLAUSIBLE - 1) + [JUMPED]


def test_one_bad_sensor_among_good_ones_is_no_jump():
    """A sensor with a wrong clock is rejected for as long as it is, if more stamps are good."""
    time, _ = observed([0.01] * 20)
    for k in range(200):
        receive = 1003.0 + 0.1 * k
        assert time.observe(receive - 60.0, receive) is IMPLAUSIBLE
        assert time.observe(receive - 0.01, receive) is PLAUSIBLE


def test_reception_that_goes_back_is_a_jump():
    """The receiver's clock was set back, or a bag was started again."""
    time, _ = observed([0.01] * 20)
    assert time.observe(None, 990.0) is JUMPED


def test_a_drift_is_followed():
    """A clock that runs 100 ppm fast is followed within a window's drift and a millisecond."""
    time, _ = observed([0.02 + 1e-4 * 0.1 * k for k in range(6000)])
    assert abs(time.offset - (0.02 + 1e-4 * 600.0)) < 2 * OFFSET_WINDOW * 1e-4 + 1e-3


def test_without_stamps_both_clocks_are_one():
    """Messages without a header say nothing of an offset."""
    time = TimeBase()
    assert time.observe(None, 50.0) is PLAUSIBLE and time.to_stamp_clock(50.0) == 50.0
