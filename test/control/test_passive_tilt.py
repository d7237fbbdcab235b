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

"""Vehicles whose thrusters cannot pitch are not tilted beyond the limit by a designed motion."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.excitation.design import (
    WHOLE_TILT,
    design,
    largest_uses,
    resting_place,
)
from uvms_adaptive_dynamics.control.excitation.limits import MotionLimits
from uvms_adaptive_dynamics.control.excitation.passive_tilt import passive_tilt
from uvms_adaptive_dynamics.errors import ParameterError
from uvms_adaptive_dynamics.model.prior import prior_from_config, prior_stddev
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.thrust_curve import ThrustCurve

# A BlueROV2's vectored four and its two vertical thrusters.
SIX = np.array([[.7, .7, -.7, -.7, 0, 0], [-.7, .7, -.7, .7, 0, 0], [0, 0, 0, 0, -1, -1],
                [.06, -.06, .06, -.06, -.22, .22], [.06, .06, -.06, -.06, 0, 0],
                [-.19, .19, .19, -.19, 0, 0]])
CONFIG = Config().with_values({
    "robot.joints": [], "thrusters.signs": [1.0] * 6, "thrusters.allocation": SIX.ravel().tolist(),
    "excitation.starts": 1, "excitation.iterations": 1, "excitation.harmonics": 3,
    "excitation.draws": 4})
ROBOT = RobotModel.from_config(CONFIG)
PRIOR = prior_from_config(CONFIG, ROBOT)
LIMITS = MotionLimits.from_config(CONFIG, ROBOT, ThrustCurve.t200())
DURATION, PITCH = 10.0, 4
# known well, and hanging 0.05 rad nose up
KNOWN = replace(PRIOR, values=np.where(np.array(PRIOR.names) == "xgW_xbB", 0.1, PRIOR.values),
                covariance=np.diag((0.02 * prior_stddev(
                    PRIOR.values, ROBOT, CONFIG.estimation.prior_stddev)) ** 2))
VALUE = dict(zip(KNOWN.names, KNOWN.values))


def designed(known, limits, move=("*",)):
    free = np.ones(ROBOT.table.size, bool)
    return design(ROBOT, known, ROBOT.default_noise(CONFIG), free, move, limits, DURATION, 1,
                  config=CONFIG)


def pendulum():
    return passive_tilt(ROBOT, LIMITS, np.zeros(6), KNOWN.values[None])


def test_only_an_axis_without_thrust_is_passive():
    """Not on the BlueROV2 Heavy, nor if a vehicle takes wrenches with limits on all axes."""
    assert LIMITS.passive.tolist() == [PITCH]
    heavy = Config()
    robot = RobotModel.from_config(heavy)
    for curve in (ThrustCurve.t200(), None):
        assert not MotionLimits.from_config(heavy, robot, curve).passive.size
    assert MotionLimits.from_config(CONFIG, ROBOT).passive.tolist() == [PITCH]
    own = CONFIG.with_values({"feedforward.wrench_limits": [100.0] * 6})
    assert not MotionLimits.from_config(own, ROBOT).passive.size


def test_the_pendulum_is_that_of_the_parameters():
    """Tilt per moment, and at rest; overshoot of a second-order system."""
    found = pendulum()
    assert found.gain[0, 0] == pytest.approx(1 / VALUE["zgW_zbB"], rel=1e-2)
    # the surge that the thrusters would give with the moment is missing as well
    assert found.at_rest[0, 0] == pytest.approx(VALUE["xgW_xbB"], rel=.02)
    assert found.resting[0] == pytest.approx(VALUE["xgW_xbB"] / VALUE["zgW_zbB"], rel=.03)
    assert (found.peak > found.gain).all()


def test_no_course_of_the_moment_tilts_it_further():
    """Not even one that pushes in step with its oscillation, which nearly reaches the bound."""
    found, h = pendulum(), 1e-3
    K, inertia = VALUE["zgW_zbB"], VALUE["Iy_M_dq"]
    D = -VALUE["M_q"] - 0.1 * VALUE["M_qq"]     # at the rate at which the pendulum is judged
    tilt = rate = most = 0.0
    for _ in range(60_000):
        moment = np.sign(rate) or 1.0
        rate += h * (moment - D * rate - K * tilt) / inertia
        tilt += h * rate
        most = max(most, abs(tilt))
    assert 0.95 * found.peak[0, 0] < most < 1.01 * found.peak[0, 0]


def test_an_upset_pendulum_has_no_limit():
    """A vehicle whose weight is above its buoyancy does not hang at all."""
    values = np.where(np.array(KNOWN.names) == "zgW_zbB", -1.0, KNOWN.values)
    assert np.isinf(passive_tilt(ROBOT, LIMITS, np.zeros(6), values[None]).resting).all()


def test_a_designed_motion_keeps_the_tilt():
    """Pitch is not moved whatever is asked for, and surge no more than the tilt by its moment
    allows. Without this the same search goes beyond it."""
    motion = designed(KNOWN, LIMITS)
    assert not motion.sine[PITCH].any() and not motion.cosine[PITCH].any()
    tightened = LIMITS.with_margins(CONFIG, DURATION)

    def use(trajectory):
        return largest_uses(trajectory, ROBOT, tightened, KNOWN.values[None])[WHOLE_TILT]
    assert 0.3 < use(motion) <= 1.0
    assert use(designed(KNOWN, replace(LIMITS, missing=np.zeros((6, 6))))) > 1.5


def test_a_vehicle_that_would_not_hang_level_is_refused():
    """By its known parameters; draws with which it would not are moved towards these."""
    nose_up = replace(KNOWN, values=np.where(np.array(KNOWN.names) == "xgW_xbB", 2.0,
                                             KNOWN.values))
    with pytest.raises(ParameterError, match="'tilt without thrust': plausible parameters need"):
        designed(nose_up, LIMITS)
    draws = np.array([KNOWN.values, nose_up.values])
    _, nearer = resting_place(ROBOT, LIMITS, draws, np.ones(6, bool), None, 1)
    resting = passive_tilt(ROBOT, LIMITS, np.zeros(6), nearer).resting
    assert 0.5 * LIMITS.tilt < resting[1] <= LIMITS.tilt
