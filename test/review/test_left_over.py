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

"""What explains remaining efforts: a current, damping across the axes, other efforts, or nothing.
"""
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from analytic import AnalyticMotion, MultiSine
from campaign_cases import also

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.vehicle import vehicle_regressor
from uvms_adaptive_dynamics.review.arm_check import CHECKED_EVERY
from uvms_adaptive_dynamics.review.left_over import explanations

CONFIG = Config()
ROBOT = RobotModel.from_config(CONFIG)
PI = prior_from_config(CONFIG, ROBOT).values
PERIOD, SECONDS = CHECKED_EVERY * CONFIG.filter.period, 45.0
POOR = np.where(np.arange(10) < 6, 0.4, 0.0)


@cache
def plain():
    """Samples of a motion of a robot that the model knows exactly, except for noise."""
    motion, rng = AnalyticMotion(1), np.random.default_rng(1)
    return [replace(sample, wrench=sample.wrench + rng.normal(0.0, [1, 1, 1, .1, .1, .1]),
                    joint_torque=sample.joint_torque + rng.normal(0.0, 0.02, 4))
            for sample in (motion.sample(1.0 + PERIOD * k, ROBOT, PI)
                           for k in range(round(SECONDS / PERIOD)))]


def said(change, left=POOR, config=CONFIG, frozen=True, held=np.ones(10)):
    return explanations([change(sample) for sample in plain()], config, ROBOT, left, held, frozen)


def in_current(sample, current=(0.4, -0.3, 0.0)):
    drift, pi = sample.R_nb.T @ current, PI[ROBOT.table.paper_slice]
    nu, nu_dot = sample.nu.copy(), sample.nu_dot.copy()
    nu[:3] -= drift
    nu_dot[:3] += np.cross(nu[3:], drift)
    change = (vehicle_regressor(nu, nu_dot, sample.R_nb)
              - vehicle_regressor(sample.nu, sample.nu_dot, sample.R_nb)) @ pi
    return replace(sample, wrench=sample.wrench + change)


def across(sample):
    u, v, w = sample.nu[:3] * np.abs(sample.nu[:3])
    return replace(sample, wrench=sample.wrench + 30.0 * np.array([0, 0, 0, v, -u - w, -v]))


def misplaced(sample):
    """Thrusters with another lever arm than configured."""
    wrench = sample.wrench.copy()
    wrench[3] += 0.3 * sample.wrench[0] + 0.1 * sample.wrench[5]
    return replace(sample, wrench=wrench)


def shaken(sample):
    """A force without a cause in the data."""
    wrench = sample.wrench.copy()
    wrench[4] += 10.0 * np.sin(2.1 * sample.t + 3.0 * np.sin(0.9 * sample.t))
    return replace(sample, wrench=wrench)


def test_a_steady_current_is_found_with_its_setting():
    """Even if it is faster than the vehicle; the channels it explains name it. (Sway, whose effort
    is nearly one tone here, does not.)"""
    found = said(in_current)
    finding, = found.findings
    assert finding.code == "robot.current_ned"
    numbers = finding.sentence.partition("robot.current_ned to [")[2].partition("]")[0]
    np.testing.assert_allclose([float(one) for one in numbers.split(",")], [0.4, -0.3, 0.0],
                               atol=0.03)
    assert all("steady current" in found.by_channel[name] for name in ("surge", "yaw"))


def test_a_current_without_a_heading_has_a_size_but_no_direction():
    """The setting that its direction would need is refused with the IMU's own attitude."""
    finding, = said(in_current, config=CONFIG.with_values({"imu.orientation": "own"})).findings
    assert "a steady current of 0.5" in finding.sentence
    assert "robot.current_ned to" not in finding.sentence
    assert "use an IMU with an orientation" in finding.sentence


@pytest.mark.parametrize("change, channel, words", [
    (across, "pitch", "add off_axis_damping to robot.terms"),
    (misplaced, "roll", "efforts of other channels"),
    (lambda sample: sample, "surge", "other parameters of the same model")])
def test_what_explains_a_channel_is_named(change, channel, words):
    """The explanation is judged by rows that it was not fitted to."""
    found = said(change)
    assert words in found.by_channel[channel] and not found.findings


def test_a_centre_of_mass_astern_of_the_origin_is_named():
    """Of a vehicle without an arm; the links of an arm could have that mass."""
    settings = {"robot.joints": []}
    config = CONFIG.with_values(settings)
    own = CONFIG.with_values({**settings, "robot.terms": ["off_axis_inertia"]})
    robot, whole, rng = *map(RobotModel.from_config, (config, own)), np.random.default_rng(1)
    pi, none = np.concatenate([PI[ROBOT.table.paper_slice], [0.3, -0.3, 0.0]]), np.zeros(0)

    def astern(sample):
        alone = replace(sample, mu=none, mu_dot=none, mu_ddot=none, joint_torque=none,
                        valid=sample.valid[:6])
        noise = rng.normal(0.0, [.3, .3, .3, .03, .03, .03])
        return replace(alone, wrench=whole.raw_rows(alone).Y @ pi + noise)
    found = explanations(list(map(astern, plain())), config, robot, POOR[:6], np.ones(6), True)
    assert "add off_axis_inertia to robot.terms" in found.by_channel["pitch"]
    assert "ahead or astern" not in found.by_channel["surge"] and not found.findings


def test_frozen_intervals_that_do_not_hold_what_is_left_are_explained():
    """However little that is; intervals that still learn will widen."""
    left, held = np.full(10, 0.07), np.where(np.arange(10) == 3, 0.85, 0.95)
    found = said(across, left, held=held).by_channel
    assert list(found) == ["roll"] and "add off_axis_damping to robot.terms" in found["roll"]
    assert not said(across, left, held=held, frozen=False).by_channel


def test_an_estimate_that_still_learns_is_not_told_to_learn():
    learning = said(lambda sample: sample, frozen=False).by_channel["surge"]
    assert "not learnt yet" in learning and "this recording too" not in learning


def test_nothing_is_named_where_nothing_explains():
    """Nothing is searched for if little is left."""
    assert "pitch" not in said(shaken).by_channel
    assert said(in_current, left=np.zeros(10)) == ([], {})


def test_a_little_beside_another_effort_is_no_wrong_order():
    """If a vehicle only drives ahead, its sway effort is correlated with that through a lever arm,
    not through a misplaced thruster."""
    rng = np.random.default_rng(5)

    def ahead(sample):
        wrench = sample.wrench.copy()
        wrench[1] = 0.15 * wrench[0] + 0.1 * rng.normal()
        return replace(sample, wrench=wrench)
    assert said(ahead, np.where(np.arange(10) == 1, 0.4, 0.0)) == ([], {})


@cache
def in_swell(seed):
    """Samples of a vehicle whose motion, and a force that the model lacks, have one tone of slowly
    varying amplitude each, as in a swell."""
    motion, rng = AnalyticMotion(seed, low=0.14, high=0.16), np.random.default_rng(seed)
    swell = MultiSine(rng, 6, 0.14, 0.16, [20.0, 20.0, 20.0, 5.0, 5.0, 5.0])
    return [replace(sample, wrench=sample.wrench + swell(PERIOD * k)
                    + rng.normal(0.0, [1, 1, 1, .1, .1, .1]),
                    joint_torque=sample.joint_torque + rng.normal(0.0, .02, 4))
            for k, sample in enumerate(motion.sample(1.0 + PERIOD * k, ROBOT, PI)
                                       for k in range(round(SECONDS / PERIOD)))]


@pytest.mark.parametrize("seed", [0, 1, *map(also, range(2, 14))])
def test_a_swell_accuses_nothing(seed):
    """A few columns explain one tone whatever they mean, so no effect and no setting is named."""
    found = explanations(in_swell(seed), CONFIG, ROBOT, POOR, np.ones(10), True)
    assert not found.findings
    assert all(said.startswith("other parameters") for said in found.by_channel.values())


def test_efforts_that_explain_ahead_of_time_are_no_wrong_wiring():
    """A force that the model lacks and that drives two channels makes their efforts alike; if it is
    slow, the efforts of half a second later explain now's too. A wiring acts at once."""
    def pulled(sample):
        pull = np.sin(0.9 * sample.t + 3.0 * np.sin(0.5 * sample.t))
        return replace(sample, wrench=sample.wrench + pull * np.array([60, 0, 0, 10, 0, 0]))
    found = said(pulled, np.where(np.arange(10) == 3, 0.9, 0.0))
    assert found == ([], {})
