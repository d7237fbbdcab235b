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

"""Input topics by role and type, and output topics; see docs/ros_interface.md."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..config import Config

# Fields of the inputs' types that are not part of ROS 2 Jazzy: logs are converted to them, and
# recordings of ROS 2 Humble as sqlite3 hold no definitions. Sources: the packages of these names.
DEFINITIONS = {
    "mavros_msgs/msg/RCOut": "std_msgs/Header header\nuint16[] channels\n",
    "mavros_msgs/msg/OverrideRCIn": "uint16[18] channels\n",
    "dvl_msgs/msg/DVLBeam": "int64 id\nfloat64 velocity\nfloat64 distance\nfloat64 rssi\n"
                            "float64 nsd\nbool valid\n",
    "dvl_msgs/msg/DVL": "std_msgs/Header header\nfloat64 time\ngeometry_msgs/Vector3 velocity\n"
                        "float64 fom\nfloat64[] covariance\nfloat64 altitude\n"
                        "dvl_msgs/DVLBeam[] beams\nbool velocity_valid\nint64 status\n"
                        "int64 time_of_validity\nint64 time_of_transmission\nstring form\n",
    "marine_acoustic_msgs/msg/Dvl": "std_msgs/Header header\nuint8 velocity_mode\n"
                                    "uint8 dvl_type\ngeometry_msgs/Vector3 velocity\n"
                                    "float64[9] velocity_covar\nfloat64 altitude\n"
                                    "float64 course_gnd\nfloat64 speed_gnd\n"
                                    "uint8 num_good_beams\nfloat32 sound_speed\n"
                                    "bool beam_ranges_valid\nbool beam_velocities_valid\n"
                                    "geometry_msgs/Vector3[4] beam_unit_vec\nfloat64[4] range\n"
                                    "float32[4] range_covar\nfloat32[4] beam_quality\n"
                                    "float32[4] beam_velocity\n"
                                    "float32[4] beam_velocity_covar\n",
    "control_msgs/msg/InterfaceValue": "string[] interface_names\nfloat64[] values\n",
    "control_msgs/msg/DynamicJointState": "std_msgs/Header header\nstring[] joint_names\n"
                                          "control_msgs/InterfaceValue[] interface_values\n",
}


@dataclass(frozen=True)
class Input:
    """A topic that the front end reads; `role` is the name under which its messages are added."""

    role: str
    topic: str
    type: str


@dataclass(frozen=True)
class Output:
    """A topic that the node publishes under its own name."""

    name: str
    type: str
    meaning: str


def topic_setting(role: str, what: str = "topic") -> str:
    """The setting of an input's topic, or of its `what`."""
    if role in ("trusted_parameters", "trusted_covariance", "estimator_status"):
        return "feedforward.estimator_node"
    return "thrusters.wrench_topic" if role == "wrench" else f"{role}.{what}"


def by_topic(wanted: Iterable[Input]) -> list[list[Input]]:
    """The inputs grouped by topic, as several may read one odometry message."""
    found: dict[str, list[Input]] = {}
    for each in wanted:
        found.setdefault(each.topic, []).append(each)
    return list(found.values())


def inputs(config: Config) -> tuple[Input, ...]:
    """The topics that this configuration needs."""
    found = []
    if config.robot.vehicle:
        if config.imu.enabled:
            found.append(Input("imu", config.imu.topic, config.imu.type))
        if config.dvl.enabled:
            found.append(Input("dvl", config.dvl.topic, config.dvl.type))
        if config.depth.enabled:
            found.append(Input("depth", config.depth.topic, config.depth.type))
        if config.thrusters.source == "thrusters":
            found.append(Input("thrusters", config.thrusters.topic, config.thrusters.type))
            if config.battery.enabled:
                found.append(Input("battery", config.battery.topic, config.battery.type))
        elif config.thrusters.source == "wrench":
            found.append(Input("wrench", config.thrusters.wrench_topic,
                               "geometry_msgs/msg/WrenchStamped"))
    if config.robot.joints:
        joints = config.joint_states
        found.append(Input("joint_states", joints.topic, joints.type))
    return tuple(found)


OUTPUTS = (
    Output("parameters", "sensor_msgs/msg/JointState",
           "name: parameter, position: estimate, effort: standard deviation; frame_id: state"),
    Output("trusted_parameters", "sensor_msgs/msg/JointState",
           "the last of them that were trusted"),
    Output("status", "diagnostic_msgs/msg/DiagnosticArray",
           "validity of the parameters of the same stamp"),
    Output("stage", "diagnostic_msgs/msg/DiagnosticArray",
           "stage of the schedule, its progress, and what is missing"),
    Output("covariance", "std_msgs/msg/Float64MultiArray",
           "covariance of the parameters, labelled with their names and stamp"),
    Output("trusted_covariance", "std_msgs/msg/Float64MultiArray",
           "covariance of the trusted parameters"),
    Output("parameter_intervals", "std_msgs/msg/Float64MultiArray",
           "lower and upper ends of the parameters' 95 % intervals, within what is physical"),
    Output("payload", "diagnostic_msgs/msg/DiagnosticArray",
           "what the last link holds: name, mass, position, deviations"),
    Output("predicted_wrench", "geometry_msgs/msg/WrenchStamped",
           "thruster wrench that the model predicts, arm included"),
    Output("wrench_stddev", "geometry_msgs/msg/WrenchStamped", "its standard deviation"),
    Output("predicted_joint_states", "sensor_msgs/msg/JointState",
           "joint efforts that the model predicts"),
    Output("joint_stddev", "sensor_msgs/msg/JointState", "their standard deviation, in effort"),
    Output("measured_wrench", "geometry_msgs/msg/WrenchStamped",
           "thruster wrench as measured, low-passed like the predicted one; where its rows count"),
    Output("measured_joint_states", "sensor_msgs/msg/JointState",
           "joint efforts as measured, likewise; joints whose row counts"),
    Output("acceleration", "geometry_msgs/msg/AccelStamped", "filtered nu_dot"),
)


def feedforward_inputs(config: Config) -> tuple[Input, ...]:
    """The topics that the feedforward node reads: sensors, wanted motions, the estimator's."""
    found = [each for each in inputs(config) if each.role in ("imu", "dvl", "joint_states")]
    if config.robot.vehicle:
        found += [Input("vehicle_trajectory", "~/vehicle_trajectory",
                        "trajectory_msgs/msg/MultiDOFJointTrajectory"),
                  Input("vehicle_acceleration", "~/vehicle_acceleration",
                        "geometry_msgs/msg/AccelStamped")]
    if config.robot.joints:
        found.append(Input("arm_trajectory", "~/arm_trajectory",
                           "trajectory_msgs/msg/JointTrajectory"))
    estimator = config.feedforward.estimator_node
    return (*found,
            Input("trusted_parameters", f"{estimator}/trusted_parameters",
                  "sensor_msgs/msg/JointState"),
            Input("trusted_covariance", f"{estimator}/trusted_covariance",
                  "std_msgs/msg/Float64MultiArray"),
            Input("estimator_status", f"{estimator}/status", "diagnostic_msgs/msg/DiagnosticArray"))


FEEDFORWARD_OUTPUTS = (
    Output("wrench", "geometry_msgs/msg/WrenchStamped", "thruster wrench of the wanted motion"),
    Output("wrench_reference", "geometry_msgs/msg/Wrench", "the same without a header"),
    Output("wrench_stddev", "geometry_msgs/msg/WrenchStamped", "its standard deviation"),
    Output("joint_efforts", "sensor_msgs/msg/JointState", "joint efforts of the wanted motion"),
    Output("joint_stddev", "sensor_msgs/msg/JointState", "their standard deviation, in effort"),
    Output("arm_reaction", "geometry_msgs/msg/WrenchStamped",
           "wrench by which the arm acts on the vehicle"),
    Output("velocity", "geometry_msgs/msg/TwistStamped", "body velocity of now"),
    Output("acceleration", "geometry_msgs/msg/AccelStamped", "filtered nu_dot of now"),
    Output("accelerations", "geometry_msgs/msg/TwistStamped", "the same in a twist"),
    Output("status", "diagnostic_msgs/msg/DiagnosticArray", "source, ages, whether to use it"),
)


def identification_inputs(config: Config) -> tuple[Input, ...]:
    """The sensors that the identification node flies by."""
    return tuple(each for each in inputs(config)
                 if each.role in ("imu", "dvl", "depth", "joint_states", "battery"))


IDENTIFICATION_OUTPUTS = (
    Output("status", "diagnostic_msgs/msg/DiagnosticArray",
           "what the robot is doing, and why it was stopped"),
)
