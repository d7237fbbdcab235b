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

"""Checks of the arm against the vehicle, and of its joints against each other: late data, a wrong
scale, a wrong zero, and no fault."""
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from analytic import AnalyticMotion, MultiSine, reordered
from campaign_cases import also

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.review import arm_exchange
from uvms_adaptive_dynamics.review.arm_check import (
    CHECKED_EVERY,
    arm_check,
    checked_period,
    rows_of,
)
from uvms_adaptive_dynamics.review.arm_exchange import likely_order, mistaken_joint, room_of
from uvms_adaptive_dynamics.review.arm_mount import mistaken_arm
from uvms_adaptive_dynamics.review.review import Seen, review
from uvms_adaptive_dynamics.signals.checks.fits import to_rpy
from uvms_adaptive_dynamics.uncertainty.added_direction import RobustFit
from uvms_adaptive_dynamics.uncertainty.thrust_scale import UNSHOWN

CONFIG = Config()
ROBOT = RobotModel.from_config(CONFIG)
PI = prior_from_config(CONFIG, ROBOT).values
PERIOD, SECONDS = CONFIG.filter.period, 22.0


@cache
def moved(lag):
    """Noise-free samples of the motion, `lag` [s] late."""
    motion = AnalyticMotion(1)
    return [motion.sample(1.0 + PERIOD * k - lag, ROBOT, PI)
            for k in range(round(SECONDS / PERIOD))]


def of_check(samples, config, robot):
    """(samples, rows) as `arm_check` takes them."""
    return samples[::CHECKED_EVERY], rows_of(samples, config, robot)


@cache
def recorded(**wrong):
    """(samples, rows) of `carried`."""
    return of_check(carried(**wrong), CONFIG, ROBOT)


@cache
def carried(lag=0.0, scale=1.0, offset=0.0, constant=0.0, change=lambda sample: sample):
    """Samples of a robot that the model knows exactly except for noise, with the arm's
    data `lag` [s] late, the effort of axis_d multiplied by `scale` and off by `constant` [N m], the
    position of axis_e off by `offset` [rad], and `change` applied to each sample."""
    rng = np.random.default_rng(1)
    samples = []
    for here, arm in zip(moved(0.0), moved(lag)):
        sample = replace(
            here, mu=arm.mu + [offset, 0, 0, 0], mu_dot=arm.mu_dot, mu_ddot=arm.mu_ddot,
            wrench=here.wrench + rng.normal(0.0, [1, 1, 1, .1, .1, .1]),
            joint_torque=(arm.joint_torque * [1, scale, 1, 1] + [0, constant, 0, 0]
                          + rng.normal(0.0, 0.02, 4)))
        sample = change(sample)
        samples.append(sample)
    return samples


@pytest.mark.parametrize("wrong, code, said", [
    ({}, None, ""),
    ({"lag": 0.12}, "joint_states.delay", "later"),
    also({"lag": -0.12}, "joint_states.delay", "earlier"),
    also({"scale": 1.3}, "joint_states.effort_scale", "axis_d"),
    also({"scale": 0.5}, "joint_states.effort_scale", "axis_d"),
    also({"scale": 4.0}, "joint_states.effort_scale", "axis_d"),
    also({"constant": 0.3}, "joint_states.effort_offset", "axis_d"),
    ({"offset": 0.2}, "joint_states.position_offset", "axis_e"),
    ({"offset": 0.6}, "joint_states.position_offset", "axis_e")])
def test_what_is_wrong_is_named_alone(wrong, code, said):
    """The number is near the truth; without a fault nothing is named."""
    samples, rows = recorded(**wrong)
    found = arm_check(samples, rows, PI, CONFIG, ROBOT).findings
    assert [one.code for one in found] == ([code] if code else [])
    if found:
        sentence = found[0].sentence
        assert said in sentence and "+-" in sentence
        number = float(sentence.partition("about ")[2].split()[0])
        assert number == pytest.approx(abs(*wrong.values()), rel=0.1 if "scale" in wrong else 0.3)


ALONE = CONFIG.with_values({"robot.vehicle": False})


@cache
def arm_alone(scale=1.0, offset=0.0):
    """Samples of the arm on a fixed base, tilted about both level axes, with the effort of
    axis_d multiplied by `scale` and the position of axis_d off by `offset` [rad]."""
    robot, rng = RobotModel.from_config(ALONE), np.random.default_rng(2)
    wave = MultiSine(rng, 4, 0.05, 0.4, np.full(4, 2.0), offset=2.0)
    samples = []
    for k in range(round(60.0 / PERIOD)):
        t = 1.0 + PERIOD * k
        still = replace(AnalyticMotion(1).sample(t, robot), nu=np.zeros(6), nu_dot=np.zeros(6),
                        R_nb=from_rpy(0.8, 0.6, 0.0), mu=wave(t), mu_dot=wave(t, 1),
                        mu_ddot=wave(t, 2))
        raw = robot.raw_rows(still)
        own = prior_from_config(ALONE, robot).values
        efforts = (raw.Y @ own + raw.tau_known) * [1, scale, 1, 1] + rng.normal(0.0, 0.01, 4)
        samples.append(replace(still, joint_torque=efforts, mu=still.mu + [0, offset, 0, 0]))
    return samples


@pytest.mark.parametrize("wrong, code, said", [
    ({}, None, ""),
    ({"scale": 0.5}, "joint_states.effort_scale", "what the other joints imply"),
    ({"offset": 0.2}, "joint_states.position_offset", "axis_d are off by about +0.")])
def test_joints_of_an_arm_alone_are_checked_against_each_other(wrong, code, said):
    """Each carries the links behind it; on a fixed base nothing was compared."""
    robot = RobotModel.from_config(ALONE)
    samples, rows = of_check(arm_alone(**wrong), ALONE, robot)
    found = arm_check(samples, rows, prior_from_config(ALONE, robot).values, ALONE, robot)
    assert [one.code for one in found.findings] == ([code] if code else [])
    assert found.thrust_scale == ""
    if code:
        assert said in found.findings[0].sentence
        assert "vehicle" not in found.findings[0].sentence


def exchanged(sample):
    """The names of axis_d and axis_c are exchanged."""
    return reordered(sample, (0, 2, 1, 3))


def mirrored(sample):
    """Position and velocity of axis_c count the other way."""
    sign = np.array([1.0, 1.0, -1.0, 1.0])
    return replace(sample, mu=sign * sample.mu + [0.0, 0.0, 3.4, 0.0],
                   mu_dot=sign * sample.mu_dot, mu_ddot=sign * sample.mu_ddot)


@pytest.mark.parametrize("change, said", [
    (exchanged, "axis_d and axis_c are exchanged"),
    (mirrored, "position and velocity of axis_c have the wrong sign")])
def test_mistaken_joints_of_an_arm_alone_are_named(change, said):
    """Where efforts are left unexplained; nothing was tried without a vehicle."""
    robot = RobotModel.from_config(ALONE)
    samples, rows = of_check([change(sample) for sample in arm_alone()], ALONE, robot)
    pi = prior_from_config(ALONE, robot).values
    seen = Seen(pi, np.full(4, 0.5), np.zeros(4), False, False, np.inf, False, [])
    found, = review(samples, rows, seen, ALONE, robot).findings
    assert said in found.sentence


@pytest.mark.parametrize("roll, pitch", [(0.2, 0.0), also(0.0, -0.2), also(-0.3, 0.2)])
@pytest.mark.parametrize("alone", [True, False])
def test_a_base_that_is_turned_from_its_setting_is_named(alone, roll, pitch):
    """With the setting that is right, nearly; a joint's zero or effort had been blamed."""
    config = ALONE if alone else CONFIG
    true = from_rpy(*config.robot.mount_rpy)
    config = config.with_values({"robot.mount_rpy": to_rpy(from_rpy(roll, pitch, 0.0) @ true)})
    arm = RobotModel.from_config(config).arm
    # (of an arm whose description came on a topic, no other can be made from the settings)
    config = config.with_values({"robot.urdf": "robot_description"})
    robot = RobotModel(config, arm)
    samples, rows = of_check(arm_alone() if alone else carried(), config, robot)
    found, = arm_check(samples, rows, prior_from_config(config, robot).values, config,
                       robot).findings
    assert found.code == "robot.mount_rpy"
    named = [float(x) for x in found.sentence.partition("set robot.mount_rpy to [")[2]
             .partition("]")[0].split(",")]
    off = from_rpy(*named).T @ true
    assert np.arccos((np.trace(off) - 1.0) / 2.0) < 0.1


def afloat(sample):
    """A float of 3 N on axis_c, which the parameters cannot represent."""
    load, wrench = ROBOT.arm.buoyancy(sample.mu, sample.R_nb, np.array([0.0, 0.0, 3.0, 0.0]),
                                      np.array([[0.0, -0.02, 0.0]] * 4))
    return replace(sample, wrench=sample.wrench + wrench, joint_torque=sample.joint_torque + load)


def across(sample):
    """Drag along an axis also turns the vehicle: its centre of pressure is 5 cm off."""
    u, v, w = sample.nu[:3] * np.abs(sample.nu[:3])
    return replace(sample, wrench=sample.wrench + 6.0 * np.array([0, 0, 0, v, -u - w, -v]))


def geared(sample):
    """The last rotor has an inertia of .03 kg m^2 behind its gears, as one of 4 N m may."""
    return replace(sample, joint_torque=sample.joint_torque + [0, 0, 0, 0.03] * sample.mu_ddot)


@pytest.mark.parametrize("change", [afloat, across, geared])
def test_what_the_model_lacks_is_no_fault_of_the_arm(change):
    """Buoyancy of the links looks like a constant on an effort, moments across the vehicle's axes
    like an arm of another weight, a rotor like an effort eight times as large."""
    samples, rows = recorded(change=change)
    assert arm_check(samples, rows, PI, CONFIG, ROBOT).findings == []


def turned_effort(sample):
    """The effort of axis_c has the wrong sign."""
    return replace(sample, joint_torque=sample.joint_torque * [1, 1, -1, 1])


@pytest.mark.parametrize("change, said", [
    also(exchanged, "shows that axis_d and axis_c are exchanged"),
    also(mirrored, "shows that position and velocity of axis_c have the wrong sign"),
    (turned_effort, "the effort of axis_c has the wrong sign; with the other one, "
     "joint_states.effort_scale is [1, 1, -1, 1]")])
def test_what_no_scale_can_mend_is_told_by_its_likelihood(change, said):
    """Joints that are exchanged or mirrored look like a wrong effort."""
    samples, rows = recorded(change=change)
    found, = arm_check(samples, rows, PI, CONFIG, ROBOT, sign_doubted=True).findings
    assert said in found.sentence


def in_order(*order):
    """A change of samples: joint j gets all readings of joint order[j]."""
    return lambda sample: reordered(sample, order)


@pytest.mark.parametrize("change, said", [
    (in_order(3, 2, 1, 0), "axis_e, axis_d, axis_c, axis_b come in another order, with position, "
     "velocity and effort; set joint_states.names to [axis_b, axis_c, axis_d, axis_e], or"),
    also(in_order(1, 2, 0, 3), "set joint_states.names to [axis_c, axis_e, axis_d, axis_b], or"),
    (exchanged, "that axis_d and axis_c are exchanged"),
    (in_order(0, 1, 2, 3), None), (turned_effort, None), (mirrored, None)])
def test_another_order_of_the_joints_is_found_and_no_other_fault(change, said):
    """All joints, or three, in another order; what is wrong with one joint alone is no order."""
    samples, _ = recorded(change=change)
    found = found_order(samples)
    assert found is None if said is None else said in found.sentence


def test_orders_that_the_rows_do_not_tell_apart_are_all_named():
    """With five times the noise, the two inner joints may be where they are."""
    rng = np.random.default_rng(0)

    def noisy(sample):
        sample = in_order(3, 2, 1, 0)(sample)
        return replace(
            sample, joint_torque=sample.joint_torque + rng.normal(0.0, 0.1, 4),
            wrench=sample.wrench + rng.normal(0.0, [2, 2, 2, .2, .2, .2]))
    samples, _ = recorded(change=noisy)
    found = found_order(samples)
    assert ("set joint_states.names to [axis_b, axis_c, axis_d, axis_e] or "
            "[axis_e, axis_c, axis_d, axis_b], or") in found.sentence


def test_efforts_keep_the_scale_of_their_joint():
    """Names that are put right give each effort the scale of its own joint."""
    scale = np.array([1.0, 2.0, 0.5, 4.0])
    samples, _ = recorded(change=lambda sample: replace(
        in_order(3, 2, 1, 0)(sample),
        joint_torque=scale * (sample.joint_torque / scale)[[3, 2, 1, 0]]))
    config = CONFIG.with_values({"joint_states.effort_scale": scale.tolist()})
    found = found_order(samples, config)
    assert "[axis_b, axis_c, axis_d, axis_e]" in found.sentence


def found_order(samples, config=CONFIG):
    """The finding on the order of the joints."""
    found = likely_order(samples, config, ROBOT, CHECKED_EVERY * PERIOD)
    return found and found.finding(config, ROBOT)


@pytest.mark.parametrize("rpy, found", [
    ((0.0, 0.0, 0.0), "[3.14, 0.00, 0.00]"), ((np.pi, 0.0, np.pi / 2), "[3.14, 0.00, 0.00]"),
    ((np.pi, 0.0, 0.0), "")])
def test_an_arm_that_is_mounted_otherwise_is_named_with_its_attitude(rpy, found):
    """A forgotten mount cost an independent vehicle a third of its arm's R^2, and nothing was said.
    Nothing is said of the right one, nor if another fault makes the rows fit badly."""
    config = CONFIG.with_values({"robot.mount_rpy": list(rpy)})
    samples, _ = recorded()
    told = mistaken_arm(samples, config, RobotModel.from_config(config), CHECKED_EVERY * PERIOD)
    said = "" if told is None else told.finding.sentence
    assert bool(said) == bool(found) and found in said.replace("-3.14", "3.14").replace("-0.", "0.")
    if told is not None:
        assert np.abs(told.values["robot.mount_rpy"]) == pytest.approx((np.pi, 0.0, 0.0), abs=1e-3)
    for change in (exchanged, turned_effort, mirrored) * (not found):
        told = mistaken_arm(recorded(change=change)[0], config, ROBOT, CHECKED_EVERY * PERIOD)
        assert told is None or told.finding.code.startswith("joint"), told


def test_joints_at_rest_are_not_exchanged_with_each_other(monkeypatch):
    """Another posture may explain what the vehicle's model lacks: an order was named of an
    independent vehicle whose arm was at rest. One joint that moves tells another order."""
    tried, real = set(), arm_exchange.reordered
    monkeypatch.setattr(arm_exchange, "reordered", lambda sample, order, scale: (
        tried.add(order), real(sample, order, scale))[1])

    def resting(moves):
        valid = np.r_[np.ones(6, bool), moves]
        return lambda sample: replace(sample, valid=sample.valid & valid)
    assert found_order(recorded(change=resting([False] * 4))[0]) is None
    assert tried == {(0, 1, 2, 3)}
    assert found_order(recorded(change=resting([True, False, False, False]))[0]) is None
    assert (0, 2, 1, 3) not in tried and (1, 0, 2, 3) in tried
    samples, rows = recorded(change=resting([False] * 4))
    assert arm_check(samples, rows, PI, CONFIG, ROBOT) == ([], UNSHOWN)


def test_no_joint_is_where_it_cannot_move(monkeypatch):
    """A torso lift of .35 m is none of the arm's joints, which turn further: a TIAGo, a fifth of
    whose efforts were wrong, was told so."""
    tried, real = set(), arm_exchange.reordered
    monkeypatch.setattr(arm_exchange, "reordered", lambda sample, order, scale: (
        tried.add(order), real(sample, order, scale))[1])
    samples, _ = recorded(change=in_order(3, 2, 1, 0))
    low, high = np.full(4, -10.0), np.full(4, 10.0)
    low[2], high[2] = 0.0, 1e-3
    config = CONFIG.with_values({"joint_states.limits_low": low.tolist(),
                                 "joint_states.limits_high": high.tolist()})
    way = np.ptp([sample.mu for sample in samples], axis=0)
    found_order(samples, config)
    assert np.argmin(way) == 2    # (it goes as far as what is published of it)
    assert len(tried) > 1 and all(order[2] == 2 for order in tried)


@pytest.mark.parametrize("from_start", [True, False])
def test_an_arm_is_judged_by_what_came_before_a_change(from_start):
    """A setting is wrong from the start. After its thruster had failed, an independent vehicle was
    told to turn its arm by 90 degrees."""
    samples, rows = recorded(change=exchanged)
    since = samples[-1].t - 0.5
    if not from_start:
        right, _ = recorded()
        since = samples[0].t + 1.0
        samples = [*(one for one in right if one.t < since),
                   *(one for one in samples if one.t >= since)]
    seen = Seen(PI, np.full(10, 0.5), np.ones(10), False, True, since, False, [])
    found = review(samples, rows, seen, CONFIG, ROBOT).findings
    assert [one.code for one in found] == ["joint_states.names"] * from_start


def later(samples, change, share):
    """The samples, the last `share` of them changed."""
    first = round((1.0 - share) * len(samples))
    return [*samples[:first], *map(change, samples[first:])]


def test_joints_are_not_exchanged_for_a_part_of_the_time(monkeypatch):
    """An independent vehicle whose thruster failed after a third of its dive was told another order
    of its joints, beyond doubt by all of its rows."""
    monkeypatch.setattr(RobustFit, "explains_more", lambda *args: True)
    right, _ = recorded()
    assert found_order(later(right, exchanged, 1.0)) is not None
    assert found_order(later(right, exchanged, 0.7)) is None


@pytest.mark.parametrize("longer", [True, False])
def test_an_arm_is_mounted_otherwise_for_longer_than_half_a_minute(longer, monkeypatch):
    """After a thruster had failed, the last half minute fitted an arm that is turned by 90 degrees,
    beyond doubt; all rows did not."""
    module = "uvms_adaptive_dynamics.review.arm_mount"
    monkeypatch.setattr(f"{module}.COMPARED_SAMPLES", 300)
    monkeypatch.setattr(f"{module}._Mounts.exceeds", lambda self, one, other: (
        longer or len(self._samples) == 300))
    config = CONFIG.with_values({"robot.mount_rpy": [0.0, 0.0, 0.0]})
    told = mistaken_arm(recorded()[0], config, RobotModel.from_config(config),
                        CHECKED_EVERY * PERIOD)
    assert (told is not None) == longer


def exchanged_by_the_tilt_alone(sample):
    """Only the efforts of roll and pitch are off, as if axis_d and axis_c were exchanged, times
    eight; the arm's own rows do not count."""
    there, here = (ROBOT.raw_rows(one).Y[3:5] @ PI for one in (exchanged(sample), sample))
    wrench, valid = sample.wrench.copy(), sample.valid.copy()
    wrench[3:5] += 8.0 * (there - here)
    valid[6:] = False
    return replace(sample, wrench=wrench, valid=valid)


def test_what_one_witness_says_alone_exchanges_no_joints():
    """Roll and pitch explain the arm's weight by the same tilt, so the model's errors are common.
    """
    samples, rows = recorded(change=exchanged_by_the_tilt_alone)
    assert arm_check(samples, rows, PI, CONFIG, ROBOT, sign_doubted=True).findings == []


def test_a_doubt_about_signs_is_no_finding_by_itself():
    """Correct rows give no finding."""
    samples, rows = recorded()
    assert arm_check(samples, rows, PI, CONFIG, ROBOT, sign_doubted=True).findings == []


def test_a_robot_without_arm_or_vehicle_has_nothing_to_check():
    """Neither does one whose arm is not coupled to the vehicle."""
    samples, rows = recorded()
    for settings in ({"robot.joints": ()}, {"estimation.coupling": "none"}):
        config = CONFIG.with_values(settings)
        assert arm_check(samples, rows, PI, config, RobotModel.from_config(config)) == ([], UNSHOWN)


def test_a_gap_breaks_the_rows_off():
    """A missing second does not spoil the result."""
    samples, rows = recorded(lag=0.12)
    holed = samples[:200] + samples[217:]
    found, = arm_check(holed, rows, PI, CONFIG, ROBOT).findings
    assert found.code == "joint_states.delay"


def without_thrust(sample):
    """The commands of a vehicle that is moved by something else, or is not armed."""
    return replace(sample, wrench=np.array([0.0, 0.0, 9.0, 0.0, 0.0, 0.0]))


def in_dead_zones(sample):
    """The thrust of a vehicle on station, a hundredth of what moved it."""
    return replace(sample, wrench=0.01 * sample.wrench)


@pytest.mark.parametrize("change", [without_thrust, in_dead_zones])
def test_a_vehicle_without_thrust_is_no_witness_of_its_arm(change):
    """Its motion without effort said that joints of a healthy arm are exchanged, or that all
    efforts are wrong and no factor corrects them."""
    samples, rows = recorded(change=change)
    assert arm_check(samples, rows, PI, CONFIG, ROBOT) == ([], UNSHOWN)
    left = np.where(np.arange(10) < 6, 1.0, 0.0)
    seen = Seen(PI, left, np.ones(10), False, False, np.inf, False, [])
    assert review(samples, rows, seen, CONFIG, ROBOT).findings == []


def test_joints_are_witnesses_of_each_other():
    """An exchange is found without the vehicle."""
    samples, _ = recorded(change=lambda sample: exchanged(without_thrust(sample)))
    said = mistaken_joint(samples, CONFIG, ROBOT, checked_period(CONFIG),
                          room_of(samples, CONFIG, ROBOT), 0.0)
    assert said is not None and said.code == "joint_states.names"


@pytest.mark.parametrize("share", [1.0, 1.15, 0.9])
def test_the_scale_of_the_thrust_is_told(share):
    """Within its interval, with all parameters free."""
    samples, rows = recorded(change=lambda sample: replace(sample, wrench=sample.wrench / share))
    said = arm_check(samples, rows, PI, CONFIG, ROBOT).thrust_scale
    factor = float(said.partition("thrust is ")[2].split()[0])
    low, high = (float(one) for one in said.partition("(95 %: ")[2].split(")")[0].split(" to "))
    assert low < share < high and factor == pytest.approx(share, rel=0.1)
    assert 1.05 < high / factor < 1.3


def with_thrust_on(axes, share):
    """A change of samples: the thrusters that act on these axes give this share."""
    given = np.where(np.isin(np.arange(6), axes), share, 1.0)
    return lambda sample: replace(sample, wrench=sample.wrench / given)


def test_thrusters_that_do_not_carry_the_arm_are_not_accused_with_those_that_do():
    """All thrust times .6 spoilt the surge of a vehicle whose vertical thrusters alone gave .6."""
    samples, rows = recorded(change=with_thrust_on([2, 3, 4], 0.6))
    found, = arm_check(samples, rows, PI, CONFIG, ROBOT).findings
    said = found.sentence
    assert found.code == "thrusters.efficiency" and "true thrust on heave, roll and pitch" in said
    low, high = (float(one) for one in said.partition("(95 %: ")[2].split(")")[0].split(" to "))
    assert low < 0.6 < high < 0.8
    assert "for thrusters 5, 6, 7 and 8 only, [1, 1, 1, 1, 0." in said
    assert "the rows of surge, sway and yaw deny" in said


def test_thrusters_beside_right_ones_that_carry_the_arm_are_named():
    """Those that push sideways give .6: the vehicle's own rows show that the two kinds disagree,
    and the arm, which the others carry, that these are right."""
    samples, rows = recorded(change=with_thrust_on([0, 1, 5], 0.6))
    found, = arm_check(samples, rows, PI, CONFIG, ROBOT).findings
    assert "for thrusters 1, 2, 3 and 4 only, [0.6" in found.sentence


def test_thrust_that_its_dead_zone_takes_away_is_no_scale():
    """Two newtons of each thruster that do not arrive, as of one that hardly turns: two independent
    vehicles on station seemed to carry their arms with half the thrust, or with 1.24 times."""
    distribute = np.linalg.pinv(ROBOT.allocation)

    def in_dead_zone(sample):
        arrives = distribute @ sample.wrench
        thrust = arrives + 2.0 * np.clip(arrives / ROBOT.low_thrust, -1.0, 1.0)
        by_thruster = ROBOT.allocation * thrust
        return replace(sample, by_thruster=by_thruster, wrench=by_thruster.sum(axis=1))

    def factor(samples):
        found = arm_check(samples, rows, PI, CONFIG, ROBOT)
        assert found.findings == []
        return float(found.thrust_scale.partition("thrust is ")[2].split()[0])
    samples, rows = recorded(change=in_dead_zone)
    assert factor(samples) == pytest.approx(1.0, abs=0.12)
    assert factor([replace(sample, by_thruster=None) for sample in samples]) < 0.75


def test_a_fault_of_the_arm_spoils_the_scale_of_the_thrust():
    """Nothing is told of it then."""
    samples, rows = recorded(scale=0.5)
    assert arm_check(samples, rows, PI, CONFIG, ROBOT).thrust_scale == ""


@pytest.mark.parametrize("denied, named", [(0.0, True), (100.0, False)])
def test_an_order_that_another_channel_denies_is_not_named(monkeypatch, denied, named):
    """Roll spoke for another order of right joints, whose yaw denied it with odds of 10^4."""
    samples = moved(0.0)[::CHECKED_EVERY]

    def fitted(samples, robot, settings):
        costs = np.zeros(10)
        if samples[0].mu[1] == moved(0.0)[0].mu[2]:
            costs[3], costs[5] = -1000.0, denied
        return SimpleNamespace(
            valid=np.ones((9, 10), bool), channel_costs=costs, cost=costs.sum(),
            explains_more=lambda other, judges, least: costs.sum() < other.cost - least)

    monkeypatch.setattr(arm_exchange, "fitted", fitted)
    monkeypatch.setattr(arm_exchange, "_halves", lambda samples: (samples, samples))
    found = likely_order(samples, CONFIG, ROBOT, checked_period(CONFIG))
    assert (found is not None and found.order == (0, 2, 1, 3)) == named
