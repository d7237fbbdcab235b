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

"""The ROS node `uvms_feedforward`: `ros2 run uvms_adaptive_dynamics feedforward`.

Interface: docs/feedforward.md.
"""
from __future__ import annotations

import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..programs import begin_imports

if __name__ == "__main__":
    begin_imports()

# Before numpy is imported: for our 75 x 75 matrices BLAS threads cost more than they gain.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from rclpy.qos import QoSProfile

from ..config import Config, fixed_in
from ..control.feedforward import Feedforward, FeedforwardEfforts
from ..control.wanted_motion import WantedMotion, WantedMotions
from ..errors import in_words
from ..garbage import ShortCollections
from ..model.prior import prior_from_config
from ..model.robot import RobotModel
from ..signals.latest_state import STATE_ROLES, LatestState, LatestStateFilter
from ..signals.topics import by_topic, feedforward_inputs
from .feedforward_outputs import FeedforwardPublishers
from .process import node_parser, run_node
from .settings_node import SettingsNode
from .status import ERROR, OK, WARN
from .subscriptions import InputPoll, InputSubscription, PeriodicThread, ReceivedMessage
from .topic_qos import LATCHED
from .trusted_lane import TrustedLane

FEEDFORWARD_NODE = "uvms_feedforward"
# [s] between unchanged statuses, and between checks of the estimator and of subscribers. New
# parameters are blended in over feedforward.blend_time, so checking more often has no effect.
SLOW_PERIOD = 0.1
SLOW_INPUTS = ("trusted_parameters", "trusted_covariance", "estimator_status")
RELIABLE = QoSProfile(depth=10)     # a trajectory is sent only once and must not get lost
QOS = {"vehicle_trajectory": RELIABLE, "arm_trajectory": RELIABLE, "trusted_parameters": LATCHED,
       "trusted_covariance": LATCHED, "estimator_status": LATCHED}


class FeedforwardNode(SettingsNode):
    """One thread reads, computes and publishes at feedforward.rate; the executor does the rest."""

    def __init__(self, **kwargs):
        super().__init__(FEEDFORWARD_NODE, fixed_in("feedforward"), **kwargs)
        self.dropped: Counter = Counter()       # messages, by role
        self.calls = 0
        self._collections = ShortCollections()
        self._thread: PeriodicThread | None = None

    def _start(self, description: str | None) -> None:
        config = self.config
        robot = self._robot = RobotModel.from_config(config, description)
        self.feedforward = Feedforward(robot, prior_from_config(config, robot), config)
        self._states = LatestStateFilter(config, robot)
        self._motions = WantedMotions(robot.joints, config.feedforward)
        self._lane = TrustedLane(self.feedforward,
                                 lambda receive: self._states.now(receive) or receive)
        self._outputs = FeedforwardPublishers(self, config, robot)
        self._last: LatestState | None = None
        self._said: tuple[int, str] = (-1, "")
        self._said_at = -math.inf
        # imu before dvl if both read one topic: a velocity needs the angular rates of its instant
        sources = [InputSubscription(self, of[0], sorted((each.role for each in of), reverse=True),
                                     QOS.get(of[0].role))
                   for of in by_topic(feedforward_inputs(config))]
        self._poll, self._slow_poll = (
            InputPoll(self,
                      [source for source in sources if (source.input.role in SLOW_INPUTS) == slow])
            for slow in (False, True))
        self._looked = -math.inf
        self._actions = self._by_role()
        self.get_logger().info(
            f"{config.feedforward.rate:g} efforts per second from "
            f"'{self.resolve_topic_name(config.feedforward.estimator_node)}'; fallback: "
            f"{config.feedforward.fallback}")
        if (robot.vehicle and config.thrusters.source == "wrench"
                and not config.feedforward.wrench_limits
                and config.thrusters.allocation == Config().thrusters.allocation):
            self.get_logger().warning(
                "feedforward.wrench_limits is empty, so efforts are limited to what a BlueROV2 "
                "Heavy's thrusters produce (thrusters.allocation), while thrusters.source is "
                "'wrench'; set it to the largest wrench of your vehicle")
        self._log_settings()
        self._collections.begin()
        self._at_end.callback(self._collections.end)
        self._thread = PeriodicThread(1 / config.feedforward.rate, self._tick,
                                      self._report_failed("a call"))
        self._at_end.callback(self._thread.stop)

    def _change(self, config: Config) -> None:
        """Apply changed settings at the next call."""
        self.config = config
        if self._thread is not None:     # else not started yet
            for part in (self.feedforward, self._motions, self._states):
                part.change_settings(config)

    # --- on its own thread ------------------------------------------------------------------------

    def _tick(self) -> None:
        came, jumped = self._poll.collect()
        if jumped:
            self._states.reset()
            self._motions.forget()
        if time.monotonic() - self._looked >= SLOW_PERIOD:
            self._looked = time.monotonic()
            self._outputs.look_around()
            came += self._slow_poll.collect()[0]
        for message in came:
            self._receive(message)
        if self._poll.now > 0.0:      # else simulated time has not started
            self._compute(self._poll.now)

    def _compute(self, now: float) -> None:
        t, latest = self._states.now(now), self._states.latest()
        fresh = latest is not None and t is not None and (
            t - latest.t <= self.config.feedforward.state_timeout)
        if latest is None or t is None:
            if self._last is None:
                return self._publish_status(now, ERROR, "no state yet: waiting for " + " and ".join(
                    role for role in STATE_ROLES if role in self._needed), dict)
            t, latest = now, self._last     # state lost, for example by a clock jump: fade out
        motion = self._motions.at(now, latest.state)
        efforts = self._efforts(t, latest, motion, fresh)
        self._outputs.efforts(now, efforts)
        if fresh:
            self._outputs.motion(now, latest)
        self.calls += 1
        self._judge(now, t, latest, motion, efforts, fresh)

    def _efforts(self, t: float, latest: LatestState, motion: WantedMotion,
                 fresh: bool) -> FeedforwardEfforts:
        state = latest.state
        if self.config.feedforward.velocity == "wanted":
            state = type(state)(state.R_nb, state.nu if motion.nu is None else motion.nu, state.mu,
                                state.mu_dot if motion.mu_dot is None else motion.mu_dot)
        # The first call starts from zero efforts, which then fade in.
        engaged = fresh and self._last is not None
        self._last = latest
        return self.feedforward.efforts(t, state, motion.nu_dot, motion.mu_ddot, motion.mu_dot,
                                        engaged, self._outputs.wants_stddev)

    def _judge(self, now: float, t: float, latest: LatestState, motion: WantedMotion,
               efforts: FeedforwardEfforts, fresh: bool) -> None:
        dvl_age, vehicle = t - latest.velocity_t, self._robot.vehicle
        level, said = OK, ("efforts are blending to new parameters" if efforts.source == "blend"
                           else "efforts from the trusted parameters")
        if because := self.feedforward.fallback_because(t):
            level, said = WARN, ("no efforts" if self.config.feedforward.fallback == "nothing" else
                                 "efforts from the prior") + f": {because}"
        if motion.given and self._motions.doubt:
            level, said = WARN, self._motions.doubt
        if self._lane.refused:
            level, said = WARN, f"parameters refused: {self._lane.refused}"
        if vehicle and self.config.dvl.enabled and dvl_age > self.config.dvl.timeout:
            level, said = WARN, "no DVL velocity: continuing on the IMU alone, fading out"
        if not fresh:
            level, said = ERROR, "the state is too old, efforts fade to zero; check the sensors"
        self._publish_status(now, level, said, lambda: {
            "source": efforts.source, "age of state [s]": t - latest.t,
            **({"age of velocity [s]": dvl_age} if vehicle else {}),
            "age of parameters [s]": _age(efforts.age),
            "wanted motion": self._wanted_motion(now, motion),
            **{f"dropped {role}": count for role, count in self.dropped.items()}})

    def _wanted_motion(self, now: float, motion: WantedMotion) -> str:
        if motion.given:
            return "given"
        ahead = self._motions.begins_in(now)
        return "none: zero accelerations" + (
            f" (the received one begins in {ahead:.3g} s)" if ahead else "")

    def _publish_status(self, now: float, level: int, message: str,
                        values: Callable[[], dict[str, Any]]) -> None:
        if (level, message) != self._said or not 0.0 <= now - self._said_at < SLOW_PERIOD:
            if level != OK and (level, message) != self._said:
                self.get_logger().warning(message, throttle_duration_sec=5.0)
            self._said, self._said_at = (level, message), now
            self._outputs.status(now, level, message, values())

    # --- messages ---------------------------------------------------------------------------------

    @property
    def _needed(self) -> tuple[str, ...]:
        return (("imu",) if self._robot.vehicle else ()) + (
            ("joint_states",) if self._robot.joints else ())

    def _by_role(self) -> dict[str, Callable[[Any, float], None]]:
        motions = self._motions

        def sensor(role: str) -> Callable[[Any, float], None]:
            return lambda message, receive: self._states.add_message(role, message, receive)

        return {**{role: sensor(role) for role in STATE_ROLES},
                "vehicle_trajectory": motions.add_vehicle_trajectory,
                "vehicle_acceleration": motions.add_vehicle_acceleration,
                "arm_trajectory": motions.add_arm_trajectory,
                "trusted_parameters": self._lane.add_parameters,
                "trusted_covariance": self._lane.add_covariance,
                "estimator_status": self._lane.add_status}

    def _receive(self, message: ReceivedMessage) -> None:
        source, receive_ns, data = message
        if receive_ns == 0:     # simulated time has not started
            return
        for role in source.roles:
            try:
                self._actions[role](source.decode(data), receive_ns * 1e-9)
            except Exception as error:  # garbage may raise anything; only this message is lost
                self.dropped[role] += 1
                self.get_logger().warning(
                    f"message on '{source.topic}' dropped ({in_words(error)}); "
                    f"{self.dropped[role]} so far",
                    throttle_duration_sec=10.0)


def _age(age: float) -> float | str:
    """The age [s] of parameters for the status; a stamp from the future proves none."""
    return age if age >= 0 else f"unknown: their stamp is {-age:.3g} s ahead of the state"


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns 0, or 1 after an error message."""
    return run_node(args, FeedforwardNode, node_parser(
        "feedforward", FEEDFORWARD_NODE, "Wrench and joint efforts for a wanted motion, from the "
        "estimator's trusted parameters"), FEEDFORWARD_NODE)


if __name__ == "__main__":
    sys.exit(main())
