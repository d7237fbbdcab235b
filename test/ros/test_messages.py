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

"""Outgoing messages: axes, lengths, number types, and only finite values."""
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from uvms_adaptive_dynamics.config import Output
from uvms_adaptive_dynamics.errors import MessageError
from uvms_adaptive_dynamics.ros import messages

FLU, FRD = Output(), Output(frame="frd")
NAMES = ("W", "X_u", "axis_e.m")
SIX = np.array([1., 2., 3., 4., 5., 6.])


def through_the_wire(message):
    """The message after serialization, as a subscriber sees it."""
    return deserialize_message(serialize_message(message), type(message))


def test_wrench_is_turned_from_frd_to_flu():
    """Forward stays, right becomes minus left, down becomes minus up; frame_id names the axes."""
    message = through_the_wire(messages.wrench_message(12.34, SIX, FLU))
    force, torque = message.wrench.force, message.wrench.torque
    assert (force.x, force.y, force.z, torque.x, torque.y, torque.z) == (1., -2., -3., 4., -5., -6.)
    assert message.header.frame_id == "base_link"
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (12, 340_000_000)


def test_wrench_in_frd_is_as_it_is_inside():
    """With output.frame 'frd' values are unchanged, and the frame has its own name."""
    message = through_the_wire(messages.wrench_message(0.0, SIX, FRD))
    assert (message.wrench.force.y, message.wrench.torque.z) == (2., 6.)
    assert message.header.frame_id == "base_link_frd"


def test_the_border_agrees_with_the_rotation_matrix():
    """The signs match FRD_FROM_FLU on both three-vectors."""
    from uvms_adaptive_dynamics.model.rotations import FRD_FROM_FLU
    expected = np.concatenate([FRD_FROM_FLU.T @ SIX[:3], FRD_FROM_FLU.T @ SIX[3:]])
    np.testing.assert_array_equal(messages.in_output_axes(SIX, FLU), expected)


def test_standard_deviations_have_no_sign():
    """A standard deviation is the same in both frames."""
    message = messages.wrench_stddev_message(0.0, SIX, FLU)
    assert (message.wrench.force.y, message.wrench.torque.z) == (2., 6.)


def test_acceleration_is_turned_too():
    """nu_dot is converted in the same way."""
    message = through_the_wire(messages.acceleration_message(1.0, SIX, FLU))
    assert (message.accel.linear.y, message.accel.angular.z) == (-2., -6.)


def test_parameters_carry_name_estimate_and_standard_deviation():
    """position is the estimate, effort its standard deviation, both doubles to the last bit."""
    pi, stddev = np.array([1 / 3, -2.0]), np.array([2.0, 1e-10])
    message = through_the_wire(messages.parameters_message(1e9 + .02, ("W", "X_u"), pi, stddev))
    assert list(message.name) == ["W", "X_u"]
    assert list(message.position) == list(pi)
    assert list(message.effort) == [2.0, 1e-10]
    assert message.header.stamp.nanosec == 20_000_000


def test_covariance_is_row_by_row_with_labelled_dimensions():
    """Whoever reads data[stride * row + column] gets C[row, column]."""
    covariance = np.arange(9.).reshape(3, 3)
    message = through_the_wire(messages.covariance_message(12.5, NAMES, covariance))
    rows, columns, stamp = message.layout.dim
    assert (rows.label, rows.size, rows.stride) == ("rows: W,X_u,axis_e.m", 3, 9)
    assert (columns.label, columns.size, columns.stride) == ("columns: W,X_u,axis_e.m", 3, 3)
    assert (stamp.label, stamp.size, stamp.stride) == ("stamp: 12.500000000", 1, 1)
    assert message.data[columns.stride * 1 + 2] == covariance[1, 2]


def test_a_covariance_is_read_back():
    """Names, the stamp of the parameters and the matrix, to the last bit."""
    matrix = np.random.default_rng(0).normal(size=(3, 3)) / 3
    sent = through_the_wire(messages.covariance_message(1_800_000_000.02, NAMES, matrix))
    read = messages.read_covariance(sent)
    assert read.names == NAMES and read.stamp == messages.time_message(1_800_000_000.02)
    np.testing.assert_array_equal(read.matrix, matrix)


@pytest.mark.parametrize("spoil, words", [
    (lambda m: m.layout.dim.pop(), "labelled"),
    (lambda m: setattr(m.layout.dim[0], "label", "rows"), "same names"),
    (lambda m: setattr(m.layout.dim[1], "label", "columns: X_u,W,axis_e.m"), "same names"),
    (lambda m: setattr(m.layout.dim[2], "label", "stamp: now"), "nine digits"),
    (lambda m: setattr(m.layout.dim[0], "size", 4), "3 x 3 x 1"),
    (lambda m: m.data.pop(), "8 numbers")])
def test_another_array_is_no_covariance(spoil, words):
    """Any other form is refused with what was got."""
    message = messages.covariance_message(1.0, NAMES, np.eye(3))
    spoil(message)
    with pytest.raises(MessageError, match=words):
        messages.read_covariance(message)


def test_covariance_of_another_memory_order_is_the_same():
    """The message does not depend on the memory layout, such as that of a transposed view."""
    covariance = np.arange(9.).reshape(3, 3)
    message = messages.covariance_message(0.0, NAMES, covariance.T)
    assert list(message.data) == list(covariance.T.ravel())


def test_float32_and_integers_become_doubles():
    """Without checks rclpy writes garbage for np.float32 in a float64 field; the builders
    convert."""
    message = through_the_wire(messages.wrench_message(1, np.array([1, 2, 3, 4, 5, 6], np.float32),
                                                       FLU))
    assert message.wrench.force.x == 1.0
    assert list(through_the_wire(messages.effort_message(1, ("a",), np.array([2]))).effort) == [2.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_not_published(bad):
    """Every builder returns None instead."""
    six = np.where(np.arange(6) == 3, bad, SIX)
    assert messages.wrench_message(0., six, FLU) is None
    assert messages.wrench_stddev_message(0., six, FLU) is None
    assert messages.acceleration_message(0., six, FLU) is None
    assert messages.acceleration_message(0., None, FLU) is None
    assert messages.covariance_message(0.0, NAMES, np.full((2, 2), bad)) is None
    assert messages.parameters_message(0., ("W",), np.array([bad]), np.ones(1)) is None
    assert messages.parameters_message(0., ("W",), np.ones(1), np.array([bad])) is None


def test_a_joint_without_a_value_is_left_out():
    """The remaining joints are sent by name."""
    message = messages.effort_message(0., ("a", "b", "c"), np.array([1., np.nan, 3.]))
    assert (list(message.name), list(message.effort)) == (["a", "c"], [1., 3.])
    assert messages.effort_message(0., ("a",), np.array([np.nan])) is None


def test_diagnostics_are_text():
    """Level is one byte, values are strings of a readable length."""
    status = messages.diagnostic_status(1, "node: imu", "late",
                                        {"rate [Hz]": 99.98765432, "count": 3}, "node")
    message = through_the_wire(messages.diagnostic_array(5.5, [status]))
    assert message.status[0].level == b"\x01"
    assert [(v.key, v.value) for v in message.status[0].values] == [("rate [Hz]", "99.99"),
                                                                    ("count", "3")]
