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

"""Learning from odometry and poses in place of DVL and IMU."""
import copy

import numpy as np
import pytest
from campaign_cases import also
from clean_recording import SECONDS, clean_recording, front_and_samples, held_out
from frame_cases import recording, simulated, vector
from odometry import BOTH, ODOMETRY, POSE, as_pose, in_world, odometry, replaced

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.robot import RobotModel


@pytest.fixture(scope="module")
def setup():
    """Robot, held-out R^2 with the robot's own sensors, test samples, messages and truth to learn
    from."""
    _, _, other, usual = clean_recording()
    _, truth = simulated(1, SECONDS)
    return RobotModel.from_config(Config()), usual, other, recording(1, SECONDS), truth


def learnt(setup, source, values, roles=("imu", "dvl")):
    """(loss of held-out R^2, front end, samples, truth) with a source in place of sensors."""
    robot, usual, other, messages, truth = setup
    config = Config().with_values(values)
    front, samples = front_and_samples(config, robot, replaced(messages, source, roles))
    return usual - held_out(Config(), robot, samples, other), front, samples


@pytest.mark.parametrize("kind", [ODOMETRY, also(POSE)])
def test_one_topic_for_both_is_as_good_as_dvl_and_imu(setup, kind):
    """Held-out R^2 within .01 on every channel, no vehicle row lost, no warning."""
    source = odometry(setup[-1], np.random.default_rng(0))
    if kind == POSE:
        source = [(as_pose(m), t) for m, t in source]
    loss, front, samples = learnt(setup, source, {**BOTH, "imu.type": kind, "dvl.type": kind})
    assert loss.max() < 0.01, loss
    assert np.mean([s.valid[:6].all() for s in samples]) > 0.97
    assert front.warnings == []


def test_slow_poses_are_waited_for(setup):
    """At 10 Hz half a window is 0.3 s: samples come that much later, and no vehicle row is lost."""
    robot, _, _, messages, truth = setup
    poses = [(as_pose(m), t) for m, t in odometry(truth, np.random.default_rng(0))[::10]]
    config = Config().with_values({**BOTH, "imu.type": POSE, "dvl.type": POSE})
    front, samples = front_and_samples(config, robot, replaced(messages, poses))
    assert np.mean([s.valid[:6].all() for s in samples]) > 0.95 and front.latency > 0.6


def test_a_twist_in_the_axes_of_its_pose_is_put_right(setup):
    """Said once, linear and angular, and corrected: held-out R^2 within .01 on every channel."""
    source = [(in_world(m), t) for m, t in odometry(setup[-1], np.random.default_rng(0))]
    loss, front, samples = learnt(setup, source, {**BOTH, "imu.type": ODOMETRY,
                                                  "dvl.type": ODOMETRY})
    assert [said.split(":")[0] for said in front.warnings] == ["dvl velocity", "imu rates"]
    assert "the twist of 'odom' is in the axes of its pose" in front.warnings[0]
    assert "corrected" in front.warnings[0] and loss.max() < 0.01, loss


def test_a_twist_that_is_left_at_zero_is_derived_from_the_poses(setup):
    """As of a bridge of motion capture; said of both halves, and held-out R^2 within .01 on every
    channel."""
    source = [(copy.deepcopy(m), t) for m, t in odometry(setup[-1], np.random.default_rng(0))]
    for message, _ in source:
        message.twist.twist.linear = message.twist.twist.angular = vector(np.zeros(3))
    loss, front, samples = learnt(setup, source, {**BOTH, "imu.type": ODOMETRY,
                                                  "dvl.type": ODOMETRY})
    assert loss.max() < 0.01, loss
    assert [said.split(" of")[0] for said in front.warnings] == [
        "imu.topic: the angular twist", "dvl.topic: the linear twist"]
    assert np.mean([s.valid[:6].all() for s in samples]) > 0.97


def test_a_twist_of_zero_at_rest_is_no_unset_twist(setup):
    """The robot moves after 5 s; until then, its simulator says exactly zero and the same pose."""
    source = [(copy.deepcopy(m), t) for m, t in odometry(setup[-1], np.random.default_rng(0))]
    begin = source[0][1] + 5.0
    for message, t in source:
        if t < begin:
            message.pose.pose = source[0][0].pose.pose
            message.twist.twist.linear = message.twist.twist.angular = vector(np.zeros(3))
    _, front, samples = learnt(setup, source, {**BOTH, "imu.type": ODOMETRY, "dvl.type": ODOMETRY})
    assert not any("always zero" in said for said in front.warnings)
    moving = [s.valid[:6].all() for s in samples if s.t > begin + 2.0]
    assert np.mean(moving) > 0.97


def test_a_wrong_world_is_said(setup):
    """Upside down, with no force to tell which setting is wrong: both are named."""
    robot, _, _, messages, truth = setup
    config = Config().with_values({**BOTH, "imu.type": ODOMETRY, "dvl.type": ODOMETRY,
                                   "imu.world": "ned"})
    source = odometry(truth, np.random.default_rng(0))
    begun = [m for m in replaced(messages, source) if m[2] < messages[0][2] + 32.0]
    front, _ = front_and_samples(config, robot, begun)
    assert front.warnings[0].startswith("imu.frame: roll is near 180 degrees; set imu.frame to 'frd"
                                        "' or imu.world to 'enu'")


@pytest.mark.campaign
def test_a_marker_beside_the_body_origin_needs_its_place(setup):
    """Poses of a point half a metre off, in a NED world: with `dvl.xyz` and `imu.world` right, the
    velocity is that of the body origin, to 1 cm/s RMS."""
    robot, _, _, messages, truth = setup
    place = (0.3, -0.2, 0.35)
    poses = [(as_pose(m), t) for m, t in
             odometry(truth, np.random.default_rng(0), place, world="ned")]
    config = Config().with_values({**BOTH, "imu.type": POSE, "dvl.type": POSE, "dvl.xyz": place,
                                   "imu.world": "ned"})
    _, samples = front_and_samples(config, robot, replaced(messages, poses))
    index = np.searchsorted(truth.t, [s.t - 1e-4 for s in samples])
    rows = [(s, truth.nu[k]) for s, k in zip(samples, index)
            if s.valid[:6].all() and k < len(truth.t)]
    error = np.array([s.nu - nu for s, nu in rows])
    assert len(rows) > 1500 and np.sqrt(np.mean(error[:, :3] ** 2)) < 0.01
    assert np.sqrt(np.mean(error[:, 3:] ** 2)) < 0.015


@pytest.mark.campaign
def test_odometry_beside_an_imu_is_a_dvl(setup):
    """The IMU's force is used as ever: held-out R^2 within .005."""
    source = odometry(setup[-1], np.random.default_rng(0))
    values = {"dvl.type": ODOMETRY, "dvl.frame": "flu", "dvl.xyz": (0.0, 0.0, 0.0)}
    loss, front, _ = learnt(setup, source, values, ("dvl",))
    assert loss.max() < 0.005 and front.warnings == []


def test_a_source_that_jumps_and_is_lost_is_not_learnt_from(setup):
    """Two seconds of 0.2 m jumps and 5 s without a pose: those rows are masked, all others are
    correct."""
    begin, rng = setup[-1].t[0], np.random.default_rng(1)
    poses = []
    for message, t in odometry(setup[-1], np.random.default_rng(0)):
        message = copy.deepcopy(message)
        if 15 < t - begin < 17:
            message.pose.pose.position.x += rng.normal(0, 0.2)
        if not 25 < t - begin < 30:
            poses.append((as_pose(message), t))
    loss, front, samples = learnt(setup, poses, {**BOTH, "imu.type": POSE, "dvl.type": POSE})
    at = np.array([s.t - begin for s in samples])
    counts = np.array([s.valid[:6].all() for s in samples])
    assert not counts[(at > 15.5) & (at < 16.5)].any() and not counts[(at > 25.5) & (at < 29)].any()
    assert counts[(at > 18) & (at < 24)].all() and counts[at > 32].mean() > 0.95
    assert "poses fit no smooth motion" in front.inputs["dvl"].doubted
    assert loss.max() < 0.02, loss
