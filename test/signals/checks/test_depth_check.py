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

"""The depth's scale against the DVL's descent, beside a mount that is off by a degree or two."""
import numpy as np
import pytest

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.model.rotations import from_rpy
from uvms_adaptive_dynamics.signals.checks.depth_check import check_depth, depth_fit

CONFIG = Config()
BOUNDS = (0.95, 1.05)
T = np.arange(0.0, 30.0, 0.1)


def logs(scale=1.0, turn=0.0, waves=0.0, seed=0, descent=1.0):
    """Down a slope at .5 m/s ahead, `descent` times as fast as usual, with a little heave; the DVL
    is pitched by `turn` [rad]. The depth is the true one times `scale`, less this share of the
    waves that the vehicle rides."""
    rng = np.random.default_rng(seed)
    ride = 0.05 * np.sin(1.1 * T + seed) + 0.02 * np.sin(0.7 * T)
    v = np.column_stack([0.5 + 0.05 * np.sin(0.3 * T), 0.02 * np.sin(0.5 * T),
                         descent * (0.06 + 0.04 * np.sin(0.4 * T + seed))
                         + np.gradient(ride, T)])
    z = 5.0 + np.concatenate([[0.0], np.cumsum(0.05 * (v[1:, 2] + v[:-1, 2]))])
    seen = v @ from_rpy(0.0, turn, 0.0).T + 0.004 * rng.normal(size=v.shape)
    one, zero = np.tile(np.eye(3).ravel(), (T.size, 1)), np.zeros((T.size, 3))
    dvl = np.hstack([T[:, None], seen, zero, v, one, np.tile([0.0, 0.0, 1.0], (T.size, 1))])
    depth = scale * z - waves * ride + 0.002 * rng.normal(size=T.size)
    return {"dvl": dvl, "depth": np.column_stack([T, depth])}


@pytest.mark.parametrize("turn", [-0.03, 0.0, 0.03])
def test_a_mount_that_is_off_by_two_degrees_is_no_scale(turn):
    found = [depth_fit(logs(turn=turn, seed=seed), np.eye(3), CONFIG) for seed in range(20)]
    assert not any(fit.is_outside(BOUNDS) for fit in found)
    gains = np.array([fit.gain for fit in found])
    errors = np.array([fit.error for fit in found])
    assert np.mean(np.abs(gains - 1.0) < 2 * errors) >= 0.9 and np.median(errors) < 0.1


@pytest.mark.parametrize("scale", [0.6, 1.5])
def test_a_scale_is_no_mount(scale):
    """Though a mount off by six degrees would explain it as well on this slope."""
    for seed in range(5):
        made = logs(scale=scale, seed=seed)
        assert depth_fit(made, np.eye(3), CONFIG).gain == pytest.approx(scale, abs=0.25)
        found, = check_depth(made, CONFIG, np.eye(3)).findings
        assert found.setting == "depth unit" and "depth changes by" in found.sentence


@pytest.mark.parametrize("scale, said", [(1 / 0.3048, "probably feet"), (1.5, "metres, or Pa")])
def test_feet_are_named(scale, said):
    """With their factor."""
    for seed in range(5):
        found, = check_depth(logs(scale=scale, seed=seed), CONFIG, np.eye(3)).findings
        assert f"unit ({said}" in found.sentence


def test_waves_that_the_vehicle_rides_are_no_scale():
    """The pressure under a wave is not that of the depth below its crest: over a second, the depth
    changes by half as much as the vehicle descends."""
    found = [logs(waves=0.8, seed=seed) for seed in range(20)]
    assert sum(depth_fit(one, np.eye(3), CONFIG).is_outside(BOUNDS) for one in found) > 10
    assert not any(check_depth(one, CONFIG, np.eye(3)).findings for one in found)


def test_a_vehicle_that_keeps_its_depth_in_waves_shows_no_scale():
    """Nothing slower tells that the pressure's change is too small."""
    found = [logs(waves=0.4, seed=seed, descent=0.0) for seed in range(20)]
    assert sum(depth_fit(one, np.eye(3), CONFIG).is_outside(BOUNDS) for one in found) > 5
    assert not any(check_depth(one, CONFIG, np.eye(3)).findings for one in found)
