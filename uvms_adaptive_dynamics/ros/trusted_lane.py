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

"""Feeds an estimator's trusted parameters, covariance and state into a feedforward."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..control.feedforward import Feedforward
from ..estimation.validity import FAILED
from .estimates import EstimateReader


class TrustedLane:
    """Passes ~/trusted_parameters, ~/trusted_covariance and ~/status to a feedforward.

    Raises for unusable messages. refused: why the last parameters were refused, '' if they were
    not. now(receive) [s]: the time of reception on the clock of the feedforward's calls.
    """

    def __init__(self, feedforward: Feedforward, now: Callable[[float], float]):
        self._feedforward, self._now = feedforward, now
        self._reader = EstimateReader(feedforward.robot)
        self._covariance: np.ndarray | None = None
        self.refused = ""

    def add_parameters(self, message: Any, receive: float) -> None:
        """Add ~/trusted_parameters; refused parameters end trust."""
        try:
            stamp, values = self._reader.parameters(message)
            self._feedforward.update(values, self._covariance, stamp, True)
        except Exception as error:  # garbage may raise anything, and none of it may be trusted
            self._feedforward.refuse()
            self.refused = str(error)
            raise
        self.refused = ""
        self._feedforward.confirm(self._now(receive))

    def add_covariance(self, message: Any, receive: float) -> None:
        """Add ~/trusted_covariance, used with the next parameters."""
        self._covariance = self._reader.covariance(message)

    def add_status(self, message: Any, receive: float) -> None:
        """Add ~/status: confirms the parameters, or ends trust if the estimator has failed."""
        if self._reader.status(message).state == FAILED:
            self._feedforward.distrust()
        else:
            self._feedforward.confirm(self._now(receive))
