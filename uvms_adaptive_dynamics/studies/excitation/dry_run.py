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

"""Dry run of a designed motion: the example controller flies it on the simulated robot with DVL,
IMU, depth and joint sensors only. Gives the true use of every limit, and samples to learn from."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from rosbags.typesys import Stores, get_typestore

from ...config import Config
from ...control.desired_motion import DesiredMotion, placed
from ...control.excitation.limits import MotionLimits
from ...control.excitation.trajectory import Trajectory, approach
from ...control.feedforward import Feedforward, effort_limits
from ...control.motion_controller import MotionController, gains_for
from ...control.state_filter import StateFilter
from ...model.parameter_set import ParameterSet
from ...model.prior import prior_from_config
from ...model.robot import RobotModel
from ...model.rotations import from_rpy
from ...model.sample import Sample
from ...model.thrust_curve import ThrustCurve
from ...signals.decode.decoder import Decoder
from ...signals.front_end import SignalFrontEnd
from ...simulation.bag import DEFAULT_START, received
from ...simulation.faults.stream import Received
from ...simulation.robot import SimulatedRobot
from ...simulation.true_robot import TrueRobot
from ..sensing import sense

DRY_RUN_PERIOD = 0.02  # [s] of the controller, the period of the robot's own commands
RESTING_TIME = 3.0  # [s] at rest before the arm moves to the motion's start, and after that
STILL_TIME = 1.0    # [s] before the motion starts over which the holding effort is averaged


@dataclass
class DryRun:
    """Result of a dry run. uses: shares (k,) of each limit by name at times t (k,) [s] from the
    motion's start; wanted, true (k, 6 + n) coordinates; samples of the front end. held_back: for
    actuators that need more to hold the robot at the motion's start than the whole motion may use,
    the share of their limit; the motion was then not flown, and the samples cover the approach."""

    t: np.ndarray
    uses: dict[str, np.ndarray]
    wanted: np.ndarray
    true: np.ndarray
    samples: list[Sample]
    held_back: dict[str, float] = field(default_factory=dict)

    @property
    def largest(self) -> dict[str, float]:
        """Largest share of each limit; 1 is at the limit."""
        return {name: float(share.max()) for name, share in self.uses.items()}

    @property
    def touched(self) -> tuple[str, ...]:
        """Limits that were touched."""
        return tuple(name for name, share in self.largest.items() if share >= 1.0)


def dry_run(config: Config, model: RobotModel, trajectory: Trajectory, limits: MotionLimits,
            known: ParameterSet, seed: int, individual: int = 0,
            holds_back: bool = False, true_robot: TrueRobot | None = None) -> DryRun:
    """Fly the motion on the simulated robot of a seed, `true_robot` if given. A learnt estimate
    serves as feedforward; a prior does not, since its restoring moment, wrong by three, would tilt
    the robot further than wanted, while a PID alone falls short.

    limits: must not be touched. The robot starts at rest, at the depth of its own motion, with its
    arm in the middle of its ranges. holds_back: do not fly the motion if holding still at its start
    takes too much effort, like the node `identify`.
    """
    curve = ThrustCurve.of_settings(config.thrusters)
    robot = SimulatedRobot(seed, None, true_robot, start_ns=round(DEFAULT_START * 1e9),
                           truth_period=None, individual=individual)
    place, heading = robot.physics.position.copy(), float(robot.motion.centre[5])
    mu = limits.middle[6:]
    robot.physics.set_state(place, from_rpy(0.0, 0.0, heading), mu)
    way, arm = approach(model.joints, mu, trajectory.posture, 0.5 * limits.joint_speed)
    begin = RESTING_TIME + way + RESTING_TIME
    wanted = _wanted(trajectory, place, heading, arm, begin)
    nominal = prior_from_config(config, model)
    learnt = known.covariance is not None
    feedforward = Feedforward(model, known, config.with_values(
        {"feedforward.fallback": "prior"})) if learnt else None
    controller = MotionController(config, feedforward, gains_for(nominal, model.joints), wanted,
                                  curve, effort_limits(model, config), DRY_RUN_PERIOD)
    filter_, front_end = StateFilter(config, place), SignalFrontEnd(config, model)
    decoder, store = Decoder(config), get_typestore(Stores.ROS2_JAZZY)
    samples: list[Sample] = []
    rows, still = [], []
    robot.command_wrench(np.zeros(6))
    robot.command_joint_torque(np.zeros(len(model.joints)))
    for k in range(1, math.ceil((begin + trajectory.duration + 1.0) / DRY_RUN_PERIOD)):
        t = k * DRY_RUN_PERIOD
        _hear(received(robot.advance(t), store), filter_, decoder, front_end)
        samples += front_end.samples()
        state = filter_.motion(DEFAULT_START + t)
        if state is None:
            robot.command_wrench(np.zeros(6))
            robot.command_joint_torque(np.zeros(len(model.joints)))
            continue
        command = controller.command(DEFAULT_START + t, state)
        robot.command_pwm(command.pwm)
        robot.command_joint_torque(command.joint_torque)
        if holds_back and begin - STILL_TIME <= t < begin:
            still.append(command.effort)
        if t >= begin and still:
            beyond = limits.beyond_at_rest(np.mean(still, axis=0), config)
            if beyond:
                empty = np.zeros((0, 6 + len(model.joints)))
                return DryRun(np.zeros(0), {}, empty, empty, samples, beyond)
            still = []
        if t >= begin:
            low, high = curve.limits(robot.voltage(t))
            thrust = curve.thrust(command.pwm, robot.voltage(t))
            rows.append((t - begin, *_state(robot, place, heading),
                         np.maximum(thrust / high, thrust / low),
                         np.abs(command.joint_torque) / robot.physics.torque_limit))
    return _summed(trajectory, limits, rows,
                   [sample for sample in samples if sample.t >= DEFAULT_START + begin])


def _wanted(trajectory: Trajectory, place: np.ndarray, heading: float,
            arm: Callable[[float], DesiredMotion], begin: float) -> Callable[[float],
                                                                            DesiredMotion]:
    """Rest, approach of the arm, rest, and the motion, at times since the epoch."""
    moved = trajectory.placed(place, heading)

    def at(t: float) -> DesiredMotion:
        t -= DEFAULT_START
        if t >= begin:
            return moved(t - begin)
        return placed(arm(t - RESTING_TIME), place, heading)
    return at


def _hear(messages: Iterable[Received], filter_: StateFilter, decoder: Decoder,
          front_end: SignalFrontEnd) -> None:
    for message in messages:
        if message.role in front_end.inputs:    # the simulated robot has all sensors
            front_end.add_message(message.role, message.message, message.t)
        sense(filter_, decoder, message)


def _state(robot: SimulatedRobot, place: np.ndarray,
           heading: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """True (coordinates (6 + n,), R_nb, nu, mu_dot), relative to the start."""
    physics, turn = robot.physics, from_rpy(0.0, 0.0, heading)
    R = turn.T @ physics.R_nb
    angles = [math.atan2(R[2, 1], R[2, 2]), -math.asin(max(min(R[2, 0], 1.0), -1.0)),
              math.atan2(R[1, 0], R[0, 0])]
    coordinates = np.concatenate([turn.T @ (physics.position - place), angles, physics.mu])
    return coordinates, R, physics.nu.copy(), physics.mu_dot.copy()


def _summed(trajectory: Trajectory, limits: MotionLimits, rows: list[tuple],
            samples: list[Sample]) -> DryRun:
    t, true, R, nu, mu_dot, thrust, torque = (np.array(column) for column in zip(*rows))
    true[:, 5] = np.unwrap(true[:, 5])
    zeros = np.zeros_like(nu)
    uses = limits.motion_uses(true, DesiredMotion(true[:, :3], R, nu, zeros, true[:, 6:], mu_dot,
                                                  np.zeros_like(mu_dot)))
    uses |= dict(zip(limits.effort_names, np.concatenate([thrust, torque], axis=1).T))
    return DryRun(t, uses, trajectory.coordinates_at(t)[0], true, samples)
