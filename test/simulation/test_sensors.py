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

"""Sensor messages checked against kinematics and statics."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from simulated import G, instant, of

from uvms_adaptive_dynamics.simulation import sensors
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot


@pytest.fixture
def silent(monkeypatch):
    """Sensors without noise and bias."""
    for name in ("ATTITUDE_NOISE", "GYRO_NOISE", "GYRO_BIAS", "ACCELEROMETER_NOISE",
                 "ACCELEROMETER_BIAS", "DVL_NOISE", "DVL_DROPOUT", "PRESSURE_NOISE", "JOINT_NOISE",
                 "JOINT_SPEED_NOISE", "EFFORT_NOISE_SHARE", "EFFORT_NOISE"):
        monkeypatch.setattr(sensors, name, 0.0)


@pytest.mark.parametrize("rpy", [(0, 0, 0), (0.3, 0, 0), (0, 0.25, 0), (0.2, -0.3, 2.0)])
def test_imu_at_rest_reads_g_up(silent, rpy):
    """At rest, the specific force rotated into the world by the message's own orientation is +g
    along ENU's up."""
    payload = sensors.Sensors(TrueRobot(), np.random.default_rng(0)).imu(
        instant(pin.rpy.rpyToMatrix(*map(float, rpy)))
    )
    R_enu_flu = pin.Quaternion(np.array(payload["orientation"])).matrix()
    np.testing.assert_allclose(R_enu_flu @ payload["linear_acceleration"], [0, 0, G], atol=1e-9)
    assert rpy != (0, 0, 0) or payload["linear_acceleration"] == pytest.approx((0, 0, G))
    assert (
        rpy != (0.3, 0, 0) or payload["linear_acceleration"][1] > 2.0
    )  # rolled to starboard, port (y) is up


def test_imu_heading_is_enu(silent):
    """Looking north, the body's x axis is ENU's y; looking east, it is ENU's x."""
    device = sensors.Sensors(TrueRobot(), np.random.default_rng(0))
    for yaw, expected in ((0.0, (0, 1, 0)), (np.pi / 2, (1, 0, 0))):
        payload = device.imu(instant(pin.rpy.rpyToMatrix(0.0, 0.0, yaw)))
        R = pin.Quaternion(np.array(payload["orientation"])).matrix()
        np.testing.assert_allclose(R @ [1, 0, 0], expected, atol=1e-9)


def test_rates_are_flu(silent):
    """Turning to starboard, nose down, rolling to starboard: FLU rates are negative, positive,
    positive."""
    payload = sensors.Sensors(TrueRobot(), np.random.default_rng(0)).imu(
        instant(nu=np.array([0, 0, 0, 0.1, -0.2, 0.3]))
    )
    assert payload["angular_velocity"] == pytest.approx((0.1, 0.2, -0.3))


def test_dvl_measures_where_it_sits(silent):
    """Turning to starboard moves a DVL behind the origin to port; pitching up moves a DVL below the
    origin forward."""
    robot = replace(TrueRobot(), dvl_place=(-0.06, 0.0, -0.105))
    device = sensors.Sensors(robot, np.random.default_rng(0))
    yaw = device.dvl(instant(nu=np.array([0.2, 0, 0, 0, 0, 0.5])))["linear"]
    assert yaw == pytest.approx((0.2, -0.06 * 0.5, 0.0))
    pitch = device.dvl(instant(nu=np.array([0, 0, 0, 0, 0.5, 0])))["linear"]
    assert pitch == pytest.approx((0.105 * 0.5, 0.0, 0.06 * 0.5))


def test_pressure_grows_with_depth(silent):
    """At 5 m of fresh water the absolute pressure is the surface's plus rho g 5 m."""
    payload = sensors.Sensors(TrueRobot(), np.random.default_rng(0)).depth(instant())
    assert payload["fluid_pressure"] == pytest.approx(
        TrueRobot().surface_pressure + 5.0 * TrueRobot().water_density * G)


def test_specific_force_integrates_to_the_dvl(silent):
    """IMU messages integrated for 8 s give the DVL's velocity within 5 mm/s, and the integrated DVL
    gives the depth change of the pressure."""
    messages = list(SimulatedRobot(seed=3, duration=8.2))
    imu, dvl = of(messages, "imu/data"), of(messages, "dvl/twist")
    to_frd, robot = np.diag([1.0, -1.0, -1.0]), TrueRobot()
    place = to_frd @ np.array(robot.dvl_place)
    t = np.array([m.stamp for m in imu]) * 1e-9
    R = np.array([pin.Quaternion(np.array(m.payload["orientation"])).matrix() for m in imu])
    world = np.einsum("kij,kj->ki", R, [m.payload["linear_acceleration"] for m in imu]) - [0, 0, G]
    gained = np.vstack(
        [np.zeros(3), np.cumsum(0.5 * np.diff(t)[:, None] * (world[1:] + world[:-1]), axis=0)]
    )
    rates = np.array([m.payload["angular_velocity"] for m in imu])
    origin = []
    for m in dvl[1:]:
        w = to_frd @ [np.interp(m.stamp * 1e-9, t, rates[:, i]) for i in range(3)]
        k = np.argmin(abs(t - m.stamp * 1e-9))
        nearest = R[k] @ pin.exp3((to_frd @ w) * (m.stamp * 1e-9 - t[k]))
        origin.append(nearest @ to_frd @ (np.array(m.payload["linear"]) - np.cross(w, place)))
    at = np.array([m.stamp for m in dvl[1:]]) * 1e-9
    drift = np.array(origin) - np.column_stack([np.interp(at, t, gained[:, i]) for i in range(3)])
    assert np.ptp(gained, axis=0).min() > 0.1
    assert np.ptp(drift, axis=0).max() < 0.005
