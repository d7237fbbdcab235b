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

"""The arm on its moving, tilted base: joint-torque regressor Y_m and base rows Y_vm (Pinocchio).

The arm is attached to a free-flyer at the vehicle's body origin in FRD axes, in a NED world, so
that the first six rows of Pinocchio's joint-torque regressor are the wrench that the vehicle must
supply. docs/mathematics.md, "Manipulator".
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from ..config.robot import STANDARD_GRAVITY
from ..disk.kinds import reason_of
from ..errors import RobotError, require
from .arguments import array
from .parameters import FRICTION
from .rotations import FRD_FROM_FLU, from_rpy, to_quaternion
from .urdf import urdf_text

# Pinocchio's inertia order (m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) to ours (m, ml, Ixx, Iyy, Izz,
# Ixy, Ixz, Iyz).
OURS_FROM_PINOCCHIO = np.array([0, 1, 2, 3, 4, 6, 9, 5, 7, 8])
# Frames at the vehicle's origin and at the arm's own base. The line break keeps them apart from all
# names in XML.
BASE_FRAME = "vehicle\n(free)"
FIXED_BASE_FRAME = "base\n(fixed)"


@dataclass(frozen=True)
class Mount:
    """Pose of the URDF's root link on the vehicle, in FLU axes: xyz [m], rpy [rad]."""

    xyz: tuple[float, ...] = (0.0, 0.0, 0.0)
    rpy: tuple[float, ...] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ("xyz", "rpy"):
            array(f"mount.{name}", getattr(self, name), (3,))

    def placement(self) -> pin.SE3:
        """Pose of the root link in body FRD axes."""
        return pin.SE3(FRD_FROM_FLU @ from_rpy(*self.rpy), FRD_FROM_FLU @ np.array(self.xyz))


class LinkMotion(NamedTuple):
    """R (n, 3, 3), p (n, 3): link frames in NED axes from the body's origin; v, w (n, 3): velocity
    of their origins and angular velocity, in link axes; J (6, 6 + n): twists at the body's origin,
    in NED axes, for unit nu and mu_dot."""

    R: np.ndarray
    p: np.ndarray
    v: np.ndarray
    w: np.ndarray
    J: np.ndarray


class ManipulatorModel:
    """Regressors of a serial arm; parameters per link as in the parameter table."""

    def __init__(self, model: pin.Model, joints: tuple[str, ...],
                 gravity: float = STANDARD_GRAVITY):
        """model: its first joint is a free-flyer at the body origin (FRD), followed by `joints`."""
        self.joints = joints
        self.n = len(joints)
        self.model = model
        self.model.gravity.linear = np.array([0.0, 0.0, gravity])  # NED: down is positive
        self._data = model.createData()
        ids = [model.getJointId(name) for name in joints]
        self._q_index = [model.joints[i].idx_q for i in ids]
        self._circular = [model.joints[i].nq == 2 for i in ids]
        self._v_index = np.array([model.joints[i].idx_v for i in ids], int)
        self._joint_ids = ids
        # Where `regressors` finds its entries in Pinocchio's matrix, flattened, and where it puts
        # the friction.
        rows = np.concatenate([np.arange(6), self._v_index])
        columns = 10 * (np.array(ids, int) - 1)[:, None] + OURS_FROM_PINOCCHIO
        self._entries = 10 * (model.njoints - 1) * rows[:, None, None] + columns
        own = np.arange(self.n)
        self._viscous = 12 * self.n * (6 + own) + 12 * own + FRICTION.start
        self._q = pin.neutral(model)
        self._v = np.zeros(model.nv)
        self._a = np.zeros(model.nv)
        self.limits_low = np.array([model.lowerPositionLimit[k] if not c else -math.inf
                                    for k, c in zip(self._q_index, self._circular)])
        self.limits_high = np.array([model.upperPositionLimit[k] if not c else math.inf
                                     for k, c in zip(self._q_index, self._circular)])
        self.effort_limits = np.array([model.effortLimit[k] for k in self._v_index])
        self.speed_limits = np.array([model.velocityLimit[k] for k in self._v_index])
        # Pinocchio calls them JointModelPX, JointModelPY, ..., JointModelPrismaticUnaligned.
        self.prismatic = tuple(model.joints[i].shortname().startswith("JointModelP") for i in ids)
        # A setting in rad holds for prismatic joints, too: a radian is the share of the range of
        # such a joint that it is of half a turn.
        reach = self.limits_high - self.limits_low
        self.radian = np.where(np.array(self.prismatic, bool) & np.isfinite(reach),
                               reach / math.pi, 1.0)

    @classmethod
    def from_urdf(cls, urdf: str, joints: Sequence[str], mount: Mount | None = None,
                  gravity: float = STANDARD_GRAVITY) -> ManipulatorModel:
        """The arm of `urdf` (a path, or the XML text itself); `joints` move, all others are locked
        at zero.

        Raises RobotError for a URDF that cannot be used (`urdf.urdf_text`), if `joints` are not one
        chain, and for a mount of another type.
        """
        if isinstance(joints, str):
            raise RobotError(f"joints: got the text '{joints}', expected a sequence of names; "
                             f"write ('{joints}',).")
        if mount is not None:
            require("mount", mount, Mount, RobotError)
        joints = tuple(joints)
        arm = _load(urdf, joints)
        name = arm.name
        locked = [arm.getJointId(name) for name in list(arm.names)[1:] if name not in joints]
        arm = pin.buildReducedModel(arm, locked, pin.neutral(arm))
        base = pin.Model()
        base.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), BASE_FRAME)
        base.addFrame(pin.Frame(BASE_FRAME, 1, 0, pin.SE3.Identity(), pin.FrameType.BODY))
        placement = (mount or Mount()).placement()
        model = pin.appendModel(base, arm, base.getFrameId(BASE_FRAME), placement)
        for a, b in zip(joints, joints[1:]):
            if model.getJointId(a) not in list(model.supports[model.getJointId(b)]):
                raise RobotError(
                    f"joints {list(joints)} are not one chain from base to tip: '{a}' does not "
                    f"carry '{b}'.")
        model.name = name
        return cls(model, joints, gravity)

    def remounted(self, before: Mount, after: Mount) -> ManipulatorModel:
        """The same arm with its root link at `after`, where it was at `before`."""
        model, first = self.model.copy(), self._joint_ids[0]
        move = after.placement() * before.placement().inverse()
        model.jointPlacements[first] = move * model.jointPlacements[first]
        return ManipulatorModel(model, self.joints, float(model.gravity.linear[2]))

    @cached_property
    def link_lengths(self) -> np.ndarray:
        """(n,) distance from each joint to the next [m]; the last link gets the longest of them."""
        steps = [np.linalg.norm(self.model.jointPlacements[i].translation)
                 for i in self._joint_ids[1:]]
        return np.array(steps + [max(steps, default=0.0)])

    def regressors(self, mu, mu_dot, mu_ddot, R_nb, nu, nu_dot) -> tuple[np.ndarray, np.ndarray]:
        """(Y_m (n, 12n), Y_vm (6, 12n)): joint efforts [N m or N] and vehicle wrench [N, N m] per
        link parameter.

        mu, mu_dot, mu_ddot (n,) [rad or m; per s; per s^2]; R_nb (3, 3) body FRD to NED; nu,
        nu_dot (6,) of the body. Friction acts on the joint's own row only.
        """
        Y = np.zeros((6 + self.n, 12 * self.n))
        if self.n:
            self._set_state(mu, mu_dot, mu_ddot, R_nb, nu, nu_dot)
            full = pin.computeJointTorqueRegressor(
                self.model, self._data, self._q, self._v, self._a)
            Y.reshape(-1, self.n, 12)[:, :, :FRICTION.start] = full.take(self._entries)
            flat = Y.reshape(-1)
            flat[self._viscous], flat[self._viscous + 1] = mu_dot, np.sign(mu_dot)
        return Y[6:], Y[:6]

    def regressor(self, mu, mu_dot, mu_ddot, R_nb, nu, nu_dot) -> np.ndarray:
        """Y_m (n, 12n); see `regressors`."""
        return self.regressors(mu, mu_dot, mu_ddot, R_nb, nu, nu_dot)[0]

    def buoyancy(self, mu, R_nb, forces: np.ndarray,
                 centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(joint efforts (n,), vehicle wrench (6,)) that the links' buoyancy *adds* to the
        actuators' load.

        forces (n,) [N] act upwards on each link at `centres` (n, 3) [m] in the link's frame. The
        load in Y pi = tau - load is what the actuators must bear because of the buoyancy: minus its
        generalized force.
        """
        zeros = np.zeros(self.n)
        self._set_state(mu, zeros, zeros, R_nb, np.zeros(6), np.zeros(6))
        pin.computeJointJacobians(self.model, self._data, self._q)
        load = np.zeros(self.model.nv)
        for i, force, centre in zip(self._joint_ids, forces, centres):
            x, y, _ = (self._data.oMi[i].rotation @ centre).tolist()
            J = pin.getJointJacobian(self.model, self._data, i,
                                     pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            # Up is -z: the force (0, 0, -f) at (x, y, z) has the moment (-f y, f x, 0).
            load += force * (J[2] + y * J[3] - x * J[4])
        return load[self._v_index], load[:6]

    def resting_load(self, mu, R_nb) -> np.ndarray:
        """(n,) joint efforts that hold the links at rest in air, from the URDF's masses; arguments
        as in `regressors`."""
        zeros = np.zeros(self.n)
        self._set_state(mu, zeros, zeros, R_nb, np.zeros(6), np.zeros(6))
        return pin.computeGeneralizedGravity(self.model, self._data, self._q)[self._v_index]

    def link_motion(self, mu, mu_dot, R_nb, nu) -> LinkMotion:
        """Poses, velocities and Jacobian of the links; frames: see `LinkMotion`.

        mu, mu_dot (n,); R_nb (3, 3) body FRD to NED; nu (6,) of the body.
        """
        self._set_state(mu, mu_dot, np.zeros(self.n), R_nb, nu, np.zeros(6))
        pin.forwardKinematics(self.model, self._data, self._q, self._v)
        J = pin.computeJointJacobians(self.model, self._data)
        places = [self._data.oMi[i] for i in self._joint_ids]
        speeds = [self._data.v[i] for i in self._joint_ids]
        return LinkMotion(np.array([place.rotation for place in places]),
                          np.array([place.translation for place in places]),
                          np.array([speed.linear for speed in speeds]),
                          np.array([speed.angular for speed in speeds]),
                          np.concatenate([J[:, :6], J[:, self._v_index]], axis=1))

    @cached_property
    def link_axes(self) -> np.ndarray:
        """(n, 3) vector from each link's joint to the next, in link axes [m]; for the last link,
        twice the vector to its centre of mass."""
        following = [self.model.jointPlacements[i].translation for i in self._joint_ids[1:]]
        last = [2 * self.model.inertias[i].lever for i in self._joint_ids[-1:]]
        return np.array([*following, *last]).reshape(-1, 3)

    def inertials(self) -> np.ndarray:
        """(n, 10) rigid-body parameters of the moving links from the URDF, in the table's order."""
        values = np.zeros((self.n, 10))
        for j, i in enumerate(self._joint_ids):
            values[j] = self.model.inertias[i].toDynamicParameters()[OURS_FROM_PINOCCHIO]
        return values

    def reference_sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """(mass (n,) [kg], length (n,) [m]) of the moving links, for scaling their inertias."""
        links = self.inertials()
        mass = np.where(links[:, 0] > 1e-6, links[:, 0], 1.0)
        # Radius of gyration about the link's origin: tr(I) / 2 = integral of r^2 dm.
        length = np.sqrt(np.maximum(links[:, 4:7].sum(axis=1) / 2, 0) / mass)
        return mass, np.where(length > 1e-3, np.maximum(length, 0.02), 0.1)

    def _set_state(self, mu, mu_dot, mu_ddot, R_nb, nu, nu_dot) -> None:
        q, v, a = self._q, self._v, self._a
        q[3:7] = to_quaternion(R_nb)     # Pinocchio's own conversion leaks 80 bytes at every call
        for k, circular, angle in zip(self._q_index, self._circular, mu):
            if circular:
                q[k], q[k + 1] = math.cos(angle), math.sin(angle)
            else:
                q[k] = angle
        v[:6], a[:6] = nu, nu_dot
        v[self._v_index], a[self._v_index] = mu_dot, mu_ddot


def _load(urdf: str, joints: tuple[str, ...]) -> pin.Model:
    text = urdf_text(urdf, joints)
    try:
        model = pin.buildModelFromXML(text)
    except (ValueError, RuntimeError) as error:
        raise RobotError(f"URDF '{urdf[:80]}' cannot be read: {reason_of(error)}.") from None
    # Pinocchio before 3 gives the base a frame of this name and mistakes a joint of the same name
    # for a duplicate.
    for frame in model.frames:
        if frame.name == "root_joint" and frame.type == pin.FrameType.FIXED_JOINT:
            frame.name = FIXED_BASE_FRAME
    return model
