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

"""Export as a vehicle class for Fossen's PythonVehicleSimulator; NED and FRD, all 27 parameters.

Its main loop calls `stepInput(t)` and `dynamics(eta, nu, u_actual, u_control, sampleTime)`
(docs/exports.md, "Fossen's simulator").
"""
from __future__ import annotations

from ..config import Config
from .identified import Draft, Identified
from .standalone import EQUATIONS, constants, read_constants

FOSSEN_EXPORT = "the export for Fossen's simulator"
CLASS = '''

class IdentifiedVehicle:
    """The identified vehicle, driven by a wrench about its body origin (thrusters not modelled).

    wrench: (6,) [N, N m] in FRD, or a function of time [s] that returns it; V_current [m/s] and
    beta_current [deg]: speed of the water over ground, and the direction it flows to.
    """

    def __init__(self, wrench=(0.0,) * 6, V_current=0.0, beta_current=0.0):
        self.name = "Identified vehicle"
        self.L = 1.0    # m, for print and plot only; not estimated
        self.controlMode = "stepInput"
        self.controlDescription = "Wrench about the body origin"
        self.controls = ["X (N)", "Y (N)", "Z (N)", "K (Nm)", "M (Nm)", "N (Nm)"]
        self.dimU = len(self.controls)
        self.nu = np.zeros(6)
        self.u_actual = np.zeros(6)
        self.wrench = wrench
        self.V_c, self.beta_c = V_current, np.radians(beta_current)

    def dynamics(self, eta, nu, u_actual, u_control, sampleTime):
        """One Euler step: (nu, u_actual) after sampleTime [s]."""
        R = rotation(*eta[3:6])
        current = R.T @ (self.V_c * np.array([np.cos(self.beta_c), np.sin(self.beta_c), 0.0]))
        through_water = nu - np.concatenate([current, np.zeros(3)])
        nu_dot = acceleration(through_water, R[2], np.asarray(u_control, float))
        nu_dot[:3] += np.cross(current, nu[3:])   # the current rotates in body axes
        return nu + sampleTime * nu_dot, np.array(u_control, float)

    def stepInput(self, t):
        """The wrench (6,) [N, N m] at time t [s]."""
        return np.array(self.wrench(t) if callable(self.wrench) else self.wrench, float)


def rotation(phi, theta, psi):
    """Rotation FRD to NED (3, 3) from zyx Euler angles [rad]."""
    cf, sf, ct, st, cp, sp = (f(a) for a in (phi, theta, psi) for f in (np.cos, np.sin))
    return np.array([[cp * ct, cp * st * sf - sp * cf, cp * st * cf + sp * sf],
                     [sp * ct, sp * st * sf + cp * cf, sp * st * cf - cp * sf],
                     [-st, ct * sf, ct * cf]])
'''


def write(identified: Identified) -> Draft:
    """A Python file with the class IdentifiedVehicle."""
    return Draft(constants(identified, FOSSEN_EXPORT) + EQUATIONS + CLASS, (
        "Put this file into python_vehicle_simulator/vehicles/ and use "
        "IdentifiedVehicle(wrench=...) in main.py. Axes: FRD, NED.",
        "The control input is the wrench, without thrusters and their lag."))


def read(text: str, config: Config) -> dict[str, float]:
    """The vehicle's parameters by name, without running the file."""
    return read_constants(text, FOSSEN_EXPORT)
