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

"""An odometry's twist against its own pose."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.rotations import from_rpy, to_frd
from uvms_adaptive_dynamics.signals.checks.odometry_check import check_odometry, turned_twist

SAME = {"imu.type": "nav_msgs/msg/Odometry", "imu.topic": "odom",
        "dvl.type": "nav_msgs/msg/Odometry", "dvl.topic": "odom", "dvl.frame": "flu"}


def rows(in_world, turn=0.5, seconds=30.0, noise=0.01, moves=True):
    """Rows of a robot that turns by +-turn [rad] while it moves, with noise on positions and twist;
    in_world: the twist is in the axes of the pose."""
    rng, found = np.random.default_rng(0), []
    place, period = np.zeros(3), 0.05
    for t in np.arange(0.0, seconds, period):
        R = from_rpy(0.1 * np.sin(t), 0.1 * np.cos(0.7 * t), turn * np.sin(0.3 * t))
        v = np.array([0.4 + 0.2 * np.sin(0.5 * t), 0.2 * np.cos(0.4 * t), 0.1 * np.sin(0.9 * t)])
        w = np.array([0.1 * np.cos(t), -0.07 * np.sin(0.7 * t), 0.3 * turn * np.cos(0.3 * t)])
        place = place + period * R @ v * moves
        twist = [R @ v, R @ w] if in_world else [v, w]
        found.append(np.concatenate([[t], place + noise * rng.standard_normal(3) * moves,
                                     R.ravel(), *twist]))
    found = np.array(found)
    found[:, 13:16] += noise * rng.standard_normal((len(found), 3))
    return found


@pytest.mark.parametrize("kind", [{"turn": 0.0}, {"turn": 0.5}, {"noise": 0.2}, {"moves": False}])
def test_a_right_twist_is_right(kind):
    """Also if the robot keeps its heading, is noisy, or publishes no positions."""
    result = check_odometry(rows(False, **kind), Config().with_values(SAME))
    assert result.complete and not result.findings


def test_a_twist_in_the_axes_of_its_pose():
    """Is named with its topic, and its mends turn both velocities to the body."""
    log = rows(True)
    linear, angular = check_odometry(log, Config().with_values(SAME)).findings
    assert "twist of 'odom' is in the axes of its pose" in linear.sentence
    R_nb = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]]) @ log[200, 4:13].reshape(
        3, 3) @ to_frd("flu").T
    body = turned_twist(log[200, 1:])
    decoded = to_frd("flu") @ log[200, 13:16]
    assert linear.mend.mended(decoded.tolist(), R_nb) == pytest.approx(
        to_frd("flu") @ body[12:15])
    imu = [0.0] * 3 + (to_frd("flu") @ log[200, 16:19]).tolist() + [0.0] * 4
    assert angular.mend.mended(imu, R_nb)[3:6] == pytest.approx(to_frd("flu") @ body[15:])


def test_it_is_not_put_right_by_another_attitude():
    """An IMU of its own may refer to another world: the twist is named, and nothing is turned."""
    config = Config().with_values({**SAME, "imu.topic": "other"})
    finding, = check_odometry(rows(True), config).findings
    assert finding.mend is None


def test_a_few_seconds_tell_nothing():
    """Nor do messages too far apart for the twist between them."""
    config = Config().with_values(SAME)
    assert not check_odometry(rows(True, seconds=8.0), config).complete
    assert not check_odometry(rows(True)[::15], config).complete


@pytest.mark.parametrize("factor", [0.3048, 0.87, 1.15, 3.6])
def test_a_twist_of_another_scale_than_the_ways(factor):
    """As of a DVL set to another speed of sound, or a position in other units: both are named."""
    log = rows(False)
    log[:, 13:16] *= factor
    finding, = check_odometry(log, Config().with_values(SAME)).findings
    said = float(finding.sentence.split(" are ")[1].split(" +-")[0])
    assert said == pytest.approx(factor, rel=0.03) and finding.mend is None


@pytest.mark.parametrize("kind", [{"noise": 0.05}, {"noise": 0.2}])
def test_noise_is_no_scale(kind):
    """Of positions, it lowers one regression; of the twist, it raises the other."""
    log = rows(False, **kind)
    assert not check_odometry(log, Config().with_values(SAME)).findings
    log[:, 13:16] += kind["noise"] * np.random.default_rng(1).standard_normal((len(log), 3))
    assert not check_odometry(log, Config().with_values(SAME)).findings


def test_positions_far_away_leave_the_rest():
    """Some of 1e200 m: the others still tell the scale, and nothing overflows."""
    log = rows(False)
    log[:, 13:16] *= 1.3
    log[100:110, 1:4] = 1e200
    finding, = check_odometry(log, Config().with_values(SAME)).findings
    assert "are 1.29 +- 0.0" in finding.sentence


def test_a_robot_at_rest_has_no_scale():
    """Noise of its positions is not the integral of the twist's."""
    for seed in range(20):
        rng, log = np.random.default_rng(seed), rows(False, moves=False)
        log[:, 1:4] = 0.01 * rng.standard_normal((len(log), 3))
        log[:, 13:16] = 0.003 * rng.standard_normal((len(log), 3))
        assert not check_odometry(log, Config().with_values(SAME)).findings
