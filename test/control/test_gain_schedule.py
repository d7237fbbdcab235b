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

"""Gains start from the prior's inertias and move to the estimated ones as these become known."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.feedforward import Feedforward
from uvms_adaptive_dynamics.control.gain_schedule import BELIEVED, GainSchedule
from uvms_adaptive_dynamics.control.motion_controller import gains_for, loads
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel

CONFIG = Config().with_values({"feedforward.fallback": "nothing"})
MODEL = RobotModel.from_config(CONFIG)
PRIOR = prior_from_config(CONFIG, MODEL)
SLOW, FAST = (2.0, 2.5, 5.0), (7.0, 7.0, 15.0)
LONG = 100.0    # [s], many of the times in which parameters come in


def told(values, left):
    """A feedforward with an estimate that has this share of the prior's deviation left."""
    feedforward = Feedforward(MODEL, PRIOR, CONFIG)
    feedforward.update(values, np.diag((left * feedforward.prior_stddev) ** 2), 0.0, True)
    return feedforward


def after(feedforward, t=LONG):
    schedule = GainSchedule(PRIOR, MODEL.joints, SLOW, FAST, feedforward)
    schedule.at(0.0)
    if feedforward is not None:
        feedforward.confirm(t)
    return schedule.at(t)


def equal(got, wanted):
    return all(np.allclose(one, other, rtol=1e-6, atol=0.0)
               for one, other in zip(got, wanted, strict=True))


@pytest.mark.parametrize("feedforward", [None, Feedforward(MODEL, PRIOR, CONFIG),
                                         told(PRIOR.values, 1.0)])
def test_what_nobody_has_measured_leaves_the_priors_slow_gains(feedforward):
    assert equal(after(feedforward), gains_for(PRIOR, MODEL.joints, SLOW))


def test_what_is_known_makes_its_own_fast_gains():
    """Three times the prior's inertia and friction give three times its gains, at the fast
    bandwidths."""
    values = PRIOR.values.copy()
    values[[MODEL.table.index[name] for name in loads(MODEL.joints)]] *= 3.0
    known = PRIOR.__class__(PRIOR.names, values)
    assert equal(after(told(values, 0.0)), gains_for(known, MODEL.joints, FAST))


def test_an_axis_that_is_not_known_waits_for_itself():
    left = np.ones(MODEL.table.size)
    left[MODEL.table.index["Ix_K_dp"]] = 0.0
    got, slow = after(told(PRIOR.values, left)), gains_for(PRIOR, MODEL.joints, SLOW)
    np.testing.assert_allclose(np.delete(got.proportional, 3), np.delete(slow.proportional, 3))
    np.testing.assert_allclose(got.proportional[3] / slow.proportional[3], (7.0 / 2.5) ** 2)


def test_gains_do_not_jump_and_go_back_when_the_estimator_is_silent():
    feedforward = told(PRIOR.values, 0.0)
    schedule = GainSchedule(PRIOR, MODEL.joints, SLOW, FAST, feedforward)
    seen = [schedule.at(t).proportional[3] for t in np.arange(0.0, 1.9, 0.02)]
    assert seen[0] == pytest.approx(gains_for(PRIOR, MODEL.joints, SLOW).proportional[3])
    assert np.all(np.diff(seen) > 0.0) and np.max(np.diff(seen) / seen[:-1]) < 0.1
    schedule.at(LONG)       # two seconds without a sign of life are too long
    assert equal(schedule.present, gains_for(PRIOR, MODEL.joints, SLOW))


def test_an_absurd_inertia_is_not_followed_beyond_reason():
    values, place = PRIOR.values.copy(), MODEL.table.index["Ix_K_dp"]
    values[place] = 100.0
    feedforward = told(values, 0.0)
    most = BELIEVED * max(PRIOR.values[place], feedforward.prior_stddev[place])
    fast = gains_for(PRIOR, MODEL.joints, FAST)
    assert most < values[place]
    assert after(feedforward).proportional[3] == pytest.approx(
        most / PRIOR.values[place] * fast.proportional[3])


@pytest.mark.parametrize("left", [0.5, 0.0])
def test_an_inertia_that_is_estimated_far_too_small_makes_nothing_softer(left):
    """A vehicle that a tether pulls while it holds still shows a yaw inertia near zero."""
    values = PRIOR.values.copy()
    values[[MODEL.table.index[name] for name in ("Iz_N_dr", "axis_e.fv")]] *= 0.1
    got, slow = after(told(values, left)), gains_for(PRIOR, MODEL.joints, SLOW)
    assert all(np.all(one >= 0.999 * other) for one, other in zip(got, slow, strict=True))


def test_a_friction_of_zero_is_a_gain_of_zero_until_it_is_known():
    prior = PRIOR.__class__(PRIOR.names, PRIOR.values.copy())
    place = MODEL.table.index["axis_b.fv"]
    prior.values[place] = 0.0
    feedforward = told(PRIOR.values, 0.0)
    schedule = GainSchedule(prior, MODEL.joints, SLOW, FAST, feedforward)
    assert schedule.at(0.0).proportional[-1] < 1e-6
    feedforward.confirm(LONG)
    assert schedule.at(LONG).proportional[-1] == pytest.approx(15.0 * PRIOR.values[place])
