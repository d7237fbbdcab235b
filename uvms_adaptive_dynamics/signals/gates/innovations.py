"""Outliers and bursts in a vector that drifts slowly, found by a Kalman filter's innovations."""
from __future__ import annotations

import numpy as np

from .scale import MedianScale

INNOVATION_SIGMAS = 5.0
INNOVATION_SCALE_STEP = 0.05   # of the running scale, for each value
START_VALUES = 5               # whose median the gate starts from
FORCED_RESTART = 3.0           # times the patience, after which the gate restarts in any case


class InnovationGate:
    """Innovation gate for a vector (3,) whose slope is a random walk.

    `floor` is the smallest standard deviation, `wander` the deviation of the slope's change in a
    second. After `patience` [s] of rejected values alone the gate itself is assumed to be wrong: it
    restarts from them if they agree with each other, and after three times as long in any case.
    """

    def __init__(self, floor: float, wander: float, patience: float):
        self._floor, self._q, self._patience = floor, (wander / floor) ** 2, patience
        self.restarts = 0
        self.reset()

    def reset(self) -> None:
        """Forget everything but the count of restarts."""
        self._scale = MedianScale([self._floor] * 3, INNOVATION_SCALE_STEP)
        self._state: np.ndarray | None = None     # (2, 3) value and slope
        self._t = 0.0
        # variance of the value, covariance with the slope, variance of the slope, in units of the
        # measurement's variance; the same for all axes
        self._variances = (1.0, 0.0, 100.0)
        self._rejected: list[tuple[float, np.ndarray]] = []

    def gate(self, t: float, value: np.ndarray, axes: np.ndarray) -> list[tuple[float, bool]]:
        """[(time, accepted)] of the values decided now, after adding one.

        `axes` (3, 3) maps the sensor's axes, in which the scale is kept, to those of `value`.
        """
        if self._state is None:
            self._rejected.append((t, value))
            return self._start() if len(self._rejected) >= START_VALUES else []
        state, (a, b, c) = self._predict(self._state, t)
        self._state = state
        error = (value - state[0]) @ axes
        spread = np.sqrt(a + 1.0)
        limit = INNOVATION_SIGMAS * spread * np.array(self._scale.value)
        size = np.abs(error)
        self._scale.add((size / spread).tolist())
        if (size < limit).all():
            # The limit widens while nothing is accepted: a wrong gate may also open this way.
            self.restarts += len(self._rejected) >= 2 * START_VALUES and self._rejected_agree()
            k0, k1 = a / (a + 1.0), b / (a + 1.0)
            self._state = state + np.array([[k0], [k1]]) * (value - state[0])
            self._variances = ((1 - k0) * a, (1 - k0) * b, c - k1 * b)
            self._rejected.clear()
            return [(t, True)]
        self._rejected.append((t, value))
        waited = t - self._rejected[0][0]
        if waited > self._patience and (self._rejected_agree()
                                        or waited > FORCED_RESTART * self._patience):
            return self._restart(t)
        return [(t, False)]

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
        median = np.median(values, axis=0)
        size = np.max(np.abs(values - median), axis=1)
        near = size <= max(5 * np.median(size), 10 * self._floor)
        decided = [(t, bool(ok)) for (t, _), ok in zip(self._rejected, near)]
        self._t = self._rejected[-1][0]
        self._state = np.array([median, np.zeros(3)])
        self._variances = (1.0, 0.0, 100.0)
        self._rejected = []
        return decided

    def _rejected_agree(self) -> bool:
        """Whether the rejected values lie near a line, as a good sensor's do and noise does not."""
        t = np.array([at for at, _ in self._rejected])
        values = np.array([v for _, v in self._rejected])
        slope = np.median(np.diff(values, axis=0) / np.diff(t)[:, None], axis=0)
        left = values - slope * (t - t[0])[:, None]
        spread = np.median(np.abs(left - np.median(left, axis=0)), axis=0)
        return bool((spread < 10 * self._floor).all())
