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

"""The only check of samples: wrong shapes and types are refused, implausible values are masked.

Rows are linear in accelerations and at most cubic in speeds, so one absurd value would outweigh
minutes of data. The limits suit any vehicle and arm of this kind (`limits` settings).
docs/mathematics.md, "Leverage bound" and "Unknown attitude"."""
from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..config import Config
from ..errors import ParameterError, brief
from ..model.arguments import is_real
from ..model.robot import RawRows, RobotModel
from ..model.rotations import from_down
from ..model.sample import Misread, Sample
from ..model.vehicle_size import size_factors
from ..uncertainty.parameter_covariance import ParameterCovariance
from .beyond_limits import BeyondLimits

ORTHONORMAL = 1e-3    # largest entry of R R^T - 1 explained by rounding and drift
# A row is a leverage point if its residual exceeds this many standard deviations, of parameters and
# noise together, while the row alone outweighs what is known in its direction.
INCONSISTENT = 10.0
LEVERAGE_LASTS = 2.0    # [s] of leverage points in a row, after which the estimate must be wrong
REAL = (float, int, np.floating, np.integer)    # classes of a real number


class Rejected(NamedTuple):
    """Numbers of rows marked valid that were rejected, as implausible or because the attitude is
    too uncertain, and of samples refused because their stamp repeats."""

    implausible: int = 0
    unknown_attitude: int = 0
    repeated_stamps: int = 0

    def plus(self, other: Rejected) -> Rejected:
        """The sum of both."""
        return Rejected(*map(sum, zip(self, other)))


class SampleCheck:
    """Checks shapes, types and plausibility of one robot's samples.

    `beyond`: what has exceeded the settings `limits`."""

    def __init__(self, config: Config, robot: RobotModel, raw_noise_ratio: float):
        """raw_noise_ratio: noise deviation before the low-pass over that after it."""
        table, self._robot = robot.table, robot
        self._period, self._raw_noise_ratio = config.filter.period, raw_noise_ratio
        n, vehicle = table.n, table.vehicle
        self._by_thruster = (6, robot.thrusters)
        self._channels, self._vehicle, self._eye = table.channels, vehicle, np.eye(3)
        self._shapes = {
            "R_nb": (3, 3), "nu": (6, ), "nu_dot": (6, ), "mu": (n, ), "mu_dot": (n, ),
            "mu_ddot": (n, ), "wrench": (6, ), "joint_torque": (n, ), "valid": (table.channels, )
        }
        self.beyond = BeyondLimits(robot.channels)
        self.change_settings(config)
        self.restart()

    def restart(self) -> None:
        """Begin again with other parameters: reset the count of leverage points."""
        self._suspected = 0         # ticks in a row with leverage points

    def change_settings(self, config: Config) -> None:
        """Adopt other `limits` and `filter.gates`; without gates all finite values pass."""
        limits, n, vehicle = config.limits, self._robot.table.n, self._vehicle
        self._gates = config.filter.gates
        # limits of mu (only finite), mu_dot, mu_ddot, then of nu and nu_dot
        self._motion = np.repeat([sys.float_info.max, limits.joint_speed,
                                  limits.joint_acceleration], n)
        self._of_motion = np.repeat(["", "joint_speed", "joint_acceleration"], n).tolist()
        if vehicle:
            self._motion = np.append(self._motion, np.repeat(
                [limits.speed, limits.rate, limits.acceleration, limits.angular_acceleration], 3))
            self._of_motion += np.repeat(
                ["speed", "rate", "acceleration", "angular_acceleration"], 3).tolist()
        larger = np.maximum(size_factors(self._robot.table.weight_limits, ("N", "N m")), 1.0)
        self._wrench = np.repeat(larger * [limits.force, limits.torque], 3)
        prismatic = self._robot.table.prismatic
        set_limits = np.where(prismatic, limits.force, limits.torque)
        possible = self._robot.possible_efforts
        # (what a URDF states is known of this joint, the setting is a guess for any)
        self._efforts = np.where(np.isfinite(possible), np.maximum(possible, set_limits),
                                 set_limits)
        self._of_efforts = (["force"] * 3 + ["torque"] * 3) * vehicle + np.where(
            prismatic, "force", "torque").tolist()

    def require_form(self, sample: Sample) -> None:
        """Raise ParameterError if a field does not have the shape and type of this robot's samples.
        """
        if not isinstance(sample, Sample):
            raise ParameterError(f"got a {type(sample).__name__}, expected a Sample.")
        if not _is_finite(sample.t):
            raise ParameterError(
                f"sample.t is {brief(sample.t)}, expected a finite time in seconds.")
        for name, shape in self._shapes.items():
            _require_array(name, getattr(sample, name), shape)
        if sample.valid.dtype != bool:
            raise ParameterError(f"sample.valid is of type {sample.valid.dtype}, expected bool.")
        if not _is_finite(sample.velocity_stddev) or sample.velocity_stddev < 0:
            raise ParameterError(f"sample.velocity_stddev is {brief(sample.velocity_stddev)}, "
                                 "expected a standard deviation in m/s, 0 if unknown.")
        # Measurements may be missing (NaN) and are masked then; what describes them may not.
        if sample.down_covariance is not None:
            _require_finite("down_covariance", sample.down_covariance, (3, 3))
        if sample.by_thruster is not None and self._by_thruster[1]:
            _require_finite("by_thruster", sample.by_thruster, self._by_thruster)
        self._require_findings(sample)

    def _require_findings(self, sample: Sample) -> None:
        """The same for the fields that say what was found out about the sensors."""
        until = sample.right_until
        if not isinstance(until, REAL) or isinstance(until, bool) or not until <= math.inf:
            raise ParameterError(f"sample.right_until is {brief(until)}, expected a time in "
                                 "seconds, minus infinity before the first verdict.")
        if not isinstance(sample.found_wrong, (bool, np.bool_)):
            raise ParameterError(f"sample.found_wrong is {brief(sample.found_wrong)}, expected "
                                 "true or false.")
        if not (isinstance(sample.misread, tuple) and all(map(self._is_misread, sample.misread))):
            raise ParameterError(f"sample.misread is {brief(sample.misread)}, expected a tuple of "
                                 f"Misread, with places from 0 to {self._channels - 1}.")
        if not (isinstance(sample.again, tuple) and all(map(_is_pair, sample.again))):
            raise ParameterError(f"sample.again is {brief(sample.again)}, expected a tuple of "
                                 "pairs of samples.")
        for one in chain.from_iterable(sample.again):
            self.require_form(one)

    def _is_misread(self, value: Any) -> bool:
        return (isinstance(value, Misread) and isinstance(value.places, tuple)
                and all(type(place) is int and 0 <= place < self._channels
                        for place in value.places))

    def rows(self, sample: Sample, raw: RawRows, pi: np.ndarray, covariance: ParameterCovariance,
             noise: np.ndarray) -> tuple[np.ndarray, Rejected]:
        """((C,) bool: rows with plausible motion and effort, at an attitude that is known well
        enough; how many were rejected). pi (p,), covariance: the estimate; noise (C,): of
        low-passed rows."""
        plausible = self.plausible(sample)
        if plausible.any() and self._gates:
            suspect = leverage_points(raw.residual(pi),
                                      lambda: np.diagonal(covariance.of_rows(raw.Y)),
                                      self._raw_noise_ratio * noise)
            # All rows share the motion that makes a regressor absurd. Leverage points that persist
            # are not a glitch: the estimate is far off, and only these rows can correct it.
            found = bool((sample.valid & suspect & plausible).any())
            self._suspected = (self._suspected + 1) * found
            if found and self._suspected * self._period <= LEVERAGE_LASTS:
                plausible = np.zeros_like(plausible)
        valid, unknown_attitude = sample.valid & plausible, 0
        implausible = int(np.count_nonzero(sample.valid & ~plausible))
        if sample.down_covariance is not None:
            # The attitude's uncertainty must not exceed the noise: such a row would
            # inform about the vehicle's tilt, not about the arm.
            level = attitude_variance(sample, self._robot, pi) <= noise ** 2
            unknown_attitude = int(np.count_nonzero(valid & ~level))
            valid = valid & level
        return valid, Rejected(implausible, unknown_attitude)

    def plausible(self, sample: Sample) -> np.ndarray:
        """(C,) bool: rows whose motion and effort are finite and within the limits.

        The motion of arm and vehicle affects all rows, so implausible motion masks all of them; an
        implausible effort masks its own row."""
        if not self._gates:
            return self._finite(sample)
        motion = [sample.mu, sample.mu_dot, sample.mu_ddot]
        if self._vehicle:
            motion += [sample.nu, sample.nu_dot]
        size = np.abs(np.concatenate(motion))
        moves = bool((size <= self._motion).all())      # false for NaN
        if not moves:
            self._note(sample, size, self._motion, self._of_motion)
        if moves:
            R = sample.R_nb
            moves = bool(np.abs(R @ R.T - self._eye).max() < ORTHONORMAL)
        if not moves:
            return np.zeros(sample.valid.size, bool)
        size, most = np.abs(sample.joint_torque), self._efforts
        if self._vehicle:
            size = np.concatenate([np.abs(sample.wrench), size])
            most = np.concatenate([self._wrench, most])
        plausible = size <= most
        if not plausible.all():
            self._note(sample, size, most, self._of_efforts)
        return plausible

    def _note(self, sample: Sample, size: np.ndarray, most: np.ndarray,
              settings: Sequence[str]) -> None:
        """Keep what exceeds its limit, size and most (k,), of the valid rows. Efforts, one per
        channel, cost their own row, motion costs all."""
        every = np.flatnonzero(sample.valid).tolist()
        for k in np.flatnonzero(~(size <= most)).tolist():
            places = [k] * int(sample.valid[k]) if settings is self._of_efforts else every
            self.beyond.add(places, f"limits.{settings[k]}", float(size[k]), float(most[k]))

    def _finite(self, sample: Sample) -> np.ndarray:
        """(C,) bool: rows with finite motion and effort."""
        motion = (sample.R_nb, sample.nu, sample.nu_dot, sample.mu, sample.mu_dot, sample.mu_ddot)
        if not all(np.isfinite(values).all() for values in motion):
            return np.zeros(self._channels, bool)
        torque = np.isfinite(sample.joint_torque)
        return np.concatenate([np.isfinite(sample.wrench), torque]) if self._vehicle else torque


def _is_finite(value: Any) -> bool:
    """Whether it is a number that fits a float: false for NaN, for an integer too large, and for a
    truth value, which Python counts as an integer."""
    return (isinstance(value, REAL) and not isinstance(value, bool)
            and abs(value) <= sys.float_info.max)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2


def _require_finite(name: str, value: Any, shape: tuple[int, ...]) -> None:
    _require_array(name, value, shape)
    if not np.isfinite(value).all():
        raise ParameterError(f"sample.{name} has values that are not finite; expected finite "
                             "numbers, or None if it is unknown.")


def _require_array(name: str, value: Any, shape: tuple[int, ...]) -> None:
    # masked arrays and matrices are of the same class, but their operators return other shapes
    if not isinstance(value, np.ndarray) or isinstance(value, (np.ma.MaskedArray, np.matrix)):
        raise ParameterError(f"sample.{name} is a {type(value).__name__}, expected a numpy array "
                             f"of shape {shape}.")
    if value.shape != shape:
        raise ParameterError(f"sample.{name} has shape {value.shape}, expected {shape}"
                             + (f" ({shape[0]} channels)." if name == "valid" else "."))
    if name != "valid" and not is_real(value):
        raise ParameterError(f"sample.{name} is of type {value.dtype}, expected real numbers.")


def leverage_points(residual: np.ndarray, variance_of_rows: Callable[[], np.ndarray],
                    noise: np.ndarray) -> np.ndarray:
    """(C,) bool: leverage points, rows with an excessive residual and an excessive regressor.

    residual (C,) of raw rows; variance_of_rows: returns the variance (C,) of their predictions due
    to the parameters, called only if it matters; noise (C,): deviation of raw rows.

    A Huber cost bounds the influence of a residual, not that of a regressor: one absurd regressor
    outweighs minutes of other rows. If the parameters are uncertain enough to explain the residual,
    the row is new information; if not, it is an error."""
    if (np.abs(residual) <= INCONSISTENT * noise).all():     # then the variance does not matter
        return np.zeros(residual.size, bool)
    variance = np.maximum(variance_of_rows(), 0.0)      # rounding
    surprise = np.abs(residual) / np.sqrt(noise ** 2 + variance)
    return ~(surprise <= INCONSISTENT) & ~(variance <= noise ** 2)


def attitude_variance(sample: Sample, robot: RobotModel, pi: np.ndarray) -> np.ndarray:
    """(C,) variance of the prediction for a sample with parameters pi (p,) due to its
    `down_covariance`, from steps of one standard deviation along each principal axis."""
    assert sample.down_covariance is not None
    heading = math.atan2(sample.R_nb[1, 0], sample.R_nb[0, 0])

    def predicted(down: np.ndarray) -> np.ndarray:
        raw = robot.raw_rows(replace(sample, R_nb=from_down(down.tolist(), heading)), pi)
        return raw.Y @ pi + raw.tau_known
    variances, axes = np.linalg.eigh(sample.down_covariance)
    steps = np.sqrt(np.maximum(variances, 0.0))[:, None] * axes.T
    here = predicted(sample.R_nb[2])
    return np.sum([(predicted(sample.R_nb[2] + step) - here) ** 2 for step in steps], axis=0)
