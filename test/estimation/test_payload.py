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

"""The payload held by the arm, against plain least squares with all errors written out, and over
whole runs."""
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.estimation.grip import note_grip, note_release
from uvms_adaptive_dynamics.estimation.payload import MOST_MASS, PAYLOAD_REACH, PayloadTracker
from uvms_adaptive_dynamics.model.normal import Z95
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.linear_data import linear_samples

CONFIG = Config()
ROBOT = RobotModel.from_config(CONFIG)
TABLE = ROBOT.table
LINK = TABLE.places(f"axis_b.{name}" for name in ("m", "mlx", "mly", "mlz", "Ixx", "Iyy", "Izz",
                                                  "Ixy", "Ixz", "Iyz"))
MASS, PLACE = 0.4, np.array([0.01, -0.02, 0.19])
HELD = np.concatenate([[MASS], MASS * PLACE, MASS * np.array(
    [PLACE[1] ** 2 + PLACE[2] ** 2, PLACE[0] ** 2 + PLACE[2] ** 2, PLACE[0] ** 2 + PLACE[1] ** 2,
     -PLACE[0] * PLACE[1], -PLACE[0] * PLACE[2], -PLACE[1] * PLACE[2]])])


class Rows:
    """Rows with white noise of deviation `noise`, predicted with a pi whose error has a known
    covariance; scales (2,): scale errors of the wrench and of the joints' efforts; thrust: factor
    on the wrench since the grip."""

    def __init__(self, seed, ticks=60, noise=0.05, error=0.02, scales=(1.0, 1.0), thrust=1.0):
        rng = np.random.default_rng(seed)
        p, C = TABLE.size, TABLE.channels
        root = error * rng.normal(size=(p, p)) / np.sqrt(p)
        self.covariance, self.noise = root @ root.T + 1e-9 * np.eye(p), noise
        self.pi = rng.normal(size=p)
        self.Y = rng.normal(size=(ticks, C, p))
        share = np.where(np.arange(C) < 6, *scales)
        self.residual = (self.Y @ (root @ rng.normal(size=p)) + noise * rng.normal(size=(ticks, C))
                         + share * (self.Y[:, :, LINK] @ HELD))
        measured = self.residual + self.Y @ self.pi
        self.residual[:, :6] += (thrust - 1) * measured[:, :6]

    def told(self, scale_stddev):
        """A tracker that has seen all rows."""
        tracker = PayloadTracker(TABLE, 0.02, 0.4, scale_stddev)
        tracker.begin(0.0, self.pi, self.covariance, None)
        C = TABLE.channels
        state = SimpleNamespace(
            noise=SimpleNamespace(long_run=np.full(C, self.noise)),
            gradient=SimpleNamespace(rows_per_independent=lambda variance: np.ones(C)))
        for Y, residual in zip(self.Y, self.residual):
            row = SimpleNamespace(t=1.0, regressor=Y, tau_known=np.zeros(C),
                                  measured=Y @ self.pi + residual)
            tracker.add_row(row, np.ones(C, bool), state)
            # within the low-pass's memory of the grip: mixes the robot before and after it
            early = SimpleNamespace(t=0.3, regressor=Y, tau_known=np.zeros(C), measured=Y @ self.pi)
            tracker.add_row(early, np.ones(C, bool), state)
        return tracker.payload()


def test_it_is_generalized_least_squares():
    """With correct scales: generalized least squares of all rows at once, whose noise covariance
    includes that of the earlier parameters."""
    rows = Rows(0)
    Y = rows.Y.reshape(-1, TABLE.size)
    V = Y @ rows.covariance @ Y.T + rows.noise ** 2 * np.eye(len(Y))
    length = PAYLOAD_REACH * TABLE.reference_length[-1]
    prior = MOST_MASS * np.array([1.0] + [length] * 3 + [length ** 2] * 6)
    columns = Y[:, LINK]
    A = columns.T @ np.linalg.solve(V, columns) + np.diag(prior ** -2.0)
    expected = np.linalg.solve(A, columns.T @ np.linalg.solve(V, rows.residual.ravel()))
    found = rows.told(0.0)
    assert found.mass == pytest.approx(expected[0], rel=1e-4)
    np.testing.assert_allclose(found.place, expected[1:4] / expected[0], rtol=1e-3, atol=1e-5)
    left = rows.residual.ravel() - columns @ expected
    excess = max(left @ np.linalg.solve(V, left) / (len(V) - len(LINK)), 1.0)
    assert found.mass_stddev == pytest.approx(np.sqrt(excess * np.linalg.inv(A)[0, 0]), rel=1e-3)


def test_what_the_payload_does_not_explain_makes_it_uncertain():
    """Such as the friction of loaded gears: residuals of three times the noise."""
    rows, rough = Rows(0), Rows(0)
    rough.residual += 3.0 * rough.noise * np.random.default_rng(1).normal(size=rows.residual.shape)
    usual, found = rows.told(0.05), rough.told(0.05)
    assert found.mass_stddev == pytest.approx(np.sqrt(10.0) * usual.mass_stddev, rel=0.15)
    low, high = found.mass_interval
    assert low < MASS < high


def test_intervals_hold_the_truth():
    """Mass and place of 80 payloads, with scales of wrench and efforts off by 5 %."""
    inside, rng = [], np.random.default_rng(1)
    for seed in range(80):
        found = Rows(seed, ticks=20, noise=0.2, scales=1 + 0.05 * rng.normal(size=2)).told(0.05)
        inside += [abs(found.mass - MASS) < Z95 * found.mass_stddev,
                   *(np.abs(found.place - PLACE) < Z95 * found.place_stddev)]
    assert 0.90 < np.mean(inside) < 0.99      # 320 intervals, in correlated groups of four


def test_a_wrong_scale_of_one_kind_of_row_moves_no_place():
    """The wrench is 6 % too large: the place is right nevertheless and the interval contains the
    mass; without the scale's deviation it does not."""
    rows = Rows(3, scales=(1.06, 1.0), noise=1e-3, error=1e-3)
    right, wrong = rows.told(0.05), rows.told(0.0)
    assert (np.abs(right.place - PLACE) < 3e-3).all()       # three deviations
    assert abs(right.mass / MASS - 1) < 0.05 and right.mass_interval[0] < MASS
    assert wrong.mass_interval[0] > MASS        # overconfident and wrong


def test_a_wrench_that_has_changed_since_is_no_mass():
    """The battery sags: 8 % more is commanded for the same thrust, also for all that was there
    before."""
    rows = Rows(4, noise=1e-3, error=1e-3, thrust=1.08)
    found = rows.told(0.05)
    assert found.mass == pytest.approx(MASS, rel=0.01)
    assert (np.abs(found.place - PLACE) < 3e-3).all()


def test_what_is_not_told_from_nothing_has_no_place():
    """Without rows: a mass of about zero, no place, and the advice to move."""
    tracker = PayloadTracker(TABLE, 0.02, 0.4, 0.05)
    assert tracker.payload() is None
    tracker.begin(5.0, np.zeros(TABLE.size), np.eye(TABLE.size), None, "stone")
    found = tracker.payload()
    assert np.isnan(found.place).all() and found.mass_stddev == pytest.approx(MOST_MASS)
    assert "stone" in found.sentence() and "move axis_b" in found.sentence()


def test_a_grip_that_is_said_is_weighed_and_the_release_restores():
    """A robot learns for 12 s, grips a mass when reported, and releases it: after 8 s the mass is
    within 5 % and its interval; after the release, values and tracker are as before."""
    truth = prior_from_config(CONFIG, ROBOT).values
    other = truth.copy()
    other[LINK] += HELD
    estimator = Estimator(CONFIG, perturbed(prior_from_config(CONFIG, ROBOT), 2, 1), ROBOT)
    with pytest.raises(UvmsError, match="no sample"):
        note_grip(estimator)

    def learn(samples):
        for k, sample in enumerate(samples):
            estimator.add(sample)
            if k % 10 == 9:
                estimator.solve()
    before, after = (list(linear_samples(CONFIG, ROBOT, pi, 20.0, 1)) for pi in (truth, other))
    half = int(0.6 * len(before))
    learn(before[:half])
    known = estimator.pi.copy()
    with pytest.raises(UvmsError, match="nothing to release"):
        note_release(estimator)
    assert "stone" in note_grip(estimator, "stone")
    learn(after[half:])
    held = estimator.payload.payload()
    low, high = held.mass_interval
    assert held.name == "stone" and held.joint == "axis_b" and low < MASS < high
    assert abs(held.mass / MASS - 1) < 0.05 and np.linalg.norm(held.place - PLACE) < 0.01
    assert "now named 'rock'" in note_grip(estimator, "rock")
    assert "restored" in note_release(estimator) and estimator.payload.payload() is None
    np.testing.assert_array_equal(estimator.pi, known)


@pytest.fixture
def gripping():
    """(estimator, samples of the next two seconds): it has learnt for two seconds, gripped
    something and learnt for two more."""
    truth = prior_from_config(CONFIG, ROBOT).values
    samples = list(linear_samples(CONFIG, ROBOT, truth, 6.0, 1))
    third = len(samples) // 3
    estimator = Estimator(CONFIG, perturbed(prior_from_config(CONFIG, ROBOT), 2, 1), ROBOT)
    for sample in samples[:third]:
        estimator.add(sample)
    note_grip(estimator, "stone")
    # its checks find all sensors right a second after the grip
    right_until = samples[third].t + 1.0
    for sample in samples[third:2 * third]:
        estimator.add(sample if sample.t < right_until
                      else replace(sample, right_until=right_until))
    return estimator, samples[2 * third:]


def test_what_is_held_survives_a_sensor_that_becomes_faulty_later(gripping):
    """What was learnt since is undone, once and, as all samples are learnt again, once more; the
    grip came before."""
    estimator, samples = gripping
    since, right_until = estimator.payload.since, estimator.payload.since + 1.0
    first = samples[0]
    for again in ((), ((first, first),)):
        estimator.add(replace(first, right_until=right_until, found_wrong=True, again=again))
        first = samples[1]
    assert "undone" in estimator.undone
    assert estimator.payload.held and estimator.payload.since == since
    assert "restored" in note_release(estimator)


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_what_is_held_goes_on_when_the_clock_is_set(gripping, jump):
    """The node closes its window; times in sentences and the payload's go on."""
    estimator, samples = gripping
    before, held = estimator.payload.payload().seconds, estimator.last_t - estimator.payload.since
    estimator.break_off()
    for sample in samples:
        estimator.add(replace(sample, t=sample.t + jump))
    assert estimator.payload.payload().seconds > before + 1.0
    said = note_grip(estimator, "rock")
    if jump < 0.0:
        assert f"held for {held + 2.0:.0f} s" in said


def test_while_learning_is_off_the_parameters_stay(gripping):
    """Also when what is held is released; and nothing promises a mass."""
    estimator, samples = gripping
    estimator.set_learning(False)
    estimator.add(samples[0])
    known = estimator.pi.copy()
    said = note_release(estimator)
    np.testing.assert_array_equal(estimator.pi, known)
    assert "parameters are held" in said and not estimator.payload.held
    assert "Nothing is estimated" in note_grip(estimator)
