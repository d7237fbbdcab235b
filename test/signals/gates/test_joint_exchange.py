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

"""Joints whose readings a driver begins to publish in each other's place."""
from copy import copy

import numpy as np
import pytest
from signal_runs import run

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.gates.joint_exchange import JointExchange

ROBOT = RobotModel.from_config(Config())
PLACES = np.array([0, 2, 1, 3])     # axis_d and axis_c
PERIOD = 0.02


def state(t):
    """Positions, velocities and efforts (12,) of a moving arm at t [s]."""
    phase = np.array([0.3, 1.1, 2.3, 0.7]) + 0.9 * t
    q = np.array([3.0, 2.0, 1.2, 2.5]) + 0.3 * np.sin(phase)
    effort = np.array([0.1, 0.5, 0.3, 0.02]) * np.sin(phase)
    return np.concatenate([q, 0.27 * np.cos(phase), effort])


def come(t, order):
    """What a driver publishes at t [s] whose places have the joints of `order`."""
    return state(t).reshape(3, 4)[:, order].ravel()


def readings(exchange, order_at, end=2.0, begin=0.0):
    """What the stage makes of the readings, (time, reading) each."""
    return [(t, exchange.in_order(t, come(t, order_at(t)).tolist()))
            for t in np.arange(begin, end, PERIOD)]


@pytest.mark.parametrize("order", [PLACES, np.array([1, 2, 0, 3]), np.array([3, 2, 1, 0])])
def test_readings_are_put_back_while_all_joints_move(order):
    exchange = JointExchange(ROBOT)
    for t, found in readings(exchange, lambda t: order if t > 1.0 else np.arange(4)):
        np.testing.assert_array_equal(found, state(t))
    sentence, = exchange.sentences()
    assert sentence.startswith("joint_states.names: after 1.0 s the readings of ")
    assert all((name in sentence) == (order[k] != k) for k, name in enumerate(ROBOT.joints))


def test_an_order_that_changes_again_is_followed():
    """Also one exchange upon another; back in its first order nothing is put right."""
    exchange, other = JointExchange(ROBOT), np.array([1, 0, 2, 3])
    orders = [np.arange(4), PLACES, other, np.arange(4)]
    for t, found in readings(exchange, lambda t: orders[int(2 * t)]):
        np.testing.assert_array_equal(found, state(t))
    assert exchange.mends == () and "(3 times in all)" in exchange.sentences()[0]


def test_the_driver_may_have_been_silent_while_the_arm_was_parked():
    exchange = JointExchange(ROBOT)
    parked = state(0.0)
    exchange.in_order(0.0, parked.tolist())
    found = exchange.in_order(8.0, parked.reshape(3, 4)[:, PLACES].ravel().tolist())
    np.testing.assert_array_equal(found, parked)


def test_slips_gaps_and_missing_values_are_no_exchange():
    """Encoders that slip, zeros until a driver has data, an arm that moved during a gap."""
    for change in ([0.0, 0.6, -0.6, 0.0], [0.0, -0.8, 0.5, 0.0], [0.2, 0.2, 0.2, 0.2]):
        exchange = JointExchange(ROBOT)
        readings(exchange, lambda t: np.arange(4))
        slipped = state(2.0)
        slipped[:4] += change
        np.testing.assert_array_equal(exchange.in_order(2.0, slipped.tolist()), slipped)
        assert not exchange.sentences()
    exchange = JointExchange(ROBOT)
    exchange.in_order(0.0, [0.0] * 12)
    missing = state(0.1)
    missing[1] = np.nan
    exchange.in_order(0.1, missing.tolist())
    exchange.in_order(0.2, state(0.2).tolist())
    exchange.in_order(9.0, state(9.0).tolist())
    assert not exchange.sentences()


def exchanged_from(start):
    """A change of messages: axis_d and axis_c come in each other's place from `start` [s] on."""
    def change(role, message, t):
        if role == "joint_states" and t - 1.7e9 > start:
            message = copy(message)
            for field in ("position", "velocity", "effort"):
                setattr(message, field, getattr(message, field)[PLACES])
        return role, message, t
    return change


def test_samples_are_those_of_a_driver_that_keeps_its_order(clean):
    config, robot, _, messages = clean
    start = messages[0][2] - 1.7e9 + 6.0
    _, expected = run(config, robot, messages)
    front, samples = run(config, robot, messages, exchanged_from(start))
    assert len(samples) == len(expected)
    for one, other in zip(samples, expected):
        np.testing.assert_allclose(one.mu, other.mu, atol=1e-12)
        np.testing.assert_array_equal(one.valid, other.valid)
    found = "joint_states.names: after 6.0 s"
    assert any(sentence.startswith(found) for sentence in front.warnings)


def test_a_recording_that_goes_on_begins_in_that_order(clean):
    """The held-out rest of a recording, whose front end starts with the mends of the first part."""
    config, robot, _, messages = clean
    start = messages[0][2] - 1.7e9 + 6.0
    change = exchanged_from(start)
    first, _ = run(config, robot, messages, change)
    rest = SignalFrontEnd(config, robot, first.mends)
    _, expected = run(config, robot, messages)
    by_time = {round(one.t, 4): one for one in expected}
    made = []
    for role, message, t in messages:
        if t - 1.7e9 > start + 1.0:
            rest.add_message(*change(role, message, t))
            made += rest.samples()
    assert len(made) > 100
    for one in made:
        np.testing.assert_allclose(one.mu, by_time[round(one.t, 4)].mu, atol=1e-5)
