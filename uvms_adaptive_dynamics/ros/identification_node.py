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

"""The ROS node `uvms_identification`, which moves the robot to identify it: `ros2 run
uvms_adaptive_dynamics identify`; see docs/guided.md."""
from __future__ import annotations

import math
import os
import sys
import time

from ..programs import begin_imports

if __name__ == "__main__":
    begin_imports()

# Before numpy is imported: for our 75 x 75 matrices BLAS threads cost more than they gain.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from std_msgs.msg import Empty, String
from std_srvs.srv import SetBool, Trigger

from ..config import Config, fixed_in_identify
from ..control.excitation.trajectory import Trajectory
from ..control.guide import Guide, Request, StageView
from ..control.motion_guard import Cause
from ..control.stages import load_schedule
from ..disk.writing import output_folder
from ..errors import ConfigError, UvmsError, brief
from ..garbage import ShortCollections
from ..model.covariance import deviations
from ..model.robot import RobotModel
from .estimator_watch import EstimatorWatch
from .flight import Flight
from .identification_status import ENDED_WELL, IdentificationStatus, summary
from .memory import robot_folder
from .motion_designer import MotionDesigner
from .motion_promises import MotionPromises
from .process import node_parser, run_node
from .services import parameter_folder
from .settings_node import SettingsNode
from .subscriptions import PeriodicThread

IDENTIFICATION_NODE = "uvms_identification"
STAGE_LOOK_S = 0.1  # between checks of stage and design
DRY_RUN_WARNING_S = 5.0  # between warnings about what a dry run is waiting for
ANSWER_S = 1.0      # for the estimator's stages to run or wait as requested, before a retry


class IdentificationNode(SettingsNode):
    """Moves the robot through the stages of an identification.

    Two threads: `inputs` runs the control loop (`Flight`); the executor handles services, stages
    and designs, which run in another process. `wind_down()` stops the robot, after which
    `wound_down` becomes true.
    """

    def __init__(self, dry_run: bool = False, **kwargs):
        """dry_run: never move; show the motion of the current stage, then end."""
        super().__init__(IDENTIFICATION_NODE, fixed_in_identify, **kwargs)
        if not self.config.robot.vehicle:
            raise ConfigError("setting 'robot.vehicle' is false; expected a vehicle. This node "
                              "does not move an arm on a fixed base: run the estimator with "
                              "estimation.schedule, design a motion for its stage with the "
                              "command excite (--schedule, --stage), and send it to the arm's "
                              "own controller. See docs/guided.md, 'An arm on a fixed base'.")
        if not self.config.depth.enabled:
            raise ConfigError("setting 'depth.enabled' is false; expected a depth sensor, since "
                              "motions stay within excitation.depth_range.")
        self._dry_run, self._ending, self._at_once = dry_run, False, False
        self._collections = ShortCollections()
        self._thread: PeriodicThread | None = None
        self._guide: Guide | None = None
        self._shown: Request | None = None      # request of a dry run in progress
        self._motion = self._last_stop = ""
        self.exit_status = 0            # 1 once a dry run has ended without a motion
        self._armings = 0
        self._leads = self._may_move    # the estimator's stages, also after that was revoked
        self._waits_since = time.monotonic()    # start of a dry run, or of its last warning
        self._stages_asked_at = -math.inf      # steady [s] of the last request to the stages

    def _start(self, description: str | None) -> None:
        config = self.config
        robot = self._robot = RobotModel.from_config(config, description)
        self._watch = EstimatorWatch(self, robot, config.identification.estimator_node)
        self.flight = Flight(self, config, robot, self._watch, self._stopped)
        folder = robot_folder(parameter_folder(config.output), self.get_namespace(),
                              self.get_name(), robot)
        self._designer = MotionDesigner(config, description, output_folder(folder / "motion"))
        self._promises = MotionPromises(
            self, config.identification.estimator_node, MotionDesigner(
                config, description, output_folder(folder / "motion" / "promise")),
            self.get_logger().info)
        self._watch.lead(self.flight.feedforward, self._on_states_clock)
        self._stages = self.create_client(
            SetBool, f"{config.identification.estimator_node}/run_stages")
        self._flown = self.create_publisher(
            String, f"{config.identification.estimator_node}/flown_stage", 10)
        self._status = IdentificationStatus(self, self._may_move)
        self.create_service(SetBool, "~/arm", self._arm)
        for name, action in (("abort", self._abort), ("dry_run", self._show)):
            self.create_service(Trigger, f"~/{name}", action)
        self.create_subscription(Empty, "~/abort", lambda _: self.flight.stop(
            Cause("abort_topic", "a message on ~/abort")), 10)
        self.create_subscription(Empty, "~/heartbeat", lambda _: self.flight.beat(), 10)
        self._collections.begin()
        self._at_end.callback(self._collections.end)
        self._timer = self.create_timer(STAGE_LOOK_S, self._look)
        self._thread = PeriodicThread(1 / config.identification.rate, self.flight.tick,
                                      self._report_failed("a command"))
        for end in (self._promises.drop, self._designer.cancel, self._thread.stop):
            self._at_end.callback(end)
        self._log_settings()
        self.get_logger().info("the robot moves once ~/arm is called with true" if self._may_move
                               else "the robot is never moved: "
                               + ("--dry-run" if self._dry_run else "identification.move is false"))

    def _change(self, config: Config) -> None:
        """Apply the only change that `fixed_in_identify` allows."""
        if config == self.config:
            return
        self.config = config
        self.get_logger().info("setting 'identification.move' changed from True to False")
        if self._thread is not None:      # else not started yet
            self._status.note_revoked()
            self.flight.stop(Cause("disarmed", "identification.move was set to false"))

    def _on_states_clock(self, receive: float) -> float:
        t = self.flight.t
        return receive if t is None else t

    @property
    def _may_move(self) -> bool:
        return self.config.identification.move and not self._dry_run

    # --- ending -----------------------------------------------------------------------------------

    def wind_down(self, error: Exception | None = None) -> None:
        """Stop the robot, for an internal error or else as asked; when called again, do not wait
        for neutral."""
        if self._thread is None or (self._ending and error is None):
            self._at_once = True
        self._ending = True
        if self._thread is None:
            return
        if error is None:
            self.flight.stop(Cause("shutdown", "the node was asked to end"))
        else:
            self.flight.fail(error)

    @property
    def wound_down(self) -> bool:
        """Whether the process may end: it was asked to, and the robot is at neutral."""
        return self._ending and (self._at_once or self._thread is None
                                 or self.flight.at_rest)

    # --- services ---------------------------------------------------------------------------------

    def _arm(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success, response.message = (self._armed() if request.data else
                                              self._disarmed())
        if response.success:
            self.get_logger().info(response.message)
        else:
            self.get_logger().warning(response.message)
        return response

    def _armed(self) -> tuple[bool, str]:
        before = f" Last stop: {self._last_stop}." if self._last_stop else ""
        if not self._may_move:
            why = "the node was started with --dry-run" if self._dry_run else (
                "setting 'identification.move' is false")
            return False, f"Not armed: {why}.{before}"
        if self.flight.pilot.armed:
            self.flight.renew()
            return True, "Already armed; arming time restarted."
        if not self.flight.at_rest:
            return False, f"Not armed: the robot is still stopping. Try again.{before}"
        missing = self._watch.missing
        causes = [cause.sentence for cause in self.flight.arm()] if not missing else (
            [f"waiting for {missing}"])
        if causes:
            return False, f"Not armed: {'; '.join(causes)}.{before}"
        self._designer.cancel()
        self._shown = None
        self._guide = Guide(self.flight.pilot, self.config.identification.design_time)
        self._armings += 1
        return True, f"Armed: the robot holds its position, then moves by itself.{before}"

    def _disarmed(self) -> tuple[bool, str]:
        if self.flight.stop(Cause("disarmed", "~/arm was called with false")):
            return True, "Disarmed: the commands go to neutral."
        return True, "Not armed; nothing to do."

    def _abort(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        stopped = self.flight.stop(Cause("abort_service", "~/abort was called"))
        response.success = True
        response.message = ("Stopped: the commands go to neutral." if stopped else
                            "Not armed; nothing to stop.")
        return response

    def _show(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self._begin_to_show()
        return response

    def _try_to_show(self) -> None:
        """Try to start a dry run, which ends after showing a motion; warn what it is waiting
        for."""
        shown, said = self._begin_to_show()
        if not shown and time.monotonic() - self._waits_since > DRY_RUN_WARNING_S:
            self._waits_since = time.monotonic()
            self.get_logger().warning(said)

    def _begin_to_show(self) -> tuple[bool, str]:
        if self.flight.pilot.armed or self._designer.busy:
            return False, "A motion is already being designed or flown; see ~/status."
        present, known = self._watch.stage(), self._watch.known()
        if present is None or known is None or math.isnan(self.flight.depth):
            lacks = self._watch.missing or (
                "a depth, which needs depth sensor, IMU and DVL as the estimator does")
            return False, f"Nothing to show yet: waiting for {lacks}."
        try:
            stage, free = (present, known[1]) if present.move else self._first_motion(present)
            self._shown = Request(stage, 1)
            self._design(self._shown, free)
        except UvmsError as error:
            self._shown = None
            return False, f"No motion: {error}"
        first = "" if stage is present else f", after '{present.title}'"
        return True, (f"Designing a motion for '{stage.title}'{first}, without moving. It will be "
                      f"written to '{self._designer.folder}'; its use of the limits will be "
                      "logged.")

    def _first_motion(self, still: StageView) -> tuple[StageView, tuple[str, ...]]:
        """(the first stage that moves after one that holds still, its free parameters); raises
        ConfigError if the settings do not tell."""
        wanted = self.config.estimation
        stages = () if not wanted.schedule else load_schedule(
            wanted.schedule, self._robot.table, wanted.frozen).stages
        names = [stage.name for stage in stages]
        later = stages[names.index(still.name):] if still.name in names else ()
        for stage in later:
            if stage.move:
                return (StageView(stage.name, stage.title, stage.move, stage.kind),
                        stage.free + stage.kept)
        raise ConfigError(f"the present stage, '{still.title}', holds still, and setting "
                          f"'estimation.schedule' is {brief(wanted.schedule)} here; expected the "
                          "estimator's, whose next motion is then shown.")

    # --- stages and designs, on the executor ------------------------------------------------------

    def _look(self) -> None:
        try:
            self._follow_stages()
        except Exception as error:      # whatever the error, the robot must not continue its motion
            self.flight.fail(error)

    def _follow_stages(self) -> None:
        flight, stage = self.flight, self._watch.stage()
        self._let_stages_run(flight.pilot.armed)
        self._publish_flown_stage()
        if not flight.pilot.armed and self._shown is None:
            self._designer.cancel()     # design for a flight that was stopped
        if self._guide is not None and flight.pilot.armed and stage is not None:
            with flight.lock:
                wanted = None if flight.t is None else self._guide.next(flight.t, stage)
            if isinstance(wanted, Cause):
                flight.stop(wanted)
            elif wanted is not None:
                try:
                    self._design(wanted._replace(doubt=flight.doubt()))
                except UvmsError as error:
                    self._no_motion(str(error))
        try:
            trajectory = self._designer.poll()
        except UvmsError as error:
            self._no_motion(str(error))
        else:
            if trajectory is not None:
                self._designed(trajectory)
        if self._dry_run and self._shown is None and not self._motion:
            self._try_to_show()
        self._follow_promise()
        self._report()

    def _follow_promise(self) -> None:
        flight, known = self.flight, self._watch.known()
        with flight.lock:
            armed, t, trajectory = flight.pilot.armed, flight.t, flight.pilot.trajectory
            if t is not None and not flight.pilot.following(t):
                trajectory = None
            flown = 0.0 if t is None else flight.pilot.flown(t)
        if not armed or t is None or known is None:
            self._promises.drop()
            return
        covariance = known[0].covariance
        assert covariance is not None
        self._promises.check(trajectory, flown, deviations(covariance))

    def _let_stages_run(self, go: bool) -> None:
        """Let the stages run only while this node is armed and moves the robot."""
        now = time.monotonic()
        if (self._leads and self._watch.waits is go and now - self._stages_asked_at > ANSWER_S
                and self._stages.service_is_ready()):
            self._stages_asked_at = now
            self._stages.call_async(SetBool.Request(data=go))

    def _publish_flown_stage(self) -> None:
        """Publish the stage whose motion is flown; the estimator counts only that motion."""
        if not self._leads:
            return
        flight, flown = self.flight, ""
        with flight.lock:
            if self._guide is not None and flight.t is not None:
                flown = self._guide.stage_flown(flight.t)
        self._flown.publish(String(data=flown))

    def _design(self, request: Request, free: tuple[str, ...] | None = None) -> None:
        known = self._watch.known()
        assert known is not None
        self._designer.start(known[0], known[1] if free is None else free, request,
                             self.flight.station_depth())
        self.get_logger().info(f"designing motion {request.number} for '{request.stage.title}'")

    def _designed(self, trajectory: Trajectory) -> None:
        self._motion = summary(trajectory)
        self.get_logger().info(self._motion)
        if self._shown is not None:
            self._shown, self._ending = None, self._dry_run
        elif self._guide is not None and self._guide.designing:
            with self.flight.lock:
                self._guide.designed(trajectory)

    def _no_motion(self, why: str) -> None:
        self._motion = f"no motion: {why}"
        self.get_logger().error(self._motion)
        if self._shown is not None:
            self._shown, self._ending = None, self._dry_run
            self.exit_status = int(self._dry_run)
        elif self._guide is not None and self._guide.designing:
            if (cause := self._guide.failed(why)) is not None:
                self.flight.stop(cause)

    # --- reports ----------------------------------------------------------------------------------

    def _stopped(self, cause: Cause) -> None:
        """Log a stop; called once per stop, on any thread."""
        self._last_stop = cause.sentence
        log = self.get_logger()
        if cause.code in ENDED_WELL:
            log.info(f"stopped, commands go to neutral: {cause.sentence}")
        else:
            log.error(f"stopped, commands go to neutral: {cause.sentence}")
        self._report()

    def _report(self) -> None:
        stage = self._watch.stage()
        self._status.publish(self.flight.pilot, self.flight.t or 0.0, self.flight.at_rest,
                             self._watch.progress, {
            "armings": self._armings, "stage": stage.name if stage else "",
            "designing": str(self._designer.busy).lower(),
            "motions": len(self._guide.flown) if self._guide else 0, "motion": self._motion,
            "promise": self._promises.sentence,
            **{f"dropped {role}": count for role, count in self.flight.dropped.items()}})


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; returns 0, or 1 after an error message."""
    arguments = sys.argv if args is None else args
    parser = node_parser("identify", IDENTIFICATION_NODE,
                         "Move the robot through the stages of an identification")
    parser.add_argument("--dry-run", action="store_true",
                        help="never move; show the motion of the current stage, then end")
    return run_node(arguments, lambda: IdentificationNode("--dry-run" in arguments), parser,
                    IDENTIFICATION_NODE, winds_down=True)


if __name__ == "__main__":
    sys.exit(main())
