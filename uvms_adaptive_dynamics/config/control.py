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

"""Settings of the feedforward: limits, blending and fallback."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting


@dataclass(frozen=True)
class Feedforward(Section):
    """Feedforward efforts for a wanted motion, from the trusted parameters (node feedforward)."""

    NAME = "feedforward"
    fallback: str = setting(
        "prior",
        "Parameters used while no estimate is trusted: 'prior', 'trusted' (the last trusted "
        "estimate, or the prior if there is none) or 'nothing' (efforts fade to zero).",
        choices=("prior", "trusted", "nothing"))
    timeout: float = setting(
        2.0, "Switch to the fallback after this time without a message from the estimator. Its "
             "stamps lag by some 0.6 s because of the low-pass.", "s", 0.05, 3600.0)
    max_age: float = setting(
        0.0, "Switch to the fallback when the trusted parameters are older than this; 0: never, "
             "since parameters do not age as states do.", "s", 0.0)
    blend_time: float = setting(
        0.5, "Time constant of the blend from old to new parameters.", "s", 0.0, 60.0)
    max_step: float = setting(
        0.05, "Largest change of an effort per call due to new parameters, as a fraction of its "
              "limit.", "", 1e-3, 0.05)
    wrench_limits: tuple[float, ...] = setting(
        (), "Largest wrench X Y Z K M N in either direction; empty: what the thrusters of the "
            "settings can produce along each axis alone.", "N, N m", 1e-3, 1e6)
    joint_limits: tuple[float, ...] = setting(
        (), "Largest effort of each joint; empty: the URDF's limits.", "N m", 1e-3, 1e6)

    # --- used by the node only ---
    rate: float = setting(100.0, "Rate at which efforts are computed and published.",
                          "Hz", 1.0, 1000.0)
    estimator_node: str = setting(
        "uvms_estimator", "Name of the estimator node that provides the trusted parameters.")
    axes: str = setting(
        "body_flu",
        "Axes of the vehicle's wanted velocities and accelerations: body or world. In body axes "
        "the acceleration is the derivative of the body velocity.",
        choices=("body_flu", "body_frd", "world_enu", "world_ned"))
    velocity: str = setting(
        "measured",
        "Velocities used for damping, Coriolis terms and viscous friction: 'measured', or 'wanted' "
        "(where the wanted motion has them), which keeps sensor noise and wrong damping out of the "
        "loop.", choices=("measured", "wanted"))
    motion_timeout: float = setting(
        0.5, "How long a wanted motion of a single point stays in force. After it, and after the "
             "last of several points, wanted accelerations and velocities are zero.", "s", 0.01,
        60.0)
    state_timeout: float = setting(
        0.2, "Efforts fade to zero when the measured state is older than this.", "s", 0.01, 10.0)
    acceleration_time: float = setting(
        0.05, "Time constant of the low-pass of the published acceleration.", "s", 0.0, 10.0)

    def validate(self) -> None:
        if len(self.wrench_limits) not in (0, 6):
            self.refuse("wrench_limits", self.wrench_limits, "none or 6 numbers (X Y Z K M N)")
