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

"""Random estimates that a body in water could have, random motions, and wrenches from first
principles, with which the exports are compared."""
from functools import cache

import numpy as np

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.export.identified import Identified
from uvms_adaptive_dynamics.model.parameter_set import ParameterSet
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.model.vehicle import vehicle_regressor

CONFIG = Config()
FLIP = np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0])     # FRD to FLU, and back


@cache
def robot_of(config):
    return RobotModel.from_config(config)


def estimate(seed=0, config=CONFIG, mass=None, symmetric=False, **changes):
    """A random estimate; symmetric: of a hull without the terms that formats with a diagonal added
    mass cannot hold; changes: parameters by name."""
    rng, robot = np.random.default_rng(seed), robot_of(config)
    values = np.zeros(robot.table.size)
    if config.robot.vehicle:
        coupling = rng.uniform(-0.4, 0.4)
        other = -coupling if symmetric else rng.uniform(-0.4, 0.4)
        weight = rng.uniform(95, 125)
        values[robot.table.paper_slice] = [
            *rng.uniform(18, 40, 3), coupling, other, other, coupling, *rng.uniform(0.3, 0.5, 3),
            *-rng.uniform(0, 40, 3), *-rng.uniform(0, 2, 3), *-rng.uniform(0, 60, 3),
            *-rng.uniform(0, 3, 3), weight, weight + rng.uniform(-5, 5), *rng.normal(0, 1, 3)]
    for j in range(robot.table.n):
        values[robot.table.link_slice(j)] = [*point_masses(rng), *rng.uniform(0, 2, 2)]
    names = robot.table.names
    for name, value in changes.items():
        values[names.index(name)] = value
    return Identified(config, robot, ParameterSet(names, values), mass)


def point_masses(rng):
    """The ten rigid parameters of twenty point masses, summed up one by one."""
    total = np.zeros(10)
    for m, r in zip(rng.uniform(0, 0.05, 20), rng.normal(0.02, 0.05, (20, 3))):
        x, y, z = r
        total += m * np.array([1, x, y, z, y * y + z * z, x * x + z * z, x * x + y * y, -x * y,
                               -x * z, -y * z])
    return total


def motions(seed=1, count=20):
    """(roll-pitch-yaw, R_nb, nu, nu_dot) in FRD and NED."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        angles = rng.uniform(-1.2, 1.2, 3)
        yield angles, from_rpy(*angles), rng.uniform(-1.5, 1.5, 6), rng.uniform(-2, 2, 6)


def wrench_of(identified, R_nb, nu, nu_dot):
    """(6,) in FRD, by the regressor that the estimate belongs to."""
    pi = identified.values[identified.robot.table.paper_slice]
    return vehicle_regressor(nu, nu_dot, R_nb) @ pi


def rigid_wrench(mass, centre, inertia, nu, nu_dot):
    """Newton's and Euler's laws about the centre of mass; (6,) about the origin, any axes."""
    v, w, v_dot, w_dot = nu[:3], nu[3:], nu_dot[:3], nu_dot[3:]
    force = mass * (v_dot + np.cross(w, v) + np.cross(w_dot, centre)
                    + np.cross(w, np.cross(w, centre)))
    torque = inertia @ w_dot + np.cross(w, inertia @ w) + np.cross(centre, force)
    return np.concatenate([force, torque])


def added_wrench(added, nu, nu_dot):
    """Kirchhoff's equations of the fluid's momentum added @ nu."""
    p, rate, w = added @ nu, added @ nu_dot, nu[3:]
    return rate + np.concatenate([np.cross(w, p[:3]), np.cross(w, p[3:]) + np.cross(nu[:3], p[:3])])


def held_wrench(force, centre):
    """(6,) wrench that holds a body against a force (3,) at `centre`."""
    return -np.concatenate([force, np.cross(centre, force)])


def close(a, b):
    """Equal to 1e-9 of the larger entries."""
    return np.abs(np.asarray(a) - b).max() <= 1e-9 * max(np.abs(b).max(), 1.0)
