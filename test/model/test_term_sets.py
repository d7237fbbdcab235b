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

"""Sets of parameters beyond the paper's: columns, constraints, and consumers."""
import json
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from uvms_adaptive_dynamics.config import Config, Robot
from uvms_adaptive_dynamics.config.robot import JOINT_TERMS, VEHICLE_TERMS
from uvms_adaptive_dynamics.control.feedforward import Feedforward
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.export.formats import export_as
from uvms_adaptive_dynamics.export.identified import Identified
from uvms_adaptive_dynamics.model.dynamics import forward_dynamics, inverse_dynamics, rows_of
from uvms_adaptive_dynamics.model.equations_of_motion import EquationsOfMotion, smooth_sign
from uvms_adaptive_dynamics.model.link_geometry import LinkGeometry
from uvms_adaptive_dynamics.model.parameter_file import load_parameters, save_parameters
from uvms_adaptive_dynamics.model.parameter_set import ParameterSet
from uvms_adaptive_dynamics.model.physical_set import PhysicalSet
from uvms_adaptive_dynamics.model.prior import prior_from_config, prior_stddev
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.model.sample import Sample
from uvms_adaptive_dynamics.model.state import State
from uvms_adaptive_dynamics.model.term_sets import TERM_SETS
from uvms_adaptive_dynamics.model.term_sets.declaration import Sizes
from uvms_adaptive_dynamics.model.terms import coriolis, damping, friction, gravity, mass_matrix
from uvms_adaptive_dynamics.model.vehicle import vehicle_regressor

EVERY = VEHICLE_TERMS + JOINT_TERMS
CONFIG = Config().with_values({"robot.terms": EVERY})
ROBOT = RobotModel.from_config(CONFIG)
TABLE = ROBOT.table
PLAIN = RobotModel.from_config(Config())


def parameters(rng):
    """The prior, with further parameters of typical size, inside P."""
    pi = prior_from_config(CONFIG, ROBOT).values.copy()
    places, low, high = TABLE.term_bounds
    pi[places] = np.clip(0.2 * TABLE.scale[places] * rng.normal(size=len(places)), low, high)
    assert PhysicalSet(TABLE, CONFIG.estimation).violation(pi, 0.0) < 0.05    # of the prior's links
    return pi


def moving(rng):
    state = State(from_rpy(*rng.uniform(-0.4, 0.4, 3)), 0.4 * rng.normal(size=6),
                  rng.uniform(1.0, 3.0, 4), 0.4 * rng.normal(size=4))
    return state, 0.5 * rng.normal(size=6), rng.normal(size=4)


def sample(state, nu_dot=None, mu_ddot=None, wrench=None):
    zeros = np.zeros(6)
    return Sample(0.0, state.R_nb, state.nu, zeros if nu_dot is None else nu_dot, state.mu,
                  state.mu_dot, np.zeros(4) if mu_ddot is None else mu_ddot,
                  zeros if wrench is None else wrench, np.zeros(4), np.ones(10, bool))


# --- the declaration ------------------------------------------------------------------------------

def test_settings_offer_the_sets_that_are_declared():
    """All but the offsets, which have their own setting; each has a description."""
    offsets = {"vehicle_offsets", "joint_offsets"}
    assert set(EVERY) == set(TERM_SETS) - offsets and set(TABLE.term_slices) == set(EVERY)
    assert {name for name in EVERY if TERM_SETS[name].part == "vehicle"} == set(VEHICLE_TERMS)
    assert all(one.meaning for one in TERM_SETS.values())


@pytest.mark.parametrize("settings, names", [
    ({}, ("off_axis_inertia", "off_axis_damping", "link_drag")),
    ({"robot.joints": []}, ("off_axis_inertia", "off_axis_damping")),
    ({"robot.terms": ["link_drag", "rotor"]}, ("off_axis_inertia", "off_axis_damping")),
    ({"robot.vehicle": False}, ())])
def test_what_a_robot_surely_has_and_its_model_lacks(settings, names):
    """In water; an arm on a fixed base may stand in air."""
    assert RobotModel.from_config(Config().with_values(settings)).table.lacking == names


def test_without_sets_rows_are_those_of_the_plain_robot():
    """Bit-exact: the columns that both have are equal; sets only add columns."""
    rng = np.random.default_rng(0)
    one = sample(*moving(rng))
    plain, further = PLAIN.raw_rows(one), ROBOT.raw_rows(one)
    shared = TABLE.places(PLAIN.table.names)
    assert PLAIN.table.size == 75 and np.array_equal(plain.Y, further.Y[:, shared])
    assert Config().robot.terms == () and not PLAIN.table.term_sets


def test_prior_is_zero_and_lies_in_P_with_deviations_of_its_own():
    prior = prior_from_config(CONFIG, ROBOT).values
    further = TABLE.term_bounds[0]
    stddev = prior_stddev(prior, ROBOT, 1.0)
    assert not prior[further].any() and (stddev[further] > 0).all()
    assert stddev[TABLE.index["axis_e.c_drag"]] == pytest.approx(1.2)
    assert stddev[TABLE.index["axis_e.fs_fwd"]] == pytest.approx(1.5 / np.sqrt(12))


@pytest.mark.parametrize("values, words", [
    ({"robot.terms": ["drag"]}, "link_drag"),
    ({"robot.terms": ["rotor", "rotor"]}, "every set once"),
    ({"robot.terms": ["current"], "robot.vehicle": False}, "robot.vehicle to be true"),
    ({"robot.terms": ["dead_band"], "robot.joints": []}, "robot.joints"),
    ({"robot.link_diameters": [0.05]}, "4 numbers")])
def test_what_the_robot_cannot_have_is_refused(values, words):
    with pytest.raises(ConfigError, match=words):
        Config().with_values(values)


def test_old_settings_ask_for_the_same_sets():
    """estimate_rotor_inertia and estimate_offsets, alone or beside robot.terms."""
    assert Robot(estimate_rotor_inertia=True).all_terms == ("rotor",)
    assert Robot(estimate_rotor_inertia=True, terms=("rotor",)).all_terms == ("rotor",)
    assert Robot(vehicle=False).all_terms == ("joint_offsets",)
    assert set(Robot(estimate_offsets="all").all_terms) == {"vehicle_offsets", "joint_offsets"}


def test_the_rotor_of_a_prismatic_joint_is_a_mass():
    """Its unit is kg, so its size is that of the links' masses, whatever their length."""
    layout = SimpleNamespace(joints=("lift", "turn"), prismatic=(True, False),
                             reference_mass=(10.0, 5.0), reference_length=(.1, .1))
    sizes = Sizes(np.array([20.0, 10.0]), np.full(2, .2), np.zeros(2), np.zeros(2))
    lift, turn = TERM_SETS["rotor"].parameters(layout)
    assert (lift.unit, turn.unit) == ("kg", "kg m^2")
    assert (lift.scale, turn.scale) == pytest.approx((10.0, .05))
    np.testing.assert_allclose(TERM_SETS["rotor"].stddev(layout, sizes), [20.0, .4])


# --- columns --------------------------------------------------------------------------------------

def test_drag_of_a_still_link_is_that_of_the_textbook():
    """Half rho d L v^2 across a cylinder and zero along it, acting at its middle."""
    robot = Robot(terms=("link_drag",), link_diameters=(0.05,) * 4, water_density=1025.0)
    geometry = LinkGeometry(ROBOT.arm, robot)
    mu = np.array([np.pi, 1.2, 2.0, 3.0])
    for velocity in np.diag([0.3, -0.5, 0.7]):
        nu = np.concatenate([velocity, np.zeros(3)])
        one = sample(State(np.eye(3), nu, mu, np.zeros(4)))
        _, wrench = geometry.drag(one, nu)
        motion = ROBOT.arm.link_motion(mu, np.zeros(4), np.eye(3), nu)
        for j in range(4):
            axis = motion.R[j] @ ROBOT.arm.link_axes[j]
            length = np.linalg.norm(axis)
            across = velocity - axis * (axis @ velocity) / length ** 2
            force = 0.5 * 1025.0 * 0.05 * length * np.linalg.norm(across) * across
            expected = np.concatenate([force, np.cross(motion.p[j] + axis / 2, force)])
            np.testing.assert_allclose(wrench[:, j], expected, atol=1e-12)


def test_drag_of_the_links_takes_the_power_that_strips_take():
    """v^T Y_drag equals the sum of force times speed over many thin strips, with positions and
    speeds from Pinocchio's frames; three strips per link are exact to 2 %."""
    rng = np.random.default_rng(3)
    geometry, arm = LinkGeometry(ROBOT.arm, CONFIG.robot), ROBOT.arm
    for _ in range(5):
        state, _, _ = moving(rng)
        joints, vehicle = geometry.drag(sample(state), state.nu)
        power = state.nu @ vehicle + state.mu_dot @ joints
        q = pin.neutral(arm.model)
        q[3:7] = pin.Quaternion(state.R_nb).coeffs()
        v = np.zeros(arm.model.nv)
        q[7:], v[:6], v[6:] = state.mu, state.nu, state.mu_dot
        data = arm.model.createData()
        pin.forwardKinematics(arm.model, data, q, v)
        for j, (axis, d) in enumerate(zip(arm.link_axes, geometry.diameters)):
            along = axis / np.linalg.norm(axis)
            taken = 0.0
            for s in (np.arange(200) + 0.5) / 200:
                speed = data.v[j + 2].linear + np.cross(data.v[j + 2].angular, s * axis)
                speed -= along * (along @ speed)
                taken += 0.5 * 1000 * d * np.linalg.norm(axis) / 200 * np.linalg.norm(speed) ** 3
            assert power[j] == pytest.approx(taken, rel=0.02)


def test_off_axis_inertia_is_a_symmetric_part_of_M():
    """The columns equal M nu_dot + C(nu) nu, with Fossen's C written with cross products; so they
    take no power at constant velocity. `mass_matrix` has the entries."""
    rng = np.random.default_rng(4)
    (state, nu_dot, mu_ddot), pi = moving(rng), parameters(rng)
    M = np.zeros((6, 6))
    for name, i, j in (("mxg_Z_dq", 2, 4), ("mxg_Y_dr", 1, 5), ("Ixz_K_dr", 3, 5)):
        M[i, j] = M[j, i] = pi[TABLE.index[name]]
    place, nu = TABLE.term_slices["off_axis_inertia"], state.nu
    a, b = (M @ nu)[:3], (M @ nu)[3:]
    C_nu = np.concatenate([np.cross(nu[3:], a), np.cross(nu[:3], a) + np.cross(nu[3:], b)])
    got = rows_of(ROBOT, state, np.concatenate([nu_dot, mu_ddot])).Y[:, place] @ pi[place]
    np.testing.assert_allclose(got[:6], M @ nu_dot + C_nu, atol=1e-12)
    assert nu @ C_nu == pytest.approx(0.0, abs=1e-12) and not got[6:].any()
    without = pi.copy()
    without[place] = 0.0
    np.testing.assert_allclose((mass_matrix(ROBOT, state, pi)
                                - mass_matrix(ROBOT, state, without))[:6, :6], M, atol=1e-12)
    np.testing.assert_allclose(TABLE.vehicle_inertia(pi) - TABLE.vehicle_inertia(without), M)
    np.testing.assert_array_equal(TABLE.vehicle_inertia(pi, further=False),
                                  TABLE.vehicle_inertia(without))


def test_in_P_the_whole_of_M_is_positive_definite():
    """Also where the paper's blocks are: each entry across the axes has its limit between."""
    pi, physical = prior_from_config(CONFIG, ROBOT).values.copy(), PhysicalSet(TABLE,
                                                                               CONFIG.estimation)
    for name, (i, j) in {"mxg_Z_dq": (2, 4), "mxg_Y_dr": (1, 5), "Ixz_K_dr": (3, 5)}.items():
        for share in (0.9, 1.1):
            across = pi.copy()
            M = TABLE.vehicle_inertia(pi)
            # the other entries are small next to these
            across[TABLE.index[name]] = share * np.sqrt(M[i, i] * M[j, j])
            lowest = np.linalg.eigvalsh(TABLE.vehicle_inertia(across))[0]
            assert physical.min_eig_M(across) == pytest.approx(lowest)
            assert (lowest > 0) == (share < 1)
            outside = physical.violation(across) - physical.violation(pi)
            assert (outside > 1e-3) == (share > 1)


def test_off_axis_damping_is_a_symmetric_matrix_and_moments():
    """The columns equal -D nu and the moment of a force at a lever arm, written with matrices."""
    rng = np.random.default_rng(1)
    state, pi = moving(rng)[0], parameters(rng)
    D, Q = np.zeros((6, 6)), np.zeros((6, 6))
    for name, i, j in (("X_w", 0, 2), ("X_q", 0, 4), ("Z_q", 2, 4), ("Y_p", 1, 3), ("Y_r", 1, 5),
                       ("K_r", 3, 5)):
        D[i, j] = D[j, i] = pi[TABLE.index[name]]
    for name, i, j in (("M_uu", 4, 0), ("K_vv", 3, 1), ("N_vv", 5, 1), ("M_ww", 4, 2)):
        Q[i, j] = pi[TABLE.index[name]]
    place = TABLE.term_slices["off_axis_damping"]
    got = ROBOT.raw_rows(sample(state)).Y[:, place] @ pi[place]
    np.testing.assert_allclose(
        got[:6], -D @ state.nu - Q @ (np.abs(state.nu) * state.nu), atol=1e-12)
    assert not got[6:].any()


def test_a_current_is_linearized_about_what_is_believed():
    """At the estimated current the efforts are those of the motion through the water, inertia
    included, and the columns are their derivatives; without an estimate the columns are zero."""
    rng = np.random.default_rng(2)
    state, pi = moving(rng)[0], parameters(rng)
    place, h, own = TABLE.term_slices["current"], 1e-6, TABLE.paper_slice
    believed = pi[place] = 0.4, -0.3
    got = ROBOT.raw_rows(sample(state), pi)
    here, nu_dot = sample(state), sample(state).nu_dot

    def efforts(current):
        """Efforts of the velocity through the water and its derivative, by differences."""
        through = [np.r_[state.nu[:3] - R.T @ np.r_[current, 0.0], state.nu[3:]]
                   for R in (state.R_nb, state.R_nb @ pin.exp3(h * state.nu[3:]))]
        return vehicle_regressor(through[0], nu_dot + (through[1] - through[0]) / h,
                                 state.R_nb) @ pi[own]

    without = ROBOT.raw_rows(here)
    arm = without.Y[:6, TABLE.links_slice] @ pi[TABLE.links_slice]
    further = np.r_[pi[:own.stop], np.zeros(TABLE.size - own.stop)]
    further[place] = believed
    np.testing.assert_allclose(got.Y[:6] @ further + got.tau_known[:6] - without.tau_known[:6],
                               efforts(believed), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(got.Y[:6, TABLE.links_slice] @ pi[TABLE.links_slice], arm)
    for k in range(2):
        step = 1e-4 * np.eye(2)[k]
        np.testing.assert_allclose(got.Y[:6, place][:, k], (efforts(believed + step) - efforts(
            believed - step)) / 2e-4, rtol=1e-3, atol=1e-3)
    assert not without.Y[:, place].any()


def test_friction_by_direction_and_near_rest():
    """Each joint's effort follows the formula, forward and backward, slow and fast."""
    value = {"fv": 1.0, "fs": 0.2, "fv_fwd": 0.3, "fv_bwd": 0.1, "fs_fwd": 0.05, "fs_bwd": 0.07,
             "f_rest": 0.04}
    pi = np.zeros(TABLE.size)
    for name, number in value.items():
        pi[TABLE.places(f"{joint}.{name}" for joint in TABLE.joints)] = number
    for speed in (0.03, 0.4, -0.03, -0.4):
        state = State(np.eye(3), np.zeros(6), np.full(4, 2.0), np.full(4, speed))
        way = "fwd" if speed > 0 else "bwd"
        expected = (value["fv"] + value[f"fv_{way}"]) * speed + np.sign(speed) * (
            value["fs"] + value[f"fs_{way}"] + value["f_rest"] * np.exp(-(speed / 0.05) ** 2))
        np.testing.assert_allclose(friction(ROBOT, state, pi)[6:], expected, atol=1e-12)


# --- constraints ----------------------------------------------------------------------------------

def test_inside_P_damping_and_friction_take_energy():
    """Off-axis linear damping, link drag and friction in P dissipate energy in any motion."""
    rng = np.random.default_rng(5)
    physical = PhysicalSet(TABLE, CONFIG.estimation)
    inside, outside, base = 0, 0, prior_from_config(CONFIG, ROBOT).values
    for _ in range(200):
        pi = base.copy()
        places, low, high = TABLE.term_bounds
        size = 10 ** rng.uniform(-1.5, 0.6) * TABLE.scale[places]
        pi[places] = np.clip(size * rng.normal(size=len(places)), low, high)
        pi[TABLE.places(["M_uu", "K_vv", "N_vv", "M_ww"])] = 0.0
        pi[TABLE.term_slices["current"]] = 0.0
        further = [lmi for lmi in physical.inequalities
                   if lmi.label.startswith(("linear damping", "friction"))]
        least = [np.linalg.eigvalsh(np.tensordot(pi[lmi.places], lmi.basis, 1))[0]
                 for lmi in further]
        assert physical.violation(pi) >= 1e-4 - min(least) - 1e-12
        state = moving(rng)[0]
        power = (damping(ROBOT, state, pi)[:6] @ state.nu
                 + damping(ROBOT, state, pi)[6:] @ state.mu_dot
                 + friction(ROBOT, state, pi)[6:] @ state.mu_dot)
        if min(least) >= 0:
            inside += 1
            assert power > 0
        outside += min(least) < 0
    assert inside > 5 and outside > 5


# --- consumers ------------------------------------------------------------------------------------

def test_equation_of_motion_is_the_sum_of_its_terms():
    """M a + coriolis + damping + gravity + friction is the inverse dynamics, as without sets."""
    rng = np.random.default_rng(7)
    state, nu_dot, mu_ddot = moving(rng)
    pi = parameters(rng)
    pi[TABLE.term_slices["thrust_by_direction"]] = 0.0
    a = np.concatenate([nu_dot, mu_ddot])
    total = mass_matrix(ROBOT, state, pi) @ a + sum(
        term(ROBOT, state, pi) for term in (coriolis, damping, gravity, friction))
    np.testing.assert_allclose(total, inverse_dynamics(ROBOT, state, nu_dot, mu_ddot, pi).tau,
                               atol=1e-9)


def test_forward_dynamics_undoes_inverse_dynamics():
    """With every set, thrust by direction included: the commanded wrench gives the motion."""
    rng = np.random.default_rng(8)
    for _ in range(5):
        (state, nu_dot, mu_ddot), pi = moving(rng), parameters(rng)
        tau = inverse_dynamics(ROBOT, state, nu_dot, mu_ddot, pi).tau
        found = forward_dynamics(ROBOT, state, tau, pi)
        np.testing.assert_allclose(np.concatenate(found[:2]), np.concatenate([nu_dot, mu_ddot]),
                                   atol=1e-8)


def test_measured_rows_hold_with_the_thrust_of_each_direction():
    """With the true parameters Y pi equals the measured wrench, whatever its sign."""
    rng = np.random.default_rng(9)
    (state, nu_dot, mu_ddot), pi = moving(rng), parameters(rng)
    tau = inverse_dynamics(ROBOT, state, nu_dot, mu_ddot, pi).tau
    raw = ROBOT.raw_rows(sample(state, nu_dot, mu_ddot, tau[:6]), pi)
    np.testing.assert_allclose(raw.Y @ pi + raw.tau_known, tau, atol=1e-9)


def test_feedforward_commands_what_the_motion_needs():
    """The first call already gives the full inverse dynamics with smooth friction and thrust."""
    rng = np.random.default_rng(10)
    (state, nu_dot, mu_ddot), pi = moving(rng), parameters(rng)
    nu_dot, mu_ddot = 0.1 * nu_dot, 0.1 * mu_ddot
    feedforward = Feedforward(ROBOT, ParameterSet(TABLE.names, pi), CONFIG)
    got = feedforward.efforts(0.0, state, nu_dot, mu_ddot).tau
    raw = rows_of(ROBOT, state, np.concatenate([nu_dot, mu_ddot]), pi, smooth_sign(state.mu_dot))
    expected = ROBOT.measured_wrench(raw.Y @ pi + raw.tau_known, pi)
    inside = np.abs(expected) < feedforward.limits
    assert inside[:6].all()
    np.testing.assert_allclose(got[inside], expected[inside], atol=1e-9)


def test_simulation_in_time_feels_the_drag_of_the_links():
    """In the digital twin's step, links with drag slow a moving vehicle more than links without."""
    pi = prior_from_config(CONFIG, ROBOT).values
    dragged = pi.copy()
    dragged[TABLE.term_slices["link_drag"]] = 1.0
    state = State(np.eye(3), np.array([0.5, 0, 0, 0, 0, 0.0]), np.full(4, 2.0), np.zeros(4))
    after = [EquationsOfMotion(ROBOT, one).step(state, np.zeros(10), np.zeros(10), 0.02)[0]
             for one in (pi, dragged)]
    assert after[1].nu[0] < after[0].nu[0] < 0.5


def test_parameter_file_keeps_them_and_names_what_is_missing(tmp_path):
    """Saved and loaded by name; a file of the plain robot is refused with a message."""
    pi = parameters(np.random.default_rng(11))
    save_parameters(tmp_path / "a.yaml", ParameterSet(TABLE.names, pi))
    loaded = load_parameters(tmp_path / "a.yaml").for_table(TABLE)
    np.testing.assert_array_equal(loaded.values, pi)


def test_exports_say_what_they_do_not_hold():
    """No format can represent link drag: the file's comment names it."""
    pi = prior_from_config(CONFIG, ROBOT).values.copy()
    pi[TABLE.index["axis_e.c_drag"]], pi[TABLE.index["K_vv"]] = 0.7, 0.3
    identified = Identified(CONFIG, ROBOT, ParameterSet(TABLE.names, pi))
    text = " ".join(export_as(identified, "fossen").notes)
    assert "axis_e.c_drag = 0.7" in text and "K_vv = 0.3" in text
    json.dumps(text)
