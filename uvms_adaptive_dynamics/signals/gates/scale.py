"""The running scale of a signal, by which the gates judge what is far."""
from __future__ import annotations

from collections.abc import Sequence

NORMAL_MEDIAN = 0.6745    # median size of a normal variable of deviation one
START_FACTOR = 5.0        # of the floor: wide until the signal has been seen


class MedianScale:
    """Running standard deviations (W,) of centred values, by the median of their sizes.

    Each value moves the logarithm of the scale by a fixed step up or down, so a burst of outliers
    counts no more than as many small values, however large they are. Never below `floor` (W,).
    Plain floats: for ten of them a numpy array takes three times as long.
    """

    def __init__(self, floor: Sequence[float], step: float):
        self._floor, self._step = [float(f) for f in floor], step
        self._count = 0
        self.value = [START_FACTOR * f for f in self._floor]

    def add(self, size: Sequence[float]) -> None:
        """Update with the sizes (W,) of one measurement."""
        self._count += 1
        step = max(self._step, 1.0 / (self._count + 2))
        up, down = 1.0 + step, 1.0 - step
        moved = [v * up if s > NORMAL_MEDIAN * v else v * down for s, v in zip(size, self.value)]
        self.value = [v if v > f else f for v, f in zip(moved, self._floor)]
