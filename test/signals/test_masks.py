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

"""Reasons for masked rows, and their counts."""

import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.masks import RowMasks


def masks(**settings):
    config = Config().with_values(settings)
    return RowMasks(config, RobotModel.from_config(config))


@pytest.mark.parametrize(
    "state, reason",
    [(("", "", "", ""), ""),
     (("no dvl", "no wrench", "arm never seen", "at the surface"), "at the surface"),
     (("no dvl", "no wrench", "arm never seen", ""), "no dvl"),
     (("", "no wrench", "arm never seen", ""), "no wrench"),
     (("", "", "arm never seen", ""), "arm never seen")],
)
def test_the_first_reason_counts(state, reason):
    """Place, velocity, wrench, arm, in this order."""
    assert masks().vehicle_reason(*state) == reason


def test_an_unseen_arm_masks_the_vehicle_only_if_it_acts_on_it():
    """Without coupling, and without an arm, the vehicle's rows count."""
    for settings in ({"estimation.coupling": "none"}, {"robot.joints": ()}):
        assert masks(**settings).vehicle_reason("", "", "arm never seen", "") == ""


def test_without_a_dvl_the_reason_names_no_sensor():
    """A disabled DVL cannot be missing."""
    assert masks(**{"dvl.enabled": False}).vehicle_reason("no dvl", "", "", "") == (
        "no source of velocity"
    )


def test_reasons_are_counted_by_channel():
    """One sample with two masked joints, and a tick without any sample."""
    row_masks = masks()
    valid = row_masks.valid(1.0, [""] * 8 + ["joint at rest", "no effort"])
    assert valid.tolist() == [True] * 8 + [False] * 2
    row_masks.mask_all("no imu")
    assert row_masks.counts["surge"] == {"no imu": 1}
    assert row_masks.counts["axis_c"] == {"joint at rest": 1, "no imu": 1}


def test_whoever_follows_masks_gets_time_and_reasons_of_every_sample():
    """Including samples whose rows are all valid."""
    found, said = masks(), []
    found.report_to(lambda t, reasons: said.append((t, list(reasons))))
    empty = [""] * 10
    assert found.valid(1.0, empty).all() and not found.valid(2.0, ["no dvl", *empty[1:]])[0]
    assert said == [(1.0, empty), (2.0, ["no dvl", *empty[1:]])]
    assert found.counts["surge"] == {"no dvl": 1}


def test_a_sensor_that_starts_is_not_silent():
    """For 1.5 s from its first reading, or from the first of all; after a reset once more. Other
    reasons stay."""
    found = masks()
    found.note_reading("imu", 3.0)
    found.note_reading("dvl", 3.5)
    found.note_reading("dvl", 9.0)
    assert found.begin == 3.0
    assert [found.since_start(*each) for each in (
        ("no imu", 4.4), ("no imu", 4.6), ("no dvl", 4.9), ("no dvl", 5.1), ("no joint state", 4.4),
        ("no joint state", 4.6), ("joint at rest", 3.0), ("", 3.0))] == [
            "filters start", "no imu", "filters start", "no dvl", "filters start",
            "no joint state", "joint at rest", ""]
    found.reset()
    found.note_reading("imu", 20.0)
    assert found.since_start("no imu", 20.0) == "filters start" and found.begin == 20.0


def test_ticks_with_and_without_a_sample_are_counted():
    """So that no count of a reason exceeds them."""
    found = masks()
    found.valid(1.0, [""] * 10)
    found.mask_all("no imu")
    assert found.ticks == 2
