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

"""Sources of a run's feedforward parameters: an estimator running alongside, or the truth."""
from __future__ import annotations

import math

import numpy as np

from ...config import Config
from ...control.feedforward import Feedforward
from ...errors import ParameterError
from ...estimation.estimator import Estimate, Estimator
from ...estimation.validity import FAILED, Situation, Validity, validity
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from ...model.sample import Sample
from ...signals.front_end import SignalFrontEnd
from ...simulation.bag import DEFAULT_START
from ...simulation.faults.stream import Received
from .loop import CarriedPayload


class Adapted:
    """An estimator on the same messages, sample by sample, as in the node."""

    def __init__(self, config: Config, model: RobotModel, prior: ParameterSet):
        self.front_end = SignalFrontEnd(config, model)
        self.estimator = Estimator(config, prior, model)
        self.refused = 0    # estimates that the feedforward refused
        self._new: Estimate | None = None
        self._tick_at = -math.inf

    def add_message(self, message: Received) -> None:
        """Pass a message to the front end, and learn from all samples that become due."""
        self.front_end.add_message(message.role, message.message, message.t)
        for sample in self.front_end.samples():
            self._new = self.learn(sample) or self._new
            self._tick_at = message.t

    def learn(self, sample: Sample) -> Estimate | None:
        """Learn from a sample; returns the new estimate, if there is one."""
        return self.estimator.step(sample)

    def validity(self, t: float) -> Validity:
        """Validity of the parameters at time t [s], by the node's rule."""
        return validity(Situation.of(self.estimator.snapshot(), self.estimator.robot.channels,
                                     t - self._tick_at))

    def update_feedforward(self, t: float, feedforward: Feedforward) -> None:
        """Update the feedforward as ~/status and ~/trusted_parameters would: the estimator has
        failed, or it is alive and may have a trusted estimate."""
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
        """Give the feedforward a trusted estimate; raises ParameterError."""
        feedforward.update(estimate.pi, None, estimate.t, True)


class Known:
    """Given parameters: without payload, and with it while it is held."""

    def __init__(self, empty: np.ndarray, loaded: np.ndarray | None = None,
                 payload: CarriedPayload | None = None):
        self._empty, self._loaded, self._payload = empty, loaded, payload

    def add_message(self, message: Received) -> None:
        """Nothing is learnt."""

    def update_feedforward(self, t: float, feedforward: Feedforward) -> None:
        """Update the feedforward with the parameters valid at time t [s]."""
        payload, pi = self._payload, self._empty
        if payload is not None and self._loaded is not None and (
                payload.picked_up <= t - DEFAULT_START < payload.dropped):
            pi = self._loaded
        feedforward.update(pi, None, t, True)
