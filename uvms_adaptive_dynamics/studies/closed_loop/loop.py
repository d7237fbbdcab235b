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

"""One closed-loop run: simulated robot, sensors, state filter, controller, and its knowledge of the
dynamics."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from rosbags.typesys import Stores, get_typestore

from ...config import Config
from ...control.desired_motion import DesiredMotion, desired_motion
from ...control.feedforward import Feedforward, effort_limits
from ...control.motion_controller import ControlCommand, Gains, MotionController
from ...control.state_filter import StateFilter
from ...model.robot import RobotModel
from ...model.rotations import to_rotation_vector
from ...model.thrust_curve import ThrustCurve
from ...signals.decode.decoder import Decoder
from ...simulation.bag import DEFAULT_START, received
from ...simulation.carrying import CarryingMotion
from ...simulation.faults.stream import Received
from ...simulation.robot import SimulatedRobot
from ..sensing import sense

CONTROL_PERIOD = 0.01  # [s] of the controller


class CarriedPayload(NamedTuple):
    """A payload of `mass` [kg], picked up and dropped at the given times [s] of the run."""

    mass: float
    picked_up: float
    dropped: float


class KnowledgeSource(Protocol):
    """Updates the feedforward during a run."""

    def add_message(self, message: Received) -> None:
        """Receive a sensor message of the robot."""

    def update_feedforward(self, t: float, feedforward: Feedforward) -> None:
        """Update the feedforward at time t [s since the epoch], before the controller's call."""


@dataclass
class TrackingErrors:
    """Errors of one run, one row per controller period.

    t (k,) [s] from the start; position (k, 3) NED [m] wanted less dead reckoning, the error that a
    controller can act on; true_position (k, 3) wanted less true; attitude (k, 3) [rad], the
    rotation vector from true to wanted; joints (k, n) [rad] wanted less true; effort, feedforward
    (k, C) [N, N m] requested; source of the feedforward; limited: thrusters at their limit.
    """

    t: np.ndarray
    position: np.ndarray
    true_position: np.ndarray
    attitude: np.ndarray
    joints: np.ndarray
    effort: np.ndarray
    feedforward: np.ndarray
    source: list[str]
    limited: np.ndarray

    def norms(self) -> dict[str, np.ndarray]:
        """Norms over all axes of the errors of position [m], attitude [rad] and arm [rad]."""
        return {"position": np.linalg.norm(self.position, axis=1),
                "attitude": np.linalg.norm(self.attitude, axis=1),
                "joints": np.linalg.norm(self.joints, axis=1),
                "true position": np.linalg.norm(self.true_position, axis=1)}


def _track(rows: list[tuple]) -> TrackingErrors:
    t, position, true_position, attitude, joints, effort, feedforward, source, limited = zip(*rows)
    return TrackingErrors(np.array(t), np.array(position), np.array(true_position),
                          np.array(attitude), np.array(joints), np.array(effort),
                          np.array(feedforward), list(source), np.array(limited))


def run_loop(config: Config, model: RobotModel, seed: int, duration: float, gains: Gains,
             feedforward: Feedforward | None, knowledge: KnowledgeSource | None = None,
             payload: CarriedPayload | None = None) -> TrackingErrors:
    """Errors over `duration` [s] of the simulated robot of a seed, which follows its own motion
    under the example controller.

    feedforward None: PID alone. The same seed gives the same motion and the same sensor noise,
    whatever drives the robot.
    """
    robot = SimulatedRobot(seed, duration, start_ns=round(DEFAULT_START * 1e9), truth_period=None)
    limits = effort_limits(model, config)
    wanted = _wanted(robot)
    controller = MotionController(config, feedforward, gains, wanted,
                                  ThrustCurve.of_settings(config.thrusters), limits,
                                  CONTROL_PERIOD)
    filter_ = StateFilter(config, robot.physics.position)
    decoder, store = Decoder(config), get_typestore(Stores.ROS2_JAZZY)
    rows: list[tuple] = []
    for k in range(1, round(duration / CONTROL_PERIOD) + 1):
        t = k * CONTROL_PERIOD
        if payload is not None:
            _handle(robot, payload, t)
        for message in received(robot.advance(t), store):
            if knowledge is not None:
                knowledge.add_message(message)
            sense(filter_, decoder, message)
        state = filter_.motion(DEFAULT_START + t)
        if state is None:
            continue
        if knowledge is not None and feedforward is not None:
            knowledge.update_feedforward(DEFAULT_START + t, feedforward)
        command = controller.command(DEFAULT_START + t, state)
        robot.command_pwm(command.pwm)
        robot.command_joint_torque(command.joint_torque)
        rows.append(_row(t, wanted(DEFAULT_START + t), robot, state.position, command))
    return _track(rows)


def _wanted(robot: SimulatedRobot) -> Callable[[float], DesiredMotion]:
    """The robot's own motion with an arm that can carry, at times since the epoch."""
    motion = CarryingMotion(robot.motion)

    def at(t: float) -> DesiredMotion:
        return desired_motion(*motion.at(t - DEFAULT_START))
    return at


def _handle(robot: SimulatedRobot, payload: CarriedPayload, t: float) -> None:
    held = payload.mass if payload.picked_up <= t < payload.dropped else 0.0
    if robot.robot.payload_mass != held:
        robot.grip(held)


def _row(t: float, wanted: DesiredMotion, robot: SimulatedRobot, reckoned: np.ndarray,
         command: ControlCommand) -> tuple:
    physics, given = robot.physics, command.feedforward
    return (t, wanted.position - reckoned, wanted.position - physics.position,
            to_rotation_vector(physics.R_nb.T @ wanted.R_nb), wanted.mu - physics.mu,
            command.effort, np.zeros(command.effort.size) if given is None else given.tau,
            "nothing" if given is None else given.source, command.limited)


def rms(values: np.ndarray, t: np.ndarray, window: tuple[float, float]) -> float:
    """Root mean square of values (k,) in a window [s] of times t (k,)."""
    inside = (t >= window[0]) & (t < window[1])
    return math.sqrt(float(np.mean(values[inside] ** 2)))
