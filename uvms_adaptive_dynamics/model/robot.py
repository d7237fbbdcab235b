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

"""The robot as the estimator sees it: parameter table, channels, one raw regressor per sample
(docs/mathematics.md, "Coupling")."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..config import Config
from ..errors import RobotError, require
from .arguments import read_only
from .link_geometry import LinkGeometry
from .manipulator import ManipulatorModel, Mount
from .parameters import ParameterTable
from .sample import BY_SETTING, NO_THRUSTER, VEHICLE_UNITS, Sample, channel_names
from .term_sets import TermInput
from .thrust_curve import LOW_THRUST_SHARE, ThrustCurve
from .urdf_address import urdf_of
from .vehicle import (
    by_linear_velocity,
    regressors_in_current,
    through_water,
    vehicle_regressor,
)
from .vehicle_size import size_factors, weight_limits

# [m/s, rad/s] step of central differences; exact for terms of second degree
SPEED_STEP = 1e-3
# Share of the usual noise that is negligible: .2 N of the 140 N and .05 N m of the 10 N m that a
# BlueROV2 Heavy can exert, half a per cent of a joint's effort limit.
NEGLIGIBLE_NOISE = 0.1
# An effort beyond as many times its limit is in another unit, or garbage.
MOST_EFFORT = 3.0


# Drag of the links at an instant, per drag coefficient: (joint efforts (n, n), wrench (6, n)).
LinksDrag = tuple[np.ndarray, np.ndarray]


class RawRows(NamedTuple):
    """Rows of one instant before the low-pass: tau (C,) = Y (C, p) pi + tau_known (C,).

    by_velocity (C, 2), by_thruster (C, N): see `RobotModel`; None means zero."""

    Y: np.ndarray
    tau_known: np.ndarray
    tau: np.ndarray
    by_velocity: np.ndarray | None = None
    by_thruster: np.ndarray | None = None

    def scaled(self, factor: np.ndarray) -> RawRows:
        """These rows with the measured efforts multiplied by factor (C,)."""
        return self._replace(tau=self.tau * factor)

    def residual(self, pi: np.ndarray) -> np.ndarray:
        """(C,) measured efforts minus those that parameters pi (p,) predict."""
        return self.tau - self.tau_known - self.Y @ pi


class RobotModel:
    """Regressor of the whole robot, for any number of joints, with or without a vehicle."""

    def __init__(self, config: Config, arm: ManipulatorModel | None):
        require("config", config, Config)
        if arm is not None:
            require("arm", arm, ManipulatorModel)
        robot = config.robot
        self.vehicle = robot.vehicle
        self.arm = arm
        self.joints = robot.joints
        commanded = robot.vehicle and config.thrusters.source == "thrusters"
        self.thrusters = len(config.thrusters.signs) if commanded else 0
        self.allocation = np.reshape(config.thrusters.allocation, (6, -1))[:, :self.thrusters]
        self._thruster_settings = config.thrusters
        self.coupled = config.estimation.coupling != "none"
        self._tilt_only = config.estimation.base_motion == "tilt"
        self.table = _table(config, arm)
        # (k,) ratio of the vehicle's parameters to those of the built-in vehicle
        self.vehicle_size = size_factors(self.table.weight_limits,
                                         self.table.units[self.table.vehicle_slice])
        self.channels = channel_names(self.vehicle, self.joints)
        twice = [name for name in self.channels if self.channels.count(name) > 1]
        if twice:
            raise RobotError(
                f"setting 'robot.joints' is {list(self.joints)}: two channels would be named "
                f"'{twice[0]}', since a joint with a vehicle channel's name gets the prefix "
                "'joint.'; expected distinct names. Rename the joint.")
        joint_units = tuple("N" if p else "N m" for p in self.table.prismatic)
        self.units = (VEHICLE_UNITS if self.vehicle else ()) + joint_units
        # (n,) see `ManipulatorModel`
        self.radian = np.ones(0) if arm is None else arm.radian
        self.vehicle_rows = slice(0, 6 if self.vehicle else 0)
        self.arm_rows = slice(self.vehicle_rows.stop, self.vehicle_rows.stop + len(self.joints))
        self._buoyancy = (np.array(robot.link_volumes) * robot.water_density * robot.gravity
                          if robot.link_volumes else None)
        self._centres = np.array(robot.link_buoyancy_centres).reshape(-1, 3)
        self._rotor = np.array(robot.rotor_inertia) if robot.rotor_inertia else None
        self._coulomb = self.table.places(f"{joint}.fs" for joint in self.joints)
        self._own = np.arange(self.arm_rows.start, self.arm_rows.stop)
        self._band_speed = robot.dead_band_speed
        self._links = None
        if arm is not None and "link_drag" in self.table.terms:
            self._links = LinkGeometry(arm, robot)
        self._still = np.zeros(6)

    @classmethod
    def from_config(cls, config: Config, robot_description: str | None = None) -> RobotModel:
        """The robot of `config`; robot_description: the URDF's text, needed if robot.urdf names
        that topic.

        Raises RobotError if URDF and joints do not match.
        """
        require("config", config, Config)
        robot = config.robot
        arm = None
        if robot.joints:
            arm = ManipulatorModel.from_urdf(urdf_of(robot, robot_description), robot.joints,
                                             Mount(robot.mount_xyz, robot.mount_rpy), robot.gravity)
        return cls(config, arm)

    @cached_property
    def effort_limits(self) -> np.ndarray:
        """(n,) joint effort limits of the URDF [N m or N], infinite if it states none."""
        if self.arm is None:
            return np.zeros(0)
        limits = self.arm.effort_limits
        return np.where(limits > 0, limits, math.inf)

    @property
    def possible_efforts(self) -> np.ndarray:
        """(n,) largest efforts that joints may have [N m or N], infinite where the URDF states no
        limit."""
        return MOST_EFFORT * self.effort_limits

    def raw_rows(self, sample: Sample, pi: np.ndarray | None = None,
                 sign: np.ndarray | None = None, drag: LinksDrag | None = None) -> RawRows:
        """Regressor, known load and measured effort of one sample, not yet low-passed.

        With coupling 'none' the arm's block on the vehicle's rows is zero. pi (p,): the estimate
        about which products of parameters are linearized (term set 'current'; without pi its
        columns are zero). sign (n,) of Coulomb friction, by default that of the joints' speeds.
        drag: of this instant, if it is known already (`links_drag`).
        """
        table, arm = self.table, self.arm
        Y = np.zeros((table.channels, table.size))
        known = np.zeros(table.channels)
        nu, nu_dot = sample.nu, sample.nu_dot
        if self._tilt_only:
            nu, nu_dot = self._still, self._still
        carried = self.vehicle and self.coupled
        if self.vehicle:
            Y[:6, table.paper_slice] = vehicle_regressor(sample.nu, sample.nu_dot, sample.R_nb)
        if arm is not None:
            Y_m, Y_vm = arm.regressors(
                sample.mu, sample.mu_dot, sample.mu_ddot, sample.R_nb, nu, nu_dot)
            Y[self.arm_rows, table.links_slice] = Y_m
            if sign is not None:
                Y[self._own, self._coulomb] = sign
            if carried:
                Y[:6, table.links_slice] = Y_vm
            if self._buoyancy is not None:
                joint_load, wrench_load = arm.buoyancy(
                    sample.mu, sample.R_nb, self._buoyancy, self._centres)
                known[self.arm_rows] = joint_load
                if carried:
                    known[:6] = wrench_load
            if self._rotor is not None:
                known[self.arm_rows] += self._rotor * sample.mu_ddot
        if table.term_sets:
            of_links = None if self._links is None else self._links.drag
            instant = TermInput(sample, nu, np.sign(sample.mu_dot) if sign is None else sign,
                                self.arm_rows, table,
                                of_links if drag is None else lambda *_: drag, self._band_speed)
            place = table.term_slices.get("current")
            if place is not None and pi is not None:
                instant = self._in_current(Y, instant, pi, np.append(pi[place], 0.0))
            for name, one in table.term_sets.items():
                one.fill(Y[:, table.term_slices[name]], instant)
            if instant.by_current is not None and pi is not None:
                known[:6] -= instant.by_current @ pi[place]     # linearized about this current
            if self.vehicle and not carried:
                Y[:6, table.links_slice.stop:] = 0.0
        tau = (np.concatenate([sample.wrench, sample.joint_torque]) if self.vehicle
               else sample.joint_torque)
        return RawRows(Y, known, tau)

    def links_drag(self, mu: np.ndarray, mu_dot: np.ndarray, R_nb: np.ndarray,
                   nu: np.ndarray) -> list[LinksDrag | None]:
        """The links' drag at T instants of a motion, for `raw_rows`; Nones without 'link_drag'.

        mu, mu_dot (T, n); R_nb (T, 3, 3); nu (T, 6). Takes a fraction of the time of T instants.
        """
        if self._links is None or not len(nu):
            return [None] * len(nu)
        return list(zip(*self._links.drag_at(mu, mu_dot, R_nb, 0 * nu if self._tilt_only else nu)))

    def links_drag_of(self, samples: Sequence[Sample]) -> list[LinksDrag | None]:
        """`links_drag` of samples."""
        return self.links_drag(*(np.array([getattr(one, name) for one in samples])
                                 for name in ("mu", "mu_dot", "R_nb", "nu")))

    def _in_current(self, Y: np.ndarray, instant: TermInput, pi: np.ndarray,
                    current: np.ndarray) -> TermInput:
        """The instant in a current (3,) NED [m/s]; writes the vehicle's columns of Y.

        The links' columns stay: rigid bodies do not feel a steady current."""
        own = self.table.paper_slice
        nu, nu_dot, R_nb = instant.sample.nu, instant.sample.nu_dot, instant.sample.R_nb
        Y[:6, own], by_current = regressors_in_current(nu, nu_dot, R_nb, current, pi[own])
        nu, nu_dot = through_water(nu, nu_dot, R_nb, current)
        return instant._replace(sample=replace(instant.sample, nu=nu, nu_dot=nu_dot),
                                nu=self._still if self._tilt_only else nu,
                                by_current=by_current)

    def left_out(self, config: Config) -> tuple[str, ...]:
        """(C,) why a channel is neither judged nor mentioned in advice, one of LEFT_OUT: a joint of
        joint_states.effort_masked, or a vehicle axis on which no commanded thruster acts; ''
        otherwise."""
        acting = np.ones((6, 1))
        if self.thrusters:
            acting = np.reshape(config.thrusters.allocation, (6, -1))
        return (*("" if row.any() else NO_THRUSTER for row in acting[self.vehicle_rows]),
                *(BY_SETTING if joint in config.joint_states.effort_masked else ""
                  for joint in self.joints))

    @cached_property
    def low_thrust(self) -> float:
        """Standard deviation [N] of a thruster's thrust near its dead zone, 0 without thrusters.
        Raises ConfigError for a curve that cannot be read."""
        if not self.thrusters:
            return 0.0
        curve = ThrustCurve.of_setting(self._thruster_settings.curve)
        return LOW_THRUST_SHARE * max(map(abs, curve.limits(self._thruster_settings.voltage)))

    @property
    def knows_buoyancy(self) -> bool:
        """Whether the links' volumes are set."""
        return self._buoyancy is not None

    def resting_load(self, mu: np.ndarray, R_nb: np.ndarray) -> np.ndarray:
        """(n,) joint efforts that hold the arm at rest at mu (n,), from the URDF's masses and, if
        set, the links' volumes; does not depend on the estimate."""
        if self.arm is None:
            return np.zeros(0)
        load = self.arm.resting_load(mu, R_nb)
        if self._buoyancy is not None:
            load = load + self.arm.buoyancy(mu, R_nb, self._buoyancy, self._centres)[0]
        return load

    def by_velocity(self, sample: Sample, pi: np.ndarray) -> np.ndarray:
        """(C, 2) columns s, q: multiplying the vehicle's linear velocity by f changes the efforts
        of parameters pi (p,) by (f - 1) s + (f - 1)^2 q. Neglects the links' share of some per
        cent."""
        found = np.zeros((self.table.channels, 2))
        if self.vehicle:
            found[:6] = (by_linear_velocity(sample.nu) @ pi[self.table.paper_slice]).T
        return found

    def by_own_motion(self, sample: Sample, pi: np.ndarray, axis: int, speed: float) -> np.ndarray:
        """(2, p) derivatives of a vehicle axis' row by the acceleration of that axis and by its
        velocity about a speed [m/s or rad/s], with the robot otherwise at rest."""
        still = np.zeros_like(sample.mu)
        resting = replace(sample, nu=np.zeros(6), nu_dot=np.zeros(6), mu_dot=still, mu_ddot=still)
        own = np.eye(6)[axis]
        low = max(speed - SPEED_STEP, 0.0)
        rows = [self.raw_rows(one, pi).Y[axis] for one in (
            resting, replace(resting, nu_dot=own), replace(resting, nu=low * own),
            replace(resting, nu=(low + 2 * SPEED_STEP) * own))]
        return np.array([rows[1] - rows[0], (rows[3] - rows[2]) / (2 * SPEED_STEP)])

    def by_thruster(self, sample: Sample, factor: np.ndarray) -> np.ndarray:
        """(C, N) each thruster's contribution to the measured efforts, times factor (C,)."""
        found = np.zeros((self.table.channels, self.thrusters))
        if self.thrusters and sample.by_thruster is not None:
            found[:6] = sample.by_thruster * factor[:6, None]
        return found

    def largest_coulomb(self, pi: np.ndarray) -> np.ndarray:
        """(n,) largest Coulomb friction [N m or N]: near rest, in the stiffer direction."""
        found = pi[self._coulomb]
        slices = self.table.term_slices
        if "dead_band" in slices:
            found = found + np.maximum(pi[slices["dead_band"]], 0.0)
        if "friction_by_direction" in slices:
            parts = pi[slices["friction_by_direction"]].reshape(-1, self.table.n)
            found = found + parts[2:].max(axis=0, initial=0.0)      # the viscous ones come first
        return found

    @cached_property
    def thrust_is_exact(self) -> bool:
        """Whether the model takes the measured wrench as the true one."""
        return "thrust_by_direction" not in self.table.term_slices

    def needed_wrench(self, tau: np.ndarray, pi: np.ndarray) -> np.ndarray:
        """(C,) efforts that act when tau (C,) is measured or commanded; inverse of
        `measured_wrench`."""
        if self.thrust_is_exact:
            return tau
        tau = tau.copy()
        tau[:6] += pi[self.table.term_slices["thrust_by_direction"]] * np.abs(tau[:6])
        return tau

    def measured_wrench(self, tau: np.ndarray, pi: np.ndarray) -> np.ndarray:
        """(C,) measured or commanded efforts when efforts tau (C,) act; they differ only with term
        set 'thrust_by_direction'."""
        if self.thrust_is_exact:
            return tau
        tau = tau.copy()
        tau[:6] /= 1.0 + pi[self.table.term_slices["thrust_by_direction"]] * np.sign(tau[:6])
        return tau

    def default_noise(self, config: Config) -> np.ndarray:
        """(C,) initial noise standard deviation [N, N m]."""
        if config.estimation.noise_stddev:
            return np.array(config.estimation.noise_stddev)
        return self._usual_noise

    @cached_property
    def negligible(self) -> np.ndarray:
        """(C,) effort [N, N m] on each channel that is negligible for a robot of this size."""
        return NEGLIGIBLE_NOISE * self._usual_noise

    @cached_property
    def _usual_noise(self) -> np.ndarray:
        head = np.array([2.0] * 3 + [0.5] * 3)[self.vehicle_rows] * size_factors(
            self.table.weight_limits, self.units[self.vehicle_rows])
        limits = np.where(np.isfinite(self.effort_limits), self.effort_limits, 2.0)
        return read_only(np.concatenate([head, 0.05 * limits]))


def _table(config: Config, arm: ManipulatorModel | None) -> ParameterTable:
    robot = config.robot
    if arm is None:
        return ParameterTable(robot.vehicle, (), (), (), (), robot.all_terms, weight_limits(config))
    mass, length = arm.reference_sizes()
    return ParameterTable(robot.vehicle, robot.joints, arm.prismatic,
                          robot.link_reference_mass or tuple(mass.tolist()),
                          robot.link_reference_length or tuple(length.tolist()),
                          robot.all_terms, weight_limits(config))
