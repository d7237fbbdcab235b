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

"""Zero on all axes is no measurement of a noisy sensor, but one of a coarse or a simulated one."""

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.gates.zero_velocities import ZeroVelocities

SLOW = 0.02 * np.random.default_rng(0).standard_normal((200, 3))    # [m/s], mostly noise
ZERO = np.zeros(3)


@pytest.mark.parametrize("velocities, unlikely", [
    (SLOW, True),
    (SLOW[:40], True),
    (SLOW[:30], False),                                 # too few to tell
    (SLOW[:0], False),                                  # at rest before the first motion
    (np.round(SLOW, 2), False),                         # a coarse sensor, at rest
    (0.5 + SLOW, True),
    (SLOW * [1.0, 1.0, 0.0], False)])                   # a planar one
def test_zeros_are_judged_by_single_ones_before(velocities, unlikely):
    zeros = ZeroVelocities()
    assert not any(zeros.are_unlikely(v) for v in velocities.tolist() if any(v))
    assert zeros.are_unlikely(ZERO.tolist()) == unlikely
    assert zeros.are_unlikely(ZERO.tolist()) == unlikely        # zeros prove nothing themselves
