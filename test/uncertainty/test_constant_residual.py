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

"""Constant residuals and noise assumed too large are reported, and not confused."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.uncertainty.channel_noise import ChannelNoise
from uvms_adaptive_dynamics.uncertainty.constant_residual import ResidualMean, noise_findings

CHANNELS, UNITS = ("surge", "axis_e", "axis_b"), ("N", "N m", "N m")


def findings(offsets, count=2000, estimated=(False,) * 3, overlap=12.0, in_motion=(True,) * 3,
             negligible=(0.0,) * 3):
    """Findings for residuals of unit noise about `offsets` (3,), with `overlap` rows per
    independent one."""
    rng, mean = np.random.default_rng(0), ResidualMean(3)
    for _ in range(count // 12):
        residual = rng.normal(size=3) + offsets
        for _ in range(12):
            mean.add_row(residual, np.array(in_motion))
    return mean.findings(CHANNELS, UNITS, np.array(estimated), np.full(3, overlap),
                         np.array(negligible))


def test_a_constant_residual_is_named_with_value_error_and_setting():
    """A joint's is attributed to its effort's zero, a vehicle's to a tether or to a current, which
    is steady in the world only; noise gives none."""
    surge, joint = findings([-2.0, 0.0, 0.8])
    assert surge.startswith("surge: measured minus predicted effort is -") and "'vehicle'" in surge
    assert "for a current, robot.current_ned" in surge and "robot.current_ned" not in joint
    assert joint.startswith("axis_b: ") and "joint_states.effort_offset" in joint
    value, error = joint.split(" is +")[1].split(" N m")[0].split(" +- ")
    assert float(value) == pytest.approx(.8, abs=3 * float(error)) and 0.05 < float(error) < 0.12
    assert findings([0.0, 0.0, 0.0]) == []


def test_what_is_estimated_small_or_of_too_few_rows_is_not_named():
    """No finding if the offset is a parameter, if it is small, after seconds of data, or without
    motion."""
    assert findings([0, 0, 2.0], estimated=(False, False, True)) == []
    assert findings([0, 0, 0.3], count=20000) == []
    assert findings([0, 0, 2.0], overlap=1000.0) == []
    assert findings([0, 0, 2.0], in_motion=(True, True, False)) == []


def test_an_offset_that_is_nothing_for_the_robot_is_not_worth_a_setting():
    """.008 N m on an axis that hardly moved was advised against, since it was most of the little
    effort there."""
    assert findings([0, 0, 2.0], negligible=(0.0, 0.0, 2.5)) == []
    assert len(findings([0, 0, 2.0], negligible=(0.0, 0.0, 1.5))) == 1


@pytest.mark.parametrize(("adapts", "advice"), (
    (False, "Set estimation.adapt_noise: true, or a smaller estimation.noise_stddev"),
    (True, "Set a smaller estimation.noise_stddev, or move it: residuals in motion correct it")))
def test_a_noise_far_above_all_residuals_is_told_from_a_channel_at_rest(adapts, advice):
    """A noise of 4.35 with residuals of .3 is reported with both figures, even without rows in
    motion, and no setting is advised that is in use."""
    rng = np.random.default_rng(1)
    noise = ChannelNoise(np.array([1.0, 4.35, 0.5]), .02, 5.0, 5000.0, False)
    for _ in range(500):
        residual = rng.normal(size=3) * [1.0, 0.3, 0.5]
        noise.add_residual(residual, np.ones(3, bool), noise.interval_stddev, np.zeros(3, bool))
    (found,) = noise_findings(CHANNELS, UNITS, noise.stddev, noise.at_most, np.full(3, 5.0),
                              adapts)
    assert found.endswith(advice)
    assert found.startswith("axis_e: the assumed noise is 4.35 N m") and "0.3 N m" in found
    assert "effort_scale" not in found


def test_an_effort_that_is_all_far_below_its_noise_may_have_another_unit():
    """The unit is suggested before the noise, for joints only: thrust has its curve."""
    assumed, effort = np.array([2.0, 16.5, 0.5]), np.array([0.1, 0.3, 5.0])
    said = noise_findings(CHANNELS, UNITS, assumed, effort, effort, True)
    joint = next(one for one in said if one.startswith("axis_e"))
    assert "varies by 0.3 N m" in joint and "joint_states.effort_scale" in joint
    assert sum("effort_scale" in one for one in said) == 1 < len(said)
