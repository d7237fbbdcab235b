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

"""The line of a gate: predicted, and updated with values."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.gates.tracked_line import TrackedLine


def begun(stddev=1.0, slope_stddev=0.5):
    """A line at 2 s, on which nothing is known but these standard deviations."""
    return TrackedLine(2.0, np.array([[1.0, 2.0, 3.0], [0.1, 0.0, -0.1]]),
                 (stddev ** 2, 0.0, slope_stddev ** 2))


def test_a_prediction_is_that_of_the_linear_system():
    """State and variances of value and slope follow F P F' + Q of a slope that walks at random."""
    dt, q = 0.7, 0.3
    ahead = begun().at(2.0 + dt, q)
    f = np.array([[1.0, dt], [0.0, 1.0]])
    walk = q * np.array([[dt ** 3 / 3, dt ** 2 / 2], [dt ** 2 / 2, dt]])
    p = f @ np.diag([1.0, 0.25]) @ f.T + walk
    np.testing.assert_allclose(ahead.state, f @ begun().state, rtol=1e-12)
    np.testing.assert_allclose(ahead.variances, (p[0, 0], p[0, 1], p[1, 1]), rtol=1e-12)


def test_two_steps_are_one():
    """A prediction does not depend on the number of steps in which it is made."""
    one, two = begun().at(3.0, 0.2), begun().at(2.4, 0.2).at(3.0, 0.2)
    np.testing.assert_allclose(one.state, two.state, rtol=1e-12)
    np.testing.assert_allclose(one.variances, two.variances, rtol=1e-12)


def test_values_update_it_as_least_squares_would():
    """Ten exact positions on a line, weighted by their noise, and the prior: the same estimate and
    covariance as solving the normal equations at once."""
    times, noise = 2.0 + 0.3 * np.arange(1, 11), 0.2
    true = np.array([[1.5, 1.0, 3.5], [0.3, -0.2, 0.1]])
    track, information = begun(), np.linalg.inv(np.diag([1.0, 0.25]))
    right = information @ begun().state
    for t in times:
        value = true[0] + (t - 2.0) * true[1]
        track = track.at(t, 0.0).with_value(value, noise ** 2)
        row = np.array([[1.0, t - 2.0]])
        information, right = (information + row.T @ row / noise ** 2,
                              right + row.T @ value[None] / noise ** 2)
    f = np.array([[1.0, times[-1] - 2.0], [0.0, 1.0]])
    p = f @ np.linalg.inv(information) @ f.T
    np.testing.assert_allclose(track.state, f @ np.linalg.solve(information, right), rtol=1e-9)
    assert track.variances == pytest.approx((p[0, 0], p[0, 1], p[1, 1]))
