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

"""Export for HoloOcean's custom dynamics: a function from DynamicsSensor to world accelerations.

HoloOcean's axes are forward-left-up in the body and in the world, both right-handed
(docs/exports.md, "HoloOcean").
"""
from __future__ import annotations

from ..config import Config
from .identified import Draft, Identified
from .standalone import EQUATIONS, constants, read_constants

HOLOOCEAN_EXPORT = "the HoloOcean export"
CALLABLE = '''
# Converts between HoloOcean's axes (forward, left, up) and ours (forward, right, down).
FLIP = np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0])


def accelerations(state, wrench=np.zeros(6)):
    """(6,) linear [m/s^2] and angular [rad/s^2] acceleration in HoloOcean's world.

    state (19,): DynamicsSensor with UseRPY false, velocity at the body origin; wrench (6,) [N, N m]
    of the thrusters about the body origin, forward-left-up.
    """
    x, y, z, w = state[15:19]
    R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                  [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                  [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
    nu = np.concatenate([R.T @ state[3:6], R.T @ state[12:15]])
    nu_dot = FLIP * acceleration(FLIP * nu, -FLIP[:3] * R[2], FLIP * np.asarray(wrench, float))
    # nu_dot is the derivative in rotating axes.
    return np.concatenate([R @ (nu_dot[:3] + np.cross(nu[3:], nu[:3])), R @ nu_dot[3:]])
'''


def write(identified: Identified) -> Draft:
    """A Python file with the function accelerations(state, wrench)."""
    return Draft(constants(identified, HOLOOCEAN_EXPORT) + EQUATIONS + CALLABLE, (
        "Give the agent the control scheme 'custom dynamics' (2 of HoveringAUV and BlueROV2 in "
        "HoloOcean 2) and a DynamicsSensor with UseRPY false; then "
        "env.step(accelerations(state['DynamicsSensor'], wrench)).",
        "The estimate's body origin is assumed to be the origin of HoloOcean's agent, i.e. its "
        "centre of mass."))


def read(text: str, config: Config) -> dict[str, float]:
    """The vehicle's parameters by name, without running the file."""
    return read_constants(text, HOLOOCEAN_EXPORT)
