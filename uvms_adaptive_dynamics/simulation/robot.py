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

"""The simulated robot: physics, controllers and sensors on one clock; messages by receive time."""
from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from ..model.thrust_curve import NEUTRAL_PWM_US, ThrustCurve
from .dock import Dock
from .individual import individual as individual_of
from .inputs import INPUT_TIMEOUT, ExternalInputs, checked_command
from .mishaps import Mishaps, PulledWater
from .motion import (
    ExcitingMotion,
    JointServo,
    Motion,
    ScaledMotion,
    VehicleController,
    body_velocity,
)
from .pauses import PausingMotion
from .physics import Instant, Physics
from .rough import (
    EvenThrusters,
    Roughness,
    RoughThrusters,
    RoughWater,
    StillWater,
    roughened,
)
from .sensors import Message, Sensors, between
from .true_robot import TrueRobot

COMMAND_PERIOD = 0.02  # [s] between thruster commands
FULL_COMMAND = 1900.0  # [us]
RUN_IN = 4.0  # [s] of motion before time zero
ENDLESS_BATTERY = 1800.0  # [s] battery life if no duration is given


class Truth(NamedTuple):
    """True states and efforts at whole multiples of the truth period since the epoch.

    t (k,) [s since the epoch]; R_nb (k, 3, 3) body FRD to NED; position (k, 3) NED [m]; nu, nu_dot
    (k, 6) body FRD; mu, mu_dot, mu_ddot, joint_torque (k, n); wrench (k, 6) of the thrusters, body
    FRD. SI units.
    """

    t: np.ndarray
    position: np.ndarray
    R_nb: np.ndarray
    nu: np.ndarray
    nu_dot: np.ndarray
    mu: np.ndarray
    mu_dot: np.ndarray
    mu_ddot: np.ndarray
    wrench: np.ndarray
    joint_torque: np.ndarray


class SimulatedRobot:
    """A robot in motion, by default a BlueROV2 Heavy with an Alpha 5; the same arguments give the
    same messages.

    seed            determines motion, noise, biases and the sensors' phases
    duration        [s] of the run, over which the battery sags; None for endless
    true_robot      the true parameters of the physics
    start_ns        [ns since the epoch] of the start
    dt              [s] step of the physics
    truth_period    [s] between rows of the truth log; None keeps no log
    individual      which robot of its kind; 0 is `true_robot` itself, and seeds do not change it
    rough           tether, current, uneven thrusters, pauses, a worse DVL; by default none
    input_timeout   [s] after which an external command expires
    motion_share    (6 + n,) share of each axis's and joint's excursion; empty: the full motion

    It follows its own motion until the first external command: `command_pwm` or `command_wrench`
    takes over the vehicle, `command_joint_torque` the arm.
    """

    def __init__(self, seed: int = 0, duration: float | None = None,
                 true_robot: TrueRobot | None = None, start_ns: int = 0, dt: float = 0.0025,
                 truth_period: float | None = 0.02, rough: Roughness = Roughness(),
                 individual: int = 0, input_timeout: float = INPUT_TIMEOUT,
                 motion_share: Sequence[float] = (), mishaps: Mishaps = Mishaps()):
        robot = individual_of(TrueRobot() if true_robot is None else true_robot, individual)
        self.robot = roughened(robot, rough)
        self.duration, self.start_ns = duration, int(start_ns)
        motion_rng, sensor_rng, water_rng, pause_rng = np.random.default_rng(seed).spawn(4)
        wanders = rough.tether_force or rough.current_speed
        water = RoughWater(rough, water_rng) if wanders else StillWater()
        self._mishaps = mishaps
        self.physics = Physics(self.robot, dt, PulledWater(water, mishaps.pulls, rough)
                               if mishaps.pulls else water,
                               Dock(mishaps.held) if mishaps.held else None)
        self.motion: Motion = ExcitingMotion(motion_rng, self.physics.lower, self.physics.upper,
                                             self.robot.top_speed, self.robot.posture,
                                             self.robot.depth)
        if self.robot.fixed_base:
            self.motion = ScaledMotion(self.motion, [0.0] * 6 + [1.0] * self.physics.n)
        if len(motion_share):
            self.motion = ScaledMotion(self.motion, motion_share)
        if rough.pauses:
            self.motion = PausingMotion(self.motion, pause_rng)
        self.curve = ThrustCurve.t200()
        self._thrusters = self._make_thrusters(rough, np.random.default_rng([individual, 1]))
        self._pilot = VehicleController(self.motion, self.curve, self.robot.allocation,
                                        COMMAND_PERIOD, self.robot.rotor_lag)
        self._servo = JointServo(self.physics)
        self._inputs = ExternalInputs(self.robot.allocation.shape[1], self.physics.torque_limit,
                                      input_timeout)
        self.sensors = Sensors(self.robot, sensor_rng, self.start_ns, rough)
        count = self.robot.allocation.shape[1]
        self._share = np.array(self.robot.thrust_share or (1.0,) * count)
        self._thrust = np.zeros(count)
        self._target = self._thrust
        self._decay = np.exp(-0.5 * dt / self.robot.rotor_lag)
        self._steps, self._steps_per_command = 0, max(1, round(COMMAND_PERIOD / dt))
        self._pending: list[tuple[int, int, Message]] = []    # by receive time
        self._sent = 0
        self._truth_ns = None if truth_period is None else round(truth_period * 1e9)
        self._truth: list[tuple[int, Instant]] = []
        self._last: Instant | None = None
        self._begin()

    def _make_thrusters(self, rough: Roughness,
                        rng: np.random.Generator) -> EvenThrusters | RoughThrusters:
        if not rough.asymmetry and not rough.interaction:
            return EvenThrusters()
        count = self.robot.allocation.shape[1]
        full = self.curve.thrust(np.full(count, FULL_COMMAND), self.robot.battery_full).max()
        return RoughThrusters(rough, rng, count, full)

    def _begin(self) -> None:
        """Start the motion before time zero, so that recordings show no controller transient."""
        start = self.motion.at(-RUN_IN)
        R_nb = pin.rpy.rpyToMatrix(*start.value[3:6])
        self.physics.set_state(start.value[:3], R_nb, start.value[6:], body_velocity(start, R_nb),
                               start.rate[6:])
        self.physics.restart_clock(-RUN_IN)
        while self.physics.t < -1e-9:
            self._move()
        self.physics.restart_clock(0.0)
        self._steps, self._last = 0, None

    def voltage(self, t: float) -> float:
        """Battery voltage [V] at t [s] from the start: it falls linearly, then stays constant."""
        lasts = ENDLESS_BATTERY if self.duration is None else self.duration
        full, empty = self.robot.battery_full, self.robot.battery_empty
        return full + (empty - full) * min(max(t / lasts, 0.0), 1.0)

    @property
    def t(self) -> float:
        """Simulated time [s] from the start."""
        return self.physics.t

    def restart_clock(self, start_ns: int) -> None:
        """Set simulated time zero to `start_ns` [ns since the epoch]; pending messages are lost."""
        self.start_ns = int(start_ns)
        self.sensors.restart_clock(self.start_ns)
        self._pending.clear()

    # --- external commands ------------------------------------------------------------------------

    def command_pwm(self, pwm: Sequence[float] | np.ndarray) -> None:
        """Drive the thrusters with (8,) PWM [us] from now on, applied at 50 Hz like all commands;
        raises MessageError for an invalid command."""
        self._inputs.set_pwm(self.t, pwm)

    def command_wrench(self, wrench: Sequence[float] | np.ndarray) -> None:
        """`command_pwm` with a wrench (6,) about the body origin, FRD [N, N m], which the robot's
        own mixer converts to PWM."""
        self._inputs.set_pwm(self.t, self._pilot.pwm(checked_command("wrench", wrench, 6)))

    def command_joint_torque(self, torque: Sequence[float] | np.ndarray) -> None:
        """Drive the joints with (n,) torques [N m] at the output shafts from now on."""
        self._inputs.set_joint_torque(self.t, torque)

    def float_freely(self) -> None:
        """Set thrusters neutral and joints limp until the next command."""
        self._inputs.set_pwm(self.t, np.full(self.robot.allocation.shape[1], NEUTRAL_PWM_US))
        self._inputs.set_joint_torque(self.t, np.zeros(self.physics.n))

    def grip(self, mass: float) -> None:
        """Hold a payload of `mass` [kg] in water from now on; 0 drops it.

        Velocities do not jump: the payload is assumed to move with the gripper already.
        """
        self.robot = replace(self.robot, payload_mass=mass, payload_volume=0.0)
        self.physics.change_links(self.robot)

    # --- time -------------------------------------------------------------------------------------

    def step(self) -> Instant:
        """Advance by one step with sensors and controllers; returns the step's midpoint."""
        command, instant = self._move()
        if command is not None:
            self._queue(command)
        if self._last is not None:
            for message in self.sensors.measure(self._last, instant):
                self._queue(message)
            self._log(self._last, instant)
        self._last = instant
        return instant

    def _move(self) -> tuple[Message | None, Instant]:
        """Step controllers, rotors and physics: (command sent if any, the step's midpoint)."""
        physics, t, command = self.physics, self.physics.t, None
        if self._steps % self._steps_per_command == 0:
            pwm = self._inputs.pwm(t)
            if pwm is None:
                pwm = self._pilot.command(t, physics.position, physics.R_nb, physics.nu)
            self._target = self.curve.thrust(pwm, self.voltage(t))
            command = self.sensors.thruster_command(t, pwm)
        torque = self._inputs.joint_torque(t)
        if torque is None:
            torque = self._servo.torque(self.motion.at(t), physics.mu)
        middle = self._target + (self._thrust - self._target) * self._decay
        self._thrust = self._target + (middle - self._target) * self._decay
        self._steps += 1
        share = self._share
        if self._mishaps.failures:
            share = share * self._mishaps.thrust_share(t, len(share))
        wrench = self.robot.allocation @ (share * self._thrusters.thrust(middle))
        return command, physics.step(wrench, torque)

    def _queue(self, message: Message) -> None:
        heapq.heappush(self._pending, (message.receive_time, self._sent, message))
        self._sent += 1

    def _log(self, before: Instant, after: Instant) -> None:
        if self._truth_ns is None:
            return
        period, to_ns = self._truth_ns, lambda t: self.start_ns + round(t * 1e9)
        for k in range(to_ns(before.t) // period + 1, to_ns(after.t) // period + 1):
            instant = between(before, after, (k * period - self.start_ns) * 1e-9)
            self._truth.append((k * period, instant))

    def advance(self, until: float) -> Iterator[Message]:
        """Simulate until `until` [s from the start]; yields messages received by then, in order."""
        while self.physics.t < until - 1e-9:
            self.step()
            yield from self._received(self.start_ns + round(self.physics.t * 1e9))

    def _received(self, now_ns: int) -> Iterator[Message]:
        while self._pending and self._pending[0][0] <= now_ns:
            yield heapq.heappop(self._pending)[2]

    def __iter__(self) -> Iterator[Message]:
        """All messages of the run in order of reception; endless without a duration."""
        chunk = 0
        while self.duration is None or self.physics.t < self.duration - 1e-9:
            chunk += 1
            until = chunk if self.duration is None else min(chunk, self.duration)
            yield from self.advance(until)
        while self._pending:
            yield heapq.heappop(self._pending)[2]

    def truth(self) -> Truth:
        """The truth log so far, as arrays on its time grid."""
        stamps, rows = [k for k, _ in self._truth], [x for _, x in self._truth]
        columns = (np.array([getattr(x, name) for x in rows]) for name in Truth._fields[1:])
        return Truth(np.array(stamps, dtype=float) * 1e-9, *columns)
