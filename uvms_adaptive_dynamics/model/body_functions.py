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

"""Functions of a body's motion in which its efforts are linear, and the coefficients of an inertia
in them: M nu_dot + C(nu) nu, Fossen's C(nu) = [[0, -S(a)], [-S(a), -S(b)]] with [a; b] = M nu.
docs/mathematics.md, "Vehicle".
"""
from __future__ import annotations

import numpy as np

from .rotations import skew

# First indices of the functions: nu_dot, nu, |nu| nu, n3 = R_nb^T e3, and all nu_i nu_j.
DOT, LINEAR, SQUARE, DOWN, PRODUCTS, FUNCTIONS = 0, 6, 12, 18, 21, 57


def body_functions(nu: np.ndarray, nu_dot: np.ndarray, n3: np.ndarray) -> np.ndarray:
    """(..., 57) functions of the states nu, nu_dot (..., 6), n3 (..., 3) in the body frame."""
    products = (nu[..., :, None] * nu[..., None, :]).reshape(*nu.shape[:-1], -1)
    return np.concatenate([nu_dot, nu, np.abs(nu) * nu, n3, products], axis=-1)


def inertia_coefficients(i: int, j: int) -> np.ndarray:
    """(6, 57) coefficients of a parameter at M[i, j] in each row."""
    rows, across = np.zeros((6, FUNCTIONS)), -skew(np.eye(3)[i % 3])
    # M nu_dot: the entry contributes nu_dot[j] to row i.
    rows[i, DOT + j] = 1.0
    # C(nu) nu: it makes a (i < 3) or b (i >= 3) equal to nu[j] e_i, and
    # C nu = [-a x w; -a x v - b x w] = [w x a; v x a + w x b], where x x e_i = -S(e_i) x.
    by_v, by_w = (PRODUCTS + 6 * np.arange(start, start + 3) + j for start in (0, 3))
    if i < 3:
        rows[:3, by_w] += across
        rows[3:, by_v] += across
    else:
        rows[3:, by_w] += across
    return rows
