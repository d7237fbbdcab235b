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

"""The terms of the equations of motion: their sum, their physics, and the golden evaluations."""
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import uvms_adaptive_dynamics as library
from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.dynamics import State, inverse_dynamics
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.model.terms import coriolis, damping, friction, gravity, mass_matrix

OFFSETS = {"robot.estimate_offsets": "all", "robot.estimate_rotor_inertia": True,
           "robot.link_volumes": [1e-4] * 4, "robot.link_buoyancy_centres": [.01] * 12}
CONFIGS = {"whole": {}, "offsets, rotors, buoyancy": OFFSETS, "vehicle": {"robot.joints": []},
           "fixed base": {"robot.vehicle": False}}
ROBOTS = {name: RobotModel.from_config(Config().with_values(values))
          for name, values in CONFIGS.items()}
# the golden files' order of parameters (golden/README.md)
OURS_FROM_GOLDEN = np.r_[0:10, 15:27, 10:15]


def admissible(robot, rng):
    """Parameters in P: the prior's blocks, each times a factor, offsets at random."""
    values = prior_from_config(Config(), robot).values.copy()
    for places in robot.table.blocks.values():
        values[places] *= rng.uniform(.5, 2)
    extra = [i for i, name in enumerate(robot.table.names) if "offset" in name or ".Ir" in name]
    values[extra] = rng.uniform(0, 1, len(extra))
    return values


def moving(robot, rng):
    """(state, nu_dot, mu_ddot)."""
    n, still = robot.table.n, 1.0 if robot.vehicle else 0.0
    state = State(from_rpy(*rng.uniform(-1, 1, 3)), still * rng.normal(size=6),
                  rng.uniform(-3, 3, n), rng.normal(size=n))
    return state, still * rng.normal(size=6), rng.normal(size=n)


@pytest.mark.parametrize("name", ROBOTS)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_terms_add_up_to_inverse_dynamics(name, seed):
    """M a + coriolis + damping + gravity + friction = tau, to a relative 1e-9."""
    robot, rng = ROBOTS[name], np.random.default_rng(seed)
    pi = admissible(robot, rng)
    state, nu_dot, mu_ddot = moving(robot, rng)
    a = np.concatenate([nu_dot, mu_ddot]) if robot.vehicle else mu_ddot
    total = mass_matrix(robot, state, pi) @ a + sum(
        term(robot, state, pi) for term in (coriolis, damping, gravity, friction))
    tau = inverse_dynamics(robot, state, nu_dot, mu_ddot, pi).tau
    np.testing.assert_allclose(total, tau, atol=1e-9 * max(1.0, np.abs(tau).max()))


@pytest.mark.parametrize("name", ROBOTS)
@given(seed=st.integers(0, 2**32 - 1))
def test_mass_matrix_is_symmetric_and_positive_definite(name, seed):
    """For any parameters in P and any posture."""
    robot, rng = ROBOTS[name], np.random.default_rng(seed)
    M = mass_matrix(robot, moving(robot, rng)[0], admissible(robot, rng))
    np.testing.assert_allclose(M, M.T, atol=1e-9 * np.abs(M).max())
    assert np.linalg.eigvalsh(M)[0] > 0


@pytest.mark.parametrize("name", ROBOTS)
@given(seed=st.integers(0, 2**32 - 1))
def test_coriolis_efforts_change_no_energy_but_by_the_inertia(name, seed):
    """v^T coriolis = v^T Mdot v / 2, that is, Mdot - 2 C is skew; Mdot by finite differences."""
    robot, rng = ROBOTS[name], np.random.default_rng(seed)
    pi, (state, _, _) = admissible(robot, rng), moving(robot, rng)
    v = np.concatenate([state.nu, state.mu_dot]) if robot.vehicle else state.mu_dot
    h = 1e-5
    ahead, behind = (mass_matrix(robot, replace(state, mu=state.mu + s * h * state.mu_dot), pi)
                     for s in (1, -1))
    power = 0.5 * v @ ((ahead - behind) / (2 * h)) @ v
    assert v @ coriolis(robot, state, pi) == pytest.approx(
        power, abs=1e-6 * max(1.0, np.abs(v).max() ** 3 * np.abs(ahead).max()))


@given(seed=st.integers(0, 2**32 - 1))
def test_losses_take_energy_and_know_their_rows(seed):
    """Damping acts on the vehicle's rows, friction on the joints', both against the velocity."""
    robot, rng = ROBOTS["whole"], np.random.default_rng(seed)
    pi, (state, _, _) = admissible(robot, rng), moving(robot, rng)
    water, joints = damping(robot, state, pi), friction(robot, state, pi)
    assert not water[6:].any() and not joints[:6].any()
    assert (water[:6] * state.nu >= 0).all() and (joints[6:] * state.mu_dot >= 0).all()
    assert np.abs(water).max() > 0 and np.abs(joints).max() > 0


def test_every_term_is_the_golden_files(shared):
    """M, C(nu) nu, D(nu) nu and g of the vehicle on 200 samples, to 1e-9."""
    robot = ROBOTS["vehicle"]
    samples = json.loads((shared / "golden" / "vehicle_golden.json").read_text())["samples"]
    assert len(samples) == 200
    for sample in samples:
        pi, nu = np.array(sample["pi_v"])[OURS_FROM_GOLDEN], np.array(sample["nu"])
        state = State(from_rpy(*sample["eta"][3:]), nu, np.zeros(0), np.zeros(0))
        for got, expected in ((mass_matrix(robot, state, pi), sample["M_v"]),
                              (coriolis(robot, state, pi), np.array(sample["C_v"]) @ nu),
                              (damping(robot, state, pi), np.array(sample["D_v"]) @ nu),
                              (gravity(robot, state, pi), np.ravel(sample["g_v"]))):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_the_library_has_them():
    """The package exports them under the names of ROS 2's inverse dynamics solvers."""
    assert library.coriolis is coriolis and library.State is State
    assert {"mass_matrix", "gravity", "friction", "damping", "Feedforward"} <= set(library.__all__)
