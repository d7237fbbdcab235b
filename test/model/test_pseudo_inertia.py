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

"""Centre and central inertia of a link's parameters against Pinocchio's."""
import numpy as np
import pinocchio as pin
from export_cases import point_masses

from uvms_adaptive_dynamics.model.manipulator import OURS_FROM_PINOCCHIO
from uvms_adaptive_dynamics.model.pseudo_inertia import BASIS, central_inertia, offset_inertia


def test_bodies_are_pinocchios():
    """Mass, centre and inertia about it."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        rigid = point_masses(rng)
        theirs = np.zeros(10)
        theirs[OURS_FROM_PINOCCHIO] = rigid
        inertia = pin.Inertia.FromDynamicParameters(theirs)
        mass, centre, about = central_inertia(rigid)
        assert np.isclose(mass, inertia.mass) and np.allclose(centre, inertia.lever)
        assert np.allclose(about, inertia.inertia, atol=1e-15)


def test_an_offset_mass_has_the_pseudo_inertia_of_a_point():
    """J of a point mass is m [r; 1] [r; 1]^T, whose tensor is Steiner's."""
    r, mass = np.array([0.3, -0.2, 0.5]), 2.0
    I = offset_inertia(mass, r)
    rigid = [mass, *mass * r, *np.diag(I), I[0, 1], I[0, 2], I[1, 2]]
    assert np.allclose(np.tensordot(rigid, BASIS, 1), mass * np.outer([*r, 1], [*r, 1]))
