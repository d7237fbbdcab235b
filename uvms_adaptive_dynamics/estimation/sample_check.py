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

"""Samples are checked once, here: shapes and types are refused, values that cannot be are masked.

Rows are linear in accelerations and cubic in speeds at most, so one absurd value would outweigh
minutes of data. The limits are those of any vehicle and arm of this kind (`limits` settings).
docs/mathematics.md, "Leverage bound" and "Unknown attitude"."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..errors import ParameterError
from ..model.robot import RawRows, RobotModel
from ..model.rotations import from_down
from ..model.sample import Sample
from ..uncertainty.parameter_covariance import ParameterCovariance

ORTHONORMAL = 1e-3    # largest entry of R R^T - 1 that rounding and drift explain
# A row is a leverage point where its residual is this many deviations of all that parameters and
# noise explain, while it alone outweighs what is known of its direction.
INCONSISTENT = 10.0
LEVERAGE_LASTS = 2.0    # [s] without a row in bounds, after which it is the estimate that is wrong


class CheckedRows(NamedTuple):
    """valid (C,) bool: rows that count; implausible, tilted: how many of those that claimed to
    cannot be, or are of an attitude that nobody knows well enough."""

    valid: np.ndarray
    implausible: int
    tilted: int


class SampleCheck:
    """Shapes, types and plausibility of the samples of one robot."""

    def __init__(self, config: Config, robot: RobotModel, raw_noise_ratio: float):
        """raw_noise_ratio: deviation of noise before the low-pass, over that after it."""
        table, self._robot = robot.table, robot
        self._period, self._raw_noise_ratio = config.filter.period, raw_noise_ratio
        n, vehicle = table.n, table.vehicle
        self._by_thruster = (6, robot.thrusters)
        self._channels, self._vehicle, self._eye = table.channels, vehicle, np.eye(3)
        self._shapes = {
            "R_nb": (3, 3), "nu": (6, ), "nu_dot": (6, ), "mu": (n, ), "mu_dot": (n, ),
            "mu_ddot": (n, ), "wrench": (6, ), "joint_torque": (n, ), "valid": (table.channels, )
        }
        self.change_settings(config)
        self.restart()

    def restart(self) -> None:
        """Other parameters: leverage points are counted anew."""
        self._suspected = 0         # ticks in a row with leverage points

    def change_settings(self, config: Config) -> None:
        """Check by other `limits` and `filter.gates`; without gates all passes that is finite."""
        limits, n, vehicle = config.limits, self._robot.table.n, self._vehicle
        self._gates = config.filter.gates
        # of mu, which must be finite, mu_dot and mu_ddot, then of nu and nu_dot
        self._motion = np.repeat([np.finfo(float).max, limits.joint_speed,
                                  limits.joint_acceleration], n)
        if vehicle:
            self._motion = np.append(self._motion, np.repeat(
                [limits.speed, limits.rate, limits.acceleration, limits.angular_acceleration], 3))
        self._wrench, self._torque = np.repeat([limits.force, limits.torque], 3), limits.torque

    def require_form(self, sample: Sample) -> None:
        """Raise ParameterError where a field has not the shape and type of this robot's samples."""
        if not isinstance(sample, Sample):
            raise ParameterError(f"got a {type(sample).__name__}, expected a Sample.")
        if not isinstance(sample.t,
                          (float, int, np.floating, np.integer)) or not np.isfinite(sample.t):
            raise ParameterError(f"sample.t is {sample.t!r}, expected a finite time in seconds.")
        for name, shape in self._shapes.items():
            value = getattr(sample, name)
            if not isinstance(value, np.ndarray):
                raise ParameterError(
                    f"sample.{name} is a {type(value).__name__}, expected a numpy array of shape "
                    f"{shape}."
                )
            if value.shape != shape:
                raise ParameterError(f"sample.{name} has shape {value.shape}, expected {shape}"
                                     + (f" ({shape[0]} channels)." if name == "valid" else "."))
            if name == "valid" and value.dtype != bool:
                raise ParameterError(f"sample.valid is of type {value.dtype}, expected bool.")
            if name != "valid" and value.dtype.kind not in "fiu":
                raise ParameterError(
                    f"sample.{name} is of type {value.dtype}, expected real numbers.")
        if not 0 <= sample.velocity_stddev < np.inf:
            raise ParameterError(f"sample.velocity_stddev is {sample.velocity_stddev!r}, expected "
                                 "a deviation in m/s, 0 where it is not known.")
        given = sample.by_thruster
        if given is not None and self._by_thruster[1] and np.shape(given) != self._by_thruster:
            raise ParameterError(f"sample.by_thruster has shape {np.shape(given)}, expected "
                                 f"{self._by_thruster} or None.")

    def rows(self, sample: Sample, raw: RawRows, pi: np.ndarray, covariance: ParameterCovariance,
             noise: np.ndarray) -> CheckedRows:
        """Which rows count: those whose motion and effort can be, in an attitude that is known well
        enough. pi (p,): the estimate, with its covariance; noise (C,): of low-passed rows."""
        plausible = self.plausible(sample)
        if plausible.any() and self._gates:
            suspect = leverage_points(raw.tau - raw.tau_known - raw.Y @ pi,
                                      lambda: np.diagonal(covariance.of_rows(raw.Y)),
                                      self._raw_noise_ratio * noise)
            # A regressor is absurd because the motion is, which all rows share. What lasts is no
            # glitch but an estimate that is far off, which nothing else would ever correct.
            found = bool((sample.valid & suspect & plausible).any())
            self._suspected = (self._suspected + 1) * found
            if found and self._suspected * self._period <= LEVERAGE_LASTS:
                plausible = np.zeros_like(plausible)
        valid, tilted = sample.valid & plausible, 0
        implausible = int(np.count_nonzero(sample.valid & ~plausible))
        if sample.down_doubt is not None:
            # What is not known of the attitude must not outweigh the noise: such a row would speak
            # of the vehicle's tilt, not of the arm.
            level = attitude_variance(sample, self._robot, pi) <= noise ** 2
            tilted = int(np.count_nonzero(valid & ~level))
            valid = valid & level
        return CheckedRows(valid, implausible, tilted)

    def plausible(self, sample: Sample) -> np.ndarray:
        """(C,) bool: rows whose motion and effort are finite numbers that a robot can have.

        The arm's motion acts on the vehicle's rows and the vehicle's on the arm's, so implausible
        motion masks all rows; an implausible effort masks its own."""
        if not self._gates:
            return self._finite(sample)
        motion = [sample.mu, sample.mu_dot, sample.mu_ddot]
        if self._vehicle:
            motion += [sample.nu, sample.nu_dot]
        moves = bool((np.abs(np.concatenate(motion)) <= self._motion).all())    # false for NaN
        if moves:
            R = sample.R_nb
            moves = bool(np.abs(R @ R.T - self._eye).max() < ORTHONORMAL)
        if not moves:
            return np.zeros(sample.valid.size, bool)
        torque = np.abs(sample.joint_torque) <= self._torque
        return np.concatenate([np.abs(sample.wrench) <= self._wrench, torque
                               ]) if self._vehicle else torque

    def _finite(self, sample: Sample) -> np.ndarray:
        """(C,) bool: rows of which nothing is infinite or no number."""
        motion = (sample.R_nb, sample.nu, sample.nu_dot, sample.mu, sample.mu_dot, sample.mu_ddot)
        if not all(np.isfinite(values).all() for values in motion):
            return np.zeros(self._channels, bool)
        return np.isfinite(np.concatenate([sample.wrench, sample.joint_torque])
                           if self._vehicle else sample.joint_torque)


def leverage_points(residual: np.ndarray, doubt_of_rows: Callable[[], np.ndarray],
                    noise: np.ndarray) -> np.ndarray:
    """(C,) bool: rows whose influence is out of bounds, in the residual and in the row together.

    residual (C,) of raw rows; doubt_of_rows: gives the variance (C,) of their predictions that
    comes from the parameters, asked where it decides; noise (C,): deviation of raw rows. A Huber
    cost bounds what a residual does, not what a row does: one absurd regressor outweighs minutes of
    others. Where the parameters are as uncertain as the residual is large, the row is news; where
    they are not, it is an error."""
    if (np.abs(residual) <= INCONSISTENT * noise).all():     # whatever the doubt
        return np.zeros(residual.size, bool)
    doubt = doubt_of_rows()
    surprise = np.abs(residual) / np.sqrt(noise ** 2 + doubt)
    return ~(surprise <= INCONSISTENT) & ~(doubt <= noise ** 2)


def attitude_variance(sample: Sample, robot: RobotModel, pi: np.ndarray) -> np.ndarray:
    """(C,) variance of what parameters pi predict for a sample, of its `down_doubt` alone: by one
    deviation along each of its principal axes."""
    assert sample.down_doubt is not None
    heading = math.atan2(sample.R_nb[1, 0], sample.R_nb[0, 0])

    def predicted(down: np.ndarray) -> np.ndarray:
        raw = robot.raw_rows(replace(sample, R_nb=from_down(down.tolist(), heading)), pi)
        return raw.Y @ pi + raw.tau_known
    variances, axes = np.linalg.eigh(sample.down_doubt)
    steps = np.sqrt(np.maximum(variances, 0.0))[:, None] * axes.T
    here = predicted(sample.R_nb[2])
    return np.sum([(predicted(sample.R_nb[2] + step) - here) ** 2 for step in steps], axis=0)
