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

"""Designed motions: at rest at both ends, smooth, and exact on disk; refused files."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.control.excitation.trajectory import Promise, Trajectory, approach
from uvms_adaptive_dynamics.control.excitation.trajectory_file import (
    load_trajectory,
    save_trajectory,
)
from uvms_adaptive_dynamics.errors import ParameterError
from uvms_adaptive_dynamics.model.rotations import from_rpy

RNG = np.random.default_rng(3)
JOINTS = ("axis_e", "axis_d")


def trajectory():
    centre = np.concatenate([np.zeros(6), [1.5, 2.0]])
    sine, cosine = RNG.normal(0, 0.1, (2, 8, 3))
    sine[1] = cosine[1] = 0.0
    promise = Promise(("W", "B"), ("N", "N"), np.array([True, False]), np.array([3.0, 2.0]),
                      np.array([0.1, 2.0]))
    return Trajectory(JOINTS, 20.0, 3.0, centre, RNG.uniform(0.05, 0.4, (8, 3)), sine, cosine,
                      promise, {"seed": 3, "free": ["*"]})


def test_it_starts_and_ends_at_rest():
    """Rates and accelerations vanish at both ends, and the motion stays there before and after."""
    motion = trajectory()
    for t in (-1.0, 0.0, 20.0, 25.0):
        value, rate, acceleration = motion.coordinates_at(np.array([t]))
        np.testing.assert_allclose(value[0], motion.centre, atol=1e-12)
        np.testing.assert_allclose([rate[0], acceleration[0]], 0.0, atol=1e-12)


def test_rates_and_accelerations_are_derivatives():
    """Rates and accelerations match central differences, also at the start and the end."""
    motion, h = trajectory(), 1e-5
    t = np.linspace(0.1, 19.9, 200)
    value, rate, acceleration = motion.coordinates_at(t)
    before, after = motion.coordinates_at(t - h), motion.coordinates_at(t + h)
    np.testing.assert_allclose(rate, (after[0] - before[0]) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(acceleration, (after[1] - before[1]) / (2 * h), atol=1e-8)


def test_many_instants_are_those_one_by_one():
    """The batch equals single instants, and position and heading transform the motion as a whole.
    """
    motion, t = trajectory(), np.array([1.0, 7.3, 15.0])
    together, placed = motion.motions(t), motion.placed(np.array([5.0, -2.0, 3.0]), 0.7)
    turn = from_rpy(0.0, 0.0, 0.7)
    for k, each in enumerate(t):
        one, there = motion.at(each), placed(each)
        for row, other in zip(together, one):
            np.testing.assert_allclose(row[k], other, atol=1e-14)
        np.testing.assert_allclose(there.position, [5, -2, 3] + turn @ one.position, atol=1e-12)
        np.testing.assert_allclose(there.R_nb, turn @ one.R_nb, atol=1e-12)
        np.testing.assert_allclose(there.nu, one.nu)


def test_a_file_gives_the_same_motion(tmp_path):
    """A saved motion is read back bit by bit, with promise and provenance."""
    motion = trajectory()
    again = load_trajectory(save_trajectory(tmp_path / "t.yaml", motion))
    t = np.linspace(0, 20, 50)
    np.testing.assert_array_equal(again.coordinates_at(t)[0], motion.coordinates_at(t)[0])
    assert again.joints == JOINTS and again.made == motion.made
    assert again.promise.names == ("W", "B") and again.promise.free.tolist() == [True, False]
    np.testing.assert_array_equal(again.promise.promised, motion.promise.promised)


@pytest.mark.parametrize("found, instead, said", [
    ("schema: 1", "schema: 7", "schema 7"), ("ramp: 3.0", "ramp: 30", "at most half"),
    ("duration: 20.0", "duration: long", "'duration' is 'long'"),
    ("  forward:", "  forwards:", "expected forward, right"),
    ("  right: {centre: 0.0}", "  right: {centre: 0.0, sine: [1.0]}", "1 sines and 0 cosines"),
    ("present: 3.0", "present: .nan", "'present' of a promise is nan")])
def test_a_file_that_is_none_is_refused_in_a_sentence(tmp_path, found, instead, said):
    """The message names the file and says what to do."""
    path = save_trajectory(tmp_path / "t.yaml", trajectory())
    text = path.read_text()
    assert found in text
    path.write_text(text.replace(found, instead))
    with pytest.raises(ParameterError) as caught:
        load_trajectory(path)
    assert "t.yaml" in str(caught.value) and said in str(caught.value)


def test_the_way_to_the_start_is_slow_and_ends_there():
    """No joint exceeds its speed limit, and the slowest one reaches it."""
    speed = np.array([0.4, 0.1])
    duration, at = approach(JOINTS, np.array([1.0, 2.0]), np.array([2.0, 1.5]), speed)
    fastest = np.max([np.abs(at(t).mu_dot) for t in np.linspace(0, duration, 401)], axis=0)
    assert (fastest <= speed + 1e-12).all() and np.isclose(fastest[1], 0.1)
    np.testing.assert_allclose(at(duration + 1).mu, [2.0, 1.5])
    np.testing.assert_allclose([at(0).mu_dot, at(duration).mu_dot], 0.0, atol=1e-12)
    with pytest.raises(ParameterError, match="axis_d"):
        approach(JOINTS, np.zeros(2), np.ones(2), np.array([0.4, 0.0]))
