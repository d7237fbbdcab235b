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

"""The parameter table: names, places, matrices."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.errors import ParameterError
from uvms_adaptive_dynamics.model.parameters import VEHICLE_PARAMETERS, ParameterTable


def table(n=4, vehicle=True, terms=()):
    joints = tuple(f"axis_{c}" for c in "edcb"[:n])
    return ParameterTable(vehicle, joints, (False,) * n, (.2,) * n, (.1,) * n, terms)


def test_vehicle_with_four_joints_has_75_named_parameters():
    """27 + 12 n, names unique, units and scales for each."""
    t = table()
    assert t.size == 75 and len(set(t.names)) == 75 and len(t.units) == 75
    assert len(VEHICLE_PARAMETERS) == 27
    assert t.names[22:27] == ("W", "B", "xgW_xbB", "ygW_ybB", "zgW_zbB")
    assert t.names[27] == "axis_e.m" and t.names[-1] == "axis_b.fs"
    assert np.all(t.scale > 0)


@pytest.mark.parametrize("n, vehicle, terms, size", [
    (0, True, (), 27), (8, False, (), 96), (2, True, ("rotor",), 53),
    (0, True, ("rotor", "current"), 29), (2, False, ("rotor", "current"), 26),
    (2, True, ("link_drag", "off_axis_damping", "dead_band"), 51 + 2 + 10 + 2),
    (1, False, ("friction_by_direction",), 16),
    (1, False, ("friction_by_direction", "joint_offsets"), 15)])
def test_size_follows_the_robot(n, vehicle, terms, size):
    """Any number of joints, with or without a vehicle, with or without rotor inertias."""
    joints = tuple(f"j{k}" for k in range(n))
    assert ParameterTable(vehicle, joints, (False,) * n, (1.,) * n, (1.,) * n, terms).size == size


def test_offsets_are_outside_the_papers_parameters():
    """Six of the vehicle after its 27, one per joint at the end; the rest keeps its place."""
    joints = ("a", "b")
    t = ParameterTable(True, joints, (False, True), (1., 1.), (1., 1.),
                       ("joint_offsets", "vehicle_offsets", "rotor"))
    assert t.size == 27 + 6 + 24 + 2 + 2 and t.paper_slice == slice(0, 27)
    assert t.names[27] == "offset_X" and t.units[27:33] == ("N",) * 3 + ("N m",) * 3
    assert t.names[-2:] == ("a.offset", "b.offset") and t.units[-2:] == ("N m", "N")
    assert t.names[t.link_slice(0)][0] == "a.m"
    assert t.names[t.term_slices["rotor"]] == ("a.Ir", "b.Ir")
    assert len(t.units) == t.scale.size == t.size


def test_vehicle_inertia_is_symmetric_for_tied_parameters():
    """M_v has m z_g - X_dq at (0, 4) and (4, 0), and its pair at (1, 3) and (3, 1)."""
    t, pi = table(), np.zeros(75)
    pi[t.index["mzg_X_dq"]] = pi[t.index["mzg_M_du"]] = .3
    pi[t.index["mzg_Y_dp"]] = pi[t.index["mzg_K_dv"]] = -.3
    M = t.vehicle_inertia(pi)
    assert np.array_equal(M, M.T) and M[0, 4] == .3 and M[1, 3] == -.3


def test_pseudo_inertia_of_point_masses():
    """For point masses J = sum m [x; 1][x; 1]^T, whatever the masses' places."""
    rng = np.random.default_rng(0)
    t, pi = table(), np.zeros(75)
    masses, places = rng.uniform(.1, 1, 6), rng.normal(size=(6, 3))
    inertia = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, places))
    pi[t.link_slice(2)] = [masses.sum(), *(masses @ places), *np.diag(inertia), inertia[0, 1],
                           inertia[0, 2], inertia[1, 2], 0, 0]
    points = np.hstack([places, np.ones((6, 1))])
    np.testing.assert_allclose(t.pseudo_inertia(pi, 2), (points.T * masses) @ points, atol=1e-12)
    S = np.diag([10, 10, 10, 1]) / np.sqrt(.2)
    np.testing.assert_allclose(
        t.scaled_pseudo_inertias(pi)[2], S @ t.pseudo_inertia(pi, 2) @ S, atol=1e-10)


def test_patterns_choose_parameters_and_typos_are_named():
    """Wildcards select blocks; a pattern without a match raises an error that shows it."""
    t = table()
    assert t.match(["axis_b.*"]).sum() == 12 and t.match(["W", "B"]).sum() == 2
    with pytest.raises(ParameterError, match="'axis_q.*'"):
        t.match(["axis_q.*"])


def test_vector_of_wrong_length_or_not_finite_is_refused():
    """The message states got and expected."""
    t = table()
    with pytest.raises(ParameterError, match="got 74 values, expected 75"):
        t.vector(np.zeros(74))
    values = np.zeros(75)
    values[22] = np.nan
    with pytest.raises(ParameterError, match="'W' is not finite"):
        t.vector(values)


def test_blocks_and_parts_are_all_parameters_but_rotors():
    """Each parameter once; `parts` has the vehicle's damping as one."""
    for t in (table(), table(2, False, ("rotor",))):
        for groups in (t.blocks, t.parts):
            places = np.concatenate(list(groups.values()))
            assert sorted(places) == list(range(t.links_slice.stop))
    assert len(table().blocks) == 12 and len(table().parts) == 11
    np.testing.assert_array_equal(table().parts["vehicle damping"], table().nonpositive)
