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

"""Outliers and bursts in a slowly drifting vector, detected by a Kalman filter's innovations
(docs/signals.md, "Rejection before smoothing")."""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .scale import START_FACTOR, RunningScale
from .tracked_line import TrackedLine
from .undecided_values import Undecided, UndecidedValues

INNOVATION_SIGMAS = 5.0
INNOVATION_SCALE_STEP = 0.05   # relative step of the running scale per value
START_VALUES = 5               # number of values whose median initializes the gate
# Scatter of START_VALUES normal values about their line over their noise, exceeded in 99 % of
# cases. With underestimated noise, the filter turns noise into slope and rejects contrary values.
LEAST_SCATTER = 0.48
# Rejected values after which the measurement is doubted, and consecutive fitting values that end
# the doubt: two define a line, two confirm it. They must span a share of the time of doubt, with a
# mean square in standard deviations that one in 3000 sets of twelve normal values exceeds.
DOUBTED_VALUES, FITTING_VALUES = 3, 4
FITTING_SHARE, FITTING_SQUARE = 0.1, 3.0
JUMP_PATIENCE = 15.0           # [s] longer than any burst of garbage
# Distance from a constant drift, in floors, that is allowed besides the noise.
DRIFT_FLOORS = 4.0
DRIFT_LEAD = 0.2               # [s] by which the reference may be ahead of the values
AGREED = 3.0                   # usual deviations within which values count as on a line
WHITE = 1.5                    # ratio of two medians of noise beyond which one is of something else


class _Return(NamedTuple):
    """Consecutive fitting values: the track updated with them, the time [s] of the first, their
    errors (k, 3) in standard deviations, and whether the first jumped away from the rejected value
    before it."""

    track: TrackedLine
    begin: float
    errors: np.ndarray
    jumped: bool


class InnovationGate:
    """Innovation gate for a vector (3,) whose slope is a random walk.

    `floor`, `largest`: bounds of a measurement's standard deviation; `slope`: initial standard
    deviation of the slope; `wander`: that of its change in a second. After `patience` [s] of
    nothing but rejected values, the gate assumes that it is wrong itself: if the newest values
    agree with each other, it restarts from them. It never starts from values that change by more
    than `steepest` per second.

    If values leave the prediction faster than that, they have jumped, and the measurement is
    assumed to be wrong for up to JUMP_PATIENCE. After several rejected values, several in a row
    must fit before values are accepted again, since a wrong scale crosses the truth now and then.
    Once the prediction is so uncertain that it would accept what it has rejected, only a jump can
    bring them back: what continues wrong values is wrong, wherever it leads.

    If values leave the prediction without a jump and follow a slope that is constant in the
    sensor's axes, they are right, and their reference has changed. `drift` (3,) is that slope in
    the sensor's axes if the last value has revealed it, else None. The gate then continues,
    expecting values from which the caller has subtracted the drift.

    While a second sensor may be among the values (`note_crowded`), the scale stays as it is: values
    of that sensor that pass by chance must not widen it until all of them do.
    """

    def __init__(self, floor: float, largest: float, slope: float, wander: float, patience: float,
                 steepest: float = math.inf):
        self._floor, self._largest = floor, largest
        self._slope_variance, self._q = slope ** 2, wander ** 2
        self._usual_patience, self._steepest = patience, steepest
        self.restarts = 0
        self._crowded = False
        self.drift: np.ndarray | None = None
        self.reset()

    def reset(self) -> None:
        """Forget everything except the count of restarts."""
        self._begin_scale(0.0)
        self._track: TrackedLine | None = None
        self._accepted = 0.0        # [s] of the last accepted value
        self._rejected = UndecidedValues()
        self._jump = 0.0            # size of the jump with which the rejections began
        self._away = 0.0            # largest distance of a rejected value from the prediction
        self._return: _Return | None = None

    def note_crowded(self, crowded: bool) -> None:
        """Note whether a second sensor may be among the values from now on."""
        self._crowded = crowded

    @property
    def noise(self) -> float:
        """Standard deviation of accepted values, root mean square over the axes."""
        return math.sqrt(sum(each * each for each in self._accepted_scale.value) / 3)

    @property
    def _patience(self) -> float:
        return JUMP_PATIENCE if self._jump else self._usual_patience

    def gate(self, t: float, value: np.ndarray, axes: np.ndarray) -> list[tuple[float, bool]]:
        """Add a value (3,); returns [(time, accepted)] of the values decided now.

        `axes` (3, 3) maps the sensor's axes, in which the scale is kept, to those of `value`.
        """
        self.drift = None
        if self._track is None:
            self._rejected.add(Undecided(t, value, axes))
            return self._start() if len(self._rejected) >= START_VALUES else []
        spacing = t - self._track.t
        self._track = self._track.at(t, self._q)
        jumped = self._has_jumped(value, axes)
        back = self._return
        if back is None or jumped:
            back = _Return(self._track, t, np.zeros((0, 3)), jumped)
        track = back.track.at(t, self._q)
        scale = self._scale_of(back)
        error = (value - track.state[0]) @ axes
        spread = np.sqrt(track.variances[0] + scale ** 2)
        limit = INNOVATION_SIGMAS * spread
        if self._jump and not back.jumped:
            limit = np.minimum(limit, 0.5 * self._jump)
        if self._may_begin(back) and (np.abs(error) < limit).all():
            self._return = _Return(track.with_value(value, float(np.mean(scale ** 2))), back.begin,
                                   np.vstack([back.errors, np.abs(error) / spread]), back.jumped)
            if not self._is_doubted(t):
                return self._accept(np.abs(error))
        else:
            if not self._crowded:
                self._scale.doubt(spacing)
            self._return = None
            self._away = max(self._away, float(np.linalg.norm(value - self._track.state[0])))
        if not self._jump and self._leaves_by_jump(t, value, float(np.linalg.norm(limit))):
            self._jump = float(np.linalg.norm(error))
        self._rejected.add(Undecided(t, value, axes))
        waited = t - self._rejected[0].t > self._patience
        # A line that has just begun has no past to compare with.
        if waited and not self._jump and self._accepted_scale.is_settled:
            self.drift = self._constant_slope()
            if self.drift is not None:
                return self._go_on()
        while t - self._rejected[0].t > self._patience:
            self._rejected.remove_first()
        return self._restart(t) if waited and self._rejected_agree() else [(t, False)]

    def _may_begin(self, back: _Return) -> bool:
        """Whether the next value may be the first to fit, or continues those that do."""
        return bool(back.jumped or len(back.errors) or len(self._rejected) < DOUBTED_VALUES - 1
                    or INNOVATION_SIGMAS * math.sqrt(back.track.variances[0]) < self._away)

    def _scale_of(self, values: _Return) -> np.ndarray:
        """(3,) standard deviation expected of these values. Rejected values widen the scale, which
        then proves no second jump."""
        return np.array((self._accepted_scale if values.jumped else self._scale).value)

    def _leaves_by_jump(self, t: float, value: np.ndarray, limit: float) -> bool:
        """Whether the values from the first rejected one to this have left the prediction by more
        than `limit` before their slope could lead them there. One alone may have any slope; several
        show theirs."""
        assert self._track is not None
        if math.isinf(self._steepest) or len(self._rejected) not in (0, DOUBTED_VALUES - 1):
            return False
        begin, first = self._rejected[0][:2] if self._rejected else (t, value)
        error = first - self._track.state[0] + (t - begin) * self._track.state[1]
        slope = self._steepest
        if self._rejected:
            rise = (value - first) / (t - begin) - self._track.state[1]
            slope = min(slope, float(np.linalg.norm(rise)))
        return float(np.linalg.norm(error)) > limit + slope * (begin - self._accepted)

    def _has_jumped(self, value: np.ndarray, axes: np.ndarray) -> bool:
        """Whether doubted values have jumped from the last one to this."""
        if len(self._rejected) < DOUBTED_VALUES - 1:
            return False
        step = np.abs((value - self._rejected[-1].value) @ axes)
        noise = math.sqrt(2.0) * np.array(self._accepted_scale.value)
        return bool((step > INNOVATION_SIGMAS * noise).any())

    def _constant_slope(self) -> np.ndarray | None:
        """(3,) constant slope in the sensor's axes by which the rejected values continue from the
        last accepted one; None if no slope explains them."""
        assert self._track is not None
        first, (_, slope) = self._rejected[0], self._track.state
        drift = self._rejected.steady_drift(slope)
        start = self._track.state[0] - (self._track.t - first.t) * slope
        near = max(DRIFT_FLOORS * self._floor, self.noise)
        gap = drift.begin - start - first.axes @ drift.slope * (first.t - self._accepted)
        if (drift.spread > near or np.linalg.norm(gap) > INNOVATION_SIGMAS * near
                or self._is_steep(drift.slope)):
            return None
        return drift.slope

    def _go_on(self) -> list[tuple[float, bool]]:
        """Continue from the newest rejected value, which is right, with the previous slope."""
        assert self._track is not None and self.drift is not None
        (t, newest, _), (_, slope) = self._rejected[-1], self._track.state
        # The caller may not have subtracted all of the drift yet.
        spread = max(self._floor, self.noise) + DRIFT_LEAD * float(np.linalg.norm(self.drift))
        self._track = TrackedLine(t, np.array([newest, slope]),
                                  (spread ** 2, 0.0, self._slope_variance))
        self._accepted, self._return, self._away = t, None, 0.0
        self._rejected.clear()
        return [(t, True)]

    def _restart(self, t: float) -> list[tuple[float, bool]]:
        """Restart from the newest rejected values; only the one at t is still undecided."""
        self.restarts += 1
        self._rejected.keep_newest(START_VALUES)
        return [(at, True) for at, good in self._start() if good and at == t] or [(t, False)]

    def _is_doubted(self, t: float) -> bool:
        """Whether the fitting values are still too few to outweigh the rejected ones before them.
        """
        assert self._return is not None
        begin, errors = self._return.begin, self._return.errors
        if len(self._rejected) - len(errors) < DOUBTED_VALUES - 1:
            return False
        return bool(len(errors) < FITTING_VALUES or np.mean(errors ** 2) > FITTING_SQUARE
                    or t - begin < FITTING_SHARE * (begin - self._accepted))

    def _accept(self, size: np.ndarray) -> list[tuple[float, bool]]:
        """Accept the fitting values; `size` (3,): magnitude of the newest innovation."""
        assert self._return is not None
        # The limit widens while nothing is accepted, so a wrong gate may open here: a restart too.
        self.restarts += (not self._jump and len(self._rejected) >= 2 * START_VALUES
                          and self._rejected_agree())
        if not self._crowded:
            for error in self._return.errors:
                self._scale.add((error * self._scale_of(self._return)).tolist())
            self._accepted_scale.add(size.tolist())
        self._track = self._return.track
        self._accepted, self._return, self._jump, self._away = self._track.t, None, 0.0, 0.0
        self._rejected.clear()
        return [(self._track.t, True)]

    def _start(self) -> list[tuple[float, bool]]:
        """Start from the median of the values held; those near it are accepted."""
        if self._is_steep(self._rejected.slope()):
            return [(self._rejected.remove_first().t, False)]
        t, values = self._rejected.times().tolist(), self._rejected.values()
        median = np.median(values, axis=0)
        size = np.max(np.abs(values - median), axis=1)
        near = size <= max(5 * np.median(size), 10 * self._floor)
        self._begin_scale(self._rejected.scatter(near) / LEAST_SCATTER)
        self._accepted, self._return, self._jump, self._away = t[-1], None, 0.0, 0.0
        # The median belongs to the middle of the values; predict it to the last one.
        age, scale = t[-1] - t[len(t) // 2], self._scale.value[0]
        self._track = TrackedLine(self._accepted - age, np.array([median, np.zeros(3)]), (
            scale ** 2 / len(size), 0.0, self._slope_variance)).at(self._accepted, self._q)
        self._rejected.clear()
        return list(zip(t, near.tolist()))

    def _rejected_agree(self) -> bool:
        """Whether the rejected values lie near a line, as garbage does not, scatter about it no
        more than from one to the next, as motion does not, and have a slope to which the track's
        may have drifted, as a wrong scale, which follows the motion, has not."""
        if len(self._rejected) < START_VALUES:
            return False
        assert self._track is not None
        slope = self._rejected.slope()
        spread, of_noise = self._rejected.spread(slope), self._rejected.spread_of_steps()
        turned = np.abs(slope - self._track.state[1])
        near = (spread < max(10 * self._floor, AGREED * self.noise)
                and spread < max(DRIFT_FLOORS * self._floor, WHITE * of_noise))
        return bool(near and not self._is_steep(slope) and (
            turned < INNOVATION_SIGMAS * math.sqrt(self._track.variances[2])).all())

    def _is_steep(self, slope: np.ndarray) -> bool:
        """Whether a slope (3,) per second is steeper than values can have."""
        return bool(np.linalg.norm(slope) > self._steepest)

    def _begin_scale(self, spread: float) -> None:
        """Initialize the scales with standard deviation `spread`, within the allowed bounds."""
        first = min(max(spread / self._floor, START_FACTOR), self._largest / self._floor)
        self._scale = RunningScale([self._floor] * 3, INNOVATION_SCALE_STEP, first, START_VALUES)
        # of accepted values; never widened
        self._accepted_scale = RunningScale([self._floor] * 3, INNOVATION_SCALE_STEP, first,
                                           START_VALUES)
