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

"""The information state: everything that is learnt, and every operation that changes it.

Rows are kept in SI units and per channel. Channel-noise weights are applied when a problem is
formed, so no row keeps the weight of the noise at its arrival, and what a set of recordings teaches
does not depend on their order. docs/mathematics.md, "Information".
"""
from __future__ import annotations

import logging
from collections.abc import Iterator
from copy import deepcopy
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..model.lacking_terms import LackingTerms
from ..model.parameter_set import CAUSES
from ..model.physical_set import PhysicalSet
from ..model.robot import RobotModel
from ..model.sample import Sample
from ..solvers.problem import HorizonProblem
from ..uncertainty.channel_noise import NoiseRecord, NoiseStart
from ..uncertainty.constrained_inverse import ConstrainedInverse
from ..uncertainty.driven_motion import DrivenMotion
from ..uncertainty.gradient_covariance import GradientCovariance
from ..uncertainty.motion_noise import AXES
from ..uncertainty.recursive_noise import channel_noise
from ..uncertainty.systematic_gradient import SystematicGradient
from .arrival import ArrivalCost, DirectionalArrival, arrival_cost
from .coupling import Coupling, quadratic
from .forgetting import ParameterWander, RowMap
from .frozen_variance import FrozenVariance
from .prediction import Prediction
from .prior_information import PriorInformation
from .robust_weight import RobustWeight
from .row_excitation import Excited, RowExcitation
from .window import Leaving, Window

log = logging.getLogger(__name__)

# ratio of a channel's noise to the noise in use at which the weights are refreshed
REWEIGH = 1.2
REWEIGH_EVERY = 25      # ticks between checks of that ratio
# A residual informs the gradient's noise only if the variance due to the parameters is below this
# share of the noise variance.
LIMITED_BY_NOISE = 0.25
# what numpy and SciPy raise for sums that are not positive definite or not finite
UNUSABLE = (np.linalg.LinAlgError, ValueError)
TILTS = (3, 4)      # axes that weight and buoyancy turn back
# Least inertia, damping and righting moment in the response to unseen forces, relative to those of
# a typical robot: an estimate may be near zero before it has learnt.
LEAST_RESPONSE = 0.25


class PastNoise(NamedTuple):
    """The noise of the channels at some instant, and residual_products (2, L, C), from which its
    autocovariance follows (`ResidualAutocovariance.products`)."""

    channels: NoiseRecord
    residual_products: np.ndarray


class InformationRecord(NamedTuple):
    """What had been learnt at some instant, without the window's rows."""

    arrival: ArrivalCost
    gradient: GradientCovariance
    systematic: SystematicGradient
    noise: PastNoise
    rows_learned: int
    rows_in_prior: int


class InformationState:
    """Window, old data, prior, gradient covariance, excitation and noise, kept consistent.

    Each sample: `observe_motion`. Each row: `observe`, `add_row`, `forget`, `learn_noise`,
    `refresh_weights`. Each solution: `note_solution`. A change of the robot: `age_window`,
    `marginalize`, `drop_window`, `return_noise`; `record` and `put_back` return to an earlier
    state. Otherwise: `hold`, `break_off`, `restart`. Queries: `problem`, `gradient_covariance`,
    `systematic_shift`, `data_information`.

    scale (C,): one over the deviation that weighs each channel's rows now; rows_learned: since the
    estimator's restart; rows_in_prior: those of them that a recovery has turned into the prior;
    rows_remembered: the most that forgetting leaves of them.
    """

    def __init__(self, config: Config, physical: PhysicalSet, kernel: np.ndarray,
                 noise: np.ndarray, presumed: np.ndarray, lacking: LackingTerms | None = None):
        """kernel (K,): the rows' low-pass; noise (C,): initial assumption [N, N m]; presumed (p,):
        typical parameters of such a robot (see `RowExcitation`); lacking: effects that intervals
        allow for, None for a complete model."""
        self._settings, self._physical, self._table = config.estimation, physical, physical.table
        self._uncertainty = config.uncertainty
        self._kernel, self._period = kernel, config.filter.period
        self._presumed, self._lacking = presumed, lacking
        self._current_time = config.robot.current_time
        settings = config.estimation
        self._memory = 1 / max(1 - settings.forgetting, 1e-6)       # [ticks]
        self.noise = channel_noise(config.uncertainty, noise, self._period, settings.noise_time,
                                   self._memory, settings.adapt_noise)
        self._coupling = Coupling(settings, physical.table)
        self._frozen_variance = FrozenVariance(physical.table.channels, self._memory)

    # --- changes ----------------------------------------------------------------------------------

    def restart(self, prior: PriorInformation, noise: NoiseStart = NoiseStart(),
                systematic: np.ndarray | None = None,
                residual_products: np.ndarray | None = None, rows_learned: int = 0) -> None:
        """Start again from a prior or a saved estimate; if that raises, nothing has changed.

        Of a saved estimate, if it has them: its noise; systematic (k, p), its shift by one
        deviation of each error that no residual shows; residual_products (2, L, C), see
        `ResidualAutocovariance.products`. rows_learned: rows behind the prior that were learnt
        since the estimator's restart."""
        settings, table = self._settings, self._table
        wander = ParameterWander.of(table, prior.stddev, self._current_time / self._period)
        arrival = arrival_cost(settings, table, prior, self._coupling.split, wander)
        if wander is not None and prior.saved and isinstance(arrival, DirectionalArrival):
            # It was saved an unknown time ago.
            _, factors = arrival.marginalize(wander.places, np.zeros(table.size))
            for _ in factors:
                pass
        # With the paper's arrival costs only the window's rows inform the gradient's noise.
        keeps_old = settings.arrival == "information"
        decay = arrival.decay if keeps_old else 1 - 1 / settings.horizon
        gradient = GradientCovariance(table.channels, table.size, self._kernel, self._period,
                                      decay, settings.forgetting)
        if residual_products is not None:
            gradient.autocovariance.go_on_from(residual_products)
        calibration = SystematicGradient(self._uncertainty, 6 if table.vehicle else 0,
                                         table.channels, table.size, self._period, decay,
                                         self._kernel, self._memory,
                                         len(self._lacking.names) if self._lacking else 0)
        if systematic is not None:
            # an error that moves the estimate by d moves half the gradient by A d, A = root^T root
            root = prior.rows[:, :-1]
            calibration.restart(systematic @ root.T @ root)

        self.noise.restart(noise.stddev, noise.long_run, noise.rows_known, noise.effort)
        if noise.factor is not None:
            self.noise.begin_factor(noise.factor)
        self.prior, self.arrival = prior, arrival
        self.gradient, self.systematic = gradient, calibration
        self.window = Window(settings.horizon, table.channels, table.size, arrival.decay,
                             self._coupling.split)
        self.rows_remembered = table.channels * (self._memory if keeps_old else settings.horizon)
        self.excitation = RowExcitation(table, self._period, self._presumed)
        self._robust = RobustWeight(settings)
        self.rows_learned = self.rows_in_prior = rows_learned
        self._ticks = 0
        self._unfinished: Iterator[None] | None = None
        self._use_noise(self.noise.long_run)

    def hold(self, held: np.ndarray, covariance: np.ndarray) -> None:
        """Hold parameters `held` (p,) bool at their values: their covariance (h, h) adds to the
        noise that weighs rows. Nothing learnt is lost."""
        self._finish()
        self._frozen_variance.hold(np.flatnonzero(held), covariance, self.window.Y,
                                   self.window.valid)
        self._use_noise(self.noise.long_run)
        self.gradient.reform(self.scale ** 2, self.noise.long_run ** 2)

    def observe_motion(self, sample: Sample, valid: np.ndarray, robot: RobotModel,
                       pi: np.ndarray) -> None:
        """Learn the noise of the measured motion, and what effects that the model lacks would do,
        from a sample before the low-pass. valid (C,): of its rows; pi (p,): the present estimate.
        """
        lacking, motion, driven = (self.systematic.lacking, self.systematic.motion,
                                   self.systematic.driven)
        if lacking.next_instant() and self._lacking is not None:
            columns = self._lacking.columns(sample, pi)
            columns[~valid] = 0.0
            lacking.add_columns(columns)
        if motion is None:
            return
        if not valid[robot.vehicle_rows].all():
            motion.break_off()
            return
        axis = motion.add_motion(sample.nu_dot, sample.nu, sample.velocity_stddev)
        if axis is not None:
            columns = robot.by_own_motion(sample, pi, axis, motion.speed[axis])
            motion.set_columns(axis, columns)
            assert driven is not None       # there is one wherever there is motion
            self._set_response(driven, axis, columns, pi)

    def _set_response(self, driven: DrivenMotion, axis: int, columns: np.ndarray,
                      pi: np.ndarray) -> None:
        """Set how an axis of the vehicle responds to forces, as the estimate pi (p,) says."""
        known = np.array([pi, LEAST_RESPONSE * self._presumed])
        inertia, damping = (known @ columns.T).max(axis=0)
        stiffness = known[:, self._table.index["zgW_zbB"]].max() if axis in TILTS else 0.0
        driven.set_response(axis, inertia, damping, stiffness)

    def sudden_variance(self, pi: np.ndarray, seconds: float) -> np.ndarray:
        """(C,) variance of the efforts predicted by pi (p,) since the vehicle's motion has been
        noisier than usual over the last `seconds`."""
        found, motion = np.zeros_like(self.noise.long_run), self.systematic.motion
        if motion is not None:
            found[:AXES] = motion.sudden_effort_variance(pi, seconds)
        return found

    def unmodelled(self, Y: np.ndarray, systematic: np.ndarray) -> np.ndarray | None:
        """(C, q) what one deviation of each effect that the model lacks adds to the row added last,
        less what the estimate has absorbed of it: an effect that has moved the estimate is
        predicted wherever the robot moves as it did. None for rows whose effects are not computed.

        Y (C, p): the row; systematic (k, p): `systematic_shift`."""
        columns = self.systematic.lacking.of_row
        return None if columns is None else columns - Y @ systematic[CAUSES:].T

    def observe(self, prediction: Prediction) -> Excited:
        """Which rows of an instant are informative; updates the excitation."""
        effort = prediction.measured - prediction.tau_known
        excited = self.excitation.add_row(prediction.regressor, effort, prediction.pi,
                                          prediction.valid, self.noise.at_most)
        if self._settings.rows_at_rest == "counted":
            return Excited(prediction.valid, prediction.valid)
        return excited

    def add_row(self, prediction: Prediction, excited: Excited) -> None:
        """Learn from an instant's rows, predicted before they enter."""
        Y, residual, learnt = prediction.regressor, prediction.residual, excited.learnt
        rows = np.empty((Y.shape[0], Y.shape[1] + 1))
        rows[:, :-1], rows[:, -1] = Y, prediction.measured - prediction.tau_known
        rows[~learnt] = 0.0
        if learnt.any() or not self.arrival.directional:
            self.window.tick()
            self.arrival.tick()
            leaving = self.window.oldest()
            if leaving is not None:
                self._condense(leaving, prediction.pi)
            self.window.add_row(rows, learnt)
            self.rows_learned += int(np.count_nonzero(learnt))
            self._frozen_variance.add_row(rows[:, :-1], learnt)
        # Even if no row counts: the autocovariance's lags are ticks.
        self._add_to_gradient(prediction, rows[:, :-1], residual * learnt, excited)

    def learn_noise(self, prediction: Prediction, excited: Excited) -> None:
        """Learn the noise, for weights and intervals, from an instant's residuals."""
        informative = excited.in_motion & ~self._frozen_variance.dominates(self.noise.long_run)
        self.noise.add_residual(prediction.residual, prediction.valid, prediction.predicted_stddev,
                                informative, prediction.unlearnt_variance)
        self.noise.add_effort(prediction.predicted - prediction.tau_known,
                              prediction.valid & informative)

    def refresh_weights(self) -> None:
        """Apply new channel weights if the noise has moved away from the one in use."""
        self._ticks += 1
        if (self._unfinished is None and self._ticks % REWEIGH_EVERY == 0
                and self._settings.weights == "noise"):
            now = self.noise.long_run
            ratio = self._frozen_variance.joined(now) * self.scale
            if (ratio > REWEIGH).any() or (ratio < 1 / REWEIGH).any():
                self._use_noise(now)

    def forget(self, now: bool = False) -> None:
        """Forget what new data replace, once a block of them has left the window (or `now`).

        The sums change at once; the channels' factors follow, one per tick.
        """
        if self._unfinished is not None:
            if next(self._unfinished, self) is self:
                self._unfinished = None
            elif not now:
                return
        arrival = self.arrival
        if isinstance(arrival, DirectionalArrival) and (now or arrival.block_is_full()):
            self._finish()
            try:
                row_map, factors = arrival.close_block()
            except UNUSABLE as error:
                log.warning("cannot forget old data (%s); keeping them for now", error)
                arrival.postpone()
                return
            self._map_gradients(row_map, factors, close=True)

    def marginalize(self, places: np.ndarray, pi: np.ndarray) -> bool:
        """Marginalize the old data over parameters at places (k,), which start again about pi (p,),
        if `follows_changes`. False, with nothing changed, if that is numerically impossible."""
        assert isinstance(self.arrival, DirectionalArrival)
        self._finish()
        try:
            row_map, factors = self.arrival.marginalize(places, pi)
        except UNUSABLE as error:
            log.warning("cannot re-estimate the changed part of the robot (%s)", error)
            return False
        self._map_gradients(row_map, factors, close=False)
        return True

    def break_off(self, pi: np.ndarray, close_window: bool) -> None:
        """Separate later rows from earlier ones at a gap in time. close_window: condense the
        window's rows into old data, with their robust weights at pi (p,)."""
        self.gradient.break_off()
        self.systematic.break_off()
        if close_window:
            for instant in self.window.all():
                self._condense(instant, pi)
            self.window.clear()

    def record(self) -> InformationRecord:
        """A copy of what has been learnt, without the window."""
        self._finish()
        return InformationRecord(deepcopy(self.arrival), deepcopy(self.gradient),
                                 deepcopy(self.systematic), self.noise_record(),
                                 self.rows_learned, self.rows_in_prior)

    def put_back(self, record: InformationRecord) -> None:
        """Return to an earlier `record`; the window's rows are dropped."""
        self._finish()
        self.drop_window()
        # copies: learning on must not change the record, to which another return may lead
        self.arrival, self.gradient = deepcopy(record.arrival), deepcopy(record.gradient)
        self.systematic = deepcopy(record.systematic)
        self.noise.put_back(record.noise.channels)
        self.rows_learned, self.rows_in_prior = record.rows_learned, record.rows_in_prior
        self._use_noise(self.noise.long_run)
        self.gradient.break_off()
        self.systematic.break_off()

    def noise_record(self) -> PastNoise:
        """The present noise and its autocovariance, for `return_noise`."""
        return PastNoise(self.noise.record(), self.gradient.autocovariance.products)

    def return_noise(self, noise: PastNoise) -> None:
        """Return to an earlier noise alone: the residuals since then had another cause."""
        self.noise.put_back(noise.channels)
        self.gradient.autocovariance.go_on_from(noise.residual_products)

    def age_window(self, ticks: int, pi: np.ndarray) -> None:
        """Condense the window's rows of age `ticks` or more into old data, with their robust
        weights at pi (p,)."""
        # copies: add_row overwrites the window's arrays
        instants = [Leaving(one.rows.copy(), one.valid.copy(), one.age) for one in
                    self.window.all()]
        self.window.clear()
        for instant in instants:
            if instant.age < ticks:
                self.window.add_row(instant.rows, instant.valid, instant.age)
            else:
                self._condense(instant, pi)
        self.forget(now=True)

    def drop_window(self) -> None:
        """Drop the window's rows without learning from them."""
        self.window.clear()

    def note_solution(self, problem: HorizonProblem, pi: np.ndarray) -> None:
        """Note the solution pi (p,), which sets the robust weight of rows that leave the window."""
        self._robust.note_solution(problem, pi)

    # --- queries ----------------------------------------------------------------------------------

    def problem(self, pi: np.ndarray, free: np.ndarray) -> HorizonProblem:
        """This tick's problem about the previous estimate pi (p,), over parameters free (p,)."""
        window, settings, coupling = self.window, self._settings, self._coupling
        arrival = coupling.combined(self.arrival.data(), pi) + quadratic(self.arrival.prior(pi))
        total = arrival + coupling.combined(window.sums(), pi)
        Y, tau = coupling.rows(window.Y, window.tau, pi)
        source, born = (None, None) if coupling.uses_estimate else (window, window.born)
        return HorizonProblem(
            self._physical, arrival, total, Y, tau, scale=self.scale, valid=window.valid,
            weight=window.age_weight(), grouping=settings.grouping, free=free, pi=pi,
            quantile=settings.rho_quantile, rho=settings.rho, floor=self.arrival.floor(pi),
            source=source, born=born)

    @property
    def row_noise(self) -> np.ndarray:
        """(C,) noise that weighs rows, without the part due to held parameters."""
        return self._noise

    @property
    def holds(self) -> bool:
        """Whether parameters are held."""
        return self._frozen_variance.holds

    @property
    def follows_changes(self) -> bool:
        """Whether this arrival cost supports `marginalize`."""
        return isinstance(self.arrival, DirectionalArrival)

    def gradient_covariance(self) -> np.ndarray:
        """(p, p) covariance of half the cost's gradient at the truth, prior included."""
        return self.gradient.covariance + self.arrival.gradient_covariance()

    def systematic_gradient(self) -> np.ndarray:
        """(k, p) shift of half the cost's gradient by one deviation of each error that no residual
        shows, except for noise of the motion."""
        return self.systematic.of_one_deviation(self.scale ** 2)

    def systematic_shift(self, inverse: ConstrainedInverse, gradient: np.ndarray,
                         pi: np.ndarray) -> np.ndarray:
        """(k, p) shift of the estimate pi (p,) by one deviation of each error that no residual
        shows; inverse: of half the cost's Hessian; gradient (k, p): `systematic_gradient`."""
        return self.systematic.shift(inverse, gradient, pi, self.scale ** 2, self.prior.stddev)

    def data_information(self, pi: np.ndarray) -> np.ndarray:
        """(p, p) information of all remembered rows, without the prior."""
        old, window = self.arrival.data(), self.window.sums()
        return self._coupling.combined(old, pi).H + self._coupling.combined(window, pi).H

    # --- internals --------------------------------------------------------------------------------

    def _use_noise(self, noise: np.ndarray) -> None:
        weighted = self._settings.weights == "noise"
        self._noise = noise if weighted else np.ones(noise.size)
        self.scale = 1 / self._frozen_variance.joined(noise) if weighted else np.ones(noise.size)
        self.window.reweigh(self.scale ** 2)
        self.arrival.reweigh(self.scale ** 2)

    def _condense(self, leaving: Leaving, pi: np.ndarray) -> None:
        """Move an instant's rows into the old data, with their robust weight at pi (p,)."""
        rows = leaving.rows
        weight = self._robust.of_instant(leaving.valid,
                                         (rows[:, -1] - rows[:, :-1] @ pi) * self.scale)
        self.arrival.add_row(np.sqrt(weight)[:, None] * rows, self.arrival.decay ** leaving.age)

    def _add_to_gradient(self, prediction: Prediction, Y: np.ndarray, residual: np.ndarray,
                         excited: Excited) -> None:
        weight = excited.learnt * self._robust.of_instant(excited.learnt, residual * self.scale)
        Y, _ = self._coupling.rows(Y, residual, prediction.pi)
        by_noise = (prediction.unlearnt_variance < LIMITED_BY_NOISE
                    * prediction.noise_stddev ** 2)
        informative = excited.learnt & excited.in_motion & by_noise
        self.gradient.add_row(Y, residual * weight, informative, self.scale ** 2,
                              self.noise.long_run ** 2)
        self.systematic.add_row(Y, prediction.measured, prediction.valid, weight)
        if self.systematic.driven is not None:
            # What the estimate has yet to learn is no unseen force.
            self.systematic.driven.add_row((residual * weight * informative)[:AXES])

    def _map_gradients(self, row_map: RowMap, factors: Iterator[None], close: bool) -> None:
        """Map the gradient's noise as its rows are mapped."""
        self._unfinished = chain(factors, self.gradient.mapped(row_map.gradient, close))
        self.systematic.mapped(row_map.gradient, close)

    def _finish(self) -> None:
        if self._unfinished is not None:
            for _ in self._unfinished:
                pass
            self._unfinished = None
