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

"""The pilot holds, follows and stops; the guide takes it from stage to stage."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.allocation import wrench_limits
from uvms_adaptive_dynamics.control.excitation.trajectory import Trajectory
from uvms_adaptive_dynamics.control.guide import (
    HELD_BACK,
    SMALLER,
    SMALLEST_SIZE,
    Guide,
    StageView,
)
from uvms_adaptive_dynamics.control.motion_guard import Cause
from uvms_adaptive_dynamics.control.pilot import SETTLE, Pilot
from uvms_adaptive_dynamics.control.state_filter import MotionState
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.model.thrust_curve import ThrustCurve

CONFIG, PERIOD = Config(), 0.02
MODEL = RobotModel.from_config(CONFIG)
PRIOR = prior_from_config(CONFIG, MODEL)
MU = np.array([3.0, 1.7, 1.7, 2.8])
HEADING = 0.8
STOP = Cause("abort_topic", "a message")
STAGE = StageView("arm", "the arm", ("axis_b",))


def pilot(**settings):
    config = CONFIG.with_values({f"identification.{k}": v for k, v in settings.items()})
    return Pilot(config, MODEL, PRIOR, ThrustCurve.t200(), None, PERIOD)


def state(position=(1.0, 2.0, 5.0), heading=HEADING, mu=MU):
    return MotionState(np.array(position), from_rpy(0.0, 0.0, heading), np.zeros(6), np.array(mu),
                       np.zeros(4))


def trajectory(duration=10.0):
    """A motion half a metre forward and back, together with the last joint."""
    sine = np.zeros((10, 1))
    sine[0], sine[9] = 0.5, 0.3
    centre = np.concatenate([np.zeros(6), MU + [0.0, 0.0, 0.0, 0.2]])
    return Trajectory(MODEL.joints, duration, 2.0, centre, np.full((10, 1), 0.1), sine,
                      np.zeros((10, 1)))


def test_nothing_goes_out_before_it_is_armed():
    assert pilot().commands(0.0, state()) is None


def test_armed_it_holds_where_it_is_and_pushes_back():
    """No error gives no command; half a metre too far north gives a push to the south, in body
    axes."""
    one = pilot()
    one.arm(0.0, state())
    still = one.commands(1.0, state())
    np.testing.assert_allclose(still.wrench, 0.0, atol=1e-6)
    pushed = one.commands(1.1, state((1.5, 2.0, 5.0)))
    south = from_rpy(0.0, 0.0, HEADING) @ pushed.wrench[:3]
    assert south[0] < -10.0 and abs(south[1]) < 0.2 * abs(south[0])
    assert one.moved(state((1.5, 2.0, 5.0))) == pytest.approx(
        from_rpy(0, 0, HEADING).T @ [0.5, 0, 0])


def test_the_place_is_in_doubt_by_what_the_dvl_s_noise_has_moved_it_since_it_was_armed():
    """The doubt is two standard deviations of a random walk, extrapolated ahead."""
    one, before = pilot(), state()._replace(place_variance=0.3, place_growth=0.01)
    assert one.doubt(before) == 0.0
    one.arm(0.0, before)
    later = before._replace(place_variance=0.34)
    assert one.doubt(later) == pytest.approx(2 * 0.04 ** 0.5)
    assert one.doubt(later, 5.0) == pytest.approx(2 * 0.09 ** 0.5)


def test_a_vehicle_that_may_drift_is_not_pushed_back_but_held_at_depth():
    one = pilot(hold="depth_heading")
    one.arm(0.0, state())
    given = one.commands(1.0, state((9.0, 9.0, 5.3)))
    np.testing.assert_allclose(given.wrench[:2], 0.0, atol=1e-3)
    assert given.wrench[2] < -10.0


def test_commands_come_in_slowly():
    """At the moment of arming the commands are zero, whatever the error."""
    one = pilot()
    one.arm(0.0, state())
    sizes = [np.abs(one.commands(t, state((1.1, 2.0, 5.0))).wrench).max()
             for t in np.arange(0.0, 0.6, PERIOD)]
    assert sizes[0] == 0.0 and np.all(np.diff(sizes) > 0)


def test_a_trajectory_is_flown_about_the_station_and_ends_there():
    """The arm moves to the start; then the motion is flown, rotated by the heading, back to rest.
    """
    one, flown = pilot(), trajectory()
    one.arm(0.0, state())
    one.follow(5.0, flown)
    end = 5.0 + one.time_left(5.0)
    assert one.following(end - 0.1) and not one.following(end)
    start = end - flown.duration
    assert start > 5.0 + SETTLE
    np.testing.assert_allclose(one.wanted(start).mu, flown.posture, atol=1e-9)
    for t in (0.0, 2.6, 7.3):
        wanted, own = one.wanted(start + t), flown.at(t)
        np.testing.assert_allclose(wanted.position, [1.0, 2.0, 5.0]
                                   + from_rpy(0, 0, HEADING) @ own.position, atol=1e-9)
        np.testing.assert_allclose(wanted.nu, own.nu, atol=1e-9)
    np.testing.assert_allclose(one.wanted(end + 9.0).position, [1.0, 2.0, 5.0], atol=1e-9)
    np.testing.assert_allclose(one.wanted(end + 9.0).mu, flown.posture, atol=1e-9)


def test_a_wanted_motion_never_jumps():
    """From holding through approach and motion to holding, no step exceeds the joints' speed."""
    one = pilot()
    one.arm(0.0, state())
    one.follow(1.0, trajectory())
    t = np.arange(0.9, 16.0, 0.01)
    wanted = [one.wanted(each) for each in t]
    speed = np.abs(np.diff([each.mu for each in wanted], axis=0)) / 0.01
    assert np.all(speed <= MODEL.arm.speed_limits + 1e-6)
    assert np.linalg.norm(np.diff([w.position for w in wanted], axis=0), axis=1).max() < 0.01


def test_a_motion_that_is_broken_off_fades_to_rest_at_the_station():
    """Pose, rate and acceleration do not jump; it is at rest within three ramps."""
    one, flown = pilot(), trajectory(30.0)
    one.arm(0.0, state())
    assert not one.break_off(0.5)                       # nothing is flown
    one.follow(1.0, flown)
    start = 1.0 + one.time_left(1.0) - flown.duration
    assert not one.break_off(start - 0.1)               # on its way to where it starts
    at = start + 12.3
    before = one.wanted(at)
    assert one.break_off(at) and one.broken_off == 1
    for was, now in zip(before, one.wanted(at)):
        np.testing.assert_allclose(now, was, atol=1e-9)
    assert not one.break_off(at + 0.1)                  # it ends already
    left = one.time_left(at)
    assert flown.ramp <= left <= 3 * flown.ramp
    end = one.wanted(at + left)
    np.testing.assert_allclose(end.position, [1.0, 2.0, 5.0], atol=1e-9)
    np.testing.assert_allclose(end.nu, 0.0, atol=1e-9)
    np.testing.assert_allclose(end.mu, flown.posture, atol=1e-9)
    assert not one.following(at + left)


def test_a_motion_is_held_back_by_the_effort_that_holds_it_at_its_start():
    """The holding effort, the mean of the last second, is known just before the motion begins; the
    pilot then stays there."""
    one, flown = pilot(), trajectory()
    one.arm(0.0, state())
    one.follow(1.0, flown)
    start = 1.0 + one.time_left(1.0) - flown.duration
    sagging = state(mu=flown.posture - [0.0, 0.05, 0.0, 0.0])
    for t in np.arange(1.0, start - 0.5 * PERIOD, PERIOD):
        assert one.held(t) is None or t > start - 0.2 * SETTLE
        last = one.commands(t, sagging)
    held = one.held(t)
    assert held.shape == (10,) and 0.0 < held[7] <= last.joint_torque[1] + 1e-9
    assert one.held(start) is None
    one.hold_back(t)
    assert one.held_back == 1 and not one.following(t) and one.trajectory is None
    np.testing.assert_allclose(one.wanted(start + 5.0).mu, flown.posture, atol=1e-9)


def test_the_guide_asks_for_another_motion_and_gives_up_after_some():
    """The next motion has the same size and uses present knowledge; a motion flown in between
    resets the count."""
    one = pilot()
    one.arm(0.0, state())
    guide, t = Guide(one, 3.0), 0.0

    def asked_and_begun(t):
        asked = guide.next(t, STAGE)
        guide.designed(trajectory())
        guide.next(t, STAGE)
        return asked
    for _ in range(HELD_BACK - 1):
        assert asked_and_begun(t).size == SMALLER
        one.hold_back(t)
    asked_and_begun(t)
    t += one.time_left(t)
    assert guide.flown == ["arm"]
    for k in range(HELD_BACK):
        assert asked_and_begun(t).number == HELD_BACK + 1 + k
        one.hold_back(t)
    assert guide.next(t, STAGE).code == "overloaded" and guide.flown == ["arm"]


@pytest.mark.parametrize("ramp", [0.1, 0.5])
def test_a_stop_is_a_straight_line_to_neutral(ramp):
    """The ramp uses the last commands and no state; the pilot stays at neutral and never arms
    itself."""
    one = pilot(ramp=ramp)
    one.arm(0.0, state())
    before = one.commands(1.0, state((1.3, 2.0, 5.0), mu=MU + 0.05))
    one.stop(STOP)
    steps = round(ramp / PERIOD)
    for k in range(1, steps + 20):
        given = one.commands(1.0 + k * PERIOD, None)
        left = max(1.0 - k / steps, 0.0)
        np.testing.assert_allclose(given.joint_torque, left * before.joint_torque, atol=1e-9)
        np.testing.assert_allclose(given.wrench, left * before.wrench, atol=1e-6)
        assert given.neutral == (left < 1e-9)
    assert np.all(given.pwm == 1500.0)
    assert not one.armed and one.cause is STOP
    one.stop(Cause("other", "later"))
    assert one.cause is STOP


def test_speed_set_points_stop_in_a_straight_line_too():
    one = pilot(joint_output="velocity")
    one.arm(0.0, state())
    one.follow(0.0, trajectory())
    t = 0.0
    while abs(before := one.commands(t, state()).mu_dot[3]) < 0.1:
        t += PERIOD
    one.stop(STOP)
    after = [one.commands(t, None).mu_dot[3] for _ in range(round(0.5 / PERIOD) + 5)]
    assert np.diff([before, *after[:25]]) == pytest.approx(np.full(25, -before / 25))
    assert after[24:] == [0.0] * 6


def test_a_clock_that_jumps_back_does_not_hold_up_the_stop():
    one = pilot(ramp=0.1)
    one.arm(100.0, state())
    one.commands(101.0, state((1.3, 2.0, 5.0)))
    one.stop(STOP)
    assert [one.commands(0.0, None).neutral for _ in range(6)][-1]


def test_turns_count_up():
    one = pilot()
    one.arm(0.0, state(heading=3.0))
    for k, heading in enumerate(np.arange(3.0, 3.0 + 3 * np.pi, 0.3)):
        one.commands(k * PERIOD, state(heading=heading))
    assert one.turned == pytest.approx(3 * np.pi, abs=0.3)


def test_a_wrench_vehicle_gets_wrenches_within_its_limits():
    """There is no PWM; beyond the limits the wrench keeps its direction."""
    one = pilot(thruster_output="wrench")
    one.arm(0.0, state())
    given = one.commands(9.0, state((40.0, 2.0, 5.0)))
    assert given.pwm.size == 0
    assert np.all(np.abs(given.wrench) <= wrench_limits(CONFIG) + 1e-9)


def test_the_guide_asks_flies_and_asks_again_before_the_motion_ends():
    one = pilot()
    guide = Guide(one, 3.0)
    assert guide.next(0.0, STAGE) is None           # not armed
    one.arm(0.0, state())
    first = guide.next(0.0, STAGE)
    assert first.stage == STAGE and first.number == 1 and guide.designing
    assert guide.next(0.5, STAGE) is None           # it is on its way
    guide.designed(trajectory())
    assert guide.next(1.0, STAGE) is None and one.following(1.1) and guide.flown == ["arm"]
    left = one.time_left(1.0)
    assert guide.next(1.0 + left - 3.1, STAGE) is None
    second = guide.next(1.0 + left - 2.9, STAGE)
    assert second.number == 2
    guide.designed(trajectory())
    assert guide.next(1.0 + left - 1.0, STAGE) is None and len(guide.flown) == 1
    guide.next(1.1 + left, STAGE)
    assert len(guide.flown) == 2


def test_motions_grow_while_they_go_well_and_shrink_when_one_is_broken_off():
    """After a break-off the next motion has half the size of that one, whatever was asked for
    meanwhile; a design pending at a break-off is not flown."""
    one, long = pilot(), trajectory(30.0)
    one.arm(0.0, state())
    guide = Guide(one, 3.0)
    assert guide.next(0.0, STAGE).size == SMALLER
    guide.designed(long)
    guide.next(0.0, STAGE)
    end = one.time_left(0.0)
    asked = guide.next(end - 2.9, STAGE)
    assert asked.number == 2 and asked.size == 1.0 and one.break_off(end - 2.5)
    assert guide.next(end - 2.5, STAGE) is None         # the design on its way comes first
    guide.designed(long)
    asked = guide.next(end - 2.0, STAGE)
    assert asked.size == SMALLER ** 2 and asked.number == 3
    guide.designed(long)
    assert guide.next(end + 5.0, STAGE) is None and len(guide.flown) == 2
    late = end + 5.0 + one.time_left(end + 5.0) - 1.0
    assert guide.next(late, STAGE).size == asked.size / SMALLER


def test_a_design_that_a_break_off_has_overtaken_may_fail():
    one = pilot()
    one.arm(0.0, state())
    guide = Guide(one, 8.0)
    first = guide.next(0.0, STAGE)
    guide.designed(trajectory(20.0))
    guide.next(0.0, STAGE)
    t = one.time_left(0.0) - 7.0
    assert guide.next(t, STAGE).number == 2
    assert one.break_off(t)
    assert guide.next(t + PERIOD, STAGE) is None and guide.failed("no room") is None
    assert guide.next(t + 2 * PERIOD, STAGE).size < first.size


def test_only_channels_that_have_not_moved_yet_start_small():
    """A stage after motions of each of its channels, none broken off, begins at full size. A motion
    on its way to its start shows nothing."""
    one, long = pilot(), trajectory(30.0)
    one.arm(0.0, state())
    guide, t = Guide(one, 3.0), 0.0
    vehicle = STAGE._replace(name="vehicle", move=("surge", "roll"))
    whole = STAGE._replace(name="whole", move=("surge", "roll", "axis_b"))
    guide.next(t, STAGE)
    guide.designed(long)
    guide.next(t, STAGE)
    assert guide.next(t, vehicle).size == SMALLER
    t += one.time_left(t) - 10.0
    guide.designed(long)
    guide.next(t, vehicle)
    assert guide.next(t + 0.1, whole).size == SMALLER      # the vehicle has not moved yet
    guide.designed(long)
    t += one.time_left(t) + 0.1
    guide.next(t, vehicle)
    guide.designed(long)
    guide.next(t, vehicle)
    t += one.time_left(t) - 10.0
    assert guide.flown[-1] == "vehicle" and guide.next(t, whole).size == 1.0


def test_a_stage_without_a_motion_is_held_still():
    one = pilot()
    one.arm(0.0, state())
    guide = Guide(one, 3.0)
    assert guide.next(0.0, replace_stage("hover", move=())) is None and not guide.designing
    assert guide.next(9.0, STAGE).number == 1


def test_motions_that_are_always_broken_off_end_it():
    one, long = pilot(), trajectory(30.0)
    one.arm(0.0, state())
    guide, t = Guide(one, 3.0), 0.0
    for _ in range(9):
        asked = guide.next(t, STAGE)
        if isinstance(asked, Cause):
            break
        guide.designed(long)
        guide.next(t, STAGE)
        t += one.time_left(t) - 20.0
        assert one.break_off(t)
        t += 10.0
    assert asked.code == "astray" and "broken off" in asked.sentence
    assert SMALLER ** (one.broken_off + 1) < SMALLEST_SIZE <= SMALLER ** one.broken_off


def test_a_motion_for_a_stage_that_is_over_is_not_flown():
    """The guide requests another motion instead."""
    one = pilot()
    one.arm(0.0, state())
    guide = Guide(one, 3.0)
    guide.next(0.0, STAGE)
    guide.designed(trajectory())
    later = replace_stage("vehicle")
    assert guide.next(1.0, later).stage.name == "vehicle" and not one.following(1.1)


def test_a_motion_of_a_stage_that_is_over_ends_early():
    """It ends as soon as the next stage's motion is designed, and does not count as broken off."""
    one, long = pilot(), trajectory(30.0)
    one.arm(0.0, state())
    guide, vehicle = Guide(one, 3.0), replace_stage("vehicle")
    guide.next(0.0, STAGE)
    guide.designed(long)
    guide.next(0.0, STAGE)
    start = one.time_left(0.0) - long.duration
    assert guide.stage_flown(start - 0.1) == "" and guide.stage_flown(start + 0.1) == "arm"
    t = start + 8.0
    assert guide.next(t, STAGE) is None
    assert guide.next(t, vehicle).stage.name == "vehicle"       # 20 s before the motion's end
    t += 2.0
    assert guide.next(t, vehicle) is None and one.time_left(t) == pytest.approx(20.0)
    guide.designed(trajectory())
    guide.next(t, vehicle)
    assert one.time_left(t) <= 3 * long.ramp and one.broken_off == 0
    assert guide.stage_flown(t) == "arm"
    t += one.time_left(t) + PERIOD
    guide.next(t, vehicle)
    assert guide.flown == ["arm", "vehicle"] and guide.stage_flown(t + 9.0) == "vehicle"


def replace_stage(name, **changes):
    return STAGE._replace(name=name, **changes)


def test_the_end_of_the_schedule_and_a_motion_that_cannot_be_end_it():
    one = pilot()
    one.arm(0.0, state())
    guide = Guide(one, 3.0)
    assert guide.next(0.0, replace_stage("arm", complete=True)).code == "done"
    guide.next(0.0, STAGE)
    cause = guide.failed("no room")
    assert cause.code == "no_motion" and "no room" in cause.sentence
    guide.next(0.0, STAGE)
    guide.next(1.0, replace_stage("vehicle"))
    assert guide.failed("no room") is None      # its stage is over
    again = guide.next(2.0, replace_stage("vehicle"))
    assert again.stage.name == "vehicle" and again.posture == tuple(MU)
    assert replace(CONFIG).identification.move is False
