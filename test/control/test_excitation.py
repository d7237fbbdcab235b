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

"""Designed motions: the gradient of the search, the limits that they keep, the standard deviations
that they promise, and refusals."""
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.allocation import wrench_limits
from uvms_adaptive_dynamics.control.desired_motion import desired_motion
from uvms_adaptive_dynamics.control.excitation.design import design, largest_uses
from uvms_adaptive_dynamics.control.excitation.limits import MotionLimits, moving
from uvms_adaptive_dynamics.control.excitation.motion_information import information
from uvms_adaptive_dynamics.control.excitation.noise import measured_noise, noise_of
from uvms_adaptive_dynamics.control.excitation.objective import Objective, Tones
from uvms_adaptive_dynamics.control.excitation.prior_knowledge import Knowledge
from uvms_adaptive_dynamics.control.excitation.rows import regressors
from uvms_adaptive_dynamics.control.guide import Request, StageView
from uvms_adaptive_dynamics.control.guided_design import designed as guided
from uvms_adaptive_dynamics.errors import ParameterError, RobotError
from uvms_adaptive_dynamics.model import link_geometry
from uvms_adaptive_dynamics.model.dynamics import rows_of
from uvms_adaptive_dynamics.model.kernel import correlation_length, gaussian_kernel
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.state import State
from uvms_adaptive_dynamics.model.term_sets.link_drag import strip_drag
from uvms_adaptive_dynamics.model.thrust_curve import ThrustCurve

CONFIG = Config().with_values({"excitation.starts": 2, "excitation.iterations": 3,
                               "excitation.harmonics": 3, "excitation.draws": 6})
ROBOT = RobotModel.from_config(CONFIG)
PRIOR = prior_from_config(CONFIG, ROBOT)
NOISE = ROBOT.default_noise(CONFIG)
LIMITS = MotionLimits.from_config(CONFIG, ROBOT, ThrustCurve.t200())
FREE = np.ones(ROBOT.table.size, bool)
T = 16.0


def designed(move=("*",), free=FREE, **more):
    return design(ROBOT, PRIOR, NOISE, free, move, LIMITS, T, 1, config=CONFIG, **more)


@cache
def whole():
    """A design that moves everything. (Not at import: each process of a run collects all tests.)"""
    return designed()


def objective(moves=np.ones(10, bool)):
    knowledge = Knowledge(ROBOT, PRIOR, FREE, CONFIG)
    draws = knowledge.draws(LIMITS, CONFIG, 1)
    tight = LIMITS.with_margins(CONFIG, T)
    return Objective(ROBOT, knowledge, draws, NOISE, tight, moves,
                     tight.middle * (np.arange(10) >= 6), T, (0.1, 0.4), CONFIG)


def test_the_derivative_is_that_of_the_value():
    """The gradient matches central differences in random directions, for small motions (information
    only) and large ones (every penalty)."""
    rng, function = np.random.default_rng(0), objective()
    function.use(Tones(rng.uniform(0.1, 0.4, (10, 2)), np.full((10, 2), 0.3)))
    for size in (0.3, 2.0):
        x = size * rng.standard_normal(sum(function.size()))
        way = rng.standard_normal(x.size)
        _, slope = function.value(x)
        h = 1e-5
        difference = (function.value(x + h * way)[0] - function.value(x - h * way)[0]) / (2 * h)
        # tolerance: joints that come to rest within the difference, and one-sided steps
        assert slope @ way == pytest.approx(difference, rel=2e-3)


def test_no_limit_is_exceeded_for_what_is_believed():
    """All drawn parameters keep the limits less margins at twenty instants a second."""
    draws = Knowledge(ROBOT, PRIOR, FREE, CONFIG).draws(LIMITS, CONFIG, 1)
    uses = largest_uses(whole(), ROBOT, LIMITS.with_margins(CONFIG, T), draws)
    assert len(uses) == 4 + 3 + 4 + 4 + 8 + 4 and max(uses.values()) <= 1.0
    # and the motion is not trivial
    assert max(uses.values()) > 0.7 and uses["tilt"] > 0.05 and uses["axis_d speed"] > 0.05


def test_what_may_be_true_is_physical():
    """Draws stay within the bounds of P after conditioning on the efforts at rest: a joint with
    negative friction would need more effort the slower it is, and allow no motion."""
    draws = Knowledge(ROBOT, PRIOR, FREE, CONFIG).draws(LIMITS, CONFIG, 1)
    physical = PhysicalSet(ROBOT.table, CONFIG.estimation)
    assert (draws >= physical.lower).all() and (draws <= physical.upper).all()
    friction = draws[1:, ROBOT.table.match(["axis_*.fs"])]
    assert friction.shape == (6, 4) and friction.std(axis=0).min() > 0


def test_the_same_seed_is_the_same_motion():
    """The search ends by iterations, not time; another seed gives another motion."""
    again = designed()
    np.testing.assert_array_equal(again.sine, whole().sine)
    np.testing.assert_array_equal(again.promise.promised, whole().promise.promised)
    other = design(ROBOT, PRIOR, NOISE, FREE, ["*"], LIMITS, T, 2, config=CONFIG)
    assert np.abs(other.sine - whole().sine).max() > 1e-3


def test_seconds_end_the_search_with_a_motion_that_keeps_its_limits():
    """Holds even if time suffices for only one random motion."""
    hurried = designed(seconds=1e-3)
    assert hurried.made["stopped_by_time"] and hurried.made["evaluations"] == 1
    draws = Knowledge(ROBOT, PRIOR, FREE, CONFIG).draws(LIMITS, CONFIG, 1)
    uses = largest_uses(hurried, ROBOT, LIMITS.with_margins(CONFIG, T), draws)
    assert 0.5 < max(uses.values()) <= 1.0


def test_only_what_shall_move_moves():
    """Only channels that match the patterns move; other joints stand still in the given posture."""
    motion = designed(["yaw", "axis_d"], ROBOT.table.match(["N_*", "axis_d.*"]),
                      posture=np.array([2.0, 9.0, 1.0, 1.5]))
    still = ~np.isin(np.arange(10), [5, 7])
    assert not motion.sine[still].any() and motion.sine[[5, 7]].all()
    assert motion.posture[[0, 2, 3]].tolist() == [2.0, 1.0, 1.5] and motion.posture[1] < 4.0
    with pytest.raises(ParameterError, match="'axis_x' fits no channel"):
        moving(ROBOT, ["axis_x"])
    with pytest.raises(ParameterError, match="no parameter is free"):
        designed(free=np.zeros(ROBOT.table.size, bool))


def test_tilts_are_slow():
    """A tilt's accelerations are a small share of a motion's."""
    tilt = designed(["roll", "pitch"], ROBOT.table.match(["*gW_*", "W", "B"]), kind="tilt")
    t = np.linspace(0, T, 200)
    assert tilt.frequencies.max() <= max(CONFIG.excitation.tilt_band[1], 1 / T)
    assert np.abs(tilt.motions(t).nu_dot).max() < 0.3 * np.abs(whole().motions(t).nu_dot).max()


@pytest.mark.parametrize("base_motion", ["full", "tilt"])
def test_drag_of_the_links_is_found_for_all_instants_of_a_motion_at_once(monkeypatch, base_motion):
    """The rows are those of single instants; one call for the drag, since a call takes as long for
    one instant as for dozens."""
    robot = RobotModel.from_config(CONFIG.with_values({
        "robot.terms": ["off_axis_damping", "link_drag"], "estimation.base_motion": base_motion}))
    motion, calls = whole().motions(np.arange(0.0, T, 0.5)), []
    monkeypatch.setattr(link_geometry, "strip_drag",
                        lambda *of: calls.append(of) or strip_drag(*of))
    Y = regressors(robot, motion)[0]
    assert len(calls) == 1
    for k, rows in enumerate(Y):
        alone = rows_of(robot, State(motion.R_nb[k], motion.nu[k], motion.mu[k], motion.mu_dot[k]),
                        np.concatenate([motion.nu_dot[k], motion.mu_ddot[k]])).Y
        np.testing.assert_allclose(rows, alone, rtol=1e-12, atol=1e-18)
    assert Y[:, :, robot.table.term_slices["link_drag"]].any()


def test_promised_deviations_are_those_of_estimates():
    """Promised deviations of all free directions match, within 10 %, the scatter of a thousand
    weighted least squares estimates with a prior, from rows with low-passed white noise."""
    rng, config = np.random.default_rng(7), CONFIG.with_values({"estimation.forgetting": 1.0})
    free = ROBOT.table.match(["X_u", "Y_v", "N_r", "zgW_zbB", "axis_d.fv"])
    knowledge = Knowledge(ROBOT, PRIOR, free, config)
    frozen = np.flatnonzero(~free)
    knowledge.covariance[np.ix_(frozen, frozen)] = 0.0     # nothing but noise, in this test
    A, B = information(whole(), ROBOT, NOISE, config, knowledge)
    promise = knowledge.promise(A, B)
    kernel = gaussian_kernel(config.filter)
    assert knowledge.overlap == correlation_length(kernel)
    t = np.arange(0.0, T, config.filter.period)
    motion = whole().motions(t)
    Y = regressors(ROBOT, motion)[0][:, :, free]
    Y[:, 6:][np.abs(motion.mu_dot) < config.joint_states.rest_velocity] = 0.0
    # per unit of the noise behind the low-pass, which is self-adjoint
    passed = np.apply_along_axis(np.convolve, 0, Y, kernel, "same") / NOISE[:, None]
    twice = np.apply_along_axis(np.convolve, 0, passed, kernel, "same").reshape(-1, free.sum())
    stddev = promise.present[free]
    H = passed.reshape(-1, free.sum()).T @ passed.reshape(-1, free.sum()) + np.diag(stddev ** -2)
    noise = rng.standard_normal((1000, len(twice))) / np.sqrt(kernel @ kernel)
    estimates = np.linalg.solve(H, (noise @ twice).T + rng.standard_normal((free.sum(), 1000))
                                / stddev[:, None])
    np.testing.assert_allclose(estimates.std(axis=1) / promise.promised[free], 1.0, atol=0.12)
    assert (promise.promised[free] / promise.present[free]).min() < 0.5     # it does tell of some


def noisy_rows(noise, seconds, still):
    """(Y, tau, valid, knowledge) of a motion of a robot that differs from the mean parameters."""
    rng, kernel = np.random.default_rng(3), gaussian_kernel(CONFIG.filter)
    knowledge = Knowledge(ROBOT, PRIOR, FREE, CONFIG)
    t = np.arange(0.0, seconds, CONFIG.filter.period)
    motion = whole()
    if still:
        motion = replace(motion, sine=0 * motion.sine, cosine=0 * motion.cosine)
    Y = regressors(ROBOT, motion.motions(t))[0]
    off = knowledge.root @ rng.standard_normal(len(knowledge.root))
    white = rng.standard_normal(Y.shape[:2]) / np.sqrt(kernel @ kernel) * noise
    tau = Y @ knowledge.values + knowledge.coordinates.columns(Y) @ off + np.apply_along_axis(
        np.convolve, 0, white, kernel, "same")
    return Y, tau, np.ones(tau.shape, bool), knowledge


@pytest.mark.parametrize("still", [True, False])
def test_noise_is_measured_under_errors_of_the_parameters(still):
    """A fiftieth of the settings' noise is found despite efforts wrong by a hundred newtons, at
    rest and in motion, within a quarter, which is three standard deviations with 65 rows."""
    noise = 0.02 * NOISE
    Y, tau, valid, knowledge = noisy_rows(noise, T, still)
    assert np.abs(tau - Y @ knowledge.values).max() > 50.0
    np.testing.assert_allclose(measured_noise(Y, tau, valid, knowledge, NOISE) / noise, 1.0,
                               atol=0.27)


def test_noise_that_cannot_be_measured_stays_as_it_was():
    """A channel with masked rows keeps the assumed noise; a recording of a second is refused."""
    Y, tau, valid, knowledge = noisy_rows(0.1 * NOISE, T, True)
    valid[:, 7], tau[~valid] = False, np.nan
    found = measured_noise(Y, tau, valid, knowledge, NOISE)
    assert found[7] == NOISE[7] and (np.delete(found, 7) < 0.2 * np.delete(NOISE, 7)).all()
    with pytest.raises(ParameterError, match="too few to measure noise.*10 of a channel"):
        measured_noise(Y[:50], tau[:50], valid[:50], knowledge, NOISE)


def test_a_saved_estimate_brings_its_noise():
    """The noise of its rows takes precedence over its long-run noise, then the settings'."""
    np.testing.assert_array_equal(noise_of(PRIOR, ROBOT, CONFIG), NOISE)
    saved = replace(PRIOR, noise_stddev=2 * NOISE)
    np.testing.assert_array_equal(noise_of(saved, ROBOT, CONFIG), 2 * NOISE)
    saved = replace(saved, row_noise_stddev=3 * NOISE)
    np.testing.assert_array_equal(noise_of(saved, ROBOT, CONFIG), 3 * NOISE)


def test_frozen_parameters_keep_their_deviation_and_move_the_others():
    """Unknown frozen quadratic drag widens the estimated linear drag."""
    free = ROBOT.table.match(["X_u"])
    surge = ROBOT.table.index["X_u"]
    alone = Knowledge(ROBOT, PRIOR, free, CONFIG)
    A, B = information(whole(), ROBOT, NOISE, CONFIG, alone)
    doubtful = alone.promise(A, B)
    np.testing.assert_array_equal(doubtful.promised[~free], doubtful.present[~free])
    alone.covariance[np.ix_(~free, ~free)] = 0.0
    assert doubtful.promised[surge] > 1.2 * alone.promise(A, B).promised[surge]


def test_the_next_motion_asks_what_the_last_did_not_tell():
    """With surge drag known to a hundredth, and only it and yaw drag free, the motion spends less
    of its room on surge."""
    free = ROBOT.table.match(["X_u", "X_uu", "N_r", "N_rr"])
    stddev = np.ones(ROBOT.table.size)
    covariance = np.diag(stddev ** 2)
    first = Knowledge(ROBOT, replace(PRIOR, covariance=covariance), free, CONFIG)
    A, B = information(whole(), ROBOT, NOISE, CONFIG, first)
    known = ROBOT.table.places(["X_u", "X_uu"])
    covariance[known, known] = 1e-6
    second = Knowledge(ROBOT, replace(PRIOR, covariance=covariance), free, CONFIG)
    gains = [np.linalg.slogdet(np.eye(4) + k.root.T @ k.reduced(A) @ k.root)[1] / 2
             for k in (first, second)]
    assert gains[1] < gains[0]
    promised = second.promise(A, B)
    np.testing.assert_allclose(promised.promised[known], 1e-3, rtol=1e-2)


def test_limits_are_named_when_no_room_is_left():
    """A box smaller than its margins, a start outside the depth range, and unholdable parameters
    are refused with the name of the limit."""
    small = CONFIG.with_values({"excitation.box": [0.2, 1.0, 1.0]})
    with pytest.raises(ParameterError, match="'forward'.*excitation.box"):
        MotionLimits.from_config(small, ROBOT).with_margins(small, T)
    with pytest.raises(ParameterError, match="depth of 0.20 m"):
        LIMITS.at_depth(0.2, CONFIG)
    shallow = LIMITS.at_depth(0.7, CONFIG)
    assert shallow.low[2] == pytest.approx(-0.2) and shallow.high[2] == LIMITS.high[2]
    config = CONFIG.with_values({"excitation.rest_share": 0.9, "excitation.torque_share": 0.05})
    with pytest.raises(ParameterError, match="at rest already"):
        design(ROBOT, PRIOR, NOISE, FREE, ["*"], LIMITS, T, 1, config=config)


def test_a_place_in_doubt_leaves_less_of_the_box_and_in_the_end_no_way_to_go():
    """Doubt narrows only the horizontal box, since depth is measured."""
    doubtful = LIMITS.doubtful(0.3, CONFIG, 40.0)
    np.testing.assert_allclose(doubtful.high[:3], LIMITS.high[:3] - [0.3, 0.3, 0.0])
    np.testing.assert_allclose(doubtful.low[:3], LIMITS.low[:3] + [0.3, 0.3, 0.0])
    lost = LIMITS.doubtful(0.9, CONFIG, 40.0).with_margins(CONFIG, 40.0)
    assert lost.high[:2].tolist() == lost.low[:2].tolist() == [0.0, 0.0] and lost.high[2] > 0.0
    np.testing.assert_array_equal(LIMITS.doubtful(0.9, CONFIG, 40.0).high[3:], LIMITS.high[3:])


def test_half_the_size_is_half_of_what_is_left_for_a_wanted_motion():
    """Tilt less its margin, speeds and rates are halved."""
    limits = LIMITS
    half = limits.smaller(0.5, CONFIG).with_margins(CONFIG, 0.0)
    whole = limits.with_margins(CONFIG, 0.0)
    for name in ("tilt", "speed", "rate", "joint_speed"):
        np.testing.assert_allclose(getattr(half, name), 0.5 * getattr(whole, name))
    np.testing.assert_allclose(half.high[3:5], half.tilt)
    np.testing.assert_allclose(np.delete(half.high, [3, 4]), np.delete(whole.high, [3, 4]))
    least = limits.smaller(1e-3, CONFIG).with_margins(CONFIG, 0.0)
    assert 0.0 < least.tilt < 1e-2


def test_halfway_lies_between_the_limits_and_what_is_left():
    limits = LIMITS
    left, between = limits.with_margins(CONFIG, 0.0), limits.halfway(CONFIG)
    for name in ("low", "high", "tilt", "speed", "rate", "joint_speed"):
        np.testing.assert_allclose(getattr(between, name),
                                   0.5 * (getattr(limits, name) + getattr(left, name)))
    narrow = CONFIG.with_values({"excitation.position_margin": 5.0})    # more than there is
    assert np.all(limits.halfway(narrow).low <= limits.halfway(narrow).high)


def test_thrusters_are_mixed_as_the_settings_have_them():
    """A reversed motor has its command mirrored and pushes as strongly along its column; without a
    curve the wrench itself is limited."""
    signs = [-1.0] + [1.0] * 7
    turned = MotionLimits.from_config(CONFIG.with_values({"thrusters.signs": signs}), ROBOT,
                                      ThrustCurve.t200())
    np.testing.assert_array_equal(turned.thrust_low, LIMITS.thrust_low)
    np.testing.assert_array_equal(turned.thrust_high, LIMITS.thrust_high)
    plain = MotionLimits.from_config(CONFIG, ROBOT)
    uses = plain.effort_uses(np.concatenate([wrench_limits(CONFIG), plain.torque]))
    np.testing.assert_allclose(uses, 1.0)


@pytest.mark.parametrize("low, high", [(-np.inf, 1.0), (-1.0, np.inf), (-np.inf, np.inf)])
def test_a_joint_keeps_the_one_end_that_it_has(low, high):
    limits = replace(LIMITS, low=LIMITS.low.copy(), high=LIMITS.high.copy())
    limits.low[6], limits.high[6] = low, high
    motion = design(ROBOT, PRIOR, NOISE, FREE, ["axis_e"], limits, T, 1, config=CONFIG)
    wanted = motion.coordinates_at(np.arange(0.0, T, 0.05))[0][:, 6]
    assert low < wanted.min() < wanted.max() < high
    ends = limits.middle[6] + limits.reach[6] * np.array([-1, 1])
    assert ends[1] - ends[0] == pytest.approx(2 * np.pi)
    assert ends[0] >= low - 1e-9 and ends[1] <= high + 1e-9


def test_joints_with_names_of_the_vehicle_s_limits_have_their_own():
    """A pan-tilt unit's 'tilt', a base's 'yaw': each keeps its range."""
    value = np.zeros((1, 10))
    value[0, 6:] = LIMITS.middle[6:] + np.array([0.5, -2.0, 0.0, 0.0]) * LIMITS.reach[6:]
    motion = desired_motion(value, 0 * value, 0 * value)
    uses = replace(LIMITS, joints=("yaw", "tilt", "speed", "axis_b")).motion_uses(value, motion)
    assert uses["yaw range"] == pytest.approx(0.5) and uses["tilt range"] == pytest.approx(2.0)
    assert uses["yaw"] == uses["tilt"] == uses["speed"] == pytest.approx(0.0)


def test_what_is_not_commanded_stays_where_it_is():
    """A parked arm keeps its posture; a stage of the parked arm alone is refused."""
    config = CONFIG.with_values({"identification.joint_output": "none"})
    known = replace(PRIOR, noise_stddev=NOISE)
    posture = (1.3, 0.3, 0.3, 0.6)
    whole_robot = Request(StageView("all", "all", ("*",)), 1, posture=posture)
    motion = guided(config, ROBOT, LIMITS, known, FREE, whole_robot)
    assert motion.posture == pytest.approx(posture)
    assert np.abs(motion.sine[:6]).any(axis=1).all() and not motion.sine[6:].any()
    with pytest.raises(ParameterError, match="'the arm' moves only axis_\\*, which is not comm"):
        guided(config, ROBOT, LIMITS, known, FREE, Request(
            StageView("arm", "the arm", ("axis_*",)), 1, posture=posture))


def test_a_joint_without_a_speed_is_refused():
    """The error names the joint and the setting."""
    arm = RobotModel.from_config(CONFIG)
    arm.arm.speed_limits = np.array([0.4, 0.0, 0.5, 0.9])
    with pytest.raises(RobotError, match="'axis_d' has no speed limit"):
        MotionLimits.from_config(CONFIG, arm)


@pytest.mark.parametrize("changes", [
    {"robot.vehicle": False, "robot.joints": ["axis_e", "axis_d"],
     "robot.mount_xyz": [0.0, 0.0, 0.0]},
    {"robot.joints": []}])
def test_arms_on_a_base_and_vehicles_without_an_arm(changes):
    """Only existing coordinates move and are limited; the promise covers the robot's parameters."""
    config = CONFIG.with_values(changes)
    robot = RobotModel.from_config(config)
    limits = MotionLimits.from_config(config, robot, ThrustCurve.t200())
    prior = prior_from_config(config, robot)
    motion = design(robot, prior, robot.default_noise(config), np.ones(robot.table.size, bool),
                    ["*"], limits, T, 1, config=config)
    moved = np.abs(motion.sine).any(axis=1)
    assert moved.tolist() == [robot.vehicle] * 6 + [True] * len(robot.joints)
    uses = largest_uses(motion, robot, limits.with_margins(config, T), prior.values[None])
    assert 0.1 < max(uses.values()) <= 1.0
    assert motion.promise.names == robot.table.names
    assert (motion.promise.promised < 0.5 * motion.promise.present).any()
