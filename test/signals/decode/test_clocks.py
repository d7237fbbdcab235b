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

"""Conversion of all sensors to one clock."""

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.config.sensors import ODOMETRY
from uvms_adaptive_dynamics.signals.decode.clocks import (
    START_TIME,
    Clocks,
    Handling,
    usual_latencies,
)

START = 1_767_000_000.0
# role: period [s], transport delay [s]
SENSORS = {"imu": (0.01, 0.002), "dvl": (0.1, 0.1), "depth": (0.1, 0.02),
           "joint_states": (0.02, 0.004)}
OFFSETS = (0.1, 0.3, 0.9, 5.0, -0.8, -5.0, -30.0, -1.7e9)


def events(seconds, ahead=None, begin=0.0, sensors=SENSORS):
    """(role, stamp, reception) in the order of reception; `ahead`: role -> [s] from `begin` on."""
    found = []
    for role, (period, delay) in sensors.items():
        for k in range(int(seconds / period)):
            t = period * (k + 0.3)
            shift = (ahead or {}).get(role, 0.0) if t >= begin else 0.0
            found.append((role, START + t + shift, START + t + delay))
    return sorted(found, key=lambda event: event[2])


def fed(clocks, found):
    return [clocks.observe(*event) for event in found]


def corrections(clocks):
    return {role: sensor.correction for role, sensor in clocks.sensors.items()
            if sensor.correction is not None}


def test_sensors_on_one_clock_are_used_as_they_are():
    """Held until the clocks are known, then used; nothing is corrected or reported."""
    clocks, found = Clocks(SENSORS), events(10.0)
    verdicts = fed(clocks, found)
    first = verdicts.index(Handling.RELEASE)
    assert set(verdicts[:first]) == {Handling.HOLD} and set(verdicts[first + 1:]) == {Handling.USE}
    assert found[first][2] - found[0][2] == pytest.approx(START_TIME, abs=0.02)
    assert clocks.reference == 0.0 and not corrections(clocks) and not clocks.sentences()
    assert clocks.guessed() == []
    assert clocks.sensors["dvl"].latency == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize("ahead", OFFSETS)
@pytest.mark.parametrize("role", SENSORS)
def test_a_wrong_clock_is_corrected_and_touches_no_other(role, ahead):
    """From the first message on, its data time is correct up to its unknown transport delay."""
    clocks, found = Clocks(SENSORS), events(5.0, {role: ahead})
    fed(clocks, found)
    if role == "dvl" and ahead == 0.1:      # received when stamped: reception proves nothing
        assert not corrections(clocks)
        return
    assert list(corrections(clocks)) == clocks.guessed() == [role]
    name, stamp, receive = next(event for event in reversed(found) if event[0] == role)
    true = stamp - ahead
    assert clocks.data_time(name, stamp, receive) == pytest.approx(true, abs=0.02)
    assert clocks.sentences()[0].startswith(f"{role}: its clock is ")
    assert clocks.sensors[role].error == pytest.approx(ahead, abs=0.05)
    assert clocks.now() == pytest.approx(found[-1][2])


@pytest.mark.parametrize("rate", [-0.02, -0.005, 0.01])
def test_a_drifting_clock_is_followed_between_two_comparisons_too(rate):
    """Clocks are compared once a second, in which 20 ms/s are a whole tick: once the drift is
    known, no measurement is dated more than the unknown transport delay wrong."""
    clocks, errors = Clocks(SENSORS), []
    for role, stamp, receive in events(40.0):
        if role != "imu":
            clocks.observe(role, stamp, receive)
            continue
        drifted = stamp + rate * (stamp - START)
        clocks.observe(role, drifted, receive)
        if stamp > START + 1.0:
            errors.append(clocks.data_time(role, drifted, receive) - stamp)
    assert np.abs(errors[2000:]).max() < 0.006


@pytest.mark.parametrize("role", SENSORS)
def test_a_clock_that_steps_keeps_the_delay_that_was_learnt(role):
    """It steps two seconds ahead in the third second, and its data continue without a step."""
    clocks = Clocks(SENSORS)
    verdicts = fed(clocks, events(8.0, {role: 2.0}, begin=3.0))
    assert Handling.JUMPED not in verdicts
    assert corrections(clocks)[role] == pytest.approx(-2.0, abs=2e-3)


@pytest.mark.parametrize("ahead", [-1.7e9, -3600.0, -1.0, 0.5, 3600.0])
def test_stamps_of_one_foreign_clock_are_used_as_they_are(ahead):
    """Simulated time, or a vehicle computer with another time: reported, but not corrected."""
    clocks = Clocks(SENSORS)
    fed(clocks, events(5.0, dict.fromkeys(SENSORS, ahead)))
    assert clocks.reference == pytest.approx(-ahead, abs=0.01) and not corrections(clocks)
    assert [s.startswith("clock: all stamps are") for s in clocks.sentences()] == (
        [True] if abs(ahead) > 0.5 else [])
    # A command without a header is converted to that clock.
    assert clocks.data_time("thrusters", None, START) == pytest.approx(START + ahead, abs=0.01)


def test_a_bag_that_begins_again_is_a_jump_of_the_common_clock():
    """All stamps go back by 20 s while reception continues: everything restarts within two seconds.
    """
    clocks = Clocks(SENSORS)
    found = events(30.0, dict.fromkeys(SENSORS, -20.0), begin=20.0)
    verdicts = fed(clocks, found)
    at = found[verdicts.index(Handling.JUMPED)][2] - START
    assert 20.0 < at < 22.0


def test_reception_that_goes_back_is_a_jump():
    """The receiver's clock was set back."""
    clocks = Clocks(SENSORS)
    fed(clocks, events(5.0))
    assert clocks.observe("imu", START - 30.0, START - 30.0) is Handling.JUMPED


def test_a_sensor_that_starts_late_is_judged_by_a_few_messages():
    """Its first stamp is wrong, the next ones are right."""
    clocks = Clocks([*SENSORS, "thrusters"])
    fed(clocks, events(5.0))
    t = START + 5.0
    verdicts = [clocks.observe("thrusters", t + 0.02 * k + (0.9 if k == 0 else 0.0),
                               t + 0.02 * k + 0.005) for k in range(5)]
    assert verdicts == [Handling.HOLD, Handling.HOLD, Handling.RELEASE, Handling.USE, Handling.USE]
    assert not corrections(clocks)


def test_stamps_of_zero_are_said_and_count_at_reception():
    """Less the usual transport delay of such a sensor."""
    clocks = Clocks(SENSORS)
    for role, stamp, receive in events(5.0):
        clocks.observe(role, None if role == "dvl" else stamp, receive, unstamped=role == "dvl")
    assert clocks.sentences()[0].startswith("dvl: its stamps are zero")
    assert clocks.guessed() == ["dvl"]
    assert clocks.data_time("dvl", None, START) == pytest.approx(START - 0.1)
    assert clocks.sensors["dvl"].rate == pytest.approx(10.0, abs=0.1)


def test_an_odometry_without_stamps_is_dated_alike_as_imu_and_as_dvl():
    """It is one message: its velocity has not taken the tenth of a second that a DVL measures."""
    odometry = Config().with_values({"dvl.type": ODOMETRY})
    clocks = Clocks(["imu", "dvl", "thrusters"], usual=usual_latencies(odometry))
    for k in range(100):
        t = START + 0.05 * k
        for role, stamp in (("imu", None), ("dvl", None), ("thrusters", t - 0.004)):
            clocks.observe(role, stamp, t, unstamped=stamp is None)
    assert clocks.guessed() == ["imu", "dvl"]
    assert clocks.data_time("dvl", None, START) == clocks.data_time("imu", None, START)


def test_a_recording_that_begins_at_zero_has_stamps():
    """Its first stamp is zero, as are the first ones of a simulation whose clock has not begun."""
    clocks, said = Clocks(SENSORS), []
    for role, stamp, receive in events(5.0):
        zero = receive < START + 0.05
        clocks.observe(role, None if zero else stamp, receive, unstamped=zero)
        said.append(clocks.sentences() if clocks.reference is not None else [])
    assert not said[-1] and not clocks.guessed()
