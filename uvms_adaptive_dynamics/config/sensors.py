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

"""Settings of the sensors: topic, axes, position, delay and limits of each.

Positions and axes are in REP-103 body axes (x forward, y left, z up), as people measure them.
Only the decoder and the filters in `signals` convert to FRD and NED (docs/conventions.md).
"""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting

# Poses and odometry from motion capture, visual or acoustic positioning.
POSES = ("geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/PoseWithCovarianceStamped")
ODOMETRY = "nav_msgs/msg/Odometry"
WITH_ALTITUDE = ("dvl_msgs/msg/DVL", "marine_acoustic_msgs/msg/Dvl")
LATE_STAMPS = "Delay of its stamps behind the true time of measurement."


@dataclass(frozen=True)
class Imu(Section):
    """IMU: attitude, angular rate and specific force."""

    NAME = "imu"
    enabled: bool = setting(True, "Use this sensor.")
    topic: str = setting("imu/data", "Topic name.")
    type: str = setting(
        "sensor_msgs/msg/Imu", "Message type. Odometry and poses have attitude and rates (a pose "
                               "by differentiation) but no specific force; the acceleration then "
                               "comes from the velocity.",
        choices=("sensor_msgs/msg/Imu", ODOMETRY, *POSES))
    frame: str = setting("flu", "Axes of angular rate and specific force: 'flu' (REP-103, mavros) "
                                "or 'frd'.",
                         choices=("flu", "frd"))
    world: str = setting("enu", "World frame of the orientation: 'enu' (REP-103) or 'ned'.",
                         choices=("enu", "ned"))
    orientation: str = setting(
        "auto", "Source of the attitude: 'message'; 'own' (estimated from gyro, accelerometer and "
                "DVL, for an IMU without one; heading starts at zero); 'auto' (the message's, or "
                "own if the message has none: covariance -1, an all-zero or never-set quaternion).",
        choices=("auto", "message", "own"))
    xyz: tuple[float, ...] = setting((0.0, 0.0, 0.0), "Position of the IMU in the body (FLU).", "m")
    rpy: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "Orientation of the IMU's axes in the body, in its own kind of axes.",
        "rad")
    delay: float = setting(0.0, LATE_STAMPS, "s", -1.0, 1.0)
    timeout: float = setting(
        0.1, "Rows are masked when the newest sample is older than this, or than 1.5 periods of a "
             "slow IMU.", "s", 0.001)
    gravity_time: float = setting(
        0.6, "Averaging time for the direction of gravity. A longer time lowers attitude noise, "
             "but tilts the direction by gyro bias times this time (0.06 deg for the 0.1 deg/s of "
             "a MEMS gyro).", "s", 0.01, 10.0)

    @property
    def measures_force(self) -> bool:
        """Whether its messages contain a specific force."""
        return self.type == "sensor_msgs/msg/Imu"


@dataclass(frozen=True)
class Dvl(Section):
    """DVL: velocity over ground (bottom track)."""

    NAME = "dvl"
    enabled: bool = setting(True, "Use this sensor.")
    topic: str = setting("dvl/twist", "Topic name.")
    type: str = setting(
        "geometry_msgs/msg/TwistWithCovarianceStamped", "Message type. Of odometry the twist is "
                                                        "used, in the child frame ('flu' by "
                                                        "REP-103); poses are differentiated.",
        choices=("geometry_msgs/msg/TwistWithCovarianceStamped", "geometry_msgs/msg/TwistStamped",
                 *WITH_ALTITUDE, ODOMETRY, *POSES))
    frame: str = setting("frd", "Axes of the velocity, or of the body that a pose refers to: 'frd' "
                                "(A50 drivers) or 'flu' (odometry).",
                         choices=("flu", "frd"))
    xyz: tuple[float, ...] = setting(
        (-0.06, 0.0, -0.105), "Position of the DVL, or of the point that the velocity or pose "
                              "refers to, in the body (FLU).", "m")
    rpy: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "Orientation of the DVL's axes in the body, in its own kind of axes.",
        "rad")
    delay: float = setting(0.0, LATE_STAMPS, "s", -1.0, 1.0)
    timeout: float = setting(
        0.35, "Rows are masked without a sample within this time of the tick, or within 2.2 "
              "periods of a slow DVL.", "s", 0.01)
    stddev: float = setting(
        0.01, "Velocity noise per axis, one standard deviation: scatter at rest, or from the data "
              "sheet. 1 cm/s is typical of a small DVL near the bottom; it is larger at altitude.",
        "m/s", 1e-4, 1.0)
    max_stddev: float = setting(
        0.2, "A velocity whose message states a larger standard deviation counts as no lock.",
        "m/s", 1e-6)
    max_speed: float = setting(5.0, "A velocity above this counts as no lock.", "m/s", 0.01)
    minimum_altitude: float = setting(
        0.0, "Closer to the bottom than this, by the message's altitude, the vehicle counts as "
             "touching it and its rows are masked; 0: never. Only dvl_msgs/msg/DVL and "
             "marine_acoustic_msgs/msg/Dvl have an altitude.", "m", 0.0)

    def validate(self) -> None:
        if self.minimum_altitude and self.type not in WITH_ALTITUDE:
            self.refuse("minimum_altitude", self.minimum_altitude,
                        f"0 for {self.type}, which has no altitude")


@dataclass(frozen=True)
class Depth(Section):
    """Depth sensor: absolute pressure or depth."""

    NAME = "depth"
    enabled: bool = setting(True, "Use this sensor.")
    topic: str = setting("depth", "Topic name.")
    type: str = setting("sensor_msgs/msg/FluidPressure", "Message type.",
                        choices=("sensor_msgs/msg/FluidPressure", "std_msgs/msg/Float64"))
    unit: str = setting(
        "auto", "Unit of the value: 'auto' (Pa for FluidPressure, m for Float64), 'm' (depth below "
                "the surface), or a unit of absolute pressure (hPa is mbar).",
        choices=("auto", "m", "Pa", "hPa", "kPa", "bar"))
    xyz: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "Position of the pressure sensor in the body (FLU).", "m")
    delay: float = setting(0.0, LATE_STAMPS, "s", -1.0, 1.0)
    timeout: float = setting(
        1.0, "A depth older than this is ignored: it masks no rows.", "s", 0.01)
    minimum: float = setting(
        0.3, "Shallower than this the robot counts as at the surface: rows are masked, the arm's "
             "as well, which weighs more in air.", "m", -10.0)
    maximum: float = setting(
        1e4, "Deeper than this the vehicle counts as on the bottom and its rows are masked.",
        "m", 0.0)

    def validate(self) -> None:
        if self.maximum < self.minimum:
            self.refuse("maximum", self.maximum, f"at least depth.minimum ({self.minimum:g} m)")


@dataclass(frozen=True)
class Joints(Section):
    """Joint states: positions, velocities and efforts."""

    NAME = "joint_states"
    topic: str = setting("joint_states", "Topic name.")
    type: str = setting(
        "sensor_msgs/msg/JointState", "Message type.",
        choices=("sensor_msgs/msg/JointState", "control_msgs/msg/DynamicJointState"))
    names: tuple[str, ...] = setting(
        (), "Names of robot.joints in the messages, in the same order; empty: the same names.",
        kind="strings")
    unit: str = setting("rad", "Unit of positions, and of velocities per second: 'rad' or 'deg'. "
                               "Prismatic joints are in m with either.",
                        choices=("rad", "deg"))
    delay: float = setting(0.0, LATE_STAMPS, "s", -1.0, 1.0)
    timeout: float = setting(
        0.1, "Rows are masked without a sample within this time of the tick, or within 1.5 periods "
             "of slow joint states.", "s", 0.001)
    effort_scale: tuple[float, ...] = setting(
        (), "Torque or force per unit of effort, with sign, for each joint; empty: 1. For motor "
            "current: torque constant times gear ratio.", "N m")
    effort_scale_negative: tuple[float, ...] = setting(
        (), "The same for efforts below their offset, for a gear that loses more in one direction; "
            "empty: effort_scale.",
        "N m")
    effort_offset: tuple[float, ...] = setting(
        (), "Effort in the topic at zero torque, for each joint, in the topic's unit; empty: 0.")
    effort_masked: tuple[str, ...] = setting(
        (), "Joints whose effort is not usable; their rows are masked.", kind="strings")
    position_offset: tuple[float, ...] = setting(
        (), "Position in the topic at which the URDF's joint is zero, for each joint; empty: 0.",
        "rad")
    rest_velocity: float = setting(
        0.02, "Joint speed below which a joint counts as at rest and its row is masked, since "
              "Coulomb friction is undetermined at rest. For a prismatic joint, a radian is the "
              "share of its range that it is of half a turn.",
        "rad/s", 0.0)
    stop_margin: float = setting(
        0.02, "Distance to a position limit below which a joint may touch its stop and its row is "
              "masked. For a prismatic joint, a radian is the share of its range that it is of "
              "half a turn.",
        "rad", 0.0)
    limits_low: tuple[float, ...] = setting(
        (), "Position of each joint's lower stop; empty: the URDF's limits.", "rad")
    limits_high: tuple[float, ...] = setting(
        (), "Position of each joint's upper stop; empty: the URDF's limits.", "rad")
    position_stddev: float = setting(
        0.001, "Position noise, one standard deviation: scatter at rest, or the last digit of the "
               "encoder (3 decimals in most drivers).", "rad", 1e-9)
    velocity_stddev: float = setting(
        0.01, "Velocity noise, one standard deviation: scatter at rest, or that of the difference "
              "of two positions 0.1 s apart.",
        "rad/s", 1e-9)

    def validate(self) -> None:
        if len(set(self.names)) != len(self.names):
            self.refuse("names", self.names, "every name once")
        for name in ("effort_scale", "effort_scale_negative"):
            if 0.0 in getattr(self, name):
                self.refuse(name, getattr(self, name),
                            "no zeros (a joint without usable effort belongs in effort_masked)")
        if any(low > high for low, high in zip(self.limits_low, self.limits_high)):
            self.refuse("limits_high", self.limits_high,
                        f"none below joint_states.limits_low {self.limits_low}")


@dataclass(frozen=True)
class Battery(Section):
    """Battery voltage for the thrust curve."""

    NAME = "battery"
    enabled: bool = setting(False, "Use the measured voltage instead of thrusters.voltage.")
    topic: str = setting("battery", "Topic name.")
    type: str = setting("sensor_msgs/msg/BatteryState", "Message type.",
                        choices=("sensor_msgs/msg/BatteryState",))
