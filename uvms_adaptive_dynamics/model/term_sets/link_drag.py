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

"""Drag of the links as cylinders in cross flow, on joints and vehicle (strip theory)
(docs/mathematics.md, "Further terms")."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .declaration import Layout, Parameter, TermInput, TermSet

_YZX = np.array([1, 2, 0])
# Drag coefficient of a circular cylinder in cross flow below the drag crisis (Hoerner,
# Fluid-Dynamic Drag, 1965, chapter 3): prior deviation of an unknown coefficient.
CYLINDER = 1.2
# Gauss-Legendre strips of a link, exact for the cubic moment of a turning link.
STRIP_PLACES, STRIP_WEIGHTS = (
    x / 2 + off for x, off in zip(np.polynomial.legendre.leggauss(3), (0.5, 0.0)))


class LinkDrag(TermSet):
    """One drag coefficient c per link, with force -c rho d / 2 |v_n| v_n ds along the link."""

    name, part, kind = "link_drag", "joints", "damping"
    meaning = "drag of the links"
    expected = True

    def parameters(self, layout: Layout) -> Sequence[Parameter]:
        return [Parameter(f"{joint}.c_drag", "1", CYLINDER, 0.0) for joint in layout.joints]

    def fill(self, Y: np.ndarray, instant: TermInput) -> None:
        on_joints, on_vehicle = instant.drag(instant.sample, instant.nu)
        Y[instant.joint_rows] = on_joints
        if instant.joint_rows.start:
            Y[:6] = on_vehicle


def strip_drag(R: np.ndarray, p: np.ndarray, v: np.ndarray, w: np.ndarray, axes: np.ndarray,
               half_rho_d: np.ndarray) -> np.ndarray:
    """(..., n, 6) forces [N] and moments [N m] about the world's origin on n cylinders with drag
    coefficient one; leading axes, such as many instants, carry over.

    R (..., n, 3, 3), p (..., n, 3): link frames in the world; v, w (..., n, 3): velocity of their
    origin through the water and angular velocity, in the link's axes; axes (n, 3): from the origin
    to the cylinder's end [m], link's axes; half_rho_d (n,): half of density times diameter
    [kg/m^2].
    """
    length = np.maximum(_norm(axes), 1e-9)
    along = axes / length[:, None]
    at = STRIP_PLACES[:, None, None] * axes                             # (strips, n, 3)
    flow = v[..., None, :, :] + _cross(w[..., None, :, :], at)
    flow = flow - np.einsum("...i,...i->...", flow, along)[..., None] * along
    size = (STRIP_WEIGHTS[:, None] * half_rho_d * length) * _norm(flow)
    force = np.einsum("...nij,...snj->...sni", R, -size[..., None] * flow)
    place = p[..., None, :, :] + np.einsum("...nij,snj->...sni", R, at)
    return np.concatenate([force.sum(-3), _cross(place, force).sum(-3)], axis=-1)


# numpy's own functions take several times as long for a few vectors.

def _norm(a: np.ndarray) -> np.ndarray:
    """(...,) lengths of vectors (..., 3)."""
    return np.sqrt(np.einsum("...i,...i->...", a, a))


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(..., 3) cross products of vectors (..., 3)."""
    return (a * b[..., _YZX] - a[..., _YZX] * b)[..., _YZX]
