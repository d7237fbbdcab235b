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

"""Batteries that sag and hulls that leak while a recording is made."""
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from analytic import AnalyticMotion
from logged_rows import logged_rows

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.estimation.low_pass import RowFilter
from uvms_adaptive_dynamics.evaluation.drift_check import THRUST_DRIFT, WEIGHT_DRIFT, drifts
from uvms_adaptive_dynamics.model.parameter_set import ParameterSet
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel

CONFIG = Config()
ROBOT = RobotModel.from_config(CONFIG)
PI = prior_from_config(CONFIG, ROBOT).values
# Well known parameters: a weight known to 0.1 N.
FINAL = ParameterSet(ROBOT.table.names, PI, 0.5e-2 * np.eye(ROBOT.table.size))
NOISE = np.r_[1.0, 1.0, 1.0, 0.1, 0.1, 0.1, np.full(4, 0.02)]


@cache
def rows(seconds):
    """Low-passed rows of a robot that the model knows exactly: t, Y, tau, known, valid."""
    motion, row_filter = AnalyticMotion(1), RowFilter(CONFIG.filter, len(ROBOT.channels),
                                                      ROBOT.table.size)
    found = []
    for k in range(round(seconds / CONFIG.filter.period)):
        sample = motion.sample(1.0 + CONFIG.filter.period * k, ROBOT, PI)
        row = row_filter.add_row(sample.t, ROBOT.raw_rows(sample), sample.valid)
        if row is not None:
            found.append(row)
    return tuple(np.array([getattr(row, name) for row in found])
                 for name in ("t", "Y", "tau", "tau_known", "valid"))


def said(fall=0.0, weight=0.0, wander=0.0, seconds=60.0, settings=None, final=FINAL, seed=1,
         resting=()):
    """The drifts of a recording in which the thrust per command falls by this share, the vehicle
    gains this weight [N], and a force of this size [N] wanders about all axes; resting: places of
    channels whose rows are not in motion."""
    t, Y, tau, known, valid = rows(seconds)
    share, rng = (t - t[0]) / (t[-1] - t[0]), np.random.default_rng(seed)
    measured = tau + weight * share[:, None] * Y[:, :, ROBOT.table.index["W"]]
    swell = np.cumsum(rng.normal(size=(len(t), 6)), axis=0) / np.sqrt(len(t))
    measured[:, :6] += wander * swell * [1, 1, 1, 0.1, 0.1, 0.1]
    measured[:, :6] /= 1 - fall * share[:, None]
    measured = measured + rng.normal(size=tau.shape) * NOISE
    made = logged_rows(t=t, bag=np.zeros(len(t), int), measured=measured, tau_known=known,
                       valid=valid, in_motion=valid & ~np.isin(np.arange(valid.shape[1]), resting))
    log = SimpleNamespace(rows=lambda: made, regressors=lambda k: Y[k])
    return drifts(log, np.arange(len(t)), final, CONFIG.with_values(settings or {}), ROBOT)


def number(sentence, before):
    """The number that follows these words, and its error."""
    value, _, rest = sentence.partition(before)[2].partition(" (+- ")
    return tuple(float(one.strip("% N")) for one in (value, rest.partition(")")[0]))


def test_a_steady_robot_drifts_nowhere():
    """Neither is anything told of a recording too short to show it."""
    assert said() == ([], [])
    assert said(fall=0.3, weight=20.0, seconds=30.0) == ([], [])


@pytest.mark.parametrize("fall", [0.35, 0.5])
def test_thrust_that_falls_is_found_with_its_size(fall):
    """Beyond what the parameters' intervals allow for it is a finding."""
    (found,), facts = said(fall=fall)
    assert found.code == THRUST_DRIFT and facts == []
    value, error = number(found.sentence, "fell by ")
    assert abs(value - 100 * fall) < error < 15
    assert "set battery.enabled" in found.sentence
    (known,), _ = said(fall=fall, settings={"battery.enabled": True})
    assert "thrusters.curve" in known.sentence and "set battery" not in known.sentence


@pytest.mark.parametrize("fall, word", [(0.1, "fell"), (-0.1, "rose")])
def test_a_small_fall_of_the_thrust_is_told_without_a_finding(fall, word):
    """`uncertainty.scale_stddev` allows for it, unless it is smaller."""
    found, (fact,) = said(fall=fall)
    value, error = number(fact, f"{word} by ")
    assert found == [] and abs(value - 10) < error < 5
    assert said(fall=fall, settings={"uncertainty.scale_stddev": 0.005})[0][0].code == THRUST_DRIFT


@pytest.mark.parametrize("weight, word", [(5.0, "heavier"), (-5.0, "lighter")])
def test_a_leak_is_found_with_its_weight(weight, word):
    """It does not look like thrust."""
    (found,), facts = said(weight=weight)
    assert found.code == WEIGHT_DRIFT and facts == []
    value, error = number(found.sentence, f"{word} in water by ")
    assert abs(value - abs(weight)) < error < 2


def test_rows_at_rest_are_no_witnesses_of_a_drift():
    """They repeat one error, which wanders: of a vehicle on station, .2 N of it was weight."""
    assert said(weight=5.0, resting=range(6)) == ([], [])


def test_a_drift_within_the_interval_of_the_weight_is_told_without_a_finding():
    """Its certain part must exceed what the interval of W - B claims."""
    weak = ParameterSet(ROBOT.table.names, PI, 10.0 * np.eye(ROBOT.table.size))
    found, (fact,) = said(weight=5.0, final=weak)
    assert found == [] and "heavier" in fact
    assert said(weight=5.0, final=ParameterSet(ROBOT.table.names, PI))[0] == []


def test_both_are_told_apart():
    """Each with its own size."""
    found, _ = said(fall=0.35, weight=8.0)
    assert [one.code for one in found] == [THRUST_DRIFT, WEIGHT_DRIFT]
    assert number(found[0].sentence, "fell by ")[0] == pytest.approx(35, abs=4)
    # the thrust that carries the weight is overestimated as all thrust is: 8 / (1 - .35)
    assert number(found[1].sentence, "in water by ")[0] == pytest.approx(8 / 0.8, rel=0.3)


@pytest.mark.parametrize("seed", range(10))
def test_a_force_that_wanders_is_no_drift_of_the_thrust(seed):
    """The jackknife leaves out pieces as long as the wander."""
    found, facts = said(wander=10.0, seed=seed)
    assert not any(one.code == THRUST_DRIFT for one in found)
    assert not any("thrust" in fact for fact in facts)


@pytest.mark.parametrize("seed", [1, 36, 39])
def test_the_ends_of_a_trend_do_not_count_as_all_of_its_pieces(seed):
    """A random walk that ends elsewhere by little: with all 16 pieces counted, it would be told."""
    found, facts = said(wander=3.0, seed=seed)
    assert found == [] and not any("in water" in fact for fact in facts)


def test_a_robot_without_a_vehicle_has_nothing_to_drift():
    """Nor has one whose rows do not count."""
    t, Y, tau, known, valid = rows(60.0)
    made = logged_rows(t=t, bag=np.zeros(len(t), int), measured=tau, tau_known=known,
                       valid=np.zeros_like(valid), in_motion=valid)
    log = SimpleNamespace(rows=lambda: made, regressors=lambda k: Y[k])
    every = np.arange(len(t))
    assert drifts(log, every, FINAL, CONFIG, ROBOT) == ([], [])
    assert drifts(log, every[:0], FINAL, CONFIG, ROBOT) == ([], [])
    config = CONFIG.with_values({"robot.vehicle": False})
    assert drifts(log, every, FINAL, config, RobotModel.from_config(config)) == ([], [])
