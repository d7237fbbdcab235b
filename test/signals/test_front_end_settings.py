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

"""Settings that change while messages come: each takes effect from the next message on."""

import numpy as np
import pytest
from analytic import START, AnalyticMotion, stream
from signal_runs import make

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.decode.sensor_clock import SensorClock
from uvms_adaptive_dynamics.signals.filters.depth import DepthFilter
from uvms_adaptive_dynamics.signals.filters.inertial import InertialFilter
from uvms_adaptive_dynamics.signals.filters.thrusters import ThrusterModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd

CHANGED, END = 2.5, 6.5
# Seconds in which each role is silent: longer than its timeout, shorter than the one it is given.
SILENT = {"imu": (2.8, 3.0), "joint_states": (3.2, 3.5), "dvl": (3.6, 4.4), "wrench": (5.0, 5.8)}


@pytest.fixture(scope="module")
def recorded():
    config, robot, pi = make()
    messages = stream(AnalyticMotion(1, config=config), robot, pi, END)
    return config, robot, [m for m in messages if not silent(m[0], m[2] - START)]


def silent(role, t):
    begin, end = SILENT.get(role, (np.inf, np.inf))
    return begin < t < end


def played(recorded, **changes):
    """(valid rows by tick, counts of refused messages) of a run in which settings change."""
    config, robot, messages = recorded
    front, samples = SignalFrontEnd(config, robot), []
    changed = config.with_values({k.replace("__", "."): v for k, v in changes.items()})
    for role, message, t in messages:
        if changes and t - START > CHANGED:
            front.change_settings(changed)
            changes = {}
        front.add_message(role, message, t)
        samples += front.samples()
    return {s.t - START: s.valid for s in samples}, front.counters


@pytest.fixture(scope="module")
def unchanged(recorded):
    return played(recorded)[0]


@pytest.mark.parametrize("changes, channel, more", [
    ({"imu__timeout": 0.3}, 0, True), ({"dvl__timeout": 1.5}, 0, True),
    ({"joint_states__timeout": 0.5}, 6, True), ({"thrusters__timeout": 1.5}, 0, True),
    ({"joint_states__rest_velocity": 0.5}, 6, False),
    ({"joint_states__stop_margin": 3.0}, 7, False),
    ({"joint_states__effort_masked": ["axis_c"]}, 8, False),
    ({"depth__minimum": 8.0}, 0, False), ({"depth__maximum": 3.0}, 0, False),
    ({"dvl__max_speed": 0.01}, 0, False), ({"dvl__max_stddev": 1e-3}, 0, False)])
def test_a_setting_changes_what_counts_from_then_on(recorded, unchanged, changes, channel, more):
    """Earlier rows stay as they were; later ones are masked by the new value."""
    valid, _ = played(recorded, **changes)
    before = [t for t in unchanged if t < CHANGED - 1.5]    # later ones may wait for their sensors
    assert before and all(np.array_equal(valid[t], unchanged[t]) for t in before)
    count, usual = (sum(rows[channel] for t, rows in each.items() if t > CHANGED)
                    for each in (valid, unchanged))
    assert count > usual + 3 if more else count < 0.7 * usual


def test_gates_are_switched_without_losing_signals(recorded, unchanged):
    """No tick is lost; spikes pass while the gates are off, and are rejected again afterwards."""
    config, robot, messages = recorded
    front, spikes, ticks = SignalFrontEnd(config, robot), [], 0
    gates = iter([False, True])
    switch_at = [2.0, 4.5]
    for k, (role, message, t) in enumerate(messages):
        if switch_at and t - START > switch_at[0]:
            switch_at.pop(0)
            spikes.append(front.counters.get("joint_states: position spike", 0))
            front.change_settings(config.with_values({"filter.gates": next(gates)}))
        if role == "joint_states" and k % 20 == 0:
            message = type(message)(**{**vars(message), "position": message.position + 0.5})
        front.add_message(role, message, t)
        ticks += len(front.samples())
    spikes.append(front.counters.get("joint_states: position spike", 0))
    assert spikes[0] > 2 and spikes[1] == spikes[0] and spikes[2] > spikes[1]
    assert ticks == len(unchanged)


def test_depth_thrusters_and_inertial_follow_their_settings():
    """The timeout of depths, the saturation of thrusters, and the gates of each."""
    old = Config()
    new = old.with_values({"depth.timeout": 5.0, "thrusters.saturation": 0.5})
    depth = DepthFilter(old)
    for k in range(10):
        depth.add(0.1 * k, [0.1])
    assert depth.mask_reason(0.9) == "at the surface" and depth.mask_reason(3.0) == ""
    depth.change_settings(new, gates_change=False)
    assert depth.mask_reason(3.0) == "at the surface"

    thrusters = ThrusterModel(old)
    for k in range(200):
        thrusters.add_command(0.02 * k, [1800.0] * 8)
        if k == 100:
            assert thrusters.wrench(0.02 * k - 0.3).mask_reason == ""
            thrusters.change_settings(new, gates_change=True)
    assert thrusters.wrench(3.5).mask_reason == "thruster saturated"

    inertial = InertialFilter(old, SensorClock(), SensorClock())
    gate = inertial.dvl_gate
    inertial.change_settings(new, gates_change=False)
    assert inertial.dvl_gate is gate
    inertial.change_settings(new.with_values({"filter.gates": False}), gates_change=True)
    assert type(inertial.dvl_gate) is not type(gate)
