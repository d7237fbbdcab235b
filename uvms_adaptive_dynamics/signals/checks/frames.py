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

"""Cross-checks of the sensors' frames, signs and units while the robot moves.

All sensors see the same motion: the integrated IMU matches the DVL, depth follows heave, rates turn
the attitude, thrust accelerates. Each relation is a small linear fit over one-second windows. If
the fit is a clean mirror image, rotation or multiple of what it should be, the finding names the
setting that would cause it. Axes that have not moved enough are not judged.
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from operator import ge

import numpy as np

from ...config import Config
from ...model.robot import RobotModel
from ...model.sample import WEAK_THRUSTER, Misread
from .dvl_check import CUT_STEP, DELAYS, of_turn, turned_since
from .effort_scale import MOUNT
from .finding import CHANGE_WINDOW, UNDECIDED, CheckResult, Finding, Harm, Mend
from .joint_effort_check import OF_EFFORTS, SCALES
from .joint_velocity_check import JOINT_WINDOW
from .suite import SensorChecks
from .velocity_log import dvl_place

# [s] of data before the first check, between checks, and after which checks become less frequent.
FIRST_CHECK, CHECK_PERIOD, EARLY_CHECKS = 30.0, 10.0, 60.0
LATE_CHECK_PERIOD = 20.0                # [s]
# Independent windows of new data that justify a check at the end of a recording.
LEAST_WINDOWS = 20
SHORTEST_COMPARED = LEAST_WINDOWS * CHANGE_WINDOW       # [s] of data by which sensors are compared
# [s] between steps of a check: several in a row would delay a node's estimator
CHECK_STEP_PERIOD = 0.02
LOG_LENGTH = 60.0                       # [s] of the newest data that a check uses
RECENT_DATA = 30.0                      # [s] of the newest data that are also checked alone
# Share of a clock's drift that the motion shows as a delay, beyond which it is none.
QUEUED_SHARE = 0.5
STAMPS_WERE_RIGHT = "its own stamps were right"
ONSET_STEP = 5.0                        # [s] between onsets of a weak thruster that are tried
LATEST_DATA = 10.0      # [s] of them that suffice for a gyro, or for a DVL with little noise
MOTION_SENSORS = ("imu", "dvl")
LOGS = ("imu", "dvl", "odometry", "depth", "joints", "thrust", "tried", "doubted")
# Check -> the logs that it compares.
COMPARED = {"IMU": ("imu",), "odometry": ("odometry",), "DVL": ("imu", "dvl"),
            "depth": ("dvl", "depth"), "joints": ("joints",), "thrusters": ("dvl", "thrust")}
COMMAND_DELAY = "command delay"     # the check of `DelayMonitor`, which has its own log
# Checks that fit a map, to which rows from before and after a change do not fit.
MIXED = "IMU", "DVL"
# Logs whose check compares no others: the windows of joints and turns are shorter than those of
# velocities.
WITHIN_SENSOR = tuple(logs[0] for logs in COMPARED.values() if len(logs) == 1)
# Largest share of doubted rows since the last check at which the sensors can be found right: rows
# left out because they fit badly would hide a misfit.
MOST_DOUBTED = 0.3
# Prefixes of findings that spoil the arm's rows; those on efforts leave the vehicle's alone.
OF_ARM = "joint", MOUNT
OF_ATTITUDE = "imu"
OF_TURN = "dvl.rpy"
# Settings of their wiring, of which the one may look likelier than the other for some time.
OF_WIRING = ("thrusters.signs", "thrusters.allocation")


class FrameChecks:
    """Logs the sensors' readings and checks the last minute of them again and again: at any time a
    mount may be knocked, or a driver restart with other settings.

    Times [s] are the front end's. A full check takes a fifth of a second, in which a node would be
    deaf, so it runs in steps: added rows advance it every CHECK_STEP_PERIOD.
    """

    def __init__(self, config: Config, robot: RobotModel,
                 drifts: Callable[[], Mapping[str, float]] = dict,
                 wrapped: Callable[[], Sequence[bool]] = tuple,
                 tried: Callable[[], Sequence[np.ndarray]] = tuple,
                 guessed: Callable[[], Collection[str]] = tuple,
                 delay: Callable[[], CheckResult] = lambda: UNDECIDED):
        """drifts: returns the drift of the sensors' clocks by role [s per s], as `Clocks.drifts`.
        wrapped: returns which joints' encoders have wrapped (n,); empty: none. tried: returns the
        new rows of the log `tried`, which is only filled for a check. guessed: returns the roles
        whose transport delay is assumed, as `Clocks.guessed`. delay: returns what is known of the
        delay of the commands, as `DelayMonitor.result`."""
        self._drifts, self._tried, self._delay = drifts, tried, delay
        self._config, self._robot, self._dvl_place = config, robot, dvl_place(config)
        self._checks = SensorChecks(config, robot, wrapped, guessed)
        self.reset()

    def reset(self) -> None:
        """Forget all logs and results."""
        self._results = dict.fromkeys(self._checks.names, UNDECIDED)
        self.misread: tuple[Misread, ...] = ()      # wrong settings that bias parameters
        # setting -> [s] from the first row: of the check that found it, of the last that did not
        self._since: dict[str, tuple[float, float | None]] = {}
        self._waiting: set[str] = set()     # settings of findings that the next check must confirm
        self._consistent: dict[str, float] = {}     # check -> [s] when it last found no mismatch
        # check -> settings that it could not judge yet, as in `CheckResult`
        self._open: dict[str, frozenset[str]] = {}
        # check -> windows of data in the logs that it compares, when it last found a mismatch
        self._found_in: dict[str, list[int]] = {}
        # settings that were right before and are wrong now, so that rows are not learnt from, each
        # with the time [s] until which it was right
        self._changed: dict[str, float] = {}
        # findings whose readings have been put right since, with their times as in `_since`
        self._mended: list[tuple[Finding, tuple[float, float | None]]] = []
        self._next_check = FIRST_CHECK
        self._checked_at = -math.inf                # [s] from the first row: of the last check
        self.failed = ""                            # what the operator is told of a failed check
        self._elapsed = 0.0                         # [s] from the first row to the newest
        self._begin_logs()
        self._checks.reset()

    def _begin_logs(self) -> None:
        # [s] of the latest checks that found everything right, as far back as a fault may be unseen
        self._right = deque([-math.inf], maxlen=math.ceil(RECENT_DATA / CHECK_PERIOD) + 1)
        self._steps: Iterator[None] | None = None    # remaining steps of a running check
        self._stepped_at = -math.inf
        self._begin: float | None = None
        self._logs: dict[str, list[np.ndarray]] = {name: [] for name in LOGS}

    def restart(self) -> None:
        """Go on with rows on another clock: what is known about the sensors stays, and the time
        from the first row goes on."""
        self._changed = dict.fromkeys(self._changed, -math.inf)
        self._next_check = max(self._next_check, self._elapsed + FIRST_CHECK)
        self._begin_logs()

    @property
    def findings(self) -> list[tuple[Finding, float]]:
        """All mismatches, each with the time [s] from the first row when it was found; without
        those that the next check has to confirm."""
        found = [(finding, since) for finding, (since, _) in self._mended]
        found += [(finding, self._since[finding.setting][0])
                  for result in self._results.values() for finding in result.findings
                  if finding.setting not in self._waiting]
        found = [(self._of_drift(finding), since) for finding, since in found]
        for setting in DELAYS:
            found = self._as_one(found, setting)
        return found

    def _as_one(self, found: list[tuple[Finding, float]],
                setting: str) -> list[tuple[Finding, float]]:
        """The findings, each with its time [s], with those on a delay as one, each of which was
        found in readings that had been put right by the ones before."""
        same = [pair for pair in found if pair[0].setting == setting]
        if len(same) < 2:
            return found
        (first, begin), (last, end) = same[0], same[-1]
        late = sum(abs(finding.mend.late) for finding, _ in same if finding.mend is not None)
        # A clock's drift is made good by reception. If the motion shows nearly as much of it as a
        # delay, the stamps were right.
        drift = max((abs(rate) for role, rate in self._drifts().items() if role in MOTION_SENSORS),
                    default=0.0)
        cause = "as in a queue that fills up, or of a clock that runs slow"
        if late > QUEUED_SHARE * drift * end > 0.0:
            cause = (f"by as much as its messages come later and later, {1e3 * drift:.1f} ms per "
                     f"second: they wait in a queue that fills up, and {STAMPS_WERE_RIGHT}")
        one = last._replace(values={}, sentence=(
            f"{first.sentence.partition('; ')[0]}, and after {end:.0f} s already {late:.2f} s; the "
            f"delay grows, {cause}. No constant {setting} is right: publish and record each "
            "measurement when it is taken, with its own time"))
        return [pair for pair in found if pair[0].setting != setting] + [(one, begin)]

    def _of_drift(self, finding: Finding) -> Finding:
        """The finding; if a clock's drift causes the delay between DVL and IMU, without a value to
        set, since a constant delay would be right only for a moment."""
        drifts = {role: rate for role, rate in self._drifts().items() if role in MOTION_SENSORS}
        if finding.setting not in DELAYS or not drifts:
            return finding
        role, rate = max(drifts.items(), key=lambda one: abs(one[1]))
        seen = finding.sentence.partition("; ")[0]
        return finding._replace(values={}, sentence=(
            f"{seen}; the {role.upper()}'s clock {'gains' if rate > 0 else 'loses'} "
            f"{1e3 * abs(rate):.1f} ms per second on the others: synchronize it, since a constant "
            f"{finding.setting} would be right only for a moment"))

    def consistent_at(self, setting: str) -> float | None:
        """Time [s] from the first row when the same check last found no mismatch; None if it has
        found one from its first verdict on."""
        mended = {finding.setting: times for finding, times in self._mended}
        return (self._since | mended)[setting][1]

    @property
    def mends(self) -> tuple[Mend, ...]:
        """What puts all sensors right that were right before and are wrong now; empty if there are
        none, or if it is not known for all of them."""
        if not self._changed:       # (asked at each message)
            return ()
        mends = [finding.mend for finding in self._findings_changed()]
        known = tuple(mend for mend in mends if mend is not None)
        return known if len(known) == len(mends) else ()

    def _findings_changed(self) -> list[Finding]:
        return [finding for result in self._results.values() for finding in result.findings
                if finding.setting in self._changed]

    def note_mended(self, logs: Mapping[str, list[np.ndarray]]) -> None:
        """Go on with the logs of readings that have been put right by `mends`, from the findings
        on. These stay, until readings are put right that way no more (`end_mends`)."""
        assert self._begin is not None
        new = [(finding, self._since[finding.setting]) for finding in self._findings_changed()]
        found = self._begin + max(at for _, (at, _) in new)
        self._mended += new
        for setting in DELAYS:      # (what is found of one from now on has been added to it)
            self._since.pop(setting, None)
        for name, result in self._results.items():
            if any(finding.setting in self._changed for finding in result.findings):
                self._results[name] = UNDECIDED
                self._found_in.pop(name, None)
        self._changed, self._steps = {}, None
        # (of earlier rows it is not known which ones had to be put right)
        self._logs = {name: [row for row in logs.get(name, []) if row[0] > found] for name in LOGS}

    def end_mends(self, role: str) -> None:
        """The readings of a role are as they should be without a mend."""
        self._mended = [one for one in self._mended
                        if one[0].mend is not None and one[0].mend.role != role]

    def is_mended(self, finding: Finding) -> bool:
        """Whether the readings that the finding is about have been put right."""
        standing = any(finding.setting == one.setting
                       for result in self._results.values() for one in result.findings)
        return not standing and any(finding.setting == one.setting for one, _ in self._mended)

    @property
    def vehicle_is_wrong(self) -> bool:
        """Whether a sensor that the vehicle's rows need was right before and is wrong now."""
        return any(setting not in (OF_EFFORTS, SCALES) for setting in self._changed)

    @property
    def arm_is_wrong(self) -> bool:
        """Whether a sensor that the arm's rows need, apart from the attitude, was right before and
        is wrong now."""
        return any(setting.startswith(OF_ARM) for setting in self._changed)

    @property
    def attitude_is_wrong(self) -> bool:
        """Whether the IMU was right before and is wrong now."""
        return any(setting.startswith(OF_ATTITUDE) for setting in self._changed)

    @property
    def right_until(self) -> float:
        """Time [s] of the latest check that found everything right; if a sensor has become wrong
        since, the time until which it was right. Minus infinity before the first such check."""
        return min(self._changed.values(), default=self._right[-1])

    @property
    def mend_since(self) -> float:
        """Time [s] since which readings are to be put right: `right_until`, else that of the oldest
        remembered check that found everything right, to which the estimate returns as well."""
        if self.always_wrong or self.right_until > -math.inf:
            return self.right_until
        return next((at for at in self._right if at > -math.inf), -math.inf)

    @property
    def always_wrong(self) -> bool:
        """Whether a sensor is put right that has been wrong from the start."""
        return any(finding.lasting and finding.setting in self._changed
                   and self._right_at(name, finding) is None
                   for name, result in self._results.items() for finding in result.findings)

    def has_changed(self, setting: str) -> bool:
        """Whether the setting was right before it was found wrong."""
        return setting in self._changed

    @property
    def has_checked(self) -> bool:
        """Whether the first check has been completed."""
        return self._checked_at > -math.inf

    @property
    def has_compared(self) -> bool:
        """Whether sensors that measure the same motion have been compared, if there are any."""
        return self.has_checked or all(len(COMPARED[name]) == 1 for name in self._checks.names)

    @property
    def waiting_for(self) -> list[str]:
        """Names of the checks that still lack motion to judge."""
        return [name for name in self._checks.names if not self._results[name].complete]

    def add(self, log: str, t: float, *values: Sequence[float] | np.ndarray) -> None:
        """Add a row to a log, and advance the checks by a step if it is time.

        imu: n3, w, f, R_Gb, yaw; dvl: v, w, C, R_Gb, n3; odometry: as in `decoder`; depth; joints:
        the reading; thrust: its integral (N,) [N s]; doubted: only the time of a row that is held
        back. The log `tried`, which comes from elsewhere, has the integral (K N,) for
        TRIED_RESPONSES at the same times.
        """
        self._begin = t - self._elapsed if self._begin is None else self._begin
        self._logs[log].append(np.concatenate([[t], *values]))
        elapsed = self._elapsed = t - self._begin
        if self._steps is None and elapsed > self._next_check:
            self._steps = self._check(t, elapsed)
        if self._steps is not None and t >= self._stepped_at + CHECK_STEP_PERIOD:
            self._stepped_at = t
            if self._step(self._steps, elapsed):
                self._steps = None

    def finish(self) -> None:
        """Check the data since the last check, at the end of a recording."""
        logs = [rows for rows in self._logs.values() if rows]
        if not logs or self._begin is None:
            return
        newest, oldest = max(rows[-1][0] for rows in logs), min(rows[0][0] for rows in logs)
        seconds = newest - max(self._begin + self._checked_at, oldest)
        if seconds < LEAST_WINDOWS * JOINT_WINDOW:
            return
        names = LOGS if seconds >= SHORTEST_COMPARED else WITHIN_SENSOR
        steps = self._check(newest, newest - self._begin, names)
        while not self._step(steps, newest - self._begin):
            pass
        self._waiting = set()       # (there is no next check)

    def _step(self, steps: Iterator[None], elapsed: float) -> bool:
        """Advance a check, `elapsed` [s] from the first row; returns whether it has ended. A fit
        may fail on readings like none before: it is told, and the samples go on."""
        try:
            return bool(next(steps, True))
        except ValueError as error:     # NumPy's LinAlgError, or SciPy's of what is not finite
            self.failed = (f"the check after {elapsed:.0f} s ended with '{error}', so it judged no "
                           "sensor; please report this with the recording")
            self._next_check = elapsed + CHECK_PERIOD
            return True

    def _check(self, t: float, elapsed: float, names: Sequence[str] = LOGS) -> Iterator[None]:
        """Check these logs up to t [s], step by step, and plan the next check."""
        logs: dict[str, np.ndarray] = {}
        for name in names:
            rows = self._logs[name]
            if name == "tried":
                rows += self._tried()
            old = (k for k, row in enumerate(rows) if row[0] >= t - LOG_LENGTH)
            del rows[:next(old, len(rows))]
            if rows:
                # Sort by time: rows that were held back come after later ones.
                logs[name] = np.array(sorted(rows, key=lambda row: row[0]))
            yield
        # In the whole log, a fault that has just begun is diluted by the data before it.
        recent, standing = {}, self._checks.standing(self._results)
        if self._consistent:
            recent = yield from self._checks.steps(_since(logs, t - RECENT_DATA), standing)
        results = yield from self._checks.steps(logs, standing)
        for name, new in results.items():
            before, begin = standing[name], -math.inf       # begin: of the rows of `new`
            if not new.findings and recent.get(name, UNDECIDED).findings:
                new, begin = recent[name], t - RECENT_DATA
            if (name in MIXED and name in self._consistent
                    and not (new.complete or new.findings)):
                latest = yield from self._of_latest(name, logs, t, standing)
                new, begin = (new, begin) if latest is None else (latest, t - LATEST_DATA)
            # (what is found by one check may have begun any time since the one before)
            if (new.findings and all(finding.since is None for finding in new.findings)
                    and self._consistent.get(name, -math.inf)
                    > elapsed - LOG_LENGTH - LATE_CHECK_PERIOD):
                new = (yield from self._of_newest(name, logs, t, begin, standing)) or new
            windows = [_windows(logs.get(log), t) for log in COMPARED[name]]
            # A warning stays until there is enough motion to withdraw it, and as much data as there
            # was to find it: with less, as while a DVL has lost the bottom, it would be uncertain.
            # Rows from before the fault do not show that it is over.
            since = new if self._consistent.get(name, -math.inf) <= elapsed - LOG_LENGTH else (
                recent.get(name, UNDECIDED))
            enough = (new.complete and (since.complete or not before.findings)
                      and all(map(ge, windows, self._found_in.get(name, windows))))
            unconfirmed = any(finding.setting in self._waiting for finding in before.findings)
            if enough or new.findings or unconfirmed or not (before.findings or before.complete):
                standing[name] = new
            if new.findings:
                self._found_in[name] = windows
        if self._waiting and any(result.is_harmful for name, result in standing.items()
                                 if name not in ("thrusters", COMMAND_DELAY, "joints")):
            standing["thrusters"] = UNDECIDED       # (its motion was wrong, so it is not confirmed)
        self._add_delay(standing)
        if "thrusters" in standing and "thrusters" in self._consistent:
            standing["thrusters"] = self._checks.with_share(standing["thrusters"], logs,
                                                            self._onsets(t, elapsed))
            yield
        if "joints" in logs and "joints" in self._consistent:
            standing["joints"] = self._checks.with_changed_wires(
                standing["joints"], logs["joints"],
                self._consistent["joints"] > elapsed - LOG_LENGTH + CHANGE_WINDOW)
        yield
        found = {finding.setting: self._right_at(name, finding)
                 for name, result in standing.items() for finding in result.findings}
        # (in one step: whoever asks for the findings meanwhile finds all as they were)
        self._results = standing
        self._since = {setting: self._first_seen(setting) or (elapsed, before)
                       for setting, before in found.items()}
        self._waiting = self._unconfirmed(elapsed)
        self._changed = yield from self._changed_settings(logs, t)
        self.misread = tuple(Misread(finding.setting, self._places_of(finding))
                             for result in self._results.values() for finding in result.findings
                             if finding.harm is not Harm.SLIGHT)
        for name, result in self._results.items():
            if result.complete and not result.findings:
                self._consistent[name] = elapsed
                self._open[name] = self._open.get(name, result.open) & result.open
        all_right = not (self._changed or self._waiting or self._is_doubted(logs, t))
        if self._consistent and all_right and all(
                results.get(name, UNDECIDED).complete for name in self._consistent
                if name in COMPARED):
            self._right.append(t)
        if names == LOGS:       # (else DVL, depth and thrusters are as unchecked as before)
            self._checked_at = elapsed
        soon = self._waiting or self._next_check < EARLY_CHECKS
        self._next_check += CHECK_PERIOD if soon else LATE_CHECK_PERIOD

    def _add_delay(self, standing: dict[str, CheckResult]) -> None:
        """Add the result on the commands' delay. While a sensor of the motion is wrong it says
        nothing of them, and while they are late they look like another wiring."""
        delay = self._delay()
        if delay.findings and any(result.is_harmful for name, result in standing.items()
                                  if name not in ("thrusters", COMMAND_DELAY)):
            return
        standing[COMMAND_DELAY] = delay
        if delay.findings and "thrusters" in standing:
            standing["thrusters"] = UNDECIDED

    def _right_at(self, name: str, finding: Finding) -> float | None:
        """Time [s] from the first row when check `name` last found no mismatch; None if the one
        found now may have been there all along."""
        if finding.setting in self._open.get(name, ()):
            return None
        return self._consistent.get(name)

    def _first_seen(self, setting: str) -> tuple[float, float | None] | None:
        """When a finding on a setting, or on another one of the same fault, was first seen, and
        when the sensor was last right; None if it is new."""
        alike = OF_WIRING if setting in OF_WIRING else (setting,)
        return min((self._since[one] for one in alike if one in self._since),
                   key=lambda since: since[0], default=None)

    def _places_of(self, finding: Finding) -> tuple[int, ...]:
        """Indices of the channels whose parameters the finding biases."""
        places = range(len(self._robot.channels))
        vehicle, arm = places[self._robot.vehicle_rows], places[self._robot.arm_rows]
        if finding.joint:
            return (arm[self._config.robot.joints.index(finding.joint)],)
        if finding.setting.startswith(OF_ARM):
            return tuple(arm)
        # The attitude determines gravity's load on the arm, so it concerns all channels.
        return tuple(places if finding.setting.startswith(OF_ATTITUDE) else vehicle)

    def _is_doubted(self, logs: dict[str, np.ndarray], t: float) -> bool:
        """Whether more rows of IMU and DVL than single outliers were doubted since the last check.
        """
        assert self._begin is not None
        since = max(self._begin + self._checked_at, t - CHECK_PERIOD)
        new = {name: int(np.sum(logs[name][:, 0] > since)) for name in ("imu", "dvl", "doubted")
               if name in logs}
        return new.get("doubted", 0) > MOST_DOUBTED * sum(new.values())

    def _unconfirmed(self, elapsed: float) -> set[str]:
        """Settings of new findings that the next check has to confirm before they count: commands
        whose delay changes now and then look like another wiring for a single check, and an IMU's
        attitude that wanders for seconds like a turn of the DVL, where it moves on two axes only.
        """
        turned = self._results.get("DVL", UNDECIDED)
        doubtful = [finding for finding in self._results.get("thrusters", UNDECIDED).findings
                    if self._contradicts_what_was_right("thrusters", finding)]
        doubtful += [finding for finding in turned.findings
                     if finding.setting == OF_TURN and not turned.complete]
        return {finding.setting for finding in doubtful
                if finding.setting not in self._changed
                and self._since[finding.setting][0] == elapsed}

    def _contradicts_what_was_right(self, name: str, finding: Finding) -> bool:
        """Whether a finding of check `name` says that rows which fitted before no longer do."""
        return ((name in self._consistent or finding.since is not None)
                and finding.harm is Harm.CONTRADICTS)

    def _changed_settings(self, logs: dict[str, np.ndarray], t: float
                          ) -> Generator[None, None, dict[str, float]]:
        """Settings of sensors that were right before and are wrong now, each with the time [s]
        until which it was right. Only findings that contradict the rows count, and a DVL whose axes
        have turned."""
        assert self._begin is not None
        found: dict[str, float] = {}
        for name, result in self._results.items():
            for finding in result.findings:
                if finding.setting in self._changed:
                    found[finding.setting] = self._changed[finding.setting]
                elif finding.setting in self._waiting:
                    continue
                elif self._contradicts_what_was_right(name, finding):
                    first_seen = self._begin + self._since[finding.setting][0]
                    found[finding.setting] = (self._right_before(first_seen)
                                              if finding.since is None else finding.since)
                elif finding.lasting and self._right_at(name, finding) is None:
                    found[finding.setting] = -math.inf
                elif name in self._consistent and finding.setting == OF_TURN and "dvl" in logs:
                    turned_at = yield from turned_since(logs["dvl"], self._dvl_place)
                    if turned_at is not None:
                        found[finding.setting] = turned_at - CUT_STEP
        if OF_TURN in found and "dvl" in logs:
            turn = of_turn(logs["dvl"], self._dvl_place, found[OF_TURN] + CUT_STEP)
            self._results["DVL"] = _with_turn(self._results["DVL"], turn)
        return found

    def _onsets(self, t: float, elapsed: float) -> list[float]:
        """Times [s] at which a thruster may have become weak that is found weak at t [s]."""
        first_seen = t - elapsed + self._since.get(WEAK_THRUSTER, (elapsed, None))[0]
        right = [at for at in self._right if at > -math.inf]
        begin = max(self._right_before(first_seen), min(right, default=-math.inf))
        return list(np.arange(begin, first_seen, ONSET_STEP)) if begin > -math.inf else []

    def _right_before(self, t: float) -> float:
        """Time [s] of the latest check by which a fault that was first seen at t [s] had not begun;
        minus infinity if there is none. In less than half of the newest data a fault may go unseen,
        so it may have begun some checks earlier, just after one of them."""
        return max((at for at in self._right if at < t - RECENT_DATA + 0.5 * CHECK_PERIOD),
                   default=-math.inf)

    def _of_newest(self, name: str, logs: dict[str, np.ndarray], t: float, begin: float,
                   standing: dict[str, CheckResult]) -> Generator[None, None, CheckResult | None]:
        """Result of check `name`, which found no mismatch last time, on newer rows alone than those
        since `begin` [s], which show one now: those since the DVL has turned, or else since then,
        or the newest half. Older rows would make the mismatch look smaller, or like another one.
        Prefers the first complete result, else the first that shows a mismatch; None if neither
        does."""
        assert self._begin is not None
        shown: list[CheckResult] = []
        cuts = [self._begin + self._consistent[name], t - RECENT_DATA]
        turned_at = ((yield from turned_since(logs["dvl"], self._dvl_place))
                     if name == "DVL" else None)
        if turned_at is not None:
            cuts = [turned_at]
        for cut in (cut for cut in cuts if cut > begin):
            results = yield from self._checks.steps(_since(logs, cut), standing)
            result = results.get(name, UNDECIDED)
            if result.findings and result.complete:
                return result
            shown += [result] if result.findings else []
        return shown[0] if shown else None

    def _of_latest(self, name: str, logs: dict[str, np.ndarray], t: float,
                   standing: dict[str, CheckResult]) -> Generator[None, None, CheckResult | None]:
        """The result of check `name` on the latest rows alone if it is complete and shows a
        mismatch, else None: a mixture of rows before and after a change fits no map."""
        logs = {log: logs[log] for log in COMPARED[name] if log in logs}
        latest = yield from self._checks.steps(_since(logs, t - LATEST_DATA), standing)
        found = latest.get(name, UNDECIDED)
        return found if found.complete and found.findings else None

    def add_command(self, saturated: bool, changed: bool) -> None:
        """See `SensorChecks.add_command`."""
        self._checks.add_command(saturated, changed)


def _with_turn(result: CheckResult, turn: tuple[str, Mend] | None) -> CheckResult:
    """The DVL's result on axes that turned by an angle, with the sensor that did, as by `of_turn`,
    if known."""
    if turn is None:
        return result
    role, mend = turn
    tilt = "turned with them" if role == "imu" else "did not turn"
    return result._replace(findings=[one._replace(mend=mend, sentence=(
        f"{one.sentence}; the vehicle's mean tilt {tilt}, so it is the {role.upper()}"))
        if one.setting == OF_TURN and one.harm is Harm.FOLLOWED else one
        for one in result.findings])


def _windows(rows: np.ndarray | None, t: float) -> int:
    """Number of windows before t [s] in which a log has rows, whatever their rate."""
    return 0 if rows is None else np.unique((t - rows[:, 0]) // CHANGE_WINDOW).size


def _since(logs: dict[str, np.ndarray], t: float) -> dict[str, np.ndarray]:
    """The rows of all logs after t [s]."""
    return {name: rows[rows[:, 0] > t] for name, rows in logs.items()}
