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

"""Update the promise of a motion while it is flown, and report how it was kept
(docs/excitation.md)."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from std_srvs.srv import Trigger

from ..control.excitation.trajectory import Promise, Trajectory
from ..errors import UvmsError
from .motion_designer import MotionDesigner

# [s] after which the promise of a motion is updated (half the duration of a shorter motion): by
# then the noise of the moving robot is measured.
RESTATED_AFTER = 20.0


class MotionPromises:
    """Call `check` regularly on the executor; sentence: on the current or last motion."""

    def __init__(self, node: Node, estimator: str, designer: MotionDesigner,
                 say: Callable[[str], None]):
        """designer: used for this only; its folder keeps the trajectory with the updated
        promise."""
        self._designer, self._say, self.sentence = designer, say, ""
        self._estimate = node.create_client(Trigger, f"{estimator}/parameter_file")
        self._trajectory: Trajectory | None = None
        self._asked: float | None = None    # [s] into the motion when the estimate was requested
        self._promise: Promise | None = None

    def check(self, trajectory: Trajectory | None, flown: float, deviations: np.ndarray) -> None:
        """Follow a trajectory flown for `flown` [s] (negative: not started), None without one.

        deviations (p,): present standard deviations of the estimator.
        """
        if trajectory is not self._trajectory:
            if self._asked is not None and (trajectory is None or flown < 0.0):
                self._report("the motion ended before its promise could be updated"
                             if self._promise is None else
                             f"the motion has ended: {self._promise.kept(deviations)}")
            self.drop()
            self._trajectory = trajectory
        if trajectory is None or trajectory.promise is None:
            return
        if (self._asked is None and flown >= min(RESTATED_AFTER, 0.5 * trajectory.duration)
                and self._estimate.service_is_ready()):
            self._asked = flown
            self._estimate.call_async(Trigger.Request()).add_done_callback(
                lambda answer: self._restate(trajectory, flown, answer.result()))
        try:
            restated = self._designer.poll()
        except UvmsError as error:
            self._report(f"the promise could not be updated: {error}")
            return
        if restated is not None and restated.promise is not None:
            self._promise = restated.promise
            self._report(f"after {self._asked or 0.0:.0f} of {trajectory.duration:.0f} s this "
                         f"motion promises: {self._promise.sentence()}")

    def drop(self) -> None:
        """Drop the current motion."""
        self._designer.cancel()
        self._trajectory, self._promise, self._asked = None, None, None

    def _restate(self, trajectory: Trajectory, flown: float,
                 answer: Trigger.Response | None) -> None:
        if trajectory is not self._trajectory or answer is None:
            return      # another motion by now, or the node is ending
        if not answer.success:
            self._report(f"the promise could not be updated: {answer.message}")
            return
        try:
            self._designer.restate(trajectory, answer.message, flown)
        except UvmsError as error:
            self._report(f"the promise could not be updated: {error}")

    def _report(self, sentence: str) -> None:
        self.sentence = sentence
        self._say(sentence)
