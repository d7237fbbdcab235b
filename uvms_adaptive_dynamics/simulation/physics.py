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

"""Multibody physics of the simulated vehicle and arm in water, one step at a time.

    (M_rb(q) + M_a + J_rotor) a + h_rb(q, v) + C_a(nu) nu + D(nu) nu
        + buoyancy + link water + friction = tau + tether

`v = [nu, mu_dot]`; in a current the water's terms use the velocity through the water. Pinocchio
computes the rigid bodies on a free-flyer base (body FRD, world NED, gravity down); the water has
formulas of its own. Nothing is shared with the package's regressors.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
from scipy.linalg.lapack import dposv

from ..disk.reading import read_text
from ..errors import ConfigError
from ..model.rotations import FRD_FROM_FLU, cross
from ..model.urdf import LARGEST_URDF
from .dock import Dock
from .friction import friction_torque, joint_friction, joint_stops
from .mishaps import PulledWater
from .rough import RoughWater, StillWater, Surroundings
from .true_robot import TrueRobot, inertia_matrix

FRICTION_ERROR = 1e-4       # [N m] of a joint's friction at the midpoint of a step
FRICTION_ROUNDS = 20        # Newton steps, of which six were needed at most


class Instant(NamedTuple):
    """State, accelerations and efforts that satisfy the equation of motion.

    t [s]; position (3,) NED [m]; R_nb (3, 3) body FRD to NED; nu (6,) [m/s, rad/s], nu_dot its
    derivative in the body; mu, mu_dot, mu_ddot (n,) [rad, ..]; wrench (6,) of the thrusters about
    the body origin, FRD [N, N m]; joint_torque (n,) of the motors at the output shaft, before
    friction [N m].
    """

    t: float
    position: np.ndarray
    R_nb: np.ndarray
    nu: np.ndarray
    nu_dot: np.ndarray
    mu: np.ndarray
    mu_dot: np.ndarray
    mu_ddot: np.ndarray
    wrench: np.ndarray
    joint_torque: np.ndarray


def arm_model(urdf: str, joints: Sequence[str]) -> pin.Model:
    """The arm of a URDF, with all other joints locked at zero.

    Continuous joints turn half a turn either way: Pinocchio would give them two coordinates. One
    without limits has zero as its largest effort and speed."""
    text = read_text(urdf, f"robot.urdf '{urdf}'", LARGEST_URDF, ConfigError, "an arm's URDF")
    root = ElementTree.fromstring(text.encode())
    for joint in root.iter("joint"):
        if joint.get("type") == "continuous":
            joint.set("type", "revolute")
            limit = joint.find("limit")
            if limit is None:
                limit = ElementTree.SubElement(joint, "limit", effort="0", velocity="0")
            limit.set("lower", str(-math.pi))
            limit.set("upper", str(math.pi))
    whole = pin.buildModelFromXML(ElementTree.tostring(root, encoding="unicode"))
    locked = [k for k in range(1, whole.njoints) if whole.names[k] not in joints]
    return pin.buildReducedModel(whole, locked, pin.neutral(whole)) if locked else whole


def build_model(robot: TrueRobot) -> tuple[pin.Model, pin.Model]:
    """(free-flyer model with the true inertias, the arm's model from the URDF for limits)."""
    arm = arm_model(robot.urdf, robot.joints)
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, robot.gravity])
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    body = pin.Inertia(robot.mass, np.array(robot.com), inertia_matrix(robot.inertia))
    model.appendBodyToJoint(base, body, pin.SE3.Identity())
    mount = pin.SE3(FRD_FROM_FLU @ pin.rpy.rpyToMatrix(*map(float, robot.mount_rpy)),
                    FRD_FROM_FLU @ np.array(robot.mount_xyz, dtype=float))
    parent, placement = base, mount
    for name, link in zip(robot.joints, robot.loaded_links):
        index = arm.getJointId(name)
        parent = model.addJoint(parent, arm.joints[index], placement * arm.jointPlacements[index],
                                name)
        body = pin.Inertia(link.mass, np.array(link.com), inertia_matrix(link.inertia))
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
        placement = pin.SE3.Identity()
    return model, arm


class Physics:
    """Integrates one robot in steps of `dt` [s]; its state is in the properties.

    The step is the midpoint rule, implicit in joint friction, which is far too stiff (2.4 N m s/rad
    against 0.02 kg m^2, and a near-vertical Coulomb step) for an explicit step of 2.5 ms.
    """

    def __init__(self, robot: TrueRobot, dt: float = 0.0025,
                 water: StillWater | RoughWater | PulledWater | None = None,
                 dock: Dock | None = None):
        self.dt, self.t = dt, 0.0
        self._dock = dock
        self._water = None if isinstance(water, StillWater) else water
        self._tether = np.zeros(3) if self._water is None else FRD_FROM_FLU @ self._water.place
        arm = self.change_links(robot)
        self.n = len(robot.joints)
        rows = [arm.joints[arm.getJointId(name)].idx_q for name in robot.joints]
        self.lower = arm.lowerPositionLimit[rows].copy()
        self.upper = arm.upperPositionLimit[rows].copy()
        self.torque_limit = np.array(robot.torque_limit or arm.effortLimit[rows])
        self._constant_mass = np.zeros((6 + self.n, 6 + self.n))
        self._constant_mass[:6, :6] = robot.added_mass
        self._moving = slice(6 if robot.fixed_base else 0, None)    # coordinates of `v`
        # The joints' diagonal entries in the flattened matrix.
        self._on_joints = slice(6 * (7 + self.n), None, 7 + self.n)
        self._constant_mass.reshape(-1)[self._on_joints] = robot.rotor_inertia
        self._is_upper = np.triu(np.ones((6 + self.n, 6 + self.n), dtype=bool))
        self._vehicle_cob = pin.SE3(np.eye(3), np.array(robot.cob))
        self._zero, self._no_moment = np.zeros(6 + self.n), np.zeros(3)
        self._external = pin.StdVec_Force()
        self._external.extend([pin.Force.Zero() for _ in range(self.model.njoints)])
        self.set_state(np.zeros(3), np.eye(3), (self.lower + self.upper) / 2)

    def change_links(self, robot: TrueRobot) -> pin.Model:
        """Use the links of `robot` (the last with its payload) from the next step on; the state
        stays. Returns the arm's model from the URDF."""
        self.robot = robot
        self.model, arm = build_model(robot)
        self.data = self.model.createData()
        links = robot.loaded_links
        self._cob = [pin.SE3(np.eye(3), np.array(k.cob)) for k in links]
        self._drag = [tuple(map(float, k.drag)) for k in links]
        self._lift = [robot.water_density * robot.gravity * k.volume for k in links]
        return arm

    def set_state(self, position, R_nb, mu, nu=None, mu_dot=None) -> None:
        """Set the state: position (3,) NED [m], R_nb (3, 3), mu (n,) [rad], nu (6,), mu_dot (n,).

        Velocities default to zero.
        """
        self.q = np.concatenate([position, pin.Quaternion(np.asarray(R_nb, float)).coeffs(), mu])
        self.v = np.concatenate([np.zeros(6) if nu is None else nu,
                                 np.zeros(self.n) if mu_dot is None else mu_dot])
        self._a = np.zeros(6 + self.n)

    def restart_clock(self, t: float) -> None:
        """Set the time [s]; the state stays."""
        self.t = t

    @property
    def position(self) -> np.ndarray:
        """(3,) NED [m]."""
        return self.q[:3]

    @property
    def R_nb(self) -> np.ndarray:
        """(3, 3) body FRD to NED."""
        return pin.Quaternion(self.q[3:7]).matrix()

    @property
    def nu(self) -> np.ndarray:
        """(6,) body velocity [m/s, rad/s], FRD."""
        return self.v[:6]

    @property
    def mu(self) -> np.ndarray:
        """(n,) joint angles [rad]."""
        return self.q[7:]

    @property
    def mu_dot(self) -> np.ndarray:
        """(n,) joint speeds [rad/s]."""
        return self.v[6:]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """(6+n, 6+n): rigid bodies, the vehicle's added mass, rotor inertias on the joints."""
        upper = pin.crba(self.model, self.data, q)  # some versions leave the lower triangle empty
        return np.where(self._is_upper, upper, upper.T) + self._constant_mass

    def _upper_mass(self, q: np.ndarray) -> np.ndarray:
        """(6+n, 6+n) the mass matrix, of which only the upper triangle counts."""
        return np.add(pin.crba(self.model, self.data, q), self._constant_mass, order="C")

    def _solved(self, upper_mass: np.ndarray, effort: np.ndarray,
                more: np.ndarray | float) -> np.ndarray:
        """(6+n,) acceleration due to an effort (6+n,), with `more` (n,) inertia on the joints."""
        mass = upper_mass.copy()
        mass.reshape(-1)[self._on_joints] += more
        moving, acceleration = self._moving, np.zeros(len(effort))
        # dposv reads only the upper triangle, and takes a third of the time of numpy's solve.
        _, acceleration[moving], status = dposv(mass[moving, moving], effort[moving])
        if status:
            raise np.linalg.LinAlgError("the mass matrix is not positive definite")
        return acceleration

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(6+n,) generalized force without mass times acceleration, joint friction and stops."""
        model, data, external = self.model, self.data, self._external
        surroundings = None if self._water is None else self._water.at(self.t)
        pin.forwardKinematics(model, data, q, v)
        links = zip(self._cob, self._drag, self._lift)
        for j, (cob, (drag_x, drag_y, drag_z), lift) in enumerate(links, start=2):
            R_nl = data.oMi[j].rotation
            flow = cob.actInv(data.v[j]).linear
            if surroundings is not None:
                flow = flow - R_nl.T @ surroundings.current
            (x, y, z), (down_x, down_y, down_z) = flow.tolist(), R_nl[2].tolist()
            speed = math.sqrt(x * x + y * y + z * z)
            force = np.array((-speed * drag_x * x - lift * down_x,
                              -speed * drag_y * y - lift * down_y,
                              -speed * drag_z * z - lift * down_z))
            external[j] = cob.act(pin.Force(force, self._no_moment))
        R_nb = data.oMi[1].rotation
        external[1] = self._vehicle_water(R_nb, v[:6], surroundings)
        if surroundings is not None:
            tether = R_nb.T @ surroundings.pull
            external[1] += pin.Force(tether, np.array(cross(self._tether, tether)))
        if self._dock is not None:
            external[1] += self._dock.force(self.t, data.oMi[1], v[:6])
        return pin.rnea(model, data, q, v, self._zero, external).copy()

    def _vehicle_water(self, R_nb: np.ndarray, nu: np.ndarray,
                       surroundings: Surroundings | None) -> pin.Force:
        """Buoyancy, damping and the added mass's Coriolis force on the vehicle.

        In a current also the added mass's force due to the water's acceleration: relative to the
        water it accelerates by nu_dot less the water's acceleration in body axes.
        """
        robot, carried = self.robot, self._zero[:6]
        if surroundings is not None:
            flow = R_nb.T @ surroundings.current
            nu = nu.copy()
            nu[:3] -= flow
            carried = robot.added_mass @ np.concatenate([
                R_nb.T @ surroundings.current_rate - cross(nu[3:], flow), self._no_moment])
        # The added mass's momentum h rotates with the body: [w x h_v; w x h_w + v x h_v].
        coriolis = pin.Motion(nu).cross(pin.Force(robot.added_mass @ nu))
        damping = robot.linear_damping @ nu + robot.quadratic_damping @ (np.abs(nu) * nu)
        buoyancy = pin.Force(-robot.buoyancy * R_nb[2], self._no_moment)
        return self._vehicle_cob.act(buoyancy) - coriolis + pin.Force(carried - damping)

    def acceleration(self, wrench: np.ndarray, joint_torque: np.ndarray) -> np.ndarray:
        """(6+n,) acceleration under a thruster wrench (6,) FRD and motor torques (n,)."""
        effort = np.concatenate([wrench, joint_torque]) - self.bias(self.q, self.v)
        resistance = friction_torque(self.robot, self.mu_dot)
        if (stops := self._stops(self.mu, self.mu_dot)) is not None:
            resistance = resistance + stops[0]
        effort[6:] -= resistance
        return self._solved(self._upper_mass(self.q), effort, 0.0)

    def _stops(self, mu: np.ndarray, mu_dot: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        return joint_stops(self.robot, self.lower, self.upper, mu, mu_dot)

    def step(self, wrench: np.ndarray, joint_torque: np.ndarray) -> Instant:
        """Advance by dt under constant wrench (6,) and motor torques (n,); returns the midpoint."""
        dt, model = self.dt, self.model
        guess = self.v + 0.5 * dt * self._a
        middle = pin.integrate(model, self.q, 0.25 * dt * (self.v + guess))
        effort = np.concatenate([wrench, joint_torque]) - self.bias(middle, guess)
        R_nb = self.data.oMi[1].rotation.copy()
        stop_slope: np.ndarray | float = 0.0
        if (stops := self._stops(middle[7:], guess[6:])) is not None:
            stop_slope = stops[1]
            effort[6:] -= stops[0] + stop_slope * (self.v[6:] - guess[6:])
        self._a = a = self._slowed(middle, effort, stop_slope, guess[6:])
        speed = self.v + 0.5 * dt * a
        instant = Instant(self.t + 0.5 * dt, middle[:3], R_nb, speed[:6], a[:6], middle[7:],
                          speed[6:], a[6:], np.array(wrench), np.array(joint_torque))
        self.q = pin.integrate(model, self.q, dt * speed)
        self.v = self.v + dt * a
        self.t += dt
        return instant

    def _slowed(self, q: np.ndarray, effort: np.ndarray, stop_slope: np.ndarray | float,
                guess: np.ndarray) -> np.ndarray:
        """(6+n,) acceleration due to an effort (6+n,) and the joints' friction at the midpoint's
        speed, by Newton's method from a guess (n,) of that speed.

        A single Newton step fails where a joint reverses: with a guess of the wrong sign the speed
        alternates from step to step for seconds, and the Coulomb friction averages to zero. A
        Newton step across zero ends at zero; from there, where the slope is largest, it never
        overshoots.
        """
        half, before = 0.5 * self.dt, self.v[6:]
        friction, slope = joint_friction(self.robot, guess)
        upper_mass = self._upper_mass(q)
        for _ in range(FRICTION_ROUNDS):
            left = effort.copy()
            left[6:] -= friction + slope * (before - guess)
            a = self._solved(upper_mass, left, half * (slope + stop_slope))
            speed = before + half * a[6:]
            assumed = friction + slope * (speed - guess)
            if np.abs(friction_torque(self.robot, speed) - assumed).max(
                    initial=0.0) < FRICTION_ERROR:
                break
            guess = np.where(speed * guess < 0.0, 0.0, speed)
            friction, slope = joint_friction(self.robot, guess)
        return a

    def energy(self) -> float:
        """Kinetic energy (with water and rotors) and potential energy (with buoyancy) [J]."""
        kinetic = 0.5 * self.v @ self.mass_matrix(self.q) @ self.v
        potential = pin.computePotentialEnergy(self.model, self.data, self.q)
        vehicle_cob = self.position + self.R_nb @ self._vehicle_cob.translation
        potential += self.robot.buoyancy * vehicle_cob[2]
        for j, (cob, lift) in enumerate(zip(self._cob, self._lift), start=2):
            potential += lift * self.data.oMi[j].act(cob.translation)[2]
        return float(kinetic + potential)
