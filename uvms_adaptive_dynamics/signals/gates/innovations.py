"""Outliers and bursts in a vector that drifts slowly, found by a Kalman filter's innovations."""
from __future__ import annotations

import math

import numpy as np

from .scale import MedianScale

INNOVATION_SIGMAS = 5.0
INNOVATION_SCALE_STEP = 0.05   # of the running scale, for each value
START_VALUES = 5               # whose median the gate starts from
# Rejected in a row, after which the measurement is doubted; and that fit, after which it is not.
FITTING_VALUES = 3
JUMP_PATIENCE = 15.0           # [s] longer than a burst of garbage lasts


class InnovationGate:
    """Innovation gate for a vector (3,) whose slope is a random walk.

    `floor` is the smallest standard deviation, `wander` the deviation of the slope's change in a
    second. After `patience` [s] of rejected values alone the gate itself is assumed to be wrong: it
    restarts from the newest of them, if they agree with each other. Nothing is begun from values
    that rise or fall by more than `steepest` per second.

    Values that leave the prediction faster than that have jumped: then it is the measurement that
    is wrong, for up to JUMP_PATIENCE. After several rejected values several in a row have to fit
    before they count again: a wrong scale crosses the truth now and then.
    """

    def __init__(self, floor: float, wander: float, patience: float, steepest: float = math.inf):
        self._floor, self._q = floor, (wander / floor) ** 2
        self._usual_patience, self._steepest = patience, steepest
        self.restarts = 0
        self.reset()

    def reset(self) -> None:
        """Forget everything but the count of restarts."""
        self._scale = MedianScale([self._floor] * 3, INNOVATION_SCALE_STEP)
        self._state: np.ndarray | None = None     # (2, 3) value and slope
        self._t = self._accepted = 0.0            # [s] of the last value, and the last accepted
        # variance of the value, covariance with the slope, variance of the slope, in units of the
        # measurement's variance; the same for all axes
        self._variances = (1.0, 0.0, 100.0)
        self._rejected: list[tuple[float, np.ndarray]] = []
        self._jump = 0.0            # size of the jump that the rejected values began with
        self._fitting = 0           # values in a row that fit

    @property
    def _patience(self) -> float:
        return JUMP_PATIENCE if self._jump else self._usual_patience

    def gate(self, t: float, value: np.ndarray, axes: np.ndarray) -> list[tuple[float, bool]]:
        """[(time, accepted)] of the values decided now, after adding one.

        `axes` (3, 3) maps the sensor's axes, in which the scale is kept, to those of `value`.
        """
        if self._state is None:
            self._rejected.append((t, value))
            return self._start() if len(self._rejected) >= START_VALUES else []
        spacing = t - self._t
        state, (a, b, c) = self._predict(self._state, t)
        self._state = state
        error = (value - state[0]) @ axes
        spread = np.sqrt(a + 1.0)
        limit = INNOVATION_SIGMAS * spread * np.array(self._scale.value)
        size = np.abs(error)
        if self._jump:
            limit = np.minimum(limit, 0.5 * self._jump)
        fits = bool((size < limit).all())
        if fits:
            self._scale.add((size / spread).tolist())
        else:
            self._scale.doubt(spacing)
        self._fitting = self._fitting + 1 if fits else 0
        doubted = len(self._rejected) >= FITTING_VALUES
        if fits and (not doubted or self._fitting >= FITTING_VALUES):
            # The limit widens while nothing is accepted: a wrong gate may also open this way.
            self.restarts += (not self._jump and len(self._rejected) >= 2 * START_VALUES
                              and self._rejected_agree())
            self._accepted = t
            k0, k1 = a / (a + 1.0), b / (a + 1.0)
            self._state = state + np.array([[k0], [k1]]) * (value - state[0])
            self._variances = ((1 - k0) * a, (1 - k0) * b, c - k1 * b)
            self._rejected.clear()
            self._jump = 0.0
            return [(t, True)]
        if not self._rejected and np.linalg.norm(error) > (
                np.linalg.norm(limit) + self._steepest * (t - self._accepted)):
            self._jump = float(np.linalg.norm(error))
        self._rejected.append((t, value))
        waited = t - self._rejected[0][0] > self._patience
        while t - self._rejected[0][0] > self._patience:
            del self._rejected[0]
        return self._restart(t) if waited and self._rejected_agree() else [(t, False)]

    def _restart(self, t: float) -> list[tuple[float, bool]]:
        """Start again from the newest rejected values; only the one at t is still to be decided."""
        self.restarts += 1
        self._rejected = self._rejected[-START_VALUES:]
        self._scale = MedianScale([self._floor] * 3, INNOVATION_SCALE_STEP)
        return [(at, True) for at, good in self._start() if good and at == t] or [(t, False)]

    def _predict(self, state: np.ndarray,
                 t: float) -> tuple[np.ndarray, tuple[float, float, float]]:
        """(state (2, 3), variances) at t."""
        dt = t - self._t
        a, b, c = self._variances
        q = self._q
        self._variances = (a + 2 * dt * b + dt * dt * c + q * dt ** 3 / 3,
                           b + dt * c + q * dt * dt / 2, c + q * dt)
        self._t = t
        return np.array([state[0] + dt * state[1], state[1]]), self._variances

    def _start(self) -> list[tuple[float, bool]]:
        """Begin at the median of the values held; those near it are accepted."""
        values = np.array([v for _, v in self._rejected])
        if self._is_steep(self._line()[2]):
            return [(self._rejected.pop(0)[0], False)]
        median = np.median(values, axis=0)
        size = np.max(np.abs(values - median), axis=1)
        near = size <= max(5 * np.median(size), 10 * self._floor)
        decided = [(t, bool(ok)) for (t, _), ok in zip(self._rejected, near)]
        self._t = self._accepted = self._rejected[-1][0]
        self._jump, self._fitting = 0.0, 0
        self._state = np.array([median, np.zeros(3)])
        self._variances = (1.0, 0.0, 100.0)
        self._rejected = []
        return decided

    def _rejected_agree(self) -> bool:
        """Whether the rejected values lie near a line, as a good sensor's do and noise does not."""
        if len(self._rejected) < START_VALUES:
            return False
        t, values, slope = self._line()
        left = values - slope * (t - t[0])[:, None]
        spread = np.median(np.abs(left - np.median(left, axis=0)), axis=0)
        return bool((spread < 10 * self._floor).all()) and not self._is_steep(slope)

    def _is_steep(self, slope: np.ndarray) -> bool:
        """Whether a slope (3,) per second is none that values can have."""
        return bool(np.linalg.norm(slope) > self._steepest)

    def _line(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(times (k,), values (k, 3), slope (3,)) of the rejected values, the slope as the median
        of all pairs (Theil and Sen)."""
        t = np.array([at for at, _ in self._rejected])
        values = np.array([v for _, v in self._rejected])
        i, j = np.triu_indices(len(t), 1)
        slopes = (values[j] - values[i]) / (t[j] - t[i])[:, None]
        return t, values, np.median(slopes, axis=0)
