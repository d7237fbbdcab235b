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

"""Gates that accept every reading, and the factories that choose between them and the real ones
(setting `filter.gates`)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .dead_axes import DeadAxes
from .frozen import FrozenSensorGate
from .imu_consistency import ImuConsistency
from .innovations import InnovationGate
from .joint_consistency import JointConsistency
from .repeats import RepeatGate
from .spikes import LOOKAHEAD, SPIKE_NEIGHBOURS, GatedRow, SpikeGate
from .stuck_positions import StuckPositions
from .stuck_velocities import StuckVelocities
from .two_publishers import PublisherGate
from .velocity_fit import VelocityFit


class NoSpikeGate(SpikeGate):
    """See `SpikeGate`; rows pass at once, unchanged."""

    @property
    def noise(self) -> list[float]:
        """See `SpikeGate.noise`; unknown."""
        return [0.0] * len(self._floor)

    def gate(self, t: float, row: Sequence[float]) -> list[GatedRow]:
        """See `SpikeGate.gate`."""
        return [GatedRow(t, row, None, None)]


class NoInnovationGate(InnovationGate):
    """See `InnovationGate`; every value is accepted."""

    def gate(self, t: float, value: np.ndarray, axes: np.ndarray) -> list[tuple[float, bool]]:
        """See `InnovationGate.gate`."""
        return [(t, True)]


class NoImuConsistency(ImuConsistency):
    """See `ImuConsistency`; every reading fits."""

    def fits(self, t: float, turn_error: Sequence[float], force: Sequence[float]) -> bool:
        """See `ImuConsistency.fits`."""
        return True


class NoJointConsistency(JointConsistency):
    """See `JointConsistency`; every reading fits."""

    def fits(self, t: float, position: Sequence[float], velocity: Sequence[float]) -> bool:
        """See `JointConsistency.fits`."""
        return True


class NoRepeatGate(RepeatGate):
    """See `RepeatGate`; no value is ever reported as repeated."""

    def repeated(self, values: Sequence[float], changes: Sequence[bool]) -> list[bool]:
        """See `RepeatGate.repeated`."""
        return [False] * len(values)

    def constant(self, values: Sequence[float]) -> list[bool]:
        """See `RepeatGate.constant`."""
        return [False] * len(values)


class NoStuckVelocities(StuckVelocities):
    """See `StuckVelocities`; every velocity is assumed to be measured."""

    def stuck(self, t: float, position: Sequence[float], velocity: Sequence[float]) -> list[bool]:
        """See `StuckVelocities.stuck`."""
        return self._stuck


class NoStuckPositions(StuckPositions):
    """See `StuckPositions`; every position is assumed to be measured."""

    def stuck(self, t: float, position: Sequence[float], velocity: Sequence[float],
              held: float) -> list[bool]:
        """See `StuckPositions.stuck`."""
        return self._stuck


class NoVelocityFit(VelocityFit):
    """See `VelocityFit`; every velocity is assumed to be its position's derivative."""

    def add(self, t: float, position: Sequence[float], velocity: Sequence[float]) -> None:
        """See `VelocityFit.add`."""


class NoFrozenSensorGate(FrozenSensorGate):
    """See `FrozenSensorGate`; no sensor is ever reported frozen."""

    def gate(self, role: str, t: float, values: Sequence[float]) -> float | None:
        """See `FrozenSensorGate.gate`."""
        return None


class NoDeadAxes(DeadAxes):
    """See `DeadAxes`; no axis is ever found dead."""

    def add(self, t: float, values: Sequence[float]) -> bool:
        """See `DeadAxes.add`."""
        return False


class NoPublisherGate(PublisherGate):
    """See `PublisherGate`; no topic is ever reported to have two publishers."""

    def gate(self, role: str, t: float, values: Sequence[float],
             spread: bool = False) -> float | None:
        """See `PublisherGate.gate`."""
        return None


def spike_gate(gates: bool, floor: Sequence[float], lookahead: float = LOOKAHEAD,
               neighbours: int = SPIKE_NEIGHBOURS) -> SpikeGate:
    """A `SpikeGate`, with gates=False one that accepts everything; other arguments as there."""
    return (SpikeGate if gates else NoSpikeGate)(floor, lookahead, neighbours)


def innovation_gate(gates: bool, floor: float, largest: float, slope: float, wander: float,
                    patience: float, steepest: float) -> InnovationGate:
    """An `InnovationGate`, with gates=False one that accepts everything; other arguments as there.
    """
    kind = InnovationGate if gates else NoInnovationGate
    return kind(floor, largest, slope, wander, patience, steepest)


def imu_consistency(gates: bool) -> ImuConsistency:
    """An `ImuConsistency`, with gates=False one that accepts everything."""
    return ImuConsistency() if gates else NoImuConsistency()


def joint_consistency(gates: bool, joints: int, position_stddev: float) -> JointConsistency:
    """A `JointConsistency`, with gates=False one that accepts everything; other arguments as there.
    """
    return (JointConsistency if gates else NoJointConsistency)(joints, position_stddev)


def stuck_positions(gates: bool, joints: int) -> StuckPositions:
    """A `StuckPositions`, with gates=False one that accepts everything; joints as there."""
    return (StuckPositions if gates else NoStuckPositions)(joints)


def stuck_velocities(gates: bool, joints: int, position_stddev: float) -> StuckVelocities:
    """A `StuckVelocities`, with gates=False one that accepts everything; other arguments as there.
    """
    return (StuckVelocities if gates else NoStuckVelocities)(joints, position_stddev)


def velocity_fit(gates: bool, joints: int) -> VelocityFit:
    """A `VelocityFit`, with gates=False one that accepts everything; joints as there."""
    return (VelocityFit if gates else NoVelocityFit)(joints)


def repeat_gate(gates: bool, width: int) -> RepeatGate:
    """A `RepeatGate`, with gates=False one that accepts everything; width as there."""
    return (RepeatGate if gates else NoRepeatGate)(width)


def frozen_sensor_gate(gates: bool, rest_velocity: float) -> FrozenSensorGate:
    """A `FrozenSensorGate`, with gates=False one that accepts everything; rest_velocity as there.
    """
    return (FrozenSensorGate if gates else NoFrozenSensorGate)(rest_velocity)


def dead_axes(gates: bool, axes: Sequence[float]) -> DeadAxes:
    """A `DeadAxes`, with gates=False one that finds none; axes as there."""
    return (DeadAxes if gates else NoDeadAxes)(axes)


def publisher_gate(gates: bool, far: Mapping[str, Sequence[float]]) -> PublisherGate:
    """A `PublisherGate`, with gates=False one that accepts everything; far as there."""
    return (PublisherGate if gates else NoPublisherGate)(far)
