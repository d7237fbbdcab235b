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

"""Why rows are missing: the input behind it, and what to set."""
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.evaluation.causes import (
    ADVICE_FOR_REASON,
    ROLE_OF_REASON,
    masked_rows,
    missing_messages,
    partly_masked,
    refused_inputs,
    remedies,
    remedy,
)
from uvms_adaptive_dynamics.signals.decode.decoder import NO_PULSE
from uvms_adaptive_dynamics.signals.decode.input_state import InputState
from uvms_adaptive_dynamics.signals.decode.joint_parts import NOT_LATER
from uvms_adaptive_dynamics.signals.gates.clipped import AT_LIMIT
from uvms_adaptive_dynamics.signals.gates.joint_gates import NO_EFFORTS


def state(role="dvl", used=0, refused=0):
    found = InputState(role, f"/{role}")
    found.received = used + refused
    for _ in range(used):
        found.count_used()
    for _ in range(refused):
        found.count_rejected("no bottom lock", f"{role}: no bottom lock")
    return found


def test_an_input_that_never_came_or_was_refused_is_named_with_its_topic():
    """If most messages were used, nothing is said."""
    assert "no message on '/dvl'; start its driver, check its bottom lock" in missing_messages(
        state())
    wrench = missing_messages(state("wrench"))
    assert "set thrusters.wrench_topic" in wrench and "lock" not in wrench
    said = missing_messages(state(used=2, refused=8))
    assert "8 of 10 messages on '/dvl' were refused" in said and "no bottom lock" in said
    assert missing_messages(state(used=8, refused=2)) == ""


def test_commands_without_a_pulse_and_clipped_velocities_are_the_reason_of_a_silence():
    """Each with what to do about it, and pulses, as of a vehicle that is not armed, only there."""
    thrusters, dvl = state("thrusters", used=75), state(used=100)
    thrusters.received = 100
    for _ in range(25):
        thrusters.count_rejected(NO_PULSE, f"thrusters: {NO_PULSE} (a command of 0 us)")
        dvl.count_outlier(AT_LIMIT)
    states = {"thrusters": thrusters, "dvl": dvl}
    assert "arm the vehicle" in remedy("no thruster command", states)
    assert refused_inputs(states) == {}
    assert f"25 times with '{AT_LIMIT}'; set a larger range" in remedy("no dvl", states)


def test_stretches_of_refused_messages_are_the_reason_of_a_silence():
    """Not stamps or timeouts; copies of other messages, which a bridge sends, are none."""
    (said,) = partly_masked({"surge": {"no dvl": 25}}, ["surge"], 100, lambda *_: None,
                            {"dvl": state(used=75, refused=25)})
    assert "25 of 100 messages on '/dvl' were refused, 25 of them for 'no bottom lock'" in said
    assert said.endswith("; keep the DVL within its range of the bottom")
    dvl = state(used=40)
    dvl.received += 80
    for _ in range(80):
        dvl.count_rejected(NOT_LATER)
    (said,) = partly_masked({"surge": {"no dvl": 25}}, ["surge"], 100, lambda *_: None,
                            {"dvl": dvl})
    assert said.endswith("; check its bottom lock, its driver for pauses, its stamps and "
                         "dvl.timeout")
    assert missing_messages(dvl) == ""


def test_channels_with_one_reason_share_a_sentence():
    """It has the reason that masks most rows, and the remedy."""
    masked = {"surge": {"no dvl": 9, "thruster saturated": 3}, "sway": {"no dvl": 8},
              "axis_e": {"joint at rest": 5}}
    said = masked_rows(masked, ["surge", "sway", "axis_e"], {"dvl": state(used=20)})
    assert len(said) == 2
    assert said[0].startswith("no row of surge, sway counts, mostly for 'no dvl'")
    assert "dvl.timeout" in said[0] and "joint_states.rest_velocity" in said[1]


def test_a_large_share_of_rows_masked_for_one_reason_is_told():
    """The sentence has channels, begin and doubts; rest, settings, the filters'
    start and a tenth are not reported."""
    joints = state("joint_states", used=50)
    joints.count_outlier("velocity spike")
    joints.count_outlier("positions and velocities do not fit each other: axis_d")
    masked = {"surge": {"joint readings contradict each other": 30, "no dvl": 10},
              "sway": {"joint readings contradict each other": 22},
              "axis_e": {"joint at rest": 60, "filters start": 40},
              "axis_d": {"effort masked by setting": 99}}
    (said,) = partly_masked(masked, list(masked), 100, lambda channel, reason: 4.0,
                            {"joint_states": joints})
    assert said.startswith("rows of surge, sway do not count 30% of the time, from 4.0 s after")
    assert "do not fit each other: axis_d" in said and "joint_states.timeout" in said


@pytest.mark.parametrize("reason, doubt, advice", [
    ("joint readings erratic", "effort spike", "check that sensor and its wiring"),
    ("joint readings contradict each other",
     "position stays the same while the velocity says that the joint moves: axis_d",
     "check that joint's encoder and its connection")])
def test_readings_that_are_no_measurements_are_told_with_their_sensor(reason, doubt, advice):
    """Not with stamps and timeouts, which are right."""
    joints = state("joint_states", used=50)
    joints.count_outlier(doubt)
    said = remedy(reason, {"joint_states": joints})
    assert f"1 times with '{doubt}'; {advice}" in said


def test_a_stalled_joint_may_carry_a_payload():
    """Its effort at the drive's limit does not tell a load from a jam, so both are named."""
    said = remedy("joint stalled", {})
    assert "payload" in said and "free the joint" in said


def test_efforts_of_another_unit_are_told_to_be_scaled():
    """The advice does not mention stamps and timeouts."""
    joints = state("joint_states", used=50)
    joints.count_outlier("effort out of range: beyond three times its limit (unit?)")
    (said,) = masked_rows({"axis_e": {"no effort": 30}}, ["axis_e"], {"joint_states": joints})
    assert said.endswith("; set joint_states.effort_scale")


def test_a_driver_that_leaves_some_efforts_out_is_told_to_fill_them_in():
    """The advice does not mention stamps, units or the mask of joints without efforts."""
    joints = state("joint_states", used=50)
    for _ in range(40):
        joints.count_outlier(NO_EFFORTS)
    (said,) = masked_rows({"axis_e": {"no effort": 30}}, ["axis_e"], {"joint_states": joints})
    assert "40 times with 'no efforts" in said
    assert said.endswith("; make the driver fill in the efforts of every message")


def test_a_driver_without_efforts_is_told_the_setting():
    """Ready to paste, for the joints without efforts."""
    masked = {"surge": {"no imu": 3}, "axis_e": {"no effort": 30, "no imu": 3},
              "axis_d": {"no effort": 30}}
    states = {"joint_states": state("joint_states", used=50), "imu": state("imu", used=50)}
    paste = "set joint_states.effort_masked: [axis_e, axis_d]"
    (said,) = masked_rows(masked, ["axis_e", "axis_d"], states)
    assert said.endswith(paste) and "timeout" not in said
    assert remedies(masked, states)["no effort"].endswith(paste)


@pytest.mark.parametrize("role", sorted(set(ROLE_OF_REASON.values())))
def test_settings_in_remedies_exist(role):
    """Settings that are formed from a role's name exist."""
    names = {name for name, _, _ in Config().settings()}
    if role != "wrench":
        assert {f"{role}.topic", f"{role}.timeout"} <= names
    assert not set(ADVICE_FOR_REASON) & set(ROLE_OF_REASON)


def test_refused_messages_are_a_finding_of_their_own():
    """Whatever rows they cost: more than may be refused without a warning. Copies, and a DVL
    without bottom lock, are none."""
    imu, dvl, depth = state("imu", used=80), state(used=70, refused=30), state("depth", used=95)
    for found, reason in (*((imu, "stamp ahead of its clock"),) * 20, *((depth, "spike"),) * 5,
                          *((depth, NOT_LATER),) * 40):
        found.received += 1
        found.count_rejected(reason)
    said = refused_inputs({"imu": imu, "dvl": dvl, "depth": depth})
    assert list(said) == ["imu"]
    assert said["imu"].startswith("imu: 20 of 100 messages on '/imu' were refused, 20 of them for "
                                  "'stamp ahead of its clock'")


def test_bursts_without_stamps_are_the_reason_of_a_silence():
    """Not pauses of the driver; nor is an input complete whose messages came out of order."""
    commands = state("thrusters", used=200)
    for interval in [*[2e-5] * 49, 1.0] * 4:
        commands.clock.intervals.add(interval, of_stamps=False)
    said = remedy("no thruster command", {"thrusters": commands})
    assert said.startswith("thrusters: its messages come about 50 at a time, every 1.00 s")
    joints = state("joint_states", used=80)
    joints.received = 100
    joints.rejected[NOT_LATER] = 20
    assert "20 came after later ones" in remedy("no joint state", {"joint_states": joints})


def test_filters_that_start_again_and_again_are_not_told_to_record_for_longer():
    masked = {"surge": {"filters start": 90}}
    (said,) = masked_rows(masked, ["surge"], {}, restarts=20)
    assert "restarted 20 times" in said and "record for longer" not in said
    (said,) = masked_rows(masked, ["surge"], {})
    assert said.endswith("record for longer")
