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

"""Arm regressors against the golden evaluations, RNEA, finite differences of energy, and on random
robots."""
import ctypes
import json

import numpy as np
import pinocchio as pin
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import RobotError
from uvms_adaptive_dynamics.model.manipulator import OURS_FROM_PINOCCHIO, ManipulatorModel, Mount
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import (
    FRD_FROM_FLU,
    from_rotation_vector,
    from_rpy,
    to_quaternion,
)
from uvms_adaptive_dynamics.model.sample import Sample


def chain_urdf(joints):
    """URDF text of a serial chain; joints: (name, type, axis, xyz, rpy)."""
    links = "".join(f'<link name="l{k}"/>' for k in range(len(joints) + 1))
    body = ""
    for k, (name, kind, axis, xyz, rpy) in enumerate(joints):
        unlimited = kind in ("continuous", "fixed")
        limit = '' if unlimited else '<limit lower="-3" upper="3" effort="9" velocity="9"/>'
        body += (
            f'<joint name="{name}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>'
            f'<origin xyz="{" ".join(map(repr, map(float, xyz)))}" '
            f'rpy="{" ".join(map(repr, map(float, rpy)))}"/>'
            f'<axis xyz="{" ".join(map(str, axis))}"/>{limit}</joint>')
    return f'<robot name="chain">{links}{body}</robot>'


def position_of(joint, angle):
    """Pinocchio's position of a joint at `angle`: cosine and sine for a continuous joint."""
    return [np.cos(angle), np.sin(angle)] if joint.nq == 2 else [angle]


GOLDEN_CHAIN = chain_urdf([  # the golden file's truncated angles (golden/README.md)
    ("axis_e", "revolute", (0, 0, 1), (0, 0, .014), (0, 0, 0)),
    ("axis_d", "revolute", (0, 1, 0), (-.02, 0, .033), (0, 0, 0)),
    ("axis_c", "revolute", (0, 1, 0), (-.04, 0, -.1453), (0, 0, 3.14159)),
    ("axis_b", "revolute", (0, 0, -1), (.02, 0, .033), (0, 0, 2.09439))])
JOINTS = ("axis_e", "axis_d", "axis_c", "axis_b")


def random_robot(rng, n):
    kinds = rng.choice(["revolute", "prismatic", "continuous"], size=n, p=[.6, .25, .15])
    axes = np.eye(3, dtype=int)[rng.integers(3, size=n)] * rng.choice([-1, 1], size=n)[:, None]
    joints = [(f"j{k}", kinds[k], tuple(axes[k]), rng.normal(size=3) * .3, rng.uniform(-2, 2, 3))
              for k in range(n)]
    names = tuple(j[0] for j in joints)
    mount = Mount(tuple(rng.normal(size=3) * .2), tuple(rng.uniform(-2, 2, 3)))
    return ManipulatorModel.from_urdf(chain_urdf(joints), names, mount), kinds


def random_links(rng, n):
    """Physically consistent rigid parameters (n, 10) in the table's order."""
    links = []
    for _ in range(n):
        A = rng.normal(size=(4, 6))
        J = A @ A.T * .05
        inertia = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
        links.append([J[3, 3], *J[:3, 3], *inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]])
    return np.array(links)


def random_motion(rng, n):
    return (rng.uniform(-2, 2, n), rng.normal(size=n), rng.normal(size=n),
            from_rpy(*rng.uniform(-1.2, 1.2, 3)), rng.normal(size=6), rng.normal(size=6))


def with_friction(links, friction):
    return np.hstack([links, friction]).ravel()


@pytest.fixture(scope="module")
def golden(shared):
    return json.loads((shared / "golden" / "arm_golden.json").read_text())["samples"]


def test_regressor_equals_every_golden_evaluation(golden):
    """Y_m and Y_m pi_m agree to 1e-8, the base wrench to 1e-6, on all 200 samples with a tilted
    static base."""
    assert len(golden) == 200
    for sample in golden:
        pose = sample["base_pose"]
        arm = ManipulatorModel.from_urdf(GOLDEN_CHAIN, JOINTS,
                                         Mount(tuple(pose[:3]), tuple(pose[3:])),
                                         sample["vec_g"][2])
        # The world is north-west-up with the vehicle in FLU; the same rotation about x leads to NED
        # and FRD.
        R_nb = FRD_FROM_FLU @ from_rpy(*sample["world_pose"][3:]) @ FRD_FROM_FLU
        np.testing.assert_allclose(R_nb, from_rpy(*sample["eta_ned_rpy"]), atol=1e-12)
        Y, Y_base = arm.regressors(np.array(sample["q"]), np.array(sample["qd"]),
                                   np.array(sample["qdd"]), R_nb, np.zeros(6), np.zeros(6))
        golden_Y, pi = np.array(sample["Y_m"]), np.array(sample["pi_m"])
        assert np.max(np.abs(Y - golden_Y)) / np.max(np.abs(golden_Y)) < 1e-8
        tau = np.array(sample["tau"])
        assert np.max(np.abs(Y @ pi - tau)) / np.max(np.abs(tau)) < 1e-8
        wrench = Y_base @ pi
        in_world_up = np.concatenate(
            [FRD_FROM_FLU @ R_nb @ wrench[:3], FRD_FROM_FLU @ R_nb @ wrench[3:]])
        oracle = np.array(sample["base_wrench_on_arm_independent"])
        assert np.max(np.abs(in_world_up - oracle)) / np.max(np.abs(oracle)) < 1e-6


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_regressor_equals_recursive_newton_euler_on_random_robots(n):
    """Y_m pi and Y_vm pi equal Pinocchio's RNEA with those inertias, plus friction, for any joints
    and base motion."""
    rng = np.random.default_rng(n)
    for _ in range(10):
        arm, _ = random_robot(rng, n)
        links, friction = random_links(rng, n), rng.uniform(0, 1, (n, 2))
        mu, mu_dot, mu_ddot, R_nb, nu, nu_dot = random_motion(rng, n)
        model = arm.model.copy()
        model.inertias[1] = pin.Inertia.Zero()
        q, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        q[3:7] = pin.Quaternion(R_nb).coeffs()
        v[:6], a[:6] = nu, nu_dot
        for j, name in enumerate(arm.joints):
            joint = model.joints[model.getJointId(name)]
            dynamic = links[j][np.argsort(OURS_FROM_PINOCCHIO)]
            model.inertias[joint.id] = pin.Inertia.FromDynamicParameters(dynamic)
            q[joint.idx_q:joint.idx_q + joint.nq] = position_of(joint, mu[j])
            v[joint.idx_v], a[joint.idx_v] = mu_dot[j], mu_ddot[j]
        tau = pin.rnea(model, model.createData(), q, v, a)
        Y, Y_base = arm.regressors(mu, mu_dot, mu_ddot, R_nb, nu, nu_dot)
        pi = with_friction(links, friction)
        order = [model.joints[model.getJointId(name)].idx_v for name in arm.joints]
        scale = np.max(np.abs(tau))
        expected = tau[order] + friction[:, 0] * mu_dot + friction[:, 1] * np.sign(mu_dot)
        np.testing.assert_allclose(Y @ pi, expected, atol=1e-10 * scale)
        np.testing.assert_allclose(Y_base @ pi, tau[:6], atol=1e-10 * scale)


def test_regressor_is_block_upper_triangular():
    """The torque of a joint does not depend on links nearer to the base (paper, Regressor
    Structure)."""
    rng = np.random.default_rng(5)
    arm, _ = random_robot(rng, 5)
    Y = arm.regressor(*random_motion(rng, 5))
    for i in range(5):
        assert np.all(Y[i, :12 * i] == 0)


def test_static_torque_is_the_gradient_of_potential_energy():
    """At rest Y_m pi equals the finite difference of -m g . c over the joints (no Pinocchio
    dynamics in the oracle)."""
    rng = np.random.default_rng(6)
    arm, _ = random_robot(rng, 4)
    links = random_links(rng, 4)
    mu, _, _, R_nb, _, _ = random_motion(rng, 4)

    def potential(angles):
        q = pin.neutral(arm.model)
        q[3:7] = pin.Quaternion(R_nb).coeffs()
        for j, name in enumerate(arm.joints):
            joint = arm.model.joints[arm.model.getJointId(name)]
            q[joint.idx_q:joint.idx_q + joint.nq] = position_of(joint, angles[j])
        data = arm.model.createData()
        pin.forwardKinematics(arm.model, data, q)
        placements = [data.oMi[arm.model.getJointId(name)] for name in arm.joints]
        return sum(-9.80665 * (link[0] * M.translation[2] + (M.rotation @ link[1:4])[2])
                   for link, M in zip(links, placements))

    h = 1e-6
    gradient = [(potential(mu + h * e) - potential(mu - h * e)) / (2 * h) for e in np.eye(4)]
    zero = np.zeros(4)
    Y = arm.regressor(mu, zero, zero, R_nb, np.zeros(6), np.zeros(6))
    torque = Y @ with_friction(links, np.zeros((4, 2)))
    np.testing.assert_allclose(torque, gradient, rtol=1e-5, atol=1e-7)


def test_power_balance_with_moving_base():
    """Effort times velocity equals the rate of kinetic and potential energy of the links, by finite
    difference."""
    rng = np.random.default_rng(7)
    arm, _ = random_robot(rng, 3)
    links = random_links(rng, 3)
    mu, mu_dot, mu_ddot, R_nb, nu, nu_dot = random_motion(rng, 3)
    model = arm.model.copy()
    model.inertias[1] = pin.Inertia.Zero()
    ids = [model.getJointId(name) for name in arm.joints]
    for j, i in enumerate(ids):
        model.inertias[i] = pin.Inertia.FromDynamicParameters(
            links[j][np.argsort(OURS_FROM_PINOCCHIO)])
    q0, v0, a0 = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    q0[3:7] = pin.Quaternion(R_nb).coeffs()
    v0[:6], a0[:6] = nu, nu_dot
    for j, i in enumerate(ids):
        joint = model.joints[i]
        q0[joint.idx_q:joint.idx_q + joint.nq] = position_of(joint, mu[j])
        v0[joint.idx_v], a0[joint.idx_v] = mu_dot[j], mu_ddot[j]

    def energy(s):
        data = model.createData()
        q = pin.integrate(model, q0, s * v0)
        v = v0 + s * a0
        kinetic = pin.computeKineticEnergy(model, data, q, v)
        return kinetic + pin.computePotentialEnergy(model, data, q)

    h = 1e-5
    rate = (energy(h) - energy(-h)) / (2 * h)
    Y, Y_base = arm.regressors(mu, mu_dot, mu_ddot, R_nb, nu, nu_dot)
    pi = with_friction(links, np.zeros((3, 2)))
    assert mu_dot @ Y @ pi + nu @ Y_base @ pi == pytest.approx(rate, rel=1e-5)


def test_buoyancy_is_negative_weight_at_its_centre():
    """The buoyancy load of a link equals the static load of a negative mass at the centre of
    buoyancy."""
    rng = np.random.default_rng(8)
    arm, _ = random_robot(rng, 4)
    mu, _, _, R_nb, _, _ = random_motion(rng, 4)
    forces, centres = rng.uniform(1, 3, 4), rng.normal(size=(4, 3)) * .1
    links = np.zeros((4, 12))
    links[:, 0] = -forces / 9.80665
    links[:, 1:4] = links[:, :1] * centres
    zero = np.zeros(4)
    Y, Y_base = arm.regressors(mu, zero, zero, R_nb, np.zeros(6), np.zeros(6))
    joint_load, wrench_load = arm.buoyancy(mu, R_nb, forces, centres)
    np.testing.assert_allclose(joint_load, Y @ links.ravel(), atol=1e-12)
    np.testing.assert_allclose(wrench_load, Y_base @ links.ravel(), atol=1e-12)


def test_unknown_joint_is_named_with_the_known_ones():
    """A joint missing in the URDF is refused with its name and the existing names."""
    with pytest.raises(RobotError, match="'elbow' is not in the URDF.*axis_e, axis_d"):
        ManipulatorModel.from_urdf(GOLDEN_CHAIN, ("axis_e", "elbow"))


@pytest.mark.parametrize("mount", [(0.19, 0, -0.12), {"xyz": (0, 0, 0)}, np.eye(4), "nose"])
def test_a_mount_of_another_type_is_refused(mount):
    """With what to write instead."""
    with pytest.raises(RobotError, match=r"mount: got .*, expected a Mount.*use Mount\(xyz="):
        ManipulatorModel.from_urdf(GOLDEN_CHAIN, JOINTS, mount)


def test_a_remounted_arm_is_one_that_was_mounted_so():
    """Also with links that are fixed to its root, and another gravity."""
    chain = chain_urdf([("foot", "fixed", (0, 0, 1), (.1, .2, .3), (.4, .5, .6)),
                        ("one", "revolute", (0, 1, 0), (0, .1, 0), (0, 0, .2)),
                        ("two", "revolute", (0, 0, 1), (.3, 0, 0), (.1, 0, 0))])
    before, after = Mount((1, 2, 3), (.1, .2, .3)), Mount((1, 2, 2), (-.4, .5, 3))
    arms = (ManipulatorModel.from_urdf(chain, ("one", "two"), after, 9.0),
            ManipulatorModel.from_urdf(chain, ("one", "two"), before, 9.0).remounted(before, after))
    rng = np.random.default_rng(0)
    state = (*rng.normal(size=(3, 2)), from_rpy(.3, -.2, 1.0), *rng.normal(size=(2, 6)))
    for own, other in zip(*(arm.regressors(*state) for arm in arms)):
        np.testing.assert_allclose(own, other, atol=1e-12)


def test_one_name_is_no_list_of_joints():
    """Its letters are none either."""
    with pytest.raises(RobotError, match="joints: got the text 'axis_e'"):
        ManipulatorModel.from_urdf(GOLDEN_CHAIN, "axis_e")


def test_prismatic_joints_are_recognized():
    """The table's units depend on which joints slide."""
    rng = np.random.default_rng(9)
    arm, kinds = random_robot(rng, 7)
    assert arm.prismatic == tuple(kind == "prismatic" for kind in kinds)


def test_a_radian_of_a_slide_is_a_share_of_its_range():
    """As a radian is of half a turn; without a range, and on other joints, it is one."""
    text = chain_urdf([("a", "prismatic", (1, 0, 0), np.zeros(3), np.zeros(3)),
                       ("b", "revolute", (0, 1, 0), np.zeros(3), np.zeros(3))])
    arm = ManipulatorModel.from_urdf(text, ("a", "b"))
    reach = arm.limits_high[0] - arm.limits_low[0]
    assert np.isfinite(reach)
    np.testing.assert_allclose(arm.radian, [reach / np.pi, 1.0])


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, 2.0, 3.1, np.pi - 1e-9, np.pi])
def test_quaternions_turn_as_their_matrices_do(angle):
    """Rotations about all kinds of axes, half turns included, against pinocchio's matrix of the
    quaternion."""
    for axis in (*np.eye(3), -np.eye(3)[1], *np.random.default_rng(0).normal(size=(6, 3))):
        R = from_rotation_vector(angle * axis / np.linalg.norm(axis))
        q = to_quaternion(R)
        assert np.linalg.norm(q) == pytest.approx(1, abs=1e-15)
        np.testing.assert_allclose(
            pin.Quaternion(np.array(q)).toRotationMatrix(), R, atol=1e-15 + 1e-14 * (angle > 1))


def test_regressors_keep_no_memory():
    """Allocated memory does not grow with the number of calls (a conversion in Pinocchio leaked 80
    bytes per call)."""
    try:
        used = ctypes.CDLL("libc.so.6").mallinfo2
    except (OSError, AttributeError):
        pytest.skip("mallinfo2 needs glibc 2.33 or newer.")

    class Info(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t)
                    for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks",
                                 "fsmblks", "uordblks", "fordblks", "keepcost")]
    used.restype = Info
    robot = RobotModel.from_config(Config())
    sample = Sample(0.0, from_rpy(.1, .2, .3), *np.zeros((2, 6)), *np.full((3, 4), .1), np.zeros(6),
                    np.zeros(4), np.ones(10, bool))
    for _ in range(200):
        robot.raw_rows(sample)
    before = used().uordblks
    for _ in range(2000):
        robot.raw_rows(sample)
    assert used().uordblks - before < 2000 * 8
