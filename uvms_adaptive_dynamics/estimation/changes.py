"""Detection of changes of the robot (a payload, a float, a joint full of sand): hypotheses judged
by what they predict.

After a change the old data, of minutes, outvote the new ones, of seconds, and the robust cost takes
these for outliers: the estimate would not follow for minutes. So where predictions are suddenly far
off, alternatives are estimated, each as if old data said nothing of one part of the robot, and all
predict what comes next. Only if one of them is clearly better that part is re-estimated. A burst of
garbage, a failing sensor or mere noise do not pass: what they teach predicts nothing.
docs/uncertainty.md, "Changes of the robot".
"""
from __future__ import annotations

import logging
from collections import deque
from typing import NamedTuple, Protocol

import numpy as np

from ..config import Config
from ..errors import SolverError
from ..model.parameters import ParameterTable
from ..solvers import Solver
from ..solvers.problem import huber
from ..uncertainty.channel_noise import ChannelNoise, NoiseRecord
from .information import InformationState
from .prediction import Prediction
from .row_excitation import Excited

log = logging.getLogger(__name__)

INTERVAL = 2.0      # [s] of rows that are judged at once, and over which alternatives are compared
# intervals whose median is the reference level; before so many nothing is judged
REFERENCE = 10
# mean Huber cost of a channel that is suddenly far off, over the reference and over what was
# expected
FAR = 5.0
CORNER = 2.0        # expected deviations beyond which a residual counts linearly
# an alternative's cost, as a share of the present estimate's, at which it is believed
BETTER = 0.5
# two alternatives explain the data alike where a likelihood ratio is below 100
ALIKE = 9.2         # 2 ln(100): difference of their costs over independent rows
STILL_OFF = 2.0     # mean Huber cost of all rows that the present estimate must have meanwhile
MATTERS = 0.05      # share of a channel's variation (of efforts, squared) that its residual must be
SEEN = 0.25         # share of an interval in which a channel must have counted to be judged
# What changes by itself; of the vehicle a load changes inertia and weight at once.
WHOLES = {
    "vehicle inertia": "vehicle inertia and restoring",
    "vehicle restoring": "vehicle inertia and restoring",
    "vehicle linear damping": "vehicle damping", "vehicle quadratic damping": "vehicle damping"
}


class Change(NamedTuple):
    """A part of the robot whose dynamics changed: its name, its parameters' places (k,), the noise
    before."""

    part: str
    places: np.ndarray
    noise_before: NoiseRecord


class ChangeDetector(Protocol):
    """What the estimator asks after each row."""

    def judge(self, prediction: Prediction, excited: Excited,
              information: InformationState) -> Change | None:
        """The change that is believed from now on, if any."""

    def break_off(self) -> None:
        """A gap in time."""


class NoChangeDetection:
    """The detector of an estimate that follows no changes."""

    def judge(self, prediction: Prediction, excited: Excited,
              information: InformationState) -> Change | None:
        """See `ChangeDetector`."""
        return None

    def break_off(self) -> None:
        """See `ChangeDetector`."""


class ResidualWatch:
    """Watches residuals, interval by interval. At the end of one in which they were far off
    `flagged` is true: give alternatives to `compare`, and at the end of the next interval `better`
    is the one to be believed, if any.

    quiet: the noise before predictions were off. What the parameters' own uncertainty explains is
    no change, nor is what hardly matters beside the channel's efforts: after a calm the noise is
    small, and any motion shows what the model lacks."""

    def __init__(self, channels: int, period: float, overlap: float = 1.0):
        """overlap: how many neighbouring rows carry the information of an independent one."""
        self._overlap = overlap
        self.alike: list[int] = []
        self._ticks_in_interval, self._ticks = max(1, round(INTERVAL / period)), 0
        self._cost, self._square, self._seen, self._variation = np.zeros((4, channels))
        self._levels: deque[np.ndarray] = deque(maxlen=REFERENCE)
        self._alternatives: np.ndarray | None = None
        self.quiet: NoiseRecord | None = None
        self.flagged = False
        self.better: int | None = None

    def compare(self, alternatives: np.ndarray) -> None:
        """Let alternatives (k, p) predict what comes next beside the present estimate."""
        self._alternatives, self._costs = alternatives, np.zeros(len(alternatives) + 1)
        self._compared = self._ticks = 0

    def add_row(self, prediction: Prediction, counts: np.ndarray, noise: ChannelNoise,
                variation: np.ndarray) -> None:
        """A prediction that was made before its row entered; counts (C,) bool: rows that entered;
        noise known before; variation (C,) of each row, its reference or the present one."""
        if self.quiet is None:
            self.quiet = noise.record()
        self.flagged, self.better = False, None
        self._ticks += 1
        self._variation = np.maximum(self._variation, variation)
        residual, doubt = prediction.residual, np.sqrt(prediction.parameter_variance)
        if self._alternatives is not None:
            off = (prediction.pi - self._alternatives) @ prediction.regressor.T
            residuals = residual + np.vstack([np.zeros(residual.size), off])
            self._costs += huber(
                np.abs(residuals) * (counts / np.hypot(self.quiet.stddev, doubt)),
                CORNER).sum(axis=1)
            self._compared += int(counts.sum())
        else:
            self._cost += huber(np.abs(residual) * (counts / np.hypot(noise.stddev, doubt)), CORNER)
            self._square += residual ** 2 * counts
            self._seen += counts
        if self._ticks == self._ticks_in_interval:
            self._judge(noise)

    def _judge(self, noise: ChannelNoise) -> None:
        if self._alternatives is not None:
            present, best = self._costs[0], int(np.argmin(self._costs[1:]))
            believed = self._costs[best
                                   + 1] < BETTER * present and present > STILL_OFF * self._compared
            self.better = best if believed else None
            excess = (self._costs[1:] - self._costs[best + 1]) / self._overlap
            self.alike = np.flatnonzero(excess < ALIKE).tolist()
        else:
            seen = self._seen > SEEN * self._ticks_in_interval
            matters = self._square > MATTERS * self._variation ** 2 * self._seen
            self._judge_level(np.where(seen, self._cost / np.maximum(self._seen, 1), np.nan),
                              matters, noise)
        self._begin_interval()

    def _begin_interval(self) -> None:
        self._cost[:] = self._square[:] = self._seen[:] = self._variation[:] = 0.0
        self._ticks, self._alternatives = 0, None

    def break_off(self) -> None:
        """A gap in time: the interval that was going on tells nothing."""
        self._begin_interval()
        self.flagged, self.better = False, None

    def _judge_level(self, cost: np.ndarray, matters: np.ndarray, noise: ChannelNoise) -> None:
        """cost (C,): mean of each channel, NaN where it was not seen; matters (C,): whether its
        residuals do.

        What stays far off becomes the reference after some intervals.
        """
        far = False
        if len(self._levels) == REFERENCE:
            levels = np.array(self._levels)
            reference = np.nanmedian(
                np.vstack([levels, np.where(np.isnan(levels).all(axis=0), 1.0, np.nan)]), axis=0)
            far = bool(((cost > FAR * np.maximum(reference, 1.0)) & matters).any())
        self.flagged = far
        if not far:
            self.quiet = noise.record()
        if not np.isnan(cost).all():
            self._levels.append(cost)


class PredictiveChangeDetector:
    """Estimates alternatives, one at a tick, and believes the one that predicts clearly better."""

    def __init__(self, table: ParameterTable, free: np.ndarray, period: float, solver: Solver,
                 overlap: float):
        """free (p,): estimated parameters; period [s]; solver: for the alternatives alone;
        overlap: how many neighbouring rows carry the information of an independent one."""
        self._watch = ResidualWatch(table.channels, period, overlap)
        self._free, self._solver = free, solver
        self._parts = {
            name: places
            for name, places in table.merged(WHOLES).items()
            if free[places].any()
        }
        # alternatives so far, while they are being made
        self._estimated: list[np.ndarray] | None = None

    def judge(self, prediction: Prediction, excited: Excited,
              information: InformationState) -> Change | None:
        """See `ChangeDetector`."""
        watch = self._watch
        watch.add_row(prediction, excited.counts, information.noise,
                      information.excitation.variation)
        if self._estimated is not None:
            self._estimate_next(prediction, information)
        elif watch.flagged:
            # What has left the window is old: its gradient's noise is kept apart from that of what
            # comes.
            information.forget(now=True)
            self._estimated = []
        elif watch.better is not None and watch.quiet is not None:
            # Where several parts explain the data alike, all are named and re-estimated.
            found = [list(self._parts.items())[k] for k in watch.alike]
            return Change(" or ".join(name for name, _ in found),
                          np.concatenate([places for _, places in found]), watch.quiet)
        return None

    def break_off(self) -> None:
        """See `ChangeDetector`."""
        self._watch.break_off()
        self._estimated = None

    def _estimate_next(self, prediction: Prediction, information: InformationState) -> None:
        assert self._estimated is not None
        places = list(self._parts.values())[len(self._estimated)]
        try:
            problem = information.alternative(prediction.pi, self._free, places)
            self._estimated.append(self._solver.solve(problem).pi)
        except (SolverError, np.linalg.LinAlgError) as error:
            log.warning(
                "an alternative estimate at t = %.2f s failed (%s); a change would be found at the "
                "next look",
                prediction.t, error)
            self._estimated = None
            return
        if len(self._estimated) == len(self._parts):
            self._watch.compare(np.array(self._estimated))
            self._estimated = None


def change_detector(config: Config, table: ParameterTable, free: np.ndarray, directional: bool,
                    solver: Solver, overlap: float) -> ChangeDetector:
    """The detector that the settings ask for. Changes are followed with directional forgetting
    below 1."""
    settings = config.estimation
    if directional and settings.follow_changes and settings.forgetting < 1.0 and free.any():
        return PredictiveChangeDetector(table, free, config.filter.period, solver, overlap)
    return NoChangeDetection()
