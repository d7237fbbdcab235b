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

"""The motion guard: every cause to stop, alone and at its limit."""
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.allocation import wrench_limits
from uvms_adaptive_dynamics.control.desired_motion import desired_motion
from uvms_adaptive_dynamics.control.excitation.limits import MotionLimits
from uvms_adaptive_dynamics.control.motion_guard import LOW_FOR, GuardView, MotionGuard
from uvms_adaptive_dynamics.control.state_filter import MotionState
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy

CONFIG = Config().with_values({"identification.heartbeat": 0.5, "battery.enabled": True,
                               "identification.least_voltage": 13.2})
SET, EXC = CONFIG.identification, CONFIG.excitation
FAST = SET.overspeed
MODEL = RobotModel.from_config(CONFIG)
LIMITS = MotionLimits.from_config(CONFIG, MODEL)
MU = np.array([3.0, 1.7, 1.7, 2.8])
POSE = np.concatenate([[0.0, 0.0, 5.0, 0.0, 0.0, 0.3], MU])
WANTED = desired_motion(POSE, np.zeros(10), np.zeros(10))
STATE = MotionState(np.array([0.0, 0.0, 5.0]), WANTED.R_nb, np.zeros(6), MU, np.zeros(4))
GOOD = GuardView(STATE, {"imu": 0.0, "dvl": 0.0, "joint_states": 0.0, "depth": 0.0},
            {"/thruster_input": 1, "/joint_effort_input": 1}, {"/thruster_input": []}, WANTED,
            np.zeros(3), 0.0, 5.0, 16.0, 0.1, "learning", 0.1, 10.0)


def guard():
    return MotionGuard(CONFIG, LIMITS)


def codes(view, t=0.0, of=None):
    return [cause.code for cause in (of or guard()).causes(t, view)]


def state(**changes):
    return replace(GOOD, state=STATE._replace(**changes))


def moved(k, by):
    return replace(GOOD, moved=by * np.eye(3)[k])


def silent(role, age):
    return replace(GOOD, ages={**GOOD.ages, role: age})


def with_joint(field, k, value):
    values = np.array(getattr(STATE, field))
    values[k] = value
    return state(**{field: values})


# cause -> a view just within the limit, and one just beyond
EDGES = {
    "stale_imu": (silent("imu", SET.imu_timeout), silent("imu", 1.01 * SET.imu_timeout)),
    "stale_dvl": (silent("dvl", SET.dvl_timeout), silent("dvl", 1.01 * SET.dvl_timeout)),
    "stale_joint_states": (silent("joint_states", SET.joints_timeout),
                           silent("joint_states", math.inf)),
    "stale_depth": (silent("depth", SET.depth_timeout), silent("depth", math.nan)),
    "no_subscriber": (GOOD, replace(GOOD, listeners={"/thruster_input": 0})),
    "other_publisher": (GOOD, replace(GOOD, other_publishers={"/thruster_input": ["/joystick"]})),
    "tilt": (replace(state(R_nb=from_rpy(0.999 * EXC.tilt, 0, 0.3)), wanted=None),
             replace(state(R_nb=from_rpy(1.001 * EXC.tilt, 0, 0.3)), wanted=None)),
    "depth": (replace(GOOD, depth=EXC.depth_range[0]),
              replace(GOOD, depth=EXC.depth_range[0] - 0.01)),
    "box": (moved(1, -0.999 * EXC.box[1]), moved(1, -1.001 * EXC.box[1])),
    "tether": (replace(GOOD, turned=-2 * math.pi * 0.999 * EXC.yaw_turns),
               replace(GOOD, turned=-2 * math.pi * 1.001 * EXC.yaw_turns)),
    "speed": (state(nu=np.array([0.999 * FAST * EXC.speed, 0, 0, 0, 0, 0])),
              state(nu=np.array([0.8, 0.8, 0, 0, 0, 0]) * FAST * EXC.speed)),
    "rate": (state(nu=np.array([0, 0, 0, 0, 0, -0.999 * FAST * EXC.rate])),
             state(nu=np.array([0, 0, 0, 0, 0, -1.001 * FAST * EXC.rate]))),
    "joint_range": (replace(with_joint("mu", 2, LIMITS.high[8]), wanted=None),
                    replace(with_joint("mu", 2, LIMITS.high[8] + 0.01), wanted=None)),
    "joint_speed": (with_joint("mu_dot", 0, -LIMITS.joint_speed[0]),
                    with_joint("mu_dot", 0, -1.01 * LIMITS.joint_speed[0])),
    "astray": (state(position=np.array([0.999 * SET.position_error, 0.0, 5.0])),
               state(position=np.array([1.001 * SET.position_error, 0.0, 5.0]))),
    "estimator_silent": (replace(GOOD, estimator_age=SET.estimator_timeout),
                         replace(GOOD, estimator_age=math.inf)),
    "estimator_failed": (GOOD, replace(GOOD, estimator_state="failed")),
    "heartbeat": (replace(GOOD, heartbeat=0.5), replace(GOOD, heartbeat=0.51)),
    "longest": (replace(GOOD, armed_for=SET.longest), replace(GOOD, armed_for=SET.longest + 1)),
    "no_state": (GOOD, replace(GOOD, state=None)),
}


def test_nothing_is_wrong_with_a_good_look():
    assert codes(GOOD) == []


@pytest.mark.parametrize("code", EDGES)
def test_a_cause_is_found_at_its_limit_and_not_before(code):
    """Each cause is found alone, with a sentence for the operator."""
    allowed, too_far = EDGES[code]
    assert codes(allowed) == []
    found = guard().causes(0.0, too_far)
    assert [cause.code for cause in found] == [code]
    assert len(found[0].sentence) > 20 and "nan" not in found[0].sentence


def test_the_battery_may_sag_for_a_moment():
    watch, low = guard(), replace(GOOD, voltage=13.0)
    assert codes(low, 0.0, watch) == codes(low, LOW_FOR - 0.1, watch) == []
    assert codes(low, LOW_FOR, watch) == ["battery"]
    assert codes(GOOD, LOW_FOR + 0.1, watch) == codes(low, LOW_FOR + 0.2, watch) == []
    assert codes(replace(GOOD, voltage=math.nan), 99.0, watch) == []


def test_a_robot_with_an_empty_or_unknown_battery_is_not_armed_and_does_not_go_on():
    """Before arming nothing excuses a low voltage, and earlier ones do not count after it."""
    watch, low = guard(), replace(GOOD, voltage=13.0)
    assert codes(low, 0.0, watch) == []
    assert codes(replace(low, armed=False), 5.0, watch) == ["battery"]
    assert codes(low, 600.0, watch) == []
    for age in (1.01 * SET.battery_timeout, math.inf):
        for armed in (True, False):
            view = replace(silent("battery", age), armed=armed)
            assert codes(view) == ["stale_battery"]
    assert codes(silent("battery", SET.battery_timeout)) == []
    without = CONFIG.with_values({"identification.least_voltage": 0.0})
    assert codes(silent("battery", math.inf), of=MotionGuard(without, LIMITS)) == []


def test_axes_without_room_have_what_holding_still_needs():
    config = CONFIG.with_values({"excitation.box": (0.0, 1.0, 1.0), "excitation.yaw_turns": 0.0})
    watch = MotionGuard(config, MotionLimits.from_config(config, MODEL))
    near, far = (share * np.array([EXC.position_margin, EXC.attitude_margin])
                 for share in (0.49, 1.01))
    view = replace(moved(0, near[0]), turned=near[1])
    assert codes(view, of=watch) == [] and watch.unsteady(view) is None
    assert codes(moved(0, far[0]), of=watch) == ["box"]
    assert codes(replace(GOOD, turned=far[1]), of=watch) == ["tether"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([c for c in EDGES if c not in ("no_state", "stale_imu")]),
                min_size=1, unique=True))
def test_all_causes_are_named_at_once(wanted):
    """Simultaneous causes are all found, except those that overwrite each other's field."""
    view, fields = GOOD, {}
    for code in wanted:
        bad = EDGES[code][1]
        changed = {name: getattr(bad, name) for name in (
            "ages", "listeners", "other_publishers", "state", "moved", "turned", "depth",
            "estimator_age", "estimator_state", "heartbeat", "armed_for")
            if getattr(bad, name) is not getattr(GOOD, name)}
        for name, value in changed.items():
            fields[name] = code
            view = replace(view, **{name: value})
    expected = set(fields.values())
    found = set(codes(view))
    if "estimator_silent" in expected:
        expected -= {"estimator_failed"}    # it says nothing at all
    assert expected - {"astray"} <= found | {"astray"} and found


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=14, max_size=14))
def test_no_number_breaks_it_and_none_that_is_not_finite_passes(values):
    """NaN never passes a limit, and no number raises."""
    with np.errstate(all="ignore"):
        view = replace(GOOD, state=STATE._replace(nu=np.array(values[:6]),
                                                  mu=np.array(values[6:10]),
                                                  mu_dot=np.array(values[10:14])))
        found = codes(view)
    assert found or np.isfinite(values).all()


def test_a_vehicle_that_may_drift_is_not_astray():
    config = Config().with_values({"identification.hold": "depth_heading"})
    away = state(position=np.array([5.0, 0.0, 5.0]))
    assert [c.code for c in MotionGuard(config, LIMITS).causes(0.0, away)] == []


@pytest.mark.parametrize("change", [
    lambda share: state(position=np.array([share * SET.position_error, 0.0, 5.0])),
    lambda share: state(R_nb=from_rpy(0.0, 0.0, 0.3 + share * SET.attitude_error)),
    lambda share: with_joint("mu", 1, MU[1] + share * SET.joint_error),
    lambda share: replace(
        state(R_nb=from_rpy(EXC.tilt - (1 - share) * EXC.attitude_margin, 0.0, 0.3)), wanted=None),
    lambda share: moved(0, LIMITS.high[0] - (1 - share) * EXC.position_margin),
])
def test_a_motion_is_unsteady_from_half_of_the_way_to_a_stop(change):
    """Holds for tracking errors and for the margins of a designed motion."""
    one = guard()
    assert one.unsteady(GOOD) is None
    assert one.unsteady(change(0.49)) is None and one.unsteady(change(0.51)) is not None
    assert codes(change(0.99)) == [] and codes(change(1.01)) != []


def test_an_unsteady_motion_says_which_limit_counted():
    said = guard().unsteady(state(position=np.array([0.55 * SET.position_error, 0.0, 5.0])))
    assert f"the limit is {0.5 * SET.position_error:g} m" in said.sentence


def test_the_box_counts_how_far_the_place_may_be_off():
    """The doubt counts forward and right, but not for the measured depth."""
    half = replace(moved(0, 0.5), doubt=0.999 * (EXC.box[0] - 0.5))
    assert codes(half) == []
    cause, = guard().causes(0.0, replace(half, doubt=1.001 * (EXC.box[0] - 0.5)))
    assert cause.code == "box" and "0.50 m ahead" in cause.sentence
    assert "give or take 0.50 m" in cause.sentence and "Arm again" in cause.sentence
    assert guard().unsteady(replace(half, doubt=EXC.box[0] - 0.5)) is None
    assert codes(replace(moved(2, 0.9 * EXC.box[2]), doubt=0.9 * min(EXC.box[:2]))) == []


def test_who_needs_too_much_at_rest_is_named():
    """A joint or thruster beyond its share of the limit is named; a joint that is commanded by
    position is skipped."""
    effort = np.zeros(10)
    effort[7] = -0.99 * EXC.torque_share * LIMITS.torque[1]
    assert guard().overloaded(effort) is None
    effort[7] = -1.01 * EXC.torque_share * LIMITS.torque[1]
    cause = guard().overloaded(effort)
    assert cause.code == "overloaded" and cause.sentence.startswith("axis_d needs 76% of its limit")
    positions = CONFIG.with_values({"identification.joint_output": "position"})
    assert MotionGuard(positions, LIMITS).overloaded(effort) is None
    pushed = np.zeros(10)
    pushed[0] = 1.01 * EXC.thrust_share * wrench_limits(CONFIG)[0]
    assert guard().overloaded(pushed).sentence.startswith("thruster 1 needs 71%")
