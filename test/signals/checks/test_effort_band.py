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

"""Efforts that read zero below some size, told by their values."""

import numpy as np
import pytest

from uvms_adaptive_dynamics.signals.checks.effort_band import dead_band, dead_band_findings
from uvms_adaptive_dynamics.signals.checks.finding import Harm


def efforts(seed, size=0.4, noise=0.02, seconds=30.0):
    """(k,) efforts [N m] of a joint that swings to and fro."""
    t, rng = np.arange(0.0, seconds, 0.02), np.random.default_rng(seed)
    return (size * np.sin(1.3 * t + seed) + 0.3 * size * np.sign(np.cos(1.3 * t + seed))
            + noise * rng.standard_normal(t.size))


def cut(values, band):
    return np.where(np.abs(values) < band, 0.0, values)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("band", [0.05, 0.1, 0.3])
def test_a_dead_band_is_found_with_its_size(seed, band):
    """And the joint is named."""
    found = cut(efforts(seed), band)
    assert dead_band(found, 4) == pytest.approx(band, rel=0.1)
    (finding,) = dead_band_findings(["a", "b"], np.column_stack([efforts(9), found]))
    assert f"efforts of b read zero below {dead_band(found, 2):.2g} N m" in finding.sentence
    assert (finding.harm, finding.joint) == (
        (Harm.FOLLOWED, "b") if band > 0.1 else (Harm.SLIGHT, ""))


def test_joints_with_a_band_are_named_together():
    """Only those where it hides much of the effort are concerned."""
    both = np.column_stack([cut(efforts(1, 4.0), 0.1), cut(efforts(2, 0.15), 0.1)])
    (finding,) = dead_band_findings(["a", "b"], both)
    assert "efforts of a, b read zero" in finding.sentence and finding.joint == "b"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("change", [
    lambda values: values, lambda values: 0.05 * np.round(values / 0.05),
    lambda values: 0.2 * np.round(values / 0.2), lambda values: np.clip(values, -0.2, 0.2),
    lambda values: np.r_[np.zeros(200), values + 3.0], lambda values: np.abs(values),
    lambda values: np.zeros_like(values), lambda values: np.full_like(values, np.nan),
    lambda values: np.where(np.arange(values.size) % 7 == 0, 0.0, values + 1.5)])
def test_other_efforts_have_none(seed, change):
    """Coarse steps, limits, zeros of a driver that starts or drops readings, and loads of one sign.
    """
    assert dead_band(change(efforts(seed)), 4) == 0.0
