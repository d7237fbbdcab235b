"""Joint readings against themselves: positions change as the velocities say."""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from .scale import MedianScale, judged

SPAN = 0.1                # [s] over which positions and velocities are compared
# Deviations of the difference that noise alone gives: two positions, and velocities that a driver
# takes from positions over some time.
NOISE_FACTOR = 2.0
SCALE_STEP = 0.02         # of the running scale, for each value
# [rad/s or m/s] Apparent speed from one reading to the next that no arm's joint has, beyond what
# its velocity says: the position has jumped.
JUMP_SPEED = 5.0
# A jump is over once the positions are where the velocities have led since: within an encoder's
# slip, and the drift that a velocity's bias gives [rad/s or m/s].
RETURNED, DRIFT = 0.02, 0.01
REHOMED = 15.0            # [s] after which positions that have not come back are the new ones


# time [s], positions (n,), integrals of the velocities (n,)
_Reading = tuple[float, Sequence[float], Sequence[float]]


class JointConsistency:
    """Judges readings by the change of position less the integral of velocity, of every joint."""

    def __init__(self, joints: int, position_stddev: float):
        self._n, self._floor = joints, NOISE_FACTOR * position_stddev
        self.reset()

    def reset(self) -> None:
        """Forget all readings and the scale."""
        self._scale = MedianScale([self._floor] * self._n, SCALE_STEP)
        self.restart()

    def restart(self) -> None:
        """Forget the readings, as across a gap; the scale stays."""
        self._past: deque[_Reading] = deque()
        self._velocity: Sequence[float] = ()
        self._before_jump: _Reading | None = None      # the last before it, until it is over

    def fits(self, t: float, position: Sequence[float], velocity: Sequence[float]) -> bool:
        """Whether a reading, (n,) and (n,), fits those before it; without velocities it does."""
        if not all(map(math.isfinite, velocity)):
            self.restart()
            return True
        if not self._past:
            integral: Sequence[float] = [0.0] * self._n
        else:
            at, _, before = self._past[-1]
            integral = [i + 0.5 * (t - at) * (u + v)
                        for i, u, v in zip(before, self._velocity, velocity)]
        self._velocity = velocity
        self._past.append((t, position, integral))
        if self._displaced():
            return False
        while len(self._past) > 2 and self._past[1][0] <= t - SPAN:
            self._past.popleft()
        if len(self._past) < 2:
            return True
        return judged(self._scale, _difference(self._past[0], self._past[-1]),
                      t - self._past[-2][0])

    def _displaced(self) -> bool:
        """Whether the positions have jumped, and not come back to where the velocities lead."""
        if len(self._past) < 2:
            return False
        last, now = self._past[-2], self._past[-1]
        if self._before_jump is None:
            if max(_difference(last, now)) <= JUMP_SPEED * (now[0] - last[0]):
                return False
            self._before_jump = last
        since = now[0] - self._before_jump[0]
        back = max(_difference(self._before_jump, now)) <= RETURNED + DRIFT * since
        if back or since > REHOMED:
            self._before_jump = None
            self._past = deque([now])
        return not back


def _difference(a: _Reading, b: _Reading) -> list[float]:
    """Change of position less that of the integral of velocity, of every joint."""
    return [abs(p - q - (i - j)) for p, q, i, j in zip(b[1], a[1], b[2], a[2])]
