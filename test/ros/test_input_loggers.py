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

"""Log messages about an input: one line per change, and no more."""
from types import SimpleNamespace

import pytest

from uvms_adaptive_dynamics.ros.input_loggers import ClockLogger, FindingLogger, InputLogger
from uvms_adaptive_dynamics.signals.decode.input_state import InputState
from uvms_adaptive_dynamics.signals.health import MENDED


class World:
    """An input with messages at a rate, and its logger, polled twice per second."""

    def __init__(self, rate=50.0):
        self.state = InputState("imu", "imu/data")
        self.topic = SimpleNamespace(topic="/imu/data", several="",
                                     why_silent="no publisher exists")
        self.logger = InputLogger(self.state, self.topic, "sensor_msgs/msg/Imu", 0.0)
        self.now, self.rate = 0.0, rate

    def run(self, seconds, refused=False, reason="not finite"):
        """Lines of so many seconds."""
        said = []
        for _ in range(round(2 * seconds)):
            self.now += 0.5
            for _ in range(round(0.5 * self.rate)):
                self.state.received += 1
                self.state.last_receive = self.now
                if refused:
                    self.state.count_rejected(reason, f"imu: angular_velocity is {reason}")
                else:
                    self.state.count_used()
            said += list(self.logger.lines(self.now, self.now))
        return said


def test_a_healthy_input_is_silent():
    """No line in a minute."""
    assert World().run(60.0) == []


def test_a_topic_that_never_came_is_named_after_three_seconds_and_every_thirty():
    """With type and reason."""
    world = World(rate=0.0)
    assert world.run(2.5) == []
    said = world.run(40.0)
    assert len(said) == 2 and said[0].warn
    assert said[0].text == ("no message yet on '/imu/data' (sensor_msgs/msg/Imu): no publisher "
                            "exists")


def test_a_topic_that_was_named_as_absent_is_said_to_have_come():
    world = World(rate=0.0)
    world.run(8.0)
    world.rate = 50.0
    assert [tuple(line) for line in world.run(60.0)] == [
        (False, "first message on '/imu/data', 8 s after the start")]


def test_a_publisher_that_has_just_appeared_is_not_said_to_send_nothing():
    """It is given as long as the node's start; one that sends nothing is named then."""
    world = World(rate=0.0)
    assert len(world.run(4.0)) == 1
    world.topic.why_silent = "its publisher sends nothing"
    assert world.run(3.0) == []
    (line,) = world.run(1.0)
    assert line.text.endswith("its publisher sends nothing")


def test_silence_and_return_are_a_line_each():
    """Silence is logged within its timeout and a second, then every 30 s; the return with its
    duration."""
    world = World()
    world.run(5.0)
    world.rate = 0.0
    said = world.run(2.0)
    assert len(said) == 1 and said[0].warn
    assert "no message on '/imu/data' for 1.5 s, its rows are masked" in said[0].text
    assert len(world.run(30.0)) == 1
    world.rate = 50.0
    said = world.run(5.0)
    assert [line.warn for line in said] == [False]
    assert "messages on '/imu/data' again after" in said[0].text


def test_a_topic_that_dies_just_after_it_came_late_is_said():
    """The lines about the late start suppress neither the one about silence nor that about its
    end."""
    world = World(rate=0.0)
    assert len(world.run(3.5)) == 1
    world.rate = 50.0
    assert [line.text for line in world.run(2.0) if line.warn] == []
    world.rate = 0.0
    said = world.run(2.0)
    assert len(said) == 1 and "no message on '/imu/data' for" in said[0].text
    world.rate = 50.0
    (back,) = world.run(2.0)
    assert "messages on '/imu/data' again after" in back.text


def test_a_silence_whose_reason_becomes_another_is_said_again():
    """For example a driver that returns with another type."""
    world = World()
    world.run(5.0)
    world.rate = 0.0
    assert len(world.run(4.0)) == 1
    world.topic.why_silent = "its publisher sends another type"
    said = world.run(10.0)
    assert len(said) == 1 and said[0].text.endswith("its publisher sends another type")


def test_a_flapping_topic_does_not_flood_the_log():
    """Two seconds on, two seconds off, for a minute: at most one line of a kind per ten seconds."""
    world, said = World(), []
    for _ in range(15):
        for world.rate in (50.0, 0.0):
            said += world.run(2.0)
    assert 2 <= len(said) <= 14


def test_refused_messages_are_said_once_with_the_reason_and_their_end():
    """Logged after ten in a row; the first used message ends it, with the count."""
    world = World()
    world.run(5.0)
    said = world.run(5.0, refused=True)
    assert len(said) == 1 and "angular_velocity is not finite" in said[0].text
    said = world.run(5.0)
    assert len(said) == 1 and not said[0].warn
    assert said[0].text.endswith("are used again, 250 were refused")


def test_messages_refused_until_a_clock_is_found_have_no_line_of_their_own():
    """Refusals by stamp for half a second are a clock step; for seconds they are not."""
    world = World()
    world.run(5.0)
    assert world.run(0.5, refused=True, reason="stamp ahead of its clock") == []
    assert world.run(5.0) == []
    assert len(world.run(3.0, refused=True, reason="stamp ahead of its clock")) == 1


@pytest.mark.parametrize("rate, said", [(200.0, 1), (20.0, 1), (60.0, 0)])
def test_another_rate_is_said_once_with_both(rate, said):
    """From a factor of 1.6 on; the loss of a third is an executor under load."""
    world = World()
    world.run(8.0)
    world.rate = rate
    found = world.run(20.0)
    assert len(found) == said
    if said:
        assert f"now comes at {rate:.3g} Hz, 50 Hz before" in found[0].text
        assert ("load on this computer" in found[0].text) == (rate < 50.0)


def test_a_silence_is_no_other_rate():
    """Nor is the start."""
    world = World()
    world.run(8.0)
    world.rate = 0.0
    world.run(10.0)
    world.rate = 50.0
    assert ["again after" in line.text for line in world.run(20.0)] == [True]


def test_another_clock_is_said_and_so_is_its_next_step():
    """The return to agreement is logged too; small changes are not."""
    world = World()
    world.run(2.0)
    clock = world.state.clock
    clock.latency, clock.correction = 0.01, -0.5
    said = world.run(2.0)
    assert len(said) == 1 and "clock is 0.50 s ahead" in said[0].text
    clock.correction = -0.55
    assert world.run(2.0) == []
    clock.correction = 1.0
    assert "clock is 1.00 s behind" in world.run(2.0)[0].text
    clock.correction = 0.004
    said = world.run(10.0)
    assert len(said) == 1 and not said[0].warn and "agrees with the others again" in said[0].text


def test_several_publishers_are_named_once():
    """Until others appear."""
    world = World()
    world.run(2.0)
    world.topic.several = "2 publishers on '/imu/data': /a, /b"
    assert [line.text for line in world.run(20.0)] == [world.topic.several]
    world.topic.several = "3 publishers on '/imu/data': /a, /b, /c"
    assert len(world.run(5.0)) == 1


def test_a_finding_is_said_when_it_appears_and_not_for_ever():
    """Its figures may change; a minute after it has gone it counts as new; clock offsets are logged
    per input."""
    logger, said = FindingLogger(), []
    for steady in range(200):
        there = steady < 50 or steady > 150
        findings = [f"dvl.frame: is wrong ({steady} s)", "imu: its clock is 2.00 s ahead"]
        said += list(logger.lines(findings if there else [], float(steady)))
    assert [line.text for line in said] == ["dvl.frame: is wrong (0 s)",
                                            "dvl.frame: is wrong (151 s)"]


def test_a_finding_that_has_been_corrected_is_said_to_be():
    """Once, also when others come and go."""
    logger, texts = FindingLogger(), ["dvl.frame: is wrong", "dvl.frame: is wrong" + MENDED]
    said = [line.text for steady in range(40)
            for line in logger.lines([texts[steady > 20]], float(steady))]
    assert said == texts


def test_names_that_come_a_moment_after_their_publishers_are_waited_for():
    """Discovery announces a publisher before the name of its node."""
    world = World()
    world.run(2.0)
    world.topic.several = "2 publishers on '/imu/data': /a, a participant without a ROS name"
    said = world.run(0.5)
    world.topic.several = "2 publishers on '/imu/data': /a, /b"
    said += world.run(5.0)
    assert [line.text for line in said] == [world.topic.several]


def test_simulated_time_that_stands_still_is_reported_once_with_its_cause():
    """Before its beginning and without a publisher as a warning, every 30 s; a pause as a remark;
    and its going on."""
    logger, steady = ClockLogger(0.0), 0.0

    def run(seconds, rate, publishers=1):
        nonlocal steady
        said = []
        for _ in range(round(2 * seconds)):
            steady += 0.5
            run.now_ns += round(0.5e9 * rate)
            said += logger.lines(run.now_ns, steady, publishers)
        return [(line.warn, line.text.split(":")[0].split(" but ")[0]) for line in said]

    run.now_ns = 0
    assert run(2.5, 0) == [] and run(30.0, 0) == [(True, "use_sim_time is true")]
    assert run(10.0, 1) == [(False, "simulated time runs again")]
    assert run(60.0, 0.1) == []
    assert run(60.0, 0) == [(False, "simulated time is paused")]
    assert run(1.0, -1) == [(False, "simulated time runs again")]
    assert run(32.0, 0, publishers=0) == [
        (True, "simulated time has stood still for 3 s, so nothing is estimated")]
