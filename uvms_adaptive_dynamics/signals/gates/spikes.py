"""Rejection before smoothing: raw measurements are held against their neighbours before any filter sees them (DESIGN section 5).

An outlier that has passed a low-pass is no outlier any more. Two gates: `SpikeGate` for signals that are sampled faster
than they move (IMU, joints, thrust, depth), `DriftGate` for a nearly constant one (DVL minus integrated IMU), which also
stands bursts of seconds. Both learn the scale of what they see from all of it, rejected values included: a gate whose
scale was wrong opens by itself.
"""
from __future__ import annotations

from typing import NamedTuple, Sequence

import numpy as np

HALF = 3              # neighbours on either side of a judged value
THRESHOLD = 5.0       # standard deviations; "bad by ten" is caught, one good value in a million is not believed
LOCAL = 6.0           # median deviations within the window itself, so that a curved or jumping signal is no spike
ROUGH = 6.0           # standard deviations of the typical second difference from which a whole window is garbage
NORMAL_MEDIAN = 0.6745
GAP = 0.25            # [s] beyond which neighbours say nothing of each other


class MedianScale:
    """Running standard deviations of W centred values, by the median of their sizes; never below `floor` (W,).

    Each value moves the logarithm of the scale by a fixed step up or down, so that a burst of outliers, however large
    they are, counts no more than as many small values. Plain floats: for ten of them an array costs three times as much.
    """

    def __init__(self, floor: Sequence[float], step: float):
        self._floor, self._step = [float(f) for f in floor], step
        self._count = 0
        self.value = [5.0 * f for f in self._floor]

    def add(self, size: Sequence[float]) -> None:
        """Take in the sizes (W,) of one measurement."""
        self._count += 1
        step = max(self._step, 1.0 / (self._count + 2))
        up, down = 1.0 + step, 1.0 - step
        moved = [v * up if s > NORMAL_MEDIAN * v else v * down for s, v in zip(size, self.value)]
        self.value = [v if v > f else f for v, f in zip(moved, self._floor)]


class Judged(NamedTuple):
    """A released row: its time, the row (W floats) with spikes replaced by the median of their neighbours, which values
    were spikes (W,) or None, and which lie in garbage as a whole (W,) or None."""

    t: float
    row: Sequence[float]
    spikes: np.ndarray | None
    garbage: np.ndarray | None


class SpikeGate:
    """Holds every value against the median of a symmetric window (Hampel), a few samples late.

    A step is no spike: more than half of the window is on its side. `floor` (W,) is the smallest scale believed in the
    signal's units; `lookahead` [s] bounds the wait for later neighbours.
    """

    def __init__(self, floor: Sequence[float], lookahead: float = 0.1):
        self._floor, self._lookahead = floor, lookahead
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._scale = MedianScale(self._floor, 0.02)
        self._times: list[float] = []
        self._rows: list[Sequence[float]] = []
        self._next = 0                    # place of the first row that is not released

    def push(self, t: float, row: Sequence[float]) -> list[Judged]:
        """Take in a row (W floats) later than the last; the rows that are decided now, in order."""
        released = []
        times = self._times
        if times and t - times[-1] > max(GAP, self._lookahead):
            released = self.drain()
            times.clear()
            self._rows.clear()
            self._next = 0
        times.append(t)
        self._rows.append(row)
        while self._next < len(times) and (len(times) - 1 - self._next >= HALF or t - times[self._next] >= self._lookahead):
            released.append(self._judge())
        while self._next > HALF:
            del times[0], self._rows[0]
            self._next -= 1
        return released

    def drain(self) -> list[Judged]:
        """All rows still held, judged with the neighbours they have."""
        return [self._judge() for _ in range(len(self._times) - self._next)]

    def _judge(self) -> Judged:
        c, rows = self._next, self._rows
        self._next += 1
        t, row = self._times[c], rows[c]
        half = min(HALF, c, len(rows) - 1 - c)
        if half == 0:
            return Judged(t, row, None, None)
        # Cheap and enough for nearly all rows: the distance from the middle of the two neighbours. Whether a far value is
        # a spike or lies beside one, or at a step, the median of the window decides.
        scale = self._scale.value
        size = [abs(x - 0.5 * (a + b)) for x, a, b in zip(row, rows[c - 1], rows[c + 1])]
        self._scale.add(size)
        for s, v in zip(size, scale):
            if s > THRESHOLD * v:
                return self._against_median(c, half, np.array(size), THRESHOLD * np.array(scale))
        return Judged(t, row, None, None)

    def _against_median(self, c: int, half: int, size: np.ndarray, limit: np.ndarray) -> Judged:
        """Row c by its window of `half` rows on either side; `size` (W,) from the middle of its neighbours, `limit` (W,)."""
        t, row = self._times[c], np.array(self._rows[c])
        window = np.array(self._rows[c - half:c + half + 1])
        ordered = np.sort(window, axis=0)
        median = ordered[half]
        far = (size > limit) & (np.abs(row - median) > limit)
        local = np.sort(np.abs(window - median), axis=0)[half]
        spikes = far & (np.abs(row - median) > LOCAL * local)
        garbage = None
        if half == HALF:
            bend = np.abs(window[1:-1] - 0.5 * (window[:-2] + window[2:]))
            # One outlier bends three of the five: a window is garbage from four on.
            rough = far & (np.sort(bend, axis=0)[1] > ROUGH * limit / THRESHOLD)
            garbage = rough if rough.any() else None
        if not spikes.any():
            return Judged(t, self._rows[c], None, garbage)
        # The median of the others: on a ramp the median of all would be off by half a step.
        others = 0.5 * (median + np.where(row > median, ordered[half - 1], ordered[half + 1]))
        clean = np.where(spikes, others, row).tolist()
        self._rows[c] = clean              # a spike must not sit in its neighbours' windows
        return Judged(t, clean, spikes, garbage)


class DriftGate:
    """Innovation gate for a vector (3,) that drifts slowly: a random walk of its slope, followed by a Kalman filter.

    `floor` is the smallest standard deviation believed; `wander` is how far the slope walks in a second. After
    `patience` [s] of nothing but rejected values the gate itself is taken to be wrong: it starts again from them when
    they agree with each other, and after three times as long in any case.
    """

    FIRST = 5      # values whose median the gate starts from

    def __init__(self, floor: float, wander: float, patience: float):
        self._floor, self._q, self._patience = floor, (wander / floor) ** 2, patience
        self.reopened = 0
        self.reset()

    def reset(self) -> None:
        """Forget everything but the count of reopenings."""
        self._scale = MedianScale([self._floor] * 3, 0.05)
        self._state: np.ndarray | None = None
        self._held: list[tuple[float, np.ndarray]] = []

    def judge(self, t: float, value: np.ndarray, axes: np.ndarray) -> list[tuple[float, bool]]:
        """[(time, accepted)] of the values decided now; `axes` (3, 3) maps the sensor's axes to those of `value`."""
        if self._state is None:
            self._held.append((t, value))
            if len(self._held) < self.FIRST:
                return []
            return self._start()
        a, b, c = self._predict(t)
        error = (value - self._state[0]) @ axes
        spread = np.sqrt(a + 1.0)
        limit = THRESHOLD * spread * np.array(self._scale.value)
        size = np.abs(error)
        self._scale.add((size / spread).tolist())
        if (size < limit).all():
            # The limit widens while nothing is accepted, so that a wrong gate may also open by itself.
            self.reopened += len(self._held) >= 2 * self.FIRST and self._agree()
            k0, k1 = a / (a + 1.0), b / (a + 1.0)
            innovation = value - self._state[0]
            self._state = self._state + np.array([[k0], [k1]]) * innovation
            self._P = ((1 - k0) * a, (1 - k0) * b, c - k1 * b)
            self._held.clear()
            return [(t, True)]
        self._held.append((t, value))
        waited = t - self._held[0][0]
        if waited > self._patience and (self._agree() or waited > 3 * self._patience):
            self.reopened += 1
            self._held = self._held[-self.FIRST:]
            self._scale = MedianScale([self._floor] * 3, 0.05)
            return [(at, True) for at, good in self._start() if good and at == t] or [(t, False)]
        return [(t, False)]

    def _predict(self, t: float) -> tuple[float, float, float]:
        """Advance to t; covariance entries (offset, offset-slope, slope) in units of the measurement's variance."""
        dt = t - self._t
        a, b, c = self._P
        q = self._q
        self._P = (a + 2 * dt * b + dt * dt * c + q * dt ** 3 / 3, b + dt * c + q * dt * dt / 2, c + q * dt)
        self._state = np.array([self._state[0] + dt * self._state[1], self._state[1]])
        self._t = t
        return self._P

    def _start(self) -> list[tuple[float, bool]]:
        """Begin at the median of the held values; those near it are good."""
        values = np.array([v for _, v in self._held])
        median = np.median(values, axis=0)
        size = np.max(np.abs(values - median), axis=1)
        near = size <= max(5 * np.median(size), 10 * self._floor)
        decided = [(t, bool(ok)) for (t, _), ok in zip(self._held, near)]
        self._t = self._held[-1][0]
        self._state = np.array([median, np.zeros(3)])
        self._P = (1.0, 0.0, 100.0)
        self._held = []
        return decided

    def _agree(self) -> bool:
        """Whether the values held lie near a line of their own, as a good sensor's do and garbage does not."""
        t = np.array([at for at, _ in self._held])
        values = np.array([v for _, v in self._held])
        slope = np.median(np.diff(values, axis=0) / np.diff(t)[:, None], axis=0)
        left = values - slope * (t - t[0])[:, None]
        return bool((np.median(np.abs(left - np.median(left, axis=0)), axis=0) < 10 * self._floor).all())
