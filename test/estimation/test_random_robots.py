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

"""Random robots, settings and frozen subsets: no exception, frozen values bit-identical, deviations
kept.

Every test run has eight cases of each; before a release run
`UVMS_CASES=500 pytest test/estimation/test_random_robots.py`. The case number determines the case,
and a failure prints it.
"""
import os
from dataclasses import dataclass, replace

import numpy as np
import pytest
from analytic import AnalyticMotion

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import UvmsError
from uvms_adaptive_dynamics.estimation.estimator import Estimator
from uvms_adaptive_dynamics.model.prior import perturbed, prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.studies.benchmark.chain import chain_urdf

CASES = int(os.environ.get("UVMS_CASES", "8"))
NO_INTERIOR = 216  # the subset whose frozen values leave the other parameters' cones no interior
SHIPPED = Config().robot.joints
LEARNED, GONE_ON = 15, 8    # rows of the two stages, once the low-pass has filled
CHOICES = {
    "estimation.horizon": (1, 2, 5, 20, 100),
    "estimation.coupling": ("joint", "joint", "reaction", "none"),
    "estimation.base_motion": ("full", "full", "tilt"),
    "estimation.grouping": ("sample", "sample", "channel", "horizon"),
    "estimation.rho_quantile": (0.5, 0.95, 0.95, 1.0),
    "estimation.arrival": ("information", "information", "relative"),
    "estimation.forgetting": (0.9, 0.99, 0.9998, 1.0),
    "estimation.forgetting_kind": ("directional", "uniform"),
    "estimation.information_floor": (1e-6, 1e-3),
    "estimation.follow_changes": (True, False),
    "estimation.prior_stddev": (1e-3, 1.0, 1.0, 30.0),
    "estimation.prior_inflation": (1e-2, 1.0, 1.0, 10.0),
    "estimation.adapt_noise": (True, True, False),
    "estimation.rho": (0.0, 0.0, 1.0),
    "estimation.weights": ("noise", "noise", "equal"),
    "estimation.rows_at_rest": ("left out", "counted"),
    "filter.gates": (True, False),
    "uncertainty.noise": ("calibrated", "recursive"),
    "uncertainty.covariance": ("information", "information", "increments"),
    "robot.estimate_rotor_inertia": (False, False, True),
    "filter.lowpass": (0.0, 0.02, 0.07),
}
DISTURBANCES = ("none", "none", "gap", "repeated stamp", "not a number", "masked", "break off")
PATTERNS = (["*"], ["*.m", "m_*"], ["*.I??"], ["*.m?", "*.ml?"], ["W", "B", "?gW_*"], ["[!a]*"],
            ["j*", "a*"])


@dataclass(frozen=True)
class Case:
    """A robot, its non-default settings, the parameters frozen in the second stage, and a
    disturbance in that stage."""

    seed: int
    robot: str
    values: dict
    frozen: list
    disturbance: str


def case_of(seed):
    """The case with this number."""
    rng = np.random.default_rng(seed)
    pick = lambda choices: choices[rng.integers(len(choices))]
    kind, joints = pick(("shipped", "chain", "vehicle")), rng.integers(1, 5)
    drawn = {name: pick(choices) for name, choices in CHOICES.items()}
    if kind == "vehicle":
        drawn |= {"robot.joints": [], "robot.estimate_rotor_inertia": False}
    else:
        drawn["robot.vehicle"] = bool(rng.integers(3))
        drawn["robot.joints"] = [f"j{k}" for k in range(joints)] if kind == "chain" else [
            SHIPPED[k] for k in sorted(rng.permutation(4)[:joints])]
    if kind == "chain":
        drawn["robot.urdf"] = "robot_description"
    return Case(seed, kind, drawn, subset(rng, drawn), pick(DISTURBANCES))


def robot_of(values, seed):
    """(settings, robot) with these values; seed: for the links of a chain."""
    config = Config().with_values(values)
    chain = config.robot.urdf == "robot_description"
    return config, RobotModel.from_config(
        config, chain_urdf(len(config.robot.joints), seed) if chain else None)


def subset(rng, values):
    """Names or patterns of parameters that the robot has, from a few to all."""
    table = robot_of(values, 0)[1].table
    if rng.integers(3):
        chosen = rng.random(table.size) < rng.choice([0.02, 0.1, 0.3, 0.6, 0.9, 0.98])
        return [name for name, one in zip(table.names, chosen) if one]
    matching = [pattern for pattern in PATTERNS[rng.integers(len(PATTERNS))] if has(table, pattern)]
    return matching or ["*"]


def has(table, pattern):
    """Whether a pattern matches a parameter; one that does not would be refused."""
    try:
        return bool(table.match([pattern]).any())
    except UvmsError:
        return False


def samples_of(config, robot, pi, count, seed, start=0):
    """`count` noisy samples of a motion, the first at tick `start`."""
    rng, noise = np.random.default_rng(seed + 1), 0.3 * robot.default_noise(config)
    motion, found = AnalyticMotion(seed, config=config, joints=max(robot.table.n, 1)), []
    head = 6 if robot.vehicle else 0
    for k in range(start, start + count):
        exact = motion.sample(config.filter.period * k, robot, pi)
        e = noise * rng.normal(size=robot.table.channels)
        wrench = exact.wrench + e[:6] if head else exact.wrench
        found.append(replace(exact, wrench=wrench, joint_torque=exact.joint_torque + e[head:]))
    return found


def disturbed(samples, disturbance):
    """The samples with a disturbance in their middle as it occurs on a boat."""
    k = len(samples) - GONE_ON // 2
    if disturbance == "gap":
        return samples[:k] + [replace(s, t=s.t + 60.0) for s in samples[k:]]
    if disturbance == "repeated stamp":
        return samples[:k] + [samples[k - 1]] + samples[k:]
    if disturbance == "not a number":
        bad = samples[k]
        bad = replace(bad, mu_ddot=bad.mu_ddot * np.nan, wrench=bad.wrench * np.nan)
        return samples[:k] + [bad] + samples[k + 1:]
    if disturbance == "masked":
        return samples[:k] + [replace(s, valid=np.zeros_like(s.valid)) for s in samples[k:]]
    return samples


def learn_on(estimator, samples):
    """The last estimate; None if a gap leaves too few samples for one."""
    last = None
    for sample in samples:
        last = estimator.step(sample) or last
    return last


def check_frozen(estimator, saved):
    """Frozen values and covariance are exactly the saved ones; all is finite and within P."""
    frozen = np.flatnonzero(~estimator.free)
    block = np.ix_(frozen, frozen)
    kept = estimator.parameter_set()
    assert np.isfinite(estimator.pi).all() and np.isfinite(estimator.covariance).all()
    assert estimator.physical.violation(estimator.pi) < 1e-6
    assert estimator.solver_failures == 0, estimator.status
    np.testing.assert_array_equal(estimator.pi[frozen], saved.values[frozen])
    np.testing.assert_array_equal(kept.values[frozen], saved.values[frozen])
    np.testing.assert_array_equal(estimator.covariance[block], saved.covariance[block])
    np.testing.assert_array_equal(kept.covariance[block], saved.covariance[block])


@pytest.mark.parametrize("seed", range(CASES))
def test_random_robots_keep_what_is_frozen(seed):
    """All parameters of a random robot are estimated, then some are frozen at their saved values.
    """
    case = case_of(seed)
    print(case)
    config, robot = robot_of(case.values, seed)
    prior = prior_from_config(config, robot)
    first = Estimator(config, perturbed(prior, 1.5, seed), robot)
    truth = Estimator(config, prior, robot, learn=False).pi
    filling = first._low_pass.kernel.size
    learn_on(first, samples_of(config, robot, truth, filling + LEARNED, seed))
    assert first.solver_failures == 0, first.status
    saved = first.parameter_set()
    second = Estimator(config.with_values({"estimation.frozen": case.frozen}), saved, robot)
    rows = disturbed(samples_of(config, robot, truth, filling + GONE_ON, seed, start=100),
                     case.disturbance)
    if case.disturbance == "break off":
        learn_on(second, rows)
        second.break_off()
    learn_on(second, rows)
    check_frozen(second, saved)


@pytest.fixture(scope="module")
def default():
    """(robot, samples, saved): the default robot, and an estimate of it after two seconds."""
    robot = RobotModel.from_config(Config())
    prior = prior_from_config(Config(), robot)
    truth = Estimator(Config(), prior, robot, learn=False).pi
    samples = samples_of(Config(), robot, truth, 130, 0)
    estimator = Estimator(Config(), perturbed(prior, 2, 1), robot)
    learn_on(estimator, samples[:100])
    return robot, samples[100:], estimator.parameter_set()


@pytest.mark.parametrize("seed", sorted({*range(CASES), NO_INTERIOR}))
def test_random_subsets_of_the_default_robot_keep_what_is_frozen(seed, default):
    """Subsets of every size; predictions include the uncertainty of frozen parameters."""
    robot, samples, saved = default
    rng = np.random.default_rng(10_000 + seed)
    chosen = rng.random(robot.table.size) < rng.uniform(0, 1.1)
    frozen = [name for name, one in zip(robot.table.names, chosen) if one]
    print(frozen)
    estimator = Estimator(Config().with_values({"estimation.frozen": frozen}), saved, robot)
    last = learn_on(estimator, samples)
    check_frozen(estimator, saved)
    Y = last.prediction.regressor
    # relative to the rows' deviations: the weight's variance of 4e4 rounds the whole matrix
    whole = Y @ last.covariance @ Y.T
    unit = np.sqrt(np.outer(np.diag(whole), np.diag(whole)))
    np.testing.assert_allclose(last.parameter_covariance.of_rows(Y) / unit, whole / unit, atol=1e-5)
