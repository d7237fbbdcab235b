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

"""Whether an IMU's messages carry an orientation."""
import math

import numpy as np

from uvms_adaptive_dynamics.signals.gates.orientation import (
    CONSTANT,
    NOT_PUBLISHED,
    OrientationGate,
)

NAN = math.nan
WITHOUT = [NAN, NAN, NAN, 0.0, 0.0, 0.0, 0.0, 0.0, -9.8, NAN]


def reading(t, rate=0.0, moves=True):
    """A level vehicle that turns about x."""
    down = [0.0, math.sin(t), math.cos(t)] if moves else [0.0, 0.0, 1.0]
    return [*down, rate, 0.0, 0.0, 0.0, 0.0, -9.8, 0.0]


def judged(gate, readings):
    return [gate.usable(0.01 * k, r) for k, r in enumerate(readings)]


def test_an_orientation_that_moves_is_used():
    gate = OrientationGate()
    assert all(judged(gate, [reading(0.01 * k, 1.0) for k in range(200)])) and gate.missing == ""


def test_readings_without_one_are_named_from_the_first():
    gate = OrientationGate()
    assert all(judged(gate, [WITHOUT] * 10)) and gate.missing == NOT_PUBLISHED


def test_one_that_never_changes_is_none_once_the_gyro_has_turned():
    """A robot at rest with a gyro bias of half a degree per second is no such case."""
    gate = OrientationGate()
    judged(gate, [reading(0, math.radians(0.5), moves=False)] * 6000)
    assert gate.missing == ""
    gate = OrientationGate()
    judged(gate, [reading(0, 0.3, moves=False)] * 100)
    assert gate.missing == CONSTANT


def test_single_readings_of_the_other_kind_do_not_change_it():
    """Those without an orientation are left out; a second of them means another sensor."""
    gate = OrientationGate()
    moving = [reading(0.01 * k, 1.0) for k in range(300)]
    usable = judged(gate, [*moving[:100], *[WITHOUT] * 5, *moving[105:200], *[WITHOUT] * 110])
    assert not any(usable[100:105]) and all(usable[105:200])
    assert np.count_nonzero(np.logical_not(usable[200:])) in range(99, 103)
    assert gate.missing == NOT_PUBLISHED
