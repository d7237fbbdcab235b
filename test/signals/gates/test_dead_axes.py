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

"""Gyro axes that keep one value."""

import numpy as np
import pytest
from campaign_cases import first
from scipy.spatial.transform import Rotation

from uvms_adaptive_dynamics.signals.gates.choose import dead_axes

LEVEL = np.eye(3)
MOUNTED = Rotation.from_euler("XYZ", [3.0, 0.3, -0.5]).as_matrix()


def found(spoil, axes=LEVEL, seconds=10.0, size=(0.3, 0.3, 0.3), noise=5e-4):
    """(gate, times [s] at which it finds an axis dead) of a rocking vehicle at 100 Hz, with rates
    in the gyro's axes spoilt by spoil(t, rates), and noise [rad] of its attitude."""
    rng, gate = np.random.default_rng(0), dead_axes(True, axes.ravel().tolist())
    R, times = Rotation.identity(), []
    for t in np.arange(0.0, seconds, 0.01):
        w = np.array(size) * np.sin([1.1 * t, 1.7 * t + 1, 0.8 * t + 2])
        R = R * Rotation.from_rotvec(0.01 * w)
        seen = (R * Rotation.from_rotvec(noise * rng.normal(size=3))).as_matrix()
        rates = axes @ spoil(t, axes.T @ w + 2e-3 * rng.normal(size=3))
        row = [*seen[2], *rates, 0.0, 0.0, -9.8, np.arctan2(seen[1, 0], seen[0, 0])]
        times += [t] if gate.add(t, row) else []
    return gate, times


def kept(axis, begin, value=0.0):
    """Keeps one axis at a value from `begin` [s] on."""
    return lambda t, rates: np.where((np.arange(3) == axis) & (t >= begin), value, rates)


@pytest.mark.parametrize("axes", first(1, [MOUNTED, LEVEL]), ids=["mounted", "level"])
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("begin, value", [(0.0, 0.0), (4.0, 0.0), (4.0, 0.2)])
def test_a_dead_axis_is_found_within_three_seconds(axis, begin, value, axes):
    """Whatever its value, and in the gyro's own axes however it is mounted."""
    gate, (time,) = found(kept(axis, begin, value), axes)
    assert begin < time < begin + 3.0
    assert [k for k in range(3) if gate.since[k] is not None] == [axis]
    assert begin - 0.3 < gate.since[axis] < time - 0.4 or gate.since[axis] == -np.inf


def test_an_axis_that_changes_again_works():
    """Until then it is dead."""
    gate, times = found(lambda t, rates: kept(0, 3.0 if t < 6.0 else 99.0)(t, rates))
    assert len(times) == 1 and gate.since == [None] * 3


@pytest.mark.parametrize("spoil, size", [
    (kept(0, 0.0), (0.0, 0.3, 0.3)),        # planar: it does not turn about that axis
    (kept(2, 3.0), (0.3, 0.3, 0.0)),
    (lambda t, rates: np.round(rates / 0.02) * 0.02, (0.0, 0.0, 0.0)),     # coarse, at rest
    (lambda t, rates: np.round(rates / 0.02) * 0.02, (0.3, 0.02, 0.0)),
    (lambda t, rates: np.zeros(3), (0.3, 0.3, 0.3)),    # not filled in: nothing works
])
@pytest.mark.parametrize("noise", first(1, [5e-3, 0.0, 5e-4]))
def test_nothing_is_found_without_a_turn_that_the_value_hides(spoil, size, noise):
    """With an attitude up to .3 degrees noisy."""
    gate, times = found(spoil, size=size, noise=noise, seconds=30.0)
    assert not times and gate.since == [None] * 3
