"""Has the robot changed (a payload, a float, a joint full of sand)? Parts of it are learnt anew only where that predicts better.

After a change the old data, of minutes, outvote the new ones, of seconds; the robust cost takes these for outliers, and the tracked noise
grows until they hardly count: the estimate would not follow for minutes. So where predictions are suddenly far off, other estimates
are made beside the one in use, each as if one part of the robot had become another one (`forgetting.Renewal`), and all predict what comes
next. Only if one of them is clearly better that part is learnt anew. A burst of garbage, a sensor that fails or mere noise do not pass:
what they teach predicts nothing.
"""
from __future__ import annotations

import logging
from collections import deque
from typing import Callable

import numpy as np

from ..uncertainty.channel_noise import ChannelNoise
from ..errors import SolverError
from .horizon import Horizon
from ..solvers.problem import huber
from ..model.parameters import ParameterTable
from .low_pass import Row
from ..uncertainty.gradient_covariance import Score
from ..solvers import Solver

log = logging.getLogger(__name__)

LOOK = 2.0          # [s] of rows that are judged at once, and over which estimates are compared
USUAL = 10          # looks whose median is what is usual; before so many nothing is judged, predictions being off from the start
FAR = 5.0           # mean Huber cost of a channel that is suddenly far off, as a multiple of the usual and of what was expected
CORNER = 2.0        # expected deviations beyond which a residual counts linearly
BETTER = 0.5        # another estimate's cost, as a share of that in use, at which it is believed
STILL_OFF = 2.0     # mean Huber cost of all rows that the estimate in use must have while others are compared with it
MATTERS = 0.05      # share of a channel's variation (of efforts, squared), usual or of now, that its residual must be for that
SEEN = 0.25         # share of a look in which a channel must have counted to be judged
# What changes by itself; of the vehicle a load changes inertia and weight at once.
WHOLES = {"vehicle inertia": "vehicle inertia and restoring", "vehicle restoring": "vehicle inertia and restoring",
          "vehicle linear damping": "vehicle damping", "vehicle quadratic damping": "vehicle damping"}


class ChangeWatch:
    """Watches the residuals of predictions. `suspicious` is true at the end of a look in which they were far off: give other estimates
    to `compare`, and at the end of the next look `better` is the one to be believed, if any.

    quiet (C,): the noise before predictions were off. What the parameters' own doubt explains is no change, nor is what hardly matters
    beside the channel's efforts: after a calm the noise is small, and any motion shows what the model lacks.
    """

    def __init__(self, channels: int, period: float):
        self._look, self._ticks = max(1, round(LOOK / period)), 0
        self._cost, self._square, self._seen, self._variation = np.zeros((4, channels))
        self._looks: deque[np.ndarray] = deque(maxlen=USUAL)
        self._others: np.ndarray | None = None
        self.quiet: np.ndarray | None = None
        self.suspicious, self.better = False, None

    def compare(self, others: np.ndarray) -> None:
        """Let other estimates (k, p) predict what comes next beside the one in use."""
        self._others, self._costs, self._compared, self._ticks = others, np.zeros(len(others) + 1), 0, 0

    def push(self, Y: np.ndarray, pi: np.ndarray, residual: np.ndarray, counts: np.ndarray, noise: np.ndarray, doubt: np.ndarray,
             variation: np.ndarray) -> None:
        """An instant's regressor (C, p), the estimate (p,) that predicted it, residuals (C,), which rows count, the noise (C,) known before,
        the deviation (C,) of the predictions that the parameters' own covariance makes, and the variation (C,) of each row, usual or of now."""
        if self.quiet is None:
            self.quiet = noise
        self.suspicious, self.better = False, None
        self._ticks += 1
        self._variation = np.maximum(self._variation, variation)
        if self._others is not None:
            residuals = residual + np.vstack([np.zeros(residual.size), (pi - self._others) @ Y.T])
            self._costs += huber(np.abs(residuals) * (counts / np.hypot(self.quiet, doubt)), CORNER).sum(axis=1)
            self._compared += int(counts.sum())
        else:
            self._cost += huber(np.abs(residual) * (counts / np.hypot(noise, doubt)), CORNER)
            self._square += residual ** 2 * counts
            self._seen += counts
        if self._ticks == self._look:
            self._judge(noise)

    def _judge(self, noise: np.ndarray) -> None:
        """A look has ended."""
        if self._others is not None:
            used, best = self._costs[0], int(np.argmin(self._costs[1:]))
            believed = self._costs[best + 1] < BETTER * used and used > STILL_OFF * self._compared
            self.better = best if believed else None
        else:
            seen = self._seen > SEEN * self._look
            matters = self._square > MATTERS * self._variation ** 2 * self._seen
            self._judge_look(np.where(seen, self._cost / np.maximum(self._seen, 1), np.nan), matters, noise)
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._cost[:] = self._square[:] = self._seen[:] = self._variation[:] = 0.0
        self._ticks, self._others = 0, None

    def break_off(self) -> None:
        """A gap in time: the look that was going on tells nothing."""
        self._begin_anew()
        self.suspicious, self.better = False, None

    def _judge_look(self, cost: np.ndarray, matters: np.ndarray, noise: np.ndarray) -> None:
        """cost (C,): mean of each channel, nan where it was not seen; matters (C,): whether its residuals do.

        What stays far off becomes usual after some looks.
        """
        far = False
        if len(self._looks) == USUAL:
            looks = np.array(self._looks)
            usual = np.nanmedian(np.vstack([looks, np.where(np.isnan(looks).all(axis=0), 1.0, np.nan)]), axis=0)
            far = bool(((cost > FAR * np.maximum(usual, 1.0)) & matters).any())
        self.suspicious = far
        if not far:
            self.quiet = noise
        if not np.isnan(cost).all():
            self._looks.append(cost)


class ChangeFollower:
    """Makes the other estimates, one at a tick, and learns a part anew once one of them is believed.

    Of the estimator's own: horizon (with directional forgetting), score and noise. make_solver: a solver for the other estimates, whose
    own keeps what it knows of its problems.
    """

    def __init__(self, table: ParameterTable, free: np.ndarray, period: float, horizon: Horizon, score: Score, noise: ChannelNoise,
                 make_solver: Callable[[], Solver]):
        self._watch = ChangeWatch(table.channels, period)
        self._horizon, self._score, self._noise, self._free = horizon, score, noise, free
        self._parts = {name: places for name, places in table.merged(WHOLES).items() if free[places].any()}
        self._make_solver, self._solver = make_solver, None
        self._others: list[np.ndarray] | None = None      # while they are being made

    def push(self, row: Row, pi: np.ndarray, residual: np.ndarray, counts: np.ndarray, doubt: np.ndarray, variation: np.ndarray) -> str | None:
        """A row that has entered the horizon and the rest as for `ChangeWatch.push`; the part that is learnt anew from now on, if any."""
        watch = self._watch
        watch.push(row.Y, pi, residual, counts, self._noise.stddev, doubt, variation)
        if self._others is not None:
            self._other_estimate(row.t, pi)
        elif watch.suspicious:
            # What has left the window is old; the noise of its gradient is then apart from that of what comes.
            forgotten = self._horizon.forget(now=True)
            if forgotten is not None:
                self._score.forget(forgotten)
            self._others = []
        elif watch.better is not None:
            part, places = list(self._parts.items())[watch.better]
            self._score.renew(self._horizon.renew(self._horizon.renewal(places, pi)))
            self._noise.put_back(watch.quiet)
            return part
        return None

    def break_off(self) -> None:
        """A gap in time."""
        self._watch.break_off()
        self._others = None

    def _other_estimate(self, t: float, pi: np.ndarray) -> None:
        self._solver = self._solver or self._make_solver()
        places = list(self._parts.values())[len(self._others)]
        try:
            problem = self._horizon.problem(pi, self._free, self._horizon.renewal(places, pi))
            self._others.append(self._solver.solve(problem).pi)
        except SolverError as error:
            log.warning("another estimate at t = %.2f s failed; whether the robot has changed is looked at later: %s", t, error)
            self._others = None
            return
        if len(self._others) == len(self._parts):
            self._watch.compare(np.array(self._others))
            self._others = None
