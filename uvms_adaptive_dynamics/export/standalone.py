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

"""Standalone Python files that need only numpy: the estimate as constants, and Fossen's equations.

Shared by the exports for Fossen's simulator and HoloOcean. The equations repeat `model/vehicle.py`
in matrix form, since a standalone file cannot import it.
"""
from __future__ import annotations

import ast

import numpy as np

from ..model.parameters import INERTIA_PLACES
from .identified import ExportError, Identified
from .vehicle_body import INERTIA, LINEAR_NAMES, MOMENTS, QUADRATIC_NAMES, total_inertia

EQUATIONS = '''

def load(nu, down):
    """C(nu) nu + D(nu) nu + g (6,) [N, N m]: all forces but inertia and thrust.

    nu (6,) velocity in FRD [m/s, rad/s]; down (3,) direction of gravity in FRD.
    """
    v, w = nu[:3], nu[3:]
    a, b = np.split(MASS_MATRIX @ nu, 2)
    coriolis = np.concatenate([np.cross(w, a), np.cross(v, a) + np.cross(w, b)])
    damping = -(LINEAR_DAMPING + QUADRATIC_DAMPING * np.abs(nu)) * nu
    restoring = -np.concatenate([NET_WEIGHT * down, np.cross(RESTORING_MOMENTS, down)])
    return coriolis + damping + restoring


def acceleration(nu, down, wrench):
    """nu_dot (6,) in FRD under a wrench (6,) [N, N m] about the body origin in FRD."""
    return np.linalg.solve(MASS_MATRIX, wrench - load(nu, down))
'''


def constants(identified: Identified, what: str) -> str:
    """The constants at the head of the file; raises ExportError for an unphysical estimate or a
    robot without a vehicle."""
    M = total_inertia(identified, what)
    net = float(np.diff(identified.pick(("B", "W")))[0])
    rows = "".join(f"    {_listed(row)},\n" for row in M)
    return ("import numpy as np\n\n"
            "# Mass and added mass about the body origin [kg, kg m, kg m^2]; FRD.\n"
            f"MASS_MATRIX = np.array([\n{rows}])\n"
            "# X_u ... N_r and X_uu ... N_rr, none positive.\n"
            f"LINEAR_DAMPING = np.array({_listed(identified.pick(LINEAR_NAMES))})\n"
            f"QUADRATIC_DAMPING = np.array({_listed(identified.pick(QUADRATIC_NAMES))})\n"
            "# W - B [N]; x_g W - x_b B, y_g W - y_b B, z_g W - z_b B [N m].\n"
            f"NET_WEIGHT = {net!r}\n"
            f"RESTORING_MOMENTS = np.array({_listed(identified.pick(MOMENTS))})\n")


def _listed(values: np.ndarray) -> str:
    return f"[{', '.join(repr(float(value) + 0.0) for value in values)}]"


def read_constants(text: str, what: str) -> dict[str, float]:
    """The vehicle's parameters by name, without running the file; W is W - B, with B zero."""
    try:
        tree = ast.parse(text)
        found = {line.targets[0].id: np.array(_literal(line.value), float) for line in tree.body
                 if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)}
        M, linear, quadratic = (found[name] for name in ("MASS_MATRIX", "LINEAR_DAMPING",
                                                         "QUADRATIC_DAMPING"))
        moments, net = found["RESTORING_MOMENTS"], float(found["NET_WEIGHT"])
    except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError) as error:
        raise ExportError(f"{what} cannot be read ({type(error).__name__}: {error}); expected the "
                          "unmodified export.") from None
    if (M.shape, linear.shape, quadratic.shape, moments.shape) != ((6, 6), (6,), (6,), (3,)):
        raise ExportError(f"{what} has constants of the wrong shape; expected the unmodified "
                          "export.")
    named = dict(zip(INERTIA, (M[place] for place in INERTIA_PLACES)))
    named |= dict(zip(LINEAR_NAMES, linear)) | dict(zip(QUADRATIC_NAMES, quadratic))
    named |= {"W": net, "B": 0.0} | dict(zip(MOMENTS, moments))
    return {name: float(value) for name, value in named.items()}


def _literal(value: ast.expr) -> object:
    """The number, or the list inside `np.array(...)`."""
    return ast.literal_eval(value.args[0] if isinstance(value, ast.Call) else value)
