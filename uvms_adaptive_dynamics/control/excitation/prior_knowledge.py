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

"""Prior knowledge of a motion: what is known before, what the motion adds, and plausible draws.

Everything is in the coordinates x of the free parameters (model/coordinates.py), tied pairs merged.
The estimator's cost counts every low-passed row, `overlap` of which carry the information of one;
a prior counts once and a saved covariance `overlap` times (estimation/prior_information.py). The
promise is the covariance that the estimator would state, G B G (docs/mathematics.md, "Covariance").
"""
from __future__ import annotations

import numpy as np

from ...config import Config
from ...model.coordinates import Coordinates
from ...model.covariance import deviations
from ...model.kernel import correlation_length, gaussian_kernel
from ...model.parameter_set import ParameterSet
from ...model.physical_set import PhysicalSet
from ...model.prior import prior_stddev
from ...model.robot import RobotModel
from ..desired_motion import desired_motion
from .limits import MotionLimits
from .rows import regressors
from .trajectory import Promise

# Scaled variance of a direction below which nothing is left to learn in it.
KNOWN_VARIANCE = 1e-12
# Poses at rest at which the holding efforts count as known.
RESTING_PLACES = 16
WEIGHING_ROUNDS = 10  # iterations that find the noise of these holding efforts
PROJECTIONS = 3     # rounds of projecting a draw on the efforts at rest, then on the bounds
CREEP = 0.1     # share of the joints' speed limits at which the arm creeps in these poses
# Information, in units of the prior's, above which a direction is measured: a tenth of the prior's
# standard deviation.
GAINED = 100.0


class Knowledge:
    """A parameter set as the estimator would start from it; free (p,) bool."""

    def __init__(self, robot: RobotModel, known: ParameterSet, free: np.ndarray, config: Config):
        self.robot, table = robot, robot.table
        known = known.for_table(table, "what is known before the motion")
        self.values = known.values
        prior = prior_stddev(self.values, robot, config.estimation.prior_stddev)
        covariance = np.diag(prior ** 2) if known.covariance is None else known.covariance
        a, b = table.equal_pairs.T if len(table.equal_pairs) else np.zeros((2, 0), int)
        if known.covariance is None:
            covariance[b, b] = covariance[a, b] = covariance[b, a] = covariance[a, a]
        self.covariance = covariance * config.estimation.prior_inflation
        self.coordinates = Coordinates(table, free, prior)
        self.overlap = correlation_length(gaussian_kernel(config.filter))
        keep, scale = self.coordinates.keep, self.coordinates.scale
        P = self.covariance[np.ix_(keep, keep)] / np.outer(scale, scale)
        variance, V = np.linalg.eigh(P)
        variance = np.maximum(variance, KNOWN_VARIANCE)
        self.root = V * np.sqrt(variance)       # (m, m), P = root root^T
        self.correlation = 1.0
        if known.covariance is None:
            self.information = (V / variance) @ V.T
        elif known.information is not None:
            self.information = self.reduced(known.information) / config.estimation.prior_inflation
            self.correlation = _correlation(P, self.information, self.overlap)
        else:
            self.information = self.overlap * (V / variance) @ V.T
        self._covariance = P

    def reduced(self, A: np.ndarray) -> np.ndarray:
        """E^T A E (m, m) of a symmetric A (p, p)."""
        columns = self.coordinates.columns
        return columns(columns(A).T)

    def promise(self, A: np.ndarray, B: np.ndarray) -> Promise:
        """Standard deviations after rows with information A (p, p) in the cost and part B (p, p)
        of the gradient's covariance.

        Frozen parameters keep their uncertainty, which widens the others' ('consider' covariance).
        """
        x, table = self.coordinates, self.robot.table
        G = np.linalg.inv(self.information + self.reduced(A))
        prior = self.information @ self._covariance @ self.information
        after = G @ (prior + self.reduced(B)) @ G
        frozen = np.flatnonzero(~x.free)
        moved = -G @ x.columns(A[frozen]).T
        after += moved @ self.covariance[np.ix_(frozen, frozen)] @ moved.T
        present = deviations(self.covariance)
        promised = present.copy()
        estimated = np.flatnonzero(x.free)
        promised[estimated] = (x.scale * deviations(after))[x.variable[estimated]]
        return Promise(table.names, table.units, x.free, present, promised)

    def draws(self, limits: MotionLimits, config: Config, seed: int) -> np.ndarray:
        """(k + 1, p) the mean parameters, then k draws from their distribution, within the bounds
        of P and conditioned on the efforts at rest.

        Anybody who has seen the robot hover and its arm creep knows these efforts: they equal the
        predicted ones within the settings rest_force, rest_moment and rest_share, and exceed
        neither rest_force and rest_moment nor what a joint may use. A prior's weight and buoyancy
        by themselves are known far less well.
        """
        rng = np.random.default_rng([seed, 1])
        H, load, noise, most = self._at_rest(limits, config, rng)
        variance, V = np.linalg.eigh(self.covariance)
        normal = rng.standard_normal((config.excitation.draws, self.values.size))
        drawn = np.vstack([self.values, self.values + (
            normal * np.sqrt(np.maximum(variance, 0.0))) @ V.T])
        physical = PhysicalSet(self.robot.table, config.estimation)
        drawn = _within(drawn, self.covariance, physical)
        # Condition each draw on the efforts at rest (Matheron's rule): drawing from the
        # conditional mean and covariance would not keep the bounds.
        spread = rng.standard_normal((len(drawn), noise.size)) * np.sqrt(noise)
        spread[0] = 0.0
        seen = np.clip(H @ self.values + load, -most, most) + spread
        across = self.covariance @ H.T
        gain = np.linalg.solve(H @ across + np.diag(noise), across.T)
        for _ in range(PROJECTIONS):
            drawn = drawn + (seen - load - drawn @ H.T) @ gain
            # Conditioning may leave the bounds, e.g. with negative friction.
            drawn = _within(drawn, self.covariance, physical)
        return drawn

    def _at_rest(self, limits: MotionLimits, config: Config,
                 rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """(H (k, p), load (k,), variance (k,), most (k,)): efforts H pi + load in poses where the
        robot is still and its joints creep, the variance of their knowledge, and their largest
        magnitude."""
        robot, settings, d = self.robot, config.excitation, limits.low.size
        place, rate = np.zeros((2, RESTING_PLACES, d))
        place[:, 3:5] = rng.uniform(-limits.tilt, limits.tilt, (RESTING_PLACES, 2)) / np.sqrt(2)
        spread = rng.uniform(-1, 1, (RESTING_PLACES, d - 6))
        place[:, 6:] = limits.middle[6:] + limits.reach[6:] * spread
        rate[:, 6:] = CREEP * limits.joint_speed * rng.choice([-1.0, 1.0], (RESTING_PLACES, d - 6))
        Y, load = regressors(robot, desired_motion(place, rate, 0 * place))
        vehicle = [settings.rest_force] * 3 + [settings.rest_moment] * 3 if robot.vehicle else []
        wanted = np.concatenate([vehicle, settings.rest_share * limits.torque]) ** 2
        H = Y.reshape(-1, robot.table.size)
        prior, noise = H @ self.covariance @ H.T, np.tile(wanted, RESTING_PLACES)
        # The poses share one piece of knowledge. Raise their noise until the mean posterior
        # variance over the poses is that of the settings.
        for _ in range(WEIGHING_ROUNDS):
            left = np.diagonal(prior - prior @ np.linalg.solve(prior + np.diag(noise), prior))
            mean_left = left.reshape(RESTING_PLACES, -1).mean(axis=0)
            noise *= np.tile(wanted / np.maximum(mean_left, 1e-12), RESTING_PLACES)
        most = np.concatenate([vehicle, settings.torque_share * limits.torque])
        return H, load.ravel(), noise, np.tile(most, RESTING_PLACES)


def _within(drawn: np.ndarray, P: np.ndarray, physical: PhysicalSet) -> np.ndarray:
    """Move draws (k, p) into the bounds of P, furthest violation first, along their correlations:
    reducing an excessive weight also reduces the buoyancy."""
    stddev = deviations(P)
    uncertain = np.where(stddev > 0, stddev, np.inf)
    for pi in drawn:
        for _ in range(pi.size):
            outside = pi - np.clip(pi, physical.lower, physical.upper)
            i = int(np.argmax(np.abs(outside) / uncertain))
            if outside[i] == 0.0:
                break
            pi -= outside[i] / P[i, i] * P[i]
    return np.clip(drawn, physical.lower, physical.upper)


def _correlation(P: np.ndarray, A: np.ndarray, overlap: float) -> float:
    """Factor, at least 1, by which the covariance P (m, m) of measured directions exceeds what the
    information A (m, m) gives for rows correlated by their low-pass alone: the correlation of
    the residuals so far. 1 if nothing has been measured. P and A are scaled to prior deviations of
    one."""
    gained, V = np.linalg.eigh(A)
    measured = V[:, gained > GAINED * overlap]
    if not measured.size:
        return 1.0
    factor = np.einsum("pk,pq,qk->k", measured, P, measured) * gained[gained > GAINED * overlap]
    return float(max(np.median(factor) / overlap, 1.0))
