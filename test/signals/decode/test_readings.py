"""Stamps and clocks of messages."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import stamp
from signal_runs import run

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.decode.readings import ClockJump, MessageReader


def test_one_sensor_with_a_wrong_clock_is_rejected_by_name(clean):
    """A DVL whose stamps are 5 s off is counted as such; the others go on."""
    config, robot, _, messages = clean

    def shift(role, message, t):
        if role == "dvl":
            message = Message(
                header=stamp(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec - 5.0),
                twist=message.twist,
            )
        return role, message, t

    front, samples = run(config, robot, messages, shift)
    assert front.inputs["dvl"].rejected["stamp far from the clock"] > 100 and not front.resets
    assert "clock" in front.inputs["dvl"].last_error and any(s.valid[6:].any() for s in samples)


def test_repeated_and_late_stamps_are_dropped(clean):
    """A stamp not later than the last adds nothing."""
    config, robot, _, messages = clean
    doubled = [item for item in messages for _ in range(2)]
    a, b = run(config, robot, messages), run(config, robot, doubled)
    assert b[0].counters["imu: stamp not later than the last"] > 1000
    assert all(np.array_equal(x.nu, y.nu) for x, y in zip(a[1], b[1]))


def depth_message(t, value=3.0):
    """A depth in metres, stamped if t [s] is not None."""
    return Message(data=value) if t is None else Message(data=value, header=stamp(t))


def test_delays_move_the_times_of_readings():
    """A sensor's stamp is late by its delay; a command acts later than it was stamped."""
    config = Config().with_values({"depth.delay": 0.2, "thrusters.delay": 0.3})
    reader = MessageReader(config)
    depth = reader.read("depth", depth_message(1000.5), 1000.51)
    assert reader.origin == 1000.0 and depth.t == pytest.approx(0.3) and depth.values == [3.0]
    command = Message(data=[1500.0] * 8, header=stamp(1000.5))
    assert reader.read("thrusters", command, 1000.52).t == pytest.approx(0.8)


def test_without_a_header_reception_is_brought_to_the_sensors_clock():
    """The sensors' clock is 50 s behind: a command without a header is stamped on it."""
    reader = MessageReader(Config())
    for k in range(10):
        reader.read("depth", depth_message(1000.0 + 0.1 * k), 1050.01 + 0.1 * k)
    command = reader.read("thrusters", Message(data=[1500.0] * 8), 1051.0)
    expected = 1051.0 - 50.01 + Config().thrusters.delay
    assert reader.origin + command.t == pytest.approx(expected, abs=1e-6)


def test_rejections_are_counted_and_explained():
    """A message that cannot be decoded, and one with the stamp of the last."""
    reader = MessageReader(Config())
    assert reader.read("depth", depth_message(1000.0), 1000.0) is not None
    assert reader.read("depth", depth_message(1000.0), 1000.1) is None
    assert reader.read("depth", depth_message(1000.2, -999.0), 1000.2) is None
    state = reader.inputs["depth"]
    assert state.received == 3 and state.rejected == {
        "stamp not later than the last": 1,
        "-999 m is not a depth": 1,
    }
    assert "pressure is expected in Pa" in state.last_error


def test_a_clock_jump_leaves_the_message_unread():
    """The caller resets and reads it again, which then works in the new time."""
    reader = MessageReader(Config())
    reader.read("depth", depth_message(1000.0), 1000.0)
    assert isinstance(reader.read("depth", depth_message(500.0), 500.0), ClockJump)
    reader.reset()
    assert reader.read("depth", depth_message(500.0), 500.0).t == 0.0 and reader.origin == 500.0
