"""The estimator: samples in, physically consistent parameters with covariance and predictions out (DESIGN section 6).

The node, `evaluate` and the library use this one class.
"""
from __future__ import annotations

import logging
import time
from dataclasses import dataclass

import numpy as np

from .changes import ChangeFollower
from ..uncertainty.channel_noise import ChannelNoise
from ..config import Config
from ..model.physical_set import PhysicalSet
from ..errors import ParameterError, SolverError
from .row_excitation import Excited, RowExcitation
from .horizon import Horizon, moved_arm
from ..uncertainty.identifiability import ExcitationGram, Identifiability, directions, identifiability, known_from, limited_by_physics
from ..solvers.problem import HorizonProblem, huber_weight
from ..model.parameter_file import ParameterSet
from ..model.prior import prior_from_config, prior_stddev
from ..model.robot import RawRows, RobotModel
from .low_pass import Row, RowFilter
from ..model.sample import Sample
from ..uncertainty.gradient_covariance import Score
from ..solvers import choose_solver, projection_problem
from ..uncertainty.parameter_covariance import IncrementCovariance, constrained_inverse, deviations

log = logging.getLogger(__name__)
OUTSIDE = 1e-6           # (scaled) violation of the constraints with which no solver's answer is taken
LIMITED_BY_NOISE = 0.25  # a residual tells of noise where the estimate's own variance is less than this share of it


@dataclass(frozen=True)
class Prediction:
    """What was predicted for an instant before its rows were used, and what was measured.

    t [s]; pi (p,) and covariance (p, p) used; predicted, predicted_stddev, measured, residual (C,) in N and N m;
    predicted_covariance (C, C); valid (C,); regressor (C, p) and known (C,): predicted = regressor pi + known.
    """

    t: float
    pi: np.ndarray
    covariance: np.ndarray
    predicted: np.ndarray
    predicted_covariance: np.ndarray
    predicted_stddev: np.ndarray
    measured: np.ndarray
    residual: np.ndarray
    valid: np.ndarray
    regressor: np.ndarray
    known: np.ndarray
    noise_stddev: np.ndarray
    nu_dot: np.ndarray | None = None

    @property
    def doubted(self) -> np.ndarray:
        """(C,) variance of the predictions that the parameters' own covariance makes, up to rounding."""
        return self.predicted_stddev ** 2 - self.noise_stddev ** 2


@dataclass(frozen=True)
class Estimate(Prediction):
    """An estimate after a tick: pi and covariance are new, the prediction is the one made before (prequential).

    status: 'optimal', or why the last good estimate was kept; solve_ms and update_ms: solver, and sample to estimate.
    """

    status: str = "optimal"
    solve_ms: float = 0.0
    update_ms: float = 0.0


class Estimator:
    """Moving horizon estimation of all parameters of a robot.

    `step(sample)` = `add(sample)` and `solve()`. With learn=False nothing is estimated: `add` predicts only.
    """

    def __init__(self, config: Config, prior: ParameterSet | None = None, robot: RobotModel | None = None, learn: bool = True):
        self.config = config
        self.robot = robot or RobotModel.from_config(config)
        self.table = self.robot.table
        self.learn = learn
        self.notes: list[str] = []
        self.physical = PhysicalSet(self.table, config.estimation)
        self._solver, notes = choose_solver(config.estimation.solver, self.table)
        self._note(*notes)
        self._filter = RowFilter(config.filter, self.table.channels, self.table.size)
        self.noise = ChannelNoise(self.robot.default_noise(config), config.filter.period, config.estimation.noise_time, config.estimation.adapt_noise)
        self.solver_failures = 0
        self.changes, self.last_change = 0, ""     # how often the robot was found to be another one, and what was said
        self.not_finite = 0      # rows that claimed to be valid and were not numbers
        self._start_from(prior or prior_from_config(config, self.robot))

    def _start_from(self, given: ParameterSet) -> None:
        given = given.for_table(self.table, "prior")
        self.free = ~self.table.match(self.config.estimation.frozen)
        for a, b in self.table.equal_pairs:
            self.free[a] = self.free[b] = self.free[a] and self.free[b]
        self.prior = ParameterSet(self.table.names, self._admissible(given.values), given.covariance, given.noise_stddev,
                                  {"joints": list(self.table.joints), "vehicle": self.table.vehicle, "channels": list(self.robot.channels)})
        self.pi = self.prior.values.copy()
        stddev = prior_stddev(self.pi, self.table, self.config.estimation.prior_stddev)
        self._horizon = Horizon(self.config.estimation, self.physical, self.pi, stddev)
        decay = self._horizon.decay if self.config.estimation.arrival == "information" else 1 - 1 / self.config.estimation.horizon
        floor = self.config.estimation.relative_epsilon * self.table.scale
        self._excitation = RowExcitation(self.table, self.config.filter.period)
        self._increments = IncrementCovariance(self.config.uncertainty, floor)
        self._prior_covariance = given.covariance if given.covariance is not None else np.diag(np.where(self.free, stddev, 0.0) ** 2)
        self._score = Score(self.table.channels, self.table.size, self._filter.kernel, self.config.filter.period, decay, self.config.estimation.forgetting)
        self._changes = self._follower()
        self._gram = ExcitationGram(self.table.size, self._horizon.decay)
        self._inverse: np.ndarray | None = None
        self.covariance = self._prior_covariance
        self.noise.reset()
        if given.noise_stddev is not None and len(given.noise_stddev) == self.table.channels:
            self.noise.set(given.noise_stddev)
        self._filter.reset()
        self._last_t: float | None = None
        self.prediction: Prediction | None = None
        self.estimate: Estimate | None = None

    def _follower(self) -> ChangeFollower | None:
        settings = self.config.estimation
        if not (self._horizon.directional and settings.follow_changes and settings.forgetting < 1.0):
            return None
        return ChangeFollower(self.table, self.free, self.config.filter.period, self._horizon, self._score, self.noise,
                              lambda: choose_solver(self.solver_name, self.table)[0])

    def _admissible(self, values: np.ndarray) -> np.ndarray:
        """The prior, projected onto P with a message where it lies outside."""
        if self.physical.violation(values) <= 1e-9:
            return values
        projected = self._solver.solve(projection_problem(self.table, self.physical, values)).pi
        moved = np.abs(projected - values) / self.table.scale
        worst = np.argsort(moved)[::-1][:3]
        self._note("prior is not physically consistent and was projected: most moved are "
                   + ", ".join(f"{self.table.names[i]} {values[i]:.4g} -> {projected[i]:.4g}" for i in worst))
        return projected

    # --- the tick -----------------------------------------------------------------------------------------------

    def step(self, sample: Sample) -> Estimate | None:
        """Take in a sample and solve; None while the low-pass fills."""
        begin = time.perf_counter()
        if self.add(sample) is None:
            return None
        return self.solve(begin)

    def add(self, sample: Sample) -> Prediction | None:
        """Sample to horizon: regressor, low-pass, prediction with what was known before, then the row enters.

        None while the low-pass fills, that is for its delay after a start or a gap.
        """
        if sample.valid.shape != (self.table.channels,):
            raise ParameterError(f"sample.valid has {sample.valid.size} entries, expected {self.table.channels} (one per channel).")
        self._mind_gap(sample.t)
        raw = self.robot.raw_rows(sample)
        row = self._filter.push(sample.t, raw, self._usable(sample.valid, raw), sample.nu_dot if self.table.vehicle else None)
        if row is None:
            return None
        self.prediction = self._predict(row)
        excited = self._excitation.push(row.Y, self.pi, row.valid, self.prediction.residual, self.noise.stddev)
        if self.learn:
            self._enter(row, excited)
            self._mind_changes(row, excited)
        self.noise.update(self.prediction.residual, row.valid, self.prediction.predicted_stddev, excited.moves)
        return self.prediction

    def solve(self, begin: float | None = None) -> Estimate | None:
        """Solve the horizon problem as it stands; keeps the last good estimate when the solver fails."""
        if self.prediction is None or not self.learn:
            return None
        begin = time.perf_counter() if begin is None else begin
        problem = self._horizon.problem(self.pi, self.free)
        try:
            solution = self._solver.solve(problem)
            status, seconds = solution.status, solution.seconds
            self._accept(problem, solution.pi)
        except SolverError as error:
            self.solver_failures += 1
            status, seconds = f"kept the last estimate: {error}", time.perf_counter() - begin
            log.warning("solve at t = %.2f s failed, the last estimate is kept: %s", self.prediction.t, error)
        before = {name: getattr(self.prediction, name) for name in Prediction.__dataclass_fields__}
        before.update(pi=self.pi, covariance=self.covariance)
        self.estimate = Estimate(**before, status=status, solve_ms=1e3 * seconds, update_ms=1e3 * (time.perf_counter() - begin))
        return self.estimate

    def _usable(self, valid: np.ndarray, raw: RawRows) -> np.ndarray:
        """The valid rows that are finite: one that is not would spoil every later estimate; it is counted."""
        finite = np.isfinite(raw.Y).all(axis=1) & np.isfinite(raw.tau) & np.isfinite(raw.known)
        self.not_finite += int(np.sum(valid & ~finite))
        return valid & finite

    def _mind_gap(self, t: float) -> None:
        """A gap or a jump of time breaks the low-pass; a long one the window too."""
        if self._last_t is not None and not 0.5 < (t - self._last_t) / self.config.filter.period < 1.5:
            self._filter.reset()
            self._score.break_off()
            if self._changes is not None:
                self._changes.break_off()
            if not 0 < t - self._last_t < self.config.filter.gap:
                self._horizon.empty(self.pi)
        self._last_t = t

    def _predict(self, row: Row) -> Prediction:
        fit = row.Y @ self.covariance @ row.Y.T
        noise = self.noise.interval_stddev
        covariance = fit + np.diag(noise ** 2)
        predicted = row.Y @ self.pi + row.known
        return Prediction(row.t, self.pi, self.covariance, predicted, covariance, np.sqrt(np.diag(covariance)), row.tau,
                          row.tau - predicted, row.valid, row.Y, row.known, noise, row.nu_dot)

    def _enter(self, row: Row, excited: Excited) -> None:
        """Normalize by the noise known now."""
        scale = 1 / self.noise.stddev
        Y, tau = row.Y * scale[:, None], (row.tau - row.known) * scale
        if not excited.counts.any() and (self._horizon.directional or not row.valid.any()):
            return
        self._gram.push(Y[excited.counts])
        self._horizon.push(Y, tau, excited.counts, self.pi)
        forgotten = self._horizon.forget()
        if forgotten is not None:
            self._score.forget(forgotten)
        self._gather_score(Y, tau, excited)

    def _mind_changes(self, row: Row, excited: Excited) -> None:
        if self._changes is None:
            return
        doubt = np.sqrt(np.maximum(self.prediction.doubted, 0.0))
        part = self._changes.push(row, self.pi, self.prediction.residual, excited.counts, doubt, self._excitation.variation)
        if part is not None:
            self.changes += 1
            self.last_change = f"at t = {row.t:.2f} s: {part} not what it was (a payload, a damage?); learnt anew"
            self._note(self.last_change)

    def _gather_score(self, Y: np.ndarray, tau: np.ndarray, excited: Excited) -> None:
        """What this instant adds to the noise of the cost's gradient."""
        if self.config.estimation.coupling == "reaction" and self.table.vehicle:
            Y, tau = moved_arm(self.table, Y, tau, self.pi)
        residual = (tau - Y @ self.pi) * excited.counts
        residual *= self._horizon.robust_weight(excited.counts, residual)
        tells = excited.moves & (self.prediction.doubted < LIMITED_BY_NOISE * self.prediction.noise_stddev ** 2)
        self._score.push(Y * excited.counts[:, None], residual, tells / self.noise.stddev)

    def _accept(self, problem: HorizonProblem, pi: np.ndarray) -> None:
        outside = self.physical.violation(pi)
        if not outside < OUTSIDE:
            raise SolverError(f"the answer is outside the physical constraints by {outside:.1e} (scaled)", "outside")
        # Before anything is taken over: an estimate without a covariance is a failed solve, too.
        inverse, covariance = self._information_covariance(problem, pi)
        before, self.pi = self.pi, pi
        self._inverse = inverse
        self._increments.update(before, pi)
        if problem.grouping == "horizon":
            norms, rho, _ = problem.group_norms(problem.residuals(pi))
            self._horizon.stack_weight = float(huber_weight(norms, rho)[0])
        self.covariance = self._increments.covariance() if self.config.uncertainty.covariance == "increments" else covariance

    def _information_covariance(self, problem: HorizonProblem, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(G, G cov(score) G)."""
        score = self._score.covariance + self._horizon.prior_score()
        gradient = problem.total.H @ pi - problem.total.g
        G = constrained_inverse(problem.total.H, score, self.physical.active_normals(pi), len(self.table.equal_pairs), gradient, self.free)
        covariance = G @ score @ G
        return G, 0.5 * (covariance + covariance.T)

    @property
    def increments_covariance(self) -> np.ndarray:
        """(p, p) the paper's covariance, tracked beside the other whichever is used."""
        return self._increments.covariance()

    # --- state --------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Back to the prior; all data are forgotten."""
        self._start_from(self.prior)

    def reset_horizon(self) -> None:
        """Empty the window and the low-pass (time jumped, next bag); the estimate stays."""
        self._filter.reset()
        self._horizon.empty(self.pi)
        self._last_t = None

    def load(self, parameters: ParameterSet) -> None:
        """Go on from a saved estimate as the new prior; all data are forgotten."""
        self._start_from(parameters)

    def parameter_set(self) -> ParameterSet:
        """The estimate with all that predictions with intervals need."""
        found = self.identifiability()
        return ParameterSet(self.table.names, self.pi.copy(), self.covariance.copy(), self.noise.lasting_stddev, self.prior.robot,
                            known_from=found.known_from, identifiability=found.for_file())

    @property
    def solver_name(self) -> str:
        """The solver that was chosen at start."""
        return self._solver.name

    @property
    def solver_counts(self) -> dict[str, int]:
        """Solves without an answer, answers that the solver called less than optimal, and how many each of its methods gave."""
        return {"failures": self.solver_failures, "inaccurate answers": self._solver.inaccurate,
                **{f"answered by {method}": count for method, count in self._solver.ticks.items() if count}}

    @property
    def noise_stddev(self) -> np.ndarray:
        """(C,) noise of each channel's predictions as known now [N, N m]."""
        return self.noise.interval_stddev

    @property
    def horizon_filled(self) -> int:
        """Samples in the window."""
        return self._horizon.filled

    def known_from(self) -> tuple[str, ...]:
        """For each parameter whether it is 'measured', 'weak', only the 'prior', or 'frozen' (docs/uncertainty.md)."""
        before = self._prior_deviation()
        if self._inverse is None:
            return known_from(before, before, before, before)
        prior = self._horizon.prior_score()
        covariance = self._inverse @ (self._score.covariance + prior) @ self._inverse
        return known_from(deviations(covariance), before, deviations(self._inverse @ prior @ self._inverse),
                          limited_by_physics(self.physical, self.pi, covariance))

    def identifiability(self) -> Identifiability:
        """What the data seen so far determine: rank, conditioning, blocks, and sentences and warnings for people."""
        prior = self._prior_deviation()
        return identifiability(self.table, self.free, self._gram.information, self._gram.rows, self.covariance, prior, self.known_from())

    def identifiable_rank(self) -> int:
        """How many directions of the free parameters the data seen so far determine, after the symmetry equalities."""
        return directions(self.table, self.free, self._gram.information).rank

    def _prior_deviation(self) -> np.ndarray:
        return np.where(self.free, deviations(self._prior_covariance), 0.0)

    def _note(self, *messages: str) -> None:
        for message in messages:
            self.notes.append(message)
            log.info(message)
