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

"""Ends a motion early: choose a fade-out that does not make it faster."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from .basis import envelope
from .trajectory import Trajectory

LOOK_STEP = 0.1  # [s] between the instants at which a motion is evaluated
# in units of the motion's ramp: candidate fade durations, and waits before the fade
FADES, WAITS = (1.0, 1.5, 2.0), (0.0, 0.25, 0.5, 0.75, 1.0)


def ended_early(trajectory: Trajectory, flown: float, at_once: bool) -> Trajectory | None:
    """The motion with an earlier end at its station, after `flown` [s] of it are over.

    Takes the earliest end at which no coordinate becomes faster, or accelerates more, than anywhere
    in the whole motion, else the end with the least excess. at_once: the fade starts now. None if
    the motion cannot end sooner than it does."""
    ramp = trajectory.ramp
    if flown + ramp >= trajectory.duration:
        return None
    if flown < ramp:        # it has hardly begun: its amplitudes are still small
        return replace(trajectory, duration=flown + ramp)
    # A fade no longer than `flown` leaves the part already flown unchanged.
    waits = (0.0,) if at_once else WAITS
    ends = sorted((flown + (wait + fade) * ramp, fade * ramp) for fade in FADES for wait in waits
                  if fade * ramp <= flown and flown + (wait + fade) * ramp < trajectory.duration)
    _, *whole = trajectory.coordinates_at(np.arange(0.0, trajectory.duration, LOOK_STEP))
    peaks = np.abs(whole).max(axis=1)
    moving = peaks > 0.0
    t = np.arange(flown, ends[-1][0] + LOOK_STEP, LOOK_STEP)
    # without an end: how it would continue
    value, rate, acceleration = replace(trajectory, duration=np.inf).coordinates_at(t)
    value = value - trajectory.centre
    excess = []
    for end, fade in ends:
        w, slope, curvature = envelope(t, end, fade)[:, :, None]
        faded = np.abs([w * rate + slope * value,
                        w * acceleration + 2 * slope * rate + curvature * value]).max(axis=1)
        excess.append(float(np.max(faded[moving] / peaks[moving], initial=0.0)))
        if excess[-1] <= 1.0:
            break
    end, fade = ends[int(np.argmin(excess))]
    return replace(trajectory, duration=end, ramp=fade)
