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

"""The current state: exact on exact messages, without delay; effect of outages and garbage."""
from types import SimpleNamespace as Message

import numpy as np
import pytest
from analytic import AnalyticMotion, stamp, stream, vector
from frame_cases import decoded

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ConfigError, MessageError
from uvms_adaptive_dynamics.model.prior import prior_from_config
from uvms_adaptive_dynamics.model.robot import RobotModel
from uvms_adaptive_dynamics.signals.latest_state import LatestStateFilter
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot

CONFIG = Config()
ROBOT = RobotModel.from_config(CONFIG)
PI = prior_from_config(CONFIG, ROBOT).values
ROLES = {"imu/data": "imu", "dvl/twist": "dvl", "joint_states": "joint_states"}


def followed(messages, config=CONFIG, robot=ROBOT, begin=0.0):
    """[(receive time, its time on the states' clock, latest)] after each message from begin on."""
    states, found = LatestStateFilter(config, robot), []
    for role, message, receive in messages:
        if role in ROLES.values():
            states.add_message(role, message, receive)
            latest = states.latest()
            if latest is not None and receive >= begin:
                found.append((receive, states.now(receive), latest))
    return found


@pytest.fixture(scope="module")
def motion():
    return AnalyticMotion(2, high=.3)


@pytest.fixture(scope="module")
def messages(motion):
    return stream(motion, ROBOT, PI, 12.0)


def test_the_state_is_that_of_its_own_time(motion, messages):
    """On exact messages: attitude, rates and joints to what 20 ms between readings move, the
    velocity to 1 cm/s although the DVL is 0.1 s late, the acceleration to its low-pass's delay."""
    start = messages[0][2] - 0.01
    found = followed(messages, begin=start + 3.0)
    assert len(found) > 1000
    velocity, acceleration = [], []
    for _, _, latest in found[::20]:
        truth = motion.sample(latest.t - (1_700_000_000.0), ROBOT)
        np.testing.assert_allclose(latest.state.R_nb[2], truth.R_nb[2], atol=.02)
        np.testing.assert_allclose(latest.state.nu[3:], truth.nu[3:], atol=.03)
        np.testing.assert_allclose(latest.state.mu, truth.mu, atol=.01)
        np.testing.assert_allclose(latest.state.mu_dot, truth.mu_dot, atol=.01)
        velocity.append(latest.state.nu[:3] - truth.nu[:3])
        acceleration.append(latest.nu_dot - truth.nu_dot)
    assert np.sqrt(np.mean(np.square(velocity))) < .01
    assert np.sqrt(np.mean(np.square(acceleration))) < .1


def test_an_orientation_that_comes_late_is_used_at_once(messages):
    """A driver starts with unset orientations: no state until the first valid one. By then the
    clocks are known, but not yet an attitude estimated here."""
    begin, late = messages[0][2], []
    for role, message, receive in messages[:400]:
        if role == "imu" and receive < begin + .7:
            message = Message(**{**vars(message), "orientation": Message(x=0., y=0., z=0., w=1.)})
        late.append((role, message, receive))
    found = followed(late)
    assert begin + .7 <= found[0][0] < begin + .75


def test_the_age_is_that_of_the_slower_of_imu_and_joints(messages):
    """Below 30 ms with an IMU of 100 Hz and joints of 50 Hz."""
    found = followed(messages, begin=messages[0][2] + 2.0)
    ages = [now - latest.t for _, now, latest in found]
    assert max(ages) < .03 and min(ages) >= 0


def test_the_simulated_robots_velocity_is_better_than_its_late_dvl():
    """With the noise of real sensors, within 2 cm/s of the true current velocity."""
    run = SimulatedRobot(4, 10.0, start_ns=1_767_225_600 * 10**9, truth_period=.01)
    came = sorted(([ROLES[m.topic], decoded(m)] for m in run if m.topic in ROLES),
                  key=lambda item: item[1][2])
    truth = run.truth()
    found = followed([(role, message, receive) for role, (_, message, receive) in came],
                     begin=truth.t[0] + 5.0)
    assert len(found) > 500
    errors = [latest.state.nu[:3] - truth.nu[int(np.argmin(np.abs(truth.t - latest.t)))][:3]
              for _, _, latest in found[::10]]
    assert np.sqrt(np.mean(np.square(errors))) < .02


def test_a_silent_dvl_is_bridged_then_fades(messages):
    """The IMU bridges a second to a few cm/s; then the velocity decays instead of drifting off."""
    start = messages[0][2]
    silent = [m for m in messages if m[0] != "dvl" or m[2] < start + 4]
    whole = {r: latest for r, _, latest in followed(messages)}
    part = {r: latest for r, _, latest in followed(silent)}
    times = [r for r in part if r in whole and start + 4 < r < start + 4.4]
    assert max(np.abs(part[r].state.nu[:3] - whole[r].state.nu[:3]).max() for r in times) < .05
    end = max(part)
    assert end - part[end].velocity_t > 7
    assert np.abs(part[end].state.nu[:3]).max() < 1.0


def test_the_gates_of_the_dvl_may_change(messages):
    """As `ros2 param set` of the node says: a lower speed refuses what a higher one takes."""
    states = LatestStateFilter(CONFIG, ROBOT)
    for role, message, receive in messages[:200]:
        if role in ROLES.values():
            states.add_message(role, message, receive)
    states.change_settings(CONFIG.with_values({"dvl.max_speed": 0.01}))
    role, message, receive = next(each for each in messages[200:] if each[0] == "dvl")
    with pytest.raises(MessageError, match="m/s"):
        states.add_message(role, message, receive)


def test_a_single_wrong_velocity_is_not_used(messages):
    """A single 3 m/s is treated like a missing reading; five in a row are believed."""
    k = [i for i, m in enumerate(messages) if m[0] == "dvl" and m[2] > messages[0][2] + 4][:5]

    def wrong(places):
        return [(role, Message(header=m.header, twist=Message(twist=Message(
            linear=vector([3, 0, 0])), covariance=m.twist.covariance)) if i in places else m, r)
            for i, (role, m, r) in enumerate(messages)]

    at = messages[k[-1]][2]
    good, once, often = ({r: s for r, _, s in followed(wrong(places))}[at].state.nu[0]
                         for places in ([], k[-1:], k))
    assert abs(once - good) < 2e-3 and abs(often - good) > .5


def without_orientation(messages):
    return [(role, Message(header=m.header, orientation=Message(x=0., y=0., z=0., w=0.),
                           angular_velocity=m.angular_velocity,
                           linear_acceleration=m.linear_acceleration) if role == "imu" else m, r)
            for role, m, r in messages]


def test_without_an_orientation_the_attitude_is_found(motion, messages):
    """As in the front end: no state until the tilt is known, then it is accurate to a degree."""
    bare = without_orientation(messages)
    found = followed(bare)
    assert found[0][0] > bare[0][2] + .5
    _, _, latest = found[-1]
    truth = motion.sample(latest.t - 1_700_000_000.0, ROBOT)
    np.testing.assert_allclose(latest.state.R_nb[2], truth.R_nb[2], atol=.03)


def test_an_attitude_found_here_is_lost_in_a_gap_of_the_imu(motion, messages):
    """Nobody knows how the vehicle has turned meanwhile; before the tilt is known again there is no
    state, however long the arm's readings go on."""
    gap = messages[0][2] + 6.0
    found = followed([(r, m, t) for r, m, t in without_orientation(messages)
                      if r != "imu" or not gap < t < gap + 2.0])
    times = np.array([receive for receive, _, _ in found])
    assert (times < gap).any() and not ((gap + 2.0 < times) & (times < gap + 2.4)).any()
    assert times[-1] > gap + 4.0
    truth = motion.sample(found[-1][2].t - 1_700_000_000.0, ROBOT)
    np.testing.assert_allclose(found[-1][2].state.R_nb[2], truth.R_nb[2], atol=.03)


def test_what_cannot_be_a_state_is_refused():
    """Garbage messages, and settings that would require differentiation."""
    states = LatestStateFilter(CONFIG, ROBOT)
    with pytest.raises(MessageError):
        states.add_message("joint_states", Message(header=stamp(1.0), name=["x"], position=[0.0],
                                                   velocity=[], effort=[]), 1.0)
    assert states.latest() is None and states.now(1.0) is None
    with pytest.raises(ConfigError, match="expects measured rates"):
        LatestStateFilter(CONFIG.with_values({
            "imu.type": "geometry_msgs/msg/PoseStamped", "filter.linear_acceleration": "dvl"}),
            ROBOT)


def test_an_arm_on_a_fixed_base_needs_joints_alone(messages):
    config = CONFIG.with_values({"robot.vehicle": False})
    robot = RobotModel.from_config(config)
    found = followed([m for m in messages if m[0] == "joint_states"], config, robot)
    assert found and not found[-1][2].state.nu.any()


def test_a_clock_that_jumps_begins_anew(messages):
    """Everything before is forgotten; half a second later there is a state again."""
    states, start = LatestStateFilter(CONFIG, ROBOT), messages[0][2]
    for role, message, receive in [m for m in messages if m[2] < start + 3]:
        if role in ROLES.values():
            states.add_message(role, message, receive)
    assert states.latest() is not None
    states.add_message(*messages[0])
    assert states.latest() is None
