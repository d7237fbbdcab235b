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

"""Settings of excitation trajectories: how much of the robot and the water they may use."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting


@dataclass(frozen=True)
class Excitation(Section):
    """Limits and shape of excitation trajectories (command excite, node identify)."""

    NAME = "excitation"
    duration: float = setting(60.0, "Duration of one trajectory, including its start and stop "
                                    "ramps.",
                              "s", 10.0, 600.0)
    band: tuple[float, ...] = setting(
        (0.02, 0.45), "Lowest and highest frequency of a motion. Above about 1 Hz the low-pass of "
                      "the rows removes the signal and rotors lag behind.", "Hz", 1e-3, 5.0)
    tilt_band: tuple[float, ...] = setting(
        (0.01, 0.06), "Lowest and highest frequency of quasi-static tilts, in which only weight "
                      "and buoyancy act.",
        "Hz", 1e-3, 5.0)
    harmonics: int = setting(8, "Number of tones per coordinate.", "", 1, 50)
    ramp: float = setting(4.0, "Duration of the start ramp and of the stop ramp of a motion.",
                          "s", 0.5, 5.0)
    box: tuple[float, ...] = setting(
        (1.0, 1.0, 0.6), "Half lengths of the free water around the start: forward, right, down, "
                         "aligned with the heading at the start.", "m", 0.0, 1e3)
    drift: float = setting(
        0.005, "Drift rate of dead reckoning; this times the duration is kept free as a margin at "
               "the sides of the box.", "m/s", 0.0, 1.0)
    depth_range: tuple[float, ...] = setting(
        (0.5, 300.0), "Smallest and largest depth of the body's origin.", "m", 0.0, 12000.0)
    tilt: float = setting(0.35, "Largest angle between the body's down axis and gravity.",
                          "rad", 0.0, 1.5)
    yaw_turns: float = setting(
        0.5, "Largest turn away from the initial heading, either way, in full turns: what the "
             "tether allows.", "", 0.0, 20.0)
    speed: float = setting(0.5, "Largest speed of the body's origin.", "m/s", 1e-3, 5.0)
    rate: float = setting(0.9, "Largest angular rate of the body.", "rad/s", 1e-3, 5.0)
    joint_low: tuple[float, ...] = setting(
        (), "Lowest position of each joint at which the arm is clear of itself and of the vehicle; "
            "empty: the lower stops.", "rad")
    joint_high: tuple[float, ...] = setting(
        (), "Highest position of each joint at which the arm is clear of itself and of the "
            "vehicle; empty: the upper stops.", "rad")
    joint_speed: tuple[float, ...] = setting(
        (), "Largest speed of each joint; empty: the URDF's limits.", "rad/s", 1e-4, 20.0)
    position_margin: float = setting(
        0.15, "Margin to the box and to the depth range for the controller's position error.",
        "m", 0.0, 10.0)
    attitude_margin: float = setting(
        0.05, "Margin to the tilt and heading limits for the controller's attitude error.",
        "rad", 0.0, 1.0)
    joint_margin: float = setting(
        0.15, "Margin to both ends of each joint's range for the servo's position error. For a "
              "prismatic joint, a radian is the share of its range that it is of half a turn.",
        "rad", 0.0, 2.0)
    speed_margin: float = setting(
        0.2, "Fraction of all speed limits that is kept free for the controller.", "",
        0.0, 0.9)
    thrust_share: float = setting(
        0.7, "Fraction of each thruster's range that the motion may use; the rest is left to the "
             "controller.", "", 0.05, 1.0)
    torque_share: float = setting(
        0.75, "Fraction of each joint's effort limit that the motion may use.", "", 0.05, 1.0)
    voltage: float = setting(
        15.0, "Lowest battery voltage expected during a motion; it limits the available thrust.",
        "V", 6.0, 30.0)
    rest_force: float = setting(
        10.0, "Largest force needed to hold position, and its uncertainty (one standard "
              "deviation); judge both from watching the robot hover.", "N", 0.01, 1e4)
    rest_moment: float = setting(
        3.0, "Largest moment needed to stay level or tilted by up to `tilt`, and its uncertainty "
             "(one standard deviation).", "N m", 0.01, 1e4)
    rest_share: float = setting(
        0.2, "Uncertainty of the effort that holds the arm in any posture or moves it slowly, as a "
             "fraction of a joint's limit (one standard deviation).", "", 0.01, 1.0)
    draws: int = setting(
        16, "Parameter sets drawn from the present belief; a motion must keep its limits for each "
            "of them.", "", 0,
        1000)
    starts: int = setting(6, "Number of random motions to start from; the best one is improved.",
                          "", 1, 1000)
    iterations: int = setting(30, "Number of improvement steps.", "", 0, 10000)

    def validate(self) -> None:
        for name in ("band", "tilt_band", "depth_range"):
            value = getattr(self, name)
            if len(value) != 2 or value[0] > value[1]:
                self.refuse(name, value, "2 numbers, the lower one first")
        if any(low > high for low, high in zip(self.joint_low, self.joint_high)):
            self.refuse("joint_high", self.joint_high,
                        f"none below excitation.joint_low {self.joint_low}")
        if len(self.box) != 3:
            self.refuse("box", self.box, "3 half lengths (forward, right, down)")
