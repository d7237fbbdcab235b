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

"""Vehicle regressor against the golden evaluations and against an independent statement of Fossen's
equations."""
import json

import numpy as np
import pytest

from uvms_adaptive_dynamics.errors import ParameterError
from uvms_adaptive_dynamics.model.parameters import VEHICLE_PARAMETERS
from uvms_adaptive_dynamics.model.rotations import from_rpy, skew
from uvms_adaptive_dynamics.model.vehicle import (
    by_linear_velocity,
    load_columns,
    vehicle_regressor,
)

# The golden files' order is inertia | restoring | linear | quadratic (golden/README.md).
OURS_FROM_GOLDEN = np.r_[0:10, 15:27, 10:15]


@pytest.fixture(scope="module")
def golden(shared):
    return json.loads((shared / "golden" / "vehicle_golden.json").read_text())["samples"]


def relative(a, b):
    return np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-12)


def test_regressor_equals_every_golden_evaluation(golden):
    """Y_v and Y_v pi_v agree with the independent implementation to 1e-9 on all 200 samples."""
    assert len(golden) == 200
    for sample in golden:
        R = from_rpy(*sample["eta"][3:])
        Y = vehicle_regressor(np.array(sample["nu"]), np.array(sample["nudot"]), R)
        assert relative(Y, np.array(sample["Y_v"])[:, OURS_FROM_GOLDEN]) < 1e-9
        assert relative(Y @ np.array(sample["pi_v"])[OURS_FROM_GOLDEN],
                        np.array(sample["tau"])) < 1e-9


def random_state(rng):
    return rng.normal(size=6), rng.normal(size=6), from_rpy(*rng.uniform(-1, 1, 3))


def test_a_force_from_outside_acts_where_it_pulls():
    """R^T f and its moment about the body's origin, for one attitude and for many at once."""
    rng = np.random.default_rng(3)
    force, place = rng.normal(size=(2, 3))
    attitudes = np.array([random_state(rng)[2] for _ in range(4)])
    found = load_columns(attitudes) @ np.concatenate([force, np.outer(place, force).ravel()])
    for R, wrench in zip(attitudes, found):
        np.testing.assert_allclose(wrench, np.r_[R.T @ force, np.cross(place, R.T @ force)],
                                   atol=1e-12)


def test_how_the_regressor_depends_on_the_scale_of_velocity():
    """Quadratic in the factor: slope and curvature give the regressor at any factor."""
    nu, nu_dot, R = random_state(np.random.default_rng(1))
    slope, curvature = by_linear_velocity(nu)
    for factor in (.5, 1.3):
        scaled = vehicle_regressor(nu * ([factor] * 3 + [1.0] * 3), nu_dot, R)
        off = factor - 1
        np.testing.assert_allclose(
            scaled, vehicle_regressor(nu, nu_dot, R) + off * slope + off ** 2 * curvature,
            atol=1e-12)


def test_regressor_is_the_sum_of_fossens_terms():
    """Y_v pi equals M nu_dot + C(nu) nu + D(nu) nu + g written with matrices, for unsymmetric M
    too."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        nu, nu_dot, R = random_state(rng)
        pi = rng.normal(size=len(VEHICLE_PARAMETERS))
        M = np.zeros((6, 6))
        M[[0, 1, 2, 0, 1, 3, 4, 3, 4, 5], [0, 1, 2, 4, 3, 1, 0, 3, 4, 5]] = pi[:10]
        a, b = M[:3] @ nu, M[3:] @ nu
        C = np.block([[np.zeros((3, 3)), -skew(a)], [-skew(a), -skew(b)]])
        D = -np.diag(pi[10:16]) - np.diag(pi[16:22] * np.abs(nu))
        n3 = R.T @ [0, 0, 1]
        g = np.concatenate([-(pi[22] - pi[23]) * n3, -np.cross(pi[24:27], n3)])
        np.testing.assert_allclose(
            vehicle_regressor(nu, nu_dot, R) @ pi, M @ nu_dot + C @ nu + D @ nu + g, rtol=1e-12,
            atol=1e-12)


def test_coriolis_forces_do_no_work():
    """With symmetric M the Coriolis part is powerless: nu^T C(nu) nu = 0."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        nu, _, R = random_state(rng)
        pi = np.zeros(len(VEHICLE_PARAMETERS))
        pi[:10] = rng.normal(size=10)
        pi[6], pi[5] = pi[3], pi[4]
        assert abs(nu @ vehicle_regressor(nu, np.zeros(6), R) @ pi) < 1e-12


def test_inertial_part_is_the_lagrangian_derivative():
    """M nu_dot + C nu follows from kinetic energy by finite differences (Kirchhoff's equations)."""
    rng = np.random.default_rng(2)
    nu, nu_dot, R = random_state(rng)
    pi = np.zeros(len(VEHICLE_PARAMETERS))
    pi[:10] = [20, 25, 30, .4, -.3, -.3, .4, .5, .6, .7]
    M = np.zeros((6, 6))
    M[[0, 1, 2, 0, 1, 3, 4, 3, 4, 5], [0, 1, 2, 4, 3, 1, 0, 3, 4, 5]] = pi[:10]
    h = 1e-6
    momentum = lambda s: M @ (nu + s * nu_dot)  # noqa: E731
    p_dot = (momentum(h) - momentum(-h)) / (2 * h)
    p, w = M @ nu, nu[3:]
    expected = np.concatenate(
        [p_dot[:3] + np.cross(w, p[:3]), p_dot[3:] + np.cross(w, p[3:]) + np.cross(nu[:3], p[:3])])
    np.testing.assert_allclose(
        vehicle_regressor(nu, nu_dot, R) @ pi, expected, rtol=1e-6, atol=1e-8)


def test_lists_are_arrays_and_other_shapes_are_refused():
    """The message has name, value and expected shape."""
    nu, nu_dot, R = [.1, .2, .3, .4, .5, .6], [0.0] * 6, np.eye(3).tolist()
    assert np.array_equal(vehicle_regressor(nu, nu_dot, R),
                          vehicle_regressor(np.array(nu), np.array(nu_dot), np.array(R)))
    for wrong, name in (((nu[:3], nu_dot, R), "nu"), ((nu, None, R), "nu_dot"),
                        ((nu, nu_dot, R[2]), "R_nb")):
        with pytest.raises(ParameterError, match=rf"^{name}: got .*, expected numbers of shape"):
            vehicle_regressor(*wrong)
