"""What the feedforward of a run is told: by the estimator that runs beside, or by the truth."""
from __future__ import annotations

import numpy as np

from ...config import Config
from ...control.feedforward import Feedforward
from ...errors import ParameterError
from ...estimation.estimator import Estimate, Estimator
from ...model.parameter_file import ParameterSet
from ...model.robot import RobotModel
from ...signals.front_end import SignalFrontEnd
from ...simulation.bag import DEFAULT_START
from ...simulation.faults.stream import Received
from ...uncertainty.trust import WRONG
from .loop import Payload


class Adapted:
    """The estimator on the same messages, sample by sample, as the node runs it."""

    def __init__(self, config: Config, model: RobotModel, prior: ParameterSet):
        self.front_end = SignalFrontEnd(config, model)
        self.estimator = Estimator(config, prior, model)
        self.refused = 0    # estimates that the feedforward did not take
        self._estimates: list[Estimate] = []

    def hear(self, message: Received) -> None:
        """Into the front end; what becomes due is learnt at once."""
        self.front_end.add_message(message.role, message.message, message.t)
        for sample in self.front_end.samples():
            estimate = self.estimator.step(sample)
            if estimate is not None:
                self._estimates.append(estimate)

    @property
    def trusted(self) -> bool:
        """Whether a controller should act on the estimate: a solve has succeeded, and no channel's
        predictions are found wrong."""
        return self.estimator.solved and not np.any(self.estimator.trust.levels == WRONG)

    def tell(self, t: float, feedforward: Feedforward) -> None:
        """The newest estimate."""
        if not self._estimates:
            return
        estimate = self._estimates[-1]
        self._estimates.clear()
        try:
            feedforward.update(estimate.pi, None, estimate.t, self.trusted)
        except ParameterError:
            self.refused += 1


class Known:
    """Parameters that are given: without payload, and with it while it is held."""

    def __init__(self, empty: np.ndarray, loaded: np.ndarray | None = None,
                 payload: Payload | None = None):
        self._empty, self._loaded, self._payload = empty, loaded, payload

    def hear(self, message: Received) -> None:
        """Nothing is learnt."""

    def tell(self, t: float, feedforward: Feedforward) -> None:
        """What holds at this time."""
        payload, pi = self._payload, self._empty
        if payload is not None and self._loaded is not None and (
                payload.picked_up <= t - DEFAULT_START < payload.dropped):
            pi = self._loaded
        feedforward.update(pi, None, t, True)
