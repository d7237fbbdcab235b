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

"""Allocation, and the example controller's feedback, limits and fallbacks."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.allocation import ThrusterAllocation
from uvms_adaptive_dynamics.control.desired_motion import desired_motion
from uvms_adaptive_dynamics.control.feedforward import Feedforward, effort_limits
from uvms_adaptive_dynamics.control.motion_controller import (
    INTEGRAL_LIMIT,
    MotionController,
    gains_for,
)
from uvms_adaptive_dynamics.control.state_filter import MotionState
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.model.thrust_curve import ThrustCurve

CONFIG, CURVE = Config(), ThrustCurve.t200()
MODEL = RobotModel.from_config(CONFIG)
PRIOR = prior_from_config(CONFIG, MODEL)
LIMITS = effort_limits(MODEL, CONFIG)
GAINS = gains_for(PRIOR, MODEL.joints)
POSE = np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.3, 3.1, 2.3, 1.6, 2.85])


def at_rest(t):
    return desired_motion(POSE, np.zeros(10), np.zeros(10))


def state_at(position=(0.0, 0.0, 5.0), mu=POSE[6:], R_nb=None):
    return MotionState(np.array(position), at_rest(0).R_nb if R_nb is None else R_nb, np.zeros(6),
                       np.array(mu), np.zeros(4))


def controller(feedforward=None):
    return MotionController(CONFIG, feedforward, GAINS, at_rest, CURVE, LIMITS, 0.01)


def test_the_commands_give_the_wrench_that_is_asked_for():
    """Checked thruster by thruster with the curve and allocation of the settings."""
    rng = np.random.default_rng(1)
    allocation = np.reshape(CONFIG.thrusters.allocation, (6, 8))
    for wrench in rng.normal(0, [10, 10, 10, 1, 1, 1], (20, 6)):
        given = ThrusterAllocation(CONFIG.thrusters, CURVE).allocate(wrench)
        assert not given.limited
        thrust = CURVE.thrust(given.pwm, CONFIG.thrusters.voltage)
        np.testing.assert_allclose(allocation @ thrust, wrench, atol=0.05)


def test_the_command_of_a_motor_that_turns_the_other_way_is_mirrored():
    """The wrench is the same, with each propeller on its own side of the curve."""
    turned = CONFIG.with_values({"thrusters.signs": [-1.0] + [1.0] * 7})
    wrench = np.array([10.0, -5.0, 3.0, 0.5, 1.0, -1.0])
    plain = ThrusterAllocation(CONFIG.thrusters, CURVE).allocate(wrench)
    mirrored = ThrusterAllocation(turned.thrusters, CURVE).allocate(wrench)
    np.testing.assert_allclose(mirrored.pwm, [3000.0 - plain.pwm[0], *plain.pwm[1:]])
    np.testing.assert_allclose(mirrored.wrench, plain.wrench)


def test_too_large_a_wrench_keeps_its_direction():
    """No thruster exceeds the thrust at which the estimator calls it saturated."""
    wrench = np.array([500.0, 100.0, -800.0, 5.0, 20.0, 30.0])
    given = ThrusterAllocation(CONFIG.thrusters, CURVE).allocate(wrench)
    assert given.limited
    np.testing.assert_allclose(given.wrench / np.linalg.norm(given.wrench),
                               wrench / np.linalg.norm(wrench), atol=1e-9)
    thrust = CURVE.thrust(given.pwm, CONFIG.thrusters.voltage)
    low, high = CURVE.limits(CONFIG.thrusters.voltage)
    share = CONFIG.thrusters.saturation
    assert np.all(thrust > share * low - 1e-6) and np.all(thrust < share * high + 1e-6)


def test_thrusters_of_other_units_are_refused():
    config = Config().with_values({"thrusters.unit": "newton"})
    with pytest.raises(ConfigError, match="'newton'.*expected 'pwm'"):
        ThrusterAllocation(config.thrusters, CURVE)


def test_feedback_pushes_back():
    """A vehicle half a metre too far north-east and a joint too high get an opposing force and
    torque, in body axes."""
    command = controller().command(0.0, state_at((0.5, 0.2, 5.0), POSE[6:] + [0.0, 0.1, 0, 0]))
    force = at_rest(0).R_nb @ command.effort[:3]
    np.testing.assert_allclose(force / GAINS.proportional[:3], [-0.5, -0.2, 0.0], atol=0.15)
    assert force[0] < 0 and force[1] < 0
    assert command.effort[7] == pytest.approx(-0.1 * GAINS.proportional[7])
    assert command.feedforward is None


def test_the_integral_is_bounded_and_stops_at_the_limits():
    """With a persistent error the integral stays within its share, and stops while the actuator is
    at its limit."""
    one = controller()
    for k in range(1000):
        one.command(0.01 * k, state_at((0.02, 0.0, 5.0)))
    assert np.all(np.abs(one._integral) <= INTEGRAL_LIMIT * LIMITS)
    stuck = controller()
    for k in range(200):
        command = stuck.command(0.01 * k, state_at(mu=POSE[6:] + [0.0, 1.0, 0.0, 0.0]))
    assert np.all(np.abs(command.joint_torque) <= LIMITS[6:]) and stuck._integral[7] == 0.0


def test_at_rest_the_feedforward_holds_the_weight():
    """Without error the effort is the feedforward's: the weights in water of vehicle and arm."""
    feedforward = Feedforward(MODEL, PRIOR, CONFIG)
    command = controller(feedforward).command(0.0, state_at())
    np.testing.assert_allclose(command.effort, command.feedforward.tau)
    assert command.feedforward.source == "prior"


def test_a_state_that_is_no_number_costs_the_feedforward_alone():
    """The refusal is counted, and the loop raises nothing."""
    one = controller(Feedforward(MODEL, PRIOR, CONFIG))
    one._desired = lambda t: at_rest(t)._replace(nu_dot=np.full(6, np.nan))
    assert one.command(0.0, state_at()).feedforward is None and one.refused == 1


def test_a_cautious_feedforward_is_no_stiffness_and_as_large_as_it_is_certain():
    """An unwanted tilt does not change it; it is zero for a prior without knowledge, and complete
    for certain parameters."""
    def ahead(stddev, R_nb=None):
        config = CONFIG.with_values({"feedforward.fallback": "nothing"})
        feedforward = Feedforward(MODEL, PRIOR, config)
        feedforward.update(PRIOR.values, np.diag((stddev * np.abs(PRIOR.values)) ** 2), 0.0, True)
        one = MotionController(CONFIG, feedforward, GAINS, at_rest, CURVE, LIMITS, 0.01,
                               cautious=True)
        for _ in range(200):       # beyond the time over which parameters come in
            feedforward.confirm(0.0)
            found = one.command(0.0, state_at(R_nb=R_nb)).feedforward
            feedforward._before = -10.0
        return found.tau
    certain = ahead(1e-9)
    assert abs(certain[2]) > 1.0
    np.testing.assert_allclose(ahead(1e-9, from_rpy(0.3, 0.0, 0.3)), certain, atol=1e-9)
    doubtful = ahead(1.0)
    assert np.all(np.abs(doubtful) <= np.abs(certain) + 1e-9)
    # W - B is the difference of two large numbers, and by far the most uncertain
    assert abs(doubtful[2]) < 0.01 * abs(certain[2])
