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

"""Rotations against scipy's; the plain-float functions against matrices."""
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from uvms_adaptive_dynamics.model import rotations
from uvms_adaptive_dynamics.model.rotations import (
    FRD_FROM_FLU,
    NED_FROM_ENU,
    from_quaternion,
    from_rotation_vector,
    from_rpy,
    skew,
    to_quaternion,
    to_rotation_vector,
)

ANGLE = st.floats(-3.1, 3.1)
VECTORS = st.tuples(ANGLE, ANGLE, ANGLE).map(np.array)


def matrix(flat):
    return np.reshape(flat, (3, 3))


@given(VECTORS)
def test_roll_pitch_yaw_is_the_urdfs_convention(rpy):
    """Intrinsic ZYX of (yaw, pitch, roll)."""
    np.testing.assert_allclose(
        from_rpy(*rpy), Rotation.from_euler("ZYX", rpy[::-1]).as_matrix(), atol=1e-14)


@given(VECTORS)
def test_rotation_vectors_agree_with_scipy_there_and_back(phi):
    """exp, and log within half a turn, including where the axis comes from the symmetric part."""
    R = from_rotation_vector(phi)
    np.testing.assert_allclose(R, Rotation.from_rotvec(phi).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(from_rotation_vector(to_rotation_vector(R)), R, atol=1e-9)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 1e-3, 1.0, 3.0, np.pi - 1e-4, np.pi - 1e-9])
def test_small_and_nearly_half_turns_have_their_rotation_vector(angle):
    """Where the textbook formula divides zero by zero."""
    axis = np.array([2.0, -1.0, 2.0]) / 3
    got = to_rotation_vector(from_rotation_vector(angle * axis))
    np.testing.assert_allclose(got, angle * axis, atol=1e-11)


@pytest.mark.parametrize("axis", range(3))
def test_half_a_turn_has_one_of_its_two_rotation_vectors(axis):
    """180 degrees about an axis, where the sine vanishes and the sign is arbitrary."""
    phi = np.pi * np.eye(3)[axis]
    got = np.array(to_rotation_vector(from_rotation_vector(phi)))
    np.testing.assert_allclose(np.abs(got), np.abs(phi), atol=1e-6)


@given(VECTORS)
def test_quaternions_go_there_and_back(phi):
    """x, y, z, w of unit length."""
    R = from_rotation_vector(phi)
    q = to_quaternion(R)
    assert abs(np.linalg.norm(q) - 1) < 1e-14
    np.testing.assert_allclose(matrix(from_quaternion(*q)), R, atol=1e-14)
    np.testing.assert_allclose(pin.Quaternion(np.array(q)).toRotationMatrix(), R, atol=1e-14)


@given(VECTORS, VECTORS, VECTORS)
def test_plain_floats_are_the_matrices_they_stand_for(phi, psi, x):
    """Product, rotation there and back, cross product, and the identity."""
    A, B = rotations.rotation(*phi), rotations.rotation(*psi)
    np.testing.assert_allclose(matrix(rotations.product(A, B)), matrix(A) @ matrix(B), atol=1e-14)
    np.testing.assert_allclose(rotations.turned(A, x), matrix(A) @ x, atol=1e-13)
    np.testing.assert_allclose(rotations.turned_back(A, x), matrix(A).T @ x, atol=1e-13)
    np.testing.assert_allclose(rotations.cross(phi, x), skew(phi) @ x, atol=1e-13)
    assert rotations.product(A, rotations.IDENTITY) == A


def test_the_border_is_its_own_inverse_and_read_only():
    """FLU to FRD and ENU to NED are half turns."""
    for matrix_of in (FRD_FROM_FLU, NED_FROM_ENU):
        np.testing.assert_array_equal(matrix_of @ matrix_of, np.eye(3))
        assert np.linalg.det(matrix_of) == pytest.approx(1.0) and not matrix_of.flags.writeable
