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

"""What the estimator says, on its way into a feedforward: parameters by name, covariance, state."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..control.feedforward import Feedforward
from ..estimation.validity import FAILED
from .estimates import EstimateReader


class TrustedLane:
    """Hands ~/trusted_parameters, ~/trusted_covariance and ~/status of an estimator on; anything
    that cannot be used raises. refused: why the last parameters were, '' where they were not.

    now(receive) [s] is the time of reception on the clock of the feedforward's calls.
    """

    def __init__(self, feedforward: Feedforward, now: Callable[[float], float]):
        self._feedforward, self._now = feedforward, now
        self._reader = EstimateReader(feedforward.robot)
        self._covariance: np.ndarray | None = None
        self.refused = ""

    def add_parameters(self, message: Any, receive: float) -> None:
        """~/trusted_parameters; what is refused ends trust."""
        try:
            stamp, values = self._reader.parameters(message)
            self._feedforward.update(values, self._covariance, stamp, True)
        except Exception as error:
            self._feedforward.refuse()
            self.refused = str(error)
            raise
        self.refused = ""
        self._feedforward.confirm(self._now(receive))

    def add_covariance(self, message: Any, receive: float) -> None:
        """~/trusted_covariance, which goes with the next parameters."""
        self._covariance = self._reader.covariance(message)

    def add_status(self, message: Any, receive: float) -> None:
        """~/status: a sign of life, or that the estimator has failed."""
        if self._reader.status(message).state == FAILED:
            self._feedforward.distrust()
        else:
            self._feedforward.confirm(self._now(receive))
