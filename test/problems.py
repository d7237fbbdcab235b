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

"""Random horizon problems and small parameter tables for the tests of several rooms."""

import numpy as np

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.model.parameters import ParameterTable
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.solvers.problem import HorizonProblem, Quadratic


def make_table(n=2, vehicle=True):
    joints = tuple(f"j{k}" for k in range(n))
    return ParameterTable(vehicle, joints, (False,) * n, tuple(0.2 + 0.1 * k for k in range(n)),
                          tuple(0.1 + 0.02 * k for k in range(n)))


def admissible(table, rng, estimation=Estimation()):
    """A random point well inside P."""
    pi = np.array(table.scale) * rng.uniform(0.5, 1.5, table.size)
    pi[table.nonpositive] *= -1
    if table.vehicle:
        pi[table.places(["mzg_X_dq", "mzg_M_du"])] = 0.2
        pi[table.places(["mzg_Y_dp", "mzg_K_dv"])] = -0.2
        pi[table.index["W"]] = 115
    for j in range(table.n):
        points, masses = (rng.normal(size=(6, 3)) * table.reference_length[j],
                          rng.uniform(0.5, 1, 6) * table.reference_mass[j] / 4)
        I = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, points))
        pi[table.link_slice(j)][:10] = [masses.sum(), *(masses @ points), *np.diag(I), I[0, 1],
                                        I[0, 2], I[1, 2]]
    # A rare draw of nearly flat links is on the edge of P.
    return (pi if PhysicalSet(table, estimation).violation(pi) == 0
            else admissible(table, rng, estimation))


def make_problem(table, rng, N=20, grouping="sample", quantile=0.95, outliers=0.1, noise=0.3,
                 prior=1.0, rank=None, frozen=(), truth=None, weight=None, coupled=True,
                 estimation=Estimation(), scale=None):
    """A problem whose rows come from `truth` in scaled coordinates with noise and gross
    outliers; unless `coupled` no row has parameters of both the vehicle and the arm. scale
    (C,): the rows are given in units of 1 / scale."""
    p, C = table.size, table.channels
    truth = admissible(table, rng) if truth is None else truth
    Y = rng.normal(size=(N, C, p)) / table.scale
    if rank is not None:
        basis = rng.normal(size=(p, rank))
        Y = (Y * table.scale) @ basis @ basis.T / p / table.scale
    if not coupled:
        Y[:, :6, table.arm_slice] = Y[:, 6:, table.vehicle_slice] = 0
    tau = Y @ truth + noise * rng.normal(size=(N, C))
    tau += 10 * rng.normal(size=(N, C)) * (rng.random((N, C)) < outliers)
    valid = rng.random((N, C)) > 0.05
    Y, tau = Y * valid[..., None], tau * valid
    weight = np.ones(N) if weight is None else weight
    pi0 = truth * rng.uniform(0.5, 2, p)
    H = np.diag((prior / table.scale) ** 2)
    arrival = Quadratic(H, H @ pi0, float(pi0 @ H @ pi0))
    scale = np.ones(C) if scale is None else scale
    stack = (np.sqrt(weight)[:, None, None] * Y).reshape(-1, p)
    target = (np.sqrt(weight)[:, None] * tau).ravel()
    total = Quadratic(H + stack.T @ stack, H @ pi0 + stack.T @ target,
                      arrival.c + float(target @ target))
    free = np.ones(p, bool)
    free[list(frozen)] = False
    return HorizonProblem(PhysicalSet(table, estimation), arrival, total, Y / scale[:, None],
                          tau / scale, scale, valid, weight, grouping, quantile, free, truth.copy())


class Unconstrained(PhysicalSet):
    """P without any constraint."""

    def __init__(self, table):
        super().__init__(table, Estimation())
        self.lower[:], self.upper[:] = -np.inf, np.inf

    inequalities = ()
