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

"""Stamps and clocks of messages."""

import math
from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import stamp
from signal_runs import run

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.decode.readings import (
    MOST_HELD,
    ClockJump,
    MessageReader,
)


def test_a_sensor_with_a_wrong_clock_is_named_corrected_and_used(clean):
    """A DVL whose stamps are 5 s behind: its rows are used as if they were right."""
    config, robot, _, messages = clean

    def shift(role, message, t):
        if role == "dvl":
            message = Message(
                header=stamp(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec - 5.0),
                twist=message.twist,
            )
        return role, message, t

    front, samples = run(config, robot, messages, shift)
    right, wanted = run(config, robot, messages)
    assert not front.resets and front.inputs["dvl"].used >= right.inputs["dvl"].used - 1
    assert [w[:28] for w in front.warnings] == ["dvl: its clock is 5.00 s beh"]
    assert len(samples) == len(wanted)
    assert sum(s.valid.all() for s in samples) > 0.98 * sum(s.valid.all() for s in wanted)


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


def read(reader, messages):
    """The readings of (role, message, time of reception), including those held."""
    found = [reading for item in messages for reading in reader.read(*item)]
    return found + reader.flush()


def depths(times, late=0.01, behind=0.0):
    """Depth messages stamped at these times [s] on a clock that is `behind`, received `late`."""
    return [("depth", depth_message(t - behind), t + late) for t in times]


SECOND = [1000.5 + 0.1 * k for k in range(10)]


def test_delays_move_the_times_of_readings():
    """A sensor's stamp is late by its delay; a command acts later than it was stamped."""
    reader = MessageReader(Config().with_values({"depth.delay": 0.2, "thrusters.delay": 0.3}))
    depth = read(reader, depths(SECOND))
    assert reader.origin == 1000.0 and depth[0].t == pytest.approx(0.3) and depth[0].values == [3.0]
    commands = [("thrusters", Message(data=[1500.0] * 8, header=stamp(1001.5 + 0.02 * k)),
                 1001.52 + 0.02 * k) for k in range(3)]
    assert read(reader, commands)[0].t == pytest.approx(1.8)


def test_without_a_header_reception_is_brought_to_the_sensors_clock():
    """The sensors' clock is 50 s behind: a command without a header is dated by it, even one that
    came before the clock was known."""
    reader, command = MessageReader(Config()), Message(data=[1500.0] * 8)
    found = read(reader, [("thrusters", command, 1000.45), *depths(SECOND, behind=50.0),
                          ("thrusters", command, 1002.0)])
    times = [reading.t + reader.origin for reading in found if reading.role == "thrusters"]
    expected = [t - 50.01 + Config().thrusters.delay for t in (1000.45, 1002.0)]
    assert times == pytest.approx(expected, abs=1e-6)


def test_stamps_that_several_messages_share_are_not_used():
    """Whole seconds: the depths are dated at reception, less a usual transport delay."""
    reader = MessageReader(Config())
    sent = 1000.5 + 0.1 * np.arange(100)
    found = read(reader, [("depth", depth_message(math.floor(t), 3.0 + 0.001 * t), t + 0.01)
                          for t in sent])
    times = [reading.t + reader.origin for reading in found]
    delay = reader.inputs["depth"].clock.latency
    assert times[-70:] == pytest.approx((sent[-70:] + 0.01 - delay).tolist()) and delay < 0.5
    assert "same stamp" in " ".join(reader.clocks.sentences())


def test_a_driver_that_repeats_its_last_message_is_silent():
    """Its copies are no measurements whose stamps are wrong."""
    reader = MessageReader(Config())
    last = depth_message(SECOND[-1])
    found = read(reader, [*depths(SECOND), *(("depth", last, SECOND[-1] + 0.1 * k)
                                             for k in range(1, 60))])
    state = reader.inputs["depth"]
    assert len(found) == len(SECOND) and sum(state.rejected.values()) == 59
    assert reader.clocks.sentences() == []


def test_rejections_are_counted_and_explained():
    """A message that cannot be decoded, and one with the stamp of the last."""
    reader = MessageReader(Config())
    found = read(reader, [*depths(SECOND), *depths(SECOND[-1:], late=0.02),
                          ("depth", depth_message(1001.5, -999.0), 1001.51)])
    state = reader.inputs["depth"]
    assert len(found) == 10 and state.received == 12 and state.rejected == {
        "stamp not later than the last": 1,
        "the value is not a depth": 1,
    }
    assert "depth.unit" in state.last_error


def joints(t, names):
    """A message of joints at rest at t [s], with its role and time of reception."""
    still = [0.0] * len(names)
    return ("joint_states", Message(header=stamp(t), name=list(names), position=still,
                                    velocity=still, effort=still), t + 0.01)


def test_joints_under_other_names_are_refused_unless_the_robots_own_come_too():
    """A gripper on the same topic is another's business; a driver that restarts with a prefix has
    taken the arm with it."""
    config = Config()
    own, times = config.robot.joints, 1000.5 + 0.02 * np.arange(100)
    reader = MessageReader(config)
    both = [item for t in times for item in (joints(t, own), joints(t + 0.005, ["jaw"]))]
    assert len(read(reader, both)) == 100
    state = reader.inputs["joint_states"]
    assert not state.rejected
    read(reader, [joints(t + 2.0, [f"arm/{name}" for name in own]) for t in times])
    refused, = state.rejected.values()
    assert 100 - config.joint_states.timeout / 0.02 <= refused <= 100
    assert "the message has arm/axis_e" in state.last_error


def test_reasons_are_few_whatever_comes():
    """Numbers go into the sentence, not into the counter's name."""
    reader = MessageReader(Config())
    read(reader, [*depths(SECOND), *(("depth", depth_message(1002.0 + 0.1 * k, -1e3 - k), 1002.01
                                      + 0.1 * k) for k in range(50))])
    assert reader.inputs["depth"].rejected == {"the value is not a depth": 50}


def test_single_stamps_far_ahead_are_left_out_alone():
    """Every tenth stamp is 0.9 s ahead; nothing else is lost."""
    wrong = [("depth", depth_message(t + (0.9 if k % 10 == 3 else 0.0)), t + 0.01)
             for k, t in enumerate(1000.5 + 0.1 * k for k in range(100))]
    reader = MessageReader(Config())
    assert len(read(reader, wrong)) == 90
    assert reader.inputs["depth"].rejected == {"stamp ahead of its clock": 10}


def test_a_burst_at_the_start_costs_no_stamp_after_it():
    """Messages of .8 s come in a late burst; later ones come in time, and all are read."""
    late = [("depth", depth_message(1000.5 + 0.1 * k), 1001.4) for k in range(9)]
    in_time = depths([1001.4 + 0.1 * k for k in range(20)])
    reader = MessageReader(Config())
    found = read(reader, [*late, *in_time])
    assert len(found) == 29 and not reader.inputs["depth"].rejected


def test_a_clock_jump_leaves_the_message_unread():
    """The caller resets and reads it again, which succeeds in the new time."""
    reader = MessageReader(Config())
    read(reader, depths(SECOND))
    assert isinstance(reader.read("depth", depth_message(500.0), 500.0), ClockJump)
    reader.reset()
    reader.read("depth", depth_message(500.0), 500.0)
    assert [r.t for r in reader.flush()] == [0.0] and reader.origin == 500.0


@pytest.mark.parametrize("sec, receive", [(None, 1001.0), ("1000", 1001.0), (1e400, 1001.0),
                                          (10**400, 1001.0), (1001, float("nan"))])
def test_times_that_are_none_are_counted(sec, receive):
    """Headers and times of reception that no middleware produces."""
    reader = MessageReader(Config())
    read(reader, depths(SECOND))
    message = Message(data=3.0, header=Message(stamp=Message(sec=sec, nanosec=0)))
    assert reader.read("depth", message, receive) == []
    assert reader.inputs["depth"].rejected.total() == 1


def test_what_waits_too_long_is_counted():
    """A flood before the clocks are known does not fill the memory, and costs no other sensor's
    messages, however early."""
    reader = MessageReader(Config())
    depth_message_of = depths(SECOND)[0]
    reader.read(*depth_message_of)
    for k in range(MOST_HELD + 9):
        reader.read("thrusters", Message(data=[1500.0] * 8), depth_message_of[2] + 1e-5 * k)
    assert reader.inputs["thrusters"].rejected.total() == 10
    assert reader.inputs["depth"].rejected.total() == 0


@pytest.mark.parametrize("shift, said, causes", [
    (-5.0, "4.99 s after reception", "clock and connection"),
    (9.0, "9.01 s before reception", "clock and connection, and the load on this computer")])
def test_a_refused_stamp_is_placed_before_or_after_its_reception(shift, said, causes):
    """In words, not by a sign: the usual one, 0.01 s before, stands beside it. All messages are
    late on a computer that stalls."""
    reader = MessageReader(Config())
    read(reader, [*depths(SECOND), ("depth", depth_message(SECOND[-1] + 0.1 - shift),
                                    SECOND[-1] + 0.11)])
    assert reader.inputs["depth"].last_error == (
        f"its stamp is {said}, usually 0.01 s before reception; check that driver's {causes}")
