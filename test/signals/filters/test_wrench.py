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

"""Wrench sources without a thruster model."""

import numpy as np

from uvms_adaptive_dynamics.signals.filters.wrench import MeasuredWrench, NoWrench


def measured(values, timeout=0.2):
    rejected = []
    source = MeasuredWrench(timeout, lambda role, reason: rejected.append((role, reason)))
    for k, value in enumerate(values):
        source.add(0.02 * k, [value] * 6)
    source.flush()
    return source, rejected


def test_a_ramp_is_interpolated():
    """Between two messages the wrench is linear."""
    source, rejected = measured([0.1 * k for k in range(50)])
    np.testing.assert_allclose(source.wrench(0.513).wrench, 0.1 * 0.513 / 0.02)
    assert source.wrench(0.513).mask_reason == "" and not rejected


def test_silence_masks_with_its_reason():
    """Beyond the last message, and before the first, there is no wrench."""
    source, _ = measured([1.0] * 50)
    for t in (-0.1, 1.5):
        found = source.wrench(t)
        assert found.mask_reason == "no wrench" and not found.wrench.any()


def test_a_spike_is_counted_and_replaced():
    """One far value is rejected, with its role."""
    source, rejected = measured([0.0] * 30 + [80.0] + [0.0] * 30)
    assert rejected == [("wrench", "spike")] and np.abs(source.wrench(0.6).wrench).max() < 0.1


def test_no_wrench_is_zero():
    """A robot without thrusters."""
    assert not NoWrench().wrench(3.0).wrench.any() and NoWrench().wrench(3.0).mask_reason == ""
