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

"""Robots of the same kind differ, and none has the values that the estimator assumes."""
import numpy as np
import pytest
from simulated import DEFAULT_ROBOT

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.vehicle_size import BLUEROV2_WU2018
from uvms_adaptive_dynamics.simulation import sensors
from uvms_adaptive_dynamics.simulation.individual import individual
from uvms_adaptive_dynamics.simulation.paper_parameters import paper_parameters
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
from uvms_adaptive_dynamics.simulation.rough import Roughness


def pairs(robot):
    """(default assumption (k,), truth (k,)) pairs."""
    c = Config()
    return {
        "thrusters.time_constant": (c.thrusters.time_constant, robot.rotor_lag),
        "thrusters.voltage": (c.thrusters.voltage, (robot.battery_full, robot.battery_empty)),
        "thrusters.allocation": tuple(
            np.ravel(x)[np.ravel(robot.allocation) % 1.0 != 0.0]
            for x in (c.thrusters.allocation, robot.allocation)),
        "joint_states.position_stddev": (c.joint_states.position_stddev, sensors.JOINT_NOISE),
        "joint_states.velocity_stddev": (c.joint_states.velocity_stddev, sensors.JOINT_SPEED_NOISE),
        "dvl.stddev": (c.dvl.stddev, sensors.DVL_NOISE),
        "dvl.xyz": (c.dvl.xyz, robot.dvl_place),
        "robot.mount_xyz": (c.robot.mount_xyz, robot.mount_xyz),
        "robot.gravity": (c.robot.gravity, robot.gravity),
        "robot.water_density": (c.robot.water_density, robot.water_density),
        "robot.surface_pressure": (c.robot.surface_pressure, robot.surface_pressure),
    }


@pytest.mark.parametrize("number", (0, 1, 2))
def test_no_setting_is_the_truth(number):
    """Every default for a property of the robot or its sensors is close to the truth, like a
    measurement, but not equal."""
    for name, (assumed, true) in pairs(individual(DEFAULT_ROBOT, number)).items():
        assumed, true = np.broadcast_arrays(np.asarray(assumed, float), np.asarray(true, float))
        assert not np.any(assumed == true), name
        assert np.allclose(assumed, true, rtol=0.3, atol=0.004), name


def test_the_prior_is_not_the_truth():
    """No nonzero parameter of the default prior equals the simulated robot's: neither friction nor
    inertias nor the vehicle's."""
    config = Config()
    prior = prior_from_config(config, RobotModel.from_config(config))
    truth = paper_parameters(DEFAULT_ROBOT)
    equal = [name for name, value in zip(prior.names, prior.values)
             if value != 0.0 and value == truth[name]]
    assert equal == [] and len(BLUEROV2_WU2018) == 27


def test_individuals_differ_and_are_physical():
    """Each number gives one robot, number 0 the default; all have the same net buoyancy in their
    water, and positive definite added mass and damping."""
    assert individual(DEFAULT_ROBOT, 0) is DEFAULT_ROBOT
    lags = set()
    for number in range(20):
        robot, again = (individual(DEFAULT_ROBOT, number) for _ in range(2))
        assert paper_parameters(robot) == paper_parameters(again)
        lags.add(robot.rotor_lag)
        for matrix in (robot.added_mass, robot.linear_damping):
            assert np.linalg.eigvalsh(matrix + matrix.T).min() > 0.0
        lift = robot.buoyancy + robot.gravity * sum(
            robot.water_density * link.volume - link.mass for link in robot.links)
        assert lift - robot.mass * robot.gravity == pytest.approx(0.71, abs=0.01)
    assert len(lags) == 20


def test_a_run_of_an_individual_has_its_thrusters_and_another_motion():
    """Seeds change motion and noise, the number changes the robot: two runs of one robot have the
    same uneven thrusters."""
    rough = Roughness(asymmetry=0.2, interaction=0.1)
    one, other, third = (SimulatedRobot(seed, 0.1, rough=rough, individual=number)
                         for seed, number in ((1, 3), (2, 3), (1, 4)))
    probe = np.linspace(-30.0, 30.0, 8)
    thrust = [robot._thrusters.thrust(probe) for robot in (one, other, third)]
    # "interaction" is relative to full thrust, which depends on the battery: the same one here
    assert np.array_equal(thrust[0], thrust[1])
    assert np.abs(thrust[0] - thrust[2]).max() > 0.5
    assert one.robot.rotor_lag == other.robot.rotor_lag != third.robot.rotor_lag
    assert not np.array_equal(one.motion.at(0.0).value, other.motion.at(0.0).value)
