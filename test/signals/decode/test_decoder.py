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

"""From messages to values: names, units, and unusable messages."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import START
from hypothesis import given
from hypothesis import strategies as st
from signal_runs import make, run

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import MessageError
from uvms_adaptive_dynamics.model.rotations import (
    FRD_FROM_FLU,
    NED_FROM_ENU,
    from_rpy,
    to_quaternion,
)
from uvms_adaptive_dynamics.signals.decode.decoder import Decoder
from uvms_adaptive_dynamics.signals.decode.stamps import stamp_of


def test_dvl_without_lock_is_not_used(clean):
    """A covariance that signals no lock, or an absurd speed, is counted and masks the rows."""
    config, robot, _, messages = clean

    def corrupt(role, message, t):
        if role == "dvl" and t > START + 6:
            message = Message(header=message.header,
                              twist=Message(twist=message.twist.twist, covariance=np.full(36, 1e3)))
        return role, message, t

    front, samples = run(config, robot, messages, corrupt)
    assert any("no lock" in reason for reason in front.counters)
    assert not any(s.valid[:6].any() for s in samples if START + 8 < s.t < START + 11)


def test_joint_order_in_the_message_does_not_matter(clean):
    """Names decide, even if their order changes from message to message, or with other names in
    between."""
    config, robot, _, messages = clean

    def reorder(role, message, t):
        if role == "joint_states" and int(t * 50) % 2:
            order = [2, 0, 3, 1]
            message = Message(
                header=message.header,
                name=[message.name[i] for i in order] + ["jaw"],
                **{
                    f: np.append(getattr(message, f)[order], 9.9)
                    for f in ("position", "velocity", "effort")
                },
            )
        return role, message, t

    a, b = run(config, robot, messages)[1], run(config, robot, messages, reorder)[1]
    assert all(
        np.allclose(x.mu_ddot, y.mu_ddot) and np.allclose(x.joint_torque, y.joint_torque)
        for x, y in zip(a, b)
    )


def test_one_joint_without_an_effort_leaves_the_others():
    """NaN or infinity for one joint masks that joint; for all joints, the message is spoilt."""
    config, _, _ = make()
    message = Message(name=list(config.robot.joints), position=[1.0] * 4, velocity=[0.0] * 4,
                      effort=[0.1, np.nan, np.inf, 0.4])
    decoder = Decoder(config)
    values = decoder.joint_states(message)
    np.testing.assert_array_equal(values[8:], [0.1, np.nan, np.nan, 0.4])
    message.effort = [np.nan] * 4
    with pytest.raises(MessageError, match="effort is not finite"):
        decoder.joint_states(message)


def test_joints_without_an_interface_are_nan_and_nothing_is_measured():
    """What ros2_control's joint_state_broadcaster sends for an arm whose hardware interface has
    neither efforts nor speeds; infinity is spoilt."""
    config, _, _ = make()
    message = Message(name=["jaw", *config.robot.joints], position=[0.01] + [1.0] * 4,
                      velocity=[np.nan] * 5, effort=[np.nan] * 5)
    decoder = Decoder(config)
    np.testing.assert_array_equal(decoder.joint_states(message), [1.0] * 4 + [np.nan] * 8)
    message.velocity = [0.0] * 5
    np.testing.assert_array_equal(decoder.joint_states(message)[4:8], [0.0] * 4)
    message.effort = [np.inf] * 5
    with pytest.raises(MessageError, match="effort is not finite"):
        decoder.joint_states(message)


def test_effort_may_be_a_current_with_a_scale_per_direction():
    """Current minus its static offset, times torque constant and gear ratio, which may differ by
    direction."""
    config, _, _ = make(joint_states__effort_scale=(2.0, 2.0, 2.0, -1.0),
                        joint_states__effort_scale_negative=(3.0, 3.0, 3.0, -1.5),
                        joint_states__effort_offset=(0.1, 0.1, 0.1, 0.1))
    message = Message(name=["axis_e", "axis_d", "axis_c", "axis_b"], position=[2.0] * 4,
                      velocity=[0.0] * 4, effort=[1.1, -0.9, 0.1, -0.9])
    np.testing.assert_allclose(
        Decoder(config).decode("joint_states", message)[-4:], [2.0, -3.0, 0.0, 1.5]
    )


def test_degrees_are_of_joints_that_turn():
    """A slide is in m with either unit."""
    config, _, _ = make(joint_states__unit="deg")
    message = Message(name=["axis_e", "axis_d", "axis_c", "axis_b"], position=[0.1] + [90.0] * 3,
                      velocity=[0.02] + [180.0] * 3, effort=[1.0] * 4)
    found = Decoder(config, (True, False, False, False)).decode("joint_states", message)
    np.testing.assert_allclose(found[:8], [0.1, *[np.pi / 2] * 3, 0.02, *[np.pi] * 3])
    found = Decoder(config).decode("joint_states", message)
    assert found[0] == pytest.approx(np.radians(0.1))


def vector(x, y, z):
    return Message(x=x, y=y, z=z)


def imu(R_enu_flu=None, rates=(0.0, 0.0, 0.0), force=(0.0, 0.0, 9.8)):
    """An IMU message with REP-103 axes."""
    x, y, z, w = to_quaternion(np.eye(3) if R_enu_flu is None else R_enu_flu)
    return Message(orientation=Message(x=x, y=y, z=z, w=w), angular_velocity=vector(*rates),
                   linear_acceleration=vector(*force))


@given(st.tuples(*[st.floats(-1.5, 1.5)] * 3))
def test_imu_values_are_frd_and_ned(rpy):
    """The down vector is the third row of R_nb, the heading its yaw; y and z change sign."""
    R_nb = from_rpy(*rpy)
    message = imu(NED_FROM_ENU @ R_nb @ FRD_FROM_FLU, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    values = Decoder(Config()).decode("imu", message)
    np.testing.assert_allclose(values[:3], R_nb[2], atol=1e-9)
    assert values[3:9] == [1.0, -2.0, -3.0, 4.0, -5.0, -6.0]
    assert values[9] == pytest.approx(rpy[2], abs=1e-9)


def test_a_mounting_rotation_turns_rates_and_attitude_alike():
    """An IMU mounted with imu.rpy gives the same values as one mounted straight."""
    mounted = Config().with_values({"imu.rpy": (0.1, -0.2, 1.5), "imu.frame": "frd"})
    R_nb, mount = from_rpy(0.3, 0.2, -0.5), from_rpy(0.1, -0.2, 1.5)
    w, f = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, -9.0])
    plain = Decoder(Config().with_values({"imu.frame": "frd"})).decode(
        "imu", imu(NED_FROM_ENU @ R_nb, w, f)
    )
    turned = Decoder(mounted).decode(
        "imu", imu(NED_FROM_ENU @ R_nb @ mount, mount.T @ w, mount.T @ f)
    )
    np.testing.assert_allclose(turned, plain, atol=1e-9)


@pytest.mark.parametrize(
    "role, message, words",
    [("depth", Message(data=-30.0), "is not a depth"),
     ("battery", Message(voltage=1500.0), "is not a battery voltage"),
     ("thrusters", Message(data=[1500.0] * 6), "got 6 commands, expected 8"),
     ("thrusters", Message(channels=[1500] * 7 + [0]), "released or unchanged"),
     ("thrusters", Message(data=[1500.0] * 7 + [0.0]), "no pulse"),
     ("imu", Message(orientation=Message(x=0.0, y=0.0, z=0.0, w=1.0),
                     angular_velocity=vector(0.1, 0.0, 0.0), linear_acceleration=vector(0, 0, 0),
                     linear_acceleration_covariance=[-1.0] + [0.0] * 8), "is not measured"),
     ("dvl", Message(velocity_valid=False, velocity=vector(0.0, 0.0, 0.0)), "no bottom lock"),
     ("dvl", Message(twist=Message(linear=vector(30.0, 0.0, 0.0))), "beyond dvl.max_speed"),
     ("wrench", Message(), "does not have the fields of its type")],
)
def test_what_cannot_be_used_is_refused_with_its_role(role, message, words):
    """A MessageError begins with the role and says what is wrong."""
    with pytest.raises(MessageError, match=f"^{role}: .*{words}"):
        Decoder(Config()).decode(role, message)


@pytest.mark.parametrize("mode, beams, flag, locked", [
    (1, 4, True, True), (1, 3, True, True), (0, 4, True, True),     # mode not filled in
    (1, 4, False, True),                                            # flag never filled in
    (1, 0, True, True),                                             # number not filled in
    (1, 0, False, False), (1, 2, False, False), (2, 4, True, False)])
def test_a_dvl_that_reports_its_beams_says_by_them_whether_it_has_lock(mode, beams, flag, locked):
    """marine_acoustic_msgs/Dvl: zeros and an unknown covariance come on without lock."""
    message = Message(velocity=vector(0.0, 0.0, 0.0), velocity_covar=[-1.0] + [0.0] * 8,
                      velocity_mode=mode, num_good_beams=beams, beam_velocities_valid=flag)
    if locked:
        assert Decoder(Config()).decode("dvl", message) == [0.0, 0.0, 0.0]
    else:
        with pytest.raises(MessageError, match="no bottom lock"):
            Decoder(Config()).decode("dvl", message)


def test_a_dvl_that_sets_its_flag_is_believed_without_it():
    """Whatever number of beams then has an echo."""
    decoder = Decoder(Config())
    messages = [Message(velocity=vector(0.0, 0.0, 0.0), velocity_covar=[0.0] * 9, velocity_mode=1,
                        num_good_beams=4, beam_velocities_valid=flag) for flag in (True, False)]
    assert decoder.decode("dvl", messages[0]) == [0.0, 0.0, 0.0]
    with pytest.raises(MessageError, match="no bottom lock"):
        decoder.decode("dvl", messages[1])


def test_reasons_are_counted_under_whole_sentences():
    """Numbers, which differ from message to message, are in parentheses, so that leaving them out
    leaves a sentence."""
    config = Config().with_values({"thrusters.channels": [float(k) for k in range(9, 17)]})
    upright = Message(x=0.0, y=0.0, z=0.0, w=0.5)
    for kind, role, message in [
            (config, "thrusters", Message(data=[1500.0] * 8)),
            (Config(), "thrusters", Message(data=[1500.0] * 6)),
            (Config(), "depth", Message(data=-30.0)),
            (Config(), "battery", Message(voltage=1500.0)),
            (Config(), "dvl", Message(twist=Message(linear=vector(30.0, 0.0, 0.0)))),
            (Config(), "dvl", Message(pose=Message(orientation=upright,
                                                   position=vector(0.0, 0.0, 0.0)))),
            (Config(), "joint_states", Message(name=list(Config().robot.joints), position=[1.0],
                                               velocity=[], effort=[]))]:
        with pytest.raises(MessageError) as caught:
            Decoder(kind).decode(role, message)
        assert not any(map(str.isdigit, str(caught.value).partition("(")[0])), caught.value


def test_pressure_and_metres_are_both_depth():
    """FluidPressure is absolute [Pa], Float64 is metres."""
    decoder = Decoder(Config())
    assert decoder.decode("depth", Message(data=4.0)) == [4.0]
    pressure = Message(fluid_pressure=101325.0 + 4.0 * 9806.65)
    assert decoder.decode("depth", pressure) == pytest.approx([4.0])


def test_a_stamp_of_zero_is_none():
    """A driver that leaves the stamp at zero has none."""
    stamped = lambda sec, ns: Message(header=Message(stamp=Message(sec=sec, nanosec=ns)))
    assert stamp_of(stamped(0, 0)) is None and stamp_of(Message()) is None
    assert stamp_of(stamped(12, 500_000_000)) == 12.5


@pytest.mark.parametrize("covariance", [{}, None, [], "none"])
def test_a_covariance_of_another_type_is_refused(covariance):
    """No middleware produces it, but a fuzzer does."""
    config, _, _ = make()
    message = Message(orientation=Message(x=0.0, y=0.0, z=0.0, w=0.0),
                      orientation_covariance=covariance)
    with pytest.raises(MessageError):
        Decoder(config).decode("imu", message)
