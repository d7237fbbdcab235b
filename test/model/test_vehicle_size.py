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

"""Vehicles of other sizes than the built-in one: their prior, and that they are learnt."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.model.prior import prior_from_config, prior_stddev
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.vehicle_size import (
    BLUEROV2_WEIGHT,
    BLUEROV2_WU2018,
    POWER_OF_WEIGHT,
    size_factors,
    weight_limits,
    weight_ratio,
)
from uvms_adaptive_dynamics.studies.linear_data import (
    linear_samples,
    perfectly_measured,
    true_parameters,
)


def settings(low, high):
    return perfectly_measured(Config()).with_values({
        "robot.joints": [], "estimation.weight_min": low, "estimation.weight_max": high})


def test_the_weights_allowed_say_the_size():
    """The built-in vehicle's if its weight is within the limits, else their geometric mean."""
    assert weight_limits(Config()) == (90.0, 180.0)
    assert weight_limits(settings(20.0, 80.0)) == (20.0, 80.0)
    assert weight_ratio((90.0, 180.0)) == weight_ratio((BLUEROV2_WEIGHT, 5000.0)) == 1.0
    assert weight_ratio((20.0, 80.0)) == pytest.approx(40 / BLUEROV2_WEIGHT)
    assert 0.0 < weight_ratio((0.0, 80.0)) < 1.0


def test_the_weighed_mass_says_the_size():
    """Without limits of its own: the vehicle's weight is within a factor of 1.4 of what vehicle and
    arm weigh together. A BlueROV2 stays the built-in one; limits that are set win."""
    weighed = {"robot.dry_mass": 300.0}
    low, high = weight_limits(Config().with_values(weighed))
    assert np.sqrt(low * high) == pytest.approx(300.0 * 9.80665)
    assert high / low == pytest.approx(1.4 ** 2)
    assert weight_ratio(weight_limits(Config().with_values({"robot.dry_mass": 12.0}))) == 1.0
    limits = {"estimation.weight_min": 20.0, "estimation.weight_max": 80.0}
    assert weight_limits(Config().with_values(weighed | limits)) == (20.0, 80.0)


@pytest.mark.parametrize("mass", [1.0, 4.0, 60.0, 300.0, 2000.0])
def test_prior_bounds_deviations_and_noise_follow_the_weighed_mass(mass):
    """Each scales as its unit says, the arm's not at all; the scaled prior is physical."""
    config = Config().with_values({"robot.dry_mass": mass})
    robot, usual = RobotModel.from_config(config), RobotModel.from_config(Config())
    prior, own = prior_from_config(config, robot).values, prior_from_config(Config(), usual).values
    ratio = mass * config.robot.gravity / BLUEROV2_WEIGHT
    powers = [POWER_OF_WEIGHT[unit] for unit in robot.table.units[:27]]
    factors = np.concatenate([ratio ** np.array(powers), np.ones(robot.table.size - 27)])
    assert prior == pytest.approx(factors * own)
    assert prior_stddev(prior, robot, 1.0) == pytest.approx(factors * prior_stddev(own, usual, 1.0))
    noise = robot.default_noise(config) / usual.default_noise(Config())
    assert noise == pytest.approx([ratio] * 3 + [ratio ** (4 / 3)] * 3 + [1.0] * 4)
    physical = PhysicalSet(robot.table, config.estimation)
    assert physical.violation(prior) <= 0.0
    weight = robot.table.index["W"]
    assert physical.lower[weight] < mass * config.robot.gravity < physical.upper[weight]


def test_similar_vehicles_by_hand():
    """Twice the length at the same density: 8 times the mass, 4 times the drag, and a further
    factor of two for each lever arm."""
    twice = 8 * BLUEROV2_WEIGHT
    asked = {"kg": 8, "kg m": 16, "kg m^2": 32, "N": 8, "N m": 16, "N s/m": 4, "N s/rad": 8,
             "N m s/rad": 16, "N s^2/m^2": 4, "N s^2/m": 8, "N m s^2/rad^2": 32, "m/s": 1, "1": 1}
    found = size_factors((twice / 2, 2 * twice), list(asked))
    assert found == pytest.approx(list(asked.values()))


def test_every_unit_of_the_vehicle_has_its_power():
    """For all sets of parameters, except those that do not scale with the vehicle."""
    config = Config().with_values({"robot.terms": ["off_axis_damping", "thrust_by_direction",
                                                   "current"], "robot.estimate_offsets": "all"})
    table = RobotModel.from_config(config).table
    units = set(table.units[table.vehicle_slice])
    assert units - set(POWER_OF_WEIGHT) == {"1", "m/s"}


def test_the_default_vehicle_is_the_built_in_one_to_the_bit():
    config = Config()
    robot = RobotModel.from_config(config)
    assert (robot.vehicle_size == 1.0).all()
    assert (prior_from_config(config, robot).values[:27] == BLUEROV2_WU2018).all()
    assert robot.default_noise(config)[:6].tolist() == [2.0] * 3 + [0.5] * 3


@pytest.mark.parametrize(("low", "high"), [(2100.0, 4200.0), (20.0, 60.0)])
def test_its_prior_is_physical_and_floats(low, high):
    """W is within the weight limits, and B as close to it as for the built-in vehicle."""
    config = settings(low, high)
    robot = RobotModel.from_config(config)
    prior = prior_from_config(config, robot).values
    W, B = prior[robot.table.places(["W", "B"])]
    assert low < W < high and abs(B / W - 1) < 0.02
    assert PhysicalSet(robot.table, config.estimation).violation(prior) <= 0.0


def learnt_r2(config, robot, pi):
    """(6,) R^2 over the last 10 of 30 s, each row predicted before it is learnt."""
    estimator = Estimator(config, robot=robot)
    rows = [estimate.prediction for sample in linear_samples(config, robot, pi, 30.0, 1)
            if (estimate := estimator.step(sample)) is not None][-500:]
    measured = np.array([row.measured for row in rows])
    residual = np.array([row.residual for row in rows])
    return 1 - (residual ** 2).sum(0) / ((measured - measured.mean(0)) ** 2).sum(0)


@pytest.mark.campaign
def test_a_vehicle_of_300_kg_is_learnt():
    """Every axis within 30 s. With the prior of a BlueROV2 its rotation looks like noise, and no
    moment is ever learnt."""
    config = settings(2100.0, 4200.0)
    robot = RobotModel.from_config(config)
    truth = true_parameters(config, robot, np.random.default_rng(3)).values
    assert learnt_r2(config, robot, truth).min() > 0.95
    robot.vehicle_size = np.ones_like(robot.vehicle_size)
    assert learnt_r2(config, robot, truth)[3:].min() < 0.5


def test_its_deviations_are_those_of_its_size():
    """Relative to the values they equal those of the built-in vehicle."""
    small, large = (RobotModel.from_config(config) for config in
                    (settings(90.0, 180.0), settings(2100.0, 4200.0)))
    values = np.array(BLUEROV2_WU2018)
    factor = large.vehicle_size[:27]
    wide = prior_stddev(factor * values, large, 1.0)[:27]
    assert wide == pytest.approx(factor * prior_stddev(values, small, 1.0)[:27])
