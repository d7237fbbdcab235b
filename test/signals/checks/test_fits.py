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

"""The small fits of the frame checks."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.model.rotations import from_rotation_vector, from_rpy
from uvms_adaptive_dynamics.signals.checks.fits import (
    SIGNED_AXES,
    axis_name,
    degrees,
    lag_of,
    nearest_axes,
    regression,
    relation,
    to_rpy,
)

ANGLES = st.tuples(*[st.floats(-1.8, 1.8)] * 3)


def test_signed_axes_are_all_48_of_them():
    """Every permutation with every sign, once."""
    assert len({tuple(axes.ravel()) for axes in SIGNED_AXES}) == 48
    assert all(abs(np.linalg.det(axes)) == 1 for axes in SIGNED_AXES)


@given(st.integers(0, 47), ANGLES, st.floats(0.01, 100.0))
def test_nearest_axes_stand_small_rotations_and_any_scale(index, angles, size):
    """Signed axes turned by less than 15 degrees and scaled are recognized."""
    axes = SIGNED_AXES[index]
    tilt = from_rotation_vector(0.08 * np.array(angles))
    found, distance = nearest_axes(size * axes @ tilt)
    assert np.array_equal(found, axes) and distance < 0.35


def test_nearest_axes_of_nothing_are_none():
    """A matrix of zeros has no direction."""
    assert nearest_axes(np.zeros((3, 3)))[0] is None


def test_relation_is_least_squares_with_its_error():
    """On noisy data the coefficients are right within three of the standard errors."""
    rng = np.random.default_rng(0)
    x, A = rng.normal(size=(500, 2)), np.array([[1.0, 0.2], [-0.3, 0.8]])
    found, error = relation(x, x @ A + rng.normal(0, 0.1, (500, 2)), 10.0)
    assert (np.abs(found - A) < 3 * error).all() and (error < 0.03).all()


def test_a_robust_relation_stands_a_tenth_of_outliers():
    """8 % of the rows are far off: the robust fit is right, the plain one is not."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 1))
    y = 2.0 * x
    y[:40] += 20.0 + 10.0 * x[:40]
    assert abs(regression(x, y[:, 0], 1.0)[0][0] - 2.0) < 0.01
    assert abs(relation(x, y, 1.0)[0][0, 0] - 2.0) > 0.5


def test_a_regression_has_the_error_that_it_says():
    """Over many draws of overlapping means, the spread matches the standard error to a fifth."""
    rng, found = np.random.default_rng(2), []
    for _ in range(300):
        x = np.convolve(rng.normal(size=809), np.ones(10) / 10, "valid")[:, None]
        y = x[:, 0] + np.convolve(rng.normal(size=809), np.ones(10) / 10, "valid")
        b, covariance, explained = regression(x, y, 10.0)
        found.append((b[0], covariance[0, 0] ** 0.5, explained))
    b, error, explained = np.array(found).T
    assert 0.65 < np.mean(error) / np.std(b) < 1.6 and abs(np.mean(explained) - 0.5) < 0.05


def test_angles_of_a_rotation_are_those_of_the_settings():
    """to_rpy undoes from_rpy."""
    assert np.allclose(to_rpy(from_rpy(0.3, -0.8, 2.5)), (0.3, -0.8, 2.5))


def test_nothing_that_moved_gives_no_error_but_a_number():
    """A fit of zeros to zeros is finite."""
    A, error = relation(np.zeros((100, 2)), np.zeros((100, 1)), 10.0)
    assert np.isfinite(A).all() and np.isfinite(error).all()


def test_words():
    """Axes and angles as text."""
    assert [axis_name(sign * np.eye(3)[k]) for k, sign in itertools.product(range(3), (1, -1))] == [
        "+x", "-x", "+y", "-y", "+z", "-z"]
    assert degrees(np.radians([0.2, -89.8, 180.0])) == "0, -90, 180 degrees (roll, pitch, yaw)"


@pytest.mark.parametrize("lag", [-0.05, 0.0, 0.033, 0.15, 0.3])
def test_a_lag_comes_with_its_error(lag):
    """Over many draws, within 3.3 standard errors, for two values with different features."""
    for seed in range(20):
        rng, t = np.random.default_rng(seed), np.arange(0.0, 60.0, 0.045)
        f, phase = rng.uniform(0.05, 0.5, (4, 3)), rng.uniform(0.0, 6.28, (4, 3))
        now, late = (np.sin(2 * np.pi * f * at[:, None, None] + phase).sum(axis=1)
                     for at in (t, t - lag))
        values = late[:, :2] + 0.2 * rng.standard_normal((len(t), 2))
        found, error = lag_of(t, now, values, 1.0, [[0, 2], [1, 2]])
        assert abs(found - lag) < 3.3 * error + 0.002 and error < 0.02     # (the grid's parabola)


def test_a_load_that_is_put_down_is_no_lag():
    """Forty joints that carry four times their own weight for half of the time, of which the
    features know one. By the likelihood's curvature alone, one has a lag beyond doubt."""
    found = []
    for seed in range(40):
        rng, t = np.random.default_rng(seed), np.arange(0.0, 60.0, 0.045)
        f, phase = rng.uniform(0.05, 0.3, 3), rng.uniform(0.0, 6.28, 3)
        mu = (0.5 * np.sin(2 * np.pi * f * t[:, None] + phase)).sum(axis=1)
        speed = np.gradient(mu, t)
        features = np.column_stack([speed, np.sign(speed), np.ones_like(t), np.cos(mu), np.sin(mu)])
        effort = 0.5 * speed + 0.2 * np.sign(speed) + np.where(t < 30.0, 4.0, 1.0) * np.cos(mu)
        effort += 0.05 * rng.standard_normal(len(t))
        found.append(lag_of(t, features, effort[:, None], 0.5 / 0.045))
    assert sum(abs(lag) > 3.3 * error for lag, error in found) == 0


def test_a_lag_at_the_edge_is_none():
    """The error is infinite if the best shift is the last one tried, or rows are missing."""
    t = np.arange(0.0, 30.0, 0.05)
    assert lag_of(t, np.sin(t)[:, None], np.sin(t - 1.0)[:, None], 1.0)[1] == np.inf
    assert lag_of(t[:3], np.sin(t[:3])[:, None], np.sin(t[:3])[:, None], 1.0)[1] == np.inf
