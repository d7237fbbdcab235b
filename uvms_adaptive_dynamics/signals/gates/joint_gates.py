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

"""What is used of the joints' readings: all gates of positions, velocities and efforts."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...config import Config
from ...model.robot import RobotModel
from .choose import (
    joint_consistency,
    repeat_gate,
    spike_gate,
    stuck_positions,
    stuck_velocities,
    velocity_fit,
)
from .contradictions import Contradictions
from .spikes import GatedRow

RELATIVE_EFFORT_FLOOR = 0.005   # of the effort limit: the smallest scale of the gate
JOINT_NEIGHBOURS = 10         # of a reading, on either side, by which spikes are known
JOINT_QUIET = 0.5             # [s] without a contradiction after which readings are used again
NOT_FINITE = "effort of a joint is not finite"
NO_EFFORTS = "no efforts (if the driver has none: joint_states.effort_masked)"
IMPOSSIBLE_EFFORT = "effort out of range"
SPIKES = "position spike", "velocity spike", "effort spike"
DO_NOT_FIT = "positions and velocities do not fit each other: "
STANDS_STILL = "position stays the same while the velocity says that the joint moves: "


class JointGates:
    """The gates in their order: `possible`, `unrepeated`, `gate`, which holds readings until it
    knows spikes, and `used`. A reading (3 n,) has positions, velocities and efforts.

    contradictions: when positions and velocities did not fit each other. unmeasured_since: place in
    a reading of each effort that the newest one has proved to repeat itself, and since when [s].
    `on_reject(role, reason)` counts rejections."""

    def __init__(self, config: Config, robot: RobotModel, on_reject: Callable[[str, str], None]):
        self._on_reject = on_reject
        self._joints, self._n = config.robot.joints, len(config.robot.joints)
        self._effort_limits, self._radian = robot.effort_limits.tolist(), robot.radian.tolist()
        self._possible = robot.possible_efforts.tolist()
        self._none_erratic = [0.0] * self._n
        self.contradictions = Contradictions()
        self._begin_efforts()
        self.change_settings(config, gates_change=True)

    def change_settings(self, config: Config, gates_change: bool) -> None:
        """Use new settings from now on; gates_change: `filter.gates` has changed."""
        settings, gates, n = config.joint_states, config.filter.gates, self._n
        self._rest_velocity, self._effort_masked = settings.rest_velocity, effort_masked(config)
        if not gates_change:
            return
        effort_floor = [RELATIVE_EFFORT_FLOOR * (limit if math.isfinite(limit) else 1.0)
                        for limit in self._effort_limits]
        self._spikes = spike_gate(gates, [settings.position_stddev] * n
                                  + [settings.velocity_stddev] * n + effort_floor,
                                  neighbours=JOINT_NEIGHBOURS)
        self._consistency = joint_consistency(gates, n, settings.position_stddev)
        self._repeats = repeat_gate(gates, n)
        self._unmeasured = stuck_velocities(gates, n, settings.position_stddev)
        self._standing = stuck_positions(gates, n)
        self._velocity_fit = velocity_fit(gates, n)

    def reset(self) -> None:
        """Forget all readings."""
        for part in (self._spikes, self._consistency, self._repeats, self._unmeasured,
                     self._standing, self._velocity_fit):
            part.reset()
        self.contradictions = Contradictions()
        self._begin_efforts()

    def _begin_efforts(self) -> None:
        self._last_efforts: Sequence[float] = [math.nan] * self._n
        self._same_since, self._repeated = [math.inf] * self._n, [False] * self._n
        self.unmeasured_since: dict[int, float] = {}

    def discard(self) -> None:
        """Forget the newest readings, from frozen joints."""
        self._spikes.reset()
        self._consistency.restart()
        if self.contradictions.is_open:
            self.contradictions.close()

    @property
    def misplaced(self) -> bool:
        """Whether the position of a joint is in another unit."""
        return any(self._velocity_fit.misplaced)

    def sentences(self) -> list[str]:
        """Warnings for the operator about the positions."""
        return [f"joint_states.position_offset: {self._joints[j]} jumped by {size:.2g} (rad or m) "
                "and stayed there, which its velocity does not explain; if its encoder has "
                "slipped, home the joint, or add the jump to joint_states.position_offset"
                for j, size in self._consistency.slips.items()]

    def possible(self, reading: Sequence[float]) -> Sequence[float]:
        """The reading with NaN for efforts that no actuator has."""
        first = 2 * self._n
        efforts = list(map(math.isfinite, reading[first:]))
        if not all(known or masked for known, masked in zip(efforts, self._effort_masked)):
            self._on_reject("joint_states", NOT_FINITE if any(efforts) else NO_EFFORTS)
        far = [abs(effort) > most for effort, most in zip(reading[first:], self._possible)]
        if not any(far):
            return reading
        self._on_reject("joint_states",
                        f"{IMPOSSIBLE_EFFORT}: beyond three times its limit (unit?)")
        return without(reading, first, far)

    def unrepeated(self, t: float, reading: Sequence[float]) -> Sequence[float]:
        """The reading at t [s] with NaN for efforts that do not change while their joint moves, or
        have never changed."""
        n = self._n
        efforts = reading[2 * n:]
        self._same_since = [since if effort == last else t for since, effort, last
                            in zip(self._same_since, efforts, self._last_efforts)]
        self._last_efforts = efforts
        moves = [abs(speed) > self._rest_velocity * radian
                 for speed, radian in zip(reading[n:2 * n], self._radian)]
        repeated = self._repeats.repeated(efforts, moves)
        # Readings that began the run were used before it proved to be one.
        self.unmeasured_since = {2 * n + j: self._same_since[j] for j in range(n)
                                 if repeated[j] and not self._repeated[j]}
        self._repeated = repeated
        for column, since in self.unmeasured_since.items():
            self._spikes.forget(column, since)
        repeated = [repeats or constant for repeats, constant
                    in zip(repeated, self._repeats.constant(efforts))]
        if not any(repeated):
            return reading
        if any(repeats and moving and not masked for repeats, moving, masked
               in zip(repeated, moves, self._effort_masked)):
            self._on_reject("joint_states", "effort of a joint repeats itself while it moves: at "
                                            "its limit, or not measured")
        return without(reading, 2 * n, repeated)

    def gate(self, t: float, reading: Sequence[float]) -> list[GatedRow]:
        """The readings whose spikes are known, now that this one at t [s] is."""
        return self._spikes.gate(t, reading)

    def flush(self) -> list[GatedRow]:
        """The readings that `gate` still holds."""
        return self._spikes.flush()

    def used(self, gated: GatedRow, last: float, longest_gap: float) -> list[float]:
        """(4 n,) the reading with NaN for velocities that are not used, and 1 for each joint whose
        values are erratic. last [s]: time of the last one used; longest_gap [s] between readings
        that are judged together."""
        n, erratic, (t, row) = self._n, self._none_erratic, gated[:2]
        if gated.spikes is not None:
            for k, spike in enumerate(SPIKES):
                if gated.spikes[k * n:(k + 1) * n].any():
                    self._on_reject("joint_states", spike)
        if gated.erratic is not None:
            erratic = gated.erratic.reshape(3, n).any(axis=0).astype(float).tolist()
            self._on_reject("joint_states", "erratic")
        if t - last > longest_gap:
            self._consistency.restart()
            self._unmeasured.reset()
            self._standing.reset()
        row = self._without_unfit_velocities(t, row)
        standing = self._standing.stuck(t, row[:n], row[n:2 * n], longest_gap)
        if any(standing):
            # Where the joint is then tells no jump and no scale, as after a gap.
            self._consistency.restart()
            self.contradictions.add(self._standing.since, t)
            self._on_reject("joint_states", STANDS_STILL + self._joints[standing.index(True)])
        elif not self._consistency.fits(t, row[:n], row[n:2 * n]):
            self.contradictions.add(min(last, self._consistency.wrong_since), t)
            self._on_reject("joint_states", DO_NOT_FIT
                            + self._joints[self._consistency.worst])
        elif self.contradictions.is_open and t - self.contradictions.last > JOINT_QUIET:
            self.contradictions.close()
        stuck = self._unmeasured.stuck(t, row[:n], row[n:2 * n])
        if any(stuck):
            self._on_reject("joint_states", "velocity of a joint stays the same while it moves: "
                                            "not measured")
            row = without(row, n, stuck)
        return [*row, *erratic]

    def _without_unfit_velocities(self, t: float, row: Sequence[float]) -> Sequence[float]:
        """The row with NaN for velocities that are late or in another unit."""
        n, fit = self._n, self._velocity_fit
        fit.add(t, row[:n], row[n:2 * n])
        if not any(fit.unused):
            return row
        names = ", ".join(name for name, unused in zip(self._joints, fit.unused) if unused)
        self._on_reject("joint_states", "velocity is not its position's derivative, and not used: "
                        + names)
        return without(row, n, fit.unused)


def without(row: Sequence[float], first: int, unused: Sequence[bool]) -> list[float]:
    """The row with NaN for the values from place `first` on that are not used."""
    own = slice(first, first + len(unused))
    return [*row[:first], *(math.nan if no else value for no, value in zip(unused, row[own])),
            *row[own.stop:]]


def effort_masked(config: Config) -> list[bool]:
    """Whether each joint's effort is masked by setting."""
    return [joint in config.joint_states.effort_masked for joint in config.robot.joints]
