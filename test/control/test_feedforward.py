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

"""The feedforward without ROS: its efforts, and its robustness to a misbehaving estimator."""
import math
import time
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.feedforward import Feedforward
from uvms_adaptive_dynamics.errors import ParameterError, RobotError
from uvms_adaptive_dynamics.model.dynamics import State, inverse_dynamics
from uvms_adaptive_dynamics.model.parameter_set import ParameterSet
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.model.urdf_address import resolve_urdf

CONFIG = Config()
ROBOT = RobotModel.from_config(CONFIG)
PRIOR = prior_from_config(CONFIG, ROBOT)
PERIOD = 0.01
NU_DOT, MU_DDOT = np.array([.3, -.2, .1, .2, -.1, .3]), np.array([.4, -.3, .2, .5])


def state(seed=0):
    rng = np.random.default_rng(seed)
    return State(from_rpy(*rng.uniform(-.5, .5, 3)), rng.normal(size=6) * .3, rng.uniform(1, 3, 4),
                 rng.choice([-1, 1], 4) * rng.uniform(.2, .4, 4))


def feedforward(**settings):
    return Feedforward(ROBOT, PRIOR, CONFIG.with_values(
        {f"feedforward.{name}": value for name, value in settings.items()}))


def inside_P(rng, size=1.0):
    """Random parameters within P, scaled by up to about e^(3 size) from the prior."""
    pi, table = PRIOR.values.copy(), ROBOT.table
    for places in table.blocks.values():
        pi[places] *= math.exp(size * rng.normal())
    weight = table.index["W"]
    pi[weight] = np.clip(pi[weight], *table.weight_limits)
    return pi


def test_it_is_the_inverse_dynamics():
    """With trusted parameters from the start, efforts are Y pi and deviations those of Y Sigma Y^T,
    to rounding."""
    rng, ff = np.random.default_rng(0), feedforward()
    pi = PRIOR.values * 1.1
    A = rng.normal(size=(75, 75)) * .01
    ff.update(pi, A @ A.T, 5.0, True)
    got, expected = ff.efforts(5.5, state(), NU_DOT, MU_DDOT), inverse_dynamics(
        ROBOT, state(), NU_DOT, MU_DDOT, pi, A @ A.T)
    np.testing.assert_allclose(got.tau, np.clip(expected.tau, -ff.limits, ff.limits), atol=1e-9)
    np.testing.assert_allclose(got.stddev, np.sqrt(np.diag(expected.covariance)), rtol=1e-9)
    assert (got.source, got.age) == ("trusted", 0.5)


def test_the_arms_reaction_is_what_the_vehicle_feels_of_the_arm():
    """The vehicle's wrenches with and without the arm differ by the reaction."""
    vehicle = RobotModel.from_config(CONFIG.with_values({"robot.joints": []}))
    alone = inverse_dynamics(vehicle, State(state().R_nb, state().nu, np.zeros(0), np.zeros(0)),
                             NU_DOT, np.zeros(0), PRIOR.values[:27]).tau
    got = feedforward().efforts(0.0, state(), NU_DOT, MU_DDOT)
    np.testing.assert_allclose(got.tau[:6] + got.arm_reaction, alone, atol=1e-9)


def test_the_arms_reaction_is_no_matter_of_the_thrusters():
    """Thrust that falls short in one direction changes what to command, not what the arm does."""
    config = CONFIG.with_values({"robot.terms": ["thrust_by_direction"]})
    robot = RobotModel.from_config(config)
    prior = prior_from_config(config, robot)
    short = prior.values + 0.2 * np.array([name.startswith("thrust_") for name in prior.names])
    found = []
    for values in (prior.values, short):
        one = Feedforward(robot, replace(prior, values=values), config)
        for heave in (1.0, -1.0):
            found.append(one.efforts(0.0, state(), heave * np.eye(6)[2], np.zeros(4)))
    for as_known, really in zip(found[:2], found[2:]):
        assert really.arm_reaction == pytest.approx(as_known.arm_reaction)
        assert abs(really.tau[2] - as_known.tau[2]) > 1.0


def test_the_arms_reaction_is_its_weight_and_its_lost_momentum():
    """The reaction matches Newton's third law with Pinocchio's centroidal momentum of the arm on
    its moving mount, about the body's origin in FRD; at rest it is a weight that pulls down."""
    arm = pin.buildModelFromUrdf(str(resolve_urdf(CONFIG.robot.urdf)))
    flip = np.diag([1.0, -1.0, -1.0])
    mount = pin.SE3(flip @ pin.rpy.rpyToMatrix(*map(float, CONFIG.robot.mount_rpy)),
                    flip @ np.array(CONFIG.robot.mount_xyz, float))
    pi = PRIOR.values.copy()
    pi[27:].reshape(4, 12)[:, :10] = ROBOT.arm.inertials()[:, :10]
    ff = Feedforward(ROBOT, ParameterSet(PRIOR.names, pi), CONFIG.with_values(
        {"feedforward.wrench_limits": [1e3] * 6}))
    still, mu, mu_dot = np.zeros(6), np.array([2.0, 1.2, 2.2, 1.0]), np.array([.5, -.4, .6, .3])
    moving = [arm.joints[arm.getJointId(joint)] for joint in CONFIG.robot.joints]
    rows, speeds = [j.idx_q for j in moving], [j.idx_v for j in moving]

    def momentum(t):
        """(momentum (6,) about the body's origin in FRD, centre of mass, mass)."""
        data, q, v = arm.createData(), pin.neutral(arm), np.zeros(arm.nv)
        q[rows], v[speeds] = mu + t * mu_dot + t * t * MU_DDOT / 2, mu_dot + t * MU_DDOT
        h = pin.computeCentroidalMomentum(arm, data, q, v)
        centre, linear = mount.act(data.com[0]), mount.rotation @ h.linear
        angular = mount.rotation @ h.angular + np.cross(centre, linear)
        return np.concatenate([linear, angular]), centre, data.mass[0]

    (after, *_), (before, *_), (_, centre, mass) = momentum(1e-5), momentum(-1e-5), momentum(0.0)
    R_nb = from_rpy(.3, -.4, 1.0)
    weight = mass * CONFIG.robot.gravity * R_nb[2]
    expected = np.concatenate([weight, np.cross(centre, weight)]) - (after - before) / 2e-5
    got = ff.efforts(0.0, State(R_nb, still, mu, mu_dot), still, MU_DDOT).arm_reaction
    assert mass > .5
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_new_parameters_come_without_a_bump_and_are_reached():
    """No step exceeds max_step of a limit; within five time constants the new efforts are reached.
    """
    ff, pi = feedforward(), 0.5 * (PRIOR.values + inside_P(np.random.default_rng(3)))
    run, sources = [], []
    for k in range(300):
        if k >= 10:
            ff.update(pi, None, k * PERIOD, True)
        got = ff.efforts(k * PERIOD, state(), NU_DOT, MU_DDOT)
        run.append(got.tau)
        sources.append(got.source)
    steps = np.abs(np.diff(run, axis=0)) / ff.limits
    assert steps[:9].max() == 0 < steps.max() <= .05 + 1e-12
    expected = inverse_dynamics(ROBOT, state(), NU_DOT, MU_DDOT, pi).tau
    np.testing.assert_allclose(run[-1], np.clip(expected, -ff.limits, ff.limits),
                               atol=.01 * ff.limits.max())
    assert sources[0] == "prior" and sources[10] == "blend" and sources[-1] == "trusted"


def test_deviations_that_nobody_asks_for_do_not_matter():
    """They are NaN, the efforts are the same to the last digit, and the next deviations that are
    asked for are those of the blend, to rounding."""
    always, seldom = feedforward(), feedforward()
    rng, pi = np.random.default_rng(4), inside_P(np.random.default_rng(1), .5)
    covariances = [None, *(np.diag(rng.uniform(0, .1, 75)) for _ in range(2))]
    for k in range(300):
        for ff in (always, seldom):
            if k % 40 == 20:
                ff.update(pi, covariances[k // 40 % 3], k * PERIOD, True)
        asked = k % 47 == 46
        full, part = (ff.efforts(k * PERIOD, state(), NU_DOT, MU_DDOT, with_stddev=stddev)
                      for ff, stddev in ((always, True), (seldom, asked)))
        assert (part.tau == full.tau).all() and part.source == full.source
        if asked:
            np.testing.assert_allclose(part.stddev, full.stddev, rtol=1e-9)
        else:
            assert np.isnan(part.stddev).all()


@pytest.mark.parametrize("fallback, there", [("prior", "prior"), ("nothing", "nothing"),
                                             ("trusted", "trusted")])
def test_a_dead_estimator_is_left_within_one_period(fallback, there):
    """In the first call after the timeout each effort moves by at most a step to the fallback."""
    ff, pi = feedforward(fallback=fallback, timeout=.5), inside_P(np.random.default_rng(1), .5)
    ff.update(pi, None, 0.0, True)
    run = [ff.efforts(k * PERIOD, state(), NU_DOT, MU_DDOT) for k in range(400)]
    tau = np.array([each.tau for each in run])
    steps = np.abs(np.diff(tau, axis=0)) / ff.limits
    assert not steps[:49].any() and steps.max() <= .05 + 1e-12
    assert steps[50].any() == (fallback != "trusted")
    last = ff.efforts(4.0, state(), NU_DOT, MU_DDOT)
    assert last.source == there and last.age == 4.0
    goal = {"prior": feedforward().efforts(0.0, state(), NU_DOT, MU_DDOT).tau,
            "nothing": np.zeros(10), "trusted": tau[0]}[fallback]
    np.testing.assert_allclose(tau[-1], goal, atol=2e-3 * ff.limits.max())
    if fallback == "nothing":
        assert (last.stddev < .05 * run[0].stddev).all()


def test_the_reason_for_the_fallback_is_the_right_one():
    """Each cause in its own words; '' while the trusted parameters act."""
    ff, pi = feedforward(timeout=.5, max_age=60.0), inside_P(np.random.default_rng(1), .2)
    assert "have come yet" in ff.fallback_because(0.0)
    ff.update(pi, None, 0.0, True)
    assert ff.fallback_because(.4) == "" and "silent" in ff.fallback_because(.6)
    ff.distrust()
    assert "failed" in ff.fallback_because(.6)
    ff.confirm(61.0)
    assert "max_age" in ff.fallback_because(61.0)
    with pytest.raises(ParameterError):
        ff.update(-pi, None, 61.0, True)
    assert "unusable" in ff.fallback_because(61.0)


def test_old_parameters_hold_while_the_estimator_lives():
    """A status message or an untrusted estimate suffices to keep the last trusted parameters."""
    ff, pi = feedforward(), inside_P(np.random.default_rng(1), .2)
    ff.update(pi, None, 0.0, True)
    for k in range(1, 1000):
        ff.confirm(float(k)) if k % 2 else ff.update(np.full(75, np.nan), None, float(k), False)
        assert ff.efforts(float(k), state(), NU_DOT, MU_DDOT).source == "trusted"
    aging = feedforward(max_age=60.0)
    aging.update(pi, None, 0.0, True)
    for k in range(1, 200):
        aging.confirm(float(k))
        source = aging.efforts(float(k), state(), NU_DOT, MU_DDOT).source
        assert source == "trusted" if k <= 60 else source in ("blend", "prior")
    assert source == "prior"


@pytest.mark.parametrize("stamp", [-1e3, 1e3, 1.7e9])
def test_parameters_of_another_time_source_have_no_age(stamp):
    """With feedforward.max_age, stamps far in the future are as unusable as old ones."""
    ff = feedforward(max_age=60.0)
    ff.update(PRIOR.values, None, stamp, True)
    ff.confirm(0.0)
    assert ff.efforts(0.0, state(), NU_DOT, MU_DDOT).source == "prior"


def test_a_clock_that_jumps_back_ends_trust_until_the_next_sign_of_life():
    """Timestamps from before the jump are no sign of life, even if they lie in the future."""
    ff = feedforward()
    ff.update(PRIOR.values, None, 1000.0, True)
    assert ff.efforts(1000.0, state(), NU_DOT, MU_DDOT).source == "trusted"
    ff.efforts(10.0, state(), NU_DOT, MU_DDOT)
    assert ff._wanted(10.0).source == "prior"
    ff.confirm(10.0)
    assert ff.efforts(10.1, state(), NU_DOT, MU_DDOT).source == "trusted"


@pytest.mark.parametrize("change, part", [
    (lambda pi: pi[:-1], "74 values, expected 75"),
    (lambda pi: np.where(np.arange(75) == 3, np.nan, pi), "'mzg_X_dq' is not finite"),
    (lambda pi: -pi, "violate physical consistency")])
def test_an_impossible_estimate_is_refused_and_ends_trust(change, part):
    """The error gives the reason; the next call moves to the prior until a good estimate comes."""
    ff, good = feedforward(), inside_P(np.random.default_rng(2), .5)
    ff.update(good, None, 0.0, True)
    first = ff.efforts(0.0, state(), NU_DOT, MU_DDOT)
    with pytest.raises(ParameterError, match=part):
        ff.update(change(good), None, 0.01, True)
    after = ff.efforts(0.01, state(), NU_DOT, MU_DDOT)
    assert first.source == "trusted" and np.any(after.tau != first.tau)
    ff.update(good, None, 0.02, True)
    assert ff.efforts(60.0, state(), NU_DOT, MU_DDOT).source != "trusted"    # dead since
    with pytest.raises(ParameterError, match="not finite or negative variances"):
        ff.update(good, np.full((75, 75), np.nan), 60.0, True)
    ff.update(good, None, 60.01, True)
    assert ff.efforts(70.0 - 8.5, state(), NU_DOT, MU_DDOT).source == "trusted"


def test_signs_of_life_do_not_bring_back_what_a_refused_estimate_replaced():
    """While the living estimator trusts unusable parameters, the fallback acts until usable ones
    come. A failure, by contrast, ends with the next sign of life."""
    ff = feedforward()     # of the same values, so that nothing blends
    ff.update(PRIOR.values, None, 0.0, True)
    with pytest.raises(ParameterError):
        ff.update(np.full(75, np.nan), None, 0.01, True)
    for k in range(2, 5):
        ff.confirm(k * PERIOD)
        ff.update(PRIOR.values, None, k * PERIOD, False)
        assert ff.efforts(k * PERIOD, state(), NU_DOT, MU_DDOT).source == "prior"
    ff.update(PRIOR.values, None, 0.05, True)
    assert ff.efforts(0.05, state(), NU_DOT, MU_DDOT).source == "trusted"
    ff.distrust()
    assert ff.efforts(0.06, state(), NU_DOT, MU_DDOT).source == "prior"
    ff.confirm(0.07)
    assert ff.efforts(0.07, state(), NU_DOT, MU_DDOT).source == "trusted"


@pytest.mark.campaign
def test_ten_thousand_mad_updates():
    """With updates withheld, stale, NaN, outside P or anywhere inside it, every effort is within
    its limit, no step exceeds 5 % of it, and parameters stay within P."""
    rng, ff = np.random.default_rng(0), feedforward(timeout=.1)
    physical = PhysicalSet(ROBOT.table, CONFIG.estimation)
    before, refused, sources = None, 0, set()
    for k in range(10_000):
        t, kind = k * PERIOD, rng.integers(6)
        if kind == 0:
            pi = np.full(75, np.nan)
        elif kind == 1:
            pi = -inside_P(rng)
        else:
            pi = inside_P(rng, rng.choice([.1, 1.0, 5.0]))
        stamp = t - 1e3 if kind == 2 else t
        if kind != 3 and k // 500 % 4:         # withheld for 5 s out of 20
            try:
                ff.update(pi, np.eye(75) * rng.exponential(), stamp, True)
            except ParameterError:
                refused += 1
        got = ff.efforts(t, state(), NU_DOT, MU_DDOT)
        assert np.isfinite(got.stddev).all() and (np.abs(got.tau) <= ff.limits).all()
        if before is not None:
            assert (np.abs(got.tau - before) <= (.05 + 1e-12) * ff.limits).all(), k
        before = got.tau
        sources.add(got.source)
        if k % 100 == 0:
            assert physical.violation(ff._x[:-1], 0.0) < 1e-6
    assert refused > 1000 and sources == {"prior", "blend", "trusted"}


def test_what_was_learnt_at_rest_cannot_hold_the_efforts_at_their_limits():
    """At rest a mass has no effect, so an absurd one is taken in at once. After it is gone, efforts
    in motion leave the limits within the time that steps of 5 % need."""
    ff = feedforward(blend_time=.05)
    rest = State(np.eye(3), np.zeros(6), np.full(4, 2.0), np.zeros(4))
    mad = PRIOR.values.copy()
    mad[ROBOT.table.places(["m_X_du", "m_Y_dv", "m_Z_dw"])] = 1e9
    for k in range(100):
        ff.update(mad, None, k * PERIOD, True)
        ff.efforts(k * PERIOD, rest, np.zeros(6), np.zeros(4))
    got = []
    for k in range(100, 260):
        ff.update(PRIOR.values, None, k * PERIOD, True)
        got.append(ff.efforts(k * PERIOD, rest, NU_DOT, np.zeros(4)))
    assert abs(got[0].tau[0]) == ff.limits[0] and got[-1].source == "trusted"
    assert np.abs(np.diff([each.tau for each in got], axis=0) / ff.limits).max() <= .05 + 1e-12


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=20), st.integers(0, 2**32 - 1))
def test_time_in_any_order_makes_no_bump(times, seed):
    """With clocks that stop, jump or run back, each call moves at most one step."""
    rng, ff, before = np.random.default_rng(seed), feedforward(), None
    for t in times:
        ff.update(inside_P(rng), None, rng.uniform(-10, 10), True)
        tau = ff.efforts(t, state(), NU_DOT, MU_DDOT).tau
        if before is not None:
            assert (np.abs(tau - before) <= (.05 + 1e-12) * ff.limits).all()
        before = tau


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
def test_a_motion_that_is_not_finite_is_refused_and_changes_nothing(value):
    """Neither is one whose efforts overflow accepted."""
    ff = feedforward()
    first = ff.efforts(0.0, state(), NU_DOT, MU_DDOT)
    with pytest.raises(ParameterError, match="not finite"):
        ff.efforts(0.01, state(), np.full(6, value), MU_DDOT)
    with pytest.raises(ParameterError, match="not finite"):
        ff.efforts(np.nan, state(), NU_DOT, MU_DDOT)
    np.testing.assert_array_equal(ff.efforts(0.02, state(), NU_DOT, MU_DDOT).tau, first.tau)


def test_friction_follows_the_speed_that_is_wanted():
    """Coulomb friction follows the wanted speed smoothly while the measured joint is at rest."""
    ff, still = feedforward(), State(np.eye(3), np.zeros(6), np.full(4, 2.0), np.zeros(4))
    none = ff.efforts(0.0, still, np.zeros(6), np.zeros(4)).tau
    some = ff.efforts(0.0, still, np.zeros(6), np.zeros(4), np.array([.5, 0, 0, -.5])).tau
    np.testing.assert_allclose((some - none)[6:], [.1, 0, 0, -.1], atol=1e-9)


def test_disengaged_it_fades_to_nothing_and_comes_back():
    """Disengaging, as for a stale state, and engaging never step by more than max_step."""
    ff = feedforward()
    run = [ff.efforts(k * PERIOD, state(), NU_DOT, MU_DDOT, engaged=not 100 <= k < 500)
           for k in range(1000)]
    tau = np.array([each.tau for each in run])
    assert np.abs(np.diff(tau, axis=0) / ff.limits).max() <= .05 + 1e-12
    assert np.abs(tau[499] / ff.limits).max() < 1e-3 and run[499].source == "nothing"
    np.testing.assert_allclose(tau[-1], tau[0], atol=2e-4 * ff.limits.max())


@pytest.mark.parametrize("change", [{"robot.joints": []}, {"robot.vehicle": False}])
def test_robots_without_an_arm_or_a_vehicle(change):
    """Such robots have their own channels and no reaction."""
    config = CONFIG.with_values(change)
    robot = RobotModel.from_config(config)
    prior, n = prior_from_config(config, robot), robot.table.n
    still = State(np.eye(3), np.zeros(6), np.full(n, 2.0), np.zeros(n))
    got = Feedforward(robot, prior, config).efforts(0.0, still, NU_DOT, np.zeros(n))
    assert got.tau.shape == got.stddev.shape == (robot.table.channels,)
    assert np.abs(got.tau).max() > .01 and not got.arm_reaction.any()


def test_a_joint_needs_a_limit():
    """The limit comes from the settings or the URDF."""
    with pytest.raises(RobotError, match="has 3 numbers; expected none or 4"):
        feedforward(joint_limits=[1.0, 1.0, 1.0])
    assert feedforward(joint_limits=[1.0] * 4).limits[6:].tolist() == [1.0] * 4


def test_a_call_takes_less_than_a_millisecond():
    """Includes the deviation; takes the least of several times, since the machine is shared."""
    ff, s = feedforward(), state()
    best = math.inf
    for k in range(200):
        start = time.perf_counter()
        ff.efforts(k * PERIOD, s, NU_DOT, MU_DDOT)
        best = min(best, time.perf_counter() - start)
    assert best < 1e-3
