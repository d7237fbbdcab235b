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

"""What a restart resets, and what a success after failures resets."""
from dataclasses import replace

import numpy as np
import pytest
from analytic import AnalyticMotion
from campaign_cases import also

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ParameterError, SolverError
from uvms_adaptive_dynamics.estimation.accepted_change import PartChange
from uvms_adaptive_dynamics.estimation.estimator import RECOVER_AFTER, Estimator
from uvms_adaptive_dynamics.model.parameter_file import load_parameters, save_parameters
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.linear_data import linear_samples, perfectly_measured

CONFIG = Config().with_values({"robot.joints": [], "filter.lowpass": 0.02})


@pytest.fixture(scope="module")
def samples():
    """A second and a half of a vehicle without an arm, without noise."""
    robot, motion = RobotModel.from_config(CONFIG), AnalyticMotion(0, config=CONFIG)
    pi = Estimator(CONFIG, robot=robot, learn=False).pi
    return [motion.sample(CONFIG.filter.period * k, robot, pi) for k in range(80)]


class Unsteady:
    """A solver that fails when told to."""

    def __init__(self, inner):
        self.inner, self.fails = inner, False

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def solve(self, problem, deadline=None):
        if self.fails:
            raise SolverError("no answer", "stalled")
        return self.inner.solve(problem, deadline)


def test_only_failures_in_a_row_end_in_recovery(samples):
    """One success between two runs of failures, each too short for a recovery: none happens."""
    estimator = Estimator(CONFIG)
    solver = Unsteady(estimator.solver)
    estimator.use_solver(solver)
    for sample in samples[:20]:
        estimator.step(sample)
    for k, sample in enumerate(samples[20:20 + 2 * RECOVER_AFTER - 1]):
        solver.fails = k != RECOVER_AFTER - 1
        estimator.step(sample)
    assert estimator.solver_failures == 2 * RECOVER_AFTER - 2 and estimator.recoveries == 0


def test_a_recovery_keeps_the_efforts_behind_the_noise(samples):
    """Like the noise itself: only the data whose solves failed are dropped."""
    estimator = Estimator(CONFIG)
    solver = Unsteady(estimator.solver)
    estimator.use_solver(solver)
    first, then = samples[:-RECOVER_AFTER], samples[-RECOVER_AFTER:]
    for sample in first:
        estimator.step(sample)
    solver.fails = True
    for sample in then:
        estimator.step(sample)
    noise = estimator.information.noise
    assert estimator.recoveries == 1
    whole = Estimator(CONFIG)
    for sample in samples:
        whole.step(sample)
    np.testing.assert_allclose(noise.effort, whole.information.noise.effort, rtol=.3)


def test_rows_from_before_a_restart_enter_none_after_it(samples):
    """After a restart the low-pass fills again as at the start."""
    estimator = Estimator(CONFIG)
    filling = sum(estimator.step(sample) is None for sample in samples[:20])
    estimator.restart()
    assert sum(estimator.step(sample) is None for sample in samples[20:40]) == filling > 0
    estimator.break_off()
    assert sum(estimator.step(sample) is None for sample in samples[40:60]) == filling
    assert np.isfinite(estimator.pi).all()


def test_a_pause_of_learning_separates_the_rows_around_it(samples):
    """No row mixes instants from before and after it; switching on what is on changes nothing."""
    estimator = Estimator(CONFIG)
    filling = sum(estimator.step(sample) is None for sample in samples[:20])
    estimator.set_learning(True)
    assert estimator.step(samples[20]) is not None
    estimator.set_learning(False)
    assert estimator.add(samples[21]) is not None and estimator.solve() is None
    estimator.set_learning(True)
    assert sum(estimator.step(sample) is None for sample in samples[22:40]) == filling > 0
    assert estimator.status == "optimal"


def test_a_restart_that_fails_changes_nothing(samples, monkeypatch):
    """Whatever raises on the way, the estimator goes on as if it had not been asked."""
    estimator, spared = Estimator(CONFIG), Estimator(CONFIG)
    for sample in samples[:40]:
        estimator.step(sample)
        spared.step(sample)
    notes, saved = list(estimator.notes), estimator.parameter_set()
    saved = replace(saved, values=saved.values + 1.0, learned={"effort_factor": {"heave": 0.8}})

    def impossible(*given):
        raise np.linalg.LinAlgError("not positive definite")

    for place in ("information.SystematicGradient", "origin.LearnedSpans"):
        with monkeypatch.context() as broken:
            broken.setattr(f"uvms_adaptive_dynamics.estimation.{place}", impossible)
            with pytest.raises(np.linalg.LinAlgError):
                estimator.restart(saved)
    assert estimator.notes == notes and estimator.prior.known_from == spared.prior.known_from
    for sample in samples[40:60]:
        got, expected = estimator.step(sample), spared.step(sample)
        # to rounding: the projection of the refused values was the solver's last problem
        np.testing.assert_allclose(got.pi, expected.pi, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(got.prediction.predicted_stddev,
                                   expected.prediction.predicted_stddev, rtol=1e-9)


def test_factors_on_efforts_are_saved_and_go_on(samples, tmp_path):
    """Weaker thrust: its factor is in the file, and an estimate started from it corrects the
    thrust."""
    estimator = Estimator(CONFIG)
    estimator._robot_changes.scales = estimator.scales._replace(effort=np.array([1.25] * 6))
    for sample in samples[:40]:
        estimator.step(sample)
    path = save_parameters(tmp_path / "state.yaml", estimator.parameter_set())
    again = Estimator(CONFIG, load_parameters(path))
    np.testing.assert_array_equal(again.scales.effort, estimator.scales.effort)
    again.restart(Estimator(CONFIG).parameter_set())
    np.testing.assert_array_equal(again.scales.effort, np.ones(6))


def test_the_efforts_behind_the_noise_are_saved_and_go_on(samples, tmp_path):
    """An estimate started from a file knows at which efforts its noise was learned; without that
    entry, or with one of the name it had at first, it starts from its assumed noise, and a restart
    from the prior forgets it."""
    estimator = Estimator(CONFIG)
    for sample in samples:
        estimator.step(sample)
    saved = estimator.parameter_set()
    learned = estimator.information.noise.effort
    again = Estimator(CONFIG, load_parameters(save_parameters(tmp_path / "state.yaml", saved)))
    np.testing.assert_allclose(again.information.noise.effort, learned, rtol=.1)
    entries = {key: value for key, value in saved.learned.items() if key != "effort_size"}
    old_name = {**entries, "effort_scale": saved.learned["effort_size"]}
    fresh = Estimator(CONFIG).information.noise.effort
    assert (np.abs(learned / fresh - 1) > .2).any()
    for known in (replace(saved, learned=entries), replace(saved, learned=old_name),
                  Estimator(CONFIG).prior):
        again.restart(known)
        np.testing.assert_array_equal(again.information.noise.effort, fresh)


def test_factors_on_thrusters_are_saved_and_go_on(samples, tmp_path):
    """Like those on efforts; factors for another number of thrusters are refused."""
    estimator, thrusters = Estimator(CONFIG), len(CONFIG.thrusters.signs)
    worn = np.linspace(.5, 1.0, thrusters)
    estimator._robot_changes.scales = estimator.scales._replace(thruster=worn)
    for sample in samples[:40]:
        estimator.step(sample)
    path = save_parameters(tmp_path / "state.yaml", estimator.parameter_set())
    saved = load_parameters(path)
    again = Estimator(CONFIG, saved)
    np.testing.assert_array_equal(again.scales.thruster, worn)
    # the command of a worn thruster counts for less by its factor
    sample = replace(samples[0], by_thruster=np.ones((6, thrusters)))
    np.testing.assert_allclose(again._robot_changes.corrected(sample).wrench,
                               sample.wrench + (worn - 1).sum())
    assert any("corrects measurements: thruster 1 times 0.5" in note
               for note in again.notes)
    with pytest.raises(ParameterError, match="thruster_factor has 1 entries, expected one for each "
                                             f"of the {thrusters} thrusters"):
        again.restart(replace(saved, learned={"thruster_factor": [0.5]}))
    np.testing.assert_array_equal(again.scales.thruster, worn)


def test_corrected_efforts_of_a_saved_estimate_are_told():
    """Yesterday's weak battery still scales today's efforts, until a change is found."""
    prior = Estimator(CONFIG).parameter_set()
    for learned, words in (({"effort_factor": {"heave": 0.8}}, "heave times 0.8"),
                           ({"velocity_factor": 1.1}, "the vehicle's velocity times 1.1")):
        told = Estimator(CONFIG, start=replace(prior, learned=learned)).notes
        assert any(words in note for note in told)
    assert not any("corrects" in note for note in Estimator(CONFIG, start=prior).notes)


def test_the_factor_of_adapting_intervals_is_saved_and_gone_on_from(samples, tmp_path):
    """Adapting intervals begin the next day as wide as they had become; an estimate tested as saved
    has the saved noise."""
    learnt = Estimator(CONFIG)
    for sample in samples[:60]:
        learnt.step(sample)
    learnt.information.noise.begin_factor(np.linspace(0.6, 1.6, 6))
    path = save_parameters(tmp_path / "state.yaml", learnt.parameter_set())
    saved = load_parameters(path)
    frozen, adapting = (Estimator(CONFIG, saved, learn=False, adapt_intervals=adapts)
                        for adapts in (False, True))
    np.testing.assert_allclose(frozen.snapshot().noise_stddev, saved.noise_stddev)
    np.testing.assert_allclose(adapting.snapshot().noise_stddev,
                               np.linspace(0.6, 1.6, 6) * saved.noise_stddev)


def test_a_channel_that_was_saved_as_wrong_begins_as_wrong(samples):
    """A file contradicted by its own data does not become `ok` by being loaded."""
    estimator = Estimator(CONFIG)
    for sample in samples[:40]:
        estimator.step(sample)
    saved = estimator.parameter_set()
    again = Estimator(CONFIG, replace(saved, learned={"wrong": ["yaw", "of another robot"]}))
    assert [name for name, state in zip(again.robot.channels, again.snapshot().trust)
            if state == "wrong"] == ["yaw"]
    assert again.snapshot().trust_cause.startswith("yaw alone wrong; check ")
    again.restart(saved)
    assert "wrong" not in again.snapshot().trust


@pytest.mark.campaign
def test_many_restarts_take_no_uncertainty_away():
    """A weight at its bound, of which data only show the difference from buoyancy, keeps its
    deviation; no other parameter has less than half the deviation of an uninterrupted run, and
    measured parameters stay measured."""
    config = perfectly_measured(Config().with_values({"robot.joints": []}))
    robot = RobotModel.from_config(config)
    truth = prior_from_config(config, robot)
    prior = perturbed(truth, 2.0, 2)
    rows = list(linear_samples(config, robot, truth.values, 30.0, 2))

    def learnt(session):
        estimator = Estimator(config, prior, robot)
        for k, sample in enumerate(rows):
            if k and k % session == 0:
                estimator.solve()
                estimator = Estimator(config, estimator.parameter_set(), robot)
            estimator.add(sample)
            if k % 25 == 24:
                estimator.solve()
        return estimator

    once, often = learnt(len(rows)), learnt(150)
    weight = robot.table.names.index("W")
    assert often.pi[weight] == pytest.approx(robot.table.weight_limits[0], abs=0.1)
    ratio = np.sqrt(np.diag(often.covariance) / np.diag(once.covariance))
    assert ratio[weight] > 0.98 and ratio.min() > 0.5
    known = [one.known_from().count("measured") for one in (once, often)]
    assert known[1] >= 0.8 * known[0] > 5


@pytest.mark.parametrize("changed", [True, also(False)])
def test_a_robot_that_changed_between_dives_is_learnt(changed):
    """Half a kilogram of ballast: found within five seconds, and heave is known again; nothing is
    found for an unchanged robot. (The change used to be learnt as noise, which hid it for ever.)"""
    config = perfectly_measured(Config().with_values({"robot.joints": []}))
    robot = RobotModel.from_config(config)
    truth = prior_from_config(config, robot).values
    first = Estimator(config, robot=robot)
    for k, sample in enumerate(linear_samples(config, robot, truth, 30.0, 1)):
        first.add(sample)
        if k % 25 == 24:
            first.solve()
    heavier = truth + changed * 4.9 * (np.arange(truth.size) == robot.table.index["W"])
    again = Estimator(config, first.parameter_set(), robot)
    residuals = []
    for k, sample in enumerate(linear_samples(config, robot, heavier, 20.0, 2)):
        prediction = again.add(sample)
        if k % 25 == 24:
            again.solve()
        if prediction is not None:
            residuals.append(prediction.residual[2])
        if k * config.filter.period == 5.0:
            assert (again.changes > 0) == changed
    assert abs(np.mean(residuals[-500:])) < 0.15
    assert again.changes == changed


def test_an_estimate_that_is_far_off_is_left():
    """50 N from a crane, saved with a deviation of a few newtons: every row is a leverage point,
    but not for ever."""
    config = perfectly_measured(Config().with_values({"robot.joints": []}))
    robot = RobotModel.from_config(config)
    truth = prior_from_config(config, robot).values
    place = robot.table.index["B"]
    first = Estimator(config, robot=robot)
    for sample in linear_samples(config, robot, truth, 20.0, 1):
        first.step(sample)
    saved = first.parameter_set()
    covariance = np.array(saved.covariance)
    covariance[place, place] += 4.0
    wrong = saved.values + 50.0 * (np.arange(truth.size) == place)
    again = Estimator(config, replace(saved, values=wrong, covariance=covariance, information=None,
                                      gradient=None, gradient_covariance=None),
                      robot)
    for sample in linear_samples(config, robot, truth, 12.0, 2):
        again.step(sample)
    assert 50 <= again.rejected.implausible / robot.table.channels <= 150
    assert abs(again.prediction.residual[2]) < 2.0 and again.excited.learnt.any()


def test_data_that_come_again_are_told():
    """By an estimate continued from one that has seen them; reported once, and neither for later
    data nor for another dive that began at the same time by its clock."""
    robot = RobotModel.from_config(CONFIG)
    pi = prior_from_config(CONFIG, robot).values
    dive, another = (list(linear_samples(CONFIG, robot, pi, 22.0, seed)) for seed in (1, 2))
    first = Estimator(CONFIG, robot=robot)
    for sample in dive:
        first.add(sample)
    known = first.parameter_set()
    again, later, other = (Estimator(CONFIG, known, robot) for _ in range(3))
    for sample, theirs in zip(dive, another):
        again.add(sample)
        later.add(replace(sample, t=sample.t + 60.0))
        other.add(replace(theirs, t=sample.t))
    assert "from 0 s on have already been learnt from" in again.replayed
    assert again.notes.count(again.replayed) == 1
    assert not (first.replayed or later.replayed or other.replayed)
    assert len(later.parameter_set().learned["spans"]) == 2


@pytest.mark.parametrize("step", [-3600.0, 1.76e9])
def test_a_clock_that_is_set_changes_no_time_that_is_told(samples, step):
    """Back, or decades forward, as a computer without a clock battery does once it has a network:
    messages count data time."""
    estimator = Estimator(CONFIG)
    for k, sample in enumerate(samples[:80]):
        estimator.step(replace(sample, t=sample.t + step * (k >= 40)))
    change = PartChange("link", 10, estimator.information.noise_record(), np.array([0]), "odds")
    estimator.follow(change, samples[79].t + step)
    assert "changed at 1.4 s" in estimator.last_change
    assert estimator._progress.record().age == pytest.approx(78 * .02)


@pytest.mark.parametrize("step, kept", [(-5.0, False), (CONFIG.filter.gap + .1, False),
                                        (CONFIG.filter.gap - .1, True), (.06, True)])
def test_what_closes_the_window(samples, step, kept):
    """A jump of time back and a gap longer than `filter.gap` do; a few missing ticks do not."""
    estimator = Estimator(CONFIG)
    for sample in samples[:40]:
        estimator.step(sample)
    filled = estimator.information.window.filled
    estimator.step(replace(samples[40], t=samples[39].t + step))
    assert filled > 0 and estimator.information.window.filled == kept * filled


def test_a_recovery_drops_the_rows_watched_for_a_change(samples):
    """Their residuals are those of data that no solver could use."""
    estimator = Estimator(CONFIG)
    for sample in samples[:40]:
        estimator.step(sample)
    watched = estimator._robot_changes.detector._rows
    assert watched.filled > 0
    estimator._recover(samples[39].t)
    assert watched.filled == 0
