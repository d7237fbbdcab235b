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

"""Driver faults, live: the real node in a separate process, simulated messages over ROS 2, and what
its log and diagnostics report, and when.

`python test/live_faults.py [FAULT ..]` runs all of them, or those named, some 25 s each, and two
minutes and a half of one that is found by checks of half a minute. The exit
status is 1 if one was not reported as expected.
"""

import copy
import re
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
import conftest  # noqa: E402, F401  (the environment of all tests)
from ros_bus import bus, process  # noqa: E402

from builtin_interfaces.msg import Time  # noqa: E402  isort: skip
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402  isort: skip
from geometry_msgs.msg import TwistStamped  # noqa: E402  isort: skip
from rcl_interfaces.msg import Log  # noqa: E402  isort: skip
from rclpy.qos import QoSProfile, qos_profile_sensor_data  # noqa: E402  isort: skip

from uvms_adaptive_dynamics.ros.demo.simulated_robot import (  # noqa: E402
    MESSAGE_CLASSES,
    ros_message,
)
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot  # noqa: E402

NAN = float("nan")
HEALTHY, DURATION, RECOVERY = 8.0, 8.0, 5.0  # [s] before, during and after a fault
LEVELS = ("OK", "WARN", "ERROR")


class Driver:
    """All drivers of the simulated robot. Publishes each message as `change(topic, message)`
    returns it, a list of messages."""

    def __init__(self, bus_, others):
        self.bus, self.others = bus_, others
        self.robot = SimulatedRobot(3, None, truth_period=None)
        self.nodes, self.publishers = {}, {}
        self.change = unchanged
        self.start = None

    def connect(self, topic):
        """Start the driver of a topic, as a participant that can die by itself."""
        if topic not in self.nodes:
            name = topic.replace("/", "_") + "_driver"
            self.nodes[topic] = self.others.enter_context(bus(name=name)).operator
        self.publishers[topic] = self.nodes[topic].create_publisher(
            MESSAGE_CLASSES[topic], topic, qos_profile_sensor_data
        )

    def kill(self, topic):
        self.nodes[topic].destroy_publisher(self.publishers.pop(topic))

    def spin(self, seconds):
        """Publish for a while."""
        now = time.time_ns()
        if self.start is None or now - self.start > round((self.robot.t + 1.0) * 1e9):
            self.start = now - round(self.robot.t * 1e9)
            self.robot.restart_clock(self.start)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for message in self.robot.advance((time.time_ns() - self.start) * 1e-9):
                for changed in self.change(message.topic, ros_message(message)):
                    if message.topic in self.publishers:
                        self.publishers[message.topic].publish(changed)
            self.bus.executor.spin_once(timeout_sec=0.004)


def unchanged(topic, message):
    return [message]


def on(wanted, function):
    """A change in place of the messages of one topic (None: of all)."""

    def change(topic, message):
        if wanted in (None, topic):
            function(message)
        return [message]

    return change


def shifted(seconds):
    """Stamps later by a number of seconds."""

    def shift(message):
        if hasattr(message, "header"):
            stamp = message.header.stamp
            total = stamp.sec * 10**9 + stamp.nanosec + round(seconds * 1e9)
            message.header.stamp = Time(sec=total // 10**9, nanosec=total % 10**9)

    return shift


def faster(wanted, times, period):
    """Several messages in place of one per `period` [s], interpolated from the previous message."""
    last = {}

    def change(topic, message):
        if topic != wanted:
            return [message]
        before, last[topic] = last.get(topic, message), message
        found = []
        for k in range(1, times + 1):
            between = copy.deepcopy(message)
            shifted((k / times - 1.0) * period)(between)
            mix(between, before, message, k / times)
            found.append(between)
        return found

    return change


def mix(between, before, after, share):
    """Interpolate the values of an Imu or JointState between two others."""
    if hasattr(after, "position"):
        for name in ("position", "velocity", "effort"):
            a, b = getattr(before, name), getattr(after, name)
            setattr(between, name, [(1 - share) * x + share * y for x, y in zip(a, b)])
        return
    for name in ("angular_velocity", "linear_acceleration"):
        for axis in "xyz":
            a, b = (getattr(getattr(m, name), axis) for m in (before, after))
            setattr(getattr(between, name), axis, (1 - share) * a + share * b)


def rename(message):
    message.name = [f"elbow_{k}" for k in range(len(message.name))]


def permute(message):
    order = [2, 0, 3, 1]
    message.name = [message.name[k] for k in order]
    for name in ("position", "velocity", "effort"):
        setattr(message, name, [getattr(message, name)[k] for k in order])


def swap_thrusters(message):
    message.data[1], message.data[2] = message.data[2], message.data[1]


def not_a_number(message):
    message.angular_velocity.x = NAN


def second_imu(driver):
    """Another node publishes the same messages on the same topic."""
    other = driver.others.enter_context(bus(name="second_imu")).operator
    publisher = other.create_publisher(MESSAGE_CLASSES["imu/data"], "imu/data",
                                       qos_profile_sensor_data)

    def change(topic, message):
        if topic == "imu/data":
            publisher.publish(message)
        return [message]

    driver.change = change


def another_type(driver):
    driver.kill("dvl/twist")
    other = driver.others.enter_context(bus(name="other_dvl")).operator
    other.create_publisher(TwistStamped, "dvl/twist", qos_profile_sensor_data)


def second_node(driver):
    """Another estimator of the same name, started by mistake."""
    driver.second = process("uvms_adaptive_dynamics.ros.node", "--ros-args", "-p",
                            "output.save_period:=0.0")
    driver.others.callback(driver.second.kill)


def end_second_node(driver):
    driver.second.send_signal(signal.SIGINT)


def changed(change) -> Callable:
    """A fault that changes messages."""
    return lambda driver: setattr(driver, "change", change)


def end_change(driver):
    driver.change = unchanged


def nothing(driver):
    pass


class Fault(NamedTuple):
    """A fault. begin, end: what starts and ends it; said: words that one log line must contain
    during it; after: likewise once it is over; absent: topics that have no driver before it;
    arguments: of the node; healthy, duration [s]: before and during it."""

    begin: Callable
    end: Callable = end_change
    said: tuple = ()
    after: tuple = ()
    absent: tuple = ()
    arguments: tuple = ()
    healthy: float = HEALTHY
    duration: float = DURATION


def on_topic(method, topic):
    return lambda driver: getattr(driver, method)(topic)


DVL, IMU, JOINTS = "dvl/twist", "imu/data", "joint_states"
RELIABLE = ("--ros-args", "-p", f"qos_overrides./{DVL}.subscription.reliability:=reliable")
FAULTS = {
    "publisher killed": Fault(
        on_topic("kill", DVL), nothing, ("no message on '/dvl/twist'", "no publisher exists")
    ),
    "IMU at 400 Hz": Fault(
        changed(faster(IMU, 4, 0.01)), said=("'/imu/data' now comes at", "Hz before")
    ),
    "joints at 200 Hz": Fault(
        changed(faster(JOINTS, 4, 0.02)), said=("'/joint_states' now comes at", "Hz before")
    ),
    "unknown joints": Fault(
        changed(on(JOINTS, rename)),
        said=("'/joint_states' were refused", "'axis_e' is missing"),
        after=("'/joint_states' are used again",),
    ),
    "permuted joints": Fault(changed(on(JOINTS, permute))),
    "two publishers": Fault(
        second_imu, said=("2 publishers on '/imu/data': /imu_data_driver, /second_imu",)
    ),
    "wrong type": Fault(
        another_type, nothing, ("'/dvl/twist'", "sends geometry_msgs/msg/TwistStamped")
    ),
    "wrong QoS": Fault(
        nothing, nothing, ("'/dvl/twist'", "incompatible QoS", "best_effort"), arguments=RELIABLE
    ),
    "clock jump forth": Fault(
        changed(on(IMU, shifted(2.0))), said=(r"imu: its clock is (1\.9|2\.0)\d s ahead",)
    ),
    "clock jump back": Fault(
        changed(on(IMU, shifted(-5.0))), said=(r"imu: its clock is (4\.9|5\.0)\d s behind",)
    ),
    "all clocks jump": Fault(
        changed(on(None, shifted(10.0))), said=(r"all stamps are (9\.9|10\.0)\d s ahead of",)
    ),
    "NaN": Fault(
        changed(on(IMU, not_a_number)),
        said=("'/imu/data' were refused", "not finite"),
        after=("'/imu/data' are used again",),
    ),
    "silence": Fault(
        changed(lambda topic, message: [] if topic == IMU else [message]),
        said=("no message on '/imu/data'", "exists and fits, but sends nothing"),
        after=("messages on '/imu/data' again after",),
    ),
    "late start": Fault(
        nothing,
        on_topic("connect", JOINTS),
        ("no message yet on '/joint_states'", "no publisher exists"),
        ("first message on '/joint_states'",),
        absent=(JOINTS,),
    ),
    "restart of a driver": Fault(
        on_topic("kill", DVL),
        on_topic("connect", DVL),
        ("no message on '/dvl/twist'", "no publisher exists"),
        ("messages on '/dvl/twist' again after",),
    ),
    # (checks of half a minute, every ten seconds, the second confirms the first)
    "thrusters swapped": Fault(
        changed(on("thruster_commands", swap_thrusters)),
        nothing,
        ("thrusters 2 and 3 seem to be swapped", "this is corrected"),
        healthy=60.0,
        duration=75.0,
    ),
    "second node": Fault(
        second_node,
        end_second_node,
        ("2 nodes are called '/uvms_estimator'",),
        ("no other node is called '/uvms_estimator' any more",),
        duration=15.0,
    ),
}


class Heard:
    """Lines of the log and the diagnostics: (time since the fault began [s], text)."""

    def __init__(self, ros):
        self._log = ros.collect(Log, "/rosout", QoSProfile(depth=200))
        self._reports = ros.collect(DiagnosticArray, "/diagnostics", QoSProfile(depth=200))
        self._levels = {}
        self.log, self.diagnostics = [], []
        self.samples = 0

    @property
    def reports(self):
        return len(self._reports)

    def take(self, since):
        """Move new lines into `log` and `diagnostics`, timed from `since` [s]."""
        at = time.monotonic() - since
        for line in self._log:
            if line.name.startswith("uvms_estimator"):
                self.log.append((at, f"{'WARN' if line.level > 20 else 'INFO'} {line.msg}"))
        for status in (status for report in self._reports for status in report.status):
            name, level = status.name.split(": ", 1)[1], status.level[0]
            if self._levels.get(name, 0) != level:
                self.diagnostics.append((at, f"{name}: {LEVELS[level]}: {status.message}"))
            self._levels[name] = level
            if name == "overall":
                self.samples = int({v.key: v.value for v in status.values}["samples"])
        self._log.clear()
        self._reports.clear()


@contextmanager
def robot_and_node(absent=(), arguments=()):
    """(driver, `Heard`), with drivers of all topics but `absent`, and a node with these arguments
    that has made its first report."""
    with bus() as ros, ExitStack() as others:
        heard, driver = Heard(ros), Driver(ros, others)
        for topic in MESSAGE_CLASSES:
            if topic not in absent:
                driver.connect(topic)
        saved = others.enter_context(TemporaryDirectory())     # of no fault before
        node = process("uvms_adaptive_dynamics.ros.node", *arguments, "--ros-args", "-p",
                       f"output.directory:={saved}")
        try:
            ros.until(lambda: heard.reports, what="the node's first report")
            yield driver, heard
        finally:
            node.send_signal(signal.SIGINT)
            try:
                node.communicate(timeout=20)
            finally:
                node.kill()


def spent(driver, heard, since, seconds, enough=lambda: False):
    """Publish for so many seconds, or until `enough()`; returns the number of samples that the node
    made."""
    before, end = heard.samples, time.monotonic() + seconds
    while time.monotonic() < end and not enough():
        driver.spin(0.1)
        heard.take(since)
    return heard.samples - before


def run(fault):
    """Run a fault; returns (`Heard`, samples before, during and after it)."""
    with robot_and_node(fault.absent, fault.arguments) as (driver, heard):
        counts = [spent(driver, heard, time.monotonic() + fault.healthy, fault.healthy)]
        since = time.monotonic()
        for begin, seconds in ((fault.begin, fault.duration), (fault.end, RECOVERY)):
            begin(driver)
            counts.append(spent(driver, heard, since, seconds))
        return heard, counts


def first(lines, words):
    """The time [s] of the first line that contains all words (regular expressions); None without
    one."""
    return next((at for at, text in lines if all(re.search(word, text) for word in words)), None)


def verdict(fault, heard):
    """(whether everything required was logged, a sentence)."""
    if not fault.said:
        said = [text for at, text in heard.log if at > 0.0 and text.startswith("WARN")]
        return not said, "nothing to report" if not said else f"UNEXPECTED: {said[0]}"
    at, after = first(heard.log, fault.said), first(heard.log, fault.after)
    if at is None:
        sentence = "NOT LOGGED"
    elif at < 0.0:
        sentence = f"logged {at + fault.healthy:.1f} s after the node's first report"
    else:
        sentence = f"logged {at:.1f} s after it began"
    if fault.after:
        sentence += (
            "; its end NOT LOGGED"
            if after is None
            else f", its end {after - fault.duration:.1f} s after it"
        )
    return at is not None and (not fault.after or after is not None), sentence


def main(names):
    wrong = 0
    for name in names or FAULTS:
        fault = FAULTS[name]
        heard, samples = run(fault)
        good, sentence = verdict(fault, heard)
        wrong += not good
        print(f"== {name}: {sentence}; samples before, during, after: {samples}")
        for at, text in sorted(heard.log + heard.diagnostics):
            if at > -3.0 and not text.startswith("overall"):
                print(f"   {at:6.1f} {text[:220]}", flush=True)
    print(f"{wrong} of {len(names or FAULTS)} not as expected")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
