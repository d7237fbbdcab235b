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

"""A wanted pose over time, converted to body velocities and accelerations."""
import numpy as np

from uvms_adaptive_dynamics.control.desired_motion import desired_motion
from uvms_adaptive_dynamics.model.rotations import to_rotation_vector

RNG = np.random.default_rng(0)
AMPLITUDE, OMEGA, PHASE = RNG.uniform(0.2, 0.6, 8), RNG.uniform(0.5, 3, 8), RNG.uniform(0, 6, 8)


def motion(t):
    angle = OMEGA * t + PHASE
    return desired_motion(AMPLITUDE * np.sin(angle), AMPLITUDE * OMEGA * np.cos(angle),
                          -AMPLITUDE * OMEGA ** 2 * np.sin(angle))


def test_velocities_are_the_rates_of_the_pose():
    """R nu is the rate of the position and R S(omega) that of R, by central differences."""
    h = 1e-5
    for t in np.linspace(0, 5, 11):
        here, before, after = motion(t), motion(t - h), motion(t + h)
        np.testing.assert_allclose(here.R_nb @ here.nu[:3],
                                   (after.position - before.position) / (2 * h), atol=1e-8)
        np.testing.assert_allclose(
            here.nu[3:], to_rotation_vector(before.R_nb.T @ after.R_nb) / (2 * h), atol=1e-8)
        np.testing.assert_allclose(here.mu_dot, (after.mu - before.mu) / (2 * h), atol=1e-8)


def test_accelerations_are_the_rates_of_the_velocities():
    """nu_dot is the derivative of the body-frame components, also while the body turns."""
    h = 1e-5
    for t in np.linspace(0, 5, 11):
        here, before, after = motion(t), motion(t - h), motion(t + h)
        np.testing.assert_allclose(here.nu_dot, (after.nu - before.nu) / (2 * h), atol=1e-7)
        np.testing.assert_allclose(here.mu_ddot, (after.mu_dot - before.mu_dot) / (2 * h),
                                   atol=1e-7)
