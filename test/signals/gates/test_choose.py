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

"""Without gates every reading is used unchanged (setting `filter.gates`)."""
from types import SimpleNamespace as Message

import numpy as np
from signal_runs import run

from uvms_adaptive_dynamics.signals.gates.choose import (
    frozen_sensor_gate,
    innovation_gate,
    spike_gate,
)


def test_without_gates_nothing_is_held_back_or_replaced():
    """A spike, an impossible velocity and a frozen sensor pass; with gates none does."""
    spikes, velocities = {}, {}
    for gates in (False, True):
        spike, innovation = spike_gate(gates, [.01]), innovation_gate(
            gates, .01, .2, 1.0, 1.0, 1.0, 1.0)
        spikes[gates] = [row.row[0] for k in range(40)
                         for row in spike.gate(.02 * k, [9.0 if k == 20 else 0.0])]
        velocities[gates] = [ok for k in range(40) for _, ok in innovation.gate(
            .1 * k, np.full(3, 9.0 if k == 20 else 0.0), np.eye(3))]
    assert 9.0 in spikes[False] and len(spikes[False]) == 40 and 9.0 not in spikes[True]
    assert all(velocities[False]) and velocities[True].count(False) == 1


def test_without_gates_a_frozen_sensor_is_believed():
    """The DVL repeats itself while the joints move."""
    found = {}
    for gates in (False, True):
        gate = frozen_sensor_gate(gates, .02)
        for k in range(200):
            gate.gate("joint_states", .02 * k, (.02 * k, .5, 0.0))
            found[gates] = gate.gate("dvl", .02 * k, (.1, 0.0, 0.0))
    assert found[False] is None and found[True] is not None


def test_the_front_end_obeys_the_setting(clean):
    """A bad velocity is replaced by its neighbours', or reaches the sample."""
    config, robot, _, messages = clean
    at = {}
    for gates in (False, True):
        count = iter(range(10**6))

        def corrupt(role, message, t, count=count):
            if role == "joint_states" and next(count) == 250:
                message = Message(**vars(message))
                message.velocity = [v + 50.0 for v in message.velocity]
            return role, message, t

        _, samples = run(config.with_values({"filter.gates": gates}), robot, messages, corrupt)
        at[gates] = max(np.abs(sample.mu_dot).max() for sample in samples)
    assert at[False] > 3 > at[True]
