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

"""The controller's state filter on the simulated robot's sensors."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.control.state_filter import SILENT_AFTER, StateFilter
from uvms_adaptive_dynamics.model.rotations import (
    FRD_FROM_FLU,
    NED_FROM_ENU,
    from_quaternion,
    from_rotation_vector,
    to_rotation_vector,
)
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot

CONFIG = Config().with_values({"robot.surface_pressure": TrueRobot().surface_pressure})
PASCAL = CONFIG.robot.water_density * CONFIG.robot.gravity


def reading(message):
    """(role, values in the decoder's form) of a simulated message, by independent formulas."""
    p = message.payload
    if message.topic == "imu/data":
        R = np.reshape(from_quaternion(*p["orientation"]), (3, 3))
        R = NED_FROM_ENU.T @ R @ FRD_FROM_FLU
        return "imu", [*R[2], *(FRD_FROM_FLU @ p["angular_velocity"]),
                       *(FRD_FROM_FLU @ p["linear_acceleration"]), np.arctan2(R[1, 0], R[0, 0])]
    if message.topic == "dvl/twist":
        return "dvl", list(p["linear"])
    if message.topic == "depth":
        return "depth", [(p["fluid_pressure"] - CONFIG.robot.surface_pressure) / PASCAL]
    if message.topic == "joint_states":
        return "joint_states", [*p["position"], *p["velocity"], *p["effort"]]
    return "thrusters", list(p["data"])


@pytest.fixture(scope="module")
def run():
    """(errors over 10 s of the filter at 100 Hz, the filter at the end)."""
    robot = SimulatedRobot(4, truth_period=None)
    filter_, errors = StateFilter(CONFIG, robot.physics.position), []
    for k in range(1, 1000):
        for message in robot.advance(0.01 * k):
            filter_.add(reading(message)[0], message.stamp * 1e-9, reading(message)[1])
        state, physics = filter_.motion(0.01 * k), robot.physics
        if state is not None:
            errors.append(np.concatenate([
                state.position - physics.position,
                to_rotation_vector(physics.R_nb.T @ state.R_nb), state.nu - physics.nu,
                state.mu - physics.mu, state.mu_dot - physics.mu_dot]))
    return np.array(errors), filter_


def test_the_state_is_the_true_one_within_its_sensors(run):
    """After 5 s the velocity is right to the DVL's 1 cm/s, attitude to .1 deg, rates to the gyro's
    noise and bias, joints to their messages' noise, and position to 15 cm."""
    errors, _ = run
    rms = np.sqrt(np.mean(errors[500:] ** 2, axis=0))
    assert np.all(rms[:3] < 0.15) and np.all(rms[3:6] < np.radians(0.1))
    assert np.all(rms[6:9] < 0.012) and np.all(rms[9:12] < 0.005)
    assert np.all(rms[12:16] < 0.0025) and np.all(rms[16:] < 0.03)


@pytest.mark.parametrize("xyz", [(0.0, 0.0, 0.0), (0.3, -0.2, 0.1)])
def test_an_imu_beside_the_origin_of_a_vehicle_that_turns_about_it(xyz):
    """The origin stands still, the IMU accelerates: no velocity, no way."""
    filter_ = StateFilter(CONFIG.with_values({"imu.xyz": xyz}), np.array([0.0, 0.0, 5.0]))
    place, frequency, errors = FRD_FROM_FLU @ np.array(xyz), 2 * np.pi * 0.45, []
    axis, gravity = np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.0, CONFIG.robot.gravity])
    dvl = FRD_FROM_FLU @ np.array(CONFIG.dvl.xyz)
    for k in range(1, 3000):
        t = 0.01 * k
        angle, rate, spin = (0.3 * np.sin(frequency * t), 0.3 * frequency * np.cos(frequency * t),
                             -0.3 * frequency ** 2 * np.sin(frequency * t))
        R, omega = from_rotation_vector(angle * axis), rate * axis
        force = (np.cross(spin * axis, place) + np.cross(omega, np.cross(omega, place))
                 - R.T @ gravity)
        filter_.add("imu", t, [*R[2], *omega, *force, np.arctan2(R[1, 0], R[0, 0])])
        filter_.add("joint_states", t, [0.0] * 12)
        if k % 10 == 0:
            filter_.add("dvl", t, np.cross(omega, dvl).tolist())
        if t > 10.0:
            state = filter_.motion(t)
            errors.append(np.concatenate([state.nu[:3], state.position - [0.0, 0.0, 5.0]]))
    assert np.abs(errors).max(axis=0) == pytest.approx(np.zeros(6), abs=0.01)


def test_the_first_depth_is_taken_as_it_is(run):
    """At once, less the sensor's height above the origin; from the next on it is smoothed."""
    filter_ = StateFilter(CONFIG.with_values({"depth.xyz": (0.0, 0.0, 0.4)}), np.zeros(3))
    for k in range(1, 20):
        filter_.add("imu", 0.01 * k, [0.0, 0.0, 1.0] + [0.0] * 5 + [-CONFIG.robot.gravity, 0.0])
        filter_.add("joint_states", 0.01 * k, [0.0] * 12)
    filter_.add("dvl", 0.19, [0.0, 0.0, 0.0])
    filter_.add("depth", 0.19, [5.7])
    assert filter_.motion(0.19).position[2] == pytest.approx(6.1)
    filter_.add("depth", 0.2, [6.7])
    assert filter_.motion(0.19).position[2] == pytest.approx(6.3)


def test_how_far_the_place_may_be_off_is_the_random_walk_of_the_dvl_s_noise():
    """With a robot at rest and a DVL of 5 cm/s at 3 Hz, configured as 1 cm/s, the noise is
    measured, and the errors of 30 runs of 20 s match the stated variance."""
    rng, errors = np.random.default_rng(0), []
    still = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -CONFIG.robot.gravity, 0.0]
    for _ in range(30):
        filter_ = StateFilter(CONFIG, np.zeros(3))
        for k in range(1, 201):
            filter_.add("imu", 0.1 * k, still)
            if k % 3 == 0:
                filter_.add("dvl", 0.1 * k, (0.05 * rng.standard_normal(3)).tolist())
            filter_.add("joint_states", 0.1 * k, [0.0] * 12)
            if k == 60:
                start = filter_.motion(6.0)
        end = filter_.motion(20.0)
        stated = np.sqrt(end.place_variance - start.place_variance)
        errors.append((end.position - start.position)[:2] / stated)
    assert np.sqrt(end.place_growth / 0.3) == pytest.approx(0.05, rel=0.2)
    assert stated == pytest.approx(0.05 * np.sqrt(0.3 * 14.0), rel=0.2)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(1.0, rel=0.2)


def test_there_is_a_state_from_the_first_readings_on(run):
    """IMU, joints and one DVL reading suffice, which arrive within a quarter of a second."""
    assert len(run[0]) > 970


def test_silence_and_garbage(run):
    """Without IMU or joints there is no state; NaN and old readings are ignored."""
    _, filter_ = run
    before = filter_.motion(10.0)
    filter_.add("imu", 10.0, [np.nan] * 10)
    filter_.add("dvl", 1.0, [5.0, 5.0, 5.0])
    filter_.add("joint_states", 1.0, [0.0] * 12)
    filter_.add("depth", 10.0, [np.nan])
    filter_.add("battery", 10.0, [16.0])
    for a, b in zip(before, filter_.motion(10.0)):
        np.testing.assert_array_equal(a, b)
    assert filter_.motion(10.0 + 2 * SILENT_AFTER) is None
    assert StateFilter(CONFIG, np.zeros(3)).motion(0.0) is None
