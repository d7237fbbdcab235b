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

"""Effect of an unmeasured attitude on the arm's rows, and limits that grow with the vehicle."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from analytic import START, AnalyticMotion

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.estimation.sample_check import (
    SampleCheck,
    attitude_variance,
    leverage_points,
)
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_down
from uvms_adaptive_dynamics.studies.benchmark.chain import chain_urdf


@pytest.fixture(scope="module")
def setup():
    config = Config()
    robot = RobotModel.from_config(config)
    return config, robot, prior_from_config(config, robot), AnalyticMotion(0, config=config)


def test_the_variance_is_that_of_many_tilts(setup):
    """Against predictions at down vectors drawn from the covariance, within 15 %, since the load is
    not quite linear in them."""
    _, robot, prior, motion = setup
    rng, pi = np.random.default_rng(0), prior.values
    A = 0.05 * rng.standard_normal((3, 3))
    sample = replace(motion.sample(3.0, robot), down_covariance=A @ A.T)
    draws = []
    for _ in range(2000):
        R = from_down((sample.R_nb[2] + A @ rng.standard_normal(3)).tolist(), 0.0)
        raw = robot.raw_rows(replace(sample, R_nb=R))
        draws.append((raw.Y @ pi + raw.tau_known)[6:])
    found = np.sqrt(attitude_variance(sample, robot, pi)[6:])
    np.testing.assert_allclose(found, np.std(draws, axis=0), rtol=0.15)


def test_rows_go_on_until_the_tilt_outweighs_their_noise(setup):
    """An uncertainty of a hundredth of a degree masks nothing, one of ten degrees masks all loaded
    joints; predictions go on, and the masked rows are counted."""
    config, robot, prior, motion = setup

    def valid(degrees):
        estimator, found = Estimator(config, prior, robot), []
        for k in range(100):
            sample = motion.sample(2.0 + 0.02 * k, robot)
            sample = replace(sample, t=START + 0.02 * k, down_covariance=np.radians(degrees) ** 2
                             * np.eye(3))
            found.append(estimator.add(sample))
        assert all(np.isfinite(p.predicted).all() for p in found if p is not None)
        return np.array([p.valid[6:] for p in found if p is not None]), estimator

    few, estimator = valid(0.01)
    assert few.all(axis=1).mean() > 0.9 and estimator.rejected.unknown_attitude == 0
    many, estimator = valid(30.0)
    assert not many[:, 1].any()
    assert estimator.rejected.unknown_attitude > 50 and estimator.rejected.implausible == 0


@pytest.mark.parametrize(("mass", "expected"), [(0.0, False), (4.0, False), (2000.0, True)])
def test_the_largest_thrust_is_that_of_the_vehicle_s_size(setup, mass, expected):
    """3 kN and 3 kN m are implausible on a BlueROV2 or smaller, and usual on 2000 kg; torques of
    the joints have the same limit everywhere."""
    _, robot, _, motion = setup
    config = Config().with_values({"robot.dry_mass": mass})
    sample = replace(motion.sample(3.0, robot), wrench=np.full(6, 3000.0))
    sample.joint_torque[0] = 3000.0
    plausible = SampleCheck(config, RobotModel.from_config(config), 1.0).plausible(sample)
    assert plausible[:6].tolist() == [expected] * 6
    assert plausible[6:].tolist() == [False, True, True, True]


def test_a_prismatic_joint_has_the_limit_of_forces():
    """1.5 kN drive a linear axis, 1.5 kN m no joint of such an arm."""
    config = Config().with_values({"robot.urdf": "robot_description", "robot.vehicle": False,
                                   "robot.joints": ["j0", "j1"]})
    urdf = chain_urdf(2).replace("revolute", "prismatic", 1)
    robot = RobotModel.from_config(config, urdf)
    sample = AnalyticMotion(0, config=config, joints=2).sample(3.0, robot)
    check = SampleCheck(config, robot, 1.0)
    for effort, expected in ((1500.0, [True, False]), (2500.0, [False, False])):
        sample = replace(sample, joint_torque=np.full(2, effort))
        assert check.plausible(sample).tolist() == expected


def test_efforts_that_the_urdf_allows_are_plausible():
    """A joint of an industrial arm exerts kilonewton metres. What is beyond a limit is named with
    its value; a joint without limit in the URDF has that of the settings."""
    config = Config().with_values({"robot.urdf": "robot_description", "robot.vehicle": False,
                                   "robot.joints": ["j0", "j1"]})
    urdf = re.sub(r'effort="[^"]*"', 'effort="0"', chain_urdf(2)).replace(
        'effort="0"', 'effort="5000"', 1)
    robot = RobotModel.from_config(config, urdf)
    sample = AnalyticMotion(0, config=config, joints=2).sample(3.0, robot)
    check = SampleCheck(config, robot, 1.0)
    for effort, expected in ((900.0, [True, True]), (14e3, [True, False]), (16e3, [False, False])):
        sample = replace(sample, joint_torque=np.full(2, effort))
        assert check.plausible(sample).tolist() == expected
    said = check.beyond.sentences()
    assert said["j0"] == ("values reach 16000, beyond the 15000 that limits.torque allows; raise "
                          "it if they are right") and "beyond the 1000 that" in said["j1"]
    moves = replace(sample, joint_torque=np.zeros(2), mu_dot=np.array([0.0, 30.0]))
    for _ in range(4):
        assert not check.plausible(moves).any()
    assert "limits.joint_speed" in check.beyond.sentences()["j0"]


def test_variances_rounded_below_zero_are_zero():
    """Without a warning: a row of certain parameters has no leverage, however large its residual.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = leverage_points(np.full(2, 1e3), lambda: np.array([-1e-20, 1.0]), np.full(2, 1e-12))
    assert found.tolist() == [False, True]


def test_what_an_imu_said_before_it_was_found_to_be_wrong_is_no_evidence_of_a_change(setup):
    """The detector starts again when the attitude becomes uncertain."""
    config, robot, prior, motion = setup
    estimator, looks = Estimator(config, prior, robot), []
    estimator._robot_changes.detector.break_off = lambda: looks.append(1)
    for k in range(20):
        sample = replace(motion.sample(2.0 + 0.02 * k, robot), t=START + 0.02 * k)
        estimator.add(sample)
    before = len(looks)
    estimator.add(replace(sample, t=START + 0.4, down_covariance=1e-4 * np.eye(3)))
    assert len(looks) == before + 1
