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

"""The estimator: samples in; predictions and physically consistent parameters with covariance out.

The node, `evaluate` and the library all use this class. docs/architecture.md, "What a tick does",
goes through `add` and `solve` line by line; docs/mathematics.md has the equations."""
from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..config import Config
from ..errors import SolverError, require
from ..model.covariance import semidefinite
from ..model.parameter_file import ParameterSet, as_parameter_set
from ..model.physical_set import ACCEPTED_VIOLATION, PhysicalSet
from ..model.prior import prior_from_config
from ..model.robot import RawRows, RobotModel
from ..model.sample import Misread, Sample
from ..model.scales import Scales
from ..solvers import choose_solver
from ..solvers.problem import HorizonProblem, Solution
from ..uncertainty.identifiability import Identifiability, at_least, directions, identifiability
from ..uncertainty.mass_check import mass_findings
from ..uncertainty.parameter_intervals import parameter_intervals
from ..uncertainty.trust import TRUST_OK, TRUST_WRONG, ChannelTrust
from .accepted_change import Change
from .channel_findings import ChannelFindings
from .estimate_uncertainty import EstimateUncertainty
from .free_set import FreeSet
from .information import InformationState
from .learned import (
    effort_sizes,
    interval_factors,
    known_directions,
    known_rows,
    learned_entries,
)
from .learned_spans import LearnedSpans
from .low_pass import RowFilter
from .payload import PayloadTracker
from .prediction import Estimate, Prediction, parameter_stddev, predict
from .prior_information import PriorInformation, admissible, prior_information
from .progress import Progress
from .robot_changes import Revision, RobotChanges
from .sample_check import SampleCheck
from .snapshot import EstimatorSnapshot, PresentParameters

log = logging.getLogger(__name__)

# failed solves in a row after which the estimator restarts from its last good estimate
RECOVER_AFTER = 10
# share of half a period that a solve gets at least, even if `add` has taken longer
LEAST_SHARE = 0.5
SAME_INSTANT = 0.5  # share of a period within which two stamps are the same instant


class Estimator:
    """Moving horizon estimation of all parameters of a robot.

    `step(sample)` is `add(sample)` followed by `solve()`.

    learn: if False, nothing is estimated: `add` only predicts, with the noise that came with the
    parameters, and adaptive intervals keep adapting. It may change between two ticks. pi (p,): the
    present estimate, read-only; prior: the values it started from; prediction: of the newest row;
    moves, counts (C,) bool: which channels of that row were in motion, and which were learnt;
    status: of the last solve; solved: whether a solve has succeeded since the start; undone: what
    was last unlearnt, in words; standing_change: the last change of the robot that was not
    withdrawn, in words."""

    pi: np.ndarray
    moves: np.ndarray
    counts: np.ndarray
    prior: ParameterSet
    prediction: Prediction | None
    status: str
    solved: bool
    undone: str
    standing_change: str
    _saved_words: tuple[str, ...]
    _first_t: float | None
    _last_t: float | None

    def __init__(self, config: Config, prior: ParameterSet | np.ndarray | None = None,
                 robot: RobotModel | None = None, learn: bool = True, real_time: bool = False,
                 adapt_intervals: bool | None = None, start: ParameterSet | None = None):
        """prior: a prior (a ParameterSet, or (p,) values with the configuration's deviations), or a
        saved estimate to continue from; the configuration's if None.
        start: a saved estimate to start from once; `restart` still returns to the prior.
        adapt_intervals: whether the width of intervals follows recent residuals; `learn` if None,
        so that parameters frozen from the start are tested as they were saved.
        real_time: limits a tick to half a period if no deadline is set; offline, results must not
        depend on the speed of the machine. Raises UvmsError for settings or parameters that cannot
        be used."""
        require("config", config, Config)
        if robot is not None:
            require("robot", robot, RobotModel)
        self.config = config
        self.robot = RobotModel.from_config(config) if robot is None else robot
        self.table = self.robot.table
        self.learn = learn
        self._adapt_intervals = learn if adapt_intervals is None else adapt_intervals
        self.notes: list[str] = []
        self.physical = PhysicalSet(self.table, config.estimation)
        self._free_set = FreeSet(self.table, config.estimation.frozen)
        self._solver, notes = choose_solver(config.estimation.solver, self.table)
        self._note(*notes)
        self._real_time = real_time
        self._low_pass = RowFilter(config.filter, self.table.channels, self.table.size,
                                   self.robot.thrusters)
        self._check = SampleCheck(config, self.robot, np.sqrt(self._low_pass.correlation_length))
        self._given = (prior_from_config(config, self.robot) if prior is None
                       else as_parameter_set(prior, self.table, "prior"))
        self.information = InformationState(
            config, self.physical, self._low_pass.kernel, self.robot.default_noise(config),
            self._given.for_table(self.table, "prior").values)
        self._uncertainty = EstimateUncertainty(config, self.physical, self.information,
                                                self._free_set)
        self.trust = ChannelTrust(self.table.channels, config.filter.period,
                                  self._low_pass.correlation_length)
        self._findings = ChannelFindings(config, self.robot, self.trust, self.information)
        self._progress = Progress(self.table.channels)
        self.payload = PayloadTracker(self.table, config.filter.period,
                                      config.filter.period * len(self._low_pass.kernel),
                                      config.uncertainty.scale_stddev)
        self._robot_changes = RobotChanges(
            config, self.robot, self.information, self._free_set, self._uncertainty, self.payload,
            self._low_pass.correlation_length, self._elapsed)
        self.solver_failures = 0
        self.changes, self.last_change = 0, ""
        self.implausible = 0        # rows marked valid whose values are impossible
        self.tilted = 0             # rows masked because the attitude is too uncertain
        self.repeated_stamps = 0    # samples refused because their stamp repeats
        self.recoveries = 0         # restarts after failed solves in a row
        self.repeated = ""          # a sentence if the data have been learnt from already
        self.restart(start)
        if learn:
            self._solver.warm_up(self.physical, self.free, self.pi)

    # --- a tick -----------------------------------------------------------------------------------

    def step(self, sample: Sample) -> Estimate | None:
        """Add a sample and solve. None while the low-pass fills, for a repeated stamp, and without
        `learn`. Raises as `add`."""
        begin = time.perf_counter()
        if self.add(sample) is None:
            return None
        return self.solve(begin)

    def add(self, sample: Sample) -> Prediction | None:
        """Predict an instant with what was known before it, then learn from it.

        None while the low-pass fills (for the length of its kernel after a start or a gap), and for
        a repeated stamp. Raises ParameterError for a sample that does not fit this robot.
        """
        self._check.require_form(sample)
        if self._repeats(sample.t):
            self.repeated_stamps += 1
            return None
        self._follow_time(sample.t)
        if self.learn:
            self._note_repeated_data(sample)
        self._follow_sensors(sample)

        sample = self._robot_changes.corrected(sample)
        raw = self.robot.raw_rows(sample, self.pi).scaled(self.effort_factor)
        valid = self._valid_rows(sample, raw)
        if self.learn:
            self.information.observe_motion(sample, valid, self.robot, self.pi)
            raw = self._with_scale_columns(raw, sample)
        # The same linear filter on both sides leaves tau = Y pi exact.
        row = self._low_pass.add_row(sample.t, raw, valid,
                                     sample.nu_dot if self.table.vehicle else None, sample.R_nb)
        if row is None:
            return None
        if self.learn:
            row = self._robot_changes.with_load(row)

        # First of all: a prediction must not have seen the row that it is compared with.
        prediction = predict(row, self.pi, self._uncertainty.recent.covariance,
                             self.information.noise, self.trust.levels)
        self.prediction = prediction
        excited = self.information.observe(prediction)
        self.moves, self.counts = excited.moves, excited.counts
        self._findings.add_row(prediction, excited, self.learn)

        if self.learn:
            self.information.add_row(prediction, excited)
            self._progress.note_rows(excited.counts, self.config.filter.period)
            self.payload.add_row(prediction, excited.counts, self.information)
            for revision in self._robot_changes.add_row(prediction, excited, self.pi):
                self._note_change(revision)
            self.information.forget()
        # Frozen parameters can still have adapting intervals (`evaluate --frozen
        # --adapt-intervals`, `~/enable` false). The noise learns last: the change detector judges
        # a residual by earlier noise, and restores the noise from before a change that it accepts.
        if self._adapt_intervals:
            self.information.learn_noise(prediction, excited)
            self.information.refresh_weights()
        return prediction

    def solve(self, begin: float | None = None) -> Estimate | None:
        """Minimize the horizon's present cost over P; if that fails, keep the last good estimate.

        begin: `time.perf_counter()` at the start of the tick, for `update_ms` and, in real time,
        the deadline. Returns None before the first prediction, and without `learn`.
        """
        if self.prediction is None or not self.learn:
            return None
        begin = time.perf_counter() if begin is None else begin
        begin_solve = time.perf_counter()
        if not self._free_set.settled:      # a stage has freed or frozen parameters
            self._follow_free_set()
        problem = self.information.problem(self.pi, self.free)
        try:
            solution = self._minimize(problem, self._deadline(begin))
            self._accept(problem, solution.pi)
            self._progress.note_solve()
            self.status, seconds = solution.status, solution.seconds
        except SolverError as error:
            self._keep_last(error)
            seconds = time.perf_counter() - begin_solve
        recent = self._uncertainty.recent
        return Estimate(self.prediction, self.pi, recent.covariance, self.status, 1e3 * seconds,
                        1e3 * (time.perf_counter() - begin), recent.systematic)

    def _repeats(self, t: float) -> bool:
        """Whether the stamp t [s] is that of the last sample."""
        return self._last_t is not None and abs(t - self._last_t) < (
            SAME_INSTANT * self.config.filter.period)

    def _follow_time(self, t: float) -> None:
        """Separate the row at t [s] from earlier ones if a gap or a jump of time lies between."""
        if self._last_t is not None:
            passed, period = t - self._last_t, self.config.filter.period
            self._progress.advance(passed)
            if not 0 < passed < (1 + SAME_INSTANT) * period:
                self._break_off(close_window=not 0 < passed < self.config.filter.gap)
        if self._first_t is None:
            self._first_t = t
        self._last_t = t

    def _note_repeated_data(self, sample: Sample) -> None:
        """Report once that data are being learnt from a second time."""
        since = self._spans.add(sample)
        if since is not None and not self.repeated:
            self.repeated = (
                f"data from {max(self._elapsed(since), 0.0):.0f} s on have already been learnt "
                "from (same stamps and readings): they count twice, so intervals become too "
                "narrow; start from an estimate that has not seen them")
            self._note(self.repeated)

    def _follow_sensors(self, sample: Sample) -> None:
        """Apply sensor findings; undo what was learnt from a faulty sensor."""
        self.follow_misread(sample.misread)
        if self.learn:
            undone = self._robot_changes.check_sensors(sample, self.pi)
            if undone is not None:
                self.undone = undone.sentence
                self._revise(undone)
                self._break_off(close_window=False)
        if sample.down_doubt is not None:
            # The attitude is a guess while the IMU is silent or wrong, and a wrong IMU was wrong
            # before it was found: residuals of either time are no evidence of a change.
            self._robot_changes.break_off()

    def _valid_rows(self, sample: Sample, raw: RawRows) -> np.ndarray:
        """(C,) bool: rows to use; counts those that are implausible or of an uncertain attitude."""
        checked = self._check.rows(sample, raw, self.pi, self._uncertainty.recent.covariance,
                                   self.information.noise.long_run)
        self.implausible += checked.implausible
        self.tilted += checked.tilted
        return checked.valid

    def _with_scale_columns(self, raw: RawRows, sample: Sample) -> RawRows:
        """raw with the columns of two kinds of change: a scale of the velocity, of a thruster."""
        return raw._replace(by_velocity=self.robot.by_velocity(sample, self.pi),
                            by_thruster=self.robot.by_thruster(sample, self.effort_factor))

    def follow(self, change: Change, t: float) -> None:
        """Adapt what is known to a change at stamp t [s], unless that is numerically impossible."""
        revision = self._robot_changes.follow(change, t, self.pi)
        if revision is not None:
            self._note_change(revision)

    def _note_change(self, revision: Revision) -> None:
        self.changes += 1
        self.last_change, self.standing_change = revision.sentence, revision.standing
        self._revise(revision)
        if revision.restarted.size:
            self._forget_saved(revision.restarted)

    def _revise(self, revision: Revision) -> None:
        """Continue from revised knowledge; earlier residuals do not apply to it."""
        self.pi = revision.pi
        self.trust.begin_again()
        if revision.jumps:
            self._progress.note_jump(revision.sentence)
        self._note(revision.sentence)

    def _forget_saved(self, places: np.ndarray) -> None:
        """Drop what the file at the start says of parameters at `places` (k,) and, if these are all
        that are estimated, of the data behind it: the state belongs to a robot of its own now."""
        self._saved_words = tuple(
            word if word == "frozen" or k not in places else "prior"
            for k, word in enumerate(self._saved_words))
        if np.isin(np.flatnonzero(self.free), places).all():
            self.prior = replace(self.prior, learned={})
            self._spans = LearnedSpans()

    def _elapsed(self, t: float) -> float:
        """[s] from the first sample to stamp t."""
        return t - (self._first_t or 0.0)

    def _deadline(self, begin: float) -> float | None:
        """Time limit [s] of a solve in the tick that began at `begin`; None: no limit."""
        deadline = self.config.estimation.deadline
        if deadline or not self._real_time:
            return deadline or None
        half_period = 0.5 * self.config.filter.period
        return max(half_period - (time.perf_counter() - begin), LEAST_SHARE * half_period)

    def _minimize(self, problem: HorizonProblem, deadline: float | None) -> Solution:
        """The solver's solution. Raises SolverError if there is none inside P."""
        solution = self._solver.solve(problem, deadline)
        outside = self.physical.violation(solution.pi)
        if not outside < ACCEPTED_VIOLATION:
            raise SolverError(
                f"the answer is outside the physical constraints by {outside:.1e} (scaled)",
                "outside")
        return solution

    def _accept(self, problem: HorizonProblem, pi: np.ndarray) -> None:
        """Adopt a problem's solution pi (p,). Raises SolverError, with nothing changed, if it would
        have no covariance."""
        self._uncertainty.follow(problem, self.pi, pi)
        self.pi = pi
        self.pi.setflags(write=False)
        self.information.note_solution(problem, pi)
        self.solved = True

    def _keep_last(self, error: SolverError) -> None:
        self.solver_failures += 1
        failed = self._progress.note_failure()
        self.status = f"kept the last estimate: {error}"
        t = self.prediction.t if self.prediction is not None else 0.0
        log.warning("solve at t = %.2f s failed, keeping the last estimate: %s", t, error)
        if failed % RECOVER_AFTER == 0:
            self._recover(t)

    def _recover(self, t: float) -> None:
        """Drop the data whose solves failed, and restart from the last good estimate."""
        self.recoveries += 1
        self._progress.note_jump(f"recovery after {RECOVER_AFTER} failed solves in a row")
        self.trust.begin_again()
        self._note(f"{RECOVER_AFTER} solves failed in a row up to t = {t:.2f} s; dropped their "
                   "data and restarted from the last good estimate")
        kept = self._uncertainty.keep()
        known = ParameterSet(self.table.names, self.pi, kept.covariance.matrix)
        information, rows = self.information, self.information.rows_learned
        information.restart(self._knowledge(self.pi, known), information.noise.lasting_stddev,
                            information.noise.long_run, kept.systematic,
                            rows_known=rows / self.table.channels, rows_learned=rows,
                            effort=information.noise.effort)
        self._robot_changes.break_off()

    # --- knowledge --------------------------------------------------------------------------------

    def restart(self, saved: ParameterSet | None = None) -> None:
        """Start again from the prior (None) or from a saved estimate with its covariance and noise.

        Raises ParameterError for a set that does not fit this robot, with nothing changed.
        """
        if saved is not None:
            require("start", saved, ParameterSet)
        origin = "the prior" if saved is None else "parameters without a covariance"
        saved = (self._given if saved is None else saved).for_table(self.table, "prior")
        scales = Scales.saved(saved.learned, self.robot.channels, self.robot.thrusters,
                              saved.source or "prior")
        values, moved = admissible(saved.values, self.table, self.physical, self._solver)
        values.setflags(write=False)
        robot = {"joints": list(self.table.joints), "vehicle": self.table.vehicle,
                 "channels": list(self.robot.channels)}
        prior = ParameterSet(
            self.table.names, values, saved.covariance, saved.noise_stddev, robot,
            known_from=saved.known_from, identifiability=saved.identifiability,
            systematic=saved.systematic, learned=saved.learned)
        factors = interval_factors(saved, self.robot.channels)
        spans = LearnedSpans(saved.learned.get("spans"), saved.learned.get("marks"))
        rows_known = known_rows(saved) / self.table.channels
        self.information.restart(self._knowledge(values, saved), saved.noise_stddev,
                                 saved.row_noise_stddev, saved.systematic,
                                 saved.residual_products, rows_known,
                                 effort=effort_sizes(saved, self.robot.channels))
        # Nothing below raises: a set that cannot be used has changed nothing.
        self.prior, self.pi, self._spans = prior, values, spans
        self._saved_words = prior.known_from
        if moved:
            self._note(moved)
        if self._adapt_intervals:
            self.information.noise.begin_factor(factors)
        known = self.information.prior
        self._free_set.restart(known.covariance)
        self._hold()
        self._uncertainty.restart(known.covariance, saved.systematic)
        self._robot_changes.restart(scales, rows_known)
        if corrections := scales.words(self.robot.channels):
            self._note(f"the saved estimate corrects measurements: {', '.join(corrections)}, as "
                       "found in its dive; a repair or a fresh battery since then is noticed while "
                       "it learns")
        self.payload.end()
        self._findings.restart(saved, self.learn)
        self._check.restart()
        self._low_pass.reset()
        self._last_t = self._first_t = None
        self.undone = self.standing_change = ""
        self.repeated = ""
        self.prediction = None
        self.status, self.solved = "", False
        self._progress.restart("a saved estimate" if known.saved else origin)

    def change_settings(self, config: Config) -> None:
        """Use other settings, which may differ only in config.LIVE; keep what has been learnt. A
        change detector that is switched on starts empty."""
        self.config = config
        self._findings.change_settings(config)
        self._check.change_settings(config)
        self._low_pass.minimum_share = config.filter.minimum_share
        self._robot_changes.change_settings(config)

    def set_free(self, free: np.ndarray | Iterable[str]) -> None:
        """Estimate these parameters, a mask (p,) or names and patterns, and hold the others.

        Nothing is forgotten, and data on all parameters are still collected. Parameters that the
        settings freeze stay frozen; two that symmetry makes equal are freed or held together.
        Raises ParameterError."""
        wanted = self._free_set.wanted(free)
        if np.array_equal(wanted, self.free):
            return
        self._free_set.change(wanted, self.covariance, self.known_from())

    def _follow_free_set(self) -> None:
        """Apply `set_free`; only now, so that freezing and freeing between two solves has no
        effect."""
        self._free_set.settle()
        self._uncertainty.follow_free_set()
        self._hold()
        self._robot_changes.renew_detector()

    def _hold(self) -> None:
        if (held := self._free_set.held).any() or self.information.holds:
            self.information.hold(held, self._free_set.held_covariance())

    def break_off(self) -> None:
        """Close the window at a gap, a jump of time or another recording; keep the estimate."""
        self._break_off(close_window=True)
        self._last_t = None

    def _break_off(self, close_window: bool) -> None:
        self._low_pass.reset()
        self.information.break_off(self.pi, close_window)
        self.trust.break_off()
        self._robot_changes.break_off()

    def _knowledge(self, values: np.ndarray, saved: ParameterSet) -> PriorInformation:
        """The information of a prior or a saved estimate with these values (p,)."""
        return prior_information(saved, values, self.config.estimation, self.robot,
                                 self._free_set.allowed, self._low_pass.correlation_length)

    # --- answers ----------------------------------------------------------------------------------

    @property
    def nearest_change(self) -> float:
        """ln Bayes factor of the change that came closest to being accepted; see
        `ChangeDetector`."""
        return self._robot_changes.detector.nearest

    @property
    def scales(self) -> Scales:
        """Factors on measurements, set by accepted changes."""
        return self._robot_changes.scales

    @property
    def effort_factor(self) -> np.ndarray:
        """(C,) factor on measured efforts since a change of their scale."""
        return self.scales.effort

    @property
    def velocity_factor(self) -> float:
        """Factor on the vehicle's measured linear velocity since a change of its scale."""
        return self.scales.velocity

    @property
    def free(self) -> np.ndarray:
        """(p,) bool: parameters estimated now, read-only."""
        return self._free_set.free

    @property
    def held(self) -> np.ndarray:
        """(p,) bool: parameters that `set_free` holds now."""
        return self._free_set.held

    @property
    def fresh_stddev(self) -> np.ndarray:
        """(p,) standard deviations of the prior before anything was learned."""
        return self.information.prior.stddev

    @property
    def covariance(self) -> np.ndarray:
        """(p, p) of the present estimate, read-only."""
        return self._uncertainty.present().covariance.matrix

    @property
    def increments_covariance(self) -> np.ndarray:
        """(p, p) the paper's covariance of increments, tracked whichever covariance is used."""
        return self._uncertainty.of_increments()

    def parameter_set(self, described: bool = True) -> ParameterSet:
        """The estimate with all that predictions with intervals and a restart need.

        described: include the identifiability summary, which takes too long for a tick.
        """
        words, summary = self.prior.known_from, self.prior.identifiability
        if self.information.rows_learned or not words:
            words, summary = self.known_from(), {}
            if described:
                summary = self.identifiability().for_file()
        information = gradient = gradient_covariance = products = None
        present = self._uncertainty.present()
        if self.solved:
            information, gradient, noise = self.information.cost_to_save(self.pi)
            gradient_covariance = semidefinite(noise)
            products = self.information.gradient.autocovariance.products
        learned = learned_entries(
            known_rows(self.prior) + self.information.rows_learned,
            known_directions(self.covariance, self.information.prior.stddev), self.config,
            self._spans, self.robot.channels, self.trust.levels == TRUST_WRONG, self.scales,
            self.information.noise.effort,
            self.information.noise.interval_factor if self._adapt_intervals else None)
        known = ParameterSet(self.table.names, self.pi.copy(), semidefinite(self.covariance).copy(),
                             self.information.noise.lasting_stddev, self.prior.robot,
                             known_from=words, identifiability=summary,
                             row_noise_stddev=self.information.row_noise,
                             residual_products=products, information=information,
                             gradient=gradient, gradient_covariance=gradient_covariance,
                             systematic=present.systematic, learned=learned)
        stddev = parameter_stddev(present.covariance, present.systematic)
        return replace(known, intervals=parameter_intervals(self.physical, self.pi, stddev))

    def snapshot(self) -> EstimatorSnapshot:
        """The estimator's public state, a frozen copy for any thread."""
        noise = self.noise_stddev
        noise.setflags(write=False)
        recent = self._uncertainty.recent
        return EstimatorSnapshot(self.learn, None if self.prediction is None else self.prediction.t,
                                 self.status, self.solver_name, self.solver_counts,
                                 self.solver_failures, noise, self.information.window.filled,
                                 self.changes, self.last_change, self.information.prior.saved,
                                 PresentParameters(self.pi, recent.covariance, recent.systematic),
                                 self._progress.record(), self.trust.judged, self.implausible,
                                 self.repeated_stamps, self.recoveries,
                                 self._findings.trust_words(), self.trust_cause(), self.tilted,
                                 self.scales.words(self.robot.channels),
                                 self._robot_changes.load.force if self.learn else 0.0)

    def follow_misread(self, misread: tuple[Misread, ...]) -> None:
        """Apply findings about sensors and settings, from a sample or from a recording's last
        check."""
        self._findings.follow_misread(misread)

    def residual_findings(self) -> list[str]:
        """Sentences on constant residuals and on noise assumed too large, for channels without
        misread sensors."""
        return self._findings.of_residuals()

    @property
    def left_out(self) -> tuple[str, ...]:
        """(C,) why each channel is neither judged nor mentioned in advice; '' if it is."""
        return self._findings.left_out

    def mass_findings(self) -> list[tuple[str, str]]:
        """Estimated masses that contradict the robot's own: (setting, sentence) each."""
        return mass_findings(self.table, self.pi, self._uncertainty.recent.covariance, self.config,
                             self.trust.levels[:3] == TRUST_OK,
                             np.sqrt(self.trust.effort_power[:3]).tolist())

    def trust_cause(self) -> str:
        """The likely cause of channels that are not `ok`, in a sentence; '' if all are, apart from
        those that a setting leaves out."""
        return self._findings.trust_cause()

    @property
    def last_t(self) -> float | None:
        """Stamp [s] of the newest sample, None before the first."""
        return self._last_t

    @property
    def solver_name(self) -> str:
        """The solver chosen at the start."""
        return self._solver.name

    @property
    def solver_counts(self) -> dict[str, int]:
        """Failed solves, near-optimal answers, and answers by each of the solver's methods."""
        return {
            "failures": self.solver_failures,
            "inaccurate answers": self._solver.statuses["near-optimal"], **{
                f"answered by {method}": count
                for method, count in self._solver.answered.items() if count
            }
        }

    @property
    def noise_stddev(self) -> np.ndarray:
        """(C,) present noise deviation of each channel's predictions [N, N m]."""
        return self.information.noise.interval_stddev

    def known_from(self) -> tuple[str, ...]:
        """Where each parameter's value comes from: 'measured', 'weak', 'prior' or 'frozen'
        (docs/uncertainty.md)."""
        words, solved = self._uncertainty.known_from(self.pi)
        return self._free_set.flags(at_least(self._saved_words, words), solved)

    def identifiability(self) -> Identifiability:
        """What the data so far determine: rank, conditioning, blocks, and a summary with warnings
        in words."""
        return identifiability(self.table, self.free, self.information.data_information(self.pi),
                               self.information.rows_learned - self.information.rows_in_prior,
                               self.pi, self.covariance,
                               self._uncertainty.prior_stddev, self.known_from())

    def identifiable_rank(self) -> int:
        """Number of directions of the free parameters that the data so far determine, after the
        symmetry equalities."""
        return directions(self.table, self.free,
                          self.information.data_information(self.pi)).rank

    def _note(self, *messages: str) -> None:
        for message in messages:
            self.notes.append(message)
            log.info(message)
