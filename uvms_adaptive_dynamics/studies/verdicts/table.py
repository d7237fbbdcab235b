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

"""The recordings for the verdicts: those used to develop the rules, and final ones.

Half are good: other robots of the kind, other vehicles, normal sensor behaviour at sea. Half are
spoilt, each in one way. None of the final ones was looked at before the rules were fixed.
"""
from __future__ import annotations

import math

from ...simulation.faults.clocks import Clock
from ...simulation.faults.delivery import Frozen, Lagging
from ...simulation.faults.kinds import TurnedImu, combined
from ...simulation.faults.stream import Fault
from ...simulation.faults.values import (
    Rewritten,
    altered,
    at_times,
    one_of,
    plus,
    swapped,
    times,
    without_dead_zone,
)
from ...simulation.rough import ROUGH_PARTS
from .case import Setup

VEHICLE_AXES, ARM_JOINTS = 6, 4
NO_ARM = {"robot.joints": ()}


def _weaker(*thrusters: int, share: float = 0.0) -> dict:
    """Parameters of the true robot with a share of these thrusters' thrust, counted from 1."""
    return {"thrust_share": tuple(share if k in thrusters else 1.0 for k in range(1, 9))}


def _still(*axes: int) -> tuple[float, ...]:
    """Shares with which all axes and joints move except these."""
    return tuple(0.0 if k in axes else 1.0 for k in range(VEHICLE_AXES + ARM_JOINTS))


def _bumps(joint: int, torque: float, *begins: float) -> tuple[Fault, ...]:
    """The arm leans on something for 4 s from each of the times [s] on."""
    return tuple(altered("effort", one_of(joint, plus(torque)), t, t + 4.0) for t in begins)


def _outliers(share: float) -> tuple[Fault, ...]:
    """A share of efforts and DVL velocities is replaced by noise as large as the signal."""
    return (altered("effort", at_times(share, lambda v, rng: rng.normal(0.0, 1.0, v.size))),
            altered("velocity", at_times(share, lambda v, rng: rng.normal(0.0, 0.5, v.size))))


def _mirrored(commands, rng):
    return 3000.0 - commands


def _turned(**angles: float) -> tuple[Fault, ...]:
    """An IMU mounted with a rotation by angles [deg]."""
    return (Rewritten("imu", change=TurnedImu(**{k: math.radians(v) for k, v in angles.items()})),)


DEVELOPMENT_CASES = (Setup("as configured", True), Setup("as configured, again", True),
                     Setup("another robot", True, individual=1),
                     Setup("another robot, again", True, individual=2), Setup("40 s", True, 40.0),
                     Setup("80 s of another robot", True, 80.0, individual=3),
                     Setup("outliers, bursts, spikes", True,
                           faults=combined(("outliers", "bursts", "spikes"))),
                     Setup("sensors drop out", True, 60.0, faults=combined(("dropouts",))),
                     Setup("no arm", True, publish=NO_ARM),
                     Setup("damping off the diagonal doubled", True, rough=ROUGH_PARTS["damping"]),
                     Setup("joints .15 s late", False, faults=(Lagging("joint_states", lag=0.15),)),
                     Setup("joints .3 s late", False, faults=(Lagging("joint_states", lag=0.3),)),
                     Setup("imu .1 s late", False, faults=(Lagging("imu", lag=0.1),)),
                     Setup("dvl .15 s late", False, faults=(Lagging("dvl", lag=0.15),)),
                     Setup("commands .1 s late", False, faults=(Lagging("thrusters", lag=0.1),)),
                     Setup("effort of axis_d doubled", False,
                           faults=(altered("effort", one_of(1, times(2.0))),)),
                     Setup("all efforts doubled", False, faults=(altered("effort", times(2.0)),)),
                     Setup("dvl 1.3 times too fast", False,
                           faults=(altered("velocity", times(1.3)),)),
                     Setup("imu pitched by 10 degrees", False, faults=_turned(pitch=10.0)),
                     Setup("thrusters 2 and 3 exchanged", False,
                           faults=(altered("commands", swapped(1, 2)),)),
                     Setup("thrust 30 % less than the curve", False,
                           robot=_weaker(*range(1, 9), share=1 / 1.3)),
                     Setup("thruster 5 dead", False, robot=_weaker(5)),
                     Setup("motor 2 turns the other way", False,
                           faults=(altered("commands", one_of(1, _mirrored)),)),
                     Setup("joint states frozen from 15 s on", False,
                           faults=(Frozen("joint_states", 15.0),)),
                     Setup("gravity 9.3", False, settings={"robot.gravity": 9.3}),
                     Setup("depth decreases downwards", False,
                           faults=(altered("pressure", lambda v, rng: 2 * 150000.0 - v),)),
                     Setup("arm leans on something", False,
                           faults=_bumps(1, 0.5, 15.0, 28.0, 40.0)),
                     Setup("40 % outliers", False, faults=_outliers(0.4)),
                     Setup("a tenth of the motion", False,
                           motion=(0.1,) * (VEHICLE_AXES + ARM_JOINTS)),
                     Setup("heave never moved", False, motion=_still(2)),
                     Setup("arm mounted 0.15 m aside", False,
                           settings={"robot.mount_xyz": (0.19, 0.15, -0.12)}),
                     Setup("arm mount turned by 20 degrees", False,
                           settings={"robot.mount_rpy": (math.pi, 0.0, math.radians(20.0))}),
                     Setup("dead zone of 25 us that the thrusters' curve lacks", False,
                           faults=(altered("commands", without_dead_zone(25.0, 1500.0)),)))
# A different frame, world, unit, type and order of nearly everything.
FOREIGN = {"imu.world": "ned", "dvl.frame": "flu", "dvl.type": "geometry_msgs/msg/TwistStamped",
           "depth.unit": "hPa", "joint_states.unit": "deg",
           "thrusters.type": "mavros_msgs/msg/RCOut",
           "thrusters.channels": tuple(k + 9.0 for k in range(8)),
           "thrusters.signs": (1.0, 1.0, -1.0, 1.0, 1.0, 1.0, -1.0, 1.0)}
FINAL_CASES = (Setup("as configured", True), Setup("another robot", True, individual=4),
               Setup("a third robot, 45 s", True, 45.0, individual=5),
               Setup("a fourth robot, 70 s", True, 70.0, individual=6),
               Setup("a fifth robot", True, individual=7),
               Setup("a sixth robot, 60 s", True, 60.0, individual=8),
               Setup("outliers, bursts, spikes", True, individual=1,
                     faults=combined(("outliers", "bursts", "spikes"))),
               Setup("sensors drop out", True, 60.0, individual=2, faults=combined(("dropouts",))),
               Setup("no arm", True, publish=NO_ARM),
               Setup("damping off the diagonal doubled", True, individual=9,
                     rough=ROUGH_PARTS["damping"]),
               Setup("other topics, units, axes, order", True, publish=FOREIGN),
               Setup("clock of the dvl 5 s ahead", True, individual=3,
                     faults=(Clock("dvl", offset=5.0),)),
               Setup("clock of the arm drifts by 2 ms/s", True,
                     faults=(Clock("joint_states", drift=0.002),)),
               Setup("joints .2 s late", False, faults=(Lagging("joint_states", lag=0.2),)),
               Setup("imu .15 s late", False, individual=4, faults=(Lagging("imu", lag=0.15),)),
               Setup("dvl .25 s late", False, individual=5, faults=(Lagging("dvl", lag=0.25),)),
               Setup("commands .15 s late", False, individual=6,
                     faults=(Lagging("thrusters", lag=0.15),)),
               Setup("effort of axis_c 1.8 times", False,
                     faults=(altered("effort", one_of(2, times(1.8))),)),
               Setup("dvl .8 times as fast", False, individual=7,
                     faults=(altered("velocity", times(0.8)),)),
               Setup("arm leans on something", False, faults=_bumps(2, 0.4, 12.0, 25.0, 38.0)),
               Setup("thrusters 5 and 8 exchanged", False,
                     faults=(altered("commands", swapped(4, 7)),)),
               Setup("thruster 3 dead", False, individual=8, robot=_weaker(3)),
               Setup("motor 7 turns the other way", False,
                     faults=(altered("commands", one_of(6, _mirrored)),)),
               Setup("joint states frozen from 20 s on", False,
                     faults=(Frozen("joint_states", 20.0),)),
               Setup("thrust 30 % more than the curve", False,
                     robot=_weaker(*range(1, 9), share=1.3)),
               Setup("yaw never moved", False, motion=_still(5)),
               Setup("arm mount turned by 25 degrees", False, individual=9,
                     settings={"robot.mount_rpy": (math.pi, 0.0, math.radians(-25.0))}),
               Setup("40 % outliers", False, individual=1, faults=_outliers(0.4)))
TABLES = {"development": DEVELOPMENT_CASES, "final": FINAL_CASES}
