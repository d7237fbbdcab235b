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

"""The DVL's axes where it moved along two of them only, as on a vehicle that keeps its depth."""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...model.normal import Z999
from ...model.rotations import from_rotation_vector
from .fits import MIN_TILT
from .velocity_map import VelocityMap

# Share of the map that may be neither a rotation nor a mirror image.
MOST_SKEWED = 0.35


class PlanarAxes(NamedTuple):
    """What a map (3, 3) does with the two axes after axis `still`, in cyclic order: rotates them by
    `angle`, or, `mirrored`, reflects them at a line at half the angle; error: standard error of the
    angle [rad]."""

    still: int
    angle: float
    error: float
    mirrored: bool

    def is_beyond(self, angle: float) -> bool:
        """Whether the axes are certainly off the configured ones by more than `angle` [rad]."""
        return self.mirrored or abs(self.angle) - Z999 * self.error > angle

    @property
    def axes(self) -> np.ndarray | None:
        """(3, 3) the signed axes that the angle fits, None for an angle between them. A rotation
        that reflects two axes reverses the third."""
        quarters = round(self.angle / (0.5 * math.pi))
        if abs(self.angle - quarters * 0.5 * math.pi) - Z999 * self.error > MIN_TILT:
            return None
        c, s = (round(f(quarters * 0.5 * math.pi)) for f in (math.cos, math.sin))
        i, j, k = self._places
        found = np.zeros((3, 3))
        found[i, i], found[j, i] = c, s
        found[i, j], found[j, j] = (s, -c) if self.mirrored else (-s, c)
        found[k, k] = -1.0 if self.mirrored else 1.0
        return found

    @property
    def rotation(self) -> np.ndarray:
        """(3, 3) the rotation about axis `still`."""
        return from_rotation_vector(self.angle * np.eye(3)[self.still])

    @property
    def _places(self) -> tuple[int, int, int]:
        return (self.still + 1) % 3, (self.still + 2) % 3, self.still


def planar_axes(fit: VelocityMap, still: int) -> PlanarAxes | None:
    """The axes by a map that is known but for axis `still`; None if it is no clean one."""
    i, j = (still + 1) % 3, (still + 2) % 3
    Q = fit.Q
    # a plane's map is a complex number times z, plus one times the conjugate of z
    turned = complex(Q[i, i] + Q[j, j], Q[j, i] - Q[i, j])
    mirrored = complex(Q[i, i] - Q[j, j], Q[j, i] + Q[i, j])
    is_mirror = abs(mirrored) > abs(turned)
    one, other = (mirrored, turned) if is_mirror else (turned, mirrored)
    if abs(other) > MOST_SKEWED * abs(one):
        return None
    # d angle = Im(conj(one) d one) / |one|^2; entries of Q by columns
    x, y = one.real / abs(one) ** 2, one.imag / abs(one) ** 2
    slope = np.zeros(9)
    slope[3 * i + i], slope[3 * i + j] = -y, x
    slope[3 * j + j], slope[3 * j + i] = (y, x) if is_mirror else (-y, -x)
    error = math.sqrt(float(slope @ fit.covariance[:9, :9] @ slope))
    return PlanarAxes(still, math.atan2(one.imag, one.real), error, is_mirror)
