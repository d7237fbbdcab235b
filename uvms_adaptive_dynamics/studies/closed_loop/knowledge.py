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

"""What the feedforward of a run is told: by the estimator that runs beside, or by the truth."""
from __future__ import annotations

import math

import numpy as np

from ...config import Config
from ...control.feedforward import Feedforward
from ...errors import ParameterError
from ...estimation.estimator import Estimate, Estimator
from ...estimation.validity import FAILED, Situation, Validity, validity
from ...model.parameter_file import ParameterSet
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...signals.front_end import SignalFrontEnd
from ...simulation.bag import DEFAULT_START
from ...simulation.faults.stream import Received
from .loop import Payload


class Adapted:
    """The estimator on the same messages, sample by sample, as the node runs it."""

    def __init__(self, config: Config, model: RobotModel, prior: ParameterSet):
        self.front_end = SignalFrontEnd(config, model)
        self.estimator = Estimator(config, prior, model)
        self.refused = 0    # estimates that the feedforward did not take
        self._new: Estimate | None = None
        self._tick_at = -math.inf

    def hear(self, message: Received) -> None:
        """Into the front end; what becomes due is learnt at once."""
        self.front_end.add_message(message.role, message.message, message.t)
        for sample in self.front_end.samples():
            self._new = self.learn(sample) or self._new
            self._tick_at = message.t

    def learn(self, sample: Sample) -> Estimate | None:
        """What becomes of a sample; the new estimate, if there is one."""
        return self.estimator.step(sample)

    def validity(self, t: float) -> Validity:
        """Of the parameters at time t [s], by the node's own rule."""
        return validity(Situation.of(self.estimator.snapshot(), self.estimator.robot.channels,
                                     t - self._tick_at))

    def tell(self, t: float, feedforward: Feedforward) -> None:
        """What ~/status and ~/trusted_parameters say of it: it has failed, or it lives and has an
        estimate that is trusted."""
        found, estimate, self._new = self.validity(t), self._new, None
        if found.state == FAILED:
            return feedforward.distrust()
        if estimate is not None and found.trusted:
            try:
                self.hand_over(t, estimate, feedforward)
            except ParameterError:
                self.refused += 1
        feedforward.confirm(t)

    def hand_over(self, t: float, estimate: Estimate, feedforward: Feedforward) -> None:
        """Give the feedforward an estimate that is trusted; raises ParameterError."""
        feedforward.update(estimate.pi, None, estimate.t, True)


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
