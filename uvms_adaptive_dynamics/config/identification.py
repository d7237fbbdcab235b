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

"""What moves the robot to identify it: outputs, limits at which it stops, who has to agree."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting

JOINT_STATE, ARRAY = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"


@dataclass(frozen=True)
class Identification(Section):
    """Moving the robot along excitation trajectories (node identify); see docs/guided.md."""

    NAME = "identification"
    move: bool = setting(
        False, "The node may move the robot once ~/arm is called; false: it shows, in dry runs, "
               "what it would do.")
    estimator_node: str = setting(
        "uvms_estimator", "Name of the estimator node, whose stages and parameters are followed.")
    thruster_output: str = setting(
        "pwm", "What the thrusters get: 'pwm' (std_msgs/Float64MultiArray, one [us] for each "
               "thruster), 'rc' (the same in mavros_msgs/OverrideRCIn), 'wrench' "
               "(geometry_msgs/WrenchStamped in output.frame) or 'none'.",
        choices=("pwm", "rc", "wrench", "none"))
    thruster_topic: str = setting("thruster_input", "Topic of the thrusters' commands.")
    joint_output: str = setting(
        "effort", "What the joints get: 'effort' [N m], 'position' [rad] or 'velocity' [rad/s] "
                  "set-points, or 'none'.", choices=("effort", "position", "velocity", "none"))
    joint_type: str = setting(
        ARRAY, "Message type of the joints' set-points: named, or an array in the order of "
               "robot.joints as ros2_control's forward controllers take it.",
        choices=(ARRAY, JOINT_STATE))
    joint_topic: str = setting("joint_effort_input", "Topic of the joints' set-points.")
    rate: float = setting(50.0, "Commands per second.", "Hz", 20.0, 500.0)
    bandwidth: tuple[float, ...] = setting(
        (3.0, 3.0, 6.0),
        "Of the loop that follows the trajectories: translation, rotation, joints. Inertia and "
        "friction of the prior make it a gain; wrong by three they must leave it stable.",
        "rad/s", 0.1, 30.0)
    known_bandwidth: tuple[float, ...] = setting(
        (7.0, 7.0, 15.0),
        "The same once inertia and friction are known, which then make it a gain; on the way there "
        "by how much of the prior's deviation is gone.", "rad/s", 0.1, 30.0)
    hold: str = setting(
        "station", "What the loop keeps beside depth, attitude and joints: 'station' (also the "
                   "place, by dead reckoning) or 'depth_heading' (the vehicle may drift).",
        choices=("station", "depth_heading"))
    ramp: float = setting(
        0.5, "An abort takes the commands to neutral in this time, in a straight line.", "s", 0.05,
        5.0)
    heartbeat: float = setting(
        0.0, "Dead man's switch: without a message on ~/heartbeat (std_msgs/Empty) for this time "
             "the robot is stopped; 0: none is asked for.", "s", 0.0, 60.0)
    longest: float = setting(
        1800.0, "An arming ends by itself after this time.", "s", 1.0, 36000.0)

    design_time: float = setting(
        10.0, "Processor time that the design of a motion may take; it begins so long before the "
              "motion at hand ends.", "s", 1.0, 600.0)

    # --- causes of an abort ---
    imu_timeout: float = setting(
        0.2, "Without an IMU message for this time; without one for 0.25 s there is no state.",
        "s", 0.02, 0.25)
    dvl_timeout: float = setting(
        1.0, "Without a velocity that can be used for this time; a DVL loses lock for some tenths "
             "of a second now and then.", "s", 0.1, 30.0)
    joints_timeout: float = setting(
        0.2, "Without joint states for this time; without any for 0.25 s there is no state.", "s",
        0.02, 0.25)
    depth_timeout: float = setting(1.0, "Without a depth for this time.", "s", 0.1, 30.0)
    estimator_timeout: float = setting(
        2.0, "Without a sign of life of the estimator for this time; it says one every 0.5 s.",
        "s", 1.0, 60.0)
    position_error: float = setting(
        0.6, "Farther than this from where it should be.", "m", 0.05, 100.0)
    attitude_error: float = setting(
        0.6, "More than this from the attitude that it should have.", "rad", 0.05, 3.1)
    joint_error: float = setting(
        0.6, "A joint more than this from where it should be.", "rad", 0.05, 6.3)
    overspeed: float = setting(
        1.5, "Faster than this share of excitation.speed and .rate, which are limits of what is "
             "designed and no danger by themselves: a current adds to them.", "", 1.0, 10.0)
    least_voltage: float = setting(
        0.0, "A lower voltage of the battery topic (battery.enabled) for 2 s; 0: not watched. "
             "13.2 V is an empty lithium battery of four cells.", "V", 0.0, 100.0)

    def validate(self) -> None:
        for name in ("bandwidth", "known_bandwidth"):
            if len(getattr(self, name)) != 3:
                self.refuse(name, getattr(self, name),
                            "3 numbers (translation, rotation, joints)")
        if self.thruster_output == self.joint_output == "none":
            self.refuse("joint_output", "none", "an output for thrusters or joints")
