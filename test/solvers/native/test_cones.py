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

"""P in a solver's free coordinates against the physical set itself."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from problems import admissible, make_table

from uvms_adaptive_dynamics.config import Estimation
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.solvers.native.cones import Cones
from uvms_adaptive_dynamics.solvers.native.interior_point import strictly_inside

TABLE = make_table(2)
PHYSICAL = PhysicalSet(TABLE, Estimation())


def cones_of(rng, share_free=1.0):
    pi = admissible(TABLE, rng)
    return Cones(PHYSICAL, rng.random(TABLE.size) < share_free, pi, strictly_inside), pi


@settings(max_examples=60, deadline=None)
@example(1421794111, 1.0)   # worst: the mass in heave, which couples to no other entry of M_v
@given(st.integers(0, 2 ** 32 - 1), st.sampled_from([1.0, 0.8, 0.3]))
def test_a_point_violates_the_cones_as_it_violates_the_set(seed, share):
    """If no frozen parameter is outside, both state the same largest violation."""
    rng = np.random.default_rng(seed)
    cones, pi = cones_of(rng, share)
    if not cones.coordinates.size:
        return
    x = cones.coordinates.reduce(pi) + rng.normal(size=cones.coordinates.size) * 10 ** rng.uniform(
        -3, 0
    )
    full = cones.coordinates.expand(x, pi)
    assert cones.violation(x) == pytest.approx(PHYSICAL.violation(full), abs=1e-9)


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_each_matrix_is_an_inequality_of_the_set(share):
    """At any point, with tied and frozen parameters."""
    rng = np.random.default_rng(0)
    cones, pi = cones_of(rng, share)
    full = cones.coordinates.expand(rng.normal(size=cones.coordinates.size), pi)
    wanted = [np.tensordot(full[lmi.places], lmi.basis, 1)
              - PHYSICAL.epsilon * np.eye(lmi.basis.shape[1])
              for lmi in PHYSICAL.inequalities if cones.coordinates.free[lmi.places].any()]
    found = cones.matrices(cones.coordinates.reduce(full))
    assert len(wanted) == cones.count
    for matrix, padded in zip(wanted, found):
        d = len(matrix)
        np.testing.assert_allclose(padded[:d, :d], matrix, atol=1e-12 * np.abs(matrix).max())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2 ** 32 - 1))
def test_balance_is_the_adjoint_of_the_step(seed):
    """<z, change of slacks> + <Z, change of matrices> = <balance(z, Z), step>, for any
    multipliers."""
    rng = np.random.default_rng(seed)
    cones, _ = cones_of(rng, rng.choice([1.0, 0.5]))
    dx = rng.normal(size=cones.coordinates.size)
    z, Z = rng.normal(size=cones.places.size), rng.normal(size=(cones.count, 4, 4))
    Z = Z + Z.transpose(0, 2, 1)
    expected = z @ (cones.sign * dx[cones.places]) + np.sum(Z * cones.along(dx))
    assert cones.balance(z, Z) @ dx == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2 ** 32 - 1), st.sampled_from([1.0, 0.7, 0.3]))
def test_a_point_is_moved_inside_and_one_inside_stays(seed, share):
    """A point outside is moved inside, with parameters frozen at admissible values too; one inside
    is returned itself."""
    rng = np.random.default_rng(seed)
    cones, pi = cones_of(rng, share)
    x = cones.coordinates.reduce(pi)
    assert cones.pulled_inside(x) is x
    outside = x + rng.normal(size=x.size)
    if cones.violation(outside) > 0 and cones.interior[1] > 0:
        assert cones.violation(cones.pulled_inside(outside)) < 1e-12


@pytest.mark.parametrize("n, vehicle", [(1, True), (0, True), (3, False)])
def test_the_interior_of_everything_free_is_deep(n, vehicle):
    """The margin is at least 0.05 (scaled)."""
    table = make_table(n, vehicle)
    physical = PhysicalSet(table, Estimation())
    cones = Cones(physical, np.ones(table.size, bool), np.zeros(table.size), strictly_inside)
    x, margin = cones.interior
    assert margin >= 0.05 and cones.violation(x, margin) == 0.0


def test_cones_fit_the_object_they_were_made_from():
    """Cones fit neither an equal set that is another object nor other frozen values; values of free
    parameters do not matter."""
    rng = np.random.default_rng(0)
    pi, free = admissible(TABLE, rng), np.arange(TABLE.size) % 3 > 0
    cones = Cones(PHYSICAL, free, pi)
    assert cones.fit(PHYSICAL, free.copy(), pi.copy()) and cones.fit(PHYSICAL, free, pi + free)
    assert not cones.fit(PhysicalSet(TABLE, Estimation()), free, pi)
    assert not cones.fit(PHYSICAL, free, pi + 1) and not cones.fit(PHYSICAL, ~free, pi)
