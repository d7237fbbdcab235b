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

"""The prior: from a parameter file, or from published figures and the URDF; also priors that are
wrong on purpose, for tests and studies."""
from __future__ import annotations

import numpy as np

from ..config import AUTO, Config
from .parameter_file import load_parameters
from .parameter_set import ParameterSet
from .parameters import FRICTION, RIGID
from .robot import RobotModel
from .term_sets import Sizes
from .vehicle_size import BLUEROV2_WU2018

# Viscous friction of the Alpha 5, measured on hardware [N m s/rad].
ALPHA5_VISCOUS = {"axis_e": 2.4, "axis_d": 2.2, "axis_c": 0.8, "axis_b": 0.36}
DEFAULT_VISCOUS, DEFAULT_COULOMB = 1.0, 0.1
# assumed for an unknown link: density [kg/m^3], thickness over length
WATER, SLENDER = 1000.0, 0.25


def prior_from_config(config: Config, robot: RobotModel) -> ParameterSet:
    """The prior chosen by the settings, in the table's order (not necessarily in P yet).

    AUTO gives the built-in prior here; starting from a saved state is up to the node.
    """
    if config.prior.file not in ("", AUTO):
        source = f"prior.file '{config.prior.file}'"
        return load_parameters(config.prior.file).for_table(robot.table, source)
    table = robot.table
    values = np.zeros(table.size)
    if table.vehicle:
        values[table.paper_slice] = BLUEROV2_WU2018 * robot.vehicle_size[table.paper_slice]
    inertials = robot.arm.inertials() if robot.arm is not None else np.zeros((0, 10))
    for j, joint in enumerate(table.joints):
        link = values[table.link_slice(j)]
        link[RIGID] = inertials[j]
        viscous = config.prior.friction_viscous
        coulomb = config.prior.friction_coulomb
        link[FRICTION] = (viscous[j] if viscous else ALPHA5_VISCOUS.get(joint, DEFAULT_VISCOUS),
                          coulomb[j] if coulomb else DEFAULT_COULOMB)
    return ParameterSet(table.names, values,
                        robot={"joints": list(table.joints), "vehicle": table.vehicle})


def perturbed(prior: ParameterSet, factor: float, seed: int) -> ParameterSet:
    """A prior wrong by `factor`: every parameter times factor or 1/factor at random (not projected
    onto P)."""
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=prior.values.size)
    return ParameterSet(prior.names, prior.values * factor ** signs, None, prior.noise_stddev,
                        prior.robot)


def prior_stddev(values: np.ndarray, robot: RobotModel, relative: float) -> np.ndarray:
    """(p,) standard deviation of a prior: `relative` times the typical value for a body of the
    robot's size, or times the prior's value if that is larger.

    A value near zero, or wrong by orders of magnitude, does not show how wrong it is; sizes do.
    Links: mass, mass x length and mass x length^2 of a link as long as the distance to the next
    joint and as heavy as the arm's mean link, but at least a rod of water a quarter as thick as it
    is long. Friction: from the joint's effort limit (`_of_limits`). Vehicle: the table's scales,
    adapted to its weight (`vehicle_size`). Further parameters: by their term set, those of the
    vehicle adapted to its weight.
    """
    table = robot.table
    size = table.scale.copy()
    if robot.arm is not None:
        length = np.maximum(table.reference_length, robot.arm.link_lengths)
        rods = WATER * np.pi / 4 * SLENDER ** 2 * robot.arm.link_lengths ** 3
        mass = np.maximum(table.reference_mass, max(np.mean(table.reference_mass), np.mean(rods)))
        friction = _of_limits(robot)
        for j in range(table.n):
            m, l = mass[j], length[j]
            size[table.link_slice(j)] = np.maximum(
                size[table.link_slice(j)],
                [m] + [m * l] * 3 + [m * l ** 2] * 6 + [friction[0][j], friction[1][j]])
        sizes = Sizes(mass, length, *friction)
    else:
        sizes = Sizes(*np.zeros((4, 0)))
    for name, place in table.term_slices.items():
        size[place] = table.term_sets[name].stddev(table, sizes)
    size[table.vehicle_slice] *= robot.vehicle_size
    return relative * np.maximum(np.abs(values), size)


def _of_limits(robot: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations (n,) of viscous and Coulomb friction known only to stay below the joint's
    effort limit, viscous friction at the speed limit: those of a uniform distribution from zero to
    there. Zero if the URDF states no limit."""
    limit = np.where(np.isfinite(robot.effort_limits), robot.effort_limits, 0.0)
    coulomb = limit / np.sqrt(12)
    speed = robot.arm.speed_limits if robot.arm is not None else np.zeros(0)
    known = np.isfinite(speed) & (speed > 0)
    return np.where(known, coulomb / np.where(known, speed, 1.0), 0.0), coulomb
