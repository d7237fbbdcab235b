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

"""Warnings for the operator, without those that another warning explains."""

from types import SimpleNamespace

import pytest

from uvms_adaptive_dynamics.signals.checks.finding import Finding
from uvms_adaptive_dynamics.signals.health import (
    MENDED,
    UNLEARNT,
    frames_status,
    signal_warnings,
)

LATE = "thrusters.delay: over the last minute the vehicle followed its thrusters 0.30 s later"


def warnings(settings=(), late="", restarts=0, motion=(), changed=(), has_checked=True, mended=()):
    frames = SimpleNamespace(
        findings=[(Finding(s, "is wrong"), 30.2) for s in settings],
        consistent_at=lambda s: None,
        has_changed=lambda s: s in changed,
        is_mended=lambda finding: finding.setting in mended,
        has_checked=has_checked,
        failed="",
    )
    return signal_warnings([], frames, SimpleNamespace(warning=late), list(motion), restarts)


@pytest.mark.parametrize(
    "settings, late, restarts, begins",
    [((), "", 0, []), (("dvl.frame",), "", 0, ["dvl.frame: is wrong (found 30 s after the start)"]),
     (("dvl.frame",), LATE, 2, ["dvl.frame"]), (("thrusters.signs",), LATE, 0, [LATE]),
     (("thrusters.signs",), "", 0, ["thrusters.signs"]),
     ((), "", 1, ["dvl: velocities contradicted the IMU"])],
)
def test_the_cause_is_named_and_its_consequences_are_not(settings, late, restarts, begins):
    """A delay alone looks like reversed thrusters; a wrong frame like a delay and a bad DVL."""
    found = warnings(settings, late, restarts)
    assert len(found) == len(begins)
    assert all(text.startswith(begin) for text, begin in zip(found, begins))


def test_what_a_wrong_frame_may_cause_waits_for_the_first_check():
    """Otherwise the operator would check the bottom lock although the IMU is mounted turned."""
    assert not warnings(restarts=2, has_checked=False)


@pytest.mark.parametrize("setting, told", [("dvl.frame", 0), ("imu.rpy", 0), ("depth unit", 1)])
def test_a_wrong_frame_is_neither_a_jump_of_the_force_nor_a_settling_attitude(setting, told):
    """With a turned IMU or DVL the force always diverges from the velocity, and the velocity fits
    neither attitude nor gyro; depth is irrelevant."""
    said = warnings((setting,), motion=["imu linear acceleration: at 13 s it changed",
                                        "imu orientation: from 76 to 91 s it drifted"])
    assert len(said) == 1 + 2 * told


def test_what_becomes_of_a_sensor_that_has_changed_is_said():
    """For that sensor alone."""
    other, dvl = warnings(["imu.rpy", "dvl.frame"], changed=["dvl.frame"])
    assert dvl.endswith(UNLEARNT) and UNLEARNT not in other


def test_readings_that_are_put_right_are_said_to_be():
    """Their rows count."""
    (dvl,) = warnings(["dvl.frame"], mended=["dvl.frame"])
    assert dvl.endswith(MENDED) and UNLEARNT not in dvl


def test_status_says_what_is_waited_for():
    """Without warnings the status names the checks that lack motion; otherwise the warning."""
    assert "check DVL, thrusters; move" in frames_status([], ["DVL", "thrusters"]).message
    assert frames_status([], []).level == 0
    status = frames_status(["dvl.frame: is wrong"], ["thrusters"])
    assert status.level == 1 and status.message == "dvl.frame: is wrong"
    assert frames_status(["imu: its clock is 2.00 s ahead"], []).level == 0
    assert status.figures == {"warning 1": "dvl.frame: is wrong", "not checked yet": "thrusters"}
