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

"""One guided run offline: simulated robot, sensors, pilot, guard, guide, estimator with its stages.

Everything runs on the robot's time: a design takes its allotted time, however long the machine
needs, so that the same seed gives the same run.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from rosbags.typesys import Stores, get_typestore

from ...config import Config
from ...control.desired_motion import DesiredMotion
from ...control.excitation.limits import MotionLimits
from ...control.excitation.trajectory import Trajectory
from ...control.feedforward import Feedforward
from ...control.guide import Guide, Request, StageView
from ...control.guided_design import designed
from ...control.motion_guard import Cause, GuardView, MotionGuard
from ...control.pilot import Pilot
from ...control.stage_runner import STAGE_COMPLETE, StageEnd, StageRunner
from ...control.stages import Schedule
from ...control.state_filter import MotionState, StateFilter
from ...errors import ParameterError
from ...estimation.prediction import Estimate
from ...estimation.validity import FAILED
from ...model.parameter_set import ParameterSet
from ...model.robot import RobotModel
from ...model.rotations import FRD_FROM_FLU, from_rpy
from ...model.sample import Sample
from ...model.thrust_curve import ThrustCurve
from ...signals.decode.decoder import Decoder
from ...simulation.bag import DEFAULT_START, received
from ...simulation.faults.stream import Received
from ...simulation.robot import SimulatedRobot
from ..closed_loop.parameter_sources import Adapted
from ..sensing import sense

# [s] before the robot is armed, so that the filter has all sensors
ARMED_AFTER = 8.0
HEARD = ("imu", "dvl", "joint_states", "depth")
GUIDED_SOLVE_EVERY = 5  # ticks, as on a busy computer; every sample is learnt
USES_PERIOD = 0.1   # [s] sampling of the use of each limit


@dataclass
class GuidedRun:
    """Result of a run. parameters: final ones; seconds [s] of robot time while armed; cause: why it
    ended; ended: the stages; flown: stage name of each motion; uses: largest share of each limit
    that the true robot used; broken_off: number of motions broken off; notes: messages to the
    operator; standing_change: the last change of the robot that was found and not withdrawn."""

    parameters: ParameterSet
    seconds: float
    cause: Cause
    ended: list[StageEnd]
    flown: list[str]
    uses: dict[str, float]
    broken_off: int = 0
    notes: list[str] = field(default_factory=list)
    standing_change: str = ""


class _StagedEstimator(Adapted):
    """The estimator with its stages, on the same messages as the pilot."""

    def __init__(self, config: Config, model: RobotModel, prior: ParameterSet, schedule: Schedule,
                 say: Callable[[str], None]):
        super().__init__(config, model, prior)
        self.runner = StageRunner(schedule, self.estimator, say)
        self.runner.wait()      # until the robot is armed
        self._say = say
        self._ticks = self._changes = 0

    def learn(self, sample: Sample) -> Estimate | None:
        """Learn from every sample, and solve at every GUIDED_SOLVE_EVERY-th."""
        if self.estimator.add(sample) is None:
            return None
        if self.estimator.changes > self._changes:
            self._changes = self.estimator.changes
            self._say(self.estimator.last_change)
        self.runner.follow()
        self._ticks += 1
        return self.estimator.solve() if self._ticks % GUIDED_SOLVE_EVERY == 0 else None

    def hand_over(self, t: float, estimate: Estimate, feedforward: Feedforward) -> None:
        """As in `Adapted`, with the covariance."""
        feedforward.update(estimate.pi, self.estimator.covariance, t, True)

    @property
    def stage(self) -> StageView:
        """The current stage."""
        progress = self.runner.progress()
        stage = progress.stage
        return StageView(stage.name, stage.title, stage.move, stage.kind,
                         progress.state == STAGE_COMPLETE)


def guided_run(config: Config, model: RobotModel, prior: ParameterSet, schedule: Schedule,
               robot: SimulatedRobot, longest: float,
               say: Callable[[str], None] = lambda words: None) -> GuidedRun:
    """A run of at most `longest` [s] from a prior, on a simulated robot that its own controllers
    hold until it is armed."""
    return _Loop(config, model, prior, schedule, robot, say).run(longest)


class _Loop:
    """Connects the parts of a run."""

    def __init__(self, config: Config, model: RobotModel, prior: ParameterSet, schedule: Schedule,
                 robot: SimulatedRobot, say: Callable[[str], None]):
        self._config, self._model, self._robot = config, model, robot
        self._notes: list[str] = []
        self._speak = say
        self._curve = ThrustCurve.of_settings(config.thrusters)
        self._limits = MotionLimits.from_config(config, model, self._curve)
        self._guard = MotionGuard(config, self._limits)
        own = config.with_values({"feedforward.fallback": "nothing"})
        self._feedforward = Feedforward(model, prior, own)
        self._period = 1 / config.identification.rate
        self._pilot = Pilot(config, model, prior, self._curve, self._feedforward, self._period)
        self._guide = Guide(self._pilot, config.identification.design_time)
        self._staged = _StagedEstimator(config, model, prior, schedule, self._say)
        self._filter = StateFilter(config, robot.physics.position)
        self._decoder = Decoder(config, model.table.prismatic)
        self._store = get_typestore(Stores.ROS2_JAZZY)
        self._heard = dict.fromkeys(HEARD, -np.inf)
        self._depth_place = FRD_FROM_FLU @ np.array(config.depth.xyz)
        self._depth = np.nan
        self._due: tuple[float, Trajectory] | None = None      # when a design is ready
        self._uses: dict[str, float] = {}
        self._start = np.zeros(3)

    def run(self, longest: float) -> GuidedRun:
        """Run until the pilot is back at neutral."""
        k, armed_at = 0, 0.0
        while True:
            k += 1
            t = DEFAULT_START + k * self._period
            self._staged.runner.note_flown(self._guide.stage_flown(t))
            for message in received(self._robot.advance(k * self._period), self._store):
                self._staged.add_message(message)
                self._sense(message)
            state = self._filter.motion(t)
            if not self._pilot.armed and self._pilot.station is None:
                if k * self._period < ARMED_AFTER or state is None:
                    continue
                self._arm(t, state)
                armed_at = t
            self._staged.update_feedforward(t, self._feedforward)
            self._watch(t, state, t - armed_at)
            if t - armed_at > longest:
                self._stop(Cause("longest", f"{longest:g} s are over"))
            self._go_on(t, state)
            commands = self._pilot.commands(t, state)
            if commands is None or commands.neutral:
                break
            self._robot.command_pwm(commands.pwm)
            self._robot.command_joint_torque(commands.joint_torque)
            if k % round(USES_PERIOD / self._period) == 0:
                self._note_uses()
        cause = self._pilot.cause
        assert cause is not None
        return GuidedRun(self._staged.estimator.parameter_set(), t - armed_at, cause,
                         self._staged.runner.finish(), self._guide.flown, self._uses,
                         self._pilot.broken_off, self._notes,
                         self._staged.estimator.standing_change)

    def _say(self, words: str) -> None:
        line = f"{self._robot.t:6.1f} s  {words}"
        self._notes.append(line)
        self._speak(line)

    def _stop(self, cause: Cause) -> None:
        if self._pilot.armed:
            self._say(f"stopped: {cause.sentence}")
            self._pilot.stop(cause)

    def _arm(self, t: float, state: MotionState) -> None:
        self._pilot.arm(t, state)
        self._staged.runner.wait(False)
        self._start = self._robot.physics.position.copy()

    def _sense(self, message: Received) -> None:
        values = sense(self._filter, self._decoder, message)
        if values is None or message.role not in HEARD:
            return
        self._heard[message.role] = message.t
        if message.role == "depth":
            state = self._filter.motion(message.t)
            R = np.eye(3) if state is None else state.R_nb
            self._depth = values[0] - float((R @ self._depth_place)[2])

    def _watch(self, t: float, state: MotionState | None, armed_for: float) -> None:
        """Stop, hold back or break off as the node would."""
        if not self._pilot.armed:
            return
        moved = None if state is None else self._pilot.moved(state)
        validity = self._staged.validity(t)
        view = GuardView(
            state, {role: t - at for role, at in self._heard.items()},
            wanted=self._pilot.wanted(t), moved=moved, turned=self._pilot.turned, depth=self._depth,
            estimator_state=FAILED if validity.state == FAILED else "", armed_for=armed_for,
            doubt=0.0 if state is None else self._pilot.doubt(state))
        causes = self._guard.causes(t, view)
        if causes:
            self._stop(causes[0])
            return
        overloaded = self._pilot.hold_back_if(t, self._guard.overloaded)
        if overloaded is not None:
            self._say(f"motion held back, another follows: {overloaded.sentence}")
        unsteady = self._guard.unsteady(view)
        if unsteady is not None and self._pilot.break_off(t):
            self._say(f"motion broken off, a smaller one follows: {unsteady.sentence}")

    def _go_on(self, t: float, state: MotionState | None) -> None:
        """Ask the guide, and hand over a design once its allotted time has passed."""
        stage = self._staged.stage
        wanted = self._guide.next(t, stage)
        if isinstance(wanted, Cause):
            self._stop(wanted)
        elif wanted is not None:
            self._design(t, state, wanted if state is None else wanted._replace(
                doubt=self._pilot.doubt_after(t, state, self._config.excitation.duration)))
        if self._due is not None and t >= self._due[0]:
            self._guide.designed(self._due[1])
            self._due = None

    def _design(self, t: float, state: MotionState | None, request: Request) -> None:
        config, estimator = self._config, self._staged.estimator
        moved = None if state is None else self._pilot.moved(state)
        depth = self._depth - (0.0 if moved is None else float(moved[2]))     # the station's
        try:
            trajectory = designed(
                config, self._model, self._limits.at_depth(depth, config),
                estimator.parameter_set(), estimator.free, request)
        except ParameterError as error:
            if (cause := self._guide.failed(str(error))) is not None:
                self._stop(cause)
            return
        self._due = (t + config.identification.design_time, trajectory)
        self._say(f"motion {request.number} for '{request.stage.title}'")

    def _note_uses(self) -> None:
        """Record the true robot's use of the limits of position, tilt, speed and arm."""
        physics, station = self._robot.physics, self._pilot.station
        assert station is not None
        turn = from_rpy(0.0, 0.0, station.heading)
        place = turn.T @ (physics.position - self._start)
        value = np.concatenate([place, [0.0, 0.0, self._pilot.turned], physics.mu])
        motion = DesiredMotion(value[None, :3], physics.R_nb[None], physics.nu[None],
                               np.zeros((1, 6)), physics.mu[None], physics.mu_dot[None],
                               np.zeros((1, physics.n)))
        for name, share in self._limits.motion_uses(value[None], motion).items():
            self._uses[name] = max(self._uses.get(name, 0.0), float(share[0]))
