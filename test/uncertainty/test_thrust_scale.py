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

"""What is said of the thrust's scale."""
import math
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.uncertainty.added_direction import MIN_PIECES, Coefficient
from uvms_adaptive_dynamics.uncertainty.arm_evidence import Scale
from uvms_adaptive_dynamics.uncertainty.thrust_scale import (
    Drive,
    Extent,
    ThrustRatio,
    drives_of,
    thrust_scale,
)


@pytest.mark.parametrize("factor, stddev, pieces, off", [
    (1.3, 0.05, 30, True), (1 / 1.3, 0.05, 30, True), (1.3, 0.09, 30, False),
    (1.1, 0.05, 30, False), (2.0, 0.05, MIN_PIECES - 1, False)])
def test_a_scale_is_a_finding_beyond_its_error(factor, stddev, pieces, off):
    """With 99.9 % confidence, up or down; the sentence has the number and what to set."""
    scale = ThrustRatio(factor, Coefficient(math.log(factor), stddev, pieces))
    found = scale.finding()
    assert (found is not None) == off
    if found is not None:
        assert found.code == "thrusters.efficiency" and scale.sentence() in found.sentence
        assert f"multiply thrusters.efficiency by {factor:.2f}" in found.sentence


def test_the_interval_is_that_of_the_logarithm():
    """1.2 with .05: from 1.2 / 1.11 to 1.2 * 1.11."""
    said = ThrustRatio(1.2, Coefficient(math.log(1.2), 0.05, 30)).sentence()
    assert "1.20 times" in said and "(95 %: 1.08 to 1.33)" in said


def test_the_thrust_is_no_better_known_than_the_joints_efforts():
    """A gear's friction and a motor's constant. That thrust and efforts contradict each other is as
    certain as before, and the finding names both."""
    exact, usual = (ThrustRatio(1.15, Coefficient(math.log(1.15), 0.03, 30), stddev)
                    for stddev in (0.0, 0.05))
    assert usual.error / exact.error == pytest.approx(math.hypot(0.03, 0.05) / 0.03)
    assert "if the joints' efforts are right to 5%" in usual.sentence()
    assert exact.finding() is not None and "joint_states.effort_scale" in usual.finding().sentence


@pytest.mark.parametrize("factor, stddev, shown", [
    (1.0, 0.1, True), (1.0, 0.7, True), (1.0, 0.9, False), (1.0, 1e3, False),
    (3.0, 0.1, True), (3.0, 0.4, False), (0.3, 0.4, False)])
def test_a_scale_beyond_what_any_cause_explains_is_not_shown(factor, stddev, shown, monkeypatch):
    """An arm that hangs still beside a vehicle that keeps its station: the factor is between
    nothing and infinity, of which no interval is printed (its end is no float)."""
    monkeypatch.setattr(
        "uvms_adaptive_dynamics.uncertainty.thrust_scale.scale_of_all",
        lambda fit, joints: Scale(factor, Coefficient(math.log(factor), stddev, 30), 0.0, False))
    fit = SimpleNamespace(predicted=np.zeros((1, 10)))
    found = thrust_scale(fit, 4, 0.0)
    assert (found is not None) == shown
    if found is not None:
        assert f"is {factor:.2f} times" in found.sentence()


SIDEWAYS, UP = Drive((0, 1, 2, 3), (0, 1, 5)), Drive((4, 5, 6, 7), (2, 3, 4))


def test_thrusters_are_told_apart_by_where_they_push():
    """Up and down, and sideways; one that pushes both ways joins them; an axis without thrusters is
    nobody's."""
    allocation = np.reshape(Config().thrusters.allocation, (6, 8))
    assert drives_of(allocation) == (SIDEWAYS, UP)
    tilted = allocation.copy()
    tilted[2, 0] = 0.5
    assert drives_of(tilted) == (Drive(tuple(range(8)), tuple(range(6))),)
    no_roll = allocation.copy()
    no_roll[3] = 0.0
    assert drives_of(no_roll) == (SIDEWAYS, Drive(UP.thrusters, (2, 4)))
    assert drives_of(np.zeros((6, 0))) == ()


def test_what_to_set_is_told_for_the_thrusters_that_testify():
    """Beside what is set already; of the others it is said that nothing is known."""
    scale = ThrustRatio(0.6, Coefficient(math.log(0.6), 0.05, 30),
                        part=Extent((UP,), SIDEWAYS.axes, False, 8))
    said = scale.finding(True, (0.9,) * 8).sentence
    assert "the true thrust on heave, roll and pitch is 0.60 times" in said
    assert "of surge, sway and yaw it says nothing" in said
    assert ("multiply thrusters.efficiency by 0.60 for thrusters 5, 6, 7 and 8 only, "
            "[0.9, 0.9, 0.9, 0.9, 0.54, 0.54, 0.54, 0.54]") in said
    assert "for thrusters" not in ThrustRatio(
        0.6, Coefficient(math.log(0.6), 0.05, 30)).finding().sentence


@pytest.mark.parametrize("stddev, part", [
    ({0: 0.1, 2: 0.1}, None), ({0: 2.0, 2: 0.1}, Extent((UP,), (0, 1, 5), False, 8))])
def test_axes_whose_rows_do_not_bound_their_thrust_are_no_part_of_the_scale(stddev, part,
                                                                           monkeypatch):
    """What is said of all thrust would be said of them without any evidence."""
    def scale(factor, error):
        return Scale(factor, Coefficient(math.log(factor), error, 30), 0.0, False)
    module = "uvms_adaptive_dynamics.uncertainty.thrust_scale"
    monkeypatch.setattr(f"{module}.scale_of_all", lambda fit, joints: scale(0.9, 0.1))
    monkeypatch.setattr(f"{module}.scale_of", lambda fit, which, judged_by_channels: scale(
        1.0, stddev[int(np.argmax(which))]))
    fit = SimpleNamespace(predicted=np.zeros((1, 10)))
    assert thrust_scale(fit, 4, 0.0, (SIDEWAYS, UP)).part == part


@pytest.mark.parametrize("of_all, certain, factor", [
    (0.98, True, 0.65), (0.98, False, None), (0.8, True, None), (1.5, True, None)])
def test_thrusters_that_do_not_carry_the_arm_are_wrong_if_those_that_do_are_right(
        of_all, certain, factor, monkeypatch):
    """Sideways at 60 %: masses that the axes share show the ratio, and the arm which is right."""
    def scale(factor, error, gain, matters):
        return Scale(factor, Coefficient(math.log(factor), error, 30), gain, matters)
    alone = {0: scale(1.6, 0.2, 3000.0, False), 2: scale(0.65, 0.02, 2000.0, certain)}
    module = "uvms_adaptive_dynamics.uncertainty.thrust_scale"
    monkeypatch.setattr(f"{module}.scale_of_all",
                        lambda fit, joints: scale(of_all, 0.05, 7.0, False))
    monkeypatch.setattr(f"{module}.scale_of", lambda fit, which, judged_by_channels: (
        alone[int(np.argmax(which))]))
    fit = SimpleNamespace(predicted=np.zeros((1, 10)), valid=np.ones((1, 10), bool),
                          solution=np.array([20.0, 30.0, 0.0]))
    found = thrust_scale(fit, 4, 0.05, (SIDEWAYS, UP), 10.0)
    assert (found and found.factor) == factor
    # by the other axes' thrust; along a level one something else moved the vehicle
    fit.solution[:] = 0.3, 30.0, 200.0
    assert thrust_scale(fit, 4, 0.05, (SIDEWAYS, UP), 10.0) is None
    if found is not None:
        assert "for thrusters 1, 2, 3 and 4 only" in found.finding().sentence
