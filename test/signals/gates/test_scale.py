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

"""The running scale of the gates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvms_adaptive_dynamics.signals.gates.scale import RunningScale

SIZES = st.lists(st.floats(0, 1e9), min_size=1, max_size=200)


def scale_of(sizes, floor=0.1, step=0.02):
    """The scale after the last size."""
    return history_of(sizes, floor, step)[-1]


def history_of(sizes, floor=0.01, step=0.02, share=0.5):
    """The scale after each size."""
    scale, values = RunningScale([floor], step, share=share), []
    for size in sizes:
        scale.add([size])
        values.append(scale.value[0])
    return values


@given(SIZES)
def test_never_below_the_floor(sizes):
    """Whatever the sizes, the scale does not fall below its floor."""
    assert scale_of(sizes) >= 0.1


@given(SIZES)
def test_a_huge_size_counts_no_more_than_a_large_one(sizes):
    """The scale depends on which sizes are above it, not on how large they are."""
    bounded = [min(size, 1e6) for size in sizes]
    assert scale_of(sizes, floor=1e-3) == scale_of(bounded, floor=1e-3)


@pytest.mark.parametrize("share", [0.35, 0.5])
def test_converges_to_the_standard_deviation(share):
    """On Gaussian values the scale is on average their standard deviation within 5 %, whichever
    quantile it follows."""
    values = 3.0 * np.random.default_rng(0).standard_normal(4000)
    assert abs(np.mean(history_of(np.abs(values), share=share)[1000:]) - 3.0) < 0.15


def test_a_tenth_of_outliers_changes_it_little():
    """10 % of values a hundred times too large raise the scale by less than 20 % on average."""
    rng = np.random.default_rng(1)
    values = rng.standard_normal(4000) * np.where(rng.random(4000) < 0.1, 100.0, 1.0)
    assert 0.95 < np.mean(history_of(np.abs(values))[1000:]) < 1.2
