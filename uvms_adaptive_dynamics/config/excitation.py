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

"""What motions that excite a robot for identification may use of it and of the water around it."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting


@dataclass(frozen=True)
class Excitation(Section):
    """Limits and shape of designed motions (command excite, node identify)."""

    NAME = "excitation"
    duration: float = setting(60.0, "Length of one trajectory, starting and stopping included.",
                              "s", 10.0, 600.0)
    band: tuple[float, ...] = setting(
        (0.02, 0.45), "Lowest and highest frequency of a motion; above some 1 Hz the rows' "
                      "low-pass takes it away, and rotors follow late.", "Hz", 1e-3, 5.0)
    tilt_band: tuple[float, ...] = setting(
        (0.01, 0.06), "The same for quasi-static tilts, in which weight and buoyancy act alone.",
        "Hz", 1e-3, 5.0)
    harmonics: int = setting(8, "Tones of each coordinate.", "", 1, 50)
    ramp: float = setting(4.0, "Time in which a motion starts and in which it stops.", "s", 0.5,
                          5.0)
    box: tuple[float, ...] = setting(
        (1.0, 1.0, 0.6), "Half lengths of the free water about the start: forward, right, down, in "
                         "the axes of the start's heading.", "m", 0.0, 1e3)
    drift: float = setting(
        0.005, "Speed at which dead reckoning drifts; this times the duration is kept free at the "
               "box's sides.", "m/s", 0.0, 1.0)
    depth_range: tuple[float, ...] = setting(
        (0.5, 300.0), "Least and most depth of the body's origin.", "m", 0.0, 12000.0)
    tilt: float = setting(0.35, "Largest angle between the body's down and gravity.", "rad", 0.0,
                          1.5)
    yaw_turns: float = setting(
        0.5, "Turns of heading away from the start's, either way: the tether's.", "", 0.0, 20.0)
    speed: float = setting(0.5, "Speed of the body's origin.", "m/s", 1e-3, 5.0)
    rate: float = setting(0.9, "Angular rate of the body.", "rad/s", 1e-3, 5.0)
    joint_low: tuple[float, ...] = setting(
        (), "Lowest position of each joint at which the arm touches neither itself nor the "
            "vehicle; empty: the stops.", "rad")
    joint_high: tuple[float, ...] = setting(
        (), "Highest such position of each joint; empty: the stops.", "rad")
    joint_speed: tuple[float, ...] = setting(
        (), "Largest speed of each joint; empty: the URDF's.", "rad/s", 1e-4, 20.0)
    position_margin: float = setting(
        0.15, "Of the box and of depth: what a controller may be off.", "m", 0.0, 10.0)
    attitude_margin: float = setting(
        0.05, "Of the tilt and the heading: what a controller may be off.", "rad", 0.0, 1.0)
    joint_margin: float = setting(
        0.15, "Of each end of a joint's range: what a servo may be off.", "rad", 0.0, 2.0)
    speed_margin: float = setting(
        0.2, "Share of all speed limits that a controller may need beyond the wanted motion.", "",
        0.0, 0.9)
    thrust_share: float = setting(
        0.7, "Share of each thruster's range that the motion may need; the rest is the "
             "controller's.", "", 0.05, 1.0)
    torque_share: float = setting(
        0.75, "Share of each joint's effort limit that the motion may need.", "", 0.05, 1.0)
    voltage: float = setting(
        15.0, "Lowest battery voltage during a motion, by which thrust is limited.", "V", 6.0,
        30.0)
    rest_force: float = setting(
        10.0, "Largest force that keeps the robot where it is, and how well that is known, by who "
              "has seen it hover (one deviation).", "N", 0.01, 1e4)
    rest_moment: float = setting(
        3.0, "Largest moment that keeps it level or tilted by at most `tilt`, and how well that is "
             "known (one deviation).", "N m", 0.01, 1e4)
    rest_share: float = setting(
        0.2, "How well the effort is known that holds the arm anywhere or moves it slowly, as a "
             "share of a joint's limit (one deviation).", "", 0.01, 1.0)
    draws: int = setting(
        16, "Parameters drawn from what is believed, for the worst of which limits hold.", "", 0,
        1000)
    starts: int = setting(6, "Random motions, the best of which is improved.", "", 1, 1000)
    iterations: int = setting(30, "Steps of improvement.", "", 0, 10000)

    def validate(self) -> None:
        for name in ("band", "tilt_band", "depth_range"):
            value = getattr(self, name)
            if len(value) != 2 or value[0] > value[1]:
                self.refuse(name, value, "2 numbers, the lower one first")
        if len(self.box) != 3:
            self.refuse("box", self.box, "3 half lengths (forward, right, down)")
