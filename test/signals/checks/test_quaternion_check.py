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

"""The order of a quaternion's numbers is told by gyro and gravity, and put right."""
from types import SimpleNamespace as Message

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.checks.quaternion_check import TRIED_ORDERS, check_quaternion
from uvms_adaptive_dynamics.signals.checks.suite import SensorChecks
from uvms_adaptive_dynamics.signals.decode.decoder import Decoder

SETTINGS = [{}, {"imu.frame": "frd", "imu.world": "ned", "imu.rpy": [0.1, -0.2, 1.5]}]
T = np.arange(0.0, 40.0, 0.1)
XYZ = "xyz"


def motion(config, yaw_only=False):
    """Imu messages of a vehicle that turns, as the settings say: by 0.1 rad in roll and pitch, and
    by 1 rad in yaw."""
    rng, size = np.random.default_rng(2), np.array([1.0, 0.0, 0.0] if yaw_only else [1.0, 0.1, 0.1])
    angles = size * np.sin(np.outer(T, [0.3, 0.9, 0.7]) + [0.4, 1.0, 2.0])
    R_nb = Rotation.from_euler("ZYX", angles)
    rates = (R_nb[:-1].inv() * R_nb[1:]).as_rotvec() / 0.1
    force = R_nb.inv().apply([0.0, 0.0, -9.81]) + 0.05 * rng.standard_normal((len(T), 3))
    # from body to message axes, and the message's quaternion: the decoder's formulas, inverted
    decoder = Decoder(config)
    left, right, axes = (np.reshape(part, (3, 3)) for part in (
        decoder._left, decoder._right, decoder._imu_axes))
    Q = Rotation.from_matrix(left.T @ R_nb.as_matrix() @ right.T)
    Q = Q * Rotation.from_rotvec(0.002 * rng.standard_normal((len(T), 3)))
    return [Message(orientation=Message(**dict(zip("xyzw", q))),
                    angular_velocity=Message(**dict(zip(XYZ, axes.T @ w))),
                    linear_acceleration=Message(**dict(zip(XYZ, axes.T @ f))))
            for q, w, f in zip(Q.as_quat(), rates, force)]


def published(message, matrix):
    """The message with the numbers of its quaternion in an order that `matrix` puts right."""
    q = np.linalg.inv(matrix) @ [message.orientation.x, message.orientation.y,
                                 message.orientation.z, message.orientation.w]
    return Message(**{**vars(message), "orientation": Message(**dict(zip("xyzw", q)))})


def log_of(readings):
    """Rows of the IMU's log, as in `frames`."""
    G, rows = Rotation.identity(), []
    for t, values in zip(T, readings):
        rows.append([t, *values[:9], *G.as_matrix().ravel(), values[9]])
        G = G * Rotation.from_rotvec(0.1 * np.array(values[3:6]))
    return np.array(rows)


def decoded(messages, config):
    """The readings of the messages."""
    decoder = Decoder(config)
    return [decoder.imu(message) for message in messages]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("order", list(TRIED_ORDERS)[1:])
def test_another_order_is_named_and_put_right(order, settings):
    """Whatever the axes of the message: each reading becomes that of the true quaternion."""
    config = Config().with_values(settings)
    messages = motion(config)
    right = decoded(messages, config)
    wrong = decoded([published(one, TRIED_ORDERS[order]) for one in messages], config)
    checks = SensorChecks(config, RobotModel.from_config(config), tuple)
    steps = checks.steps({"imu": log_of(wrong)}, {})
    while True:
        try:
            next(steps)
        except StopIteration as done:
            (finding,) = done.value["IMU"].findings
            break
    assert order in finding.sentence and finding.setting == "imu orientation"
    np.testing.assert_allclose([finding.mend.mended(one) for one in wrong], right, atol=1e-9)


@pytest.mark.parametrize("settings", SETTINGS)
def test_what_no_order_explains(settings):
    """A right IMU, reversed rates, a reversed force, and a constant attitude fit in no other."""
    config = Config().with_values(settings)
    readings = decoded(motion(config), config)

    def times(*factors):
        return log_of((np.array(readings) * [*factors, 1.0]).tolist())
    same, level = [1.0] * 3, [0.0, 0.0, 1.0]
    for log in (log_of(readings), times(*same, 1.0, -1.0, -1.0, *same),
                times(*same, *same, -1.0, -1.0, -1.0),
                log_of([[*level, *one[3:9], 0.0] for one in readings])):
        assert check_quaternion({"imu": log}, config) is None


def test_a_vehicle_that_only_yaws():
    """Of the orders that turn alike then, gravity fits one."""
    config = Config()
    messages = motion(config, yaw_only=True)
    wrong = decoded([published(one, TRIED_ORDERS["(w, x, y, z)"]) for one in messages], config)
    (finding,) = check_quaternion({"imu": log_of(wrong)}, config).findings
    assert "hold (w, x, y, z)" in finding.sentence


def test_a_reading_without_orientation_stays_without():
    """NaN in, NaN out."""
    config, matrix = Config(), TRIED_ORDERS["(w, x, y, z)"]
    wrong = decoded([published(one, matrix) for one in motion(config)], config)
    mend = check_quaternion({"imu": log_of(wrong)}, config).findings[0].mend
    mended = mend.mended([np.nan] * 3 + wrong[0][3:9] + [np.nan])
    assert np.isnan(mended[:3]).all() and np.isnan(mended[9]) and mended[3:9] == wrong[0][3:9]
