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

"""Forces that the model does not explain, and that move the vehicle."""
import numpy as np
import pytest
from campaign_cases import also

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.sample import Sample
from uvms_adaptive_dynamics.uncertainty.driven_motion import STEP, DrivenMotion
from uvms_adaptive_dynamics.uncertainty.motion_noise import AXES, MotionNoise
from uvms_adaptive_dynamics.uncertainty.systematic_gradient import DRIVEN

PERIOD = .02
MASS, DAMPING = 25.0, 12.0      # [kg], [N s/m]
PLACES = [0, AXES]              # surge: its acceleration, its velocity


def driven(commands, forces, steps, seed):
    """(thrust (T,), acceleration (T,), velocity (T,)) of a vehicle in surge, pushed by `commands`
    and unseen `forces` [N, about a standard deviation] with periods of a second or more."""
    rng = np.random.default_rng(seed)
    found, v = [], 0.0
    first, pushes = np.zeros(2), np.zeros(2)
    for _ in range(steps):
        first += .03 * (12 * np.array([commands, forces]) * rng.normal(size=2) - first)
        pushes += .03 * (first - pushes)
        thrust, force = pushes
        a = (thrust + force - DAMPING * v) / MASS
        found.append((thrust, a, v))
        v += PERIOD * a
    return np.array(found).T


def sums_of_surge(inertia, damping, decay=1.0):
    """Sums for two parameters, mass and damping of surge, with this response."""
    motion = MotionNoise(PERIOD, np.ones(1), 2, decay, 100.0)
    motion.set_columns(0, np.array([[1.0, 0.0], [0.0, 1.0]]))
    sums = DrivenMotion(motion, PERIOD, 2, decay)
    sums.set_response(0, inertia, damping, 0.0)
    return sums


@pytest.mark.parametrize("forces", [.3, also(1.0)])
def test_it_is_the_bias_of_least_squares(forces):
    """Mass and damping that least squares find too small, by a tenth and by a half, are too small
    by what the sums say of the residual and the response that they leave."""
    thrust, a, v = driven(1.0, forces, 60_000, 1)
    Y = np.column_stack([a, v])
    A = Y.T @ Y
    estimate = np.linalg.solve(A, Y.T @ thrust)
    off = estimate - [MASS, DAMPING]
    sums = sums_of_surge(*estimate)
    for residual in thrust - Y @ estimate:
        sums.add_row(np.eye(AXES)[0] * residual)
    found = np.linalg.solve(A, sums.gradient(np.ones(AXES)))
    assert (off < -.05 * np.array([MASS, DAMPING])).all()
    np.testing.assert_allclose(found, off, rtol=.25)


def test_forgetting_gaps_and_maps():
    """Sums of old rows are mapped, new ones are not; after a gap nothing moves the vehicle yet, and
    an axis without a known response is not moved at all."""
    def add(sums, axis=0):
        sums.break_off()
        for _ in range(STEP):
            sums.add_row(np.eye(AXES)[axis])

    one = sums_of_surge(1e6, 0.0)
    add(one)
    J = one.gradient(np.ones(AXES))
    np.testing.assert_allclose(J, [-STEP * 1e-6, 0.0])
    for _ in range(2 * STEP - 1):       # the last step does not end before the gap
        one.add_row(np.zeros(AXES))
    np.testing.assert_allclose(one.gradient(np.ones(AXES)), J)
    add(one)
    one.mapped(np.eye(2), close=True)
    one.mapped(.5 * np.eye(2), close=False)
    add(one)
    add(one, axis=1)
    np.testing.assert_allclose(one.gradient(np.ones(AXES)), 2 * J)
    fading = sums_of_surge(1e6, 0.0, decay=.5)
    add(fading), add(fading)
    np.testing.assert_allclose(fading.gradient(np.ones(AXES)), (1 + .5 ** STEP) * J)


def test_a_tiny_inertia_or_a_huge_damping_stays_finite():
    for inertia, damping in ((1e-6, 0.0), (1e-6, 1e6), (1e6, 1e9)):
        sums = sums_of_surge(inertia, damping)
        for k in range(2000):
            sums.add_row(np.eye(AXES)[0] * np.sin(k))
        assert np.isfinite(sums.gradient(np.ones(AXES))).all()


def test_a_righting_moment_limits_how_far_a_steady_moment_turns_the_vehicle():
    sums = DrivenMotion(sums_of_surge(1.0, 1.0)._motion, PERIOD, 2, 1.0)
    sums.set_response(3, 1.0, 4.0, 4.0)
    for _ in range(2000):
        sums.add_row(np.eye(AXES)[3])
    assert sums._speed[3] == pytest.approx(0.0, abs=1e-6)
    assert sums._turned[3] == pytest.approx(-.25)


def learnt(forces, seed):
    """The estimator after a minute of surge, with its estimate."""
    config = Config().with_values({"robot.joints": (), "robot.urdf": "",
                                   "uncertainty.lacking_share": 0.0})
    estimator, last = Estimator(config), None
    weight = estimator.pi[estimator.table.index["W"]] - estimator.pi[estimator.table.index["B"]]
    for k, (thrust, a, v) in enumerate(zip(*driven(12.0, forces, 3000, seed))):
        axis = np.eye(AXES)[0]
        estimator.add(Sample(
            t=1.7e9 + PERIOD * k, nu=v * axis, nu_dot=a * axis, R_nb=np.eye(3), mu=np.zeros(0),
            mu_dot=np.zeros(0), mu_ddot=np.zeros(0), joint_torque=np.zeros(0),
            wrench=thrust * axis - weight * np.eye(AXES)[2], valid=np.ones(AXES, bool)))
        if k % 50 == 49:
            last = estimator.solve()
    return estimator, last


@pytest.mark.campaign
def test_the_mass_of_a_vehicle_in_waves_is_inside_its_interval():
    """Of a calm sea's mass the interval stays narrow. In waves as strong as the thrust the estimate
    is a third too small; noise alone would call that certain."""
    place = 0
    estimator, calm = learnt(0.0, 3)
    assert estimator.known_from()[place] == "measured"
    assert abs(calm.pi[place] - MASS) < 1.96 * calm.stddev[place] < .25 * MASS
    estimator, rough = learnt(12.0, 3)
    assert rough.pi[place] < .8 * MASS
    assert abs(rough.pi[place] - MASS) < 1.96 * rough.stddev[place]
    assert abs(rough.pi[place] - MASS) > 1.96 * np.sqrt(
        rough.stddev[place] ** 2 - rough.systematic[DRIVEN, place] ** 2)
