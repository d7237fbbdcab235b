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

"""Settings of the node that moves the robot: outputs, permissions, causes of an abort."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting

JOINT_STATE, ARRAY = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"


@dataclass(frozen=True)
class Identification(Section):
    """Moving the robot along excitation trajectories (node identify); see docs/guided.md."""

    NAME = "identification"
    move: bool = setting(
        False, "Allow the node to move the robot after ~/arm is called; false: it only shows in "
               "dry runs what it would do.")
    estimator_node: str = setting(
        "uvms_estimator", "Name of the estimator node that provides stages and parameters.")
    thruster_output: str = setting(
        "pwm", "Thruster command: 'pwm' (std_msgs/Float64MultiArray, one pulse width [us] per "
               "thruster), 'rc' (the same in mavros_msgs/OverrideRCIn), 'wrench' "
               "(geometry_msgs/WrenchStamped in output.frame) or 'none'.",
        choices=("pwm", "rc", "wrench", "none"))
    thruster_topic: str = setting("thruster_input", "Topic of the thruster commands.")
    joint_output: str = setting(
        "effort", "Joint command: 'effort' [N m], 'position' [rad] or 'velocity' [rad/s] "
                  "set-points, or 'none'.", choices=("effort", "position", "velocity", "none"))
    joint_type: str = setting(
        ARRAY, "Message type of the joint set-points: JointState with joint names, or an array in "
               "the order of robot.joints as expected by ros2_control's forward controllers.",
        choices=(ARRAY, JOINT_STATE))
    joint_topic: str = setting("joint_effort_input", "Topic of the joint set-points.")
    rate: float = setting(50.0, "Rate at which commands are sent.", "Hz", 20.0, 500.0)
    bandwidth: tuple[float, ...] = setting(
        (3.0, 3.0, 6.0),
        "Initial bandwidth of the tracking loop: translation, rotation, joints. Gains follow from "
        "it and the prior's inertia and friction; the loop must stay stable when these are wrong "
        "by a factor of three.",
        "rad/s", 0.1, 30.0)
    known_bandwidth: tuple[float, ...] = setting(
        (7.0, 7.0, 15.0),
        "Bandwidth of the tracking loop once inertia and friction are known; gains then follow "
        "from the estimates. In between it rises as their standard deviations shrink from the "
        "prior's.", "rad/s", 0.1, 30.0)
    hold: str = setting(
        "station", "What the loop holds: 'station' (position by dead reckoning, depth, attitude, "
                   "joints) or 'depth_heading' (the same without horizontal position: the vehicle "
                   "may drift).",
        choices=("station", "depth_heading"))
    ramp: float = setting(
        0.5, "Time in which an abort ramps the commands linearly to neutral.", "s", 0.05,
        5.0)
    heartbeat: float = setting(
        0.0, "Dead man's switch: stop the robot after this time without a message on ~/heartbeat "
             "(std_msgs/Empty); 0: no heartbeat required.", "s", 0.0, 60.0)
    longest: float = setting(
        1800.0, "Disarm automatically this long after the last call of ~/arm.", "s", 1.0, 36000.0)

    design_time: float = setting(
        10.0, "Processor time for designing a motion; the design starts this long before the "
              "current motion ends.", "s", 1.0, 600.0)

    # --- causes of an abort ---
    imu_timeout: float = setting(
        0.2, "Abort after this time without an IMU message; after 0.25 s there is no state.",
        "s", 0.02, 0.25)
    dvl_timeout: float = setting(
        1.0, "Abort after this time without a usable velocity; a DVL occasionally loses lock for a "
             "few tenths of a second.", "s", 0.1, 30.0)
    joints_timeout: float = setting(
        0.2, "Abort after this time without joint states; after 0.25 s there is no state.", "s",
        0.02, 0.25)
    depth_timeout: float = setting(1.0, "Abort after this time without a depth.", "s", 0.1, 30.0)
    battery_timeout: float = setting(
        5.0, "Abort after this time without a voltage, if identification.least_voltage is set.",
        "s", 0.5, 60.0)
    estimator_timeout: float = setting(
        2.0, "Abort after this time without a message from the estimator, which sends one every "
             "0.5 s.",
        "s", 1.0, 60.0)
    position_error: float = setting(
        0.6, "Abort when the position error exceeds this.", "m", 0.05, 100.0)
    attitude_error: float = setting(
        0.6, "Abort when the attitude error exceeds this.", "rad", 0.05, 3.1)
    joint_error: float = setting(
        0.6, "Abort when a joint's position error exceeds this. For a prismatic joint, a radian is "
             "the share of its range that it is of half a turn.", "rad", 0.05, 6.3)
    overspeed: float = setting(
        1.5, "Abort above this multiple of excitation.speed or excitation.rate. Those are design "
             "limits and harmless in themselves; a current adds to them.", "", 1.0, 10.0)
    least_voltage: float = setting(
        0.0, "Abort when the battery voltage (battery.enabled) stays below this for 2 s; 0: not "
             "monitored. 13.2 V is an empty four-cell lithium battery.", "V", 0.0, 100.0)

    def validate(self) -> None:
        for name in ("bandwidth", "known_bandwidth"):
            if len(getattr(self, name)) != 3:
                self.refuse(name, getattr(self, name),
                            "3 numbers (translation, rotation, joints)")
        if self.thruster_output == self.joint_output == "none":
            self.refuse("joint_output", "none", "an output for thrusters or joints")
