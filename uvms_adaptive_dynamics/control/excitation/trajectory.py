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

"""A designed motion: pose and joints over time, with the standard deviations that it promises."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...errors import ParameterError
from ..desired_motion import DesiredMotion, desired_motion, placed
from .basis import smooth_step, tones

# Promised share of the present deviation below which a parameter counts as improved: a fifth less.
IMPROVED_SHARE = 0.8
PROMISE_KEPT = 0.8, 1.3  # range of achieved over promised deviation for a promise that was kept
MOST_NAMED = 4      # parameters named in a promise's sentence
VEHICLE_COORDINATES = ("forward", "right", "down", "roll", "pitch", "yaw")


class Promise(NamedTuple):
    """Standard deviations (p,) of the parameters before the motion (present) and after it
    (promised), in the given units; free (p,) bool: parameters estimated meanwhile; at_best (p,):
    promised for the noise of the robot at rest, None if that is not known."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    free: np.ndarray
    present: np.ndarray
    promised: np.ndarray
    at_best: np.ndarray | None = None

    @property
    def improved(self) -> np.ndarray:
        """(p,) bool: free parameters whose deviation should shrink by a fifth or more."""
        return self.free & (self.promised < IMPROVED_SHARE * self.present)

    def sentence(self) -> str:
        """The promise in words: what share of their deviations the improved parameters keep."""
        improved = self.improved
        left = self.promised[improved] / self.present[improved]
        if not left.size:
            return "no parameter's deviation shrinks by a fifth"
        order = np.argsort(left, kind="stable")[:MOST_NAMED]
        names = np.array(self.names)[improved]
        most = ", ".join(f"{names[i]} to {left[i]:.0%}" for i in order)
        return (f"the deviations of {improved.sum()} of {self.free.sum()} parameters shrink by a "
                f"fifth or more, to {np.median(left):.0%} (median); the most improved are {most}")

    def kept(self, achieved: np.ndarray) -> str:
        """Achieved deviations (p,) compared with the promised ones, in words."""
        improved = self.improved
        ratio = achieved[improved] / self.promised[improved]
        if not ratio.size:
            return "nothing was promised"
        low, high = PROMISE_KEPT
        return (f"the deviations of {improved.sum()} parameters are {np.median(ratio):.2f} times "
                f"the promised ones (median), {np.mean((ratio > low) & (ratio < high)):.0%} of "
                f"them within {low:g} to {high:g} times")


@dataclass(frozen=True)
class Trajectory:
    """A motion of `duration` [s] that starts and ends at rest, with ramps of `ramp` [s].

    centre (6 + n,): where it starts and ends: zeros for the vehicle (relative to position, heading
    and level attitude at the start), then the joints [rad or m]; frequencies (6 + n, h) [Hz] and
    amplitudes sine, cosine (6 + n, h) [m, rad] of every coordinate. promise: None if unknown; made:
    how it was designed, for people.
    """

    joints: tuple[str, ...]
    duration: float
    ramp: float
    centre: np.ndarray
    frequencies: np.ndarray
    sine: np.ndarray
    cosine: np.ndarray
    promise: Promise | None = None
    made: Mapping = field(default_factory=dict)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the 6 + n coordinates; the vehicle's are in the axes of the initial heading."""
        return VEHICLE_COORDINATES + self.joints

    @property
    def posture(self) -> np.ndarray:
        """(n,) joint positions at which it starts and ends [rad or m]."""
        return self.centre[6:]

    def coordinates_at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, rate and acceleration (k, 6 + n) of the coordinates at times t (k,) [s] from the
        start; at rest before the start and after the end."""
        amplitudes = np.concatenate([self.sine, self.cosine], axis=1)
        value, rate, acceleration = np.einsum(
            "skdh,dh->skd", tones(np.asarray(t, float), self.frequencies, self.duration,
                                  self.ramp), amplitudes)
        return value + self.centre, rate, acceleration

    def motions(self, t: np.ndarray) -> DesiredMotion:
        """The wanted motion at times t (k,) [s] from the start; every field has k rows."""
        return desired_motion(*self.coordinates_at(t))

    def at(self, t: float) -> DesiredMotion:
        """The wanted motion at time t [s] from the start, for a start at the NED origin with
        heading north."""
        return desired_motion(*(row[0] for row in self.coordinates_at(np.array([t]))))

    def placed(self, position: np.ndarray, heading: float) -> Callable[[float], DesiredMotion]:
        """`at` for a start at a position (3,) NED [m] with a heading [rad, from north to east]."""
        start = np.array(position, float)
        return lambda t: placed(self.at(t), start, heading)


def approach(joints: tuple[str, ...], mu: np.ndarray, posture: np.ndarray,
             speed: np.ndarray) -> tuple[float, Callable[[float], DesiredMotion]]:
    """(duration [s], motion at t): moves the arm from mu (n,) to a posture (n,) by `smooth_step`,
    all joints at once and none faster than speed (n,) [rad/s], while the vehicle stays.

    Raises ParameterError for a joint that would have to move but has zero speed.
    """
    way = np.asarray(posture, float) - mu
    stuck = [name for name, w, v in zip(joints, way, speed) if abs(w) > 1e-9 and not v > 0]
    if stuck:
        raise ParameterError(f"joint '{stuck[0]}' must move to the start of the motion, but its "
                             "speed limit is 0; expected a speed above 0. Set "
                             "excitation.joint_speed.")
    # The polynomial's largest slope is 15/8.
    duration = float(np.max(15 / 8 * np.abs(way) / np.where(speed > 0, speed, 1.0), initial=0.0))
    zeros = np.zeros(6)

    def at(t: float) -> DesiredMotion:
        s = min(max(t / duration, 0.0), 1.0) if duration > 0 else 1.0
        share, slope, curvature = smooth_step(s)
        rate, acceleration = slope / max(duration, 1e-9), curvature / max(duration, 1e-9) ** 2
        return desired_motion(np.concatenate([zeros, mu + share * way]),
                              np.concatenate([zeros, rate * way]),
                              np.concatenate([zeros, acceleration * way]))
    return duration, at
