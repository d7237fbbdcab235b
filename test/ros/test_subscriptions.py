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

"""Collecting messages: order of reception, receive times on the node's clock, and clocks that stop,
jump or run fast."""
import threading
import time
from types import SimpleNamespace

import pytest

from uvms_adaptive_dynamics.ros import subscriptions
from uvms_adaptive_dynamics.ros.subscriptions import InputPoll, PeriodicThread

SECOND = 10 ** 9
WALL = 1_700_000_000 * SECOND


class World:
    """Two clocks and the messages of two topics, as seen by InputPoll."""

    def __init__(self, monkeypatch, node_time: int):
        self.node_time, self.wall = node_time, WALL
        self.imu, self.dvl = SimpleNamespace(waiting=[]), SimpleNamespace(waiting=[])
        for source in (self.imu, self.dvl):
            source.taken = lambda source=source: [source.waiting.pop(0)
                                                  for _ in list(source.waiting)]
        clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=self.node_time))
        monkeypatch.setattr(subscriptions.time, "time_ns", lambda: self.wall)
        self.poll = InputPoll(SimpleNamespace(get_clock=lambda: clock), [self.imu, self.dvl])
        self.poll.collect()

    def pass_by(self, wall: int, node: int | None = None):
        """Let time pass [ns] and collect."""
        self.wall, self.node_time = self.wall + wall, self.node_time + (wall if node is None
                                                                        else node)
        return self.poll.collect()


@pytest.mark.parametrize("rate", [1, 10])
def test_receive_times_are_those_of_reception_on_the_nodes_clock(monkeypatch, rate):
    """Between two collections messages keep their order across topics and their relative times at
    the rate of the clock."""
    world = World(monkeypatch, 50 * SECOND)
    world.imu.waiting += [(WALL + 4_000_000, b"first"), (WALL + 14_000_000, b"third")]
    world.dvl.waiting += [(WALL + 9_000_000, b"second")]
    came, jumped = world.pass_by(20_000_000, rate * 20_000_000)
    assert not jumped
    assert [message.data for message in came] == [b"first", b"second", b"third"]
    assert [message.source for message in came] == [world.imu, world.dvl, world.imu]
    assert [message.receive_ns - 50 * SECOND for message in came] == [rate * 4_000_000,
                                                                      rate * 9_000_000,
                                                                      rate * 14_000_000]


def test_receive_times_strictly_increase(monkeypatch):
    """Even for simultaneous messages, and without a receive time of the middleware."""
    world = World(monkeypatch, 50 * SECOND)
    world.imu.waiting += [(0, b"b"), (0, b"a"), (WALL + 1000, b"c")]
    world.dvl.waiting += [(WALL + 1000, b"d")]
    came, _ = world.pass_by(20_000_000)
    times = [message.receive_ns for message in came]
    assert [message.data for message in came] == [b"b", b"a", b"c", b"d"]
    assert all(later > earlier for earlier, later in zip(times, times[1:]))
    world.imu.waiting += [(WALL + 21_000_000, b"e")]
    came, _ = world.pass_by(20_000_000)
    assert came[0].receive_ns > times[-1]


def test_before_simulated_time_begins_receive_times_are_zero(monkeypatch):
    """The first messages after its start count as received now."""
    world = World(monkeypatch, 0)
    world.imu.waiting += [(WALL + 1000, b"too early")]
    came, jumped = world.pass_by(20_000_000, 0)
    assert [message.receive_ns for message in came] == [0] and not jumped
    world.imu.waiting += [(WALL + 25_000_000, b"first")]
    came, jumped = world.pass_by(20_000_000, 7 * SECOND)
    assert [message.receive_ns for message in came] == [7 * SECOND] and not jumped


def test_a_clock_that_jumps_back_is_told_once(monkeypatch):
    """Jitter is no jump; after a jump receive times start again."""
    world = World(monkeypatch, 50 * SECOND)
    world.imu.waiting += [(WALL + 1000, b"before")]
    before, _ = world.pass_by(20_000_000)
    world.imu.waiting += [(WALL + 21_000_000, b"jitter")]
    jitter, jumped = world.pass_by(20_000_000, -1_000_000)
    assert not jumped and jitter[0].receive_ns > before[0].receive_ns
    world.imu.waiting += [(WALL + 41_000_000, b"after")]
    after, jumped = world.pass_by(20_000_000, -30 * SECOND)
    assert jumped and after[0].receive_ns == world.node_time
    assert world.pass_by(20_000_000)[1] is False


def test_repeated_goes_on_after_an_error_and_ends():
    """An exception is reported and the action called again; not after stop."""
    calls, errors, enough = [], [], threading.Event()

    def action():
        calls.append(time.monotonic())
        if len(calls) == 2:
            raise ValueError("one of them")
        if len(calls) == 5:
            enough.set()

    repeated = PeriodicThread(0.01, action, errors.append)
    assert enough.wait(5.0)
    repeated.stop()
    count = len(calls)
    time.sleep(0.05)
    assert len(calls) == count and [str(error) for error in errors] == ["one of them"]


def test_outputs_of_this_package_are_no_inputs():
    """A topic published only by the identification node is not suggested as an input; one that a
    driver publishes too is."""
    nodes = {"/ctl/pwm": ["uvms_identification"], "/pwm": ["uvms_identification", "esc_driver"]}

    def publishers(topic):
        return [SimpleNamespace(node_name=name, node_namespace="/") for name in nodes[topic]]

    node = SimpleNamespace(get_namespace=lambda: "/", get_name=lambda: "uvms_estimator",
                           get_publishers_info_by_topic=publishers)
    source = SimpleNamespace(_node=node)
    offered = [topic for topic in nodes
               if subscriptions.InputSubscription._published_by_others(source, topic)]
    assert offered == ["/pwm"]
