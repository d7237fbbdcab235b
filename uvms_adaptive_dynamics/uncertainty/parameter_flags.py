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

"""A flag for each parameter: measured, weak, prior or frozen (docs/mathematics.md,
"Identifiability")."""
from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ..model.covariance import deviations
from ..model.parameter_checks import KNOWN_FROM_WORDS
from ..model.physical_set import PhysicalSet

MEASURED_SHARE, WEAK_SHARE = 0.3, 0.9  # remaining share of the prior's standard deviation, at most
# times that the prior may be as wrong as it says for a measured parameter to be one all the same
PRIOR_DOUBT = 3.0
# deviations beyond which truncation has no effect; width below which the density is uniform
FAR, NARROW = 10.0, 0.02


def known_from(stddev: np.ndarray, systematic: np.ndarray, prior_stddev: np.ndarray,
               from_prior: np.ndarray, limited: np.ndarray) -> tuple[str, ...]:
    """A flag for each parameter (p,): 'measured', 'weak', 'prior', or 'frozen' if the prior has no
    deviation.

    stddev: posterior deviation; systematic: deviation added by timing and calibration errors;
    prior_stddev: the prior's; from_prior: part of `stddev` due to the prior's error, not to noise;
    limited: `stddev` truncated to the physical set.
    A parameter is measured if the data narrowed it to a third of its prior's deviation, and would
    have done so with a prior, of all parameters, that is PRIOR_DOUBT times as wrong."""
    words = []
    for left, off, before, pulled, room in zip(stddev, systematic, prior_stddev, from_prior,
                                               limited):
        if before <= 0:
            words.append("frozen")
        elif (left ** 2 + off ** 2 + (PRIOR_DOUBT ** 2 - 1.0) * pulled ** 2
              < (MEASURED_SHARE * before) ** 2):
            words.append("measured")
        else:
            room = min(np.hypot(left, off), room)
            words.append("weak" if room < WEAK_SHARE * before else "prior")
    return tuple(words)


def at_least(saved: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    """The better of the current flags (p,) and those of a saved estimate (p,) or (): a parameter
    that it measured stays measured, since its deviations come from data."""
    if not saved:
        return words
    return tuple(new if "frozen" in (new, old) else max(new, old, key=KNOWN_FROM_WORDS.index)
                 for new, old in zip(words, saved))


def limited_by_physics(physical: PhysicalSet, pi: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """(p,) standard deviations of pi, truncated to the physical set.

    If parameter i is off by t deviations, the others most likely follow along
    cov[:, i] / stddev[i]. On this line the set is an interval, and the normal distribution is
    truncated to it."""
    stddev = deviations(covariance)
    along = covariance / np.where(stddev > 0, stddev, 1.0)
    up, down = np.full((2, stddev.size), np.inf)
    for lmi in physical.inequalities:
        # Half of epsilon keeps the matrix regular at the edge of the set, despite rounding.
        least = 0.5 * physical.epsilon * np.eye(lmi.basis.shape[1])
        margin = np.tensordot(pi[lmi.places], lmi.basis, 1) - least
        root = np.linalg.inv(np.linalg.cholesky(margin))
        values = np.linalg.eigvalsh(root @ np.tensordot(along[lmi.places].T, lmi.basis, 1) @ root.T)
        with np.errstate(divide="ignore", over="ignore"):    # the set ends beyond all numbers
            up = np.minimum(up, np.where(values[:, 0] < 0, -1 / values[:, 0], np.inf))
            down = np.minimum(down, np.where(values[:, -1] > 0, 1 / values[:, -1], np.inf))
    return stddev * _cut_off(np.minimum(down, FAR), np.minimum(up, FAR))


def _cut_off(down: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Standard deviation of a standard normal distribution truncated to [-down, up], both >= 0."""
    low, high = (np.exp(-.5 * x ** 2) / np.sqrt(2 * np.pi) for x in (down, up))     # densities
    share = np.maximum(ndtr(up) - ndtr(-down), 1e-300)
    variance = 1 - (down * low + up * high) / share - ((low - high) / share) ** 2
    return np.where(up + down < NARROW, (up + down) / np.sqrt(12),
                    np.sqrt(np.maximum(variance, 0.0)))
