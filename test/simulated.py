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

"""Robots and runs of the simulation that several tests share."""

from dataclasses import replace

import numpy as np
import pinocchio as pin

from uvms_adaptive_dynamics.simulation.physics import Instant, Physics
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot

G = TrueRobot().gravity
POSE = np.array([3.0, 1.8, 1.7, 2.8])  # joints, far from every stop
SPEED = np.array([0.3, -0.2, 0.15, 0.2, -0.15, 0.3])
JOINT_SPEED = np.array([0.3, -0.2, 0.35, 0.5])
START_NS = 1_800_000_000 * 10**9
DEFAULT_ROBOT = TrueRobot()


def without_losses(robot=DEFAULT_ROBOT):
    """The robot without damping, drag and friction."""
    none, no_damping = (0.0,) * 4, np.zeros((6, 6))
    links = tuple(replace(link, drag=(0.0, 0.0, 0.0)) for link in robot.links)
    return replace(robot, linear_damping=no_damping, quadratic_damping=no_damping, viscous=none,
                   coulomb=none, static=none, links=links)


def in_vacuum(robot=DEFAULT_ROBOT):
    """The robot without losses and without water: rigid bodies alone, rotors without inertia."""
    dry = without_losses(robot)
    return replace(dry, added_mass=np.zeros((6, 6)), buoyancy=0.0, rotor_inertia=(0.0,) * 4,
                   water_density=0.0)


def let_go(robot, seconds, dt=0.0025):
    """Free motion from a state that moves on every axis."""
    physics = Physics(robot, dt)
    physics.set_state([1.0, 2.0, 5.0], pin.rpy.rpyToMatrix(0.2, -0.15, 0.7), POSE, SPEED,
                      JOINT_SPEED)
    for _ in range(round(seconds / dt)):
        physics.step(np.zeros(6), np.zeros(4))
    return physics


def instant(R_nb=None, nu=None, nu_dot=None, depth=5.0):
    """An instant with the arm at rest; by default the vehicle is level and at rest too."""
    return Instant(
        0.0,
        np.array([0.0, 0.0, depth]),
        np.eye(3) if R_nb is None else R_nb,
        np.zeros(6) if nu is None else nu,
        np.zeros(6) if nu_dot is None else nu_dot,
        POSE,
        np.zeros(4),
        np.zeros(4),
        np.zeros(6),
        np.zeros(4),
    )


def of(messages, topic):
    """The messages of one topic."""
    return [m for m in messages if m.topic == topic]
