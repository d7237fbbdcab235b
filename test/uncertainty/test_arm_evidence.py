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

"""Which position offsets are possible, and which factors on an effort are found."""
from dataclasses import replace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.uncertainty.added_direction import Coefficient, RobustFit
from uvms_adaptive_dynamics.uncertainty.arm_evidence import (
    OF_COMMANDS,
    OF_WRENCH,
    Scale,
    _scaled,
    arm_findings,
    effort_scales,
    scale_of,
    scale_of_all,
    unconfirmed_scales,
)

T, C, JOINTS = 480, 6, ("one", "two")
T_S = 0.125 * np.arange(T)
LAST = np.arange(C) == C - 1
ONE_WITNESS = np.array([0, 1, 1, *range(3, C)])


def rows(seed=1, offset=0.0, factor=1.0):
    """(Y, tau, derivatives with respect to positions (T, C, 2)) of four axes of a vehicle and two
    joints that share their parameters; the first joint is off by `offset`, the effort of the second
    multiplied by `factor`."""
    rng = np.random.default_rng(seed)

    def motion(*shape):
        steps = rng.normal(size=(T + 20, *shape))
        return np.apply_along_axis(np.convolve, 0, steps, np.exp(-np.arange(20) / 5.0),
                                   "valid")[:T]

    Y, turned = motion(C, 3), motion(C, 2)
    tau = Y @ [1.0, -2.0, 1.5] + offset * turned[:, :, 0] + 0.1 * rng.normal(size=(T, C))
    tau[:, -1] *= factor
    return Y, tau, turned


def fitted(Y, tau, witness=None):
    return RobustFit(Y, tau, np.ones((T, C), bool), T_S, witness=witness)


def told(offset, room, drag_gain=0.0):
    Y, tau, turned = rows(offset=offset)
    fit = fitted(Y, tau)
    found = arm_findings(fit, np.zeros((T, C)), turned, JOINTS, Config().joint_states,
                         np.array([room, room]), drag_gain)
    return "" if found is None else found.finding.sentence


@pytest.mark.parametrize("offset, room, code", [
    (0.3, (-1.0, 1.0), "joint_states.position_offset"),
    (1.4, (-2.0, 2.0), ""),         # too large
    (0.3, (-1.0, 0.1), "")])        # beyond the limits
def test_an_offset_is_a_small_step_within_the_limits(offset, room, code):
    """Other offsets may be drag of the links, which is reported if it explains more."""
    said = told(offset, room)
    assert said.startswith(code) and bool(said) == bool(code)
    if not code:
        assert told(offset, room, drag_gain=1e9).startswith("robot.terms")


@pytest.mark.parametrize("factor", [0.3, 0.5, 1.3, 5.0])
def test_a_factor_is_found_within_its_error(factor):
    """Also far from one, where a single Gauss-Newton step would miss it."""
    Y, tau, _ = rows(factor=factor)
    fit = fitted(Y, tau)
    scale = scale_of(fit, LAST)
    assert abs(scale.factor - factor) < 4 * scale.factor * scale.added.stddev
    assert scale.factor == pytest.approx(factor, rel=0.05) and scale.matters and scale.gain > 0.0


@pytest.mark.parametrize("factor", [0.1, -1.0])
def test_what_is_none_of_its_joints_efforts_has_no_factor(factor):
    """Factors that are too small or negative are not reported."""
    Y, tau, _ = rows(factor=factor)
    fit = fitted(Y, tau)
    assert scale_of(fit, LAST) is None


def several_axes(seed, model_error, factor=1.0, axes=6, joints=2):
    """A fit to `axes` channels of a vehicle and then `joints`, which share five parameters; those
    that an axis obeys are off by `model_error` (relative, standard deviation)."""
    rng, C = np.random.default_rng(seed), axes + joints
    smooth = np.ones(10) / np.sqrt(10.0)
    Y = np.apply_along_axis(np.convolve, 0, rng.normal(size=(T + 9, C, 5)), smooth, "valid")
    true = np.array([1.0, -2.0, 1.5, 0.8, -0.6]) * np.ones((C, 1))
    true[:axes] *= 1.0 + model_error * rng.normal(size=(axes, 5))
    tau = np.einsum("tcp,cp->tc", Y, true) + 0.1 * rng.normal(size=(T, C))
    tau[:, axes:] *= factor
    return RobustFit(Y, tau, np.ones((T, C), bool), T_S)


@pytest.mark.parametrize("model_error, of_time_alone", [(0.0, (0.0, 1.3)), (0.05, (2.5, 9.0))])
def test_axes_that_disagree_widen_the_interval_of_the_factor_on_all_efforts(model_error,
                                                                            of_time_alone):
    """Errors over standard errors of 30 robots (RMS): a jackknife over time knows nothing of what
    the model lacks, which is the same in all rows of an axis."""
    both, alone, within = [], [], 0
    for seed in range(30):
        fit = several_axes(seed, model_error)
        found = scale_of_all(fit, 2).added
        time = scale_of(fit, np.arange(8) >= 6).added
        both.append(found.value / found.stddev)
        alone.append(time.value / time.stddev)
        within += abs(found.value) < found.half_width(0.975)
    assert 0.6 < np.sqrt(np.mean(np.square(both))) < 1.8 and within >= 26
    assert of_time_alone[0] < np.sqrt(np.mean(np.square(alone))) < of_time_alone[1]


def test_a_factor_on_which_the_axes_agree_is_found():
    """Efforts doubled, beside model errors of 2 %; with one axis alone nothing confirms it."""
    assert scale_of_all(several_axes(1, 0.02, factor=2.0), 2).matters
    assert not scale_of_all(several_axes(1, 0.02, factor=2.0, axes=1), 2).matters


def test_what_one_axis_says_alone_is_no_fault_of_a_joint():
    """In a posture that varies little the weight of a link looks like a constant effort of its
    joint. If one axis alone shows that weight, and its model is wrong by 30 %, a jackknife over
    time accuses the joint of all 10 robots. An effort that is off, where two axes show the weight,
    is found. Two axes that the model takes for one, as they share its errors, tell as little."""
    constant = LAST * np.ones((T, 1))

    def found(seed, showing, off, weight, witness=None):
        Y, tau, turned = rows(seed)
        Y[:, -1, 0] = 1.0 + 0.1 * Y[:, -1, 0]
        Y[:, 3:-1, 0] = Y[:, :3 - showing, 0] = 0.0
        true = np.array([1.0, -2.0, 1.5]) * np.ones((C, 1))
        true[:3, 0] = weight
        noise = 0.1 * np.random.default_rng(seed).normal(size=(T, C))
        fit = fitted(Y, np.einsum("tcp,cp->tc", Y, true) + noise + off * constant, witness)
        alone, = fit.added(constant[:, :, None])
        return alone.exceeds(0.1), arm_findings(
            fit, np.zeros((T, C)), 0.0 * turned, JOINTS, Config().joint_states,
            np.array([[-1.0, 1.0]] * 2))

    for seed in range(10):
        alone, fault = found(seed, 1, 0.0, 1.3)
        assert alone and fault is None
        assert found(seed, 2, 0.0, 2.0, ONE_WITNESS)[1] is None
    assert found(1, 2, 0.0, 2.0)[1] is not None
    assert "efforts of two are off by about +3" in found(1, 2, 3.0, 1.0)[1].finding.sentence


@pytest.mark.parametrize("factors, given, scales", [
    ((2.0, 2.0, 3.0), (), (0.5, 0.5, 0.333)), ((1.0, 0.5, 1.0), (0.01, -0.01, 0.02),
                                               (0.01, -0.02, 0.02))])
def test_all_factors_come_at_once_with_the_scales_to_set(factors, given, scales):
    """A user had to evaluate three times, each time with one more factor worked in by hand."""
    fit = several_axes(1, 0.01, joints=3)
    fit = fit.of(fit.tau * np.r_[np.ones(6), factors])
    settings = Config().joint_states
    settings = replace(settings, effort_scale=given) if given else settings
    found = arm_findings(fit, np.zeros((T, 9)), np.zeros((T, 9, 3)), ("one", "two", "three"),
                         settings, np.zeros((3, 2)))
    listed = found.finding.sentence.partition("joint_states.effort_scale is [")[2].partition("]")[0]
    assert [float(one) for one in listed.split(", ")] == pytest.approx(scales, rel=0.05)
    assert ("; then three 1.5" in found.finding.sentence) == (factors[2] == 3.0)


def test_scales_that_the_motion_does_not_show_are_named():
    """Of a joint whose links hardly load the others; those that are right are not."""
    fit = several_axes(1, 0.0)
    assert unconfirmed_scales(fit, JOINTS) == ""
    off = fit.of(fit.tau * np.r_[np.ones(7), 1.6])
    assert "two (1.6" in unconfirmed_scales(off, JOINTS)
    assert "one" not in unconfirmed_scales(off, JOINTS).partition("two")[0].partition(" of ")[2]
    Y, tau, _ = rows()
    Y[:, :-1, 2] = 0.0              # only the second joint's effort shows the third parameter,
    Y[:, -1, :2] *= 1e-3            # and hardly the others
    tau[:, -1] = 1.5 * Y[:, -1, 2] + 0.1 * np.random.default_rng(2).normal(size=T)
    assert "two (not shown)" in unconfirmed_scales(fitted(Y, tau), JOINTS)


def test_an_effort_without_a_factor_is_told_without_a_number():
    """The sentence names what to check."""
    Y, tau, turned = rows(factor=-1.0)
    fit = fitted(Y, tau)
    found = arm_findings(fit, np.zeros((T, C)), turned, JOINTS, Config().joint_states,
                         np.array([[-1.0, 1.0]] * 2))
    assert found.finding.code == "joint_states.effort_scale"
    assert "no factor corrects them" in found.finding.sentence


@pytest.mark.parametrize("name", ["", "axis_c"])
def test_a_factor_on_all_efforts_may_as_well_be_the_thrusts(name):
    """Efforts .7 times too small, or a thrust .7 times the settings'; for a single joint the thrust
    is no explanation."""
    scale = Scale(0.7, Coefficient(np.log(0.7), 0.03, 40), 300.0, True)
    said = _scaled(scale, name, OF_COMMANDS, True).sentence
    assert "0.70 +- 0.02" in said and "effort_scale by 1.43" in said
    assert ("the true thrust is 0.70 times" in said) == ("thrusters.voltage" in said) == (not name)
    by_wrench = _scaled(scale, name, OF_WRENCH, True).sentence
    assert ("thrusters.wrench_topic" in by_wrench) == (not name)
    assert "thrusters.voltage" not in by_wrench


def test_scales_for_both_directions_are_given_together():
    """A sign is changed, and a factor removed, in both."""
    joints = replace(Config().joint_states, effort_scale=(2.0, -2.0, 1.0),
                     effort_scale_negative=(3.0, -3.0, 1.0))
    assert effort_scales(joints, np.array([0.5, -1.0, 1.0])) == (
        "joint_states.effort_scale is [1, 2, 1] and .effort_scale_negative [1.5, 3, 1]")
    assert effort_scales(Config().joint_states, np.array([1.0, -1.0])) == (
        "joint_states.effort_scale is [1, -1]")
