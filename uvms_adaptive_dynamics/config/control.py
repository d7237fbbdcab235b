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

"""What a controller gets of an estimate: limits, blending and fallback of the feedforward."""
from __future__ import annotations

from dataclasses import dataclass

from .settings import Section, setting


@dataclass(frozen=True)
class Feedforward(Section):
    """Efforts for a wanted motion, from the trusted parameters (node feedforward)."""

    NAME = "feedforward"
    fallback: str = setting(
        "prior", "What the efforts come from where no estimate may be trusted: 'prior', 'trusted' "
                 "(the last estimate that was, else the prior) or 'nothing' (fading to zero).",
        choices=("prior", "trusted", "nothing"))
    timeout: float = setting(
        2.0, "Without a sign of life of the estimator for this time its parameters are left for "
             "the fallback; its stamps lie some 0.6 s back by the low-pass.", "s", 0.05, 3600.0)
    max_age: float = setting(
        0.0, "Trusted parameters older than this are left for the fallback; 0: never, since "
             "parameters do not age as states do.", "s", 0.0)
    blend_time: float = setting(
        0.5, "Time constant with which new parameters replace those before.", "s", 0.0, 60.0)
    max_step: float = setting(
        0.05, "Most that new parameters change an effort by within one call, as a share of its "
              "limit.", "", 1e-3, 0.05)
    wrench_limits: tuple[float, ...] = setting(
        (129.0, 129.0, 182.0, 50.0, 32.0, 34.0),
        "Largest wrench X Y Z K M N, either way; the default is what eight T200 at 16 V give along "
        "each axis alone.", "N, N m", 1e-3, 1e6)
    joint_limits: tuple[float, ...] = setting(
        (), "Largest effort of each joint; empty: the URDF's.", "N m", 1e-3, 1e6)

    # --- the node alone ---
    rate: float = setting(100.0, "Efforts per second.", "Hz", 1.0, 1000.0)
    estimator_node: str = setting(
        "uvms_estimator", "Name of the estimator node, whose trusted parameters are used.")
    axes: str = setting(
        "body_flu", "Axes of the vehicle's wanted velocities and accelerations: those of the body, "
                    "where an acceleration is the derivative of the body velocity, or of the "
                    "world.", choices=("body_flu", "body_frd", "world_enu", "world_ned"))
    velocity: str = setting(
        "measured", "Velocities that damping, Coriolis and viscous friction are taken at: "
                    "'measured', or 'wanted' where the wanted motion has them, which keeps noise "
                    "and wrong damping out of the loop.", choices=("measured", "wanted"))
    motion_timeout: float = setting(
        0.5, "How long a wanted motion of a single point holds; after it, as after the last of "
             "several points, accelerations and velocities are zero.", "s", 0.01, 60.0)
    state_timeout: float = setting(
        0.2, "With a state older than this the efforts fade to zero.", "s", 0.01, 10.0)
    acceleration_time: float = setting(
        0.05, "Time constant of the low-pass of the published acceleration.", "s", 0.0, 10.0)

    def validate(self) -> None:
        if len(self.wrench_limits) != 6:
            self.refuse("wrench_limits", self.wrench_limits, "6 numbers (X Y Z K M N)")
