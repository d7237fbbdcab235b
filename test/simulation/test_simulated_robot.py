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

"""A run of the robot: consistent truth, and messages with the right rates and delays."""

import numpy as np
import pinocchio as pin
import pytest
from simulated import START_NS, of

from uvms_adaptive_dynamics.model.thrust_curve import ThrustCurve
from uvms_adaptive_dynamics.simulation.friction import joint_friction
from uvms_adaptive_dynamics.simulation.physics import Physics
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot


@pytest.fixture(scope="module")
def run():
    """(messages, truth, robot) of 40 s of the default robot."""
    robot = SimulatedRobot(seed=7, duration=40.0, start_ns=START_NS)
    return list(robot), robot.truth(), robot


def test_position_changes_with_r_times_v(run):
    """The derivative of position is R v, that of attitude R S(w), that of joints their speed, and
    those of velocities are the accelerations."""
    _, x, _ = run

    def close(y, y_dot, share):
        rate = (y[2:] - y[:-2]) / (x.t[2:] - x.t[:-2])[:, None]
        error = np.sqrt(np.mean((rate - y_dot[1:-1]) ** 2, 0))
        np.testing.assert_array_less(error, share * np.std(y_dot, 0))

    close(x.position, np.einsum("kij,kj->ki", x.R_nb, x.nu[:, :3]), 0.005)
    # A joint may break loose within the 40 ms of the difference.
    close(x.mu, x.mu_dot, 0.015)
    # Thrust changes slope within 40 ms, and the joints' Coulomb friction even more.
    close(x.nu[:, :3], x.nu_dot[:, :3], 0.02)
    turned = np.array([pin.log3(a.T @ b) for a, b in zip(x.R_nb[:-2], x.R_nb[2:])]) / 0.04
    assert np.sqrt(np.mean((turned - x.nu[1:-1, 3:]) ** 2)) < 0.005 * np.std(x.nu[:, 3:])
    np.testing.assert_allclose(np.einsum("kij,kil->kjl", x.R_nb, x.R_nb),
                               np.broadcast_to(np.eye(3), x.R_nb.shape), atol=1e-9)


def test_truth_fulfils_the_equation_of_motion(run):
    """State, accelerations and efforts of the truth log are consistent: the residual is below 0.5 %
    of the effort."""
    _, x, robot = run
    physics, residual = Physics(robot.robot), []
    for k in range(0, len(x.t), 7):
        physics.set_state(x.position[k], x.R_nb[k], x.mu[k], x.nu[k], x.mu_dot[k])
        effort = np.r_[x.wrench[k], x.joint_torque[k]]
        a = np.r_[x.nu_dot[k], x.mu_ddot[k]]
        effort = effort - physics.bias(physics.q, physics.v) - physics.mass_matrix(physics.q) @ a
        effort[6:] -= joint_friction(robot.robot, x.mu_dot[k])[0]
        residual.append(np.where(np.r_[np.ones(6), abs(x.mu_dot[k]) > 0.02], effort, 0.0))
    scale = np.r_[x.wrench.std(0), x.joint_torque.std(0)]
    assert np.all(np.sqrt(np.mean(np.square(residual), 0)) < 0.005 * scale)


def test_wrench_follows_from_the_commands(run):
    """PWM -> T200 at the sagging voltage -> rotor lag -> allocation, recomputed from the messages,
    gives the true wrench."""
    messages, x, robot = run
    commands = sorted(of(messages, "thruster_commands"), key=lambda m: m.stamp)
    curve, thrust, target, history, now = ThrustCurve.t200(), None, None, [], None
    full = robot.robot.battery_full
    sag = full - robot.robot.battery_empty
    for m in commands:
        t = (m.stamp - robot.start_ns) * 1e-9
        if thrust is not None:
            thrust = target + (thrust - target) * np.exp(-(t - now) / robot.robot.rotor_lag)
        target, now = curve.thrust(m.payload["data"], full - sag * t / 40.0), t
        thrust = target if thrust is None else thrust
        history.append(np.r_[t, robot.robot.allocation @ thrust])
    history = np.array(history)
    settled = history[:, 0] > 2.0
    at = np.interp(history[settled, 0], x.t - robot.start_ns * 1e-9, np.arange(len(x.t)))
    true = x.wrench[np.clip(np.round(at).astype(int), 0, len(x.t) - 1)]
    inside = at < len(x.t) - 1
    error = np.sqrt(np.mean((history[settled, 1:] - true)[inside] ** 2, 0))
    assert error == pytest.approx(np.zeros(6), abs=0.02)


def test_robot_follows_within_its_limits(run):
    """Speed stays under 0.6 m/s, tilt under 22 deg, joints off their stops, and thrusters are
    hardly ever saturated."""
    messages, x, robot = run
    assert np.linalg.norm(x.nu[:, :3], axis=1).max() < 0.6
    assert np.degrees(np.arccos(x.R_nb[:, 2, 2].min())) < 22.0
    assert np.all(x.mu > robot.physics.lower + 0.15) and np.all(x.mu < robot.physics.upper - 0.15)
    assert np.all(np.abs(x.joint_torque) <= robot.physics.torque_limit + 1e-12)
    assert x.position[:, 2].min() > 3.5 and x.position[:, 2].max() < 6.5
    pwm = np.array([m.payload["data"] for m in of(messages, "thruster_commands")])
    assert pwm.shape[1] == 8 and np.mean((pwm <= 1100) | (pwm >= 1900)) < 0.001
    assert np.all(x.nu.std(0) > [0.06, 0.06, 0.05, 0.05, 0.05, 0.06])


def test_rates_delays_and_dropouts(run):
    """Each topic has its rate; the DVL has correct timestamps, arrives 0.1 s late, and loses about
    3 %; messages come in order of reception."""
    messages, _, robot = run
    for topic, rate in (("imu/data", 100), ("joint_states", 50), ("thruster_commands", 50),
                        ("depth", 10)):
        assert len(of(messages, topic)) == pytest.approx(40 * rate, abs=2), topic
    dvl = of(messages, "dvl/twist")
    assert 0.9 * 400 < len(dvl) < 400
    delay = np.array([m.receive_time - m.stamp for m in dvl]) * 1e-9
    assert np.all((delay >= 0.1 - 1e-9) & (delay < 0.15))
    receipt = [m.receive_time for m in messages]
    assert receipt == sorted(receipt) and all(m.receive_time > m.stamp for m in messages)
    phases = {
        np.median([m.stamp % 10_000_000 for m in of(messages, topic)])
        for topic in ("imu/data", "joint_states", "depth", "dvl/twist")
    }
    assert len(phases) == 4  # no two sensors measure at the same instants


def test_truth_grid_is_whole_multiples_since_the_epoch(run):
    """The truth log's instants are whole multiples of 20 ms since the epoch, without gaps."""
    _, x, robot = run
    ticks = x.t / 0.02
    assert np.abs(ticks - np.round(ticks)).max() < 1e-4 and np.all(np.diff(np.round(ticks)) == 1)
    offset = SimulatedRobot(0, 0.5, start_ns=1_800_000_000_007_000_000)
    list(offset)
    assert np.abs(offset.truth().t / 0.02 % 1.0 - 0.5).min() > 0.49


def test_same_seed_same_messages_other_seed_other_motion():
    """The same seed gives the same messages bit by bit; another seed gives another motion."""
    first, again, other = (list(SimulatedRobot(seed, 2.0)) for seed in (5, 5, 6))
    assert first == again
    joints = [of(m, "joint_states")[-1].payload["position"] for m in (first, other)]
    assert np.abs(np.subtract(*joints)).max() > 0.02


def test_a_weak_thruster_gives_its_share_and_the_mixer_does_not_know():
    """For the same commands its column of the allocation has that share of the thrust."""
    # for fifteen time constants, so that earlier commands have no effect
    whole, weak = (SimulatedRobot(3, 1.6, TrueRobot(thrust_share=share), truth_period=0.02)
                   for share in ((), (1.0,) * 4 + (0.25,) + (1.0,) * 3))
    pwm = np.full(8, 1700.0)
    for robot in (whole, weak):
        for end in np.arange(0.4, 1.61, 0.4):
            robot.command_pwm(pwm)
            list(robot.advance(end))
    lost = whole.truth().wrench[-1] - weak.truth().wrench[-1]
    alone = ThrustCurve.t200().thrust(pwm, whole.voltage(1.6))[4]
    # 1 %: the battery sags by .05 V over the rotors' lag
    np.testing.assert_allclose(lost, whole.robot.allocation[:, 4] * 0.75 * alone, rtol=0.01,
                               atol=1e-3)
