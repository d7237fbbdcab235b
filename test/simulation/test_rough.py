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

"""The rough robot: each part has its effect alone, and none is on by default."""
from dataclasses import fields

import numpy as np
import pinocchio as pin
import pytest
from simulated import DEFAULT_ROBOT, JOINT_SPEED, POSE, SPEED, START_NS, of

from uvms_adaptive_dynamics.simulation.pauses import Pauses, PausingMotion
from uvms_adaptive_dynamics.simulation.physics import Physics
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
from uvms_adaptive_dynamics.simulation.rough import (
    ROUGH,
    ROUGH_PARTS,
    Roughness,
    RoughThrusters,
    RoughWater,
    Surroundings,
    roughened,
    roughness,
)
from uvms_adaptive_dynamics.simulation.wander import Wander

ATTITUDE = pin.rpy.rpyToMatrix(0.2, -0.15, 0.7)


class Water:
    """Constant surroundings; the tether is attached at `place` (FLU)."""

    def __init__(self, current=(0, 0, 0), rate=(0, 0, 0), pull=(0, 0, 0), place=(0, 0, 0)):
        self._always = Surroundings(*(np.array(x, float) for x in (current, rate, pull)))
        self.place = np.array(place, float)

    def at(self, t):
        return self._always


def acceleration(water=None, nu=SPEED, robot=DEFAULT_ROBOT):
    physics = Physics(robot, water=water)
    physics.set_state([0, 0, 5.0], ATTITUDE, POSE, nu, JOINT_SPEED)
    return physics.acceleration(np.zeros(6), np.zeros(4))


def test_the_default_robot_is_the_one_without_roughness_to_the_last_bit():
    """Also holds with parts of zero strength: water at rest, identical thrusters."""
    plain = list(SimulatedRobot(5, 0.5))
    assert list(SimulatedRobot(5, 0.5, rough=Roughness())) == plain
    still = RoughWater(Roughness(), np.random.default_rng(0))
    assert np.array_equal(acceleration(still), acceleration())
    thrust = np.linspace(-40.0, 40.0, 8)
    even = RoughThrusters(Roughness(), np.random.default_rng(0), 8, 50.0)
    assert np.array_equal(even.thrust(thrust), thrust)


def test_each_part_changes_the_messages_and_repeats_with_its_seed():
    """Each part alone differs from the default robot and from every other part; the same seed
    gives the same messages."""
    def messages(parts):
        # Steps of 10 ms suffice: nothing is compared with a true motion here.
        return list(SimulatedRobot(5, 0.5, rough=roughness(parts), dt=0.01))

    seen = [messages([])]
    for name in ROUGH_PARTS:
        made = messages([name])
        assert made not in seen, name
        seen.append(made)
    for parts in (ROUGH_PARTS, set(ROUGH_PARTS) - {"mocap"}):
        made, again = messages(parts), messages(parts)
        assert made == again


def test_each_part_is_one_switch():
    """The parts share no field, and all but motion capture together make the rough robot."""
    def touched(rough):
        return {f.name for f in fields(rough)
                if getattr(rough, f.name) != getattr(Roughness(), f.name)}

    names = [name for part in ROUGH_PARTS.values() for name in touched(part)]
    assert len(names) == len(set(names))
    assert touched(ROUGH) == set(names) - {"mocap"}


def test_a_steady_current_carries_the_robot():
    """Relative to the water nothing changes: with the current added to its velocity, the robot has
    the same world acceleration as in still water."""
    current = np.array([0.3, -0.2, 0.1])
    carried = SPEED.copy()
    carried[:3] += ATTITUDE.T @ current
    still, drifting = acceleration(), acceleration(Water(current), carried)
    # nu_dot is the derivative of components in rotating axes
    still[:3] -= np.cross(SPEED[3:], ATTITUDE.T @ current)
    assert drifting == pytest.approx(still, abs=1e-10)
    assert acceleration(Water(current)) != pytest.approx(acceleration(), abs=0.05)


def test_a_current_that_speeds_up_takes_the_added_mass_along():
    """The current's acceleration adds the force M_a R^T a_c and nothing else."""
    rate = np.array([0.05, 0.02, -0.03])
    physics = Physics(DEFAULT_ROBOT)
    physics.set_state([0, 0, 5.0], ATTITUDE, POSE, SPEED, JOINT_SPEED)
    force = np.zeros(10)
    force[:6] = DEFAULT_ROBOT.added_mass @ np.r_[ATTITUDE.T @ rate, np.zeros(3)]
    more = np.linalg.solve(physics.mass_matrix(physics.q), force)
    assert acceleration(Water(rate=rate)) - acceleration() == pytest.approx(more, abs=1e-10)


def test_the_tether_pulls_where_it_is_attached():
    """A pull acts like a thruster wrench: the force and its moment about the origin."""
    pull, place = np.array([1.0, -2.0, 0.5]), np.array([-0.2, 0.1, 0.12])
    force = ATTITUDE.T @ pull
    wrench = np.r_[force, np.cross(place * [1, -1, -1], force)]
    physics = Physics(DEFAULT_ROBOT)
    physics.set_state([0, 0, 5.0], ATTITUDE, POSE, SPEED, JOINT_SPEED)
    assert acceleration(Water(pull=pull, place=place)) == pytest.approx(
        physics.acceleration(wrench, np.zeros(4)), abs=1e-10)


def test_wander_has_its_size_and_its_rate():
    """Its rms over an hour is as requested, its rate is its derivative, and it is slow."""
    wander = Wander(np.random.default_rng(1), np.array([2.0, 0.5]), period=15.0)
    t = np.arange(0.0, 3600.0, 1.0)
    values = np.array([wander.at(x) for x in t])
    assert np.sqrt(np.mean(values ** 2, 0)) == pytest.approx([2.0, 0.5], rel=0.05)
    slope = np.gradient(values[:, 0], t)[1:-1]
    assert slope == pytest.approx([wander.rate(x)[0] for x in t[1:-1]], abs=0.02)
    assert np.abs(wander.at(100.1) - wander.at(100.0)).max() < 0.1 * 2 * np.pi / 15.0 * 2.0 * 4


def test_thrusters_differ_by_no_more_than_asked_and_take_from_each_other():
    """Alone, each thruster is within 20 % of its curve, different forward and astern; with all
    others at full thrust it loses the requested share."""
    thrusters = RoughThrusters(Roughness(asymmetry=0.2), np.random.default_rng(2), 8, 50.0)
    forward, astern = thrusters.thrust(np.full(8, 20.0)) / 20, thrusters.thrust(
        np.full(8, -20.0)) / -20
    for gain in (forward, astern):
        assert np.all((gain > 0.8) & (gain < 1.2)) and np.ptp(gain) > 0.1
    assert np.abs(forward - astern).max() > 0.1
    taking = RoughThrusters(Roughness(interaction=0.15), np.random.default_rng(2), 8, 50.0)
    assert taking.thrust(np.eye(8)[0] * 30.0) == pytest.approx(np.eye(8)[0] * 30.0)
    assert taking.thrust(np.full(8, 50.0)) == pytest.approx(np.full(8, 50.0 * 0.85))


def test_off_axis_damping_is_doubled_and_still_takes_energy():
    """The diagonals stay; damping dissipates power at any velocity."""
    rough = roughened(DEFAULT_ROBOT, ROUGH)
    for name in ("linear_damping", "quadratic_damping"):
        before, after = getattr(DEFAULT_ROBOT, name), getattr(rough, name)
        assert np.array_equal(np.diag(after), np.diag(before))
        off = ~np.eye(6, dtype=bool)
        assert np.array_equal(after[off], 2.0 * before[off]) and before[off].any()
    for nu in np.random.default_rng(3).uniform(-1, 1, (500, 6)) * [.6, .6, .6, .7, .7, .7]:
        assert nu @ (rough.linear_damping @ nu + rough.quadratic_damping @ (np.abs(nu) * nu)) > 0


def test_a_poor_dvl_has_its_rate_and_noise():
    """It has 4 Hz and 5 cm/s of noise about the true velocity at its position, and reports that
    covariance."""
    robot = SimulatedRobot(2, 20.0, start_ns=START_NS, rough=roughness(["dvl"]))
    dvl = of(list(robot), "dvl/twist")
    assert len(dvl) == pytest.approx(20 * 4 * 0.97, abs=6)
    error = velocity_errors(dvl, robot)
    assert error.std() == pytest.approx(0.05, rel=0.1)
    assert dvl[0].payload["linear_variance"] == (0.05 ** 2,) * 3


def test_motion_capture_gives_the_velocity_that_its_stamp_says():
    """It has 20 Hz on the DVL's topic, 0.17 s late; its error about the true velocity is as stated.
    """
    robot = SimulatedRobot(2, 10.0, start_ns=START_NS, rough=roughness(["mocap"]))
    velocities = of(list(robot), "dvl/twist")
    assert len(velocities) == pytest.approx(10 * 20 - 6, abs=2)
    lateness = np.array([m.receive_time - m.stamp for m in velocities]) * 1e-9
    assert lateness.min() > 0.17 - 1e-6 and lateness.max() < 0.19
    stated = np.sqrt(velocities[0].payload["linear_variance"][0])
    assert velocity_errors(velocities, robot).std() == pytest.approx(stated, rel=0.15)


def velocity_errors(messages, robot):
    """(k, 3) reported less true velocity at the DVL's position at the timestamps."""
    x = robot.truth()
    lever = np.array(robot.robot.dvl_place) * [1, -1, -1]
    true = x.nu[:, :3] + np.cross(x.nu[:, 3:], lever)
    inside = [m for m in messages if x.t[0] <= m.stamp * 1e-9 <= x.t[-1]]
    stamps = np.array([m.stamp for m in inside]) * 1e-9
    expected = np.column_stack([np.interp(stamps, x.t, axis) for axis in true.T])
    return np.array([m.payload["linear"] for m in inside]) - expected


def test_axes_stand_for_minutes_and_move_for_minutes():
    """Ten minutes of a schedule have both states, each for at least a minute, with smooth changes.
    """
    spans = []
    for seed in range(10):
        schedule = Pauses(np.random.default_rng(seed))
        t = np.arange(-4.0, 1800.0, 0.5)
        share = np.array([schedule.at(x)[0] for x in t])
        assert share.min() == 0.0 and share.max() == 1.0 and np.abs(np.diff(share)).max() < 0.15
        ends = np.flatnonzero(np.diff(share == 0.0))
        spans += [(share[a + 1] == 0.0, t[b] - t[a]) for a, b in zip(ends, ends[1:])]
    standing = np.array([length for stands, length in spans if stands])
    moving = np.array([length for stands, length in spans if not stands])
    assert standing.min() > 119.0 and standing.max() < 241.0
    assert moving.min() > 60.0 and moving.max() < 170.0


@pytest.mark.campaign
def test_a_pausing_reference_is_consistent():
    """Rate and acceleration are the derivatives of the value, also on the ramps; a pausing axis is
    at its centre."""
    robot = SimulatedRobot(1, rough=roughness(["pauses"]), truth_period=None)
    motion = robot.motion
    assert isinstance(motion, PausingMotion)
    t = np.arange(0.0, 400.0, 0.025)
    rows = [motion.at(x) for x in t]
    value, rate, turn = (np.array([getattr(r, name) for r in rows])
                         for name in ("value", "rate", "acceleration"))
    assert np.gradient(value, t, axis=0)[1:-1] == pytest.approx(rate[1:-1], abs=2e-3)
    assert np.gradient(rate, t, axis=0)[1:-1] == pytest.approx(turn[1:-1], abs=2e-2)
    stands = (rate == 0.0) & (turn == 0.0)
    assert stands.any(axis=0).sum() >= 8 and 0.2 < stands.mean() < 0.9
    centre = np.broadcast_to(motion.centre, value.shape)
    assert np.array_equal(value[stands], centre[stands])
