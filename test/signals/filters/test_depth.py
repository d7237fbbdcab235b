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

"""Depth at the surface and on the floor."""

from types import SimpleNamespace as Message

import pytest
from analytic import pressure_message
from signal_runs import reasons, run

from uvms_adaptive_dynamics.config import Config
from uvms_adaptive_dynamics.signals.filters.depth import DepthFilter


def at_depth(clean, depth):
    """(front end, samples) of a robot whose depth sensor says `depth` [m]."""
    config, robot, _, messages = clean
    return run(config, robot, messages, lambda role, message, t: (
        role, pressure_message(Message(t=t), depth) if role == "depth" else message, t))


def test_a_robot_at_the_surface_is_masked(clean):
    """Above depth.minimum no row counts: it may be on deck, where its arm moves in air."""
    front, samples = at_depth(clean, 0.1)
    assert "at the surface" in reasons(front, "heave")
    assert "at the surface" in reasons(front, "axis_d")
    assert not samples[200].valid.any()


def test_a_depth_above_all_water_does_not_tell_where_the_arm_is(clean):
    """A pressure relative to the surface: the arm of a robot in water goes on."""
    front, samples = at_depth(clean, -10.0)
    assert samples[200].valid[6:].any() and not samples[200].valid[:6].any()
    assert "at the surface" not in reasons(front, "axis_d")


@pytest.mark.parametrize(
    "depth, t, reason",
    [(0.1, 2.0, "at the surface"), (5.0, 2.0, ""), (50.0, 2.0, "on the floor"), (0.1, 60.0, "")],
)
def test_only_a_recent_depth_masks(depth, t, reason):
    """Rows beyond the limits are masked while the depth is recent; a silent sensor masks none."""
    config = Config().with_values({"depth.minimum": 0.3, "depth.maximum": 20.0})
    depths = DepthFilter(config)
    for k in range(21):
        depths.add(0.1 * k, [depth])
    depths.flush()
    assert depths.mask_reason(t) == reason
    assert depths.mask_reason(-1.0) == ""


def test_a_depth_that_no_vehicle_reaches_is_refused_and_counted():
    """A burst 90 m deeper masks nothing; a sensor that stays there is believed after 90 m at
    limits.speed."""
    config = Config().with_values({"depth.maximum": 20.0, "limits.speed": 10.0})
    refused = []
    depths = DepthFilter(config, lambda role, reason: refused.append((role, reason)))
    for k in range(400):
        t = 0.1 * k
        depths.add(t, [95.0 if 5.0 <= t < 5.6 or t >= 20.0 else 5.0])
        if t > 1.0 and not 28.9 < t < 29.5:     # the gate looks ahead
            assert (depths.mask_reason(t) == "on the floor") == (t > 29.0), t
    assert set(refused) == {("depth", "implausible step")}
    assert 6 + 85 <= len(refused) <= 6 + 95


def test_a_depth_above_all_water_is_said_at_once():
    """A pressure in another unit, or one relative to the surface; not a depth of -1 m."""
    depth = DepthFilter(Config())
    for k in range(6):
        depth.add(0.1 * k, [-1.0])
    depth.flush()
    assert depth.sentences() == []
    depth.reset()
    for k in range(6):
        depth.add(0.1 * k, [-10.3])
    depth.flush()
    (said,) = depth.sentences()
    assert "depth.unit" in said and "robot.surface_pressure" in said
