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

"""Inputs: each sensor's topic, axes, place, delay and limits.

Places and axes are given as people measure them, in REP-103 body axes (x forward, y left, z up).
The decoder and the filters in `signals` convert to FRD and NED, nothing else (docs/conventions.md).
"""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting

# Poses and odometry, of motion capture, visual or acoustic positioning.
POSES = ("geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/PoseWithCovarianceStamped")
ODOMETRY = "nav_msgs/msg/Odometry"
LATE_STAMPS = "How much later than the truth its stamps are."


@dataclass(frozen=True)
class Imu(Section):
    """Attitude, angular rate and specific force."""

    NAME = "imu"
    enabled: bool = setting(True, "Use this sensor.")
    topic: str = setting("imu/data", "Topic name.")
    type: str = setting(
        "sensor_msgs/msg/Imu", "Message type. Odometry and poses have attitude and rates (those of "
        "a pose by differentiation) but no force: the acceleration comes from the velocity then.",
        choices=("sensor_msgs/msg/Imu", ODOMETRY, *POSES))
    frame: str = setting("flu", "Axes of rates and force: 'flu' (REP-103, mavros) or 'frd'.",
                         choices=("flu", "frd"))
    world: str = setting("enu", "World of the orientation: 'enu' (REP-103) or 'ned'.",
                         choices=("enu", "ned"))
    orientation: str = setting(
        "auto", "Where the attitude comes from: 'message'; 'own' (gyro, accelerometer and DVL, for "
                "an IMU that publishes none; its heading starts at zero); 'auto' (the message's, "
                "own where it has none: covariance -1, a quaternion of zeros or one never set).",
        choices=("auto", "message", "own"))
    xyz: tuple[float, ...] = setting((0.0, 0.0, 0.0), "Place of the IMU in the body (FLU).", "m")
    rpy: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "Orientation of the IMU's axes in the body, in its own kind of axes.",
        "rad")
    delay: float = setting(0.0, LATE_STAMPS, "s", -1.0, 1.0)
    timeout: float = setting(0.1, "Older than this, or than 1.5 periods of a slow IMU, its rows "
                                  "are masked.", "s", 0.001)
    gravity_time: float = setting(
        0.6, "Time over which gravity's direction is averaged: the attitude's noise falls with it, "
             "while the gyro's bias turns the direction by bias times this (0.06 deg for the 0.1 "
             "deg/s of a MEMS gyro).", "s", 0.01, 10.0)

    @property
    def measures_force(self) -> bool:
        """Whether its messages have a specific force."""
        return self.type == "sensor_msgs/msg/Imu"


@dataclass(frozen=True)
class Dvl(Section):
    """Velocity over ground (bottom track)."""

    NAME = "dvl"
    enabled: bool = setting(True, "Use this sensor.")
    topic: str = setting("dvl/twist", "Topic name.")
    type: str = setting(
        "geometry_msgs/msg/TwistWithCovarianceStamped", "Message type. Odometry is read at its "
        "twist, in the child frame (by REP-103 'flu'); poses are differentiated.",
        choices=("geometry_msgs/msg/TwistWithCovarianceStamped", "geometry_msgs/msg/TwistStamped",
                 "dvl_msgs/msg/DVL", "marine_acoustic_msgs/msg/Dvl", ODOMETRY, *POSES))
    frame: str = setting("frd", "Axes of the velocity, or of the body whose pose it is: 'frd' (A50 "
                                "drivers) or 'flu' (odometry).",
                         choices=("flu", "frd"))
    xyz: tuple[float, ...] = setting(
        (-0.06, 0.0, -0.105), "Place of the DVL, or of the point whose velocity or pose it is, in "
                              "the body (FLU).", "m")
    rpy: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "Orientation of the DVL's axes in the body, in its own kind of axes.",
        "rad")
    delay: float = setting(0.0, LATE_STAMPS, "s", -1.0, 1.0)
    timeout: float = setting(
        0.35, "Without a sample within this time of the tick, or 2.2 periods of a slow DVL, its "
              "rows are masked.", "s", 0.01)
    stddev: float = setting(
        0.01, "Noise of a velocity on each axis: its scatter at rest, or the data sheet's; 1 cm/s "
              "is a small DVL's near the bottom, at altitude it is more.", "m/s", 1e-4, 1.0)
    max_stddev: float = setting(
        0.2, "A velocity with a larger stated standard deviation counts as no lock.", "m/s", 1e-6)
    max_speed: float = setting(5.0, "A larger velocity counts as no lock.", "m/s", 0.01)


@dataclass(frozen=True)
class Depth(Section):
    """Absolute pressure or depth."""

    NAME = "depth"
    enabled: bool = setting(True, "Use this sensor.")
    topic: str = setting("depth", "Topic name.")
    type: str = setting("sensor_msgs/msg/FluidPressure", "Message type.",
                        choices=("sensor_msgs/msg/FluidPressure", "std_msgs/msg/Float64"))
    unit: str = setting(
        "auto", "Unit of the value: 'auto' (Pa in a FluidPressure, m in a Float64), 'm' below the "
                "surface, or that of an absolute pressure (hPa is mbar).",
        choices=("auto", "m", "Pa", "hPa", "kPa", "bar"))
    xyz: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "Place of the pressure sensor in the body (FLU).", "m")
    delay: float = setting(0.0, LATE_STAMPS, "s", -1.0, 1.0)
    timeout: float = setting(
        1.0, "Older than this, it no longer says where the vehicle is.", "s", 0.01)
    minimum: float = setting(
        0.3, "Shallower than this the vehicle counts as at the surface: vehicle rows masked.", "m",
        -10.0)
    maximum: float = setting(
        1e4, "Deeper than this the vehicle counts as on the floor: vehicle rows masked.", "m", 0.0)


@dataclass(frozen=True)
class Joints(Section):
    """Joint positions, velocities and efforts."""

    NAME = "joint_states"
    topic: str = setting("joint_states", "Topic name.")
    type: str = setting(
        "sensor_msgs/msg/JointState", "Message type.",
        choices=("sensor_msgs/msg/JointState", "control_msgs/msg/DynamicJointState"))
    names: tuple[str, ...] = setting(
        (), "What the messages call each of robot.joints, in that order; empty: by these names.",
        kind="strings")
    unit: str = setting("rad", "Unit of positions and velocities, per second: 'rad' or 'deg'.",
                        choices=("rad", "deg"))
    delay: float = setting(0.0, LATE_STAMPS, "s", -1.0, 1.0)
    timeout: float = setting(
        0.1, "Without a sample within this time of the tick, or 1.5 periods of slow joint states, "
             "its rows are masked.", "s", 0.001)
    effort_scale: tuple[float, ...] = setting(
        (), "Torque or force of one unit of effort, per joint, sign included; empty: 1.", "N m")
    effort_scale_negative: tuple[float, ...] = setting(
        (), "The same for efforts below their offset, where a gear loses more one way than the "
            "other; empty: effort_scale. For motor current: torque constant times gear ratio.",
        "N m")
    effort_offset: tuple[float, ...] = setting(
        (), "Effort at zero torque, per joint, in the topic's unit; empty: 0.")
    effort_masked: tuple[str, ...] = setting(
        (), "Joints whose effort means nothing: their rows are masked.", kind="strings")
    position_offset: tuple[float, ...] = setting(
        (), "Position in the topic at which the URDF's joint is zero, per joint; empty: 0.", "rad")
    rest_velocity: float = setting(
        0.02, "Slower than this a joint is at rest: Coulomb friction is set-valued, row masked.",
        "rad/s", 0.0)
    stop_margin: float = setting(
        0.02, "Nearer than this to a position limit a joint may lean on its stop: row masked.",
        "rad", 0.0)
    limits_low: tuple[float, ...] = setting(
        (), "Position at the lower stop, per joint; empty: the URDF's.", "rad")
    limits_high: tuple[float, ...] = setting(
        (), "Position at the upper stop, per joint; empty: the URDF's.", "rad")
    position_stddev: float = setting(
        0.001, "Noise of a position: its scatter at rest, or the encoder's last digit (3 decimals "
               "in most drivers).", "rad", 1e-9)
    velocity_stddev: float = setting(
        0.01, "Noise of a velocity: its scatter at rest, or that of two positions 0.1 s apart.",
        "rad/s", 1e-9)


@dataclass(frozen=True)
class Battery(Section):
    """Voltage for the thrust curve."""

    NAME = "battery"
    enabled: bool = setting(False, "Use the measured voltage instead of thrusters.voltage.")
    topic: str = setting("battery", "Topic name.")
    type: str = setting("sensor_msgs/msg/BatteryState", "Message type.",
                        choices=("sensor_msgs/msg/BatteryState",))
