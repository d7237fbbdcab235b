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

"""Gates that let every reading through, and the one place that chooses between them and the others
(setting `filter.gates`)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .frozen import FrozenSensorGate
from .imu_consistency import ImuConsistency
from .innovations import InnovationGate
from .joint_consistency import JointConsistency
from .publishers import PublisherGate
from .repeats import RepeatGate
from .spikes import LOOKAHEAD, GatedRow, SpikeGate
from .stuck_velocities import StuckVelocities
from .velocity_fit import VelocityFit


class NoSpikeGate(SpikeGate):
    """See `SpikeGate`; rows leave at once and as they are."""

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
    """See `RepeatGate`; no value is ever found to repeat itself."""

    def repeated(self, values: Sequence[float], changes: Sequence[bool]) -> list[bool]:
        """See `RepeatGate.repeated`."""
        return [False] * len(values)


class NoStuckVelocities(StuckVelocities):
    """See `StuckVelocities`; every velocity is taken for measured."""

    def stuck(self, t: float, position: Sequence[float], velocity: Sequence[float]) -> list[bool]:
        """See `StuckVelocities.stuck`."""
        return self._stuck


class NoVelocityFit(VelocityFit):
    """See `VelocityFit`; every velocity is taken for the positions' derivative."""

    def add(self, t: float, position: Sequence[float], velocity: Sequence[float]) -> None:
        """See `VelocityFit.add`."""


class NoFrozenSensorGate(FrozenSensorGate):
    """See `FrozenSensorGate`; no sensor is ever found frozen."""

    def gate(self, role: str, t: float, values: Sequence[float]) -> float | None:
        """See `FrozenSensorGate.gate`."""
        return None


class NoPublisherGate(PublisherGate):
    """See `PublisherGate`; no topic is ever found to have two."""

    def gate(self, role: str, t: float, values: Sequence[float]) -> float | None:
        """See `PublisherGate.gate`."""
        return None


def spike_gate(gates: bool, floor: Sequence[float], lookahead: float = LOOKAHEAD) -> SpikeGate:
    """The gate, or with gates=False none; other arguments as of `SpikeGate`."""
    return (SpikeGate if gates else NoSpikeGate)(floor, lookahead)


def innovation_gate(gates: bool, floor: float, largest: float, slope: float, wander: float,
                    patience: float, steepest: float) -> InnovationGate:
    """The gate, or with gates=False none; other arguments as of `InnovationGate`."""
    kind = InnovationGate if gates else NoInnovationGate
    return kind(floor, largest, slope, wander, patience, steepest)


def imu_consistency(gates: bool) -> ImuConsistency:
    """The check, or with gates=False none."""
    return ImuConsistency() if gates else NoImuConsistency()


def joint_consistency(gates: bool, joints: int, position_stddev: float) -> JointConsistency:
    """The check, or with gates=False none; other arguments as of `JointConsistency`."""
    return (JointConsistency if gates else NoJointConsistency)(joints, position_stddev)


def stuck_velocities(gates: bool, joints: int, position_stddev: float) -> StuckVelocities:
    """The check, or with gates=False none; other arguments as of `StuckVelocities`."""
    return (StuckVelocities if gates else NoStuckVelocities)(joints, position_stddev)


def velocity_fit(gates: bool, joints: int) -> VelocityFit:
    """The gate, or with gates=False none; joints as of `VelocityFit`."""
    return (VelocityFit if gates else NoVelocityFit)(joints)


def repeat_gate(gates: bool, width: int) -> RepeatGate:
    """The gate, or with gates=False none; width as of `RepeatGate`."""
    return (RepeatGate if gates else NoRepeatGate)(width)


def frozen_sensor_gate(gates: bool, rest_velocity: float) -> FrozenSensorGate:
    """The gate, or with gates=False none; rest_velocity as of `FrozenSensorGate`."""
    return (FrozenSensorGate if gates else NoFrozenSensorGate)(rest_velocity)


def publisher_gate(gates: bool, far: Mapping[str, Sequence[float]]) -> PublisherGate:
    """The gate, or with gates=False none; far as of `PublisherGate`."""
    return (PublisherGate if gates else NoPublisherGate)(far)
