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

import numpy as np

from ..config import Config
from ..errors import SolverError, require
from ..model.arguments import read_only
from ..model.parameter_set import ParameterSet, as_prior
from ..model.physical_set import ACCEPTED_VIOLATION, PhysicalSet
from ..model.prior import prior_from_config
from ..model.robot import RawRows, RobotModel
from ..model.sample import Sample
from ..model.scales import Scales
from ..solvers import Guarded, choose_solver
from ..solvers.problem import HorizonProblem, Solution
from ..uncertainty.identifiability import Identifiability
from ..uncertainty.trust import TRUST_WRONG
from .accepted_change import Change
from .channel_findings import ChannelFindings
from .low_pass import Row, RowFilter
from .onset import to_learn
from .origin import Origin
from .payload import PayloadTracker
from .prediction import Estimate, Prediction, predict
from .progress import Progress
from .robot_changes import Revision, RobotChanges
from .robot_knowledge import RobotKnowledge
from .row_excitation import Excited
from .sample_check import Rejected, SampleCheck
from .snapshot import EstimatorSnapshot, PresentParameters

log = logging.getLogger(__name__)

# failed solves in a row after which the estimator restarts from its last good estimate
RECOVER_AFTER = 10
# share of half a period that a solve gets at least, even if `add` has taken longer
LEAST_SHARE = 0.5
SOLVE_AGAIN = 25    # samples between two solves while earlier ones are learnt from again
SAME_INSTANT = 0.5  # share of a period within which two stamps are the same instant
# [s] A day: nobody leaves a run without data for longer, while a computer without a clock battery
# is decades behind until it has a network.
LONGEST_PAUSE = 86400.0


class Estimator:
    """Moving horizon estimation of all parameters of a robot.

    `step(sample)` is `add(sample)` followed by `solve()`.

    learn: if False, nothing is estimated: `add` only predicts, with the noise that came with the
    parameters, and adaptive intervals keep adapting; `set_learning` changes it. knowledge: the
    present estimate and all that describes it; information: its information state; findings: on
    each channel; prediction: of the newest row; excited: which channels of that row are learnt
    from, and which are in motion; status: of the last solve; undone: what was last unlearnt, in
    words; standing_change: the last change of the robot that was not withdrawn, in words;
    rejected: rows and samples that were not used."""

    excited: Excited
    prediction: Prediction | None
    status: str
    undone: str
    last_change: str
    standing_change: str
    _first_t: float | None
    _last_t: float | None
    _broken_off: bool

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
        self.solver, notes = choose_solver(config.estimation.solver, self.table)
        self._note(*notes)
        self._real_time = real_time
        self._low_pass = RowFilter(config.filter, self.table.channels, self.table.size,
                                   self.robot.thrusters)
        self._check = SampleCheck(config, self.robot, np.sqrt(self._low_pass.correlation_length))
        self._given = (prior_from_config(config, self.robot) if prior is None
                       else as_prior(prior, self.table))
        self.knowledge = RobotKnowledge(config, self.robot, self.physical, self._low_pass,
                                        self._given.for_table(self.table, "prior").values)
        self.information = self.knowledge.information
        self.findings = ChannelFindings(config, self.robot, self.information,
                                        self._low_pass.correlation_length)
        self._progress = Progress(self.table.channels)
        self.payload = PayloadTracker(self.table, config.filter.period,
                                      config.filter.period * len(self._low_pass.kernel),
                                      config.uncertainty.scale_stddev)
        self._robot_changes = RobotChanges(config, self.robot, self.knowledge, self.payload,
                                           self._low_pass.correlation_length, self._elapsed)
        self.solver_failures = 0
        self.changes = 0
        self.rejected = Rejected()
        self.recoveries = 0         # restarts after failed solves in a row
        self.replayed = ""          # a sentence if the data have been learnt from already
        self.restart(start)
        if learn:
            self.solver.warm_up(self.physical, self.free, self.pi)

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
            self.rejected = self.rejected.plus(Rejected(repeated_stamps=1))
            return None
        self._note_time(sample.t)
        self.findings.set_misread(sample.misread)
        if sample.down_covariance is not None:
            # The attitude is a guess while the IMU is silent or wrong, and a wrong IMU was wrong
            # before it was found: residuals of either time are not evidence of a change.
            self._robot_changes.break_off()
        return self._learn_from(sample) if self.learn else self._predict_only(sample)

    def _learn_from(self, sample: Sample) -> Prediction | None:
        """A tick while learning."""
        self._note_replayed_data(sample)
        self._undo_if_faulty(sample)
        if sample.again:
            self._learn_again(sample)
        return self._learn(sample)

    def _learn(self, sample: Sample) -> Prediction | None:
        """Learn from a sample; every update of what is known is in it."""
        # Its row: the same linear filter on both sides leaves tau = Y pi exact.
        sample = self._robot_changes.corrected(sample)
        raw = self._raw_rows(sample)
        valid = self._valid_rows(sample, raw)
        self.information.observe_motion(sample, valid, self.robot, self.pi)
        raw = self._robot_changes.with_columns(raw, sample, self.pi)
        row = self._low_passed(sample, raw, valid)
        if row is None:
            return None
        row = self._robot_changes.with_load(row)

        # First of all: a prediction must not have seen the row that it is compared with.
        prediction, excited = self._predict(row)
        self.findings.add_row(prediction, excited, prediction.parameter_variance)

        # Everything that learns from the row.
        self.information.add_row(prediction, excited)
        self._progress.note_rows(excited.learnt, self.config.filter.period)
        self.payload.add_row(prediction, excited.learnt, self.information)
        for revision in self._robot_changes.add_row(prediction, excited, self.pi):
            self._note_change(revision)
        self.information.forget()
        # The noise last: the change detector judges a residual by earlier noise, and restores the
        # noise from before a change that it accepts.
        self._learn_noise(prediction, excited)
        return prediction

    def _predict_only(self, sample: Sample) -> Prediction | None:
        """A tick of parameters that stay as they are. Their intervals can still adapt (`evaluate
        --frozen --adapt-intervals`, `~/enable` false)."""
        sample = self._robot_changes.corrected(sample)
        raw = self._raw_rows(sample)
        row = self._low_passed(sample, raw, self._valid_rows(sample, raw))
        if row is None:
            return None
        prediction, excited = self._predict(row)
        self.findings.add_row(prediction, excited, np.zeros(self.table.channels))
        self._learn_noise(prediction, excited)
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
        if not self.knowledge.free_set.settled:     # a stage has freed or frozen parameters
            self.knowledge.apply_free_set()
            self._robot_changes.renew_detector()
        problem = self.information.problem(self.pi, self.free)
        try:
            solution = self._minimize(problem, self._deadline(begin))
            self.knowledge.accept(problem, solution.pi)
            self._progress.note_solve()
            self.status, seconds = solution.status, solution.seconds
        except SolverError as error:
            self._keep_last(error)
            seconds = time.perf_counter() - begin_solve
        recent = self.knowledge.recent
        return Estimate(self.prediction, self.pi, recent.covariance, self.status, 1e3 * seconds,
                        1e3 * (time.perf_counter() - begin), recent.systematic)

    # --- its stages -------------------------------------------------------------------------------

    def _repeats(self, t: float) -> bool:
        """Whether the stamp t [s] is that of the last sample."""
        return self._last_t is not None and not self._broken_off and (
            abs(t - self._last_t) < SAME_INSTANT * self.config.filter.period)

    def _note_time(self, t: float) -> None:
        """Separate the row at t [s] from earlier ones if a gap or a jump of time lies between."""
        if self._first_t is None or self._last_t is None:
            self._first_t = t
        else:
            passed = t - self._last_t
            clock_set = passed < 0 or passed > LONGEST_PAUSE and not self._broken_off
            if not self._broken_off:
                self._progress.advance(0.0 if clock_set else passed)
                self._separate(passed)
            if clock_set:       # times in messages go on
                self._first_t += passed
                self._robot_changes.shift_times(passed)
        self._last_t, self._broken_off = t, False

    def _separate(self, passed: float) -> None:
        """Separate the next row from earlier ones if more or less than a period has passed [s]."""
        if not 0 < passed < (1 + SAME_INSTANT) * self.config.filter.period:
            self._break_off(close_window=not 0 < passed < self.config.filter.gap)

    def _note_replayed_data(self, sample: Sample) -> None:
        """Report once that data are being learnt from a second time."""
        since = self.knowledge.note_data(sample)
        if since is not None and not self.replayed:
            self.replayed = (
                f"data from {max(self._elapsed(since), 0.0):.0f} s on have already been learnt "
                "from (same stamps and readings): they count twice, so intervals become too "
                "narrow; start from an estimate that has not seen them")
            self._note(self.replayed)

    def _undo_if_faulty(self, sample: Sample) -> None:
        """Undo what was learnt from a sensor that has become faulty."""
        undone = self._robot_changes.check_sensors(sample, self.pi)
        if undone is not None:
            self.undone = undone.sentence
            self._revise(undone)
            self._break_off(close_window=False)

    def _learn_again(self, sample: Sample) -> None:
        """Learn from earlier samples that have been put right, from before the fault on."""
        always_wrong = all(before is after for before, after in sample.again)
        found = self._robot_changes.begin_again(sample.again[0][0].t, sample.t, always_wrong)
        if found is None:
            return
        until, back = found
        right_until = max(until, sample.right_until) if sample.found_wrong else until
        self.undone = (f"after {self._elapsed(until):.0f} s a sensor became faulty: what its "
                       "readings spoilt is undone, all the rest is learnt again")
        self._revise(back._replace(sentence=self.undone))
        # (rows that were in the window then are in no checkpoint, nor are those still to come)
        rows = self.config.estimation.horizon + len(self._low_pass.kernel)
        samples = [one for one in to_learn(sample.again, right_until, self._residual)
                   if one.t > until - (rows - SAME_INSTANT) * self.config.filter.period]
        self._break_off(close_window=False)
        for k, one in enumerate(samples):
            if k > 0:
                self._separate(one.t - samples[k - 1].t)
            if one.down_covariance is not None:
                self._robot_changes.break_off()
            self._learn(one)
            if k % SOLVE_AGAIN == 0:
                self.solve()

    def _residual(self, sample: Sample) -> np.ndarray:
        """(C,) residuals of a sample before the low-pass, NaN where it does not count."""
        raw = self._raw_rows(self._robot_changes.corrected(sample))
        return np.where(sample.valid, raw.residual(self.pi), np.nan)

    @property
    def beyond_limits(self) -> dict[str, str]:
        """Channel -> which setting `limits` most of its implausible rows exceeded, in words."""
        return self._check.beyond.sentences()

    def _raw_rows(self, sample: Sample) -> RawRows:
        return self.robot.raw_rows(sample, self.pi).scaled(self.scales.effort)

    def _valid_rows(self, sample: Sample, raw: RawRows) -> np.ndarray:
        """(C,) bool: rows to use; counts the others."""
        valid, rejected = self._check.rows(sample, raw, self.pi, self.knowledge.recent.covariance,
                                           self.information.noise.long_run)
        self.rejected = self.rejected.plus(rejected)
        return valid

    def _low_passed(self, sample: Sample, raw: RawRows, valid: np.ndarray) -> Row | None:
        return self._low_pass.add_row(sample.t, raw, valid,
                                      sample.nu_dot if self.table.vehicle else None, sample.R_nb)

    def _predict(self, row: Row) -> tuple[Prediction, Excited]:
        """The prediction of a row, and which of its channels are learnt from and in motion."""
        prediction = predict(row, self.pi, self.knowledge.recent.covariance,
                             self.information.noise, self.findings.trust.levels)
        excited = self.information.observe(prediction)
        self.prediction, self.excited = prediction, excited
        return prediction, excited

    def _learn_noise(self, prediction: Prediction, excited: Excited) -> None:
        if self._adapt_intervals:
            self.information.learn_noise(prediction, excited)
            self.information.refresh_weights()

    def _deadline(self, begin: float) -> float | None:
        """Time limit [s] of a solve in the tick that began at `begin`; None: no limit."""
        deadline = self.config.estimation.deadline
        if deadline or not self._real_time:
            return deadline or None
        half_period = 0.5 * self.config.filter.period
        return max(half_period - (time.perf_counter() - begin), LEAST_SHARE * half_period)

    def _minimize(self, problem: HorizonProblem, deadline: float | None) -> Solution:
        """The solver's solution. Raises SolverError if there is none inside P."""
        solution = self.solver.solve(problem, deadline)
        outside = self.physical.violation(solution.pi)
        if not outside < ACCEPTED_VIOLATION:
            raise SolverError(
                f"the answer is outside the physical constraints by {outside:.1e} (scaled)",
                "outside")
        return solution

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
        self.findings.begin_again()
        self._note(f"{RECOVER_AFTER} solves failed in a row up to t = {t:.2f} s; dropped their "
                   "data and restarted from the last good estimate")
        self.knowledge.begin_again()
        self._robot_changes.break_off()

    # --- changes from outside ---------------------------------------------------------------------

    def restart(self, saved: ParameterSet | None = None) -> None:
        """Start again from the prior (None) or from a saved estimate with its covariance and noise.

        Raises ParameterError for a set that does not fit this robot, with nothing changed.
        """
        if saved is not None:
            require("start", saved, ParameterSet)
        origin = Origin.of(self._given if saved is None else saved, self.robot, self.physical,
                           self.solver)
        self.knowledge.restart(origin, self._adapt_intervals)
        # Nothing below raises: a set that cannot be used has changed nothing.
        if origin.moved:
            self._note(origin.moved)
        self._robot_changes.restart(origin.scales, origin.rows_known)
        if corrections := self.scales.words(self.robot.channels):
            self._note(f"the saved estimate corrects measurements: {', '.join(corrections)}, as "
                       "found in its dive; a repair or a fresh battery since then is noticed while "
                       "it learns")
        self.findings.restart(origin.saved, self.learn)
        self._check.restart()
        self._low_pass.reset()
        self._last_t = self._first_t = None
        self._broken_off = False
        self.undone = self.last_change = self.standing_change = ""
        self.replayed = ""
        self.prediction = None
        self.status = ""
        self._progress.restart("a saved estimate" if self.information.prior.saved else
                               "the prior" if saved is None else
                               "parameters without a covariance")

    def set_learning(self, learn: bool) -> None:
        """Learn from now on, or only predict; a pause separates the rows before and after it."""
        if learn and not self.learn:
            self.break_off()
        self.learn = learn

    def set_free(self, free: np.ndarray | Iterable[str]) -> None:
        """Estimate these parameters, a mask (p,) or names and patterns, and hold the others.

        Nothing is forgotten, and data on all parameters are still collected. Parameters that the
        settings freeze stay frozen; two that symmetry makes equal are freed or held together.
        Raises ParameterError."""
        self.knowledge.set_free(free)

    def watch_changes(self, watches: bool) -> None:
        """Look for changes of the robot from now on, or do not: what its motion shows for the first
        time cannot be told from a change."""
        self._robot_changes.watch(watches)

    def use_solver(self, solver: Guarded) -> None:
        """Solve with another solver from now on."""
        self.solver = solver

    def change_settings(self, config: Config) -> None:
        """Use other settings, which may differ only in config.LIVE; keep what has been learnt. A
        change detector that is switched on starts empty."""
        self.config = config
        for part in (self.findings, self._check, self._low_pass, self._robot_changes):
            part.change_settings(config)

    def break_off(self) -> None:
        """Close the window at a gap, a jump of time or another recording; keep the estimate."""
        self._break_off(close_window=True)
        self._broken_off = True

    def _break_off(self, close_window: bool) -> None:
        self._low_pass.reset()
        self.information.break_off(self.pi, close_window)
        self.findings.break_off()
        self._robot_changes.break_off()

    def follow(self, change: Change, t: float) -> None:
        """Adapt what is known to a change at stamp t [s], unless that is numerically impossible."""
        revision = self._robot_changes.follow(change, t, self.pi)
        if revision is not None:
            self._note_change(revision)

    def _note_change(self, revision: Revision) -> None:
        self.changes += 1
        self.last_change = revision.sentence
        self._revise(revision)

    def _revise(self, revision: Revision) -> None:
        """Continue from revised knowledge; earlier residuals do not apply to it."""
        self.standing_change = revision.standing
        self.knowledge.revise(revision.pi, revision.restarted, revision.restored)
        self.findings.begin_again()
        if revision.jumps:
            self._progress.note_jump(revision.sentence)
        self._note(revision.sentence)

    def _note(self, *messages: str) -> None:
        for message in messages:
            self.notes.append(message)
            log.info(message)

    def _elapsed(self, t: float) -> float:
        """[s] from the first sample to stamp t."""
        return t - (self._first_t or 0.0)

    # --- answers ----------------------------------------------------------------------------------

    @property
    def pi(self) -> np.ndarray:
        """(p,) the present estimate, read-only."""
        return self.knowledge.pi

    @property
    def covariance(self) -> np.ndarray:
        """(p, p) of the present estimate, read-only."""
        return self.knowledge.covariance

    @property
    def prior(self) -> ParameterSet:
        """What the estimate started from."""
        return self.knowledge.prior

    @property
    def free(self) -> np.ndarray:
        """(p,) bool: parameters estimated now, read-only."""
        return self.knowledge.free

    @property
    def fresh_stddev(self) -> np.ndarray:
        """(p,) standard deviations of the prior before anything was learnt."""
        return self.information.prior.stddev

    @property
    def left_out(self) -> tuple[str, ...]:
        """(C,) why each channel is neither judged nor mentioned in advice; '' if it is."""
        return self.findings.left_out

    @property
    def scales(self) -> Scales:
        """Factors on measurements, set by accepted changes."""
        return self._robot_changes.scales

    @property
    def nearest_change(self) -> float:
        """ln Bayes factor of the change that came closest to being accepted; see
        `ChangeDetector`."""
        return self._robot_changes.detector.nearest

    @property
    def changed_since(self) -> float:
        """Stamp [s] of the first change of the robot or external force, inf without any."""
        return self._robot_changes.changed_since

    @property
    def last_t(self) -> float | None:
        """Stamp [s] of the newest sample, None before the first."""
        return self._last_t

    def known_from(self) -> tuple[str, ...]:
        """See `RobotKnowledge.known_from`."""
        return self.knowledge.known_from()

    def identifiability(self) -> Identifiability:
        """See `RobotKnowledge.identifiability`."""
        return self.knowledge.identifiability()

    def identifiable_rank(self) -> int:
        """See `RobotKnowledge.identifiable_rank`."""
        return self.knowledge.identifiable_rank()

    def mass_findings(self) -> list[tuple[str, str]]:
        """Estimated masses that contradict the robot's own: (setting, sentence) each."""
        return self.findings.of_masses(self.pi, self.knowledge.recent)

    def parameter_set(self, described: bool = True) -> ParameterSet:
        """The estimate with all that predictions with intervals and a restart need.

        described: include the identifiability summary, which takes too long for a tick.
        """
        return self.knowledge.parameter_set(self.findings.trust.levels == TRUST_WRONG, self.scales,
                                            self._adapt_intervals, described)

    def snapshot(self) -> EstimatorSnapshot:
        """The estimator's public state, a frozen copy for any thread."""
        noise, recent = self.information.noise.interval_stddev, self.knowledge.recent
        return EstimatorSnapshot(
            learn=self.learn, t=None if self.prediction is None else self.prediction.t,
            status=self.status, solver=self.solver.name,
            solver_counts={"failures": self.solver_failures, **self.solver.counts()},
            failures=self.solver_failures, recoveries=self.recoveries, rejected=self.rejected,
            noise_stddev=read_only(noise), window_filled=self.information.window.filled,
            changes=self.changes, last_change=self.last_change,
            started_from_file=self.information.prior.saved,
            parameters=PresentParameters(self.pi, recent.covariance, recent.systematic),
            progress=self._progress.record(), judged=self.findings.trust.judged,
            trust=self.findings.trust_words(), trust_cause=self.findings.trust_cause(),
            scales=self.scales,
            external_force=self._robot_changes.load.force if self.learn else 0.0)
