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

"""Ending a motion early: it is unchanged before, no faster during the fade, and ends at rest."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.control.excitation.early_end import ended_early
from uvms_adaptive_dynamics.control.excitation.trajectory import Trajectory

DURATION, RAMP = 60.0, 4.0


def motion(seed):
    """Four coordinates with six tones each about different centres, one of them at rest."""
    rng = np.random.default_rng(seed)
    share = np.array([1.0, 1.0, 0.0, 0.3])[:, None]
    return Trajectory(("a",), DURATION, RAMP, np.arange(4.0),
                      rng.uniform(0.02, 0.3, (4, 6)), share * rng.normal(size=(4, 6)),
                      share * rng.normal(size=(4, 6)))


@pytest.mark.parametrize("seed", range(20))
def test_it_fades_away_without_becoming_faster(seed):
    """Rates exceed those of the whole motion by a few per cent at most."""
    whole = motion(seed)
    flown = np.random.default_rng(seed).uniform(9.0, 45.0)
    ended = ended_early(whole, flown, False)
    assert flown + RAMP <= ended.duration <= flown + 3 * RAMP
    before = np.arange(flown - 0.2, flown, 0.05)
    for expected, found in zip(whole.coordinates_at(before), ended.coordinates_at(before)):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    after = np.arange(flown, flown + 3 * RAMP, 0.05)
    value, rate, _ = ended.coordinates_at(after)
    _, whole_rate, _ = whole.coordinates_at(np.arange(0.0, DURATION, 0.05))
    assert np.all(np.abs(rate).max(0) <= 1.05 * np.abs(whole_rate).max(0) + 1e-12)
    np.testing.assert_allclose(value[-1], whole.centre, atol=1e-9)
    np.testing.assert_allclose(rate[-1], 0.0, atol=1e-9)


def test_at_once_it_goes_on_no_more():
    """With at_once the fade starts now, with the duration that gives the lowest rates."""
    whole = motion(1)
    ended = ended_early(whole, 20.0, True)
    assert ended.duration == 20.0 + ended.ramp and RAMP <= ended.ramp <= 2 * RAMP


def test_one_that_has_hardly_begun_fades_at_once():
    """A motion that has hardly begun still has small amplitudes."""
    assert ended_early(motion(0), 1.0, False).duration == 1.0 + RAMP


def test_one_that_ends_already_is_left_alone():
    """A fading motion cannot end earlier; before the fade it still can, at once."""
    whole = motion(16)
    assert ended_early(whole, DURATION - RAMP, False) is None
    ended = ended_early(whole, 20.0, False)
    fading = ended.duration - ended.ramp
    assert ended_early(ended, fading + 0.1, True) is None
    assert fading > 20.0 and ended_early(ended, 20.0, True).duration < ended.duration
