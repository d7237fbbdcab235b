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

"""Run recordings through front end and estimator, in data time."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import Any

from ..config import Config
from ..control.stage_runner import runner_of_settings
from ..disk.writing import attempt_all, output_file, output_folder, write_file
from ..errors import BagError, UvmsError
from ..estimation.estimator import Estimator
from ..garbage import ShortCollections
from ..model.parameter_file import LARGEST_PARAMETER_FILE, save_parameters
from ..model.parameter_set import ParameterSet
from ..model.robot import RobotModel
from ..processes import Started, Stream
from ..review.arm_check import samples_kept
from ..review.review import Seen, review
from ..signals.checks.finding import SIGN
from ..signals.topics import inputs
from ..terminal import progress_on_terminal
from ..uncertainty.evidence import ReportedFinding
from ..uncertainty.statement import Statement
from .bags import BagContents, check_bag
from .causes import first_time, masked_rows, partly_masked, refused_inputs, remedies
from .drift_check import drifts
from .failures import FailureLog
from .judged import statement_of
from .overlaps import used_once
from .prepared import Batch, Recordings, Signals, goes_on, prepared
from .recording import Piece
from .run_files import needed_bytes, write_json, write_samples
from .run_log import RunLog
from .run_record import Run, metrics_of
from .run_recorder import RunRecorder


def evaluate(bags: Sequence[str | Path | Piece], config: Config, prior: ParameterSet | None = None,
             frozen: bool = False, output: str | Path | None = None, report: bool = True,
             save_to: str | Path | None = None,
             say: Callable[[str], None] = lambda sentence: None,
             adapt_intervals: bool = False, figures: bool = False,
             held_out: Sequence[Piece] = (), jobs: int = 1,
             ahead: Started | None = None) -> dict[str, Any]:
    """Run the bags, write metrics.json, samples.csv and the report into `output` (if given), and
    return the metrics.

    `figures` also writes print-quality figures, one PNG file each. `save_to` saves the last
    estimate as a parameter file; `say` receives warnings and notes, one sentence at a time.
    `adapt_intervals`, `jobs` and `ahead` as in `run`. The last estimate, frozen, then predicts
    `held_out`: its metrics are under that name, its files in the folder `held_out`. Raises
    UvmsError for whatever cannot be used.
    """
    folder = (None if output is None
              else output_folder(output, _space([*bags, *held_out], config)))
    if save_to is not None:
        output_file(save_to, LARGEST_PARAMETER_FILE)
    done = run(bags, config, prior, frozen, progress_on_terminal(), adapt_intervals, jobs,
               ahead=ahead)
    for sentence in (*(warning for bag in done.bags for warning in bag.warnings), *done.notes,
                     *(failure.line() for failure in done.failures)):
        say(sentence)
    said = statement_of(done, save_to)
    writes: list[Callable[[], object]] = []
    if save_to is not None:
        writes.append(partial(save_parameters, save_to, done.final))
    test: dict[str, Any] = {}
    if held_out:
        tested = run(held_out, config, done.final, True, progress_on_terminal(), jobs=jobs,
                     learnt=done)
        said_of_test = statement_of(tested)
        test["held_out"] = _with_verdict(said_of_test, tested)
        said = said.with_held_out(said_of_test, "held_out/")
    metrics = _with_verdict(said, done) | test
    if folder is not None:
        if stale := _of_another_run(folder, bool(held_out), report, figures):
            say(f"{', '.join(stale)} in '{folder}' are of an earlier run, not of this one")
        if held_out:
            writes += _files(output_folder(folder / "held_out"), tested, metrics["held_out"],
                             said_of_test, report, figures)
        writes += _files(folder, done, metrics, said, report, figures)
    attempt_all(*writes)
    return metrics


def _of_another_run(folder: Path, held_out: bool, report: bool, figures: bool) -> list[str]:
    """Outputs in the folder that this run does not write, so that they belong to another one."""
    unwritten = {"report.html": not report, "held_out": not held_out,
                 **{path.name: not figures for path in sorted(folder.glob("*.png"))}}
    return [name for name, stays in unwritten.items() if stays and (folder / name).exists()]


def _with_verdict(said: Statement, done: Run) -> dict[str, Any]:
    """The metrics of a run, verdict first."""
    return {"verdict": said.verdict.document(), "next": list(said.next), **metrics_of(done)}


def _files(folder: Path, done: Run, metrics: dict[str, Any], said: Statement, report: bool,
           figures: bool) -> list[Callable[[], object]]:
    """Functions that each write one output of a run."""
    writes: list[Callable[[], object]] = [
        partial(write_json, folder / "metrics.json", metrics),
        partial(write_json, folder / "statement.json", said.document()),
        partial(write_file, folder / "statement.md", said.text()),
        partial(write_samples, folder / "samples.csv", done.robot.channels, done.log.rows())]
    if report:
        from .report import write_report  # imported here: nothing else needs jinja2
        writes.append(partial(write_report, folder, done, metrics, said))
    if figures:
        from .figures import write_figures  # imported here: matplotlib takes a second to load
        writes.append(partial(write_figures, folder, done, metrics))
    return writes


def _space(bags: Sequence[str | Path | Piece], config: Config) -> int:
    """Most space [bytes] that the output of these bags can take."""
    # A clock that was set while recording makes a bag years long; no row is without a reading.
    longest = max(config.imu.timeout, config.joint_states.timeout, config.filter.period)
    rows = sum(int(min(bag.end - bag.start, bag.messages * longest) / config.filter.period) + 1
               for bag in (check_bag(bag, inputs(config)) for bag in bags))
    return needed_bytes(rows, len(config.robot.joints) + (6 if config.robot.vehicle else 0))


def run(bags: Sequence[str | Path | Piece], config: Config, prior: ParameterSet | None = None,
        frozen: bool = False,
        progress: Callable[[str, float], None] = lambda bag, share: None,
        adapt_intervals: bool = False, jobs: int = 1, learnt: Run | None = None,
        ahead: Started | None = None) -> Run:
    """Feed the messages of each bag to front end and estimator, one bag after another.

    Between bags the horizon is emptied and the estimate kept. `frozen` predicts with `prior` and
    learns neither parameters nor, unless `adapt_intervals`, the width of intervals. A Piece uses
    part of a bag; what two hold alike is used once. All bags are checked before the first one runs.
    With `jobs` above 1 the front end runs ahead in its own process (`ahead`, if that has been
    started). learnt: the run that learnt `prior`. If it found a sensor or a setting wrong, nothing
    that rests on both is judged; the readings that it put right at its end are put right here too,
    if the bags go on where it ended. The same input always gives the same numbers.
    """
    needed = inputs(config)
    contents, overlaps = used_once([check_bag(bag, needed) for bag in bags], needed)
    learnt_in_doubt = learnt is not None and learnt.doubted
    mends = learnt.mends if learnt is not None and goes_on(learnt.bags, contents) else ()
    with _prepared(Recordings(contents, config, mends), jobs, ahead) as made:
        robot = RobotModel.from_config(config)
        estimator = Estimator(config, prior, robot=robot, learn=not frozen,
                              adapt_intervals=adapt_intervals or not frozen)
        start = estimator.parameter_set()
        stages = None if frozen else runner_of_settings(estimator)
        recorder = RunRecorder(estimator, robot, frozen, stages, samples_kept(config))
        # As in the node, so that update and solve times are comparable.
        with ShortCollections(), FailureLog(recorder.elapsed) as failures:
            signals = _learn(made, contents, recorder, progress)
            estimator.findings.set_misread(signals.misread)
    if not len(recorder.log):
        raise BagError(signals.unusable)
    found = [*signals.findings, *_masked_findings(recorder.log, robot, config, signals, contents)]
    doubted = signals.doubted or learnt_in_doubt
    final, facts = estimator.parameter_set(), []
    stretch, log = recorder.reviewed, recorder.log
    seen = Seen(final.values, log.left(stretch.rows, later=not frozen), log.held(stretch.rows),
                frozen, bool(recorder.changes), estimator.changed_since, doubted, found)
    reviewed = review(list(stretch.samples), log.checked(stretch.rows), seen, config, robot)
    if reviewed.settles_sign:
        found = [one for one in found if SIGN not in one.sentence]
    found += reviewed.findings
    if learnt_in_doubt:
        facts = ["the parameters were learnt while a sensor or a setting was found wrong" + "".join(
            f"; the readings of {role} are put right here as they were there"
            for role in dict.fromkeys(mend.role for mend in mends))]
    if reviewed.sound:
        drifting = drifts(log, stretch.rows, final, config, robot)
        facts = [fact for fact in (reviewed.thrust_scale, *drifting.facts) if fact]
        found += drifting.findings
    facts += overlaps
    if len(contents) > 1:
        facts.append("what only a whole recording shows was reviewed on the longest, "
                     f"'{contents[stretch.bag].path.name}'")
    held = estimator.payload.payload()
    notes = (*overlaps, *(one.sentence for one in found),
             *(stages.schedule.notes if stages else ()), *estimator.notes,
             *([f"held: {held.sentence()}"] if held is not None else ()))
    found += recorder.trust_findings()
    found += recorder.seen
    if estimator.replayed:
        found.append(ReportedFinding("learned", estimator.replayed))
    found += [ReportedFinding(*one) for one in estimator.mass_findings()]
    found += [ReportedFinding("residual", sentence)
              for sentence in estimator.findings.of_residuals()]
    return Run(
        contents, config, robot, frozen, recorder.log, prior=start, final=final,
        solver=None if frozen else estimator.solver.name,
        identifiable_rank=None if frozen else estimator.identifiable_rank(),
        solver_failures=estimator.solver_failures, saved_noise=estimator.prior.noise_stddev,
        counters=signals.counters, masked=signals.masked, ticks=signals.ticks, notes=notes,
        findings=tuple(found), inputs=signals.inputs, changes=tuple(recorder.changes),
        failures=tuple(failures.failures), longest_gap=signals.longest_gap,
        mask_spans=signals.mask_spans, stages=recorder.stage_ends(),
        remedies=remedies(signals.masked, signals.states),
        standing_change=estimator.standing_change, explained=reviewed.by_channel,
        facts=tuple(facts), doubted=doubted, mends=signals.mends, payload=held,
        compared=signals.compared,
        beyond=estimator.beyond_limits)


def _prepared(recordings: Recordings, jobs: int,
              ahead: Started | None) -> AbstractContextManager[Iterable[Batch | Signals]]:
    """The items of `prepared`, made in this process or ahead in another one."""
    if jobs > 1:
        return Stream(prepared, recordings, owner="the front end's", started=ahead)
    return closing(prepared(recordings))


def _learn(made: Iterable[Batch | Signals], bags: Sequence[BagContents], recorder: RunRecorder,
           progress: Callable[[str, float], None]) -> Signals:
    """Feed all samples to the estimator; returns the front end's final state."""
    for one in made:
        if isinstance(one, Signals):
            return one
        recorder.add_samples(one.samples, one.bag)
        progress(bags[one.bag].path.name, one.share)
    raise UvmsError("the front end ended without reporting its results; this is a bug.")


def _masked_findings(log: RunLog, robot: RobotModel, config: Config, signals: Signals,
                     bags: Sequence[BagContents]) -> list[ReportedFinding]:
    """Why no row of a channel counts, or why a large share does not, and which inputs were refused
    besides; channels that are left out are not reported."""
    valid, left_out = log.rows().valid, robot.left_out(config)
    places = {name: c for c, name in enumerate(robot.channels) if not left_out[c]}
    empty = [name for name, c in places.items() if not valid[:, c].any()]
    others = [name for name in places if name not in empty]

    def since(channel: str, reason: str) -> float | None:
        return first_time(signals.mask_spans[places[channel]], reason, bags)

    restarts = sum(n for name, n in signals.counters.items() if name.startswith("reset: "))
    said = [*masked_rows(signals.masked, empty, signals.states, restarts),
            *partly_masked(signals.masked, others, signals.ticks, since, signals.states)]
    refused = [ReportedFinding(role, sentence)
               for role, sentence in refused_inputs(signals.states).items()
               if not any(f"'{signals.states[role].topic}' were refused" in one for one in said)]
    return [ReportedFinding("masked rows", sentence) for sentence in said] + refused
