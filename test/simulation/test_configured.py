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

"""The robot of a configuration: its arm, and messages that its decoder converts back."""
from pathlib import Path
from xml.etree import ElementTree

import foreign_vehicle
import numpy as np
import pinocchio as pin
import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.errors import ConfigError
from uvms_adaptive_dynamics.model.urdf_address import resolve_urdf
from uvms_adaptive_dynamics.signals.decode.decoder import Decoder
from uvms_adaptive_dynamics.signals.topics import DEFINITIONS
from uvms_adaptive_dynamics.simulation.bag import received
from uvms_adaptive_dynamics.simulation.configured import Publication, true_robot_of
from uvms_adaptive_dynamics.simulation.friction import joint_friction
from uvms_adaptive_dynamics.simulation.physics import Physics
from uvms_adaptive_dynamics.simulation.robot import SimulatedRobot
from uvms_adaptive_dynamics.simulation.true_robot import TrueRobot

STORE = get_typestore(Stores.ROS2_JAZZY)
for _name, _definition in DEFINITIONS.items():
    STORE.register(get_types_from_msg(_definition, _name))
MOUNTS = {"imu.frame": "frd", "imu.rpy": [0.1, -0.2, 1.5], "dvl.rpy": [0.0, 0.3, 0.7],
          "joint_states.position_offset": [0.1, 0.2, 0.3, 0.4],
          "joint_states.effort_scale": [0.01, -0.02, 0.03, 0.04],
          "joint_states.effort_offset": [1.0, 2.0, 3.0, 4.0]}
NUMBERS = {"depth.type": "std_msgs/msg/Float64", "thrusters.unit": "normalized",
           "imu.world": "ned"}


@pytest.mark.parametrize("settings", [foreign_vehicle.TRUTH, MOUNTS, NUMBERS],
                         ids=["foreign", "mounts", "numbers"])
def test_what_is_published_is_decoded_to_the_same(settings):
    """Decoded values in SI, FRD and NED equal the default robot's, for any topics, units and axes.
    """
    config = Config().with_values(settings)
    publication, plain, foreign = Publication(config, STORE), Decoder(Config()), Decoder(config)
    seen = set()
    for role, message, t_ns, _ in received(SimulatedRobot(1, 0.4, truth_period=None), STORE):
        expected = plain.decode(role, message)
        found = foreign.decode(role, publication.message(role, message, t_ns * 1e-9))
        if role == "thrusters":      # in PWM; an RCOut has whole microseconds
            signs = np.array(config.thrusters.signs)
            beside = signs * (np.array(expected) - 1500.0)
            expected = beside / 400 if config.thrusters.unit == "normalized" else 1500.0 + beside
        assert found == pytest.approx(list(expected), abs=0.5 if role == "thrusters" else 1e-9)
        seen.add(role)
    assert seen == {"imu", "dvl", "depth", "joint_states", "thrusters"}


def test_another_arm_comes_from_its_urdf():
    """In an arm with two of the joints, the others are locked, with their links attached."""
    config = Config().with_values({"robot.joints": ["axis_e", "axis_c"],
                                   "robot.urdf": Config().robot.urdf})
    robot = true_robot_of(config)
    whole = true_robot_of(Config())
    assert robot.joints == ("axis_e", "axis_c") and len(robot.links) == 2
    assert sum(link.mass for link in robot.links) == pytest.approx(
        sum(link.mass for link in whole.links), rel=0.2)
    simulated = SimulatedRobot(1, 1.0, robot)
    # The joint between the two is locked at zero, not removed.
    arm = simulated.physics.model
    assert np.linalg.norm(arm.jointPlacements[arm.getJointId("axis_c")].translation) > 0.1
    messages = [message for message in simulated if message.topic == "joint_states"]
    assert np.isfinite(messages[-1].payload["effort"]).all()


@pytest.mark.parametrize("stated", [True, False])
def test_an_arm_with_continuous_joints_is_simulated(stated, tmp_path):
    """Such joints have two coordinates in Pinocchio; `simulate` ended in an IndexError, and without
    any limits with a joint too weak to move. They turn by half a turn either way."""
    file = tmp_path / "alpha.urdf"
    root = ElementTree.parse(resolve_urdf(Config().robot.urdf)).getroot()
    for joint in root.iter("joint"):
        if joint.get("name") in ("axis_e", "axis_b"):
            joint.set("type", "continuous")
            limit = joint.find("limit")
            del limit.attrib["lower"], limit.attrib["upper"]
            if not stated:
                joint.remove(limit)
    file.write_bytes(ElementTree.tostring(root))
    robot = true_robot_of(Config().with_values({"robot.urdf": str(file)}))
    simulated = SimulatedRobot(1, 2.0, robot)
    physics = simulated.physics
    np.testing.assert_allclose([physics.lower[0], physics.upper[3]], [-np.pi, np.pi])
    efforts = [message.payload["effort"] for message in simulated
               if message.topic == "joint_states"]
    assert np.isfinite(efforts).all() and np.shape(efforts)[1] == 4
    assert np.ptp(simulated.truth().mu, axis=0).min() > 0.05


@pytest.mark.parametrize("settings, said", [
    ({"dvl.type": "dvl_msgs/msg/DVL"}, "dvl.type is 'dvl_msgs/msg/DVL'"),
    ({"thrusters.unit": "newton"}, "thrusters.unit is 'newton'")])
def test_what_cannot_be_published_is_refused(settings, said):
    """The error names the setting and the possible values."""
    with pytest.raises(ConfigError, match=said):
        Publication(Config().with_values(settings), STORE)


def test_an_arm_on_a_fixed_base_is_simulated():
    """Its base stays where it is, only the arm publishes, and its efforts are those of rigid
    links in air, rotors and friction."""
    config = Config().with_values({"robot.vehicle": False, "thrusters.source": "zero"} | {
        f"{sensor}.enabled": False for sensor in ("imu", "dvl", "depth")})
    simulated = SimulatedRobot(1, 3.0, true_robot_of(config), truth_period=0.1)
    assert Publication(config, STORE).topics == {"joint_states": "joint_states"}
    for _ in simulated:
        pass
    truth, physics = simulated.truth(), simulated.physics
    assert not truth.nu.any() and not truth.nu_dot.any() and not np.ptp(truth.R_nb, axis=0).any()
    assert np.ptp(truth.mu, axis=0).min() > 0.05
    base = pin.SE3ToXYZQUAT(pin.SE3(truth.R_nb[0], truth.position[0]))
    for k in range(5, len(truth.t)):
        rigid = pin.rnea(physics.model, physics.data, np.append(base, truth.mu[k]),
                         np.append(truth.nu[k], truth.mu_dot[k]),
                         np.append(truth.nu_dot[k], truth.mu_ddot[k]))[6:]
        friction = joint_friction(simulated.robot, truth.mu_dot[k])[0]
        moving = np.abs(truth.mu_dot[k]) > 0.02     # rows of the truth are interpolated
        np.testing.assert_allclose(
            (rigid + friction + simulated.robot.rotor_inertia * truth.mu_ddot[k])[moving],
            truth.joint_torque[k][moving], atol=0.01)


def test_friction_follows_the_limits_of_a_joint(tmp_path):
    """The Alpha by another file has nearly the friction that the default robot has; a joint without
    a speed limit gets a usual one."""
    file = tmp_path / "alpha.urdf"
    text = Path(resolve_urdf(Config().robot.urdf)).read_text()
    file.write_text(text.replace('velocity="0.9"', 'velocity="0"'))
    made = true_robot_of(Config().with_values({"robot.urdf": str(file)}))
    default = TrueRobot()
    for name in ("viscous", "coulomb", "static"):
        ratio = np.array(getattr(made, name)) / getattr(default, name)
        assert (ratio > 0.5).all() and (ratio < 2.0).all(), name
    assert np.isfinite(made.rotor_inertia).all() and min(made.rotor_inertia) > 0.0


@pytest.mark.parametrize("settings", [
    {"robot.joints": ["axis_e", "axis_d"], "robot.mount_xyz": [0.45, 0.15, -0.1]},
    {"robot.joints": []},
    {"excitation.joint_low": [0.0, 2.5, 2.5, 2.8], "excitation.joint_high": [0.2, 3.3, 3.3, 2.9]}])
def test_a_vehicle_is_trimmed_for_the_arm_that_it_carries(settings):
    """Let go with its arm at rest, it settles like the default one, at 3 degrees; with the
    default's trim these settle at 20 and 30 degrees."""
    robot = true_robot_of(Config().with_values(settings))
    physics = Physics(robot)
    physics.set_state(np.array([0.0, 0.0, 5.0]), np.eye(3),
                      robot.posture or 0.5 * (physics.lower + physics.upper))
    for _ in range(round(10.0 / physics.dt)):
        physics.step(np.zeros(6), np.zeros(physics.n))
    assert np.degrees(np.arccos(physics.R_nb[2, 2])) < 5.0


def test_a_vehicle_without_an_arm_is_simulated():
    """It moves, and its joint states have no joints."""
    config = Config().with_values({"robot.joints": ()})
    robot = SimulatedRobot(1, 0.5, true_robot_of(config))
    assert robot.physics.n == 0
    messages = {message.topic: message for message in robot}
    assert robot.truth().mu.shape[1] == 0 and np.abs(robot.truth().nu).max() > 0.05
    assert not messages["joint_states"].payload["name"]


def test_an_arm_moves_within_its_own_limits(tmp_path):
    """A linear first joint with .3 m of travel stays clear of its stops. Any arm of four joints was
    moved about the Alpha's posture, and servos had the same stiffness whatever the motor, so that
    this joint was pushed against a stop all the time."""
    file = tmp_path / "rail.urdf"
    root = ElementTree.parse(resolve_urdf(Config().robot.urdf)).getroot()
    rail = root.find("joint[@name='axis_e']")
    rail.set("type", "prismatic")
    rail.find("axis").set("xyz", "1 0 0")
    for name, value in (("lower", "-0.15"), ("upper", "0.15"), ("effort", "20"),
                        ("velocity", "0.15")):
        rail.find("limit").set(name, value)
    file.write_bytes(ElementTree.tostring(root))
    robot = true_robot_of(Config().with_values({"robot.urdf": str(file)}))
    simulated = SimulatedRobot(1, 20.0, robot)
    messages = [message for message in simulated if message.topic == "joint_states"]
    states = {name: np.array([message.payload[name] for message in messages])
              for name in ("position", "velocity", "effort")}
    assert np.abs(states["position"][:, 0]).max() < 0.15
    assert states["position"][:, 0].std() > 0.02
    assert (np.abs(states["effort"][:, 0]) > 19.0).mean() < 0.1
