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

"""Python files for Fossen's simulator and HoloOcean, run as their users run them."""
import numpy as np
import pytest
from export_cases import CONFIG, FLIP, close, estimate, motions, wrench_of

from uvms_adaptive_dynamics.export import fossen_simulator, holoocean
from uvms_adaptive_dynamics.export.formats import export_as
from uvms_adaptive_dynamics.export.identified import ExportError
from uvms_adaptive_dynamics.model.rotations import from_rpy, skew, to_quaternion


def run(name, identified):
    """The names defined by running the file."""
    space = {}
    exec(compile(export_as(identified, name).text, name, "exec"), space)
    return space


@pytest.mark.parametrize("seed", range(3))
def test_fossens_loop_gets_the_acceleration_of_the_model(seed):
    """An Euler step with the regressor's wrench for a motion gives that motion's acceleration."""
    identified = estimate(seed)
    vehicle = run("fossen", identified)["IdentifiedVehicle"]()
    for angles, R, nu, nu_dot in motions(seed):
        eta = np.concatenate([[1.0, 2.0, 3.0], angles])
        tau = wrench_of(identified, R, nu, nu_dot)
        after, actual = vehicle.dynamics(eta, nu, vehicle.u_actual, tau, 0.01)
        assert close((after - nu) / 0.01, nu_dot) and close(actual, tau)


def test_the_class_has_what_the_loop_asks_for():
    """The class has the names that mainLoop.py and its plots use; a simulated second stays
    finite."""
    vehicle = run("fossen", estimate(1))["IdentifiedVehicle"](wrench=lambda t: [5 * t] + [0.0] * 5)
    assert vehicle.controlMode == "stepInput" and len(vehicle.controls) == vehicle.dimU == 6
    assert vehicle.nu.shape == vehicle.u_actual.shape == (6,) and vehicle.L > 0
    assert vehicle.name and vehicle.controlDescription
    nu = vehicle.nu
    for step in range(50):
        nu, actual = vehicle.dynamics(np.zeros(6), nu, None, vehicle.stepInput(step * 0.02), 0.02)
    assert np.isfinite(nu).all() and nu[0] > 0 and actual[0] == pytest.approx(4.9)


def test_a_current_carries_the_vehicle():
    """In moving water the motion is that in still water, seen by an observer who moves along."""
    space, dt = run("fossen", estimate(4)), 1e-3
    still = space["IdentifiedVehicle"]()
    carried = space["IdentifiedVehicle"](V_current=0.7, beta_current=35.0)
    water = 0.7 * np.array([np.cos(np.radians(35)), np.sin(np.radians(35)), 0.0])
    for angles, R, nu, _ in motions(4, 5):
        eta, tau = np.concatenate([np.zeros(3), angles]), np.ones(6)
        shifted = nu + np.concatenate([R.T @ water, np.zeros(3)])
        a = (still.dynamics(eta, nu, None, tau, dt)[0] - nu) / dt
        b = (carried.dynamics(eta, shifted, None, tau, dt)[0] - shifted) / dt
        # Acceleration in the world: R (v_dot + w x v).
        assert close(b[3:], a[3:])
        assert close(b[:3] + np.cross(nu[3:], shifted[:3]), a[:3] + np.cross(nu[3:], nu[:3]))


@pytest.mark.parametrize("seed", range(3))
def test_holoocean_gets_accelerations_in_its_world(seed):
    """Accelerations match the numerical derivative of a motion's world velocity."""
    identified, h = estimate(seed), 1e-6
    accelerations = run("holoocean", identified)["accelerations"]
    up = np.diag([1.0, -1.0, -1.0])
    for _, R, nu, nu_dot in motions(seed, 5):
        tau = wrench_of(identified, R, nu, nu_dot)
        Q, speed, change = up @ R @ up, FLIP * nu, FLIP * nu_dot

        def in_world(t, Q=Q, speed=speed, change=change):
            turned = Q @ (np.eye(3) + t * skew(speed[3:]))
            now = speed + t * change
            return np.concatenate([turned @ now[:3], turned @ now[3:]])

        world = in_world(0.0)
        state = np.concatenate([np.zeros(3), world[:3], np.zeros(3), np.zeros(3), world[3:],
                                to_quaternion(Q)])
        expected = (in_world(h) - in_world(-h)) / (2 * h)
        found = accelerations(state, FLIP * tau)
        # tolerance of a central difference: rounding of a function of order one over the step
        assert np.abs(found - expected).max() < 1e-8


def test_both_are_read_back_without_being_run():
    """Everything is read back to the last digit, except W and B, whose difference the files hold.
    """
    identified = estimate(5)
    for form in (fossen_simulator, holoocean):
        found = form.read(form.write(identified).text, CONFIG)
        for name in set(found) - {"W", "B"}:
            assert found[name] == identified.pick([name])[0]
        assert found["W"] == -np.diff(identified.pick(("W", "B")))[0]


@pytest.mark.parametrize("text", ["", "MASS_MATRIX = 3", "import os\nos.abort()", "x = ((",
                                  "MASS_MATRIX = np.array([[1.0]])\nLINEAR_DAMPING = np.array([])\n"
                                  "QUADRATIC_DAMPING = np.array([])\nNET_WEIGHT = 1\n"
                                  "RESTORING_MOMENTS = np.array([0])"])
def test_other_files_are_refused_and_never_run(text):
    with pytest.raises(ExportError):
        holoocean.read(text, CONFIG)


def test_rotations_of_the_file_are_ours():
    rotation = run("fossen", estimate())["rotation"]
    for angles, R, _, _ in motions(6):
        assert close(rotation(*angles), R) and close(R, from_rpy(*angles))
