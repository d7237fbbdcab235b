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

"""The likely cause of lost trust: a common scale, a sensor, or a single channel
(docs/uncertainty.md, "Trust")."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..model.normal import Z999, chi_squared
from ..model.sample import Misread
from .trust import (
    EXCESS,
    MATTERS_BY_STATE,
    MM,
    MP,
    PP,
    ROWS,
    TRUST_OK,
    TRUST_STATES,
    TRUST_WRONG,
    M,
    P,
    has_enough,
    normalized_power,
)

MIN_BATCHES = 8         # batches with rows that the standard error of a factor needs
# Spread of a right model's factors about one: held-out slopes of a simulation are .91 to 1.01.
MODEL_FACTOR = 0.05
LEFT = 0.5              # share of a channel's variance; a scale that leaves more explains nothing
THRUST_CAUSE = "the thrust (thrusters.voltage, battery, thrust curve) and the DVL's scale"
EFFORT_CAUSE = "joint_states.effort_scale and the driver's unit of effort"


class Factors(NamedTuple):
    """Measured effort over predicted per channel: value (C,) and standard error (C,), NaN where
    unknown."""

    value: np.ndarray
    error: np.ndarray


class LostTrust(NamedTuple):
    """A sentence on the channels that are not `ok`, '' if all are; subjects: the channels that are
    wrong, the settings that explain it, and the groups of channels with one scale."""

    sentence: str
    subjects: frozenset[str]


def factors(batches: np.ndarray) -> Factors:
    """What both regressions, of measured on predicted efforts and of predicted on measured ones,
    say of the factor over the batches (k, sums, C) of `ChannelTrust`. Standard errors come from a
    jackknife over batches, so residuals may be correlated within a batch."""
    total = batches.sum(axis=0)
    value = _factor_nearest_one(total)
    each = _factor_nearest_one(total[None] - batches)
    used = batches[:, ROWS] > 0
    n = used.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt((n - 1) / n * np.where(used, (each - value) ** 2, 0.0).sum(axis=0))
    known = (n >= MIN_BATCHES) & np.isfinite(value) & np.isfinite(error)
    return Factors(np.where(known, value, np.nan), np.where(known, error, np.nan))


def _factor_nearest_one(sums: np.ndarray) -> np.ndarray:
    """(..., C) the factor that is nearest to one of those from the slope of measured on predicted
    to the inverse of the other one, from sums (..., sums, C): errors of the predictions make the
    first too small, those of the measurements the second too large."""
    measured, predicted, shared = _about_means(sums)
    slope = np.where(predicted > 1e-12 * np.maximum(sums[..., PP, :], 1e-300),
                     shared / np.maximum(predicted, 1e-300), np.nan)
    smaller = (shared > 0) & (slope < 1)
    return np.where(smaller, np.minimum(measured / np.where(smaller, shared, 1.0), 1.0), slope)


def _about_means(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(..., C) sums of squares of measured and of predicted efforts, and of their products, about
    their means, from sums (..., sums, C)."""
    n, m, p = np.maximum(sums[..., ROWS, :], 1), sums[..., M, :], sums[..., P, :]
    return (sums[..., MM, :] - m ** 2 / n, sums[..., PP, :] - p ** 2 / n,
            sums[..., MP, :] - m * p / n)


def likely_cause(channels: Sequence[str], vehicle_rows: int, levels: np.ndarray,
                 batches: np.ndarray, misread: Sequence[Misread] = ()) -> LostTrust:
    """What is said of the channels whose level (C,) is not `ok`.

    vehicle_rows: number of vehicle channels, which come first; misread: faults of sensors and
    settings; channels that these explain need no other cause."""
    if (levels == TRUST_OK).all():
        return LostTrust("", frozenset())
    found, contradicted = factors(batches), _contradicted(levels, batches)
    vehicle, joints = np.split(np.arange(len(channels)), [vehicle_rows])
    groups = [("all channels", np.arange(len(channels)), "what all efforts share")]
    groups += [("vehicle", vehicle, THRUST_CAUSE), ("joints", joints, EFFORT_CAUSE)]
    said, left = _of_misread(channels, levels, misread), levels > TRUST_OK
    subjects = {one.setting for one in misread
                if (levels[list(one.places)] == TRUST_WRONG).any()}
    for one in misread:
        left[list(one.places)] = False
    for name, places, sensor in groups:
        bad = left[places].sum()
        if bad < 2 or (name == "all channels" and not (left[vehicle].any() and left[joints].any())):
            continue
        worst = TRUST_STATES[int(levels[places].max())]
        scale = common_scale(found, places)
        scale = scale if scale is not None and explains(scale[0], batches, places) else None
        if scale is not None:
            said.append(f"{name} {worst}: one scale, measured effort is {scale[0]:.2f} +- "
                        f"{scale[1]:.2f} times predicted; check {sensor}")
            subjects.add(f"scale of {name}")
        elif (name == "vehicle" and batches[:, PP, places].any()
              and not batches[:, MM, places].any()):
            said.append(f"vehicle {worst}: it moved without thrust (arm, swell, tether); give "
                        "thrust on every axis")
        elif name != "all channels" and bad == places.size and contradicted[places].all():
            said.append(f"{name} {worst} on every channel with no common factor; check {sensor}, "
                        "and the motion sensors")
        else:
            continue
        subjects |= {channels[c] for c in places.tolist() if levels[c] == TRUST_WRONG}
        left[places] = False
    alone = " alone" if left.sum() == 1 and not said else ""
    subjects |= {channels[c] for c in np.flatnonzero(left & (levels == TRUST_WRONG)).tolist()}
    by_state: dict[str, list[str]] = {}
    for c in map(int, np.flatnonzero(left)):
        state = TRUST_STATES[levels[c]] + _factor(found, batches, c, c >= vehicle_rows)
        by_state.setdefault(state, []).append(channels[c])
    said += [f"{', '.join(names)}{alone} {state}" for state, names in by_state.items()]
    if by_state:
        said.append("check its residuals and move it more" if left.sum() == 1
                    else "check their residuals and move them more")
    return LostTrust("; ".join(said), frozenset(subjects))


def _contradicted(levels: np.ndarray, batches: np.ndarray) -> np.ndarray:
    """(C,) bool: channels whose residuals contradict their predictions. One that is doubtful since
    it was never judged, or since its interval is wide, says nothing about a sensor."""
    return has_enough(batches) & ((levels == TRUST_WRONG)
                                  | (normalized_power(batches) > EXCESS[1]))


def _of_misread(channels: Sequence[str], levels: np.ndarray,
                misread: Sequence[Misread]) -> list[str]:
    """A sentence for each set of channels with faulty sensors or settings."""
    settings: dict[tuple[int, ...], dict[str, None]] = {}    # a check may name one twice
    for one in misread:
        settings.setdefault(one.places, {})[one.setting] = None
    return [f"{', '.join(channels[c] for c in places)} "
            f"{TRUST_STATES[max(int(levels[c]) for c in places)]} because of {', '.join(names)}"
            for places, names in settings.items()]


def _factor(found: Factors, batches: np.ndarray, c: int, is_joint: bool) -> str:
    """The factor of channel c, if it is not one and explains the measured efforts.

    A wrong sign is suspected only of a joint whose effort would be `ok` with the other sign: a
    vehicle that waves and current move thrusts against its motion."""
    if (not abs(found.value[c] - 1) > Z999 * found.error[c] + MODEL_FACTOR
            or not explains(found.value[c], batches, np.array([c]))):
        return ""
    turned = is_joint and explains(-1.0, batches, np.array([c]), MATTERS_BY_STATE[0])
    sign = ": is its sign wrong?" if turned else ""
    return (f" (measured effort is {found.value[c]:.2f} +- {found.error[c]:.2f} times predicted"
            f"{sign})")


def explains(scale: float, batches: np.ndarray, places: np.ndarray, most_left: float = LEFT
             ) -> bool:
    """Whether predictions times `scale` leave less than this share of every channel's variance."""
    total = batches[:, :, places].sum(axis=0)
    measured, predicted, shared = _about_means(total)
    left = measured - 2 * scale * shared + scale ** 2 * predicted
    return bool((left < most_left * measured)[total[ROWS] > 0].all())


def common_scale(found: Factors, places: np.ndarray) -> tuple[float, float] | None:
    """(value, standard error) of a common factor of all `places`; None if it may be one, or if the
    factors differ by more than chance and usual model errors allow."""
    value, error = found.value[places], found.error[places]
    # Value and error both zero: no effort was measured, so there is no factor.
    known = np.isfinite(value) & (error + np.abs(value) > 0.0)
    if known.sum() < 2 or known.sum() <= places.size / 2:
        return None
    value = value[known]
    variance = error[known] ** 2 + (MODEL_FACTOR * np.abs(value)) ** 2
    mean = float(np.sum(value / variance) / np.sum(1 / variance))
    stddev = float(1 / np.sqrt(np.sum(1 / variance)))
    different = float(np.sum((value - mean) ** 2 / variance))
    if different > chi_squared(0.999, value.size - 1) or (
            abs(mean - 1) < Z999 * stddev + MODEL_FACTOR):
        return None
    return mean, stddev
