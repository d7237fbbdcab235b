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

"""Changes of the robot: found, named and re-estimated in seconds, and earlier knowledge restored;
noise, garbage and calm are not taken for changes."""
from collections import deque
from copy import deepcopy
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from campaign_cases import also, first
from scipy.stats import multivariate_normal

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.accepted_change import (
    Checkpoint,
    FactorsRestoration,
    Restoration,
)
from uvms_adaptive_dynamics.estimation.change_evidence import GrownNoise
from uvms_adaptive_dynamics.estimation.changes import (
    CHANGE_EVIDENCE_NATS,
    CONFIRMED_NATS,
    EvidenceChangeDetector,
    _Cause,
)
from uvms_adaptive_dynamics.estimation.estimate_uncertainty import StatedUncertainty
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.estimation.hypotheses import (
    SHARES_OF_ROBOT,
    LoadHypothesis,
    PartHypothesis,
    RobotHypothesis,
    hypotheses,
)
from uvms_adaptive_dynamics.estimation.hypothesis import Hypothesis, Onset
from uvms_adaptive_dynamics.estimation.recent_rows import RecentRows
from uvms_adaptive_dynamics.estimation.row_excitation import Excited
from uvms_adaptive_dynamics.estimation.scale_hypotheses import EffortScale, ThrustScale
from uvms_adaptive_dynamics.estimation.thruster_hypotheses import (
    CommandOrder,
    ThrustCurves,
    thruster_scale,
)
from uvms_adaptive_dynamics.model.covariance import deviations
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.scales import Scales
from uvms_adaptive_dynamics.model.vehicle import load_columns
from uvms_adaptive_dynamics.model.wiring import driven, rewired
from uvms_adaptive_dynamics.solvers import choose_solver
from uvms_adaptive_dynamics.studies.linear_data import linear_samples, true_parameters
from uvms_adaptive_dynamics.uncertainty.parameter_covariance import MatrixCovariance


def recent_rows(rng, ticks=12, channels=2, size=3, change=None, noise=0.5):
    """Rows whose residual is noise plus `change` at the first two parameters."""
    Y = rng.normal(size=(ticks, channels, size))
    residual = noise * rng.normal(size=(ticks, channels))
    if change is not None:
        residual += Y[:, :, :2] @ change
    return RecentRows(Y, rng.normal(size=residual.shape), residual,
                      np.full(residual.shape, noise ** -2.0), np.full(channels, float(ticks)))


def of_parameters(stddev):
    return PartHypothesis("two parameters", np.array(stddev), np.array([0, 1]))


def test_evidence_is_the_ratio_of_marginal_likelihoods():
    """Normal densities written out, with and without the change's part of the covariance."""
    rng = np.random.default_rng(0)
    rows, hypothesis = recent_rows(rng, change=np.array([.7, -.2])), of_parameters([.5, .3])
    columns, noise = rows.Y[:, :, :2].reshape(-1, 2), np.eye(24) * .25
    changed = noise + columns @ np.diag(hypothesis.stddev ** 2) @ columns.T
    residual, nothing = rows.residual.ravel(), np.zeros(24)
    expected = (multivariate_normal.logpdf(residual, nothing, changed)
                - multivariate_normal.logpdf(residual, nothing, noise))
    got, mean = hypothesis.evidence(rows)
    assert got == pytest.approx(expected, rel=1e-9)
    prior = np.diag(hypothesis.stddev ** -2.0)
    np.testing.assert_allclose(mean, np.linalg.solve(prior + 4 * columns.T @ columns,
                                                     4 * columns.T @ residual))


def test_what_rows_add_to_the_evidence_is_how_well_the_others_predict_them():
    """Normal densities written out: of the newest rows, given those before, with and without the
    change."""
    rng = np.random.default_rng(0)
    rows, hypothesis = recent_rows(rng, change=np.array([.7, -.2])), of_parameters([.5, .3])
    columns, noise = rows.Y[:, :, :2].reshape(-1, 2), np.eye(24) * .25
    joint = noise + columns @ np.diag(hypothesis.stddev ** 2) @ columns.T
    old, new, residual = np.arange(16), np.arange(16, 24), rows.residual.ravel()
    by_old = np.linalg.solve(joint[np.ix_(old, old)], joint[np.ix_(old, new)]).T
    expected = (multivariate_normal.logpdf(
        residual[new], by_old @ residual[old],
        joint[np.ix_(new, new)] - by_old @ joint[np.ix_(old, new)])
        - multivariate_normal.logpdf(residual[new], np.zeros(8), np.eye(8) * .25))
    got = hypothesis.evidence(rows)[0] - hypothesis.evidence(rows.without_newest(4))[0]
    assert got == pytest.approx(expected, rel=1e-9)


def test_the_difference_between_robots_may_be_small_or_large():
    """The evidence is the mean of the likelihoods of both shares of the prior, written out."""
    rng = np.random.default_rng(0)
    rows = recent_rows(rng, change=np.array([.07, -.02]))
    whole = RobotHypothesis("another robot", np.array([.5, .3]), np.array([0, 1]))
    each = [of_parameters(share * whole.stddev).evidence(rows) for share in SHARES_OF_ROBOT]
    evidence, mean = whole.evidence(rows)
    assert np.exp(evidence) == pytest.approx(np.mean([np.exp(one) for one, _ in each]))
    np.testing.assert_array_equal(mean, max(each, key=lambda one: one[0])[1])
    assert whole.holds(of_parameters([.5, .3])) and not whole.holds(whole)


def test_a_change_that_is_not_there_has_evidence_against_it():
    """On pure noise a hypothesis is penalized for its free parameters."""
    rng = np.random.default_rng(1)
    found = [of_parameters([3.0, 3.0]).evidence(recent_rows(rng))[0] for _ in range(200)]
    assert np.mean(found) < -2.0 and max(found) < 5.0


def test_a_factor_is_found_as_one_and_as_no_parameter():
    """Efforts of one channel 20 % too large: evidence for the factor, with its value, and not for
    other channels."""
    rng = np.random.default_rng(2)
    rows = recent_rows(rng, ticks=100, noise=.05)
    rows = replace(rows, residual=rows.residual + [0.2, 0.0] * rows.predicted)
    first, second = (EffortScale("scale", np.ones(1), np.array([c])) for c in range(2))
    odds, change = first.evidence(rows)
    assert odds > 50 > 0 > second.evidence(rows)[0] and change[0] == pytest.approx(.2, abs=.02)
    assert odds > of_parameters([1.0, 1.0]).evidence(rows)[0]


def test_a_factor_on_all_efforts_is_one_cause_and_not_one_a_joint():
    """A driver changes its unit at some moment: all joints show it together."""
    table = RobotModel.from_config(Config()).table
    rng = np.random.default_rng(3)
    predicted = rng.normal(size=(50, table.channels))
    rows = RecentRows(np.zeros((50, table.channels, table.size)), predicted,
                      predicted * np.repeat([0.0, -0.6], [6, 4]), np.full(predicted.shape, 4.0),
                      np.full(table.channels, 50.0))
    found = {one.name: one.evidence(rows) for one in hypotheses(
        table, np.ones(table.size, bool), np.ones(table.size), 9810.0, np.zeros((6, 0)))
        if isinstance(one, EffortScale)}
    best = max(found, key=lambda name: found[name][0])
    assert best == "effort scale" and found[best][1][0] == pytest.approx(-0.6, abs=0.05)


def test_a_factor_on_the_thrust_relates_commands_and_motion_either_way():
    """Half the thrust is found; thrusters at rest have lost none, whatever moves the vehicle."""
    rng = np.random.default_rng(4)
    hypothesis = ThrustScale("thrust scale", np.ones(1), np.arange(6))

    def odds(measured, needed):
        residual = measured - needed + .3 * rng.normal(size=(100, 6))
        return hypothesis.evidence(RecentRows(np.zeros((100, 6, 1)), needed, residual,
                                              np.full((100, 6), 10.0), np.full(6, 100.0),
                                              measured=measured))
    needed = 5.0 * rng.normal(size=(100, 6))
    found, change = odds(2.0 * needed, needed)
    assert found > 50 and change[0] == pytest.approx(1.0, abs=.05)
    assert odds(np.zeros((100, 6)), needed)[0] < 5


SAME = Scales(np.ones(10), 1.0, np.ones(0))
# of an estimate without errors
EXACT = StatedUncertainty(MatrixCovariance(np.zeros((75, 75))), np.zeros((0, 75)))


class Settled:
    """What the detector asks of the information state: noise of .3 in each channel, learned at
    efforts of 10."""

    noise = SimpleNamespace(long_run=np.full(10, .3), effort=np.full(10, 10.0))
    gradient = SimpleNamespace(rows_per_independent=lambda variance: np.full(10, 20.0))

    @staticmethod
    def noise_record():
        return None

    @staticmethod
    def sudden_variance(pi, seconds):
        return np.zeros(10)

    @staticmethod
    def unmodelled(Y, systematic):
        return None


def new_detector(table, rows_known, thrusters=0):
    """A detector of changes of all parameters."""
    return EvidenceChangeDetector(
        table, np.ones(table.size, bool), Config().filter.period, 20.0,
        np.maximum(table.scale, 1.0), rows_known, 9810.0, np.eye(6)[:, [0] * thrusters], 0.5)


def settled_detector(thrusters=0):
    """A robot's parameter table, and its detector long after the start."""
    table = RobotModel.from_config(Config()).table
    return table, new_detector(table, 1e6, thrusters)


@pytest.mark.parametrize(("size", "error", "found"), ((10.0, .1, 0), (200.0, .1, 0),
                                                      (10.0, 1.0, 1), (200.0, 1.0, 1)))
def test_an_error_that_is_no_larger_for_its_effort_is_no_change(size, error, found):
    """A model whose error was .03 of the efforts is wrong by that share, or by ten times as much,
    at efforts as large as before and twenty times as large."""
    table, detector = settled_detector()
    every, changes, pi = np.ones(10, bool), 0, np.eye(table.size)[0]
    for k in range(300):
        Y = np.zeros((10, table.size))
        Y[0, 0] = size * np.sin(.1 * k)
        needed = Y @ pi
        residual = .3 * error * needed
        row = SimpleNamespace(
            regressor=Y, measured=needed + residual, predicted=needed, tau_known=np.zeros(10),
            residual=residual, valid=every, parameter_variance=np.zeros(10),
            by_velocity=None, by_thruster=None, R_nb=np.eye(3), load=np.zeros(12), pi=pi)
        changes += detector.judge(row, Excited(every, every), Settled, SAME, EXACT) is not None
    assert min(changes, 1) == found


@pytest.mark.parametrize(("efforts", "second"), ((0.4, 1.0), (1.0, 0.2), (2.0, 0.5)))
def test_what_was_known_is_restored_with_its_factors_on_measurements(efforts, second):
    """A burst of errors was taken for a change of efforts and of the second thruster. As it is
    over, the corrected efforts contradict what was known before, those that come do not."""
    table, detector = settled_detector(thrusters=2)
    before = Scales(np.ones(10), 1.0, np.ones(2))
    present = Scales(np.r_[efforts, np.ones(9)], 1.0, np.array([1.0, second]))
    known, learnt = np.zeros((2, table.size))
    known[0], learnt[0], learnt[1] = 2.0, 2.0 * efforts * (0.5 + 0.5 * second), 1.0
    checkpoint = Checkpoint("burst", known, before, SimpleNamespace(noise=None))
    detector.remember(checkpoint)
    every, found, rng = np.ones(10, bool), [], np.random.default_rng(5)
    for k in range(300):
        Y, thrust = np.zeros((10, table.size)), 5.0 * np.sin(.1 * k)     # of each thruster
        Y[0, :2] = thrust, 1.0
        measured = .1 * rng.normal(size=10)
        measured[0] += efforts * (thrust + second * thrust)
        by_thruster = np.zeros((10, 2))
        by_thruster[0] = efforts * thrust
        row = SimpleNamespace(
            regressor=Y, measured=measured, predicted=Y @ learnt, tau_known=np.zeros(10),
            residual=measured - Y @ learnt, valid=every, parameter_variance=np.zeros(10),
            by_velocity=None, by_thruster=by_thruster, R_nb=np.eye(3), load=np.zeros(12),
            pi=learnt)
        found.append(detector.judge(row, Excited(every, every), Settled, present, EXACT))
    first = next(one for one in found if one is not None)
    assert isinstance(first, Restoration) and first.known is checkpoint


def test_factors_that_a_burst_of_errors_gave_are_withdrawn_and_the_estimate_stays():
    """Commands that stood still were taken for a change of the efforts. As they are right again,
    the estimate predicts them without the correction, as well as the earlier one does."""
    table, detector = settled_detector()
    present = Scales(np.r_[0.5, np.ones(9)], 1.0, np.ones(0))
    pi = np.zeros(table.size)
    pi[0] = 2.0
    checkpoint = Checkpoint("commands", pi, SAME, SimpleNamespace(noise=None))
    detector.remember(checkpoint)
    every, found, rng = np.ones(10, bool), [], np.random.default_rng(5)
    for k in range(300):
        Y = np.zeros((10, table.size))
        Y[0, 0] = 5.0 * np.sin(.1 * k)
        measured = (Y @ pi + .1 * rng.normal(size=10)) * present.effort
        row = SimpleNamespace(
            regressor=Y, measured=measured, predicted=Y @ pi, tau_known=np.zeros(10),
            residual=measured - Y @ pi, valid=every, parameter_variance=np.zeros(10),
            by_velocity=None, by_thruster=None, R_nb=np.eye(3), load=np.zeros(12), pi=pi)
        found.append(detector.judge(row, Excited(every, every), Settled, present, EXACT))
    first = next(one for one in found if one is not None)
    assert isinstance(first, FactorsRestoration) and first.known is checkpoint
    dropped = []
    information = SimpleNamespace(return_noise=lambda noise: None,
                                  drop_window=lambda: dropped.append(True))
    assert first.follow(information, pi + 1, present) == (pytest.approx(pi + 1), SAME, None)
    assert dropped and "back to its earlier state since 3.0 s" in first.sentence(3.0)


def test_residuals_of_other_predictions_and_factors():
    """Those of the measurements that the other factors would have given."""
    rng = np.random.default_rng(6)
    raw, predicted, others = rng.normal(size=(3, 20, 3))
    share, slope = rng.normal(size=(20, 3, 2)), rng.normal(size=(20, 3, 2))
    present, other = (Scales(rng.uniform(.5, 2, 3), velocity, rng.uniform(.5, 2, 2))
                      for velocity in (1.2, 0.9))

    def measured(scales):
        return (raw + share @ (scales.thruster - 1)) * scales.effort
    rows = RecentRows(np.zeros((20, 3, 1)), predicted, measured(present) - predicted,
                      np.ones((20, 3)), np.full(3, 20.0), slope,
                      by_thruster=share * present.effort[:, None],
                      measured=measured(present))
    faster = other.velocity / present.velocity - 1
    moved = others + slope[..., 0] * faster + slope[..., 1] * faster ** 2
    assert rows.residual_of(others, other, present) == pytest.approx(measured(other) - moved)
    assert rows.residual_of(others, present, present) == pytest.approx(
        measured(present) - others)


def test_residuals_of_another_order_of_the_commands():
    """Those of the wrench that the thrusters of the other order would have given."""
    rng = np.random.default_rng(7)
    allocation, sent = rng.normal(size=(6, 3)), rng.normal(size=(20, 1, 3))
    present, other = (Scales(np.ones(6), 1.0, rng.uniform(.5, 2, 3), drives)
                      for drives in ((2, 3, 1), (-1, 3, 2)))

    def by_thruster(scales):
        return rewired(allocation, allocation * sent, scales.drives)
    predicted = rng.normal(size=(20, 6))
    measured, others = (by_thruster(one) @ one.thruster for one in (present, other))
    rows = RecentRows(np.zeros((20, 6, 1)), predicted, measured - predicted, np.ones((20, 6)),
                      np.full(6, 20.0), by_thruster=by_thruster(present), measured=measured,
                      allocation=allocation)
    assert rows.residual_of(predicted, other, present) == pytest.approx(others - predicted)


def test_the_oldest_knowledge_is_kept():
    """It rests on most data: changes believed in a burst of errors do not displace it."""
    table, detector = settled_detector()
    kept = [Checkpoint(str(k), np.full(table.size, k), SAME, None) for k in range(6)]
    for one in kept:
        detector.remember(one)
    assert detector._known == [kept[5], kept[4], kept[0]]


@pytest.mark.parametrize(("noisy", "found"), ((0.0, True), (16.0, False)))
def test_what_noise_of_the_motion_explains_is_no_change(noisy, found):
    """A loose IMU: the regressor's noise looks like another inertia. As large an error is a change
    if the motion is as quiet as ever."""
    class Loose(Settled):
        sudden_variance = staticmethod(lambda pi, seconds: np.r_[noisy, np.zeros(9)])

    table, detector = settled_detector()
    every, changes, rng = np.ones(10, bool), [], np.random.default_rng(7)
    smooth = np.convolve(rng.normal(size=400), np.hanning(21), "valid") / 5.0
    for k in range(300):
        Y, residual = np.zeros((10, table.size)), .1 * rng.normal(size=10)
        residual[0] = 4.0 * smooth[k]
        Y[0, 0] = -smooth[k]
        row = SimpleNamespace(
            regressor=Y, measured=residual, predicted=np.zeros(10), tau_known=np.zeros(10),
            residual=residual, valid=every, parameter_variance=np.zeros(10), by_velocity=None,
            by_thruster=None, R_nb=np.eye(3), load=np.zeros(12), pi=np.zeros(table.size))
        changes.append(detector.judge(row, Excited(every, every), Loose, SAME, EXACT))
    assert any(change is not None for change in changes) == found


@pytest.mark.parametrize(("along", "found"), ((0.0, True), (4.0, False)))
def test_what_the_model_lacks_is_no_change(along, found):
    """A boat that has only gone straight turns for the first time, and its hull resists by a
    moment that the model does not have: a real one's thruster was declared dead at 10^23 : 1. As
    large an error is a change where what the model lacks acts otherwise."""
    class Incomplete(Settled):
        @staticmethod
        def unmodelled(Y, systematic):
            effects = np.zeros((10, 2))
            effects[0] = along * Y[0, 0] / 5.0, 1.0
            return effects

    table, detector = settled_detector()
    rng = np.random.default_rng(8)

    def rows(k):
        needed = np.r_[5.0 * np.sin(.05 * k), np.zeros(9)]
        return needed, .1 * rng.normal(size=10) + .5 * needed

    assert bool(watched(detector, table, 300, rows, lambda k: Incomplete)) == found


def settled_information():
    """As `Settled`, to be changed on the way."""
    return SimpleNamespace(
        noise=SimpleNamespace(long_run=np.full(10, .3), effort=np.full(10, 10.0)),
        gradient=SimpleNamespace(rows_per_independent=lambda variance: np.full(10, 20.0)),
        noise_record=lambda: None, sudden_variance=lambda pi, seconds: np.zeros(10),
        unmodelled=lambda Y, systematic: None)


def watched(detector, table, ticks, rows, information, counts=lambda k: np.ones(10, bool)):
    """Changes that the detector finds; rows(k): (regressor of the first parameter (10,), residual
    (10,)); the estimate of that parameter is one."""
    found, pi = [], np.eye(table.size)[0]
    for k in range(ticks):
        Y = np.zeros((10, table.size))
        Y[:, 0], residual = rows(k)
        needed = Y @ pi
        row = SimpleNamespace(
            regressor=Y, measured=needed + residual, predicted=needed, tau_known=np.zeros(10),
            residual=residual, valid=np.ones(10, bool), parameter_variance=np.zeros(10),
            by_velocity=None, by_thruster=None, R_nb=np.eye(3), load=np.zeros(12), pi=pi)
        change = detector.judge(row, Excited(counts(k), counts(k)), information(k), SAME, EXACT)
        found += [] if change is None else [change]
    return found


def stronger_drive(k, since=0):
    """Efforts of one joint that are a fifth larger than the model's, from tick `since` on."""
    needed = np.r_[np.zeros(9), 10.0 * np.sin(.1 * k)]
    return needed, .2 * needed * (k >= since)


def test_a_change_is_judged_by_the_noise_from_before_it():
    """Its own residual makes the noise seem larger and slower: by that noise it is none."""
    table, detector = settled_detector()
    information = settled_information()

    def absorbing(k):
        if k >= 1000:
            information.noise.long_run = np.full(10, 1.0)
            information.gradient.rows_per_independent = lambda variance: np.full(10, 80.0)
        return information
    found = watched(detector, table, 1400, lambda k: stronger_drive(k, 1000), absorbing)
    assert len(found) == 1 and f"{table.joints[-1]} effort scale" in found[0].part
    table, detector = settled_detector()
    assert watched(detector, table, 1400, stronger_drive, absorbing) == []


def test_a_doubled_effort_is_likelier_than_grown_noise_of_few_independent_rows():
    """A wrong gear ratio, a current sensor, a joint whose model errors last for seconds: an effort
    of .9 N m that doubles, in the noise of .3 N m of which six seconds hold 2.5 independent rows.
    """
    rng = np.random.default_rng(5)
    predicted = 0.9 * np.sin(0.1 * np.arange(100))[:, None]
    rows = RecentRows(np.zeros((100, 1, 1)), predicted, predicted + rng.normal(0, 0.03, (100, 1)),
                      np.full((100, 1), 9.0), np.array([2.5]))
    odds, change = EffortScale("scale", np.ones(1), np.array([0])).evidence(rows, rival=GrownNoise)
    assert odds > CONFIRMED_NATS and change[0] == pytest.approx(1.0, abs=0.05)


def likely_cause(detector, rows):
    """The cause of a change that began with these rows."""
    return detector._likely_cause(Onset(rows.residual.shape[0], None, rows, np.ones(6), ""),
                                  Scales(np.ones(6), thruster=np.ones(8)))


@dataclass(frozen=True)
class Cause(Hypothesis):
    """A hypothesis whose evidence is given."""

    odds: float
    possible: bool = True

    preference = 0

    def columns(self, rows):
        raise NotImplementedError

    def evidence(self, rows, columns=None, rival=None):
        return self.odds, self.stddev

    def accepted(self, onset, alike):
        return SimpleNamespace(is_possible=lambda scales: self.possible)


def test_of_causes_that_are_alike_the_simplest_is_accepted():
    """A DVL that reads low, and the three thrusters that would explain the same rows."""
    _, detector = settled_detector()
    causes = ("thrusters", 8, 40.0), ("DVL", 1, 38.0), ("battery", 1, 20.0)
    detector._hypotheses = tuple(Cause(name, np.ones(size), odds) for name, size, odds in causes)
    found = likely_cause(detector, recent_rows(np.random.default_rng(0)))
    assert found.hypothesis.name == "DVL" and [one.name for one in found.alike] == ["thrusters",
                                                                                  "DVL"]


@pytest.mark.parametrize("pull, named", [(99.0, "restoring"), (90.0, "thruster 4")])
def test_what_cannot_have_happened_is_no_cause_if_something_else_explains_it(pull, named):
    """A tether that gets taut was "thruster 4: thrust down by 155 %". What only an impossible
    change explains is not ascribed to another."""
    _, detector = settled_detector()
    detector._hypotheses = (Cause("thruster 4", np.ones(1), 100.0, possible=False),
                            Cause("restoring", np.ones(4), pull))
    found = likely_cause(detector, recent_rows(np.random.default_rng(0)))
    assert found.hypothesis.name == named and [one.name for one in found.alike] == [named]


@pytest.mark.parametrize("several, pull, named", [
    (80.0, 60.0, "external force"), (100.0, 60.0, "several"), (50.0, 25.0, "several")])
def test_thrusters_that_fail_at_once_must_be_far_likelier_than_a_line_that_pulls(
        several, pull, named):
    """Else the line is compensated, and nothing is unlearnt. A pull that would not be accepted by
    itself stands for nothing. Five nats against grown noise suffice for the pull alone."""
    @dataclass(frozen=True)
    class Several(Cause):
        is_conjunction = True

        def evidence(self, rows, columns=None, rival=None):
            return (5.0 if rival is GrownNoise else self.odds), self.stddev

    @dataclass(frozen=True)
    class Pull(LoadHypothesis):
        def evidence(self, rows, columns=None, rival=None):
            return pull, self.stddev

    _, detector = settled_detector()
    detector._hypotheses = (Several("several", np.ones(8), several),
                            Pull("external force", np.ones(12)))
    rows = recent_rows(np.random.default_rng(0))
    found = likely_cause(detector, rows)
    assert found.hypothesis.name == named
    assert found.beats_grown_noise(rows) == (named == "external force")


@pytest.mark.parametrize("varied, believed", [(0.0, False), (1.0, True)])
def test_what_the_model_lacks_in_a_manoeuvre_is_not_several_thrusters(varied, believed):
    """A factor on each of six thrusters fits any wrench while the commands are steady, and its
    evidence against the noise from before is enormous. Two thrusters that fail while the commands
    vary are likelier than grown noise."""
    rng, T = np.random.default_rng(6), 100
    allocation = rng.normal(size=(6, 6))
    thrust = 10.0 * (rng.normal(size=6) + varied * rng.normal(size=(T, 6)))
    by_thruster = allocation * thrust[:, None]
    failed = np.array([-0.6, 0.0, 0.0, 0.0, -0.7, 0.0])
    residual = (-by_thruster @ failed if varied else 12.0 * rng.normal(size=6))
    several = replace(thruster_scale(np.arange(6)), name="several thrusters")
    _, detector = settled_detector()
    detector._hypotheses = several,
    independent = 2.0 + 8.0 * varied        # rows, of unit noise
    rows = RecentRows(np.zeros((T, 6, 1)), np.zeros((T, 6)), residual + rng.normal(size=(T, 6)),
                      np.full((T, 6), independent / T), np.full(6, independent),
                      by_thruster=by_thruster)
    assert several.evidence(rows)[0] > 2 * CHANGE_EVIDENCE_NATS
    assert likely_cause(detector, rows).beats_grown_noise(rows) == believed


@pytest.mark.parametrize("share, believed", [((-0.3, -0.3, 0.0), False), ((-1.0, 0.0, 0.0), True)])
def test_a_manoeuvre_whose_thrust_is_a_third_off_is_no_failed_thruster(share, believed):
    """Surge and yaw at once for the first time, at constant commands of two thrusters that both
    give less than their curves say, as they do in the water that streams past: the residual of 25
    deviations fits the loss of one alone, and grown noise would have to be that large. A dead
    thruster needs no such accident."""
    rng, T = np.random.default_rng(7), 17
    allocation = np.array([[.7, .7, .0], [.7, -.7, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, .1],
                           [0.0, 0.0, .1], [-.5, -.5, 0.0]])
    by_thruster = np.tile(allocation * np.array([-27.0, -26.0, 4.0]), (T, 1, 1))
    stddev = np.array([8.0, 8.0, 4.0, 2.0, 2.0, 0.3])       # nothing yawed so fast before
    residual = -by_thruster @ np.array(share) + 0.1 * stddev * rng.normal(size=(T, 6))
    assert is_certain(allocation, by_thruster, residual, stddev) == believed


@pytest.mark.parametrize("thrust, believed", [(0.7, False), (4.0, True)])
def test_a_thrust_that_enters_its_dead_zone_is_no_failed_thruster(thrust, believed):
    """A vehicle on station, with hardly any noise, that trims by a few tenths of a newton: on an
    independent one a thruster was "down by 100 %". One that fails at more thrust is found."""
    rng, T = np.random.default_rng(7), 17
    allocation = np.array([[0.0] * 2, [0.0] * 2, [1.0, -1.0], [.26, .26], [0.0] * 2, [0.0] * 2])
    by_thruster = np.tile(allocation * np.array([2.0, thrust]), (T, 1, 1))
    stddev = np.array([1.0, 1.0, 0.05, 0.01, 0.01, 0.05])
    residual = by_thruster[:, :, 1] + stddev * rng.normal(size=(T, 6))
    assert is_certain(allocation, by_thruster, residual, stddev) == believed


def is_certain(allocation, by_thruster, residual, stddev):
    """Whether the failure of one of N thrusters, for which there is evidence, is accepted;
    allocation (6, N), by_thruster (T, 6, N), residual (T, 6), stddev (6,) of the noise."""
    T, _, N = by_thruster.shape
    _, detector = settled_detector()
    detector._allocation = allocation
    detector._hypotheses = tuple(thruster_scale(np.array([k])) for k in range(N))
    rows = RecentRows(np.zeros((T, 6, 1)), np.zeros((T, 6)), residual,
                      np.full((T, 6), 0.9 / T) / stddev ** 2, np.full(6, 0.9),
                      by_thruster=by_thruster)
    found = likely_cause(detector, rows)
    assert found.hypothesis.evidence(rows)[0] > 2 * CHANGE_EVIDENCE_NATS
    assert found.beats_grown_noise(rows)
    return found.is_certain(rows)


def test_outliers_that_pass_the_gates_are_no_change():
    """Half a second of many deviations, again and again, behind the low-pass: any change explains
    some of it, and by chance also some of the next second."""
    table, detector = settled_detector()
    rng = np.random.default_rng(0)
    drive, bumps = (np.convolve(rng.normal(size=6000) * (rng.random(6000) < share), shape, "same")
                    for share, shape in ((1.0, np.hanning(50)), (.02, 3.0 * np.hanning(25))))
    found = watched(detector, table, 6000,
                    lambda k: (np.r_[np.zeros(9), drive[k]], np.r_[np.zeros(9), bumps[k]]),
                    lambda k: Settled)
    assert found == []


def test_a_joint_that_has_hardly_moved_is_no_evidence():
    """The noise of its model is not known: in its first twenty seconds of motion any error would be
    a change."""
    table = RobotModel.from_config(Config()).table
    detector = new_detector(table, rows_known=0.0)
    moves = np.ones(10, bool)

    def counts(k):
        moves[9] = k >= 1500
        return moves.copy()
    assert watched(detector, table, 2400, stronger_drive, lambda k: Settled, counts) == []


def pulled_rows(detector, table, drives, ticks):
    """Changes that the detector finds while 8 N pull the vehicle for 500 ticks, and its rows count
    while drives(k)."""
    found, load = [], np.zeros(12)
    Y, needed = np.zeros((10, table.size)), np.zeros(10)
    for k in range(ticks):
        needed[0] = 8.0 if k < 500 else 0.0     # [N] that hold it against drag
        known = np.r_[-load_columns(np.eye(3)) @ load, np.zeros(4)]
        row = SimpleNamespace(
            regressor=Y, measured=-needed, predicted=known, tau_known=known,
            residual=-needed - known, valid=np.ones(10, bool), parameter_variance=np.zeros(10),
            by_velocity=None, by_thruster=None, R_nb=np.eye(3), load=load, pi=np.zeros(table.size))
        change = detector.judge(row, Excited(*np.full((2, 10), drives(k))), Settled, SAME, EXACT)
        if change is not None:
            found.append(change)
            load = np.zeros(12) if change.sums is None else change.sums.solution()[1]
    return found


def test_a_pull_that_ends_while_nothing_drives_the_vehicle_is_known_to_have_ended():
    """A tether is held against by the thrusters, and becomes slack when they are neutral."""
    table, detector = settled_detector()
    taut, slack = pulled_rows(detector, table, lambda k: k < 500, 1000)
    assert taut.force == pytest.approx([8.0, 0.0, 0.0], abs=1.0) and slack.sums is None


def test_what_moves_a_vehicle_that_nothing_drives_may_be_anything():
    """A tether, a swell, a diver: the rows of such a vehicle share one error, which may as well be
    noise that has grown."""
    table, detector = settled_detector()
    assert pulled_rows(detector, table, lambda k: False, 1000) == []


def test_hypotheses_are_parts_and_factors_of_what_is_estimated():
    """Twelve parts, fewer if some are frozen; thrust, DVL, all efforts and each joint's."""
    table = RobotModel.from_config(Config()).table
    free, stddev, pair = np.ones(table.size, bool), np.ones(table.size), np.eye(6)[:, :2]
    names = [one.name for one in hypotheses(table, free, stddev, 9810.0, pair)]
    assert {"external force", "thruster 2", "several thrusters", "order of the commands",
            "vehicle inertia and restoring",
            "axis_b link"} < set(names)
    assert names[-6:] == ["DVL scale", "effort scale"] + [
        f"{joint} effort scale" for joint in table.joints]
    free[table.match(["axis_b.*"])] = False
    fewer = [one.name for one in hypotheses(table, free, stddev, 9810.0, pair)]
    assert set(names) - set(fewer) == {"axis_b link", "axis_b friction"}


AT = 30.0       # [s] when a robot changes
LONGEST = 60.0  # [s] of any run


class Runs:
    """Robots that are identical until AT: the estimator runs until then once and is copied."""

    def __init__(self):
        # the model lacks nothing of these data
        self.config = Config().with_values({"uncertainty.lacking_share": 0.0})
        self.robot = RobotModel.from_config(self.config)
        self.truth = self.estimator(self.config, 1).prior.values
        self._known, self._samples = {}, {}

    def estimator(self, config, factor, seed=1):
        """A fresh estimator, from a prior that is wrong by a factor."""
        prior = prior_from_config(config, self.robot)
        return Estimator(config, prior if factor == 1 else perturbed(prior, factor, seed),
                         self.robot)

    def before(self, seed=1, settings=()):
        """An estimator at AT."""
        key = seed, tuple(settings)
        if key not in self._known:
            config = self.config.with_values(dict(settings))
            estimator = self.estimator(config, 2, seed)
            for k, sample in enumerate(self.samples(self.truth, AT, seed)):
                estimator.add(sample)
                if k % 10 == 9:
                    estimator.solve()
            self._known[key] = estimator
        found = self._known[key]
        shared = {id(one): one for one in (found.config, self.config, self.robot)}
        # A solver may hold what cannot be copied; its only state is a warm start.
        solver, _ = choose_solver(found.config.estimation.solver, self.robot.table)
        return deepcopy(found, shared | {id(found.solver): solver})

    def samples(self, pi, seconds, seed=1):
        """Samples of a robot with parameters pi (p,), cached for several tests."""
        key = pi.tobytes(), seed
        made, rest = self._samples.setdefault(
            key, ([], linear_samples(self.config, self.robot, pi, LONGEST, seed)))
        for k in range(round(seconds / self.config.filter.period)):
            if k == len(made):
                made.append(next(rest))
            yield made[k]


@pytest.fixture(scope="module")
def setup():
    return Runs()


def run(setup, change, seconds=45.0, settings=(), seed=1, since=AT, until=np.inf, spoil=None,
        look=None):
    """(estimator, RMS of the last five seconds' residuals over the noise before the change), where
    the true parameters change from `since` until `until` [s]; spoil(sample) is applied meanwhile;
    look = (time [s], function): the function is called with both at that time."""
    estimator, other = setup.before(seed, settings), setup.truth.copy()
    for name, value in change.items():
        other[setup.robot.table.index[name]] += value
    assert estimator.physical.violation(other) < 1e-9
    period, noise = setup.config.filter.period, estimator.information.noise.stddev
    last = deque(maxlen=round(5.0 / period))

    def off():
        return np.sqrt(np.mean(np.square(last), axis=0)) if last else None
    samples = setup.samples(setup.truth, seconds, seed)
    both = zip(samples, setup.samples(other, seconds, seed)) if change else ((one, one)
                                                                             for one in samples)
    for k, (old, new) in enumerate(both):
        t = k * period
        if t < AT:
            continue
        if look is not None and t >= look[0]:
            look[1](estimator, off())
            look = None
        changed = since <= t < until
        sample = new if changed else old
        prediction = estimator.add(spoil(sample) if spoil and changed else sample)
        if prediction is not None:
            last.append(prediction.residual / noise)
        if k % 10 == 9:
            estimator.solve()
    assert look is None
    return estimator, off()


# A point mass of 0.5 kg, 0.19 m along the last link (its weight acts as that of the effective
# link), and a float on the vehicle.
PAYLOAD = {
    "axis_b.m": .5, "axis_b.mlz": .5 * .19, "axis_b.Ixx": .5 * .19 ** 2, "axis_b.Iyy": .5 * .19 ** 2
}
FLOAT = {"B": 20.0, "zgW_zbB": 3.0}


@pytest.mark.parametrize("change, part", [(PAYLOAD, "axis_b link"),
                                          also(FLOAT, "vehicle restoring"),
                                          also({"axis_d.fs": .5}, "axis_d friction"),
                                          also({"X_uu": -18.0, "Z_ww": -18.0}, "vehicle damping")])
def test_a_changed_robot_is_re_estimated(setup, change, part):
    """Found once, named, and predicted as well as before ten seconds later; other parts stay
    measured."""
    estimator, off = run(setup, change)
    assert estimator.changes == 1 and part in estimator.last_change
    assert (off < 1.5).all(), off
    assert estimator.physical.violation(estimator.pi) < 1e-9
    words = dict(zip(estimator.table.names, estimator.known_from()))
    assert words["m_X_du"] == words["axis_d.fv" if "axis_d" not in part else "m_X_du"] == "measured"


@pytest.mark.campaign
def test_intervals_hold_after_a_change(setup):
    """For parameters flagged measured 15 s after the payload was taken, 95 % of intervals contain
    the new true value (three robots, pooled)."""
    truth, inside = setup.truth.copy(), []
    for name, value in PAYLOAD.items():
        truth[setup.robot.table.index[name]] += value
    for seed in range(3):
        estimator, _ = run(setup, PAYLOAD, seed=seed)
        measured = np.array(estimator.known_from()) == "measured"
        assert estimator.changes == 1 and measured.sum() > 20
        inside.append(
            np.abs(estimator.pi - truth)[measured] < 1.96
            * deviations(estimator.covariance)[measured])
    assert .90 < np.mean(np.concatenate(inside)) < .99


@pytest.mark.campaign
def test_without_it_the_old_data_rule(setup):
    """`follow_changes: false`: the same payload is not followed, so the test above is meaningful.
    """
    estimator, off = run(setup, PAYLOAD, settings=[("estimation.follow_changes", False)])
    assert estimator.changes == 0 and off.max() > 3.0


@pytest.mark.campaign
def test_a_change_is_followed_where_nothing_fades(setup):
    """`forgetting: 1.0` only concerns the ageing of data; a changed robot is still followed."""
    estimator, off = run(setup, PAYLOAD, settings=[("estimation.forgetting", 1.0)])
    assert estimator.changes == 1 and "axis_b link" in estimator.last_change
    assert (off < 1.5).all(), off


@pytest.mark.parametrize("seconds", first(1, [30.0, 60.0]))
def test_nothing_is_found_where_nothing_changes(setup, seconds):
    """Another motion and noise."""
    estimator = setup.estimator(setup.config, 2, 5)
    for k, sample in enumerate(linear_samples(setup.config, setup.robot, setup.truth, seconds, 5,
                                              .9)):
        estimator.add(sample)
        if k % 10 == 9:
            estimator.solve()
    assert estimator.changes == 0


def started(setup, saved, truth, seconds=15.0, spoil=lambda sample: sample):
    """(estimator, RMS of the last five seconds' residuals over the noise) that continues from a
    saved estimate on a robot with parameters `truth`, in another motion than the saved one's."""
    estimator = Estimator(setup.config, saved, setup.robot)
    last = deque(maxlen=round(5.0 / setup.config.filter.period))
    for k, sample in enumerate(linear_samples(setup.config, setup.robot, truth, seconds, 7)):
        prediction = estimator.add(spoil(sample))
        if prediction is not None:
            last.append(prediction.residual / saved.noise_stddev)
        if k % 10 == 9:
            estimator.solve()
    return estimator, np.sqrt(np.mean(np.square(last), axis=0))


@pytest.mark.parametrize("factors", [also(False), True])
def test_a_start_from_another_robots_estimate_is_named_and_given_up(setup, factors):
    """Parameters, factors on measurements, flags and the data behind them; no sensor is blamed.
    """
    saved = setup.before().parameter_set()
    if factors:
        saved = replace(saved, learned=saved.learned | {"velocity_factor": .8})
    other = true_parameters(setup.config, setup.robot, np.random.default_rng(3)).values
    estimator, off = started(setup, saved, other)
    assert estimator.changes == 1, estimator.notes
    assert estimator.last_change.startswith("another robot: the saved estimate does not describe")
    assert (off < 2.0).all(), off
    assert not estimator.scales.words(setup.robot.channels)
    again = estimator.parameter_set()
    assert again.learned["rows"] < 16.0 / setup.config.filter.period * setup.robot.table.channels
    assert again.learned["rows"] < saved.learned["rows"]
    assert again.learned["spans"] != saved.learned["spans"]
    assert again.known_from.count("measured") < saved.known_from.count("measured")


def test_a_start_from_the_robots_own_estimate_is_no_other_robot(setup):
    """With another motion, and with one thing changed since, which is named as what it is."""
    saved = setup.before().parameter_set()
    estimator, _ = started(setup, saved, setup.truth)
    assert estimator.changes == 0
    estimator, _ = started(setup, saved, setup.truth,
                           spoil=lambda one: replace(one, wrench=1.25 * one.wrench))
    assert estimator.changes == 1 and estimator.last_change.startswith("thrust scale")


@pytest.mark.parametrize("mass, within", [also(.38, 2.0), (.19, 4.0)])
def test_a_payload_is_found_in_seconds_and_forgotten_when_it_is_put_down(setup, mass, within):
    """Named as the link that carries it; when it is put down fifteen seconds later, values,
    deviations and predictions from before are back within 5 s."""
    payload, before = {name: value * mass / .5 for name, value in PAYLOAD.items()}, setup.before()

    def found(estimator, off):
        assert estimator.changes == 1 and estimator.last_change.startswith("axis_b link")
        assert estimator.standing_change == estimator.last_change
        assert_noise_is_that_of(before, estimator)
    estimator, off = run(setup, payload, seconds=52.0, until=45.0, look=(AT + within, found))
    assert estimator.changes == 2
    assert "what was known before the change is restored" in estimator.last_change
    assert estimator.standing_change == ""
    assert (off < 1.5).all(), off
    moved = np.abs(estimator.pi - before.pi) / deviations(before.covariance)
    assert np.median(moved) < 1.0 and moved.max() < 4.0


# [s] from a check to a change
PHASES = (0.08, 0.18, 0.28, 0.38, 0.48)


@pytest.mark.parametrize("phase", first(2, (.08, .48, .18, .28, .38)))
def test_a_payload_is_found_as_soon_whenever_the_next_check_comes(setup, phase):
    """.38 kg within 2 s, wherever between two checks it was picked up."""
    payload = {name: value * .38 / .5 for name, value in PAYLOAD.items()}
    estimator, _ = run(setup, payload, AT + phase + 2.0, since=AT + phase)
    assert estimator.changes == 1 and estimator.last_change.startswith("axis_b link")


def test_a_suspected_change_is_checked_for_twice_as_often(setup, monkeypatch):
    """Every half second before, every quarter with some ticks for the hypotheses afterwards."""
    ticks, begin = [], EvidenceChangeDetector._begin

    def noted(detector, *args):
        ticks.append(detector._ticks)
        return begin(detector, *args)
    monkeypatch.setattr(EvidenceChangeDetector, "_begin", noted)
    payload = {name: value * .38 / .5 for name, value in PAYLOAD.items()}
    run(setup, payload, AT + 3.2, since=AT + 2.0)
    steps = setup.config.filter.period * np.diff(ticks)
    assert steps[:2] == pytest.approx(0.5) and steps[-1] < 0.3


def assert_noise_is_that_of(before, changed):
    """Noise kept for a restoration and for the next change contains no residual of this change."""
    detector = changed._robot_changes.detector
    next_before = detector._quiet[0][0] if detector._quiet else changed.information.noise_record()
    for kept in (detector._known[0].information.noise, next_before):
        assert np.mean(kept.channels.stddev / before.information.noise.stddev) < 1.1


@pytest.mark.parametrize("factor", first(1, [1 / 1.07, 1.15]))
def test_thrust_that_is_off_is_a_factor_and_no_payload(setup, factor):
    """A sagging battery: named with its factor, corrected, undone; parameters stay."""
    def sag(sample):
        return replace(sample, wrench=sample.wrench * factor)

    def corrected(estimator, off):
        assert estimator.changes == 1
        _, _, said = estimator.last_change.partition("thrust scale: all thrusters together give ")
        assert float(said.split()[0]) == pytest.approx(1 / factor, rel=.03)
        np.testing.assert_allclose(estimator.scales.effort[:6], 1 / factor, rtol=.03)
        assert (estimator.scales.effort[6:] == 1).all() and (off < 1.5).all()
    estimator, _ = run(setup, {}, seconds=55.0, until=40.0, spoil=sag, look=(40.0, corrected))
    assert estimator.changes == 2 and (estimator.scales.effort == 1).all()
    words = np.array(estimator.known_from()) == "measured"
    error = np.abs(estimator.pi - setup.truth) / deviations(estimator.covariance)
    assert np.mean(error[words] < 2) > .9 and error[words].max() < 4


@pytest.mark.parametrize("share", first(1, [0.02, 0.0]))
def test_efforts_that_do_not_move_the_robot_are_no_factor(setup, share):
    """Commands of zero while another node moves the vehicle: no factor near zero is accepted, again
    and again, by whose inverse the efforts would be multiplied once they are right again."""
    def other_node(sample):
        return replace(sample, wrench=sample.wrench * share)

    estimator, off = run(setup, {}, seconds=55.0, until=AT + 10.0, spoil=other_node)
    assert (estimator.scales.effort == 1).all()
    assert (off < 4.0).all()


def errors(setup, estimator):
    """(share below two deviations, largest) of the errors of measured parameters, in deviations."""
    words = np.array(estimator.known_from()) == "measured"
    error = np.abs(estimator.pi - setup.truth)[words] / deviations(estimator.covariance)[words]
    return np.mean(error < 2), error.max()


@pytest.mark.parametrize("gives, name", [
    also({5: 0.0}, "thruster 6"), also({5: .6}, "thruster 6"),
    ({1: 0.0, 5: .5}, "thrusters 2 and 6")])
def test_thrusters_that_fail_are_named_and_no_parameter_follows_them(setup, gives, name):
    """A lost propeller, or a rope in it, while the controller keeps commanding it; or two at once.
    """
    allocation = np.reshape(setup.config.thrusters.allocation, (6, -1))
    failed = np.array([*gives])
    others = np.delete(np.arange(allocation.shape[1]), failed)
    pinv, lost = np.linalg.pinv(allocation), 1 - np.array([*gives.values()])

    def fails(sample):
        # they are commanded as before; the others compensate the thrust they do not deliver
        told = pinv @ sample.wrench
        short = allocation[:, failed] @ (lost * told[failed])
        told[others] += np.linalg.lstsq(allocation[:, others], short, rcond=None)[0]
        return replace(sample, wrench=allocation @ told, by_thruster=allocation * told)

    estimator, off = run(setup, {}, seconds=45.0, spoil=fails)
    assert estimator.changes == 1 and estimator.last_change.startswith(f"{name}: ")
    factor = estimator.scales.thruster
    np.testing.assert_allclose(factor[failed], 1 - lost, atol=.05)
    assert (factor[others] == 1).all() and (off < 1.5).all(), off
    sound, _ = run(setup, {}, seconds=45.0)
    (share, largest), (share_of_sound, _) = (errors(setup, one) for one in (estimator, sound))
    assert share >= share_of_sound and largest < 4


@pytest.mark.parametrize("drives, told", [
    also((1, 3, 2, 4, 5, 6, 7, 8), "thrusters 2, 3 drives 3, 2 since"),
    also((2, 1, 4, 3, 5, 6, 7, 8), "thrusters 1, 2, 3, 4 drives 2, 1, 4, 3 since"),
    also((4, 5, 6, 7, 8, 1, 2, 3), " drives "),
    ((-1, 2, -3, 4, 5, 6, 7, 8), "thrusters 1, 3 drives 1, 3, of which 1, 3 push backwards since")])
def test_commands_that_come_in_another_order_are_named_and_put_right(setup, drives, told):
    """A driver that restarts with another mapping: no parameter follows it, and the corrected
    wrench is what acts; of eight in another order some may be found later than others. When the
    order returns, the wrench is corrected again."""
    allocation = np.reshape(setup.config.thrusters.allocation, (6, -1))
    pinv, returns = np.linalg.pinv(allocation), 45.0
    begin = next(setup.samples(setup.truth, AT)).t

    def spoil(sample):
        sent = pinv @ sample.wrench
        if sample.t < begin + returns:
            sent = np.sign(drives) * sent[np.abs(drives) - 1]
        return replace(sample, wrench=allocation @ sent, by_thruster=allocation * sent)

    estimator, off = run(setup, {}, seconds=returns, spoil=spoil)
    assert estimator.changes <= 2 and (off < 1.5).all(), off
    assert estimator.last_change.startswith("order of the commands") and (
        told in estimator.last_change)
    assert estimator.scales.drives == drives
    back, off = run(setup, {}, seconds=LONGEST, spoil=spoil)
    assert back.changes > estimator.changes and (off < 1.5).all(), off


@pytest.mark.parametrize("order, pull, believed", [(303.0, 295.0, False), (303.0, 270.0, True),
                                                   (45.0, 25.0, True)])
def test_another_wiring_must_be_far_likelier_than_a_pull(order, pull, believed):
    """Else a dead thruster at station is called two that are exchanged. A pull that would not be
    accepted by itself is no rival."""
    @dataclass(frozen=True)
    class Order(CommandOrder):
        def evidence(self, rows, columns=None, rival=None):
            return order, self.stddev

    @dataclass(frozen=True)
    class Pull(LoadHypothesis):
        def evidence(self, rows, columns=None, rival=None):
            return pull, self.stddev

    _, detector = settled_detector()
    detector._hypotheses = (Order("order of the commands", np.ones(6), np.eye(6)),
                            Pull("external force", np.ones(12)))
    rows = recent_rows(np.random.default_rng(0))
    found = likely_cause(detector, rows)
    assert found.hypothesis.name == "order of the commands"
    assert found.is_certain(rows) == believed


def test_a_pull_is_no_larger_than_an_axis_that_nothing_drives_allows():
    """A tether gets taut ahead while the heading turns by two degrees: surge alone, whose noise is
    known, would fit a sideways force of hundreds of newtons as well as one ahead that grows."""
    T, pull = 20, LoadHypothesis("external force", np.full(12, 200.0))
    yaw = np.linspace(0.0, 0.035, T)
    R = np.array([[[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]]
                  for a in yaw])
    residual = np.zeros((T, 6))
    residual[:, 0], residual[:, 1] = np.linspace(9.0, 21.0, T), 1.2
    weight = np.zeros((T, 6))
    weight[:, 0] = 0.1
    rows = RecentRows(np.zeros((T, 6, 1)), np.zeros((T, 6)), residual, weight, np.ones(6),
                      R_nb=R, load=np.zeros((T, 12)))
    onset = Onset(3 * T, None, rows, np.ones(6), "")
    assert np.linalg.norm(pull.evidence(rows)[1][:3]) > 100.0
    assert 10.0 < np.linalg.norm(pull.accepted(onset, [pull]).force) < 25.0


def test_an_axis_at_rest_speaks_against_what_would_have_turned_it():
    """A vehicle that goes straight ahead gets held back, as by a taut tether. Two front thrusters
    that fail by as much explain that, one alone or an exchange of two would have turned it; so
    would a buoyancy that holds it back by its pitch have let it sink."""
    T, rng = 60, np.random.default_rng(9)
    allocation = np.zeros((6, 4))
    allocation[0], allocation[1] = (.7, .7, -.7, -.7), (-.7, .7, -.7, .7)
    allocation[5] = -.2, .2, .2, -.2
    thrust = np.array([9.0, 9.0, -9.0, -9.0]) + 0.1 * rng.normal(size=(T, 4))
    ahead, weight = np.eye(6)[0], np.zeros((T, 6))
    weight[:, 0] = 0.005
    slope = np.zeros((T, 6, 1))
    slope[:, 0], slope[:, 2] = 0.05, 1.0    # of a weight, at a pitch of three degrees
    residual = 22.0 * ahead + 0.2 * rng.normal(size=(T, 6))

    def rows(seen, idle):
        masked = (allocation * thrust[:, None]) * seen[:, None]
        return RecentRows(slope * seen[:, None], np.zeros((T, 6)), residual, weight * seen,
                          20.0 * seen, by_thruster=masked, thrust=thrust, idle=idle)

    at_rest = replace(rows(1.0 - ahead, None), weight=np.tile((1.0 - ahead) / (0.04 * T), (T, 1)))
    evidence = {}
    for hypothesis in (thruster_scale(np.array([0])), thruster_scale(np.array([0, 1])),
                       CommandOrder("order of the commands", np.ones(4), allocation),
                       PartHypothesis("restoring", np.array([300.0]), np.array([0]))):
        evidence[hypothesis.name] = [hypothesis.evidence(rows(ahead, idle))[0]
                                     for idle in (None, at_rest)]
    assert min(alone for alone, _ in evidence.values()) > CHANGE_EVIDENCE_NATS
    both = evidence.pop("thrusters 1 and 2")
    assert both[1] == pytest.approx(both[0], abs=5.0)
    assert max(beside for _, beside in evidence.values()) < 0.5 * CHANGE_EVIDENCE_NATS


def test_another_wiring_of_no_thrusters_that_move_is_no_evidence():
    """Commands of zero may come in any order; noise is none, and of a single thruster that is
    reversed the factor is the simpler cause."""
    rng, allocation = np.random.default_rng(8), np.eye(6)[:, [0, 1, 5]]
    wiring = CommandOrder("order of the commands", np.ones(3), allocation)
    still = RecentRows(np.zeros((50, 6, 1)), np.zeros((50, 6)), rng.normal(size=(50, 6)),
                       np.ones((50, 6)), np.full(6, 50.0), thrust=np.zeros((50, 3)))
    assert wiring.evidence(still)[0] == -np.inf
    thrust = 5.0 * rng.normal(size=(50, 3))
    found = []
    for drives in ((1, 2, 3), (1, 2, -3), (2, 1, 3)):
        moved = driven(allocation, drives) - allocation
        rows = replace(still, thrust=thrust, residual=rng.normal(size=(50, 6)) - thrust @ moved.T)
        found.append(wiring.evidence(rows))
        assert GrownNoise.of(np.zeros((50, 6, 1)), rows).gain(np.ones(1)) == 0.0
    assert [odds for odds, _ in found[:2]] == [-np.inf, -np.inf]
    assert found[2][0] > CHANGE_EVIDENCE_NATS and tuple(found[2][1]) == (2, 1, 3)


@pytest.mark.parametrize("factor", first(1, [1 / 1.15, 1.3]))
def test_a_dvl_that_reads_wrong_is_a_factor_and_no_damping(setup, factor):
    """Named with its factor and corrected until it is right again; parameters stay."""
    def wrong(sample):
        return replace(sample, nu=sample.nu * ([factor] * 3 + [1.0] * 3))

    def corrected(estimator, off):
        assert estimator.changes == 1
        assert estimator.last_change.startswith("DVL scale: velocities ")
        assert estimator.scales.velocity == pytest.approx(1 / factor, rel=.03)
        assert (estimator.scales.effort == 1).all() and (off < 1.5).all()
    estimator, _ = run(setup, {}, seconds=50.0, until=40.0, spoil=wrong, look=(40.0, corrected))
    assert estimator.changes == 2 and estimator.scales.velocity == 1.0
    words = np.array(estimator.known_from()) == "measured"
    error = np.abs(estimator.pi - setup.truth) / deviations(estimator.covariance)
    assert np.mean(error[words] < 2) > .9 and error[words].max() < 4


def pulled(force, place):
    """Spoils samples by a force (3,) [N], constant in the world, that acts at a place (3,) [m]."""
    load = np.concatenate([force, np.outer(place, force).ravel()])

    def spoil(sample):
        # the thrusters act against it
        return replace(sample, wrench=sample.wrench - load_columns(sample.R_nb) @ load)
    return spoil


TETHER = np.array([-9.0, 4.0, -8.0]), np.array([-.2, 0.0, .12])


def test_a_force_from_outside_is_taken_off_and_nothing_is_unlearnt(setup):
    """A taut tether: found, named with its force and place, followed by no parameter, and gone
    within seconds of becoming slack."""
    force, place = TETHER

    def taut(estimator, off):
        assert estimator.changes == 1 and "external force" in estimator.last_change
        assert (off < 1.5).all(), off
        load = estimator._robot_changes.load.load
        np.testing.assert_allclose(load[:3], force, atol=1.0)
        np.testing.assert_allclose(load[3:].reshape(3, 3), np.outer(place, force), atol=.5)
    estimator, off = run(setup, {}, seconds=60.0, until=50.0, spoil=pulled(*TETHER),
                         look=(49.5, taut))
    assert "gone" in estimator.last_change and not estimator._robot_changes.load.lasts
    assert estimator.last_t - estimator.changed_since == pytest.approx(60.0 - AT, abs=0.6)
    assert (off < 1.5).all(), off
    words, before = estimator.known_from(), setup.before().known_from()
    assert all(now == "measured" for now, then in zip(words, before) if then == "measured")
    assert not estimator.standing_change


def test_a_vehicle_that_is_held_says_nothing_about_its_thrusters(setup):
    """A dock takes thrust, weight and the arm's reaction while the commands go on: eight thrusters
    were called lost, and found again when it let go."""
    rest = np.zeros(6)

    def held(sample):
        still = replace(sample, R_nb=np.eye(3), nu=rest, nu_dot=rest)
        raw, before = (setup.robot.raw_rows(one) for one in (still, sample))
        lighter = (raw.Y - before.Y) @ setup.truth + raw.tau_known - before.tau_known
        return replace(still, joint_torque=sample.joint_torque + lighter[6:])

    def docked(estimator, off):
        assert estimator.changes == 1 and "contact" in estimator.last_change
        assert not estimator.prediction.valid[:6].any()
    known = setup.before()
    estimator, off = run(setup, {}, seconds=50.0, until=42.0, spoil=held, look=(40.0, docked))
    assert estimator.changes == 2 and "moves again" in estimator.last_change
    assert (off < 1.5).all() and estimator.prediction.valid[:6].all()
    assert not estimator.scales.any and not estimator.standing_change
    moved = np.abs(estimator.pi - known.pi) / deviations(known.covariance)
    assert moved[estimator.table.vehicle_slice].max() < 3


@pytest.mark.parametrize("phase", first(1, (0.0, *PHASES)))
@pytest.mark.parametrize("lasts", (also(0.6), 1.0))
def test_garbage_that_ends_is_not_believed(setup, phase, lasts):
    """For up to a second the wrench is 50 N off: the next second does not confirm a change."""
    def garbage(sample):
        return replace(sample, wrench=sample.wrench + 50.0)

    estimator, off = run(setup, {}, since=AT + phase, until=AT + phase + lasts, spoil=garbage)
    assert estimator.changes == 0 and (off < 1.5).all()


def test_a_false_alarm_costs_nothing(setup):
    """Eight seconds of a constant pull: if taken for a change, the earlier knowledge is restored.
    """
    def pull(sample):
        up = sample.R_nb.T @ [0, 0, 10.0]
        return replace(sample, wrench=sample.wrench + [*up, 0, 0, 0])

    estimator, off = run(setup, {}, until=38.0, seconds=50.0, spoil=pull)
    calm, _ = run(setup, {}, seconds=50.0)
    assert estimator.changes in (0, 2) and (off < 1.5).all()
    moved = np.abs(estimator.pi - calm.pi) / deviations(calm.covariance)
    assert np.median(moved) < 1.0


def test_a_gap_in_time_ends_a_look(setup):
    """Rows before a gap are not judged together with rows after it."""
    estimator, other = setup.before(), setup.truth.copy()
    for name, value in PAYLOAD.items():
        other[setup.robot.table.index[name]] += value
    begin = round(AT / setup.config.filter.period)
    for k, sample in enumerate(setup.samples(other, 40.0)):
        if k < begin:
            continue
        estimator.add(sample)
        if k % 25 == 0:
            estimator.break_off()
        if k % 10 == 9:
            estimator.solve()
    assert estimator.changes == 0


@pytest.mark.parametrize("driven_by_thrust", [False, True])
def test_commands_that_answer_waves_are_in_no_other_order(driven_by_thrust):
    """An order in which the thrust cancels explains them best, but moves nothing."""
    rng = np.random.default_rng(0)
    allocation = RobotModel.from_config(Config()).allocation
    order = CommandOrder("order of the commands", np.ones(8), allocation)
    wired = driven(allocation, np.array([2, 1, 3, 4, 5, 6, 7, 8]))
    # of a surge that the controller opposes
    thrust = np.outer(rng.normal(size=200), np.linalg.pinv(allocation)[:, 0])
    if driven_by_thrust:
        thrust = rng.normal(size=(200, 8))
    measured = thrust @ allocation.T
    predicted = thrust @ wired.T if driven_by_thrust else np.zeros_like(measured)
    residual = measured - predicted + 0.01 * rng.normal(size=measured.shape)
    rows = RecentRows(np.zeros((200, 6, 1)), predicted, residual, np.full((200, 6), 100.0),
                      np.full(6, 200.0), measured=measured, thrust=thrust, allocation=allocation)
    curves = ThrustCurves.of(allocation, 0.1, np.zeros((0, 6, 8)))
    assert order.evidence(rows)[0] > CHANGE_EVIDENCE_NATS
    assert _Cause(order, order, [order], "", False, curves).drives(rows) == driven_by_thrust
