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

"""Which thruster gives less than is commanded, from thrust and motion alone."""

import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.checks.thruster_check import thruster_findings

ALLOCATION = np.reshape(Config().thrusters.allocation, (6, -1))
MASS = np.array([17.0, 24.0, 26.0, 0.3, 0.3, 0.4])
DRAG = np.array([13.0, 15.0, 20.0, 0.5, 0.5, 0.5])
STEP, STRIDE = 0.02, 5


def logs(share, seconds=40.0, seed=0, allocation=ALLOCATION, pull=(), pulled=(15.0, 30.0)):
    """(thrust, dvl) as the frame checks log them, of a level vehicle whose thrusters give these
    shares (N,) of what is commanded, by a controller that knows nothing of it; pull (6,) [N, N m]
    acts on it from one time to another [s]."""
    rng = np.random.default_rng(seed)
    frequency, phase = rng.uniform(0.5, 2.0, (2, 6)), rng.uniform(0.0, 6.0, (2, 6))
    size = np.array([0.3, 0.3, 0.3, 0.15, 0.15, 0.3])
    nu, impulse, thrust, dvl = np.zeros(6), np.zeros(len(share)), [], []
    for k in range(round(seconds / STEP)):
        t = STEP * k
        wanted = 0.5 * size * np.sin(frequency * t + phase).sum(axis=0)
        force = np.linalg.pinv(allocation) @ (40.0 * MASS / 4.0 * (wanted - nu))
        if k % STRIDE == 0:
            thrust.append([t, *impulse])
            noise = np.repeat([0.005, 0.001], 3) * rng.standard_normal(6)
            dvl.append([t, *(nu + noise), *np.zeros(12), 0.0, 0.0, 1.0])
        impulse = impulse + STEP * force
        outer = np.array(pull) if len(pull) and pulled[0] < t < pulled[1] else 0.0
        nu = nu + STEP * (allocation @ (share * force) + outer - DRAG * nu) / MASS
    return np.array(thrust), np.array(dvl)


@pytest.mark.parametrize("dead", [0, 3, 5])
def test_a_dead_thruster_is_named(dead):
    """By the wrench that is missing, which lies along its column of the allocation."""
    (finding,) = thruster_findings(*logs(np.arange(8) != dead), ALLOCATION)
    assert f"thruster {dead + 1} gives little or none" in finding.sentence


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pull", [(18, 8, 0), (5, -20, 0), (0, 0, -15), (10, 10, -10)])
def test_a_tether_that_pulls_is_no_thrusters_fault(pull, seed):
    """For a third of the time, and the controller pushes against it; without `pulls` the second of
    these was two thrusters of a wrong sign."""
    made = logs(np.ones(8), seconds=60.0, seed=seed, pull=(*pull, 0, 0, 0), pulled=(21.0, 41.0))
    assert thruster_findings(*made, ALLOCATION) == []


# Four horizontal thrusters, low in the hull, and a vertical one through its centre.
FIVE = np.array([
    [.707, .707, -.707, -.707, 0.], [-.707, .707, -.707, .707, 0.], [0., 0., 0., 0., -1.],
    [.06, -.06, .06, -.06, 0.], [.06, .06, -.06, -.06, 0.], [-.1888, .1888, .1888, -.1888, 0.]])


@pytest.mark.parametrize("seed", range(3))
def test_a_thruster_that_drives_an_axis_alone_is_not_called_dead(seed):
    """What is not explained of an axis vanishes with the only thruster that it has; one that shares
    its axes is named as ever."""
    assert thruster_findings(*logs(np.ones(5), seed=seed, allocation=FIVE), FIVE) == []
    (finding,) = thruster_findings(*logs(np.arange(5) != 2, seed=seed, allocation=FIVE), FIVE)
    assert "thruster 3 gives little or none" in finding.sentence


def test_thrusters_that_explain_it_alike_are_both_named():
    """Two that push along one line cannot be told apart where they are commanded alike."""
    twins = ALLOCATION.copy()
    twins[:, 1] = twins[:, 0]
    (finding,) = thruster_findings(*logs(np.arange(8) != 0, allocation=twins), twins)
    assert "thruster 1 or 2 gives" in finding.sentence


@pytest.mark.parametrize("seed", range(2))
def test_thrusters_that_do_as_they_are_told_are_not(seed):
    """Nor are those that all give a tenth less, as with a weak battery."""
    for share in (1.0, 0.9):
        assert thruster_findings(*logs(np.full(8, share), seed=seed), ALLOCATION) == []


def test_other_axes_of_the_motion_are_thought_of():
    """Velocities forward, left, up where forward, right, down are set; of an order of the thrusters
    that is no reflection nothing is said of axes."""
    thrust, dvl = logs(np.ones(8))
    dvl[:, 1:7] *= [1, -1, -1, 1, -1, -1]
    (finding,) = thruster_findings(thrust, dvl, ALLOCATION)
    assert finding.setting == "imu.frame and dvl.frame"
    assert "of axes forward, left, up where forward, right, down" in finding.sentence
    order = [1, 2, 0, 3, 5, 4, 7, 6]
    (finding,) = thruster_findings(*logs(np.ones(8)), ALLOCATION[:, order])
    assert finding.setting == "thrusters.allocation" and "frame" not in finding.sentence
