"""What the estimator says, on its way into a feedforward: parameters by name, covariance, state."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..control.feedforward import Feedforward, checked_covariance
from ..errors import ParameterError
from ..model.parameters import ParameterTable

FAILED = "failed"       # the estimator's state in which its parameters are not to be used


class TrustedLane:
    """Decodes ~/trusted_parameters, ~/trusted_covariance and ~/status of an estimator; anything
    that cannot be used raises. refused: why the last parameters were, '' where they were not.

    now(receive) [s] is the time of reception on the clock of the feedforward's calls.
    """

    def __init__(self, feedforward: Feedforward, table: ParameterTable,
                 now: Callable[[float], float]):
        self._feedforward, self._table, self._now = feedforward, table, now
        self._covariance: np.ndarray | None = None
        self.refused = ""

    def add_parameters(self, message: Any, receive: float) -> None:
        """~/trusted_parameters, in any order of names; what is refused ends trust."""
        stamp = message.header.stamp
        try:
            values = np.array(message.position, float)[self._places(message.name)]
            self._feedforward.update(values, self._covariance, stamp.sec + 1e-9 * stamp.nanosec,
                                     True)
        except Exception as error:
            self._feedforward.refuse()
            self.refused = str(error)
            raise
        self.refused = ""
        self._feedforward.confirm(self._now(receive))

    def add_covariance(self, message: Any, receive: float) -> None:
        """~/trusted_covariance, by the names in the label of its rows; it goes with the next
        parameters."""
        order = self._places(message.layout.dim[0].label.removeprefix("rows: ").split(","))
        covariance = np.array(message.data, float).reshape((self._table.size,) * 2)
        self._covariance = checked_covariance(covariance[np.ix_(order, order)], self._table)

    def add_status(self, message: Any, receive: float) -> None:
        """~/status: a sign of life, or that the estimator has failed."""
        values = {pair.key: pair.value for pair in message.status[0].values}
        if values["state"] == FAILED:
            self._feedforward.distrust()
        else:
            self._feedforward.confirm(self._now(receive))

    def _places(self, names: Sequence[str]) -> list[int]:
        """Place of each parameter of this robot among names."""
        if tuple(names) == self._table.names:
            return list(range(len(names)))
        places = {name: k for k, name in enumerate(names)}
        missing = [name for name in self._table.names if name not in places]
        if missing or len(places) != self._table.size:
            raise ParameterError(
                f"got {len(names)} parameters, expected the {self._table.size} of this robot"
                + (f" ('{missing[0]}' is missing)" if missing else "")
                + ". Give both nodes the same settings.")
        return [places[name] for name in self._table.names]
