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

"""Term sets of the vehicle: constant wrench, off-axis inertia and damping, thrust by direction,
current (docs/mathematics.md, "Further terms")."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..body_functions import body_functions, inertia_coefficients
from .declaration import Inequality, Layout, Parameter, TermInput, TermSet

AXIS_LETTERS = ("X", "Y", "Z", "K", "M", "N")
OFFSET_FORCE, OFFSET_MOMENT = 5.0, 1.0  # typical constant wrench of a tether or trim [N, N m]


class VehicleOffsets(TermSet):
    """A constant wrench in the body frame: a tether, trim, or a current's part that looks like
    one."""

    name, part, kind = "vehicle_offsets", "vehicle", "load"
    meaning = "constant wrench on the vehicle"

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        return [Parameter(f"offset_{axis}",
                          *(("N", OFFSET_FORCE) if k < 3 else ("N m", OFFSET_MOMENT)))
                for k, axis in enumerate(AXIS_LETTERS)]

    def fill(self, Y: np.ndarray, instant: TermInput) -> None:
        Y[np.arange(6), np.arange(6)] = 1.0


# Inertia across axes that port-starboard symmetry allows beyond the paper's entries; zero for a
# body that is symmetric fore and aft, too (Fossen 2011, sections 3.3 and 6.3): (name, row, column,
# unit).
INERTIA_PAIRS = (("mxg_Z_dq", 2, 4, "kg m"), ("mxg_Y_dr", 1, 5, "kg m"),
                 ("Ixz_K_dr", 3, 5, "kg m^2"))
# The paper's entries of M, with their scales.
INERTIA_SCALES = (("m_X_du", 20.0), ("m_Y_dv", 20.0), ("m_Z_dw", 20.0), ("Ix_K_dp", 0.5),
                  ("Iy_M_dq", 0.5), ("Iz_N_dr", 0.5))
PAPER_PAIRS = (("mzg_X_dq", 0, 4), ("mzg_M_du", 0, 4), ("mzg_Y_dp", 1, 3), ("mzg_K_dv", 1, 3))
# Symmetric linear damping across axes that port-starboard symmetry allows (Fossen 2011, section
# 6.4.1): between surge, heave and pitch, and between sway, roll and yaw: (name, row, column, unit).
LINEAR_PAIRS = (("X_w", 0, 2, "N s/m"), ("X_q", 0, 4, "N s/rad"), ("Z_q", 2, 4, "N s/rad"),
                ("Y_p", 1, 3, "N s/rad"), ("Y_r", 1, 5, "N s/rad"), ("K_r", 3, 5, "N m s/rad"))
# Moments of drag whose centre of pressure is not the body's origin: (name, row, column).
QUADRATIC_MOMENTS = (("M_uu", 4, 0), ("K_vv", 3, 1), ("N_vv", 5, 1), ("M_ww", 4, 2))
# The paper's damping parameters per axis, linear and quadratic, with their scales.
LINEAR_SCALES = (("X_u", 20.0), ("Y_v", 20.0), ("Z_w", 20.0), ("K_p", 1.0), ("M_q", 1.0),
                 ("N_r", 1.0))
QUADRATIC_SCALES = (("X_uu", 40.0), ("Y_vv", 40.0), ("Z_ww", 40.0))
OFF_AXIS = 0.1      # typical off-axis inertia or damping over the geometric mean of both axes'
LEVER = 0.05        # [m] typical lever arm from the body's origin to the centre of pressure
COUPLED_AXES = ((0, 2, 4), (1, 3, 5))


class OffAxisInertia(TermSet):
    """Off-axis part of M: heave with pitch, sway with yaw, roll with yaw, for a centre of mass or
    water around the hull that is not amid the length."""

    name, part, kind = "off_axis_inertia", "vehicle", "inertia"
    meaning = "mass ahead or astern of the vehicle's origin"
    expected = True
    _of = np.array([inertia_coefficients(i, j) + inertia_coefficients(j, i)
                    for _, i, j, _ in INERTIA_PAIRS]).swapaxes(0, 1)        # (6, k, 57)

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        return [Parameter(name, unit, OFF_AXIS * _mean(INERTIA_SCALES, i, j))
                for name, i, j, unit in INERTIA_PAIRS]

    def fill(self, Y: np.ndarray, instant: TermInput) -> None:
        sample = instant.sample
        Y[:6] = self._of @ body_functions(sample.nu, sample.nu_dot, sample.R_nb[2])

    def inequalities(self, layout: Layout) -> Sequence[Inequality]:
        """M positive definite, the paper's entries included."""
        # Of each pair of equal parameters of the paper, each counts half.
        across = [(name, i, j, 0.5) for name, i, j in PAPER_PAIRS]
        across += [(name, i, j, 1.0) for name, i, j, _ in INERTIA_PAIRS]
        return [_positive(block, "inertia", INERTIA_SCALES, across, 1.0) for block in COUPLED_AXES]


class OffAxisDamping(TermSet):
    """Off-axis part of D(nu) nu: a symmetric linear matrix, and moments of the quadratic drag."""

    name, part, kind = "off_axis_damping", "vehicle", "damping"
    meaning = "damping across the vehicle's axes"
    expected = True

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        linear = [Parameter(name, unit, OFF_AXIS * _mean(LINEAR_SCALES, i, j))
                  for name, i, j, unit in LINEAR_PAIRS]
        return linear + [Parameter(name, "N s^2/m", LEVER * QUADRATIC_SCALES[j][1])
                         for name, _, j in QUADRATIC_MOMENTS]

    def fill(self, Y: np.ndarray, instant: TermInput) -> None:
        nu = instant.sample.nu
        for k, (_, i, j, _) in enumerate(LINEAR_PAIRS):
            Y[i, k], Y[j, k] = -nu[j], -nu[i]
        for k, (_, i, j) in enumerate(QUADRATIC_MOMENTS, start=len(LINEAR_PAIRS)):
            Y[i, k] = -abs(nu[j]) * nu[j]

    def inequalities(self, layout: Layout) -> Sequence[Inequality]:
        """Linear D positive definite, hence dissipative. The quadratic moments are free: their
        power is of third order in the velocities and has no definite sign."""
        across = [(name, i, j, 1.0) for name, i, j, _ in LINEAR_PAIRS]
        return [_positive(block, "linear damping", LINEAR_SCALES, across, -1.0)
                for block in COUPLED_AXES]


def _mean(scales: Sequence[tuple[str, float]], i: int, j: int) -> float:
    """Geometric mean of two axes' scales."""
    return float(np.sqrt(scales[i][1] * scales[j][1]))


def _positive(block: tuple[int, ...], what: str, scales: Sequence[tuple[str, float]],
              across: Sequence[tuple[str, int, int, float]], sign: float) -> Inequality:
    """The block of a matrix of the vehicle, scaled, times sign is positive definite. scales: of its
    diagonal; across: (parameter, row, column, share) of its other entries."""
    names, basis = [], []
    for a, i in enumerate(block):
        names.append(scales[i][0])
        basis.append(_place(3, a, a, sign / scales[i][1]))
    for name, i, j, share in across:
        if i in block:
            names.append(name)
            basis.append(_place(3, block.index(i), block.index(j),
                                sign * share / _mean(scales, i, j)))
    label = f"{what} of " + ", ".join(AXIS_LETTERS[i] for i in block)
    return Inequality(tuple(names), np.array(basis), label)


def _place(d: int, i: int, j: int, value: float) -> np.ndarray:
    matrix = np.zeros((d, d))
    matrix[i, j] = matrix[j, i] = value
    return matrix


class ThrustByDirection(TermSet):
    """Per body axis, the thrusters deliver (1 + d) times the measured wrench forward and (1 - d)
    times backward.

    Y pi = w + d |w| with the measured wrench w. A common factor of both directions is left out:
    with it, all other parameters could be zero.
    """

    name, part, kind = "thrust_by_direction", "vehicle", "measurement"
    meaning = "thrust stronger in one direction than measured, weaker in the other, per body axis"

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        # T200 thrusters deliver 5.25 kgf forward and 4.1 kgf backward at 16 V (data sheet): a curve
        # that confuses the two is off by 0.12.
        return [Parameter(f"thrust_{axis}", "1", 0.1, -0.5, 0.5) for axis in AXIS_LETTERS]

    def fill(self, Y: np.ndarray, instant: TermInput) -> None:
        Y[np.arange(6), np.arange(6)] = -np.abs(instant.sample.wrench)


class Current(TermSet):
    """Horizontal velocity c of the water over ground; the vehicle's terms depend on the velocity
    through the water.

    Y_v(nu - R^T c) pi is linearized about the estimated current and parameters: the sample has the
    velocity relative to that current (`RobotModel.raw_rows`), and each component's column is the
    derivative there.
    """

    name, part, kind = "current", "vehicle", "damping"
    meaning = "horizontal current, north and east, that changes slowly"
    wanders = True

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        return [Parameter("current_N", "m/s", 0.1, -5.0, 5.0),
                Parameter("current_E", "m/s", 0.1, -5.0, 5.0)]

    def fill(self, Y: np.ndarray, instant: TermInput) -> None:
        if instant.by_current is not None:
            Y[:6] = instant.by_current
