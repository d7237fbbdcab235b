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

"""The sensor front end: messages in, synchronous samples on the grid of ticks out.

    message -> decode -> gate -> filter -> at each tick: motion, wrench, masks -> Sample

Only the messages' times drive it, never a timer: the same messages with the same times of reception
give the same samples, live or from a bag. A tick is complete once the sensors' clock is
`filter.latency` past it.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import or_
from typing import Any

from ..config import Config
from ..model.robot import RobotModel
from ..model.sample import Misread, Sample
from .attitude_rates import AttitudeRates
from .checks.delay import DelayMonitor
from .checks.finding import Mend
from .checks.frames import FrameChecks
from .decode.clocks import Handling
from .decode.input_state import SILENCE_TIMEOUTS, InputStatus, input_status
from .decode.readings import ClockJump, MessageReader, Reading
from .decode.sensor_clock import SensorClock
from .filter_chain import FilterChain, FoundWrong
from .filters.pace import late_sensors, slow_sensors
from .gates.choose import frozen_sensor_gate, publisher_gate
from .gates.frozen import FrozenSensorGate
from .gates.joint_exchange import JointExchange
from .gates.two_publishers import (
    DVL_FAR,
    IMU_FAR,
    JOINT_FAR,
    THRUST_FAR,
    WRENCH_FAR,
    PublisherGate,
)
from .health import frames_status, signal_warnings
from .masks import RowMasks
from .replay import CutOff, Kept, Mends, PutRight, Replay, composed
from .ticks import TickGrid

DEFAULT_SILENCE_TIMEOUT = 2.0   # [s]
LONGEST_WAIT = 2.0     # [s] for a slow sensor; older estimates are useless to a controller


class SignalFrontEnd:
    """Turns messages into samples; unusable messages are counted and never raise.

    `inputs` holds the counts of each role's messages, `resets` the count of restarts by reason.
    mends: what puts the readings right from the start, as found earlier on the same dive.
    """

    def __init__(self, config: Config, robot: RobotModel, mends: Sequence[Mend] = ()):
        self.config, self.robot = config, robot
        self._reader = MessageReader(config, robot.table.prismatic)
        self.inputs = self._reader.inputs
        self._frozen_gate = _frozen_gate(config)
        self._publisher_gate = _publisher_gate(config)
        self._rates = AttitudeRates(config, self._reader.clocks.sensors.get("imu", SensorClock()))
        self.frames = FrameChecks(config, robot, self._reader.clocks.drifts, self._reader.wrapped,
                                  lambda: self._filters.tried_log(),
                                  self._reader.clocks.guessed,
                                  lambda: self.delay.result(self._reader.origin or 0.0))
        self._filters = FilterChain(config, robot, self._reader.clocks, self._count_outlier,
                                    self.frames.add, self.frames.add_command)
        self.delay = DelayMonitor(config, self._commands_come_in_bursts)
        self._checks_delay = config.robot.vehicle and config.thrusters.source != "zero"
        self._grid = TickGrid(config.filter.period)
        self._masks = RowMasks(config, robot)
        self._kept = Kept()
        self._right = PutRight.always(mends)
        self._exchange = JointExchange(robot)
        self._left_out = FoundWrong()       # what the samples learnt again were without
        self._replay: Replay | None = None
        self._again: tuple[tuple[Sample, Sample], ...] = ()     # to be learnt again
        self._wrong_since = math.inf        # [s since the epoch] of readings that were left out
        self.resets: Counter = Counter()

    def _commands_come_in_bursts(self) -> bool:
        clock = self._reader.clocks.sensors.get(self.config.thrusters.source)
        return clock is not None and clock.intervals.bursts is not None

    def change_settings(self, config: Config) -> None:
        """Use new settings from now on; only those in config.LIVE may differ. Nothing is forgotten
        except what the affected gates know of their signals."""
        gates_change = config.filter.gates != self.config.filter.gates
        if gates_change:
            self._publisher_gate = _publisher_gate(config)
            self._rates.change_settings(config)
        if gates_change or (config.joint_states.rest_velocity
                            != self.config.joint_states.rest_velocity):
            self._frozen_gate = _frozen_gate(config)
        self.config = config
        self._reader.change_settings(config)
        self._filters.change_settings(config, gates_change)
        self._replay = None     # it begins again

    def follow_masks(self, follow: Callable[[float, Sequence[str]], None]) -> None:
        """Call follow(t, reasons) at every sample, with its time [s since the epoch] and the mask
        reasons of its C rows, '' for a valid row."""
        self._masks.report_to(follow)

    def reset(self) -> None:
        """Forget all signals, as between bags; counts stay."""
        self._drop_signals()
        self.frames.reset()
        self.delay.reset()
        self._exchange.reset()
        self._right, self._left_out = PutRight(), FoundWrong()

    def restart(self) -> None:
        """Forget all signals because a clock has jumped: what is known about the sensors stays, and
        readings are put right as before."""
        self._drop_signals()
        self.frames.restart()
        self.delay.restart()
        self._right = PutRight.always(self._right.mends.now)

    def _drop_signals(self) -> None:
        for part in (self._reader, self._frozen_gate, self._publisher_gate, self._rates,
                     self._filters, self._grid, self._masks):
            part.reset()
        self._exchange.restart()
        self._kept.clear()
        self._replay, self._again = None, ()
        self._wrong_since = math.inf

    # --- messages ---------------------------------------------------------------------------------

    def add_message(self, role: str, message: Any, receive_time: float) -> None:
        """Add a message received at `receive_time` [s since the epoch]."""
        # decode: SI units, body FRD, seconds since the origin
        readings = self._reader.read(role, message, receive_time)
        if isinstance(readings, ClockJump):
            self.resets[Handling.JUMPED.value] += 1
            self.restart()
            readings = self._reader.read(role, message, receive_time)
        if not isinstance(readings, ClockJump):
            for reading in readings:
                self._add(reading)

    def _add(self, reading: Reading) -> None:
        role, t, values = reading[:3]
        self._masks.note_reading(role, t)
        # gate: cut off a frozen sensor, or two nodes on one topic, back to when the fault began
        frozen_since = self._frozen_gate.gate(role, t, values)
        intervals, two_since = self._reader.clocks.sensors[role].intervals, None
        # A DVL's second node is told by its rate where that is known: the IMU shows which is right.
        if role != "dvl" or not intervals.were_even:
            two_since = self._publisher_gate.gate(role, t, self._filters.compared(reading),
                                                  intervals.batches is not None)
        intervals.note_values(alternate=two_since is not None)
        if frozen_since is not None:
            self._cut_off(role, frozen_since, "frozen", (
                f"identical readings for {t - frozen_since:.1f} s while other sensors show motion; "
                "restart the sensor or its driver"))
            return
        if two_since is not None:
            self._cut_off(role, two_since, "two publishers", (
                f"its values have alternated between two series for {t - two_since:.1f} s; two "
                "nodes publish on this topic: stop one of them, or rename its topic"))
            return
        self.inputs[role].count_used()
        if role == "joint_states" and self.config.filter.gates:
            reading = reading._replace(values=self._exchange.in_order(t, values))
        for one in self._rates.add(reading) if role == "imu" else (reading,):
            right = self._right.add(one)
            if right is not None:
                self._filters.add(right)
            self._keep(one)
        if role == "imu" and self._rates.found is not None:
            self._leave_out_imu(self._rates.found)

    def _cut_off(self, role: str, since: float, reason: str, explanation: str) -> None:
        """Count the reading as rejected, and discard the data since the fault began at `since` [s].
        """
        self.inputs[role].count_rejected(reason, explanation, proven=True)
        self._discard(role, since)

    def _discard(self, role: str, since: float) -> None:
        self._filters.discard_after(role, since)
        self._keep(CutOff(role, since))

    def _leave_out_imu(self, since: float) -> None:
        """Discard the IMU's readings since `since` [s], and let what was learnt with them be undone
        and learnt again without."""
        self._discard("imu", since)
        origin = self._reader.origin
        if not self._again and origin is not None:
            # (a sample uses the readings up to its latency later)
            self._wrong_since = origin + since - self.latency
            self._again = self._kept.without(self.robot, FoundWrong(attitude=True),
                                             self._wrong_since)

    # --- readings put right -----------------------------------------------------------------------

    @property
    def mends(self) -> tuple[Mend, ...]:
        """What puts the readings right now."""
        return composed([*self._exchange.mends, *self._right.mends.now])

    def _keep(self, event: Reading | CutOff) -> None:
        """Keep a reading or a cut-off, and go on with the replay if a sensor has to be put right.
        """
        self._kept.add(event)
        replay, wanted, origin = self._replay, self.frames.mends, self._reader.origin
        if replay is not None and not replay.is_for(wanted):    # right again, or more is wrong
            replay = self._replay = None
        if replay is not None:
            replay.add(event)
            if replay.is_done:
                self._go_on_with(replay)
        elif wanted and origin is not None:
            mends = self._right.mends.then(self.frames.mend_since, wanted)
            self._replay = Replay(self.config, self.robot, self._reader.clocks, self._kept, mends,
                                  wanted, origin, self._latency_with(mends))

    def _go_on_with(self, replay: Replay) -> None:
        """Let a replay that has arrived at the present take the place of the filters."""
        self._replay, self._again = None, replay.finish()
        if self.frames.always_wrong:
            self._again = tuple((after, after) for _, after in self._again)
        self.frames.note_mended(replay.logs)
        for role in _roles(self._right.mends) - _roles(replay.right.mends):
            self.frames.end_mends(role)
        self._right, self._filters = replay.right, replay.filters
        replay.connect(self._count_outlier, self.frames.add, self.frames.add_command)
        self.delay.reset()
        for _, sample in self._again:
            self.delay.add(sample)

    def _count_outlier(self, role: str, reason: str) -> None:
        self.inputs[role].count_outlier(reason)

    # --- samples ----------------------------------------------------------------------------------

    def samples(self) -> list[Sample]:
        """The samples whose ticks have become due."""
        now = self._reader.clocks.now()
        # Asked after every message, and most make no tick due even at the least latency.
        if now is not None and self._grid.waits(now - self.config.filter.latency):
            return []
        return self._samples_due(self.latency)

    @property
    def behind(self) -> float | None:
        """Time of reception minus the clock of the samples [s]; None until that is known."""
        return self._reader.clocks.reference

    @property
    def latency(self) -> float:
        """Data time [s] between a tick and its sample: filter.latency, or more if a sensor is later
        or slower than that allows for."""
        return self._latency_with(self._right.mends)

    def _latency_with(self, mends: Mends) -> float:
        """The latency [s] with readings that are put right by these mends."""
        return max(self.config.filter.latency, min(self._wait(mends), LONGEST_WAIT))

    def _wait(self, mends: Mends) -> float:
        """[s] of data after a tick until everything for its sample has arrived."""
        return self._filters.wait() + mends.late + self._rates.late

    def flush(self) -> list[Sample]:
        """The samples up to the last message, at the end of a recording."""
        for reading in self._reader.flush():
            self._add(reading)
        self._filters.flush()
        samples = self._samples_due(latency=0.0)
        self.frames.finish()
        return samples

    def _samples_due(self, latency: float) -> list[Sample]:
        origin, now = self._reader.origin, self._reader.clocks.now()
        if origin is None or now is None:
            return []
        due = self._grid.due(origin + self._masks.begin, now, latency)
        if due.skipped:
            self.resets["a pause too long to catch up with"] += 1
        found = [self._sample(tick, origin) for tick in due.ticks]
        samples = [sample for sample in found if sample is not None]
        if self._checks_delay:
            for sample in samples:
                self.delay.add(sample)
        return samples

    def _sample(self, tick: int, origin: float) -> Sample | None:
        """The sample at a tick; None while the robot's state is unknown."""
        stamp, frames = tick * self._grid.period, self.frames
        wrong = FoundWrong(frames.vehicle_is_wrong, frames.arm_is_wrong, frames.attitude_is_wrong)
        out = FoundWrong(*map(or_, wrong, self._left_out)) if any(wrong) else FoundWrong()
        if out != self._left_out and not frames.mends:
            self._left_out = out
            if any(out):
                self._again = self._kept.without(self.robot, out)
        sample = self._filters.sample(tick, stamp, stamp - origin, self._masks, wrong)
        if sample is None:
            return None
        self._kept.add_sample(tick, sample)
        if self._replay is not None:
            self._replay.add_sample(tick, sample)
        again, self._again = self._again, ()
        right_until, out_since = origin + frames.right_until, self._wrong_since
        if out_since < math.inf:
            # (before the first check, nothing speaks against the readings before)
            right_until = min(right_until, out_since) if right_until > -math.inf else out_since
            self._wrong_since = math.inf
        return replace(sample, right_until=right_until,
                       found_wrong=wrong.vehicle or wrong.arm or out_since < math.inf,
                       misread=self.misread, again=again)

    @property
    def misread(self) -> tuple[Misread, ...]:
        """The wrong settings and sensors that bias parameters, each once."""
        return tuple(dict.fromkeys(self.frames.misread + self.delay.misread))

    # --- reports ----------------------------------------------------------------------------------

    @property
    def counters(self) -> dict[str, int]:
        """Counts of rejected messages and values by `role: reason`, and of restarts."""
        rejected = {f"{state.role}: {reason}": count for state in self.inputs.values()
                    for reason, count in (*state.rejected.items(), *state.doubted.items())}
        return rejected | {f"reset: {reason}": count for reason, count in self.resets.items()}

    @property
    def masked(self) -> dict[str, Counter]:
        """Number of ticks with a masked row: channel -> reason -> ticks."""
        return self._masks.counts

    @property
    def ticks(self) -> int:
        """Number of ticks so far, with and without a sample."""
        return self._masks.ticks

    @property
    def warnings(self) -> list[str]:
        """Sentences for the operator, each with the setting to change; empty if all is well."""
        clocks = self._reader.clocks.sensors
        slow = [*late_sensors(clocks, self.latency, self._wait(self._right.mends)),
                *slow_sensors(clocks, self.config.filter.lowpass)]
        return signal_warnings(
            [*self._reader.sentences(), *slow, *self._rates.sentences(),
             *self._exchange.sentences(), *self._filters.sentences()],
            self.frames, self.delay, self._filters.inertial.motion_sentences(),
            self._filters.inertial.dvl_gate.restarts)

    def status(self, now: float) -> list[InputStatus]:
        """Status of each input and of the frame checks; `now` [s] is on the clock of reception."""
        inputs = [input_status(state, now, SILENCE_TIMEOUTS.get(role, DEFAULT_SILENCE_TIMEOUT))
                  for role, state in self.inputs.items()]
        return inputs + [frames_status(self.warnings, self.frames.waiting_for)]


def _frozen_gate(config: Config) -> FrozenSensorGate:
    return frozen_sensor_gate(config.filter.gates, config.joint_states.rest_velocity)


def _publisher_gate(config: Config) -> PublisherGate:
    thrusters = config.thrusters
    return publisher_gate(config.filter.gates, {
        "imu": IMU_FAR, "dvl": DVL_FAR, "joint_states": (JOINT_FAR,) * len(config.robot.joints),
        "thrusters": (THRUST_FAR,) * len(thrusters.signs), "wrench": WRENCH_FAR})


def _roles(mends: Mends) -> set[str]:
    """The roles whose readings are put right now."""
    return {mend.role for mend in mends.now}
