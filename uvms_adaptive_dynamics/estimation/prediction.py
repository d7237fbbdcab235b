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

"""Prediction of an instant before its rows are used, and the estimate after it
(docs/mathematics.md, "Prediction")."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..model.arguments import read_only
from ..uncertainty.channel_noise import ChannelNoise
from ..uncertainty.parameter_covariance import ParameterCovariance
from .low_pass import Row


@dataclass(frozen=True)
class Prediction:
    """The prediction of an instant, made before its rows were used, and the measured efforts.

    t [s]; pi (p,): the estimate used; predicted, measured, residual, noise_stddev (C,) [N, N m];
    valid (C,); regressor (C, p), tau_known (C,): predicted = regressor pi + tau_known;
    parameter_covariance (C, C): the parameters' part of `predicted_covariance`;
    unlearnt_variance (C,): the part of `parameter_variance` that the noise of the rows learnt
    does not cause; trust (C,): indices into `uncertainty.trust.TRUST_STATES`, from earlier rows;
    by_velocity (C, 2): change of `predicted` with the scale of the vehicle's linear velocity
    (`RobotModel.by_velocity`); R_nb (3, 3): attitude, body FRD to NED; load (12,): the external
    force contained in tau_known, None if there is none; by_thruster (C, N): contribution of
    each thruster to `measured`. All arrays are read-only."""

    t: float
    pi: np.ndarray
    predicted: np.ndarray
    parameter_covariance: np.ndarray
    noise_stddev: np.ndarray
    unlearnt_variance: np.ndarray
    measured: np.ndarray
    residual: np.ndarray
    valid: np.ndarray
    regressor: np.ndarray
    tau_known: np.ndarray
    nu_dot: np.ndarray | None = None
    trust: np.ndarray | None = None
    by_velocity: np.ndarray | None = None
    R_nb: np.ndarray | None = None
    load: np.ndarray | None = None
    by_thruster: np.ndarray | None = None

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                read_only(value)

    @cached_property
    def parameter_variance(self) -> np.ndarray:
        """(C,) variance of the prediction due to the parameters."""
        return read_only(np.maximum(self.parameter_covariance.diagonal(), 0.0))

    @cached_property
    def predicted_stddev(self) -> np.ndarray:
        """(C,) standard deviation due to parameters and noise."""
        return read_only(np.sqrt(self.parameter_variance + self.noise_stddev ** 2))

    @cached_property
    def predicted_covariance(self) -> np.ndarray:
        """(C, C) covariance due to parameters and noise."""
        return read_only(self.parameter_covariance + np.diag(self.noise_stddev ** 2))


def predict(row: Row, pi: np.ndarray, covariance: ParameterCovariance, noise: ChannelNoise,
            trust: np.ndarray) -> Prediction:
    """Y pi + tau_known with covariance Y Sigma Y^T and noise, for the present pi (p,); noise and
    trust (C,) must be those known before this row."""
    predicted = row.Y @ pi + row.tau_known
    of_rows = covariance.of_rows(row.Y)
    unlearnt = np.maximum(of_rows.diagonal() - covariance.by_noise(row.Y), 0.0)
    return Prediction(
        row.t, pi, predicted, parameter_covariance=of_rows, noise_stddev=noise.interval_stddev,
        unlearnt_variance=unlearnt, measured=row.tau, residual=row.tau - predicted, valid=row.valid,
        regressor=row.Y, tau_known=row.tau_known, nu_dot=row.nu_dot, trust=trust,
        by_velocity=row.by_velocity, R_nb=row.R_nb, load=row.load, by_thruster=row.by_thruster)


def parameter_stddev(covariance: ParameterCovariance, systematic: np.ndarray) -> np.ndarray:
    """(p,) standard deviations, read-only, from the covariance and from systematic (CAUSES, p): the
    parameters' shift by one deviation of each error that no residual shows."""
    return read_only(np.sqrt(covariance.stddev ** 2 + np.sum(systematic ** 2, axis=0)))


@dataclass(frozen=True)
class Estimate:
    """The estimate after a tick, and the prediction made before it (prequential).

    prediction: made with the previous parameters; pi (p,): the new parameters, read-only, with
    their parameter_covariance; systematic (CAUSES, p): their shift by one deviation of each error
    that no residual shows; status: 'optimal', 'near-optimal', 'deadline' or 'deferred' from the
    solver, or why the last good estimate was kept; solve_ms, update_ms: time of the solver, and
    from sample to estimate."""

    prediction: Prediction
    pi: np.ndarray
    parameter_covariance: ParameterCovariance
    status: str
    solve_ms: float
    update_ms: float
    systematic: np.ndarray

    @property
    def covariance(self) -> np.ndarray:
        """(p, p) covariance of the new parameters, read-only, from noise and prior alone:
        predictions need no more, since the measurements that they are compared with share timing
        and calibration. Formed on first use."""
        return self.parameter_covariance.matrix

    @cached_property
    def stddev(self) -> np.ndarray:
        """(p,) standard deviations of the new parameters, timing and calibration errors included,
        read-only."""
        return parameter_stddev(self.parameter_covariance, self.systematic)

    @property
    def t(self) -> float:
        """Stamp of the predicted instant [s]."""
        return self.prediction.t

    @property
    def predicted(self) -> np.ndarray:
        """(C,) efforts predicted before the instant's rows were used [N, N m]."""
        return self.prediction.predicted

    @property
    def predicted_stddev(self) -> np.ndarray:
        """(C,) standard deviation of `predicted`."""
        return self.prediction.predicted_stddev

    @property
    def predicted_covariance(self) -> np.ndarray:
        """(C, C) covariance of `predicted`."""
        return self.prediction.predicted_covariance

    @property
    def measured(self) -> np.ndarray:
        """(C,) measured efforts."""
        return self.prediction.measured

    @property
    def residual(self) -> np.ndarray:
        """(C,) measured minus predicted."""
        return self.prediction.residual

    @property
    def valid(self) -> np.ndarray:
        """(C,) rows whose prediction may be judged: neither they nor too many rows around them are
        masked. Fewer are learnt from: `Estimator.excited`."""
        return self.prediction.valid
