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

"""What the drivers of `config/bluerov2_mavros.yaml` send, through that file.

Topics, axes, rates and peculiarities as read in mavros f8f462d (imu.cpp, rc_io.cpp, sys_status.cpp,
uas_timesync.cpp), waterlinked_dvl 4e7ecc0 and alpha 5e1a664.
"""
from pathlib import Path
from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import START, AnalyticMotion, dvl_message, imu_message, joint_message, stamp

from uvms_adaptive_dynamics.config import load_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.front_end import SignalFrontEnd
from uvms_adaptive_dynamics.signals.topics import inputs

FILE = Path(__file__).resolve().parents[2] / "config" / "bluerov2_mavros.yaml"
DURATION, WRAP = 24.0, 12.0     # [s] of the dive; when the autopilot has been up for 2^32 us
NO_LOCK = 15.0, 17.0            # [s] without bottom lock
SURGE = np.array([1580] * 2 + [1420] * 2 + [1500] * 4 + [0] * 8, np.uint16)


def imu(s, k, config):
    """`imu/data` is sent with ATTITUDE, and the acceleration is that of the last RAW_IMU: at first
    there was none."""
    message = imu_message(s, config)
    message.orientation_covariance = np.eye(3).ravel()
    message.linear_acceleration_covariance = np.full(9, 9e-8)
    if k < 10:
        message.linear_acceleration = Message(x=0.0, y=0.0, z=0.0)
        message.linear_acceleration_covariance = np.array([-1.0] + [0.0] * 8)
    return message


def dvl(s, k, config):
    """All beams have an echo, but the velocity is not valid while there is no lock."""
    locked = not NO_LOCK[0] < s.t - START < NO_LOCK[1]
    made = dvl_message(s, config)
    velocity = made.twist.twist.linear if locked else Message(x=0.0, y=0.0, z=0.0)
    return Message(header=made.header, velocity_mode=1, dvl_type=0, velocity=velocity,
                   velocity_covar=1e-5 * np.eye(3).ravel(), altitude=2.0 if locked else -1.0,
                   num_good_beams=4, beam_ranges_valid=True, beam_velocities_valid=locked,
                   beam_velocity=np.array([0.1, -0.1, 0.2, 0.1], np.float32))


def joint_states(s, k, config):
    """The gripper is a fifth joint, and the hardware has no effort interface."""
    message = joint_message(s)
    return Message(header=message.header, name=["axis_a", "axis_b", "axis_c", "axis_d", "axis_e"],
                   position=np.append(0.01, message.position[::-1]),
                   velocity=np.append(0.0, message.velocity[::-1]), effort=np.full(5, np.nan))


def thrusters(s, k, config):
    """Sixteen outputs, stamped from a counter of microseconds with 32 bits."""
    wrapped = 2**32 * 1e-6 if s.t - START > WRAP else 0.0
    return Message(header=stamp(s.t - wrapped), channels=SURGE)


def battery(s, k, config):
    return Message(header=stamp(s.t), voltage=15.5)


# Rate [Hz], lateness [s], phase [s]; messages for each reading: the broadcaster repeats the arm's
# last answer under new stamps.
DRIVERS = {imu: (50, 0.01, 0.001, 1), dvl: (10, 0.1, 0.013, 1),
           joint_states: (225, 0.003, 0.004, 5), thrusters: (50, 0.012, 0.002, 1),
           battery: (2, 0.01, 0.1, 1)}


@pytest.fixture(scope="module")
def dive():
    config = load_config(FILE)
    robot, motion = RobotModel.from_config(config), AnalyticMotion(3, config=config)
    found = []
    for make, (rate, late, phase, repeats) in DRIVERS.items():
        for k in range(int(DURATION * rate)):
            s = motion.sample(phase + (k - k % repeats) / rate, robot)
            message, t = make(s, k, config), START + phase + k / rate
            if k % repeats:
                message.header = stamp(t)
            found.append((make.__name__, message, t + late))
    front, samples = SignalFrontEnd(config, robot), []
    for item in sorted(found, key=lambda item: item[2]):
        front.add_message(*item)
        samples += front.samples()
    return front, samples, robot, motion


def between(samples, begin, end):
    return [s for s in samples if START + begin < s.t < START + end]


def test_topics_are_those_of_the_drivers():
    """In the namespace in which mavros and the drivers run."""
    found = {each.role: (each.topic, each.type) for each in inputs(load_config(FILE))}
    assert found == {
        "imu": ("mavros/imu/data", "sensor_msgs/msg/Imu"),
        "dvl": ("waterlinked_dvl_driver/velocity_report", "marine_acoustic_msgs/msg/Dvl"),
        "thrusters": ("mavros/rc/out", "mavros_msgs/msg/RCOut"),
        "battery": ("mavros/battery", "sensor_msgs/msg/BatteryState"),
        "joint_states": ("joint_states", "sensor_msgs/msg/JointState")}


def test_the_motion_is_that_of_the_robot(dive):
    """Attitude, velocity and joints; efforts of the arm are masked by the file, not by a fault."""
    front, samples, robot, motion = dive
    good = between(samples, 5.0, WRAP - 1.0)
    assert len(good) > 280 and all(s.valid[:6].all() and not s.valid[6:].any() for s in good)
    truth = [motion.sample(s.t - START, robot) for s in good]
    assert max(np.abs(s.nu - x.nu).max() for s, x in zip(good, truth)) < 0.05
    assert max(np.abs(s.R_nb - x.R_nb).max() for s, x in zip(good, truth)) < 0.02
    assert max(np.abs(s.mu - x.mu).max() for s, x in zip(good, truth)) < 0.01
    assert front.inputs["joint_states"].rejected.total() == 0


def test_pulse_widths_are_a_wrench(dive):
    """The four horizontal thrusters together: surge, no force on the other axes."""
    wrench = between(dive[1], 5.0, WRAP - 1.0)[-1].wrench
    assert wrench[0] > 5.0 and np.abs(wrench[1:3]).max() < 0.02 * wrench[0]


def test_messages_without_an_acceleration_or_without_lock_are_refused(dive):
    """The first ten of the IMU, all of the DVL within the gap."""
    front, samples, _, _ = dive
    assert front.inputs["imu"].rejected.total() == 10
    assert front.inputs["dvl"].rejected.total() == 20
    assert not any(s.valid[:6].any() for s in between(samples, NO_LOCK[0] + 1.2, NO_LOCK[1]))


def test_the_autopilot_s_counter_may_wrap(dive):
    """After 71.6 minutes the commands' stamps are 4295 s too early: converted within a second."""
    front, samples, _, _ = dive
    late = between(samples, WRAP + 1.5, NO_LOCK[0] - 0.2) + between(samples, 20.0, DURATION - 1.0)
    assert len(late) > 200 and all(s.valid[:6].all() for s in late)
    assert abs(front.inputs["thrusters"].clock.error + 2**32 * 1e-6) < 0.05
