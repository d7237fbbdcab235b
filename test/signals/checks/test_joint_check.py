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

"""Checks within joint messages when several joints move alike."""
import re

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.checks.joint_check import check_joints
from uvms_adaptive_dynamics.signals.checks.joint_effort_check import check_efforts, speed_of

NAMES = ("one", "two", "three", "four")
PERIOD = 0.06
FAR = np.full(4, 10.0)


def findings(seed, spoil=lambda speed: speed):
    """Sentences on four joints that swing together to within a per cent, with noise, velocities 40
    ms late; spoil(velocities (k, 4)) changes the velocities."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, 26.0, PERIOD)
    phases, rates = rng.uniform(0, 2 * np.pi, 5), rng.uniform(0.6, 2.0, 5)
    waves = np.column_stack([np.sin(rate * t + phase) for rate, phase in zip(rates, phases)])
    slopes = np.column_stack([rate * np.cos(rate * (t - 0.04) + phase)
                              for rate, phase in zip(rates, phases)])
    mix = np.vstack([np.full(4, 0.1), 0.001 * rng.normal(size=(4, 4))])
    mu = waves @ mix + 1e-3 * rng.normal(size=(t.size, 4))
    speed = spoil(slopes @ mix + 1e-2 * rng.normal(size=(t.size, 4)))
    log = np.column_stack([t, mu, speed, np.full((t.size, 4), np.nan)])
    return [one.sentence for one in check_joints(log, NAMES, -FAR, FAR, FAR).findings]


@pytest.mark.parametrize("seed", range(8))
def test_joints_that_move_alike_are_not_confused(seed):
    """Velocities cannot be assigned to joints if all are the same."""
    assert findings(seed) == []


def test_a_wrong_one_among_them_is_found():
    """A velocity that does not match its own position is found, however alike the joints move."""
    def turned(speed):
        return speed * [1.0, 1.0, -1.0, 1.0]
    said = findings(0, turned)
    assert len(said) == 1 and said[0].startswith("the velocity of three has the wrong sign")


@pytest.mark.parametrize("begin", [0.25, 0.35, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_no_unit_is_told_while_a_part_of_the_data_has_another_sign(seed, begin):
    """A velocity whose sign changes has no one factor in all data, and none of a unit. It has the
    latest ten seconds'."""
    def changed(speed):
        changes = begin * len(speed)
        return speed * np.where(np.arange(len(speed)) < changes, 1.0, -1.0)[:, None] ** [0, 0, 1, 0]
    said = findings(seed, changed)
    factor, = (float(n) for n in re.findall(r"has the wrong sign \((\S+) \+-", " ".join(said)))
    assert len(said) == 1 and factor == pytest.approx(-1.0, abs=0.03)
    assert "the positions alone are used" in said[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_sign_that_changed_a_moment_ago_has_no_factor(seed):
    """Nor has one that was wrong for a while: too few readings are of one kind."""
    def changed(begin, end):
        return lambda speed: speed * np.where(
            (np.arange(len(speed)) * PERIOD > begin) & (np.arange(len(speed)) * PERIOD < end),
            -1.0, 1.0)[:, None] ** [0, 0, 1, 0]
    for begin, end in (21.0, 26.0), (5.0, 15.0):
        said = " ".join(findings(seed, changed(begin, end)))
        assert not re.search(r"has the wrong sign|degrees", said), said


def test_a_slide_is_never_in_degrees():
    """Far outside its range it is in mm, and the others are judged without it."""
    t = np.arange(0.0, 26.0, PERIOD)
    mu = np.column_stack([(100 if k == 0 else .5) * (1 + np.sin(0.5 * t + k)) for k in range(4)])
    log = np.column_stack([t, mu, np.gradient(mu, t, axis=0), np.full((t.size, 4), np.nan)])
    limits = NAMES, np.full(4, -.1), np.array([.25, 2.0, 2.0, 2.0]), FAR
    found, = check_joints(log, *limits, prismatic=(True, False, False, False)).findings
    assert "(median 104 m, limits -0.1 to 0.25 m); its unit is probably mm" in found.sentence
    assert not found.values
    assert check_joints(log, *limits).findings[0].values == {"joint_states.unit": "deg"}


@pytest.mark.parametrize("size, offset, told", [(0.8, 0.3, True), (0.02, 0.3, False),
                                                (0.8, 60.0, False)])
def test_radians_taken_for_degrees_are_seen_by_their_range(size, offset, told):
    """Not where the joints hardly move, nor beyond their limits in rad. With the unit as it is
    nothing is said."""
    t = np.arange(0.0, 26.0, PERIOD)
    raw = np.column_stack([offset + size * np.sin(0.5 * t + k) for k in range(4)])
    log = np.column_stack([t, np.radians(raw), np.radians(np.gradient(raw, t, axis=0)),
                           np.full((t.size, 4), np.nan)])
    limits = NAMES, np.full(4, -2.0), np.full(4, 2.0), FAR
    found = check_joints(log, *limits, unit="deg").findings
    assert [one.values for one in found] == [{"joint_states.unit": "rad"}] * told
    log[:, 1:9] = np.degrees(log[:, 1:9])
    if told:
        assert check_joints(log, *limits).findings == []


@pytest.mark.parametrize("given", [(), (1.0, 1.0, -2.0, 1.0)])
def test_efforts_in_another_unit_are_told_with_the_scale_to_set(given):
    """In one sentence, even if the efforts are within one joint's limit."""
    t = np.arange(0.0, 26.0, PERIOD)
    mu = np.column_stack([np.sin(0.5 * t + k) for k in range(4)])
    effort = 1000.0 * np.array([0.3, 0.2, 0.2, 0.0]) * np.cos(0.5 * t)[:, None]
    log = np.column_stack([t, mu, np.gradient(mu, t, axis=0), effort])
    found, = check_joints(log, NAMES, -FAR, FAR, np.array([1.5, 1.0, 1.0, 0.5]), given).findings
    assert found.setting == "joint_states.effort_scale" and found.joint == ""
    scales = "0.001, 0.001, -0.002, 1" if given else "0.001, 0.001, 0.001, 1"
    assert "the effort of one, two, three is typically 21" in found.sentence
    assert "the limit is 1.5, 1, 1 N m" in found.sentence
    assert f"set joint_states.effort_scale to about [{scales}]" in found.sentence


@pytest.mark.parametrize("begin, said", [(0.0, "[0.001, 0.001, -0.001, 0.001]"),
                                         (8.0, "[0.001, 0.001, 0.001, 0.001]")])
def test_a_wrong_sign_is_told_with_the_unit(begin, said):
    """So that both are mended at once. Of efforts of two units none is compared with the speed."""
    rng, t = np.random.default_rng(0), np.arange(0.0, 26.0, PERIOD)
    rates = 0.5 + 0.13 * np.arange(4)
    mu, speed = np.sin(np.outer(t, rates)), rates * np.cos(np.outer(t, rates))
    effort = 0.5 * speed * [1.0, 1.0, -1.0, 1.0] + 0.01 * rng.standard_normal((t.size, 4))
    effort[t >= begin] *= 1000.0
    log, limits = np.column_stack([t, mu, speed, effort]), np.ones(4)
    found, *others = check_joints(log, NAMES, -FAR, FAR, limits).findings
    assert f"set joint_states.effort_scale to about {said}" in found.sentence
    assert ("three has the wrong sign" in found.sentence) == (begin == 0.0) and not others


def test_a_masked_effort_is_not_judged_and_does_not_keep_the_others_from_it():
    """Garbage of a joint in joint_states.effort_masked costs nothing; another's wrong sign is
    found beside it."""
    rng, t = np.random.default_rng(0), np.arange(0.0, 26.0, PERIOD)
    rates = 0.5 + 0.13 * np.arange(4)
    mu, speed = np.sin(np.outer(t, rates)), rates * np.cos(np.outer(t, rates))
    effort = 0.5 * speed * [1.0, 1.0, -1.0, 1.0] + 0.01 * rng.standard_normal((t.size, 4))
    effort[:, 0] = 1e6
    log, limits = np.column_stack([t, mu, speed, effort]), np.ones(4)
    found, = check_joints(log, NAMES, -FAR, FAR, limits, masked=("one",)).findings
    assert found.joint == "three" and found.is_of_sign
    found, = check_joints(log, NAMES, -FAR, FAR, limits).findings
    assert found.joint == "one"
    assert not check_joints(log, NAMES, -FAR, FAR, limits, masked=NAMES,
                            loads=lambda t, mu: np.cos(mu)).findings


def heavy_arm(seed, signs=1.0):
    """(times, positions, speeds, efforts, gravity's load) of three heavy links on parallel joints;
    the load that the URDF tells is a tenth too small."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, 40.0, 0.05)
    rates, phases, sizes = (rng.uniform(*span, (3, 2)) for span in (
        (0.2, 0.6), (0.0, 6.28), (0.3, 0.9)))
    mu = rng.uniform(-1.0, 1.0, 3) + (sizes * np.sin(rates * t[:, None, None] + phases)).sum(axis=2)
    load = 20.0 * np.cos(np.cumsum(mu, axis=1))[:, ::-1].cumsum(axis=1)[:, ::-1]
    speed = speed_of(t, mu)
    friction = 0.5 * np.tanh(speed / 0.02) + 0.3 * speed
    effort = 1.1 * load + friction + 0.05 * rng.normal(size=mu.shape)
    known = np.isfinite(speed).all(axis=1)
    return [part[known] for part in (t, mu, speed, signs * effort, load)]


@pytest.mark.parametrize("seed", [3, 5, 9, 22, 23, 30, 34, 38])
def test_a_heavy_load_is_no_wrong_sign(seed):
    """Cosines of single joints do not make up a load that depends on their sums, and speeds then
    stand in for it; gravity's own load, though it is not quite right, leaves nothing to them."""
    t, mu, speed, effort, load = heavy_arm(seed)
    assert check_efforts(NAMES[:3], t, mu, speed, effort)[0]
    assert check_efforts(NAMES[:3], t, mu, speed, effort, load=load)[0] == []


def test_a_wrong_sign_is_found_beside_a_heavy_load():
    """Gravity's load says nothing of a sign, since its factor is free."""
    t, mu, speed, effort, load = heavy_arm(0, signs=np.array([1.0, -1.0, 1.0]))
    effort[:, 1] -= 20.0 * speed[:, 1]
    found, _ = check_efforts(NAMES[:3], t, mu, speed, effort, load=load)
    assert [one.joint for one in found] == [NAMES[1]]
