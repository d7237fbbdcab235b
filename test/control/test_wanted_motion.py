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

"""Wanted motions from messages: interpolation, axes, joint order, ends, and refusals."""
from types import SimpleNamespace as Message

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.config import Feedforward
from uvms_adaptive_dynamics.control.wanted_motion import WantedMotions
from uvms_adaptive_dynamics.errors import MessageError
from uvms_adaptive_dynamics.model.rotations import FRD_FROM_FLU, NED_FROM_ENU, from_rpy
from uvms_adaptive_dynamics.model.state import State

JOINTS = ("a", "b")
STATE = State(from_rpy(.2, -.3, 1.1), np.array([.3, -.1, .2, .1, -.2, .4]), np.zeros(2),
              np.zeros(2))


def vector(x):
    return Message(x=float(x[0]), y=float(x[1]), z=float(x[2]))


def six(values):
    return Message(linear=vector(values[:3]), angular=vector(values[3:]))


def time(t):
    return Message(sec=int(t // 1), nanosec=int(round(t % 1 * 1e9)))


def trajectory(points, stamp=0.0, **more):
    """A trajectory message from points (time, velocities, accelerations)."""
    return Message(header=Message(stamp=time(stamp)), points=[
        Message(time_from_start=time(t), velocities=v, accelerations=a) for t, v, a in points],
        **more)


def vehicle(points, stamp=0.0):
    return trajectory([(t, [] if v is None else [six(v)], [] if a is None else [six(a)])
                       for t, v, a in points], stamp)


def wanted(**settings):
    return WantedMotions(JOINTS, Feedforward(**settings))


ONE, TWO = np.arange(1., 7.), np.array([3., 1., -2., 0., 2., 5.])


def test_points_are_interpolated_and_end():
    """Points are interpolated linearly; before and after them no motion is in force."""
    motions = wanted(axes="body_frd")
    motions.add_vehicle_trajectory(vehicle([(1, ONE, TWO), (3, TWO, ONE)], stamp=100.0), 5.0)
    got = motions.at(102.5, STATE)
    np.testing.assert_allclose(got.nu_dot, .25 * TWO + .75 * ONE)
    np.testing.assert_allclose(got.nu, .25 * ONE + .75 * TWO)
    assert got.given and got.mu_dot is None and not got.mu_ddot.any()
    for t in (100.9, 103.1):
        after = motions.at(t, STATE)
        assert not after.given and after.nu is None and not after.nu_dot.any()


def test_a_single_point_holds_for_its_time():
    """A point as a controller sends it every period; without a timestamp it holds from reception.
    """
    motions = wanted(axes="body_frd", motion_timeout=.5)
    motions.add_vehicle_trajectory(vehicle([(0, None, ONE)]), 5.0)
    np.testing.assert_allclose(motions.at(5.4, STATE).nu_dot, ONE)
    assert not motions.at(5.6, STATE).given and not motions.at(4.9, STATE).given


def test_a_motion_stays_in_force_until_the_next_begins():
    """As of a planner that replans with stamps ahead, and one that streams points ahead of time;
    what is received last replaces what it meets."""
    motions = wanted(axes="body_frd", motion_timeout=.5)
    motions.add_vehicle_trajectory(vehicle([(0, None, ONE), (9, None, ONE)], stamp=5.0), 5.0)
    motions.add_vehicle_trajectory(vehicle([(0, None, TWO), (1, None, TWO)], stamp=6.0), 5.5)
    np.testing.assert_allclose(motions.at(5.9, STATE).nu_dot, ONE)
    np.testing.assert_allclose(motions.at(6.1, STATE).nu_dot, TWO)
    assert not motions.at(7.1, STATE).given     # the second has replaced the first
    motions.add_vehicle_acceleration(Message(accel=six(ONE)), 5.6)
    np.testing.assert_allclose(motions.at(6.05, STATE).nu_dot, ONE)
    for k in range(300):
        motions.add_vehicle_trajectory(vehicle([(.05, None, k * ONE)], stamp=8 + .01 * k),
                                       8 + .01 * k)
    np.testing.assert_allclose(motions.at(10.991, STATE).nu_dot, 294 * ONE)


def test_a_motion_of_another_time_is_forgotten():
    """Or it would act again when a clock that was set back gets there."""
    motions = wanted()
    motions.add_vehicle_trajectory(vehicle([(0, None, ONE), (60, None, ONE)], stamp=100.0), 100.0)
    assert motions.at(130.0, STATE).given
    motions.forget()
    assert not motions.at(130.0, STATE).given and motions.begins_in(40.0) == 0.0


def test_velocities_alone_are_differentiated():
    """For quadratic velocities the acceleration at the middle point is exact."""
    motions = wanted(axes="body_frd")
    motions.add_vehicle_trajectory(
        vehicle([(t, ONE * t ** 2, None) for t in (0, 1, 2)], stamp=10.0), 0.0)
    np.testing.assert_allclose(motions.at(11.0, STATE).nu_dot, 2 * ONE)


def test_axes_are_turned():
    """Covers body FLU and world axes; the derivative of R^T v is checked by differences."""
    flu = wanted()
    flu.add_vehicle_acceleration(Message(accel=six(ONE)), 1.0)
    np.testing.assert_allclose(flu.at(1.1, STATE).nu_dot,
                               np.concatenate([FRD_FROM_FLU @ ONE[:3], FRD_FROM_FLU @ ONE[3:]]))
    h, w = 1e-6, STATE.R_nb @ STATE.nu[3:]
    velocity, acceleration = STATE.R_nb @ STATE.nu[:3], np.array([.5, -.4, .3])

    def body(t):
        turn = np.eye(3) + t * np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return (turn @ STATE.R_nb).T @ (velocity + t * acceleration)
    for axes, flip in (("world_ned", np.eye(3)), ("world_enu", NED_FROM_ENU)):
        motions = wanted(axes=axes)
        motions.add_vehicle_acceleration(
            Message(accel=six(np.concatenate([flip @ acceleration, np.zeros(3)]))), 1.0)
        np.testing.assert_allclose(motions.at(1.0, STATE).nu_dot[:3],
                                   (body(h) - body(-h)) / (2 * h), atol=1e-8)
        motions.add_vehicle_trajectory(vehicle(
            [(0, np.concatenate([flip @ velocity, flip @ w]), np.zeros(6))], 1.0), 1.0)
        np.testing.assert_allclose(motions.at(1.0, STATE).nu, STATE.nu, atol=1e-12)


def test_joints_come_in_any_order():
    motions = wanted()
    motions.add_arm_trajectory(trajectory([(0, [9, 2, 1], [9, 4, 3])],
                                          joint_names=["c", "b", "a"]), 1.0)
    got = motions.at(1.0, STATE)
    assert got.mu_dot.tolist() == [1, 2] and got.mu_ddot.tolist() == [3, 4]


@pytest.mark.parametrize("add, part", [
    (lambda m: m.add_vehicle_trajectory(vehicle([]), 1.0), "got 0 points"),
    (lambda m: m.add_vehicle_trajectory(vehicle([(1, ONE, ONE), (1, ONE, ONE)]), 1.0),
     "increasing"),
    (lambda m: m.add_vehicle_trajectory(vehicle([(0, ONE, None)]), 1.0), "no accelerations"),
    (lambda m: m.add_vehicle_trajectory(vehicle([(0, None, ONE * np.nan)]), 1.0), "not finite"),
    (lambda m: m.add_vehicle_trajectory(Message(), 1.0), "lacks a field"),
    (lambda m: m.add_vehicle_acceleration(Message(accel=six(ONE * np.inf)), 1.0), "not finite"),
    (lambda m: m.add_vehicle_acceleration(Message(), 1.0), "vehicle_acceleration"),
    (lambda m: m.add_arm_trajectory(trajectory([], joint_names=["a"]), 1.0), "'b' is missing"),
    (lambda m: m.add_arm_trajectory(trajectory([(0, [], [1.0])], joint_names=["a", "b"]), 1.0),
     "has 1 accelerations, expected 2")])
def test_what_is_no_motion_is_refused_and_changes_nothing(add, part):
    motions = wanted(axes="body_frd")
    motions.add_vehicle_acceleration(Message(accel=six(ONE)), 1.0)
    with pytest.raises(MessageError, match=part):
        add(motions)
    np.testing.assert_allclose(motions.at(1.0, STATE).nu_dot, ONE)


FLOATS = st.one_of(st.floats(), st.sampled_from([1e308, -1e308]), st.floats(-10, 10))


@given(st.lists(st.tuples(st.floats(0, 1e9), FLOATS, FLOATS), max_size=4),
       st.sampled_from(["both", "velocities", "accelerations"]), st.floats(0, 1e9))
def test_any_trajectory_is_refused_or_gives_a_finite_motion(points, fields, t):
    """Holds for arbitrary content, also if differences overflow."""
    motions = wanted(axes="body_frd")
    message = vehicle([(max(at, 0.0), None if fields == "accelerations" else np.full(6, v),
                        None if fields == "velocities" else np.full(6, a))
                       for at, v, a in points], 1.0)
    with np.errstate(all="ignore"):
        try:
            motions.add_vehicle_trajectory(message, 1.0)
        except MessageError:
            return
        got = motions.at(t, STATE)
    assert np.isfinite(got.nu_dot).all() and (got.nu is None or np.isfinite(got.nu).all())


@pytest.mark.parametrize("axes, frame, contradicts", [
    ("body_flu", "map", True), ("body_frd", "/boat/odom_ned", True),
    ("world_enu", "base_link", True), ("body_flu", "", False), ("body_flu", "base_link", False),
    ("world_ned", "world", False),
    ("body_flu", "odometer_link", False)])
def test_a_frame_that_contradicts_the_axes_is_named(axes, frame, contradicts):
    """The axes decide; a set-point in another frame would point elsewhere without a word."""
    motions = wanted(axes=axes)
    for add, message in (
            (motions.add_vehicle_trajectory, vehicle([(0.0, None, np.ones(6))])),
            (motions.add_vehicle_acceleration, Message(header=Message(), accel=six(np.ones(6))))):
        message.header.frame_id = frame
        add(message, 1.0)
        assert bool(motions.doubt) == contradicts
        assert not contradicts or (frame in motions.doubt and axes in motions.doubt)
    message.header.frame_id = ""
    motions.add_vehicle_acceleration(message, 2.0)
    assert not motions.doubt


def test_a_motion_that_ended_before_it_came_is_refused():
    """Such as a late or out-of-order message, or one by another clock: it replaces nothing."""
    motions = wanted()
    motions.add_vehicle_trajectory(vehicle([(0.0, None, np.ones(6))], stamp=100.0), 100.0)
    for stamp, points in ((90.0, [(0.0, None, np.zeros(6))]),
                          (97.0, [(0.0, None, np.zeros(6)), (2.0, None, np.zeros(6))])):
        with pytest.raises(MessageError, match=r"ended .* s before it came"):
            motions.add_vehicle_trajectory(vehicle(points, stamp), 100.1)
    with pytest.raises(MessageError, match="arm_trajectory: the motion ended 9.5 s before"):
        motions.add_arm_trajectory(trajectory([(0.0, [], [1.0, 1.0])], 90.0,
                                              joint_names=list(JOINTS)), 100.0)
    assert motions.at(100.2, STATE).given


def test_a_motion_by_a_clock_ahead_is_told_by_when_it_begins():
    """In simulated time, a stamp of the system's clock lies fifty years ahead."""
    motions = wanted()
    assert motions.begins_in(10.0) == 0.0
    motions.add_vehicle_trajectory(vehicle([(0.0, None, np.ones(6))], stamp=1.7e9), 10.0)
    assert not motions.at(10.0, STATE).given
    assert motions.begins_in(10.0) == pytest.approx(1.7e9 - 10.0)
