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

"""The log of a run: rows with their regressors, trajectory of the parameters, solve times."""
from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..disk.kinds import reason_of
from ..errors import UvmsError
from ..estimation.prediction import Estimate, Prediction
from ..model.metrics import compared
from ..model.normal import Z95
from ..model.parameters import ParameterTable
from ..model.vehicle import load_columns
from ..review.arm_check import CheckedRows

# Regressors beyond this limit go to an unnamed temporary file (two minutes of the default robot
# take 36 MB).
MEMORY_LIMIT = 500_000_000  # [bytes]
CHUNK_ROWS = 1024
# The trajectory has at most twice as many points: enough for any figure.
TRAJECTORY_POINTS = 1500


class Rows(NamedTuple):
    """Rows of a whole run, (T,) and (T, C): times [s], bag index, and per channel measured and
    predicted efforts [N, N m].

    `arm` (T, 6 or 0): part of the vehicle's predicted wrench that carries the arm; `noise`: assumed
    deviation of the measurement noise; `tau_known`: known load in addition to Y pi;
    `trust`: each channel's index in `uncertainty.trust.TRUST_STATES` before the row; `speed`: the
    low-passed velocity of the channel's own axis or joint; `in_motion`: whether the row is.
    """

    t: np.ndarray
    bag: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    stddev: np.ndarray
    valid: np.ndarray
    arm: np.ndarray
    noise: np.ndarray
    tau_known: np.ndarray
    trust: np.ndarray
    speed: np.ndarray
    in_motion: np.ndarray

    def counted(self, c: int) -> np.ndarray:
        """(T,) bool: rows of channel c that are compared."""
        return compared(self.measured[:, c], self.predicted[:, c], self.valid[:, c])


class ParameterTrajectory(NamedTuple):
    """Estimates over time: t (k,), bag (k,), pi (k, p) and its stddev (k, p)."""

    t: np.ndarray
    bag: np.ndarray
    pi: np.ndarray
    stddev: np.ndarray


class RunLog:
    """The data behind the metrics, files and figures of one run."""

    def __init__(self, table: ParameterTable, memory_limit: int = MEMORY_LIMIT):
        self._table, C = table, table.channels
        self._vehicle_rows = slice(0, 6 if table.vehicle else 0)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(Rows._fields, (C,))
        shapes |= {"t": (), "bag": (), "arm": (self._vehicle_rows.stop,)}
        kinds = {"bag": int, "valid": bool, "in_motion": bool, "trust": np.int8}
        self._columns = {name: _Chunks(shape, kinds.get(name, float))
                         for name, shape in shapes.items()}
        self._regressors = _Chunks((C, table.size), float, memory_limit)
        self._trajectory: list[tuple] = []
        self._stride, self._estimates = 1, 0
        # The regressor's column of a channel's viscous damping is its own velocity.
        self._viscous = np.concatenate([
            *([table.blocks["vehicle linear damping"]] if table.vehicle else []),
            *(table.blocks[f"{joint} friction"][:1] for joint in table.joints)])
        self._own = np.arange(C)
        self.changes: list[float] = []      # [s] times at which a change of the robot was accepted
        self.solve_ms: list[float] = []
        self.update_ms: list[float] = []
        self.cpu_ms: list[float] = []       # processor time of updates, independent of other load
        self.updates = self.skipped = self.violations = 0
        self.loaded = 0                     # rows predicted with an external force
        self.min_eig_M: float | None = None
        self.min_eig_J = np.full(table.n, np.inf)

    def add_row(self, row: Prediction, bag: int, in_motion: np.ndarray) -> None:
        """Add a prediction with the `pi` and `noise_stddev` behind it; in_motion (C,) bool."""
        vehicle, links = self._vehicle_rows, self._table.arm_slice
        # In the vehicle's rows the known load is the links' buoyancy, which belongs to the arm, and
        # the effort against an external force, which does not.
        arm = row.regressor[vehicle, links] @ row.pi[links] + row.tau_known[vehicle]
        if row.load is not None:
            assert row.R_nb is not None
            arm += load_columns(row.R_nb) @ row.load
            self.loaded += 1
        values = {"t": row.t, "bag": bag, "measured": row.measured, "predicted": row.predicted,
                  "stddev": row.predicted_stddev, "valid": row.valid, "arm": arm,
                  "noise": row.noise_stddev, "tau_known": row.tau_known, "in_motion": in_motion,
                  "trust": 0 if row.trust is None else row.trust,
                  "speed": np.abs(row.regressor[self._own, self._viscous])}
        for name, column in self._columns.items():
            column.append(values[name])
        self._regressors.append(row.regressor)

    def note_change(self, t: float) -> None:
        """Note that a change of the robot was accepted at t [s]."""
        self.changes.append(t)

    def add_times(self, estimate: Estimate, cpu_ms: float) -> None:
        """Add the times of an update, which took so much of the processor."""
        self.update_ms.append(estimate.update_ms)
        self.solve_ms.append(estimate.solve_ms)
        self.cpu_ms.append(cpu_ms)

    def note_skipped(self) -> None:
        """Count an update without a new estimate."""
        self.skipped += 1

    def add_estimate(self, estimate: Estimate, bag: int) -> None:
        """Count an update, and add a point to the parameters' trajectory, which is thinned evenly
        as it grows."""
        self.updates += 1
        if self._estimates % self._stride == 0:
            # Deviations are computed on access, so only for kept points.
            self._trajectory.append((estimate.t, bag, estimate.pi, estimate.stddev))
            if len(self._trajectory) > 2 * TRAJECTORY_POINTS:
                del self._trajectory[1::2]
                self._stride *= 2
        self._estimates += 1

    def add_physical(self, min_eig_M: float | None, min_eig_J: np.ndarray, outside: bool) -> None:
        """Update the smallest eigenvalues, and count estimates outside the physical set."""
        if min_eig_M is not None:
            self.min_eig_M = min_eig_M if self.min_eig_M is None else min(self.min_eig_M, min_eig_M)
        self.min_eig_J = np.minimum(self.min_eig_J, min_eig_J)
        self.violations += bool(outside)

    def __len__(self) -> int:
        return len(self._regressors)

    def rows(self) -> Rows:
        """All rows, as arrays."""
        return Rows(*(self._columns[name].array() for name in Rows._fields))

    def left(self, own: np.ndarray, later: bool) -> np.ndarray:
        """(C,) unpredicted share of each effort's power in the rows of these indices (k,), or
        (later) in their later half; 0 if no row counts."""
        rows = self.rows()
        found = np.zeros(rows.valid.shape[1])
        for c, valid in enumerate(rows.valid.T):
            places = own[valid[own]]
            places = places[places.size // 2:] if later else places
            if places.size and np.ptp(rows.measured[places, c]):
                measured = rows.measured[places, c]
                found[c] = np.mean((measured - rows.predicted[places, c]) ** 2) / np.var(measured)
        return found

    def held(self, own: np.ndarray) -> np.ndarray:
        """(C,) share of the rows of these indices (k,) inside their 95 % intervals; 1 if none has
        one."""
        rows = self.rows()
        error, stddev, valid = (each[own] for each in (
            rows.measured - rows.predicted, rows.stddev, rows.valid))
        counts = valid & np.isfinite(stddev)
        outside = counts & (np.abs(error) > Z95 * stddev)
        return 1.0 - outside.sum(axis=0) / np.maximum(counts.sum(axis=0), 1)

    def regressors(self, places: np.ndarray) -> np.ndarray:
        """(k, C, p) regressors of the rows at these indices."""
        found = np.empty((len(places), self._table.channels, self._table.size))
        for number, block in enumerate(self._regressors):
            inside = places // CHUNK_ROWS == number
            found[inside] = block[places[inside] % CHUNK_ROWS]
        return found

    def checked(self, own: np.ndarray) -> CheckedRows:
        """The rows of these indices (k,), in the order of their times."""
        rows = self.rows()
        own = own[np.argsort(rows.t[own], kind="stable")]
        return CheckedRows(rows.t[own], (rows.measured - rows.tau_known)[own], rows.valid[own],
                           lambda places: self.regressors(own[places]))

    def trajectory(self) -> ParameterTrajectory:
        """The thinned trajectory, as arrays."""
        t, bag, pi, stddev = zip(*self._trajectory) if self._trajectory else ((), (), (), ())
        p = self._table.size
        return ParameterTrajectory(np.array(t, float), np.array(bag, int),
                                   np.reshape(pi, (-1, p)), np.reshape(stddev, (-1, p)))

    def predict(self, pi: np.ndarray,
                covariance: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Predictions of fixed parameters on the same rows: predicted and its stddev (T, C), with
        each row's own noise. Without a covariance the parameters count as certain."""
        predicted, variance = [], []
        for Y in self._regressors:
            predicted.append(Y @ pi)
            variance.append(
                np.zeros(Y.shape[:2]) if covariance is
                None else np.einsum("tcp,tcp->tc", Y @ covariance, Y))
        known, noise = self._columns["tau_known"].array(), self._columns["noise"].array()
        if not predicted:
            return known, noise
        return np.concatenate(predicted) + known, np.sqrt(
            np.maximum(np.concatenate(variance), 0.0) + noise ** 2)


class _Chunks:
    """Rows of equal shape, appended one at a time into blocks; blocks beyond `memory_limit` bytes
    live in a temporary file."""

    def __init__(self, shape: tuple[int, ...], dtype: type, memory_limit: int | None = None):
        self._shape, self._dtype, self._limit = shape, np.dtype(dtype), memory_limit
        self._blocks: list[np.ndarray] = []
        self._count = 0

    def append(self, row: Any) -> None:
        if self._count == len(self._blocks) * CHUNK_ROWS:
            self._blocks.append(self._new_block())
        self._blocks[-1][self._count % CHUNK_ROWS] = row
        self._count += 1

    def _new_block(self) -> np.ndarray:
        shape = (CHUNK_ROWS, *self._shape)
        size = int(np.prod(shape)) * self._dtype.itemsize
        if self._limit is None or size * (len(self._blocks) + 1) <= self._limit:
            return np.empty(shape, self._dtype)
        with tempfile.TemporaryFile(prefix="uvms_rows_") as file:
            try:     # a full disk would kill the process on access to the mapped file
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                raise UvmsError(
                    f"the temporary folder '{tempfile.gettempdir()}' has no room for the rows of "
                    f"this run ({reason_of(error)}); free some space, or set TMPDIR to a folder "
                    "with more.") from None
            return np.memmap(file, self._dtype, "w+", shape=shape)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[np.ndarray]:
        for i, block in enumerate(self._blocks):
            yield block[:min(CHUNK_ROWS, self._count - i * CHUNK_ROWS)]

    def array(self) -> np.ndarray:
        return np.concatenate(list(self)) if self._count else np.empty(
            (0, *self._shape), self._dtype)
