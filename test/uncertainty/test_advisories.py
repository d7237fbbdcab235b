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

"""Warnings about what a controller should not rely on, and when there are none."""
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.ros.recent_fit import RecentFit
from uvms_adaptive_dynamics.uncertainty.advisories import (
    block_warnings,
    channel_warnings,
    link_note,
)

PERIOD = 0.02


@pytest.fixture(scope="module")
def table():
    return RobotModel.from_config(Config()).table


def filled(scale=(1.0, 1.0), fit=(0.1, 0.1), seconds=10.0):
    """Recent rows of two channels whose residuals are `scale` times as large as their intervals
    say, with a share `fit` of parameter uncertainty in the variance."""
    rng, recent = np.random.default_rng(0), RecentFit(("surge", "axis_e"), ("N", "N m"), PERIOD)
    for _ in range(round(seconds / PERIOD)):
        predicted = rng.normal(size=2)
        recent.add(
            SimpleNamespace(measured=predicted + np.array(scale) * rng.normal(size=2),
                            predicted=predicted, predicted_stddev=np.ones(2),
                            noise_stddev=np.sqrt(1 - np.array(fit)), valid=np.ones(2, bool)))
    return recent


def sentences(recent):
    return channel_warnings(recent.metrics(), recent.seconds, 100)


def test_right_intervals_give_no_warning():
    """Residuals match the intervals, and parameter uncertainty is small: no warning."""
    assert sentences(filled()) == []


def test_a_channel_whose_intervals_fail_is_named_with_its_coverage():
    """Residuals three times too large on one channel: one sentence about it, with its coverage."""
    recent = filled(scale=(3.0, 1.0))
    (said,) = sentences(recent)
    assert said.startswith(
        "surge: ") and f"{recent.metrics()['surge']['coverage95']:.0%}" in said and "10 s" in said


def test_a_channel_whose_parameters_are_unknown_is_named():
    """A controller cannot rely on an interval that is wide because parameters are unknown."""
    (said,) = sentences(filled(fit=(0.1, 0.6)))
    assert said.startswith("axis_e: 60%")


def test_few_rows_say_nothing():
    """One second of a new run is too little to judge, however bad it is."""
    assert sentences(filled(scale=(9.0, 9.0), seconds=1.0)) == []


def test_blocks_are_named_until_they_are_measured(table):
    """With everything from the prior, each vehicle block and each joint's friction is named; with
    everything measured, none; frozen parameters do not count."""
    first = block_warnings(table, ["prior"] * table.size)
    assert [said.split(":")[0] for said in first] == [
        "vehicle inertia", "vehicle damping", "vehicle restoring",
        *(f"{joint} friction" for joint in table.joints)
    ]
    assert block_warnings(table, ["measured"] * table.size) == [] == block_warnings(
        table, ["frozen"] * table.size)


def test_a_block_is_judged_by_half_of_it(table):
    """W and B are never measured: the restoring block passes with three of five measured, and fails
    with two."""
    words = np.array(["measured"] * table.size, object)
    words[table.places(["W", "B"])] = "prior"
    assert block_warnings(table, words) == []
    words[table.places(["zgW_zbB"])] = "weak"
    (said,) = block_warnings(table, words)
    assert said.startswith("vehicle restoring: 3 of 5")
    limited = np.zeros(table.size, bool)
    limited[table.places(["zgW_zbB"])] = True       # what the model lacks, no motion shows
    assert block_warnings(table, words, limited) == []


def test_links_that_only_their_sum_is_known_of_are_a_note(table):
    """Two links with most values from the prior are named in the note, and in no warning."""
    words = np.array(["measured"] * table.size, object)
    words[table.places([
        f"{joint}.{name}" for joint in ("axis_e", "axis_c")
        for name in ("m", "mlx", "mly", "mlz", "Ixx", "Iyy")
    ])] = "prior"
    assert block_warnings(table, words) == []
    assert link_note(table, words).startswith("links of axis_e, axis_c:") and link_note(
        table, ["measured"] * table.size) is None
