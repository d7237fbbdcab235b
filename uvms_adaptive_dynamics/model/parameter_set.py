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

"""An estimate that can be saved: names, values, and what predictions with intervals need."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import __version__
from ..errors import ParameterError, brief
from .parameter_checks import check_numbers, check_robot
from .parameter_kinds import check_kinds
from .parameters import ParameterTable

# first rows of `ParameterSet.systematic`: delay and scale of the wrench, delay and scale of the
# joints' efforts, noise of the vehicle's measured motion, unseen forces that move the vehicle;
# further rows: what the model lacks
CAUSES = 6


@dataclass(frozen=True)
class ParameterSet:
    """Unknown arrays are None, unknown mappings and tuples are empty.

    For predictions: values (p,) in the order of `names`; covariance (p, p); noise_stddev (C,) per
    channel; systematic (k, p), k >= CAUSES: shift of the values per standard deviation of each
    error that residuals do not show. robot: the robot it belongs to ('joints', 'vehicle',
    'channels').

    To resume an estimation as if it had not been interrupted: information (p, p) and gradient (p,):
    half the Hessian and half the gradient, at the values, of the minimized cost;
    gradient_covariance (p, p): covariance of that gradient at the true parameters, caused by noise
    and prior; row_noise_stddev (C,): the noise that weighs rows in that cost; residual_products (2,
    L, C): sums of products of residuals at L lags, and of their weights (`ResidualAutocovariance`).

    For people: known_from: 'measured', 'weak', 'prior' or 'frozen' for each name; identifiability:
    rank, conditioning, combinations, warnings, parameters limited by what the model lacks
    (docs/uncertainty.md); learned: the amount of data behind the estimate and factors on
    measurements (`estimation/learned.py`, `scales.py`); intervals (2, p): lower and upper ends of
    the values' 95 % intervals within P, None in a set that was read from a file; source: the file
    it was read from, for messages.
    """

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray | None = None
    noise_stddev: np.ndarray | None = None
    robot: Mapping = field(default_factory=dict)
    version: str = __version__
    known_from: tuple[str, ...] = ()
    identifiability: Mapping = field(default_factory=dict)
    source: str = ""
    row_noise_stddev: np.ndarray | None = None
    residual_products: np.ndarray | None = None
    information: np.ndarray | None = None
    gradient: np.ndarray | None = None
    gradient_covariance: np.ndarray | None = None
    systematic: np.ndarray | None = None
    learned: Mapping = field(default_factory=dict)
    intervals: np.ndarray | None = None

    @property
    def stddev(self) -> np.ndarray | None:
        """(p,) standard deviations of the values, including the `systematic` errors of timing and
        calibration; None without a covariance."""
        if self.covariance is None:
            return None
        off = 0.0 if self.systematic is None else np.sum(self.systematic ** 2, axis=0)
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0) + off)

    @property
    def limited(self) -> tuple[bool, ...]:
        """(p,) whether a parameter would be measured if the model were complete, and is not
        (`identifiability`); empty if that is unknown."""
        names = self.identifiability.get("limited")
        return () if names is None else tuple(name in names for name in self.names)

    def stddev_of(self, J: np.ndarray) -> np.ndarray | None:
        """(k,) standard deviations of the sums J @ values, J (k, p), as `stddev`."""
        if self.covariance is None:
            return None
        off = 0.0 if self.systematic is None else np.sum((J @ self.systematic.T) ** 2, axis=1)
        return np.sqrt(np.maximum(np.einsum("kp,pq,kq->k", J, self.covariance, J), 0.0) + off)

    def for_table(self, table: ParameterTable, what: str = "parameters") -> ParameterSet:
        """The same set in the order of `table`.

        Raises ParameterError if it belongs to another robot (joints, vehicle, channels, names) or
        if a number cannot be used; the message starts with `what` and the source.
        """
        check_kinds(self, what)
        what = f"{what} ({self.source})" if self.source and self.source not in what else what
        check_robot(self, table, what)
        check_numbers(self, what, table.channels)
        order = np.array([self.names.index(name) for name in table.names], int)
        return replace(
            self, names=table.names, values=table.vector(np.asarray(self.values)[order], what),
            covariance=None if self.covariance is None else self.covariance[np.ix_(order, order)],
            information=(None if self.information is None
                         else self.information[np.ix_(order, order)]),
            gradient=None if self.gradient is None else self.gradient[order],
            gradient_covariance=(None if self.gradient_covariance is None
                                 else self.gradient_covariance[np.ix_(order, order)]),
            systematic=None if self.systematic is None else self.systematic[:, order],
            intervals=None if self.intervals is None else self.intervals[:, order],
            known_from=tuple(self.known_from[i] for i in order) if self.known_from else ())


def as_prior(given: ParameterSet | Any, table: ParameterTable) -> ParameterSet:
    """A ParameterSet itself, or one without a covariance of the vector `given` (p,) in the order of
    `table`. Raises ParameterError for anything else."""
    if isinstance(given, ParameterSet):
        return given
    try:
        values = np.zeros(()) if np.iscomplexobj(given) else np.asarray(given, float)
    except (TypeError, ValueError):
        values = np.zeros(())
    if values.ndim != 1:
        raise ParameterError(
            f"prior: got {brief(given)}, expected a ParameterSet or {table.size} values in the "
            "order of the parameter table; use load_parameters(path) or prior_from_config(config).")
    return ParameterSet(table.names, table.vector(values, "prior"))
