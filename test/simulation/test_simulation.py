"""The simulated robot against facts that do not come from it: conservation laws, statics, kinematics, and the format of a bag."""
import importlib.util
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from uvms_adaptive_dynamics.errors import BagError
from uvms_adaptive_dynamics.simulation import command, sensors
from uvms_adaptive_dynamics.simulation.bag import write_bag
from uvms_adaptive_dynamics.simulation.friction import joint_friction, joint_stops
from uvms_adaptive_dynamics.simulation.paper_parameters import paper_parameters
from uvms_adaptive_dynamics.simulation.physics import Instant, Physics, inertia_matrix
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot
from uvms_adaptive_dynamics.signals.filters.thrust_curve import ThrustCurve

G = 9.80665
NO6 = np.zeros((6, 6))
POSE = np.array([3.0, 1.8, 1.7, 2.8])  # joints, far from every stop
SPEED = np.array([0.3, -0.2, 0.15, 0.2, -0.15, 0.3])
JOINT_SPEED = np.array([0.3, -0.2, 0.35, 0.5])
REPOSITORY = Path(__file__).resolve().parents[2]
NO_ROS = pytest.mark.skipif(importlib.util.find_spec("rclpy") is None, reason="rclpy is not installed")


def without_losses(robot=TrueRobot()):
    """The robot without damping, drag and friction."""
    return replace(robot, linear_damping=NO6, quadratic_damping=NO6, viscous=(0.,) * 4, coulomb=(0.,) * 4, static=(0.,) * 4,
                   links=tuple(replace(k, drag=(0., 0., 0.)) for k in robot.links))


def in_vacuum(robot=TrueRobot()):
    """The robot without losses and without water: rigid bodies alone, rotors without inertia."""
    dry = without_losses(robot)
    return replace(dry, added_mass=NO6, buoyancy=0., rotor_inertia=(0.,) * 4, water_density=0.)


def let_go(robot, seconds, dt=0.0025):
    """Free motion from a state that moves on every axis."""
    physics = Physics(robot, dt)
    physics.set_state([1., 2., 5.], pin.rpy.rpyToMatrix(0.2, -0.15, 0.7), POSE, SPEED, JOINT_SPEED)
    for _ in range(round(seconds / dt)):
        physics.step(np.zeros(6), np.zeros(4))
    return physics


@pytest.fixture(scope="module")
def run():
    """40 s of the default robot: messages, truth, robot."""
    robot = SimulatedRobot(seed=7, duration=40.0, start_ns=1_800_000_000 * 10**9)
    return list(robot), robot.truth(), robot


def instant(R_nb=np.eye(3), nu=np.zeros(6), nu_dot=np.zeros(6), depth=5.0):
    return Instant(0.0, np.array([0.0, 0.0, depth]), R_nb, nu, nu_dot, POSE, np.zeros(4), np.zeros(4), np.zeros(6), np.zeros(4))


@pytest.fixture
def silent(monkeypatch):
    """Sensors without noise and bias."""
    for name in ("ATTITUDE_NOISE", "GYRO_NOISE", "GYRO_BIAS", "ACCELEROMETER_NOISE", "ACCELEROMETER_BIAS", "DVL_NOISE",
                 "DVL_DROPOUT", "PRESSURE_NOISE", "JOINT_NOISE", "JOINT_SPEED_NOISE", "EFFORT_NOISE_SHARE", "EFFORT_NOISE"):
        monkeypatch.setattr(sensors, name, 0.0)


def of(messages, topic):
    return [m for m in messages if m.topic == topic]


# physics ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("robot", [without_losses(), in_vacuum()], ids=["water", "vacuum"])
def test_energy_is_conserved_without_losses(robot):
    """Kinetic plus potential energy stays within 0.1 mJ when nothing takes energy away; the error falls as dt^2."""
    errors = []  # over half a second: later a joint, free of friction, meets its stop
    for dt in (0.005, 0.0025):
        start = let_go(robot, 0.0).energy()
        errors.append(abs(let_go(robot, 0.5, dt).energy() - start))
    assert errors[1] < 1e-4
    assert errors[1] == pytest.approx(errors[0] / 4.0, rel=0.1)


def test_damping_and_friction_only_take_energy():
    """With losses on and nothing driven, energy never grows."""
    physics = let_go(TrueRobot(), 0.0)
    energy = [physics.energy()]
    for _ in range(800):
        physics.step(np.zeros(6), np.zeros(4))
        energy.append(physics.energy())
    assert np.all(np.diff(energy) < 1e-6)


def test_momentum_is_conserved_in_empty_space():
    """Without water and gravity, linear and angular momentum about the world's origin keep their value."""
    def momentum(physics):
        model, data = physics.model, physics.data
        pin.computeCentroidalMomentum(model, data, physics.q, physics.v)
        linear = np.array(data.hg.linear)
        return np.r_[linear, np.array(data.hg.angular) + np.cross(np.array(data.com[0]), linear)]

    robot = replace(in_vacuum(), gravity=0.0)
    before, after = momentum(let_go(robot, 0.0)), momentum(let_go(robot, 1.5))
    assert np.linalg.norm(before) > 1.0
    np.testing.assert_allclose(after, before, atol=2e-5 * np.linalg.norm(before))


def test_free_fall_is_the_same_for_every_body():
    """In vacuum, whatever its pose, a robot let go at rest falls with g and nothing turns."""
    physics = Physics(in_vacuum())
    R = pin.rpy.rpyToMatrix(0.4, -0.3, 1.1)
    physics.set_state([0., 0., 5.], R, POSE)
    acceleration = physics.acceleration(np.zeros(6), np.zeros(4))
    np.testing.assert_allclose(acceleration[:3], R.T @ [0, 0, G], atol=1e-9)
    np.testing.assert_allclose(acceleration[3:], 0.0, atol=1e-9)


def test_uniform_buoyancy_lifts_every_body_alike():
    """When every body's buoyancy is k times its weight, at its centre of mass, all rise with (k - 1) g and nothing turns."""
    k, dry = 1.3, in_vacuum()
    links = tuple(replace(x, volume=k * x.mass / 1000.0, cob=x.com) for x in dry.links)
    physics = Physics(replace(dry, water_density=1000.0, buoyancy=k * dry.mass * G, cob=dry.com, links=links))
    R = pin.rpy.rpyToMatrix(-0.5, 0.2, 0.3)
    physics.set_state([0., 0., 5.], R, POSE)
    acceleration = physics.acceleration(np.zeros(6), np.zeros(4))
    np.testing.assert_allclose(acceleration[:3], -(k - 1) * (R.T @ [0, 0, G]), atol=1e-9)
    np.testing.assert_allclose(acceleration[3:], 0.0, atol=1e-8)


def table_of_joints(mu):
    """Rotation and origin of the four links in FRD, by hand from the table in DESIGN section 11."""
    table = (((0, 0, 0.014), 0.0, (0, 0, 1)), ((-0.02, 0, 0.033), 0.0, (0, 1, 0)),
             ((-0.04, 0, -0.1453), np.pi, (0, 1, 0)), ((0.02, 0, 0.033), 2.0944, (0, 0, -1)))
    # the mount is turned by pi about x in FLU, and FRD is FLU turned by pi about x: the axes agree again
    R, p, places = np.eye(3), np.array([0.19, 0.0, 0.12]), []
    for (xyz, yaw, axis), angle in zip(table, mu):
        p = p + R @ np.array(xyz)
        R = R @ pin.exp3(np.array([0, 0, yaw])) @ pin.exp3(np.array(axis) * angle)
        places.append((R, p))
    return places


def test_at_rest_it_hangs_with_the_centres_in_one_vertical():
    """A neutral robot comes to rest where the moment of all weights and buoyancies about the body origin is vertical."""
    robot = TrueRobot()
    net = sum(G * (k.mass - 1000.0 * k.volume) for k in robot.links)
    robot = replace(robot, buoyancy=robot.mass * G + net)
    physics = Physics(robot)
    physics.set_state([0., 0., 5.], np.eye(3), POSE)
    for _ in range(round(30.0 / physics.dt)):
        physics.step(np.zeros(6), 60.0 * (POSE - physics.mu))
    assert np.linalg.norm(physics.nu) < 1e-3
    moment = robot.mass * G * np.array(robot.com) - robot.buoyancy * np.array(robot.cob)
    for (R, p), link in zip(table_of_joints(physics.mu), robot.links):
        moment = moment + G * link.mass * (p + R @ link.com) - 1000.0 * G * link.volume * (p + R @ link.cob)
    down = physics.R_nb.T @ [0.0, 0.0, 1.0]
    tilt = np.degrees(np.arccos(np.dot(moment, down) / np.linalg.norm(moment)))
    assert moment @ down > 0.0 and tilt < 0.3
    assert 3.0 < np.linalg.norm(moment) < 7.0  # [N m/rad]; 3.9 to 4.0 were measured on a real one


def test_physics_agrees_with_the_regressors_where_both_hold():
    """With only effects that the paper's model knows, thruster wrench and joint torque equal Y pi to rounding."""
    from uvms_adaptive_dynamics.model.manipulator import ManipulatorModel, Mount
    from uvms_adaptive_dynamics.model.parameters import VEHICLE as TABLE
    from uvms_adaptive_dynamics.model.vehicle import vehicle_regressor

    robot = TrueRobot()
    added = np.diag(np.diag(robot.added_mass))
    added[0, 4] = added[4, 0] = 0.28
    added[1, 3] = added[3, 1] = -0.31
    robot = replace(
        robot, com=(0.0, 0.0, 0.017), inertia=(*robot.inertia[:3], 0., 0., 0.), added_mass=added, rotor_inertia=(0.,) * 4,
        linear_damping=np.diag(np.diag(robot.linear_damping)), quadratic_damping=np.diag(np.diag(robot.quadratic_damping)),
        static=robot.coulomb, links=tuple(replace(k, volume=0., drag=(0., 0., 0.)) for k in robot.links))
    values, rng, names = paper_parameters(robot), np.random.default_rng(3), [row[0] for row in TABLE]
    pi_v = np.array([values[name] for name in names])
    pi_m = np.array([v for name, v in values.items() if name not in names])
    arm = ManipulatorModel.from_urdf(robot.urdf, robot.joints, Mount(robot.mount_xyz, robot.mount_rpy))
    physics = Physics(robot)
    for _ in range(20):
        R = pin.rpy.rpyToMatrix(*rng.uniform(-0.5, 0.5, 3))
        nu, mu, mu_dot = rng.normal(0, 0.3, 6), POSE + rng.normal(0, 0.3, 4), rng.choice([-1, 1], 4) * rng.uniform(0.1, 0.5, 4)
        wrench, torque = rng.normal(0, 5, 6), rng.normal(0, 1, 4)
        physics.set_state([0., 0., 5.], R, mu, nu, mu_dot)
        a = physics.acceleration(wrench, torque)
        state = (mu, mu_dot, a[6:], R, nu, a[:6])
        np.testing.assert_allclose(vehicle_regressor(nu, a[:6], R) @ pi_v + arm.base_regressor(*state) @ pi_m, wrench, atol=1e-8)
        np.testing.assert_allclose(arm.regressor(*state) @ pi_m, torque, atol=1e-8)


def test_payload_is_a_point_mass_in_the_gripper():
    """A payload adds its mass, first moment and m d^2 to the last link and leaves the others alone."""
    plain, loaded = TrueRobot(), replace(TrueRobot(), payload_mass=0.3, payload_volume=5e-5)
    before, after = paper_parameters(plain), paper_parameters(loaded)
    changed = {name: after[name] - before[name] for name in before if after[name] != pytest.approx(before[name], abs=1e-12)}
    assert changed == pytest.approx({"axis_b.m": 0.3, "axis_b.mlz": 0.3 * 0.19, "axis_b.Ixx": 0.3 * 0.19**2,
                                     "axis_b.Iyy": 0.3 * 0.19**2})
    assert loaded.last_link().volume == pytest.approx(plain.links[-1].volume + 5e-5)


def test_all_bodies_are_physical():
    """Mass matrix and every pseudo-inertia, of the true robot and of the URDF, are positive definite."""
    robot = TrueRobot()
    for name in ("added_mass", "linear_damping"):
        matrix = getattr(robot, name)
        assert np.linalg.eigvalsh(matrix + matrix.T).min() > 0.0, name
    urdf = pin.buildModelFromUrdf(robot.urdf, pin.JointModelFreeFlyer())
    bodies = [(i.mass, np.array(i.lever), np.array(i.inertia)) for i in list(urdf.inertias)[1:]]
    bodies += [(k.mass, np.array(k.com), inertia_matrix(k.inertia)) for k in (*robot.links, robot)]
    assert len(bodies) == 5 + 5
    for mass, com, inertia in bodies:
        second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
        assert mass > 0.0 and np.linalg.eigvalsh(second).min() > 0.0
    assert 110.0 < robot.mass * G < 125.0


def test_friction_opposes_motion_and_peaks_at_low_speed():
    """Friction has the sign of the speed, breaks loose above the Coulomb level and settles to it plus the viscous part."""
    robot = TrueRobot()
    torque = lambda speed: joint_friction(robot, np.full(4, speed))[0]
    assert np.all(torque(0.0) == 0.0) and np.all(torque(0.2) == -torque(-0.2))
    assert np.all(torque(0.012) - 0.012 * np.array(robot.viscous) > 1.15 * np.array(robot.coulomb))
    np.testing.assert_allclose(torque(0.3), 0.3 * np.array(robot.viscous) + robot.coulomb, rtol=1e-6)


def test_stops_push_back_and_never_pull():
    """A joint beyond its limit is pushed back inside; a joint inside, or on its way back fast, feels nothing."""
    robot, low, high = TrueRobot(), np.full(4, 1.0), np.full(4, 2.0)
    angle, speed = np.array([1.5, 2.01, 0.99, 2.001]), np.array([5.0, 0.1, -0.1, -1.0])
    torque, _ = joint_stops(robot, low, high, angle, speed)
    assert torque[0] == 0.0 and torque[1] > 0.0 > torque[2] and torque[3] == 0.0
    physics = Physics(robot)
    physics.set_state([0., 0., 5.], np.eye(3), [5.45, 1.8, 1.7, 2.8])
    for _ in range(800):
        physics.step(np.zeros(6), np.array([1.5, 0.0, 0.0, 0.0]))
    assert 5.5 < physics.mu[0] < 5.53


# sensors ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("rpy", [(0, 0, 0), (0.3, 0, 0), (0, 0.25, 0), (0.2, -0.3, 2.0)])
def test_imu_at_rest_reads_g_up(silent, rpy):
    """At rest, the specific force turned into the world by the message's own orientation is +g along ENU's up."""
    payload = sensors.Sensors(TrueRobot(), np.random.default_rng(0)).imu(instant(pin.rpy.rpyToMatrix(*map(float, rpy))))
    R_enu_flu = pin.Quaternion(np.array(payload["orientation"])).matrix()
    np.testing.assert_allclose(R_enu_flu @ payload["linear_acceleration"], [0, 0, G], atol=1e-9)
    assert rpy != (0, 0, 0) or payload["linear_acceleration"] == pytest.approx((0, 0, G))
    assert rpy != (0.3, 0, 0) or payload["linear_acceleration"][1] > 2.0  # rolled to starboard, port (y) is up


def test_imu_heading_is_enu(silent):
    """Looking north, the body's x axis is ENU's y; looking east, it is ENU's x."""
    device = sensors.Sensors(TrueRobot(), np.random.default_rng(0))
    for yaw, expected in ((0.0, (0, 1, 0)), (np.pi / 2, (1, 0, 0))):
        payload = device.imu(instant(pin.rpy.rpyToMatrix(0.0, 0.0, yaw)))
        R = pin.Quaternion(np.array(payload["orientation"])).matrix()
        np.testing.assert_allclose(R @ [1, 0, 0], expected, atol=1e-9)


def test_rates_are_flu(silent):
    """Turning to starboard, nose down, rolling to starboard: FLU rates are negative, positive, positive."""
    payload = sensors.Sensors(TrueRobot(), np.random.default_rng(0)).imu(instant(nu=np.array([0, 0, 0, 0.1, -0.2, 0.3])))
    assert payload["angular_velocity"] == pytest.approx((0.1, 0.2, -0.3))


def test_dvl_measures_where_it_sits(silent):
    """Turning to starboard moves a DVL behind the origin to port; pitching up moves a DVL below the origin forward."""
    device = sensors.Sensors(TrueRobot(), np.random.default_rng(0))
    yaw = device.dvl(instant(nu=np.array([0.2, 0, 0, 0, 0, 0.5])))["linear"]
    assert yaw == pytest.approx((0.2, -0.06 * 0.5, 0.0))
    pitch = device.dvl(instant(nu=np.array([0, 0, 0, 0, 0.5, 0])))["linear"]
    assert pitch == pytest.approx((0.105 * 0.5, 0.0, 0.06 * 0.5))


def test_pressure_grows_with_depth(silent):
    """At 5 m of fresh water the absolute pressure is the surface's plus rho g 5 m."""
    payload = sensors.Sensors(TrueRobot(), np.random.default_rng(0)).depth(instant())
    assert payload["fluid_pressure"] == pytest.approx(101325 + 5000 * G)


def test_specific_force_integrates_to_the_dvl(silent):
    """IMU messages alone, integrated for 8 s, give the DVL's velocity within 5 mm/s, and DVL and pressure the depth's change."""
    messages = list(SimulatedRobot(seed=3, duration=8.2))
    imu, dvl = of(messages, "imu/data"), of(messages, "dvl/twist")
    to_frd, robot = np.diag([1.0, -1.0, -1.0]), TrueRobot()
    place = to_frd @ np.array(robot.dvl_place)
    t = np.array([m.stamp for m in imu]) * 1e-9
    R = np.array([pin.Quaternion(np.array(m.payload["orientation"])).matrix() for m in imu])
    world = np.einsum("kij,kj->ki", R, [m.payload["linear_acceleration"] for m in imu]) - [0, 0, G]
    gained = np.vstack([np.zeros(3), np.cumsum(0.5 * np.diff(t)[:, None] * (world[1:] + world[:-1]), axis=0)])
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


# the run ------------------------------------------------------------------------------------------------------------

def test_position_changes_with_r_times_v(run):
    """The derivative of position is R v, of attitude R S(w), of joints their speed, and velocities' are the accelerations."""
    _, x, _ = run
    rate = lambda y: (y[2:] - y[:-2]) / (x.t[2:] - x.t[:-2])[:, None]
    close = lambda y, z, share: np.testing.assert_array_less(np.sqrt(np.mean((rate(y) - z[1:-1])**2, 0)), share * np.std(z, 0))
    close(x.position, np.einsum("kij,kj->ki", x.R_nb, x.nu[:, :3]), 0.005)
    close(x.mu, x.mu_dot, 0.015)  # a joint that breaks loose moves within the 40 ms of the difference
    close(x.nu[:, :3], x.nu_dot[:, :3], 0.02)  # thrust bends within 40 ms, joints' Coulomb steps more so
    turned = np.array([pin.log3(a.T @ b) for a, b in zip(x.R_nb[:-2], x.R_nb[2:])]) / 0.04
    assert np.sqrt(np.mean((turned - x.nu[1:-1, 3:])**2)) < 0.005 * np.std(x.nu[:, 3:])
    np.testing.assert_allclose(np.einsum("kij,kil->kjl", x.R_nb, x.R_nb), np.broadcast_to(np.eye(3), x.R_nb.shape), atol=1e-9)


def test_truth_fulfils_the_equation_of_motion(run):
    """State, accelerations and efforts of the truth log belong together: the residual is below 0.5 % of the effort."""
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
    """PWM -> T200 at the sagging voltage -> 0.11 s of lag -> allocation, recomputed from the messages, is the true wrench."""
    messages, x, robot = run
    commands = sorted(of(messages, "thruster_commands"), key=lambda m: m.stamp)
    curve, thrust, target, history, now = ThrustCurve.t200(), None, None, [], None
    for m in commands:
        t = (m.stamp - robot.start_ns) * 1e-9
        if thrust is not None:
            thrust = target + (thrust - target) * np.exp(-(t - now) / 0.11)
        target, now = curve.thrust(m.payload["data"], 16.0 - 0.8 * t / 40.0), t
        thrust = target if thrust is None else thrust
        history.append(np.r_[t, robot.robot.allocation @ thrust])
    history = np.array(history)
    settled = history[:, 0] > 2.0
    at = np.interp(history[settled, 0], x.t - robot.start_ns * 1e-9, np.arange(len(x.t)))
    true = x.wrench[np.clip(np.round(at).astype(int), 0, len(x.t) - 1)]
    inside = at < len(x.t) - 1
    assert np.sqrt(np.mean((history[settled, 1:] - true)[inside]**2, 0)) == pytest.approx(np.zeros(6), abs=0.02)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_motion_excites_every_axis_within_limits(seed):
    """On every axis the reference has most of its rate between 0.05 and 0.7 Hz and a useful size; joints keep a margin."""
    robot = SimulatedRobot(seed)
    t = np.arange(0.0, 600.0, 0.1)
    samples = [robot.motion.at(x) for x in t]
    value, rate = np.array([s.value for s in samples]), np.array([s.rate for s in samples])
    floor = np.r_[np.full(3, 0.08), np.full(3, 0.06), 0.10, 0.08, 0.13, 0.22]
    assert np.all(rate.std(0) > floor)
    power = np.abs(np.fft.rfft(rate * np.hanning(t.size)[:, None], axis=0))**2
    f = np.fft.rfftfreq(t.size, 0.1)
    band = (f > 0.045) & (f < 0.71)
    assert np.all(power[band].sum(0) > 0.999 * power.sum(0))
    for low, high in ((0.045, 0.1205), (0.1205, 0.2904), (0.2904, 0.71)):  # thirds of the band on a logarithmic scale
        assert np.all(power[(f > low) & (f < high)].sum(0) > 0.12 * power.sum(0))
    physics = robot.physics
    assert np.all(value[:, 6:].min(0) > physics.lower + 0.2) and np.all(value[:, 6:].max(0) < physics.upper - 0.2)
    assert value[:, 2].min() > 3.0
    assert np.abs(np.corrcoef(rate.T) - np.eye(10)).max() < 0.2


def test_robot_follows_within_its_limits(run):
    """Speed stays under 0.6 m/s, tilt under 22 deg, joints off their stops, and thrusters are hardly ever saturated."""
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
    """Each topic has its rate; the DVL is stamped right and received 0.1 s late, and loses about 3 %; order is of receipt."""
    messages, _, robot = run
    for topic, rate in (("imu/data", 100), ("joint_states", 50), ("thruster_commands", 50), ("depth", 10)):
        assert len(of(messages, topic)) == pytest.approx(40 * rate, abs=2), topic
    dvl = of(messages, "dvl/twist")
    assert 0.9 * 400 < len(dvl) < 400
    delay = np.array([m.receive_time - m.stamp for m in dvl]) * 1e-9
    assert np.all((delay >= 0.1 - 1e-9) & (delay < 0.15))
    receipt = [m.receive_time for m in messages]
    assert receipt == sorted(receipt) and all(m.receive_time > m.stamp for m in messages)
    phases = {np.median([m.stamp % 10_000_000 for m in of(messages, topic)])
              for topic in ("imu/data", "joint_states", "depth", "dvl/twist")}
    assert len(phases) == 4  # no two sensors measure at the same instants


def test_truth_grid_is_whole_multiples_since_the_epoch(run):
    """The truth log's instants are whole multiples of 20 ms since the epoch, without a gap."""
    _, x, robot = run
    ticks = x.t / 0.02
    assert np.abs(ticks - np.round(ticks)).max() < 1e-4 and np.all(np.diff(np.round(ticks)) == 1)
    offset = SimulatedRobot(0, 0.5, start_ns=1_800_000_000_007_000_000)
    list(offset)
    assert np.abs(offset.truth().t / 0.02 % 1.0 - 0.5).min() > 0.49


def test_same_seed_same_messages_other_seed_other_motion():
    """The same seed gives the same messages to the last bit; another one gives another motion."""
    first, again, other = (list(SimulatedRobot(seed, 2.0)) for seed in (5, 5, 6))
    assert first == again
    joints = [of(m, "joint_states")[-1].payload["position"] for m in (first, other)]
    assert np.abs(np.subtract(*joints)).max() > 0.02


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_bag_round_trip(tmp_path, storage):
    """What is read back from a bag is what the robot measured, at the time of receipt, under the default topics."""
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    truth = write_bag(tmp_path / "bag", seed=4, duration=2.0, storage=storage, truth=tmp_path / "truth.npz")
    expected = list(SimulatedRobot(4, 2.0, start_ns=1_767_225_600 * 10**9))
    with AnyReader([tmp_path / "bag"], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        read = [(c.topic, time, reader.deserialize(data, c.msgtype)) for c, time, data in reader.messages()]
    assert sorted((t, s) for t, s, _ in read) == sorted((f"/{m.topic}", m.receive_time) for m in expected)
    found = {(topic, time): message for topic, time, message in read}
    for m in expected:
        message, p = found[f"/{m.topic}", m.receive_time], m.payload
        if m.topic != "thruster_commands":
            assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == m.stamp
        if m.topic == "imu/data":
            q, a = message.orientation, message.linear_acceleration
            assert (q.x, q.y, q.z, q.w) == p["orientation"] and (a.x, a.y, a.z) == p["linear_acceleration"]
            assert message.angular_velocity_covariance[[0, 4, 8]] == pytest.approx(p["angular_velocity_variance"])
        elif m.topic == "dvl/twist":
            v = message.twist.twist.linear
            assert (v.x, v.y, v.z) == p["linear"] and message.twist.covariance[14] == p["linear_variance"][2]
        elif m.topic == "depth":
            assert message.fluid_pressure == p["fluid_pressure"]
        elif m.topic == "joint_states":
            assert tuple(message.name) == p["name"] and tuple(message.effort) == p["effort"]
        else:
            assert tuple(message.data) == p["data"]
    with np.load(tmp_path / "truth.npz") as saved:
        assert set(saved) == set(truth._fields) and np.array_equal(saved["nu_dot"], truth.nu_dot)


def test_bag_is_never_overwritten(tmp_path):
    """An existing directory and an unknown storage are refused before anything is written."""
    with pytest.raises(BagError, match="exists already"):
        write_bag(tmp_path, duration=1.0)
    with pytest.raises(BagError, match="mcap"):
        write_bag(tmp_path / "x", duration=1.0, storage="rosbag1")


def test_simulate_command_writes_bag_and_truth(tmp_path):
    """The command's arguments reach the bag: duration, storage, payload and truth."""
    import argparse

    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = ["--output", str(tmp_path / "b"), "--duration", "1", "--seed", "2", "--payload", "0.2",
            "--truth", str(tmp_path / "t.npz")]
    assert command.run(parser.parse_args(args)) == 0
    assert (tmp_path / "b" / "metadata.yaml").is_file() and (tmp_path / "t.npz").is_file()


# the node -----------------------------------------------------------------------------------------------------------

def ros_environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]),
            "ROS_PYTHON_CHECK_FIELDS": "1", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DOMAIN_ID": "83"}


@NO_ROS
def test_node_ends_with_its_duration():
    """The node publishes valid messages in real time and exits 0 when its duration is over."""
    done = subprocess.run([sys.executable, "-m", "uvms_adaptive_dynamics.ros.demo.simulated_robot", "--ros-args", "-p", "duration:=1.0"],
                          env=ros_environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "1 s are over" in done.stderr and "Traceback" not in done.stderr


@NO_ROS
def test_node_refuses_a_bad_parameter():
    """A parameter out of range ends the node with 2 and one sentence that names it; a whole number of seconds is fine."""
    run_node = lambda value: subprocess.run(
        [sys.executable, "-m", "uvms_adaptive_dynamics.ros.demo.simulated_robot", "--ros-args", "-p", f"duration:={value}"],
        env=ros_environment(), capture_output=True, text=True, timeout=60)
    bad = run_node("-3.0")
    assert bad.returncode == 2 and "duration" in bad.stderr and "Traceback" not in bad.stderr
    assert run_node("1").returncode == 0


@NO_ROS
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_node_stops_cleanly_when_asked(how):
    """SIGINT and SIGTERM end an endless run with 0 and without a traceback."""
    node = subprocess.Popen([sys.executable, "-m", "uvms_adaptive_dynamics.ros.demo.simulated_robot"], env=ros_environment(),
                            stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    heard = ""
    while "until stopped" not in heard:
        line = node.stderr.readline()
        assert line, heard
        heard += line
    node.send_signal(how)
    _, rest = node.communicate(timeout=30)
    assert node.returncode == 0 and "Traceback" not in rest, rest


@NO_ROS
def test_node_and_bag_agree_on_every_field():
    """The rclpy message of a simulated one holds the same figures as the message written into a bag."""
    script = """
import json, sys
import numpy as np
from rosbags.typesys import Stores, get_typestore
from rclpy.serialization import serialize_message
from uvms_adaptive_dynamics.simulation.bag import ros_message as bag_message
from uvms_adaptive_dynamics.ros.demo.simulated_robot import ros_message
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
store, seen = get_typestore(Stores.ROS2_JAZZY), {}
for m in SimulatedRobot(1, 0.5, start_ns=1_800_000_000_123_456_789):
    live = store.deserialize_cdr(bytes(serialize_message(ros_message(m))), m.type)
    same = store.serialize_cdr(live, m.type) == store.serialize_cdr(bag_message(store, m), m.type)
    seen[m.topic] = seen.get(m.topic, True) and same
print(json.dumps(seen))
"""
    done = subprocess.run([sys.executable, "-c", script], env=ros_environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == dict.fromkeys(("imu/data", "dvl/twist", "depth", "joint_states", "thruster_commands"), True)
