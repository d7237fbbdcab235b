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

"""The control loop of the identification node: sensors, state, guard, pilot, commands."""
from __future__ import annotations

import math
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable

import numpy as np
from rclpy.node import Node

from ..config import Config
from ..control.excitation.limits import MotionLimits
from ..control.feedforward import Feedforward
from ..control.motion_guard import Cause, GuardView, MotionGuard
from ..control.pilot import Pilot
from ..control.state_filter import MotionState, StateFilter
from ..errors import MessageError, in_words
from ..model.prior import prior_from_config
from ..model.robot import RobotModel
from ..model.rotations import FRD_FROM_FLU
from ..model.thrust_curve import ThrustCurve
from ..signals.decode.timed import TimedDecoder
from ..signals.topics import identification_inputs
from .command_channels import CommandChannels
from .estimator_watch import EstimatorWatch
from .settings_node import node_time
from .subscriptions import InputPoll, InputSubscription, ReceivedMessage

COMMANDS_LOOK_S = 0.04  # between checks for subscribers and other publishers of the commands
NEUTRAL_S = 1.0     # of neutral commands after a stop; then nothing is sent, so others may command


class Flight:
    """Senses, judges and commands in each tick of the control thread.

    Only the control thread calls `tick`; any thread may call the rest. lock: guards the
    pilot and changes of t [s], the present time on the clock of the states, None until known.
    """

    def __init__(self, node: Node, config: Config, robot: RobotModel, watch: EstimatorWatch,
                 say: Callable[[Cause], None]):
        """say: called once for every stop. Raises UvmsError for unusable settings."""
        self._node, self._config, self._robot, self._watch = node, config, robot, watch
        self._say = say
        self.lock = threading.RLock()
        prior, curve = prior_from_config(config, robot), ThrustCurve.of_settings(
            config.thrusters)
        self.limits = MotionLimits.from_config(config, robot, curve)
        self._guard = MotionGuard(config, self.limits)
        # No feedforward from parameters that are not measured yet; feedback acts alone.
        self.feedforward = Feedforward(robot, prior, config.with_values(
            {"feedforward.fallback": "nothing"}))
        self.pilot = Pilot(config, robot, prior, curve, self.feedforward,
                           1 / config.identification.rate)
        self._channels = CommandChannels(node, config, robot)
        inputs = identification_inputs(config)
        self._heard: dict[str, float] = dict.fromkeys((each.role for each in inputs), -math.inf)
        self._decoder = TimedDecoder(config, self._heard, self._clock_jumped,
                                     robot.table.prismatic)
        self._poll = InputPoll(node, [InputSubscription(node, each) for each in inputs])
        self.dropped: Counter = Counter()       # unusable messages, by role
        self.t: float | None = None
        self.depth = self._voltage = math.nan
        self._filter = StateFilter(config, np.zeros(3))
        self._depth_place = FRD_FROM_FLU @ np.array(config.depth.xyz)
        self._state: MotionState | None = None
        self._looked = self._neutral_until = self._beat = -math.inf     # steady [s]
        self._armed_at = 0.0

    # --- requests ------------------------------------------------------------------------------

    def arm(self) -> list[Cause]:
        """Hold station from now on; returns the causes that forbid it, in which case nothing
        changes."""
        with self.lock:
            now = time.monotonic()
            causes = self._causes(now, armed=False)
            if causes:
                return causes
            assert self.t is not None and self._state is not None
            self._armed_at = self._beat = now
            self.pilot.arm(self.t, self._state)
            self._neutral_until = math.inf      # until neutral is commanded
            return []

    def station_depth(self) -> float:
        """Depth [m] of the body's origin about which the next motion is flown."""
        with self.lock:
            if not self.pilot.armed or self._state is None:
                return self.depth
            moved = self.pilot.moved(self._state)
            return self.depth if moved is None else self.depth - float(moved[2])

    def doubt(self) -> float:
        """Position uncertainty [m] at the end of a motion that is designed now."""
        with self.lock:
            if self.t is None or self._state is None:
                return 0.0
            return self.pilot.doubt_after(self.t, self._state, self._config.excitation.duration)

    def renew(self) -> None:
        """Confirm that the operator is present; restarts the arming time limit."""
        self._armed_at = self._beat = time.monotonic()

    def beat(self) -> None:
        """Note a heartbeat."""
        self._beat = time.monotonic()

    def stop(self, cause: Cause) -> bool:
        """Go to neutral from the next tick on; returns whether the robot was armed."""
        with self.lock:
            if not self.pilot.armed:
                return False
            self.pilot.stop(cause)
        self._say(cause)
        return True

    def fail(self, error: Exception) -> None:
        """Stop for an internal error, which is logged with its traceback."""
        self._node.get_logger().error("".join(traceback.format_exception(error)),
                                      throttle_duration_sec=5.0)
        self.stop(Cause("internal", f"internal error ({type(error).__name__}: {error}); please "
                                    "report it with the log"))

    @property
    def at_rest(self) -> bool:
        """Whether nothing is commanded, nor will be until the robot is armed."""
        return not self.pilot.armed and time.monotonic() > self._neutral_until

    # --- on the control thread --------------------------------------------------------------------

    def tick(self) -> None:
        """Sense, judge, command."""
        try:
            self._sense()
            if self.pilot.armed:
                self._judge(time.monotonic())
        except Exception as error:      # whatever the error, the robot must not continue its motion
            self.fail(error)
        self._command()

    def _judge(self, now: float) -> None:
        """Stop if the guard finds a cause; break off a motion that is tracked badly."""
        view = self._view(now, armed=True)
        causes = self._guard.causes(now, view)
        if causes:
            self.stop(causes[0])
            return
        if self.t is None:
            return
        self._hold_back(self.t)
        unsteady = self._guard.unsteady(view)
        if unsteady is None:
            return
        with self.lock:
            broken_off = self.pilot.break_off(self.t)
        if broken_off:
            self._node.get_logger().warning(
                f"motion broken off, a smaller one follows: {unsteady.sentence}")

    def _hold_back(self, t: float) -> None:
        """Skip a motion if holding still at its start needs too much effort."""
        with self.lock:
            overloaded = self.pilot.hold_back_if(t, self._guard.overloaded)
        if overloaded is not None:
            self._node.get_logger().warning(
                f"motion held back, another follows: {overloaded.sentence}")

    def _command(self) -> None:
        with self.lock:
            if self.at_rest:
                return
            try:
                commands = self.pilot.commands(self.t or 0.0, self._state)
            except Exception as error:      # stopping needs only the last commands
                self.fail(error)
                commands = self.pilot.commands(self.t or 0.0, None)
        if commands is None:
            return
        if commands.neutral and math.isinf(self._neutral_until):
            self._neutral_until = time.monotonic() + NEUTRAL_S
        self._channels.publish(node_time(self._node), commands)

    def _sense(self) -> None:
        came, jumped = self._poll.collect()
        if jumped:
            self._clock_jumped()
        for message in came:
            self._receive(message)
        now = node_time(self._node)
        t = self._decoder.now(now)
        with self.lock:
            self.t, self._state = t, None if t is None else self._filter.motion(t)
        if time.monotonic() - self._looked >= COMMANDS_LOOK_S:
            self._looked = time.monotonic()
            self._channels.look_around()

    def _receive(self, message: ReceivedMessage) -> None:
        source, receive_ns, data = message
        if receive_ns == 0:     # simulated time has not started
            return
        for role in source.roles:
            try:
                reading = self._decoder.decode(role, source.decode(data), receive_ns * 1e-9)
            except MessageError:
                reading = None
            except Exception as error:  # garbage may raise anything; only this message is lost
                reading = None
                self._node.get_logger().warning(
                    f"message on '{source.topic}' dropped ({in_words(error)})",
                    throttle_duration_sec=10.0)
            if reading is None:
                self.dropped[role] += 1
                continue
            t, values = reading
            # Only a good message counts as heard; the filter refuses what is not finite.
            if role == "joint_states":
                values = values[:2 * len(self._robot.joints)]
            if np.isfinite(values).all():
                self._heard[role] = time.monotonic()
            if role == "battery":
                self._voltage = values[0]
                continue
            if role == "depth":
                R = np.eye(3) if self._state is None else self._state.R_nb
                self.depth = values[0] - float((R @ self._depth_place)[2])
            self._filter.add(role, t, reading[1])

    def _clock_jumped(self) -> None:
        """Drop the state, which belongs to another time, and stop."""
        self._decoder.reset()
        self._filter = StateFilter(self._config, np.zeros(3))
        with self.lock:
            self._state, self.t, self.depth = None, None, math.nan
        self.stop(Cause("clock", "a clock jumped, so the robot's position is unknown; arm "
                                 "again where it is now"))

    def _causes(self, now: float, armed: bool) -> list[Cause]:
        """Causes to stop at this moment (steady time [s])."""
        return self._guard.causes(now, self._view(now, armed))

    def _view(self, now: float, armed: bool) -> GuardView:
        """Input of the guard at this moment (steady time [s]); armed False: as if armed here
        now."""
        pilot, state = self.pilot, self._state
        ages = {role: now - at for role, at in self._heard.items()}
        wanted = moved = None
        doubt = 0.0
        with self.lock:     # else a motion may begin between two of these
            if armed and self.t is not None and state is not None:
                wanted, moved, doubt = pilot.wanted(self.t), pilot.moved(state), pilot.doubt(state)
        return GuardView(
            state, ages, listeners=self._channels.listeners,
            other_publishers=self._channels.other_publishers, wanted=wanted, moved=moved,
            turned=pilot.turned if armed else 0.0, depth=self.depth, voltage=self._voltage,
            estimator_age=self._watch.age, estimator_state=self._watch.state,
            heartbeat=now - self._beat if armed else 0.0,
            armed_for=now - self._armed_at if armed else 0.0, doubt=doubt, armed=armed)
